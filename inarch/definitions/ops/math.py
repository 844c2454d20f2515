"""`math`: functions of floats, and functions on the bits of integers; and `loop.remf`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xdsl.dialects import math
from xdsl.ir import Operation

from inarch.core.lazy import Array, np
from inarch.core.scalars.functions import FUNCTIONS, Function
from inarch.definitions import elements as e
from inarch.definitions.frame import Definition, elementwise
from inarch.dialects.graph.elementwise.arithmetic import power
from inarch.dialects.loop.scalar import RemfOp


def _function(function: Function) -> Definition:
    return elementwise(lambda x: e.apply(function, x))


def _integers(function: Callable[[Array], Array]) -> Definition:
    return elementwise(lambda x: e.exactly(function, x))


def _count(array: Array, count: Callable[[int, int], int]) -> Array:
    width = 8 * array.dtype.itemsize
    mask = (1 << width) - 1
    found = np.frompyfunc(lambda x: count(int(x) & mask, width), 1, 1)(array)
    return np.asarray(found).astype(array.dtype)


def _leading_zeros(x: int, width: int) -> int:
    return width - x.bit_length()


def _trailing_zeros(x: int, width: int) -> int:
    return (x & -x).bit_length() - 1 if x else width


def _power(base: Array, exponent: Array) -> Array:
    """Wraps; a negative exponent leaves what is left of 1 / base towards zero, and 0 for a base of 0."""
    width = 8 * base.dtype.itemsize

    def one(b: int, n: int) -> int:
        b, n = int(b), int(n)
        if n < 0:
            return {1: 1, -1: -1 if n & 1 else 1}.get(b, 0)
        return int(pow(b, n, 1 << width))  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]

    found = np.asarray(np.frompyfunc(one, 2, 1)(base, exponent))
    half = 1 << (width - 1)
    signed = np.frompyfunc(lambda x: (x + half) % (2 * half) - half, 1, 1)(found)
    return np.asarray(signed).astype(base.dtype)


def _float_power(x: e.Element, n: e.Element) -> e.Element:
    """A bool is a signed integer of one bit: set is -1."""
    if np.dtype(n.dtype).kind == "b":
        n = e.exactly(lambda values: -values.astype(np.int8), n)
    return e.apply_binary(power, x, e.to_float(n, np.dtype(np.float64)))


_OPS = {op.name: op for op in math.Math.operations}

DEFINITIONS: Mapping[type[Operation], Definition] = {
    **{
        op: _function(row)
        for row in FUNCTIONS.values()
        if row.arity == 1 and (op := _OPS.get(row.floats)) is not None
    },
    math.PowFOp: elementwise(lambda a, b: e.apply_binary(power, a, b)),
    math.Atan2Op: elementwise(lambda a, b: e.apply_binary(np.arctan2, a, b)),
    math.FPowIOp: elementwise(_float_power),
    math.FmaOp: elementwise(lambda a, b, c: e.add(e.multiply(a, b), c)),
    math.CopySignOp: elementwise(e.copy_sign),
    RemfOp: elementwise(lambda a, b: e.exactly(np.fmod, a, b)),
    math.AbsIOp: _integers(np.abs),
    math.IPowIOp: elementwise(lambda a, b: e.exactly(_power, a, b)),
    math.CountLeadingZerosOp: _integers(lambda x: _count(x, _leading_zeros)),
    math.CountTrailingZerosOp: _integers(lambda x: _count(x, _trailing_zeros)),
    math.CtPopOp: _integers(lambda x: _count(x, lambda value, _: value.bit_count())),
}
