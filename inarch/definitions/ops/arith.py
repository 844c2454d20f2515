"""`arith`: integers wrap and never trap, floats are IEEE, conversions to integers saturate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr
from xdsl.ir import Operation

from inarch.core.errors import UnsupportedError
from inarch.core.lazy import Array, np
from inarch.core.scalars.functions import FUNCTIONS
from inarch.definitions import elements as e
from inarch.definitions.frame import Definition, Frame, elementwise, storage_dtype
from inarch.ir.location import location_text

_UNSIGNED = {"bool": "uint8", **{f"int{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)}}


def _unsigned(array: Array) -> Array:
    return array.astype(_UNSIGNED[array.dtype.name])


def _signed(array: Array) -> Array:
    """A bool as MLIR's signed integer of one bit: set is -1."""
    return -array.astype(np.int8) if array.dtype.kind == "b" else array


def _on_unsigned(function: Callable[[Array, Array], Array]) -> Definition:
    def compute(a: Array, b: Array) -> Array:
        return np.asarray(function(_unsigned(a), _unsigned(b))).astype(a.dtype)

    return elementwise(lambda a, b: e.exactly(compute, a, b))


def _on_signed(function: Callable[[Array, Array], Array]) -> Definition:
    def compute(a: Array, b: Array) -> Array:
        return np.asarray(function(_signed(a), _signed(b))).astype(a.dtype)

    return elementwise(lambda a, b: e.exactly(compute, a, b))


def _bitwise(function: Callable[[Array, Array], Array]) -> Definition:
    return elementwise(lambda a, b: e.exactly(function, a, b))


# ---------------------------------------------------------------------------------- division


_quotient = FUNCTIONS["div"].compute


def _remainder(a: Array, b: Array) -> Array:
    """With the sign of the dividend; by 0 it is 0."""
    rest = a - np.multiply(_quotient(a, b), b, dtype=a.dtype)
    return np.where(b == 0, 0, rest).astype(a.dtype)


def _floor_quotient(a: Array, b: Array) -> Array:
    differ = ((a < 0) != (b < 0)) & (_remainder(a, b) != 0)
    return (_quotient(a, b) - differ).astype(a.dtype)


def _ceil_quotient(a: Array, b: Array) -> Array:
    alike = ((a < 0) == (b < 0)) & (_remainder(a, b) != 0)
    return (_quotient(a, b) + alike).astype(a.dtype)


# ---------------------------------------------------------------------------------- shifts


def _width(dtype: np.dtype[Any]) -> int:
    return 1 if dtype.kind == "b" else 8 * dtype.itemsize


def _shift_left(a: Array, b: Array) -> Array:
    """0 for an amount that is negative or not below the width."""
    amount, width = _unsigned(b), _width(a.dtype)
    valid = amount < width
    return np.where(valid, _unsigned(a) << np.where(valid, amount, 0), 0).astype(a.dtype)


def _shift_right_unsigned(a: Array, b: Array) -> Array:
    amount, width = _unsigned(b), _width(a.dtype)
    valid = amount < width
    return np.where(valid, _unsigned(a) >> np.where(valid, amount, 0), 0).astype(a.dtype)


def _shift_right_signed(a: Array, b: Array) -> Array:
    """The sign for an amount that is negative or not below the width."""
    amount, width, x = _unsigned(b), _width(a.dtype), _signed(a)
    valid = amount < width
    return np.where(valid, x >> np.where(valid, b, 0), np.where(x < 0, -1, 0)).astype(a.dtype)


# ---------------------------------------------------------------------------------- comparison

_ORDER: Mapping[str, str] = {
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
}


def _compare_integers(op: Operation, frame: Frame) -> None:
    assert isinstance(op, arith.CmpiOp)
    name = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
    function = getattr(np, _ORDER[name[-2:]])
    sign = _unsigned if name.startswith("u") else _signed

    def compute(a: Array, b: Array) -> Array:
        return function(sign(a), sign(b))

    left, right = frame.operands(op)
    if name.startswith("u") or np.dtype(left.dtype).kind == "b":
        frame.set(op, e.exactly(compute, left, right))
    else:
        frame.set(op, e.compare(function, left, right))


def _compare_floats(op: Operation, frame: Frame) -> None:
    """Ordered predicates are false of NaN, unordered ones true."""
    assert isinstance(op, arith.CmpfOp)
    name = arith.CMPF_COMPARISON_OPERATIONS[op.predicate.value.data]
    left, right = frame.operands(op)

    def compute(a: Array, b: Array) -> Array:
        unordered = np.isnan(a) | np.isnan(b)
        if name in ("true", "false"):
            return np.full(unordered.shape, name == "true")
        if name in ("ord", "uno"):
            return unordered == (name == "uno")
        found = getattr(np, _ORDER[name[1:]])(a, b)
        return (found | unordered) if name.startswith("u") else (found & ~unordered)

    if name in ("true", "false"):
        frame.set(op, e.compare(compute, left, left))
    elif name in ("ord", "uno"):
        # Each by itself: whether it is NaN, and not how close they are.
        both = np.logical_and if name == "ord" else np.logical_or
        each = (e.compare(compute, one, one) for one in (left, right))
        frame.set(op, e.exactly(both, *each))
    else:
        frame.set(op, e.compare(compute, left, right))


# ---------------------------------------------------------------------------------- conversion


def _convert(change: Callable[[Any, np.dtype[Any]], Any]) -> Definition:
    def definition(op: Operation, frame: Frame) -> None:
        (x,) = frame.operands(op)
        frame.set(op, change(x, storage_dtype(op.results[0].type)))

    return definition


def _from_signed(x: Any, dtype: np.dtype[Any]) -> Any:
    whole = e.exactly(_signed, x) if np.dtype(x.dtype).kind == "b" else x
    return e.to_float(whole, dtype)


def _from_unsigned(x: Any, dtype: np.dtype[Any]) -> Any:
    return e.to_float(e.exactly(_unsigned, x), dtype)


def _to_unsigned(x: Any, dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "b":
        return _to_bool(x)
    whole = e.to_integer(x, np.dtype(_UNSIGNED[dtype.name]))
    return e.exactly(lambda array: array.astype(dtype), whole)


def _to_signed(x: Any, dtype: np.dtype[Any]) -> Any:
    return _to_bool(x) if dtype.kind == "b" else e.to_integer(x, dtype)


def _to_bool(x: Any) -> Any:
    """Whether anything is left when it saturates as a byte without sign."""
    return e.exactly(lambda array: array != 0, e.to_integer(x, np.dtype(np.uint8)))


def _extend_signed(x: Any, dtype: np.dtype[Any]) -> Any:
    whole = e.exactly(_signed, x) if np.dtype(x.dtype).kind == "b" else x
    return e.reinterpret(whole, dtype)


def _cast_index(x: Any, dtype: np.dtype[Any]) -> Any:
    """To a wider type with the sign, to a narrower one by the low bits."""
    return _truncate(x, dtype) if dtype.kind == "b" else _extend_signed(x, dtype)


def _extend_unsigned(x: Any, dtype: np.dtype[Any]) -> Any:
    return e.exactly(lambda array: _unsigned(array).astype(dtype), x)


def _truncate(x: Any, dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "b":
        return e.exactly(lambda array: (array & 1) != 0, x)
    return e.reinterpret(x, dtype)


def _constant(op: Operation, frame: Frame) -> None:
    assert isinstance(op, arith.ConstantOp)
    value = op.value
    if not isinstance(value, FloatAttr | IntegerAttr):
        raise UnsupportedError(
            f"expected a constant of one number, found {value}", where=location_text(op)
        )
    kind = op.result.type
    dtype = np.dtype(np.int64) if isinstance(kind, IndexType) else storage_dtype(kind)
    number = value.value.data
    if dtype.kind == "i":  # `255 : i8` has the bits of -1
        wrapped = int(number) & ((1 << (8 * dtype.itemsize)) - 1)
        array = np.array(wrapped, dtype=f"uint{8 * dtype.itemsize}").astype(dtype)
    else:
        array = np.array(number).astype(dtype)
    frame.set(op, frame.domain.exact(array))


def _extreme(name: str) -> Definition:
    return elementwise(lambda a, b: e.extreme(getattr(np, name), a, b))


DEFINITIONS: Mapping[type[Operation], Definition] = {
    arith.ConstantOp: _constant,
    arith.AddfOp: elementwise(e.add),
    arith.SubfOp: elementwise(e.subtract),
    arith.MulfOp: elementwise(e.multiply),
    arith.DivfOp: elementwise(e.divide),
    arith.NegfOp: elementwise(e.negative),
    arith.AddiOp: elementwise(e.add),
    arith.SubiOp: elementwise(e.subtract),
    arith.MuliOp: elementwise(e.multiply),
    arith.MaximumfOp: _extreme("maximum"),
    arith.MinimumfOp: _extreme("minimum"),
    arith.MaxnumfOp: _extreme("fmax"),
    arith.MinnumfOp: _extreme("fmin"),
    arith.MaxSIOp: _on_signed(np.maximum),
    arith.MinSIOp: _on_signed(np.minimum),
    arith.MaxUIOp: _on_unsigned(np.maximum),
    arith.MinUIOp: _on_unsigned(np.minimum),
    arith.DivSIOp: _on_signed(_quotient),
    arith.DivUIOp: _on_unsigned(_quotient),
    arith.RemSIOp: _on_signed(_remainder),
    arith.RemUIOp: _on_unsigned(_remainder),
    arith.FloorDivSIOp: _on_signed(_floor_quotient),
    arith.CeilDivSIOp: _on_signed(_ceil_quotient),
    arith.CeilDivUIOp: _on_unsigned(_ceil_quotient),
    arith.ShLIOp: _bitwise(_shift_left),
    arith.ShRUIOp: _bitwise(_shift_right_unsigned),
    arith.ShRSIOp: _bitwise(_shift_right_signed),
    arith.AndIOp: _bitwise(lambda a, b: a & b),
    arith.OrIOp: _bitwise(lambda a, b: a | b),
    arith.XOrIOp: _bitwise(lambda a, b: a ^ b),
    arith.SelectOp: elementwise(e.select),
    arith.CmpiOp: _compare_integers,
    arith.CmpfOp: _compare_floats,
    arith.ExtFOp: _convert(e.to_float),
    arith.TruncFOp: _convert(e.to_float),
    arith.SIToFPOp: _convert(_from_signed),
    arith.UIToFPOp: _convert(_from_unsigned),
    arith.FPToSIOp: _convert(_to_signed),
    arith.FPToUIOp: _convert(_to_unsigned),
    arith.ExtSIOp: _convert(_extend_signed),
    arith.ExtUIOp: _convert(_extend_unsigned),
    arith.TruncIOp: _convert(_truncate),
    arith.IndexCastOp: _convert(_cast_index),
    arith.BitcastOp: _convert(e.bits),
}
