"""The parts of a choice as JSON and back: contexts as lists or as their SHA-256, arrays of a memo as base64."""

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from massart.errors import InvalidDataError
from massart.kernels.ranking_door import check_arms, check_sparse

Contexts = Any  # (k, d) array of numbers, or CSR matrix
_TYPES = {"f8": np.float64, "i8": np.int64, "b1": np.bool_}  # of arrays in a memo


def contexts_sha256(contexts: Contexts) -> str:
    """Of their shape and numbers.

    >>> contexts_sha256([[1, 2]]) == contexts_sha256(np.array([[1.0, 2.0]])) != contexts_sha256([[1], [2]])
    True
    """
    arms = check_arms(contexts)
    whole = hashlib.sha256(f"{arms.count} {arms.width} {arms.rows[2].size}".encode())
    for array in arms.rows if arms.rows[2].size else arms.rows[:1]:
        whole.update(array.tobytes())
    return whole.hexdigest()


def contexts_to_json(contexts: Contexts) -> Any:
    """Lists of numbers; `contexts_from_json` gives them back to the bit."""
    data, indices, indptr = (arms := check_arms(contexts)).rows
    if indptr.size == 0:
        return data.reshape(arms.count, arms.width).tolist()
    shape = [arms.count, arms.width]
    return {"shape": shape, "data": data.tolist(), "indices": indices.tolist(), "indptr": indptr.tolist()}


def contexts_from_json(parts: Any, handed: Contexts) -> Contexts:
    """From lists; or those `handed` over, if the SHA-256 in place of them is theirs."""
    if isinstance(parts, dict) and "sha256" in parts:
        if handed is None:
            raise InvalidDataError("This line leaves its contexts out: pass them, from_json(line, contexts=...)")
        if contexts_sha256(handed) != parts["sha256"]:
            raise InvalidDataError("contexts are not those of this choice: pass those that were given to choose")
        return check_arms(handed).contexts
    if isinstance(parts, dict):
        rows = check_sparse(parts["data"], parts["indices"], parts["indptr"], tuple(parts["shape"]))
        from scipy import sparse  # noqa: PLC0415

        return sparse.csr_matrix((rows[0], rows[1].astype(np.int64), rows[2].astype(np.int64)), shape=parts["shape"])
    if not isinstance(parts, list):
        raise TypeError("contexts are not one row per arm")
    return check_arms(np.array(parts, dtype=np.float64)).contexts


def memo_to_json(memo: Any) -> Any:
    """A memo for JSON: arrays as base64."""
    if isinstance(memo, np.ndarray):
        kind = memo.dtype.str[1:]
        if kind not in _TYPES:
            return memo.tolist()
        own: dict[str, Any] = {kind: base64.b64encode(memo.tobytes()).decode()}
        return own if memo.ndim == 1 else own | {"shape": list(memo.shape)}
    if isinstance(memo, Mapping):
        return {str(name): memo_to_json(value) for name, value in memo.items()}
    return memo


def memo_bytes(memo: Mapping[str, Any]) -> bytes:
    """What a memo holds, the same bytes before JSON and after it."""
    parts = []
    for name in sorted(memo):
        value = memo[name]
        if isinstance(value, np.ndarray) and value.dtype.str[1:] in _TYPES:
            about, content = f"{name} {value.dtype.str} {value.shape}".encode(), value.tobytes()
        else:
            about, content = f"{name}".encode(), json.dumps(memo_to_json(value), sort_keys=True).encode()
        parts.append(b"%d %d " % (len(about), len(content)) + about + content)
    return b"".join(parts)


def memo_from_json(memo: Any) -> Any:
    """The memo that `memo_to_json` wrote.

    >>> memo_from_json(memo_to_json({"rates": np.array([0.1, 0.2]), "explored": True}))
    {'rates': array([0.1, 0.2]), 'explored': True}
    """
    if not isinstance(memo, dict):
        return memo
    for kind, dtype in _TYPES.items():
        if kind in memo:
            data = base64.b64decode(memo[kind], validate=True)
            if kind == "b1" and set(data) - {0, 1}:
                raise ValueError("booleans that are neither 0 nor 1")
            return np.frombuffer(data, dtype).reshape(memo.get("shape", -1))
    return {name: memo_from_json(value) for name, value in memo.items()}


def refuse_constant(word: str) -> NoReturn:
    """For NaN and Infinity, which Python's JSON knows."""
    raise ValueError(f"{word} is not a number")
