"""Vectors of numbers, spelled out: what the compiler's own vectoriser may not do, or does not do well.

Floating-point sums depend on their order, so a compiler must not change it, and in one chain of additions each waits
for the one before. So sums over a row have an order of their own, which lets LANES additions go on at once:

    the entries of a row that are not 0 are numbered in their order, and entry n is added to lane n % LANES;
    `total` adds up the lanes, always in the same way.

Such a sum depends on the values of those entries and on their order, not on the numbers of their columns: a dense row,
its CSR form, the row alone, and the row with more zeros, stored or not, give the same bits on every processor. A
product is rounded before it is added. Nothing here is checked.
"""

import operator
from collections.abc import Callable
from typing import Any, Final

from massart.kernels.compiling import intrinsic, ir, models, overload, register_model, types

LANES: Final = 8

_FLOAT, _PLACE, _INT = types.float64, types.uint64, ir.IntType(32)


class _Vector(types.Type):  # type: ignore[misc]
    """So many float64 in registers: a type of local variables in kernels, never of an argument."""

    def __init__(self, size: int) -> None:
        super().__init__(name=f"Vector({size})")
        self.ir = ir.VectorType(ir.DoubleType(), size)


@register_model(_Vector)
class _VectorModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: _Vector) -> None:
        super().__init__(manager, kind, kind.ir)


_ROW = _Vector(LANES)  # entries of one row
_FOUR = _Vector(4)  # columns of one entry
_BITS = ir.VectorType(ir.IntType(64), LANES)


def _pointer(context: Any, builder: Any, kind: Any, array: Any, place: Any, size: int) -> Any:
    """Where the entries from `place` on lie, in an array taken as flat."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(
        builder.gep(data, [place]), ir.VectorType(context.get_data_type(kind.dtype), size).as_pointer()
    )


def _load(context: Any, builder: Any, kind: Any, array: Any, place: Any, size: int) -> Any:
    return builder.load(_pointer(context, builder, kind, array, place, size), align=kind.dtype.bitwidth // 8)


def _load_first(context: Any, builder: Any, kind: Any, array: Any, place: Any, count: Any) -> Any:
    """`count` entries from `place` on, and 0 in the other lanes: memory behind them is not read."""
    pointer = _pointer(context, builder, kind, array, place, LANES)
    vector, mask = pointer.type.pointee, _is_first(builder, count)
    name = f"llvm.masked.load.v{LANES}{'f' if kind.dtype in types.real_domain else 'i'}{kind.dtype.bitwidth}.p0"
    shape = ir.FunctionType(vector, [pointer.type, _INT, mask.type, vector])
    function = builder.module.globals.get(name) or ir.Function(builder.module, shape, name)
    return builder.call(function, [pointer, _INT(kind.dtype.bitwidth // 8), mask, ir.Constant(vector, None)])


def _is_first(builder: Any, count: Any) -> Any:
    """Which lanes have a number below `count`."""
    return builder.icmp_unsigned("<", ir.Constant(_BITS, list(range(LANES))), _everywhere(builder, count, LANES))


def _everywhere(builder: Any, value: Any, size: int) -> Any:
    first = builder.insert_element(ir.Constant(ir.VectorType(value.type, size), ir.Undefined), value, _INT(0))
    return builder.shuffle_vector(first, first, ir.Constant(ir.VectorType(_INT, size), [0] * size))


def _as_float64(builder: Any, vector: Any) -> Any:
    return vector if vector.type == _ROW.ir else builder.fpext(vector, _ROW.ir)


def _entries(context: Any, builder: Any, kind: Any, array: Any, columns: Any) -> Any:
    """The entries of an array at the places in a vector."""
    data = context.make_array(kind)(context, builder, array).data
    found = ir.Constant(_ROW.ir, ir.Undefined)
    for lane in range(LANES):
        column = builder.extract_element(columns, _INT(lane))
        if column.type.width < 64:
            column = builder.zext(column, ir.IntType(64))
        found = builder.insert_element(found, builder.load(builder.gep(data, [column])), _INT(lane))
    return found


@intrinsic
def no_sums(_: Any) -> Any:
    """0 in every lane."""
    return _ROW(), lambda context, builder, signature, values: ir.Constant(_ROW.ir, None)


@intrinsic
def load(_: Any, array: Any, place: Any) -> Any:
    """array.flat[place + n] in lane n."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return _as_float64(builder, _load(context, builder, signature.args[0], values[0], values[1], LANES))

    return _ROW(array, _PLACE), generate


@intrinsic
def load_first(_: Any, array: Any, place: Any, count: Any) -> Any:
    """array.flat[place + n] in lane n for n < count, 0 in the others."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return _as_float64(builder, _load_first(context, builder, signature.args[0], *values))

    return _ROW(array, _PLACE, _PLACE), generate


@intrinsic
def gather(_: Any, array: Any, indices: Any, place: Any) -> Any:
    """array[indices[place + n]] in lane n."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        columns = _load(context, builder, signature.args[1], values[1], values[2], LANES)
        return _entries(context, builder, signature.args[0], values[0], columns)

    return _ROW(array, indices, _PLACE), generate


@intrinsic
def gather_first(_: Any, array: Any, indices: Any, place: Any, count: Any) -> Any:
    """array[indices[place + n]] in lane n for n < count, array[0] in the others."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        columns = _load_first(context, builder, signature.args[1], *values[1:])
        return _entries(context, builder, signature.args[0], values[0], columns)

    return _ROW(array, indices, _PLACE, _PLACE), generate


@intrinsic
def load_near(_: Any, array: Any, place: Any) -> Any:
    """array[place + n] in lane n, or the last entry where there is none; entries just stored one by one are fast."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        size = context.make_array(signature.args[0])(context, builder, values[0]).nitems
        last = _everywhere(builder, builder.sub(size, size.type(1)), LANES)
        places = builder.add(_everywhere(builder, values[1], LANES), ir.Constant(_BITS, list(range(LANES))))
        places = builder.select(builder.icmp_unsigned("<", places, last), places, last)
        return _entries(context, builder, signature.args[0], values[0], places)

    return _ROW(array, _PLACE), generate


@intrinsic
def spread(_: Any, value: Any) -> Any:
    """The number in every lane."""
    return _ROW(_FLOAT), lambda context, builder, signature, values: _everywhere(builder, values[0], LANES)


@intrinsic
def store(_: Any, target: Any, place: Any, a: Any) -> Any:
    """target.flat[place + n] = lane n."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        builder.store(values[2], _pointer(context, builder, signature.args[0], values[0], values[1], LANES), align=8)
        return context.get_dummy_value()

    return (types.void(target, _PLACE, _ROW), generate) if target.mutable else None


@intrinsic
def add_products(_: Any, sums: Any, a: Any, b: Any) -> Any:
    """The sums, with a * b added lane by lane."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.fadd(values[0], builder.fmul(values[1], values[2]))

    return sums(sums, a, b), generate


@intrinsic
def mark_zeros(_: Any, marks: Any, a: Any, count: Any) -> Any:
    """Marks, and one more in each lane n < count in which a is 0; `no_sums` are no marks."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        zero = builder.fcmp_ordered("==", values[1], ir.Constant(_ROW.ir, None))
        zero = builder.sext(builder.and_(zero, _is_first(builder, values[2])), _BITS)
        return builder.bitcast(builder.or_(builder.bitcast(values[0], _BITS), zero), _ROW.ir)

    return _ROW(_ROW, _ROW, _PLACE), generate


@intrinsic
def has_marks(_: Any, marks: Any) -> Any:
    """Whether a lane has a mark."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        marked = builder.icmp_unsigned("!=", builder.bitcast(values[0], _BITS), ir.Constant(_BITS, None))
        return builder.icmp_unsigned("!=", builder.bitcast(marked, ir.IntType(LANES)), ir.IntType(LANES)(0))

    return types.boolean(_ROW), generate


@intrinsic
def has_zeros(_: Any, a: Any) -> Any:
    """Whether a lane is 0."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        zero = builder.fcmp_ordered("==", values[0], ir.Constant(_ROW.ir, None))
        return builder.icmp_unsigned("!=", builder.bitcast(zero, ir.IntType(LANES)), ir.IntType(LANES)(0))

    return types.boolean(_ROW), generate


@intrinsic
def total(_: Any, sums: Any) -> Any:
    """The sum of the lanes: ((0 + 4) + (2 + 6)) + ((1 + 5) + (3 + 7)); of four, (0 + 2) + (1 + 3)."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        vector = values[0]
        while vector.type.count > 1:
            half = vector.type.count // 2
            low, high = (
                builder.shuffle_vector(vector, vector, ir.Constant(ir.VectorType(_INT, half), list(part)))
                for part in (range(half), range(half, 2 * half))
            )
            vector = builder.fadd(low, high)
        return builder.extract_element(vector, _INT(0))

    return _FLOAT(sums), generate


@intrinsic
def no_four(_: Any) -> Any:
    """Four zeros."""
    return _FOUR(), lambda context, builder, signature, values: ir.Constant(_FOUR.ir, None)


@intrinsic
def load_four(_: Any, array: Any, place: Any) -> Any:
    """array.flat[place + c] for c in range(4)."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return _load(context, builder, signature.args[0], values[0], values[1], 4)

    return _FOUR(array, _PLACE), generate


@intrinsic
def store_four(_: Any, target: Any, place: Any, a: Any) -> Any:
    """For c in range(4): target.flat[place + c] = a[c]."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        builder.store(values[2], _pointer(context, builder, signature.args[0], values[0], values[1], 4), align=8)
        return context.get_dummy_value()

    return (types.void(target, _PLACE, _FOUR), generate) if target.mutable else None


@intrinsic
def spread_four(_: Any, value: Any) -> Any:
    """The number four times."""
    return _FOUR(_FLOAT), lambda context, builder, signature, values: _everywhere(builder, values[0], 4)


@intrinsic
def four_of(_: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """These four numbers. Stored one by one, they could not be loaded as four for some time."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        four = ir.Constant(_FOUR.ir, ir.Undefined)
        for place, value in enumerate(values):
            four = builder.insert_element(four, value, _INT(place))
        return four

    return _FOUR(_FLOAT, _FLOAT, _FLOAT, _FLOAT), generate


def _prefetch(context: Any, builder: Any, signature: Any, values: Any, to_write: int) -> Any:
    pointer = _pointer(context, builder, signature.args[0], values[0], values[1], 1)
    pointer = builder.bitcast(pointer, ir.IntType(8).as_pointer())
    name, shape = "llvm.prefetch.p0", ir.FunctionType(ir.VoidType(), [pointer.type, _INT, _INT, _INT])
    function = builder.module.globals.get(name) or ir.Function(builder.module, shape, name)
    builder.call(function, [pointer, _INT(to_write), _INT(3), _INT(1)])
    return context.get_dummy_value()


@intrinsic
def prefetch(_: Any, array: Any, place: Any) -> Any:
    """Have the cache line of array.flat[place] brought near: it will be changed soon."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return _prefetch(context, builder, signature, values, 1)

    return types.void(array, _PLACE), generate


@intrinsic
def prefetch_to_read(_: Any, array: Any, place: Any) -> Any:
    """Have the cache line of array.flat[place] brought near; a place behind the array does no harm."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return _prefetch(context, builder, signature, values, 0)

    return types.void(array, _PLACE), generate


def _operator(symbol: Callable[..., Any], generate: Callable[[Any, Any, Any], Any]) -> None:
    """An operator for two vectors."""

    @intrinsic
    def operation(_: Any, a: Any, b: Any) -> Any:
        return a(a, b), lambda context, builder, signature, values: generate(builder, *values)

    def of_vectors(a: Any, b: Any) -> Any:
        return operation(a, b)

    @overload(symbol)
    def overloaded(a: Any, b: Any) -> Any:
        return of_vectors if isinstance(a, _Vector) and a == b else None


_operator(operator.add, lambda builder, a, b: builder.fadd(a, b))
_operator(operator.sub, lambda builder, a, b: builder.fsub(a, b))
_operator(operator.mul, lambda builder, a, b: builder.fmul(a, b))
_operator(operator.truediv, lambda builder, a, b: builder.fdiv(a, b))


@intrinsic
def larger(_: Any, a: Any, b: Any) -> Any:
    """The larger number of each pair, b where they are equal."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", values[0], values[1]), values[0], values[1])

    return a(a, b), generate


@intrinsic
def where_zero(_: Any, condition: Any, a: Any, b: Any) -> Any:
    """Numbers of a where the condition is 0, of b elsewhere."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        zero = builder.fcmp_ordered("==", values[0], ir.Constant(values[0].type, None))
        return builder.select(zero, values[1], values[2])

    return a(condition, a, b), generate


@intrinsic
def where_larger(_: Any, left: Any, right: Any, a: Any, b: Any) -> Any:
    """Numbers of a where left > right, of b elsewhere."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", values[0], values[1]), values[2], values[3])

    return a(left, right, a, b), generate


@intrinsic
def where_negative(_: Any, condition: Any, a: Any, b: Any) -> Any:
    """Numbers of a where the condition is below 0, of b elsewhere."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        negative = builder.fcmp_ordered("<", values[0], ir.Constant(values[0].type, None))
        return builder.select(negative, values[1], values[2])

    return a(condition, a, b), generate


@intrinsic
def any_larger(_: Any, a: Any, b: Any) -> Any:
    """Whether a number of a is larger than that of b."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        found = builder.fcmp_ordered(">", values[0], values[1])
        bits = ir.IntType(values[0].type.count)
        return builder.icmp_unsigned("!=", builder.bitcast(found, bits), bits(0))

    return types.boolean(a, b), generate


@intrinsic
def roots(_: Any, a: Any) -> Any:
    """Square roots."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        name = f"llvm.sqrt.v{values[0].type.count}f64"
        shape = ir.FunctionType(values[0].type, [values[0].type])
        function = builder.module.globals.get(name) or ir.Function(builder.module, shape, name)
        return builder.call(function, values)

    return a(a), generate
