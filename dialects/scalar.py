"""Scalar arithmetic written in Python, traced to `arith` and `math` ops.

A structured op states what it computes per element as one Python function:

    body = lambda a, b, acc: acc + a * b

which is called once with `Scalar`s; every operator appends an op to the block being built. Signed
and unsigned integers share a type in the IR (signless), so a Scalar remembers which it is and picks
the op.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import copysign, inf
from struct import pack

from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from inarch.core.blame import raised
from inarch.core.dtypes import DTYPES, STORED, DType
from inarch.core.errors import InarchError
from inarch.core.scalars.functions import FUNCTIONS, OF_MEANINGS, Function
from inarch.ir.payload.lazy import arith, math, scalar_op
from inarch.ir.types import dtype_of, f32, i1, mlir_type, storage_type

Number = bool | int | float
"""A Python number in a traced body; it takes the dtype of the Scalar it meets."""


@dataclass(frozen=True, eq=False)
class Scalar:
    """One element while a body is traced: an SSA value, its dtype, and the block that grows.

    A comparison is a Scalar, too, a bool of the element: it chooses by `select`, never by `if`.
    """

    value: SSAValue
    dtype: DType
    block: Block

    # -- arithmetic

    def __add__(self, other: Scalar | Number) -> Scalar:
        return self.function("add", other)

    def __radd__(self, other: Number) -> Scalar:
        return self._constant(other) + self

    def __sub__(self, other: Scalar | Number) -> Scalar:
        return self.function("sub", other)

    def __rsub__(self, other: Number) -> Scalar:
        return self._constant(other) - self

    def __mul__(self, other: Scalar | Number) -> Scalar:
        return self.function("mul", other)

    def __rmul__(self, other: Number) -> Scalar:
        return self._constant(other) * self

    def __truediv__(self, other: Scalar | Number) -> Scalar:
        """IEEE division; integers divide towards zero, as in C and ONNX.

        Integers never trap: by zero gives 0, and the lowest by -1 wraps to itself, as in NumPy.
        """
        return self.function("div", other)

    def __rtruediv__(self, other: Number) -> Scalar:
        return self._constant(other) / self

    def __mod__(self, other: Scalar | Number) -> Scalar:
        """C's remainder: the sign of the dividend. Integers never trap: by zero gives 0."""
        from inarch.dialects.loop.scalar import RemfOp  # this package's files import us

        return self._binary(other, RemfOp, arith.RemSIOp, arith.RemUIOp)

    def __neg__(self) -> Scalar:
        return self.function("neg")

    def __and__(self, other: Scalar | Number) -> Scalar:
        return self.function("and", other)

    def __or__(self, other: Scalar | Number) -> Scalar:
        return self.function("or", other)

    def __xor__(self, other: Scalar | Number) -> Scalar:
        return self.function("xor", other)

    def __invert__(self) -> Scalar:
        """Logical not of a bool; every bit of an integer."""
        ones = True if self.dtype.name == "i1" else -1
        return self ^ self._constant(ones)

    def shift_left(self, other: Scalar | Number) -> Scalar:
        """`self * 2**other`, integers; 0 for an amount that is negative or not below the width."""
        return self.function("shift_left", other)

    def shift_right(self, other: Scalar | Number) -> Scalar:
        """`floor(self / 2**other)`, integers; a negative amount is as one past the width."""
        return self.function("shift_right", other)

    def maximum(self, other: Scalar | Number) -> Scalar:
        """The larger; NaN when either is NaN."""
        return self.function("max", other)

    def minimum(self, other: Scalar | Number) -> Scalar:
        """The smaller; NaN when either is NaN."""
        return self.function("min", other)

    def power(self, other: Scalar | Number) -> Scalar:
        """`self ** other`, floats and signed integers, which wrap."""
        return self._binary(other, math.PowFOp, math.IPowIOp)

    # -- comparison (NaN compares false, except that it differs from everything)

    def equal(self, other: Scalar | Number) -> Scalar:
        """`self == other`, a bool."""
        return self._compare(other, "oeq", "eq", "eq")

    def not_equal(self, other: Scalar | Number) -> Scalar:
        """`self != other`, a bool."""
        return self._compare(other, "une", "ne", "ne")

    def less(self, other: Scalar | Number) -> Scalar:
        """`self < other`, a bool."""
        return self._compare(other, "olt", "slt", "ult")

    def less_equal(self, other: Scalar | Number) -> Scalar:
        """`self <= other`, a bool."""
        return self._compare(other, "ole", "sle", "ule")

    def greater(self, other: Scalar | Number) -> Scalar:
        """`self > other`, a bool."""
        return self._compare(other, "ogt", "sgt", "ugt")

    def greater_equal(self, other: Scalar | Number) -> Scalar:
        """`self >= other`, a bool."""
        return self._compare(other, "oge", "sge", "uge")

    __eq__ = equal  # pyright: ignore[reportAssignmentType] - an element's bool, as in NumPy
    __ne__ = not_equal  # pyright: ignore[reportAssignmentType] - the same
    __lt__ = less
    __le__ = less_equal
    __gt__ = greater
    __ge__ = greater_equal
    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise InarchError(
            "expected no Python condition on an element, whose value is known at run time only; write "
            "(x > 0).select(a, b) instead of if, &, | and ~ instead of and, or and not, and "
            "a.maximum(b) instead of max(a, b)"
        )

    def select(self, if_true: Scalar | Number, if_false: Scalar | Number) -> Scalar:
        """`if_true` where this bool is set, else `if_false`; at least one of them is a Scalar."""
        if self.dtype.name != "i1":
            raise InarchError(f"expected a condition to select by, found a {self.dtype.name}")
        model = if_true if isinstance(if_true, Scalar) else if_false
        if not isinstance(model, Scalar):
            raise InarchError(
                f"expected an element to select, found the numbers {if_true} and {if_false}; write one as "
                "x * 0 + number, or as a bool that is cast"
            )
        left, right = (
            v if isinstance(v, Scalar) else constant(v, model.dtype, self.block)
            for v in (if_true, if_false)
        )
        _check_dtypes(left, right)
        return replace(
            self._emit(arith.SelectOp(self.value, left.value, right.value)), dtype=model.dtype
        )

    # -- functions

    def abs(self) -> Scalar:
        """The absolute value; that of the lowest integer wraps to itself."""
        return self.function("abs")

    def function(self, name: str, *others: Scalar | Number) -> Scalar:
        """A scalar function by its row's name, `x.function("exp")`, of elements of one dtype."""
        row, dtype = FUNCTIONS.get(name) or OF_MEANINGS[name], self._computed()
        if row.define is not None:
            return self._defined(row, others)
        op = row.floats if dtype.is_float else row.unsigned if dtype.is_unsigned else row.signed
        match name:
            case "relu":
                return self.maximum(0)
            case "neg" if not op:
                return self._constant(0) - self
            case "abs" if not op:
                return self
            case _ if not op:
                raise InarchError(f"expected another dtype than {dtype.name} for this operation")
            case _:
                arguments = [self, *(self._constant(other) for other in others)]
                for argument in arguments[1:]:
                    _check_dtypes(self, argument)
                return self._emit(scalar_op(op)(*(each.value for each in arguments)))

    def _defined(self, row: Function, others: Sequence[Scalar | Number]) -> Scalar:
        """A function of others by its definition."""
        assert row.define is not None
        if row.is_float_only and not self.dtype.is_float:
            raise InarchError(f"expected another dtype than {self.dtype.name} for {row.name}")
        found = row.define(self, *(self._constant(other) for other in others))
        if not isinstance(found, Scalar) or found.dtype != self.dtype:
            what = found.dtype.name if isinstance(found, Scalar) else type(found).__name__
            raise InarchError(
                f"function '{row.name}': expected `define` to give an element of {self.dtype.name}, "
                f"found {what}"
            )
        return found

    def cast(self, dtype: DType | str) -> Scalar:
        """To another dtype: floats truncate towards zero, to bool means `!= 0`.

        From and to a float that is only stored by way of the dtype in which its values are computed with.
        """
        target = DTYPES[dtype] if isinstance(dtype, str) else dtype
        if target == self.dtype:
            return self
        if self.dtype.is_stored:
            by = DTYPES[self.dtype.arithmetic]
            return replace(self._emit(arith.ExtFOp(self.value, mlir_type(by))), dtype=by).cast(
                target
            )  # pyright: ignore[reportArgumentType]
        if target.is_stored:
            wide = self.cast(target.arithmetic)
            return replace(self._emit(arith.TruncFOp(wide.value, mlir_type(target))), dtype=target)  # pyright: ignore[reportArgumentType]
        if target.name == "i1":
            return self.not_equal(0)
        to = storage_type(mlir_type(target))
        op = _cast_op(self, target, to)
        if op is None:  # the same width: only the signedness differs
            return Scalar(self.value, target, self.block)
        self.block.add_op(op)
        return Scalar(op.results[0], target, self.block)

    def bitcast(self, dtype: DType | str) -> Scalar:
        """The same bits as another dtype of that width."""
        target = DTYPES[dtype] if isinstance(dtype, str) else dtype
        if target.bits != self.dtype.bits:
            raise InarchError(
                f"expected a dtype of {self.dtype.bits} bits, as {self.dtype.name} has, found {target.name}"
            )
        to = storage_type(mlir_type(target))
        if to == self.value.type:
            return replace(self, dtype=target)
        return replace(self._emit(arith.BitcastOp(self.value, to)), dtype=target)

    # -- building

    def _computed(self) -> DType:
        """The dtype. Raises InarchError for one that is only stored."""
        if self.dtype.is_stored:
            raise InarchError(stored_message(self.dtype))
        return self.dtype

    def _emit(self, op: Operation) -> Scalar:
        self.block.add_op(op)
        return Scalar(op.results[0], self.dtype, self.block)

    def _constant(self, number: Scalar | Number) -> Scalar:
        if isinstance(number, Scalar):
            return number
        return constant(number, self.dtype, self.block)

    def _binary(
        self,
        other: Scalar | Number,
        float_op: type[Operation] | None,
        signed_op: type[Operation] | None,
        unsigned_op: type[Operation] | None = None,
    ) -> Scalar:
        right = self._constant(other)
        _check_dtypes(self, right)
        if self._computed().is_float:
            op = float_op
        else:
            op = unsigned_op if self.dtype.is_unsigned and unsigned_op else signed_op
        if op is None:
            raise InarchError(f"expected another dtype than {self.dtype.name} for this operation")
        return self._emit(op(self.value, right.value))  # pyright: ignore[reportCallIssue] - each takes two operands

    def _compare(self, other: Scalar | Number, floats: str, signed: str, unsigned: str) -> Scalar:
        right = self._constant(other)
        _check_dtypes(self, right)
        if self._computed().is_float:
            op: Operation = arith.CmpfOp(self.value, right.value, floats)
        else:
            kind = unsigned if self.dtype.is_unsigned else signed
            op = arith.CmpiOp(self.value, right.value, kind)
        self.block.add_op(op)
        return Scalar(op.results[0], DTYPES["i1"], self.block)


def stored_message(dtype: DType) -> str:
    """Why nothing is computed of the dtype."""
    return (
        f"expected a dtype to compute with, found {dtype.name}, which is only stored; "
        f"cast it to {dtype.arithmetic}"
    )


@lru_cache(maxsize=64)
def conversion(dtype: DType, *, widens: bool) -> Block:
    """The block by which the bits of a dtype that is only stored become a number, or a number such bits.

    Raises InarchError where the code of the dtype's row raises, or gives an element of another dtype.
    """
    from inarch.dialects.loop.nest import YieldOp  # this package's files import us

    bits, number = DTYPES[f"ui{dtype.bits}"], DTYPES[dtype.arithmetic]
    name, function, takes, gives = (
        ("widen", dtype.widen, bits, number) if widens else ("narrow", dtype.narrow, number, bits)
    )
    assert function is not None, "the row was checked when it was loaded"
    block = Block(arg_types=[storage_type(mlir_type(takes))])
    try:
        found = function(Scalar(block.args[0], takes, block))
    except Exception as error:
        origin = STORED.origin(dtype.name)
        raise InarchError(
            f"dtype '{dtype.name}' [{origin.source}] `{name}` {raised(error, origin)}"
        ) from error
    if not isinstance(found, Scalar) or found.dtype != gives:
        what = found.dtype.name if isinstance(found, Scalar) else type(found).__name__
        raise InarchError(
            f"dtype '{dtype.name}': expected `{name}` to give an element of {gives.name}, found {what}"
        )
    block.add_op(YieldOp(found.value))
    return block


def converted(op: Operation) -> Block | None:
    """The block of an op that converts from or to a dtype that is only stored; None of any other."""
    if isinstance(op, arith.ExtFOp) and (source := dtype_of(op.input.type)).is_stored:
        return conversion(source, widens=True)
    if isinstance(op, arith.TruncFOp) and (target := dtype_of(op.result.type)).is_stored:
        return conversion(target, widens=False)
    return None


def _check_dtypes(left: Scalar, right: Scalar) -> None:
    if left.dtype != right.dtype:
        found = f"{left.dtype.name} and {right.dtype.name}"
        raise InarchError(f"expected elements of one dtype, found {found}; cast one")


def constant(number: Number, dtype: DType, block: Block) -> Scalar:
    """`number` as a Scalar of `dtype` at the end of `block`."""
    to = storage_type(mlir_type(dtype))
    value = number_attribute(number, to)
    op = arith.ConstantOp(value)
    block.add_op(op)
    return Scalar(op.results[0], dtype, block)


def number_attribute(number: Number, element_type: Attribute) -> FloatAttr | IntegerAttr:  # pyright: ignore[reportMissingTypeArgument, reportUnknownParameterType]
    """`number` as a typed attribute: `0.0 : f32`, `-128 : i8`; too large for f32 is an infinity."""
    if dtype_of(element_type).is_float:
        value = float(number)
        if element_type == f32 and not _fits_f32(value):
            value = copysign(inf, value)
        elif (dtype := dtype_of(element_type)).is_stored:
            value = dtype.rounded(value)
        return FloatAttr(value, element_type)  # pyright: ignore[reportArgumentType, reportCallIssue, reportUnknownVariableType]
    if element_type == i1:
        return IntegerAttr(int(bool(number)), 1)
    bits = dtype_of(element_type).bits
    wrapped = int(number) & ((1 << bits) - 1)  # unsigned values live in signless attributes
    signed = wrapped - (1 << bits) if wrapped >> (bits - 1) else wrapped
    return IntegerAttr(signed, element_type)  # pyright: ignore[reportArgumentType, reportCallIssue]


def _fits_f32(value: float) -> bool:
    """Whether `value` rounds to a finite f32, or is not finite itself."""
    try:
        pack("<f", value)
    except OverflowError:
        return False
    return True


def _cast_op(x: Scalar, target: DType, to: Attribute) -> Operation | None:
    """The arith op that converts `x` to `target`, or None when only the signedness changes."""
    source = x.dtype
    if source.is_float and target.is_float:
        wider = target.bits > source.bits
        return arith.ExtFOp(x.value, to) if wider else arith.TruncFOp(x.value, to)  # pyright: ignore[reportArgumentType]
    if source.is_float:
        op = arith.FPToUIOp if target.is_unsigned else arith.FPToSIOp
        return op(x.value, to)  # pyright: ignore[reportArgumentType]
    if target.is_float:
        op = arith.UIToFPOp if source.is_unsigned else arith.SIToFPOp
        return op(x.value, to)  # pyright: ignore[reportArgumentType]
    if source.name != "i1" and target.bits == source.bits:
        return None
    if target.bits > source.bits or source.name == "i1":
        op = arith.ExtUIOp if source.is_unsigned else arith.ExtSIOp
        return op(x.value, to)  # pyright: ignore[reportArgumentType]
    return arith.TruncIOp(x.value, to)  # pyright: ignore[reportArgumentType]
