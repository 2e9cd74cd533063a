"""Four neighbouring columns at a time: the two operations of pool.py that must be single vector instructions.

LLVM's own vectoriser does not help loops over a dozen columns: it cannot know that the arrays do not overlap, and it
works on sixteen at a time. So the vectors are spelled out. A product is rounded before it is added, as everywhere
else: the numbers are those of the loop over columns in the docstring. Nothing here is checked.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

LANES = 4

_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_FLOAT, _PLACE = types.float64, types.uint64


def _pointer(context: Any, builder: Any, kind: Any, array: Any, place: Any) -> Any:
    """Where the four entries from `place` on lie, in an array taken as flat."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [place]), _VECTOR.as_pointer())


def _times(builder: Any, factor: Any, vector: Any) -> Any:
    first = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), factor, ir.Constant(ir.IntType(32), 0))
    everywhere = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.fmul(builder.shuffle_vector(first, first, everywhere), vector)


@intrinsic
def add_lanes(_: Any, target: Any, place: Any, source: Any, start: Any, factor: Any) -> Any:
    """For c in range(4): target.flat[place + c] += factor * source.flat[start + c]."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        there = _pointer(context, builder, signature.args[0], values[0], values[1])
        here = _pointer(context, builder, signature.args[2], values[2], values[3])
        product = _times(builder, values[4], builder.load(here, align=8))
        builder.store(builder.fadd(builder.load(there, align=8), product), there, align=8)
        return context.get_dummy_value()

    return types.void(target, _PLACE, source, _PLACE, _FLOAT), generate


@intrinsic
def dot_lanes(_: Any, target: Any, start: Any, source: Any, places: Any, factors: Any) -> Any:
    """For n in range(4): for c in range(4): target[start + c] += factors[n] * source.flat[places[n] + start + c]."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        there = _pointer(context, builder, signature.args[0], values[0], values[1])
        total = builder.load(there, align=8)
        for n in range(4):
            place = builder.add(builder.extract_value(values[3], n), values[1])
            here = _pointer(context, builder, signature.args[2], values[2], place)
            factor = builder.extract_value(values[4], n)
            total = builder.fadd(total, _times(builder, factor, builder.load(here, align=8)))
        builder.store(total, there, align=8)
        return context.get_dummy_value()

    return types.void(target, _PLACE, source, types.UniTuple(_PLACE, 4), types.UniTuple(_FLOAT, 4)), generate
