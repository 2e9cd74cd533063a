"""Object files of kernels for one level of processors: python emit.py LEVEL FOLDER PART PARTS, a process of its own.

Numba optimises a kernel and all that it calls for the level; its LLVM text becomes an object file with one visible
function. Beside it lies what glue.py has to know: the types of results, and whether others may run meanwhile. The name
of both is a digest of all that they are made from, and what FOLDER holds already is not compiled again. The signatures
are dealt out to PARTS processes; each prints its names as JSON, in the order of the signatures.
"""

import hashlib
import json
import os
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


def symbol_of(signature: Any, level: str) -> str:
    """The name of the function for a signature, the same for all builds."""
    digest = hashlib.sha256(str(signature).encode()).hexdigest()[:16]
    return f"kernel_{digest}_{level.replace('-', '_')}"


def main(level: str, folder: Path, part: int, parts: int) -> list[str]:
    """Compile a part of the signatures for a level; the names of their files."""
    sys.path[:0] = [str(HERE.parent / "src")]
    import llvmlite.binding as llvm

    from build_kernels import signatures
    from massart.kernels.jit import stamp_of

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(cpu=level, features="", opt=3, reloc="pic", codemodel="default")
    names = []
    for signature in signatures.read()[part::parts]:
        symbol, stamp = symbol_of(signature, level), stamp_of(signature.kernel.rpartition(".")[0])
        made_from = f"{symbol} {target.triple} {stamp.hex()}".encode()
        names.append(hashlib.sha256(made_from + Path(__file__).read_bytes()).hexdigest()[:32])
        finished = folder / f"{names[-1]}.json"
        if finished.exists():
            continue
        text, compiled_name, facts = _compiled(signature)
        unit = llvm.parse_assembly(text.replace(compiled_name, symbol))
        unit.verify()
        for one in [*unit.functions, *unit.global_variables]:
            if not one.is_declaration and one.name != symbol:
                one.linkage = "internal"
        _write(finished.with_suffix(".o"), machine.emit_object(unit))
        _write(finished, json.dumps(facts).encode())
    return names


def _write(path: Path, content: bytes) -> None:
    """A file that is there whole or not at all."""
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    unfinished.write_bytes(content)
    unfinished.replace(path)


def _compiled(signature: Any) -> tuple[str, str, dict[str, Any]]:
    """(LLVM's text, the kernel's name in it, what glue.py has to know) of one signature."""
    from numba import njit, types

    module, _, name = signature.kernel.rpartition(".")
    kernel = getattr(import_module(f"massart.kernels.{module}"), name)
    options = {k: v for k, v in kernel.targetoptions.items() if k not in ("nopython", "boundscheck", "inline")}
    alone = njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)(kernel.py_func)
    arguments = tuple(numba_type(one) for one in signature.arguments)
    alone.compile(arguments)
    found = alone.overloads[arguments]
    result = found.signature.return_type
    parts = list(result) if isinstance(result, types.BaseTuple) else [] if result == types.none else [result]
    facts = {
        "returns": [_result(part, signature.kernel) for part in parts],
        "is_tuple": isinstance(result, types.BaseTuple),
        "nogil": bool(options.get("nogil", False)),
    }
    return alone.inspect_llvm(arguments), found.fndesc.llvm_func_name, facts


def numba_type(one: Any) -> Any:
    """Numba's type for one of signatures.py's."""
    from numba import types

    from build_kernels.signatures import KINDS, Array, Tuple

    if isinstance(one, Tuple):
        return types.Tuple([numba_type(item) for item in one.items])
    kind = types.boolean if one.kind == "bool" else getattr(types, KINDS[one.kind])
    return types.Array(kind, one.dimensions, "C", readonly=not one.written) if isinstance(one, Array) else kind


def _result(part: Any, kernel: str) -> str:
    """The type of a result: a kind of number, or that of the numbers in an array of one dimension."""
    from numba import types

    if isinstance(part, types.Array):
        if part.ndim != 1 or part.layout != "C":
            raise TypeError(f"{kernel} returns an array of {part.ndim} dimensions: glue.py knows 1")
        return f"array {part.dtype}"
    if isinstance(part, types.Literal):
        part = part.literal_type
    return str(part)


if __name__ == "__main__":
    sys.path[:0] = [str(HERE.parent)]
    with tempfile.TemporaryDirectory() as unused:  # what the JIT would keep of a level
        os.environ.update(
            NUMBA_CPU_NAME=sys.argv[1], NUMBA_CPU_FEATURES="", MASSART_JIT="1", NUMBA_CACHE_DIR=str(unused)
        )
        print(json.dumps(main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))))
