"""How converters of any frontend build ops: with inferred types, what is constant evaluated at once."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from inarch.core.dtypes import DType
from inarch.core.errors import InarchError
from inarch.core.lazy import Array, np
from inarch.dialects.graph import operations
from inarch.dialects.graph.op import GraphOp, Property, shape_of, tensor_dtype
from inarch.frontends.builder import Builder
from inarch.frontends.ids import declare
from inarch.ir.types import mlir_type


@dataclass(frozen=True)
class Building:
    """What nodes of all frontends have in common: they add ops to a block."""

    name: str
    """Unique enough for messages."""
    builder: Builder
    wide: dict[SSAValue, SSAValue] = field(
        default_factory=dict[SSAValue, SSAValue], kw_only=True, repr=False, compare=False
    )
    """Values of a dtype that is only stored, as they are computed with."""

    @property
    def graph(self) -> Graph:
        """The ops of `graph`, by their names there."""
        return Graph(self)

    def emit(
        self, kind: type[GraphOp] | str, /, *operands: SSAValue | float, **properties: Property
    ) -> SSAValue:
        """The result of a new op; a constant when all its operands are and it is small.

        `kind`: its class, or the name of an op of `graph`. A number among the operands is a constant of the
        dtype of the last tensor among them. Raises InarchError when a constraint of the op fails.
        """
        (result,) = self.emit_all(kind, *operands, **properties)
        return result

    def emit_all(
        self, kind: type[GraphOp] | str, /, *operands: SSAValue | float, **properties: Property
    ) -> list[SSAValue]:
        """As `emit`, of an op with several results.

        An op that computes with a dtype that is only stored does so in its `arithmetic`; floats that come of
        it are rounded back, each once where another op of this node takes it.
        """
        op = operations()[kind] if isinstance(kind, str) else kind
        tensors = [operand for operand in operands if isinstance(operand, SSAValue)]
        stored = [tensor_dtype(each) for each in tensors if tensor_dtype(each).is_stored]
        try:
            if op.MOVES or not stored:
                return self._emit(op, operands, properties)
            wide = [
                self._widened(each) if isinstance(each, SSAValue) else each for each in operands
            ]
            return [self._narrowed(each, stored[0]) for each in self._emit(op, wide, properties)]
        except VerifyException as error:
            # The number of the constraint is of the op's documentation, which the model's author has not.
            raise InarchError(re.sub(r"^C\d+: ", "", str(error))) from error

    def _emit(
        self,
        op: type[GraphOp],
        operands: Sequence[SSAValue | float],
        properties: dict[str, Property],
    ) -> list[SSAValue]:
        tensors = [operand for operand in operands if isinstance(operand, SSAValue)]
        values = [
            operand if isinstance(operand, SSAValue) else self.like(operand, tensors[-1])
            for operand in operands
        ]
        return self.builder.emit(op, values, properties, self.name)

    def _widened(self, value: SSAValue) -> SSAValue:
        """A value in the dtype in which it is computed with; what this node has rounded as it was before."""
        if value not in self.wide and (dtype := tensor_dtype(value)).is_stored:
            self.wide[value] = self.cast(value, dtype.arithmetic)
        return self.wide.get(value, value)

    def _narrowed(self, value: SSAValue, dtype: DType) -> SSAValue:
        if tensor_dtype(value).name != dtype.arithmetic:
            return value
        narrow = self.cast(value, dtype)
        self.wide[narrow] = value
        return narrow

    def cast(self, value: SSAValue, dtype: DType | str) -> SSAValue:
        """`value` in another dtype; itself when it has that."""
        name = dtype if isinstance(dtype, str) else dtype.name
        return (
            value
            if tensor_dtype(value).name == name
            else self.graph.cast(value, to=mlir_type(name))
        )

    def cast_like(self, value: SSAValue, like: SSAValue) -> SSAValue:
        """`value` in the dtype of `like`; itself where it has it."""
        return self.cast(value, tensor_dtype(like))

    def constant(self, array: Array) -> SSAValue:
        """A constant of this node."""
        return self.builder.computed_constant(array, self.name)

    def room(self, *sizes: int, itemsize: int = 8) -> None:
        """Raises InarchError when arrays of this shape are too large: to ask before making them."""
        self.builder.room(math.prod(sizes), itemsize)

    def like(self, number: float, value: SSAValue) -> SSAValue:
        """The scalar constant `number` of the dtype of `value`.

        Raises InarchError where an integer dtype has no such number: the operator is of floats.
        """
        dtype = tensor_dtype(value)
        if not dtype.is_float and not _holds(dtype, number):
            raise InarchError(f"expected a float dtype, which has {number}, found {dtype.name}")
        return self.constant(np.array(number, dtype.numpy))

    def reshape(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """`value` under another shape; itself when it has that shape."""
        if shape_of(value) == tuple(shape):
            return value
        return self.graph.reshape(value, shape=list(shape))

    def broadcast(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """`value` repeated to another shape; itself when it has that shape."""
        if shape_of(value) == tuple(shape):
            return value
        return self.graph.broadcast_to(value, shape=list(shape))

    def part(self, value: SSAValue, axis: int, start: int, size: int, step: int = 1) -> SSAValue:
        """`size` elements along an axis, from `start` on; `value` itself when that is all of them."""
        shape = shape_of(value)
        axis %= len(shape)
        if (start, size, step) == (0, shape[axis], 1):
            return value

        def along(number: int, others: Sequence[int]) -> list[int]:
            return [*others[:axis], number, *others[axis + 1 :]]

        zeros, ones = [0] * len(shape), [1] * len(shape)
        return self.graph.slice(
            value, starts=along(start, zeros), sizes=along(size, shape), steps=along(step, ones)
        )

    def indexes(self, value: SSAValue, *sizes: int, wraps: bool = True) -> None:
        """Says that the elements of `value`, in turn, are indices of dimensions of these sizes.

        Those that wrap count from the end below 0. Raises InarchError for a constant outside.
        """
        declare(self.builder, value, [(-size if wraps else 0, size - 1) for size in sizes])

    def axis(self, value: int, rank: int) -> int:
        """An axis that may count from the end, as one that counts from the front."""
        if not -rank <= value < rank:
            raise InarchError(f"expected an axis of rank {rank}, found {value}")
        return value % rank if rank else value

    def axes(self, values: Sequence[int], rank: int) -> list[int]:
        """Axes that may count from the end, ascending. Raises InarchError when one comes twice."""
        found = sorted(self.axis(value, rank) for value in values)
        if len(set(found)) != len(found):
            raise InarchError(f"expected different axes, found {list(values)} of rank {rank}")
        return found


class Emits(Protocol):
    """What makes an op by its name."""

    def emit(self, kind: str, /, *operands: SSAValue, **properties: Property) -> SSAValue:
        """The result."""
        raise NotImplementedError


@dataclass(frozen=True)
class Graph:
    """New ops of a node, by their names in `graph`: `graph.maximum(x, 0)` is `node.emit("maximum", x, 0)`."""

    building: Emits

    def __getattr__(self, name: str) -> Callable[..., SSAValue]:
        if name not in operations():
            raise AttributeError(f"graph has no op '{name}'")
        return partial(self.building.emit, name)


def _holds(dtype: DType, number: float) -> bool:
    """Whether an integer dtype, or bool, has the number."""
    if not float(number).is_integer():
        return False
    bits = dtype.bits - (dtype.bits > 1 and not dtype.is_unsigned)
    least = 0 if bits == dtype.bits else -(1 << bits)
    return least <= int(number) < 1 << bits
