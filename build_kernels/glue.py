"""The C between Python and the object files: one function per kernel, which finds the code for its arguments' types."""

from itertools import groupby
from typing import Any

from build_kernels.emit import symbol_of
from build_kernels.signatures import KINDS, Array, Scalar, Signature, Tuple, Type, leaves

LETTERS = {"f64": "d", "f32": "f", "i64": "q", "i32": "i", "i8": "b", "u64": "Q", "u32": "I", "u8": "B", "bool": "?"}
C_TYPES = {
    "float64": "double", "int64": "int64_t", "uint64": "uint64_t", "int32": "int32_t", "uint32": "uint32_t",
    "int8": "int8_t", "uint8": "uint8_t", "bool": "uint8_t",
}  # fmt: skip
RESULTS = {
    "float64": "PyFloat_FromDouble(r.r{k})",
    "int64": "PyLong_FromLongLong(r.r{k})",
    "int8": "PyLong_FromLongLong(r.r{k})",
    "uint64": "PyLong_FromUnsignedLongLong(r.r{k})",
    "uint32": "PyLong_FromUnsignedLongLong(r.r{k})",
    "uint8": "PyLong_FromUnsignedLongLong(r.r{k})",
    "bool": "PyBool_FromLong(r.r{k})",
}
# What a processor must have for a level, by the names of __builtin_cpu_supports. Those with AVX2, BMI2 and FMA have all
# that x86-64-v3 means.
NEEDS = {"x86-64-v2": ("ssse3", "sse4.2", "popcnt"), "x86-64-v3": ("avx2", "bmi", "bmi2", "fma")}

KERNEL = """
static const struct {{ const char *kinds; int (*run[{levels}])(void *, void **{parameters}); }} {name}_table[] = {{
{table}
}};
static const char *const {name}_forms[] = {{{forms}}};
static int {name}_find(const char *kinds) {{
    for (size_t k = 0; k < sizeof {name}_table / sizeof *{name}_table; k++)
        if (fits(kinds, {name}_table[k].kinds)) return (int) k;
    return -1;
}}
static PyObject *{name}_run(int signature, Argument *a) {{
    struct {{ {fields} }} r;
    void *error = NULL;
    int status;
    {begin}status = {name}_table[signature].run[level](&r, &error{call});{end}
    if (status > 0) return failed("{kernel}", status);
    return {back};
}}
static const Kernel {name}_kernel = {{
    "{kernel}", "{name}", {name}_forms, {arguments}, {leaves}, {name}_find, {name}_run
}};
static PyObject *{name}(PyObject *self, PyObject *const *objects, Py_ssize_t given) {{
    Argument a[{leaves} + 1];
    char kinds[2 * {leaves} + 1];
    return call_once(&{name}_kernel, objects, given, a, kinds);
}}
"""

MODULE = """
static PyObject *level_name(PyObject *self, PyObject *nothing) {{ return PyUnicode_FromString(level_names[level]); }}
static PyObject *levels(PyObject *self, PyObject *nothing) {{
    PyObject *found = PyList_New(0);
    for (int k = 0; found && k < {levels}; k++) if (supports(k)) {{
        PyObject *name = PyUnicode_FromString(level_names[k]);
        if (!name || PyList_Append(found, name) < 0) Py_CLEAR(found);
        Py_XDECREF(name);
    }}
    return found;
}}
static PyObject *choose(PyObject *self, PyObject *name) {{
    const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
    if (!text) return NULL;
    for (int k = 0; k < {levels}; k++) if (!strcmp(text, level_names[k])) {{
        if (!supports(k)) return PyErr_Format(PyExc_ValueError, "this processor does not have what %s needs", text);
        level = k;
        return Py_BuildValue("");
    }}
    return PyErr_Format(PyExc_ValueError, "there are kernels for {named}, not for %s", text);
}}
static const Kernel *const kernels[] = {{{kernels}}};
static PyObject *prepare(PyObject *self, PyObject *const *objects, Py_ssize_t given) {{
    const char *name = given ? PyUnicode_AsUTF8AndSize(objects[0], NULL) : NULL;
    if (!name) return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_SystemError, "a kernel's name is needed");
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
        if (!strcmp(name, kernels[k]->method)) return prepare_call(kernels[k], objects + 1, given - 1);
    return PyErr_Format(PyExc_SystemError, "there is no kernel %s", name);
}}
static PyMethodDef methods[] = {{
    {{"level", level_name, METH_NOARGS, "The level of processors whose kernels are in use."}},
    {{"levels", levels, METH_NOARGS, "The levels that this processor has."}},
    {{"choose", choose, METH_O, "Use the kernels of another level."}},
    {{"prepare", (PyCFunction) (void (*)(void)) prepare, METH_FASTCALL,
      "A function without arguments that calls the kernel of a name with these."}},
    {{"feature_reader", (PyCFunction) (void (*)(void)) feature_reader, METH_FASTCALL,
      "`feature_reader` of massart/kernels/parsing/features.py, in C."}},
    {{"hashed_rows", (PyCFunction) (void (*)(void)) hashed_rows, METH_FASTCALL,
      "`hashed_rows` of massart/kernels/parsing/offers.py, in C."}},
    {{"placed_rows", (PyCFunction) (void (*)(void)) placed_rows, METH_FASTCALL,
      "`placed_rows` of massart/kernels/parsing/offers.py, in C."}},
{methods}
    {{NULL, NULL, 0, NULL}}
}};
static struct PyModuleDef module = {{
    PyModuleDef_HEAD_INIT, "{module}", "Kernels compiled when massart was built.", -1, methods
}};
PyMODINIT_FUNC PyInit_{module}(void) {{
    while (level >= 0 && !supports(level)) level--;
    if (level < 0) {{
        PyErr_SetString(PyExc_ImportError, "this processor does not have what the compiled kernels need");
        return NULL;
    }}
    return PyModule_Create(&module);
}}
"""


def write(signatures: list[Signature], levels: list[str], facts: list[dict[str, Any]], module: str) -> str:
    """The text of the module. `facts` are those of emit.py, one per signature."""
    level_names = ", ".join(f'"{level}"' for level in levels)
    parts = [
        '#include "runtime.h"',
        '#include "prepared.h"',
        '#include "read_features.h"',
        '#include "read_offers.h"',
        f"static const char *const level_names[] = {{{level_names}}};",
        f"static int level = {len(levels) - 1};",
        "static int supports(int k) {",
        *(
            f"    if (k == {k}) return "
            + (" && ".join(f'__builtin_cpu_supports("{name}")' for name in NEEDS.get(one, ())) or "1")
            + ";"
            for k, one in enumerate(levels)
        ),
        "    return 0;\n}",
    ]
    methods, names = [], []
    numbered = list(enumerate(signatures))
    for kernel, group in groupby(numbered, lambda one: one[1].kernel):
        parts.append(_kernel(kernel, list(group), levels, facts))
        name = kernel.replace(".", "_")
        names.append(f"&{name}_kernel")
        methods.append(f'    {{"{name}", (PyCFunction) (void (*)(void)) {name}, METH_FASTCALL, "{_doc(kernel)}"}},')
    named, listed = " and ".join(levels), ", ".join(names)
    parts.append(
        MODULE.format(levels=len(levels), named=named, methods="\n".join(methods), module=module, kernels=listed)
    )
    return "\n".join(parts)


def _doc(kernel: str) -> str:
    module, _, name = kernel.rpartition(".")
    return f"`{name}` of massart/kernels/{module.replace('.', '/')}.py, compiled."


def _kernel(kernel: str, group: list[tuple[int, Signature]], levels: list[str], facts: list[dict[str, Any]]) -> str:
    """The function for one kernel, with a table of its signatures."""
    number, (_, arguments) = group[0]
    about = facts[number]
    forms = [_form(one) for one in arguments]
    if any([_form(one) for one in other.arguments] != forms or facts[n] != about for n, other in group):
        raise TypeError(f"the signatures of {kernel} differ in more than the kinds of numbers in arrays")
    flat = list(leaves(arguments))
    symbols = {n: [symbol_of(one, level) for level in levels] for n, one in group}
    parameters = "".join(
        f", ARRAY{one.dimensions}" if isinstance(one, Array) else f", {C_TYPES[KINDS[one.kind]]}" for one in flat
    )
    table = ",\n".join(f'    {{"{_kinds(one)}", {{{", ".join(symbols[n])}}}}}' for n, one in group)
    text = KERNEL.format(
        name=kernel.replace(".", "_"), kernel=kernel, levels=len(levels), parameters=parameters, table=table,
        forms=", ".join(f'"{form}"' for form in forms), arguments=len(forms), leaves=len(flat),
        call="".join(f", {_value(one, k)}" for k, one in enumerate(flat)), **_results(about),
    )  # fmt: skip
    declared = [f"extern int {one}(void *, void **{parameters});" for row in symbols.values() for one in row]
    return "\n".join(declared) + text


def _form(one: Type) -> str:
    """As `take` of runtime.h reads it."""
    if isinstance(one, Tuple):
        return f"({''.join(_form(item) for item in one.items)})"
    if isinstance(one, Array):
        return str(one.dimensions)
    return "t" if one.kind == "bool" else LETTERS[one.kind]


def _kinds(signature: Signature) -> str:
    """As `fits` of runtime.h reads it: two letters per array."""
    arrays = [one for one in leaves(signature.arguments) if isinstance(one, Array)]
    return "".join(("w" if one.written else "r") + LETTERS[one.kind] for one in arrays)


def _value(one: Scalar | Array, k: int) -> str:
    if isinstance(one, Array):
        return f"AS{one.dimensions}({k})"
    return f"a[{k}].real" if one.kind == "f64" else f"({C_TYPES[KINDS[one.kind]]}) a[{k}].whole"


def _results(about: dict[str, Any]) -> dict[str, str]:
    """What the kernel fills, and how Python gets it."""
    fields, made = [], []
    for k, one in enumerate(about["returns"]):
        array = one.removeprefix("array ")
        fields.append(f"Made r{k};" if array != one else f"{C_TYPES[one]} r{k};")
        made.append(f'array_of(&r.r{k}, "{array}")' if array != one else RESULTS[one].format(k=k))
    back = made[0] if made else 'Py_BuildValue("")'
    if about["is_tuple"]:
        back = f'Py_BuildValue("({"N" * len(made)})", {", ".join(made)})'
    begin, end = ("Py_BEGIN_ALLOW_THREADS ", " Py_END_ALLOW_THREADS") if about["nogil"] else ("", "")
    return {"fields": " ".join(fields) or "void *none;", "back": back, "begin": begin, "end": end}
