"""The OpenAPI 3.1 document of API v1, made of its operations and their types."""

import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from massart.service.http import Operation, Problem

__all__ = ["document"]

_PART: Final = re.compile(r"{(\w+)}")
_REF: Final = "#/components/schemas/{name}"
_PROBLEM: Final = "application/problem+json"


def document(operations: Sequence[Operation], version: str) -> dict[str, Any]:
    """The whole document."""
    kinds = [
        kind for one in operations for kind in (one.body, one.answer) if kind is not None and type(kind) is not str
    ]
    schemas, components = msgspec.json.schema_components([*kinds, Problem], ref_template=_REF)
    known = {repr(kind): schema for kind, schema in zip([*kinds, Problem], schemas, strict=True)}
    paths: dict[str, dict[str, Any]] = {}
    for one in operations:
        paths.setdefault(one.template, {})[one.method.lower()] = _operation(one, known)
    key = {"type": "http", "scheme": "bearer"}
    return {
        "openapi": "3.1.0",
        "info": {"title": "massart decision service", "version": version},
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": {"key": key}},
    }


def _operation(one: Operation, known: dict[str, Any]) -> dict[str, Any]:
    def content(kind: Any) -> dict[str, Any]:
        if type(kind) is str:
            return {kind.partition(";")[0]: {"schema": {"type": "string"}}}
        return {"application/json": {"schema": known[repr(kind)]}}

    answered: dict[str, Any] = {"description": "Done."}
    if one.answer is not None:
        answered["content"] = content(one.answer)
    if one.headers:
        answered["headers"] = {name: {"schema": {"type": "string"}} for name in one.headers}
    problem = {"description": "An error.", "content": {_PROBLEM: {"schema": known[repr(Problem)]}}}
    text = {"type": "string", "minLength": 1}
    parameters = [{"name": n, "in": "path", "required": True, "schema": text} for n in _PART.findall(one.template)]
    parameters += [{"name": name, "in": "query", "schema": schema} for name, schema in one.query.items()]
    made: dict[str, Any] = {
        "operationId": one.handler.__name__,
        "summary": (one.handler.__doc__ or "").strip(),
        "responses": {str(one.status): answered, "default": problem},
    }
    if parameters:
        made["parameters"] = parameters
    if one.body is not None:
        made["requestBody"] = {"required": True, "content": content(one.body)}
    if one.scope is not None:
        made["security"] = [{"key": [one.scope]}]
    return made
