"""No kernel calls the C library's exp, log, pow or the like: their last bits differ from one library to another."""

import ast
from pathlib import Path

import pytest

import massart.kernels

MODULES = sorted(Path(massart.kernels.__file__).parent.glob("*/*.py"))
EXACT = {"sqrt", "isqrt", "floor", "fabs", "factorial", "inf", "nan", "pi"}  # instructions, or no functions of floats
INEXACT = "exp exp2 expm1 log log2 log10 log1p power float_power pow sin cos tan arcsin arccos arctan arctan2 sinh"
INEXACT += " cosh tanh arcsinh arccosh arctanh hypot cbrt logaddexp logaddexp2 fmod mod remainder"


def compiled(tree):
    """The functions of a module that are kernels."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return [node for node in functions if any("njit" in ast.unparse(mark) for mark in node.decorator_list)]


def inexact(tree):
    """Uses of functions whose result depends on the C library or on NumPy, with their lines."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in ("math", "cmath", "numpy"):
            found += [(node.lineno, name.name) for name in node.names if name.name not in EXACT]
    for node in (node for kernel in compiled(tree) for node in ast.walk(kernel)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            name = node.value.id
            if (name == "math" and node.attr not in EXACT) or (name == "np" and node.attr in INEXACT.split()):
                found.append((node.lineno, f"{name}.{node.attr}"))
        if isinstance(node, ast.BinOp):
            right = ast.unparse(node.right)
            if isinstance(node.op, ast.Pow) and not right.lstrip("-").isdigit():
                found.append((node.lineno, f"** {right}"))
            if isinstance(node.op, ast.Mod) and "." in right and right.replace(".", "").isdigit():
                found.append((node.lineno, f"% {right}"))  # of floats: fmod
    return found


@pytest.mark.parametrize("module", MODULES, ids=lambda path: f"{path.parent.name}.{path.stem}")
def test_kernels_take_exp_log_and_powers_from_elementary(module):
    assert inexact(ast.parse(module.read_text())) == []


@pytest.mark.parametrize(
    "line", ["np.exp(x)", "x ** y", "x ** 0.5", "x % 8.0", "np.power(x, 2)", "math.log(x)", "math.pow(x, 2)"]
)
def test_a_kernel_that_did_would_be_found(line):
    assert inexact(ast.parse(f"@njit(cache=True)\ndef kernel(x, y):\n    return {line}\n"))
    assert inexact(ast.parse("from math import exp, sqrt\n"))


def test_there_are_kernels_to_look_at():
    assert sum(len(compiled(ast.parse(module.read_text()))) for module in MODULES) > 100
