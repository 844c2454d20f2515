"""What a converter sees: one call of an ATen operator in an FX graph, and a way to build ops.

A converter is a function from a `Node` to its results. What it gives has the shapes and dtypes that
PyTorch has found, or the node counts as not supported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from xdsl.ir import SSAValue

from inarch.core.dtypes import DType
from inarch.core.errors import InarchError
from inarch.dialects.graph.op import shape_of
from inarch.frontends.building import Building
from inarch.frontends.report import NotSupportedError


@dataclass(frozen=True)
class Result:
    """A tensor as PyTorch has found it to be."""

    dtype: DType
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Node(Building):
    """One node whose inputs are known: values of the program, numbers, lists of them, or None."""

    op: str
    """Its operator: `aten.add.Tensor`."""
    args: Sequence[object]
    kwargs: Mapping[str, object]
    results: Sequence[Result | None]
    """None for one that is no tensor of ours."""
    used: frozenset[int]
    """The results that others use."""

    @property
    def dtype(self) -> DType:
        """Of the first result."""
        return self.result.dtype

    @property
    def result(self) -> Result:
        """The first one."""
        first = self.results[0] if self.results else None
        if first is None:
            raise NotSupportedError("a result that is no tensor")
        return first

    def arg(self, index: int, name: str, default: object = None) -> Any:
        """An argument by position, else by name, else the default of the schema."""
        if index < len(self.args):
            return self.args[index]
        return self.kwargs.get(name, default)

    def has(self, index: int) -> bool:
        """Whether there is an argument that is not None."""
        return index < len(self.args) and self.args[index] is not None

    def x(self, index: int = 0) -> SSAValue:
        """Argument `index`, a tensor."""
        value = self.args[index] if index < len(self.args) else None
        if not isinstance(value, SSAValue):
            raise InarchError(f"expected argument {index} to be a tensor, found {value}")
        return cast("SSAValue", value)

    def shape(self, index: int = 0) -> tuple[int, ...]:
        """The shape of argument `index`."""
        return shape_of(self.x(index))

    def tensors(self, index: int = 0) -> list[SSAValue]:
        """Argument `index`, a list of tensors."""
        values = self.args[index]
        if not isinstance(values, list | tuple) or not all(
            isinstance(each, SSAValue) for each in cast("Sequence[object]", values)
        ):
            raise InarchError(f"expected argument {index} to be tensors, found {values}")
        return list(cast("Sequence[SSAValue]", values))

    def ints(
        self, index: int, name: str, default: Sequence[int] = (), *, rank: int | None = None
    ) -> list[int]:
        """A list of integers; one stands for `rank` of them, as for windows."""
        value = self.arg(index, name, default)
        found = [value] if isinstance(value, int) else list(value if value is not None else default)
        if not all(type(each) is int for each in found):
            raise NotSupportedError("a size that is known at run time")
        return found * rank if rank is not None and len(found) == 1 else found

    def number(self, index: int, name: str, default: float | None = None) -> float:
        """A number of Python."""
        value = self.arg(index, name, default)
        if not isinstance(value, int | float):
            raise InarchError(f"expected {name} to be a number, found {value}")
        return value

    def operand(self, index: int, dtype: DType) -> SSAValue:
        """Argument `index`, a tensor or a number, in a dtype: as PyTorch promotes it."""
        return self.value(self.args[index], dtype)

    def value(self, value: object, dtype: DType) -> SSAValue:
        """A tensor or a number in a dtype."""
        if isinstance(value, SSAValue):
            return self.cast(cast("SSAValue", value), dtype)
        if isinstance(value, bool | int | float):
            from inarch.core.lazy import np

            array = np.array(value, dtype.numpy)
            if not dtype.is_float and array.item() != value:
                raise NotSupportedError(f"{value} as {dtype.name}")
            return self.constant(array)
        raise InarchError(f"expected a tensor or a number, found {value}")


Values: TypeAlias = "SSAValue | Sequence[SSAValue | None]"
Converter: TypeAlias = Callable[[Node], Values]
"""From a node to its result, or its results in order: None for one that it does not make."""
