"""Which arguments a kernel writes, by reading its source and that of the kernels it calls.

A place is the number of a parameter, followed by that of an element if the parameter is a tuple, and so on. Inside a
function a name stands for a set of places, or for a tuple of such; a view of an array stands for the array.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable
from functools import cache
from typing import Any

Place = tuple[int, ...]
Value = Any  # a frozenset of places, or a tuple of values

_NOTHING: Value = frozenset()


@cache
def written_by(function: Callable[..., Any]) -> frozenset[Place]:
    """The places of the arguments that a kernel writes to."""
    definition = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    if not isinstance(definition, ast.FunctionDef):
        raise TypeError(f"{function} is no function")
    found = _Function(function, [one.arg for one in definition.args.args])
    for _ in range(2):  # an alias may be made further down in a loop
        for statement in definition.body:
            found.visit(statement)
    return frozenset(found.written)


class _Function(ast.NodeVisitor):
    """Follows the arguments of one function through its statements."""

    def __init__(self, function: Callable[..., Any], parameters: list[str]) -> None:
        self.written: set[Place] = set()
        self._globals = function.__globals__
        self._names: dict[str, Value] = {name: frozenset({(k,)}) for k, name in enumerate(parameters)}

    def visit_Assign(self, node: ast.Assign) -> None:
        """Names get values; what is indexed on the left is written."""
        value = self._value(node.value)
        for target in node.targets:
            self._assign(target, value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """The same for `+=`. A name alone is a number: were it an array, Numba would refuse to write it."""
        self._value(node.value)
        if not isinstance(node.target, ast.Name):
            self._write(self._value(node.target))

    def visit_For(self, node: ast.For) -> None:
        """What is looped over may be arrays of a tuple."""
        self._assign(node.target, self._value(node.iter))
        for statement in (*node.body, *node.orelse):
            self.visit(statement)

    def visit_Call(self, node: ast.Call) -> None:
        """Calls as statements."""
        self._value(node)

    def _assign(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            known = self._names.get(target.id, _NOTHING)
            both = isinstance(known, frozenset) and isinstance(value, frozenset)
            self._names[target.id] = known | value if both else value
        elif isinstance(target, ast.Tuple):
            for k, one in enumerate(target.elts):
                self._assign(one, _element(value, k))
        else:
            self._write(self._value(target))

    def _write(self, value: Value) -> None:
        if isinstance(value, tuple):
            for one in value:
                self._write(one)
        else:
            self.written |= value

    def _value(self, node: ast.expr) -> Value:
        """What an expression stands for; the calls in it are followed."""
        if isinstance(node, ast.Name):
            return self._names.get(node.id, _NOTHING)
        if isinstance(node, ast.Tuple):
            return tuple(self._value(one) for one in node.elts)
        if isinstance(node, ast.Subscript):
            value = self._value(node.value)
            self._value(node.slice)
            index = node.slice.value if isinstance(node.slice, ast.Constant) else None
            return _element(value, index) if isinstance(value, tuple) and isinstance(index, int) else value
        if isinstance(node, ast.Attribute):
            return self._value(node.value)
        if isinstance(node, ast.Call):
            return self._call(node)
        parts = [self._value(one) for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr)]
        if isinstance(node, ast.IfExp):
            return frozenset().union(*(part for part in parts[1:] if isinstance(part, frozenset)))
        return _NOTHING

    def _call(self, node: ast.Call) -> Value:
        arguments = [self._value(one) for one in node.args]
        called = self._called(node.func)
        if (function := getattr(called, "py_func", None)) is not None:
            places = written_by(function)
        elif (definition := getattr(called, "_defn", None)) is not None:  # an intrinsic: it writes what it calls target
            names = list(inspect.signature(definition).parameters)[1:]
            places = frozenset((k,) for k, name in enumerate(names) if name == "target")
        else:
            return self._value(node.func) if isinstance(node.func, ast.Attribute) else _NOTHING
        for place in places:
            value = arguments[place[0]]
            for k in place[1:]:
                value = _element(value, k)
            self._write(value)
        return _NOTHING

    def _called(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Name):
            return self._globals.get(node.id)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            return getattr(self._globals.get(node.value.id), node.attr, None)
        return None


def _element(value: Value, k: int) -> Value:
    """An element of a tuple, be it known or an argument."""
    if isinstance(value, tuple):
        return value[k] if k < len(value) else _NOTHING
    return frozenset((*place, k) for place in value)
