"""The base classes of `graph` ops: a class tells its op's whole story.

Fields, of which the text follows; a docstring with the equation, shapes, dtypes and numbered constraints;
`check` (the constraints), `infer` (result types), `reference` (NumPy), and for structured ops `nest`
(index maps and a scalar body, from which the loop nest is derived). A composition states `decompose`.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self, TypeAlias, cast

from xdsl.dialects.builtin import (
    BytesAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    LocationAttr,
    StringAttr,
    TensorType,
)
from xdsl.ir import Attribute, Operation, OpResult, SSAValue, SSAValues
from xdsl.irdl import IRDLOperation, OpDef, OptOperandDef, OptPropertyDef, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from inarch.core.dtypes import DType, without_row
from inarch.core.lazy import Array
from inarch.dialects.graph.layout import layout_of
from inarch.dialects.nest_spec import NestSpec
from inarch.dialects.scalar import stored_message
from inarch.ir.require import require
from inarch.ir.types import dtype_of, i64, is_supported

Tensor: TypeAlias = TensorType[Attribute]


Property: TypeAlias = Attribute | bool | int | float | str | Sequence[int]
"""What `GraphOp.make` takes as a property."""


def as_attribute(value: Property) -> Attribute:
    """The attribute that a Python value stands for in `GraphOp.make`.

    Raises VerifyException for integers of more than 64 bits.
    """
    try:
        return _attribute(value)
    except (ValueError, OverflowError, struct.error) as error:
        raise VerifyException("expected integers of at most 64 bits, found larger ones") from error


def _attribute(value: Property) -> Attribute:
    match value:
        case Attribute():
            return value
        case bool():
            return IntegerAttr(int(value), 1)
        case int():
            return IntegerAttr(value, 64)
        case float():
            return FloatAttr(value, 64)
        case str():
            return StringAttr(value)
        case _:
            # Not `from_list`, which takes 5 us for each: a stranger's list may have a million.
            return DenseArrayBase(i64, BytesAttr(struct.pack(f"<{len(value)}q", *value)))


def ints(array: DenseArrayBase[Any]) -> tuple[int, ...]:
    """The values of an `array<i64>` property."""
    data = array.data.data
    return struct.unpack(f"<{len(data) // 8}q", data)


def tensor_of(value: SSAValue) -> Tensor:
    """The tensor type of `value`. Raises VerifyException for any other type."""
    if not isinstance(value.type, TensorType):
        raise VerifyException(f"expected a tensor, found {value.type}")
    return cast("Tensor", value.type)


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The static shape of a tensor value."""
    return tuple(tensor_of(value).get_shape())


def element_of(value: SSAValue) -> Attribute:
    """The element type of a tensor value."""
    return tensor_of(value).element_type


def tensor_dtype(value: SSAValue) -> DType:
    """The dtype of a tensor value's elements."""
    return dtype_of(element_of(value))


class GraphOp(IRDLOperation, ABC):
    """An op on whole tensors with value semantics.

    Common constraints, checked here: C0: every tensor is static and of a supported dtype, and each
    result has the type that `infer` gives. A layout (`#graph.layout`) is free: it says how a tensor
    lies in memory, never what it holds, so that `infer` and `reference` know nothing of it. It has
    one block a dimension, and stands only on tensors of ops that take one (`TAKES_LAYOUTS`). A dtype that
    is only stored stands on tensors of ops that move elements (`MOVES`), of casts, and of sums in f32.
    """

    MOVES: ClassVar[bool] = False
    """Whether results are elements of the operands as they are: such ops take dtypes that are only stored."""
    IS_CHEAP: ClassVar[bool] = False
    """Whether it is rather computed again than kept from a backend because others use it, too."""
    TAKES_LAYOUTS: ClassVar[bool] = False
    """Whether operands and results may be in a layout other than row-major."""
    traits = traits_def(Pure())

    def takes_stored(self) -> bool:
        """Whether its tensors may be of a dtype that is only stored."""
        return self.MOVES

    @abstractmethod
    def infer(self) -> Sequence[Tensor]:
        """Result types from operand types and properties; may rely on `check` having passed."""

    @abstractmethod
    def reference(self, *operands: Any, **_: Any) -> Array | tuple[Array, ...]:
        """The op in NumPy: test oracle and folder.

        Called with one array per operand; ops name their parameters (hence the open signature).
        """

    def reference_points(self) -> int:
        """Steps that `reference` takes besides those that its operands and results are read and written in.

        What folds constants asks before: few bytes may say much work, as windows do.
        """
        return 0

    def folds(self) -> bool:
        """Whether it becomes a constant where its operands are; else not before backends were asked."""
        return True

    def check(self) -> None:
        """The op's numbered constraints on operands and properties; see `require`."""

    @classmethod
    def make(
        cls,
        *operands: SSAValue | Operation,
        location: LocationAttr | None = None,
        **properties: Property,
    ) -> Self:
        """The op with inferred result types: `ConvOp.make(x, w, strides=[1, 1], groups=2)`.

        Python values become properties: bool `i1`, int `i64`, float `f64`, str, ints `array<i64>`.
        Raises VerifyException when a constraint fails.
        """
        op = cls.create(
            operands=[SSAValue.get(operand) for operand in operands],
            properties={name: as_attribute(value) for name, value in properties.items()},
            location=location,
        )
        op.add_defaults()
        op.infer_results()
        return op

    @staticmethod
    def format_of(definition: OpDef) -> str:
        """The assembly format of an op that states none: operands, properties by name, types.

        What may be left out is in parentheses: `$x `,` $w (`bias` $bias^)? `groups` `=` $groups ...`.
        """
        operands, types = list[str](), list[str]()
        for name, operand in definition.operands:
            if isinstance(operand, OptOperandDef):
                operands.append(f" (`{name}` ${name}^)?")
                types.append(f" (`,` type(${name})^)?")
            else:
                comma = " `,`" if operands else ""
                operands.append(f"{comma} ${name}")
                types.append(f"{comma} type(${name})")
        properties = [
            f" `{name}` `=` ${name}"
            if given.default_value is None and not isinstance(given, OptPropertyDef)
            else f" (`{name}` `=` ${name}^)?"
            for name, given in definition.properties.items()
        ]
        results = " `,` ".join(f"type(${name})" for name, _ in definition.results)
        return f"{''.join(operands + properties)} attr-dict `:`{''.join(types)} `->` {results}"

    def infer_results(self) -> None:
        """Checks the constraints, then gives the op the results that `infer` states."""
        self._check_tensors(self.operands)
        self.check()
        self.results = SSAValues(OpResult(t, self, i) for i, t in enumerate(self.infer()))

    def add_defaults(self) -> None:
        """Fills in the properties that have a default value and were not given."""
        for name, definition in self.get_irdl_definition().properties.items():
            default = definition.default_value
            if default is not None and name not in self.properties:
                self.properties[name] = default

    def verify_(self) -> None:
        self._check_tensors(self.operands)
        self._check_tensors(self.results)
        self._check_layouts()
        self.check()
        for index, (result, expected) in enumerate(zip(self.results, self.infer(), strict=True)):
            found = tensor_of(result)
            same = (
                found.get_shape() == expected.get_shape()
                and found.element_type == expected.element_type
            )
            require(same, "C0", "expected result {} of type {}, found {}", index, expected, found)

    def _check_tensors(self, values: Sequence[SSAValue]) -> None:
        for value in values:
            found = tensor_of(value)
            if not found.has_static_shape():  # no `require`: printing types is most of making an op
                raise VerifyException(f"C0: expected a static shape, found {found}")
            if not is_supported(found.element_type):
                advice = without_row(str(found.element_type))
                raise VerifyException(
                    f"C0: expected a supported dtype, found {found}{f'; {advice}' if advice else ''}"
                )
            if not self.takes_stored() and (dtype := dtype_of(found.element_type)).is_stored:
                raise VerifyException(f"C0: {stored_message(dtype)}")

    def _check_layouts(self) -> None:
        for value in (*self.operands, *self.results):
            layout = layout_of(value)
            if layout is None:
                continue
            may_have = self.TAKES_LAYOUTS
            require(may_have, "C0", "expected row-major tensors only, found {}", value.type)
            rank = len(shape_of(value))
            fits = len(layout.blocks) == rank
            require(fits, "C0", "expected a layout with {} blocks, found {}", rank, value.type)

    def emit_error(self, message: str, underlying_error: Exception) -> Any:
        """Without the text of the whole module, which xDSL would attach."""
        raise underlying_error


class StructuredOp(GraphOp):
    """An op whose loop nest is derived from its index maps and its scalar body.

    It takes layouts: an iterator that alone indexes a blocked dimension is split in two.
    """

    @abstractmethod
    def nest(self) -> NestSpec:
        """The op as one nest over its operands, in order; it has one result."""

    TAKES_LAYOUTS: ClassVar[bool] = True


class CompositeOp(GraphOp):
    """A composition that has a name of its own while patterns want to see it (softmax, gelu ...)."""

    @abstractmethod
    def decompose(self) -> list[Operation]:
        """The same value from simpler graph ops, in order; the last op's result replaces this one's."""


def broadcast(*shapes: Sequence[int]) -> tuple[int, ...] | None:
    """The NumPy broadcast of `shapes`, or None when they do not broadcast.

    >>> broadcast((2, 1, 3), (4, 1)), broadcast((2,), (3,))
    ((2, 4, 3), None)
    """
    rank = max((len(shape) for shape in shapes), default=0)
    result: list[int] = []
    for axis in range(rank):
        sizes = {
            shape[axis - rank + len(shape)] for shape in shapes if axis - rank + len(shape) >= 0
        }
        sizes.discard(1)
        if len(sizes) > 1:
            return None
        result.append(sizes.pop() if sizes else 1)
    return tuple(result)
