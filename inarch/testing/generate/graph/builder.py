"""Programs of `graph`: what recipes build with, and how a program comes to an end."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.context import Context
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from inarch.core.dtypes import DTYPES, DType
from inarch.core.lazy import np
from inarch.definitions.functions import Array
from inarch.dialects.graph import operations
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.frontends.building import Graph
from inarch.ir.context import store_of
from inarch.ir.payload.constants import constant_attribute
from inarch.ir.types import mlir_type, tensor
from inarch.testing.generate.choices import SIZES, Choices
from inarch.testing.generate.inputs import specials

Shape = tuple[int, ...]
Recipe = Callable[["GraphBuilder"], None]
"""Adds an op, or a few, to the program that is being built."""

_MOST_ELEMENTS = 1 << 13
_MOST_WORK = 1 << 21
"""Multiplications of one op."""


def anything(_: DType) -> bool:
    """What moves elements takes: every dtype, those that are only stored, too."""
    return True


def computed(_: DType) -> bool:
    """Every dtype that one computes with."""
    return True


def is_float(dtype: DType) -> bool:
    """Which values some ops take."""
    return dtype.is_float


def is_number(dtype: DType) -> bool:
    """Which values most ops take."""
    return dtype.name != "i1"


@dataclass
class GraphBuilder:
    """One function that grows: recipes ask it for operands, and give it ops."""

    choices: Choices
    context: Context
    dtype: DType
    full: bool = False
    """Whether layers of networks have their full sizes."""
    block: Block = field(default_factory=Block)
    values: list[SSAValue] = field(default_factory=list[SSAValue])
    callees: list[FuncOp] = field(default_factory=list[FuncOp])
    sizes: tuple[int, ...] = ()
    count: int = 0

    def __post_init__(self) -> None:
        pick = self.choices.pick
        self.sizes = tuple(pick(SIZES) for _ in range(3))

    @property
    def most_elements(self) -> int:
        """What recipes keep values below."""
        return _MOST_ELEMENTS

    @property
    def most_work(self) -> int:
        """What recipes keep the multiplications of one op below."""
        return _MOST_WORK

    # -- sizes and dtypes

    def size(self) -> int:
        """A dimension: mostly one of the program's few, rarely 0."""
        if self.choices.chance(2):
            return 0
        return self.choices.pick((*self.sizes, 1))

    def shape(self, low: int = 0, high: int = 4) -> Shape:
        """A shape of that many dimensions (sometimes one more), of a bounded number of elements."""
        rank = self.choices.integer(low, high + (1 if self.choices.chance(10) else 0))
        return self.bounded([self.size() for _ in range(rank)])

    def bounded(self, shape: Sequence[int]) -> Shape:
        """The shape with its largest sizes halved until it has few enough elements."""
        sizes = list(shape)
        while math.prod(size for size in sizes if size) > self.most_elements:
            at = sizes.index(max(sizes))
            sizes[at] = (sizes[at] + 1) // 2
        return tuple(sizes)

    def any_dtype(self, takes: Callable[[DType], bool] = anything) -> DType:
        """The program's dtype mostly, else any that `takes` allows."""
        if _may(takes, self.dtype) and not self.choices.chance(10):
            return self.dtype
        return self.choices.pick([dtype for dtype in DTYPES.values() if _may(takes, dtype)])

    # -- values

    def value(
        self,
        takes: Callable[[DType], bool] = anything,
        fits: Callable[[Shape], bool] = lambda _: True,
        make: Callable[[], Shape] | None = None,
    ) -> SSAValue:
        """A value of a dtype that `takes` allows and a shape that `fits`, else a new argument.

        Mostly one of the last values, so that chains grow; `make` gives the shape of a new one.
        """
        found = [
            v for v in reversed(self.values) if _may(takes, tensor_dtype(v)) and fits(shape_of(v))
        ]
        if found and not self.choices.chance(12):
            near = found[: 2 if self.choices.chance(70) else len(found)]
            return self.choices.pick(near)
        shape = make() if make is not None else self.shape()
        return self.fresh(self.any_dtype(takes), shape)

    def fresh(self, dtype: DType, shape: Sequence[int], constant: int = 25) -> SSAValue:
        """A new argument, or in `constant` of 100 cases a constant."""
        if self.choices.chance(constant):
            return self.constant(dtype, shape)
        return self.argument(dtype, shape)

    def argument(self, dtype: DType, shape: Sequence[int]) -> SSAValue:
        """A new argument."""
        made = self.block.insert_arg(tensor(mlir_type(dtype), shape), len(self.block.args))
        made.name_hint = f"x{len(self.block.args) - 1}"
        self.values.append(made)
        return made

    def like(self, value: SSAValue, constant: int = 40) -> SSAValue:
        """Another value of the dtype and shape of `value`, `value` itself among them."""
        dtype, shape = tensor_dtype(value), shape_of(value)
        found = [v for v in self.values if tensor_dtype(v) == dtype and shape_of(v) == shape]
        if found and self.choices.chance(60):
            return self.choices.pick(found[::-1])
        return self.fresh(dtype, shape, constant)

    def constant(self, dtype: DType, shape: Sequence[int], *, special: bool = True) -> SSAValue:
        """A constant: a splat of a number that simplifications know, a special one, or any numbers."""
        kinds = [(5, "splat"), (3, "plain")]
        kinds += [(1, "special"), (1, "some special")] if special else []
        kind = self.choices.weighted(kinds)
        generator = np.random.default_rng(self.choices.integer(0, 999))
        plain = _plain(dtype, tuple(shape), generator)
        values = specials(dtype)
        if kind == "splat":
            number = self.choices.pick((0, 1, 2, -1, 3))
            known = np.array(abs(number) if dtype.is_unsigned else number).astype(dtype.numpy)
            return self.array(np.broadcast_to(known, tuple(shape)))
        if kind == "special":
            return self.array(np.broadcast_to(self.choices.pick(list(values)), tuple(shape)))
        if kind == "some special" and plain.size:
            plain.reshape(-1)[:: max(1, plain.size // 3)] = self.choices.pick(list(values))
        return self.array(plain)

    def array(self, array: Array) -> SSAValue:
        """The constant of these numbers."""
        store = store_of(self.context)
        array = np.asarray(array)
        splat = array.size > 16 and all(stride == 0 for stride in array.strides)
        if splat and array.dtype.name != "bool" and np.isfinite(array.reshape(-1)[0]):
            made = ConstantOp.make(value=_splat(array))
        else:
            value = constant_attribute(np.ascontiguousarray(array).reshape(array.shape), store)
            made = ConstantOp.make(value=value)
        self.block.add_op(made)
        return made.out

    def positive(self, dtype: DType, shape: Sequence[int]) -> SSAValue:
        """A constant of floats from 0.25 to 2: a variance, a divisor."""
        generator = np.random.default_rng(self.choices.integer(0, 999))
        return self.array((generator.random(tuple(shape)) * 1.75 + 0.25).astype(dtype.numpy))

    def broadcastable(self, shape: Shape) -> Shape:
        """A shape that broadcasts with `shape`: some sizes are 1, some leading ones are left out."""
        own = list(shape[self.choices.integer(0, len(shape)) if self.choices.chance(40) else 0 :])
        if self.choices.chance(50):
            own = [1 if self.choices.chance(40) else size for size in own]
        return tuple(own)

    # -- ops

    @property
    def graph(self) -> Graph:
        """The ops of `graph`, by their names there: `b.graph.relu(x)`."""
        return Graph(self)

    def emit(self, kind: str, /, *operands: SSAValue, **properties: Any) -> SSAValue:
        """As `add`, an op by its name."""
        return self.add(operations()[kind].make(*operands, **properties))

    def add(self, op: Operation) -> SSAValue:
        """Appends `op`; its first result, which later recipes may use."""
        self.block.add_op(op)
        self.values.extend(op.results)
        self.count += 1
        return op.results[0]


def _may(takes: Callable[[DType], bool], dtype: DType) -> bool:
    """Whether a recipe may have values of a dtype: what computes has none of those that are only stored."""
    return takes(dtype) and (takes is anything or not dtype.is_stored)


def _splat(array: Array) -> Any:
    from xdsl.dialects.builtin import DenseIntOrFPElementsAttr

    from inarch.core.dtypes import from_numpy

    element = mlir_type(from_numpy(array.dtype.name))
    kind: Any = tensor(element, array.shape)
    return DenseIntOrFPElementsAttr.from_list(kind, [array.reshape(-1)[0].item()] * array.size)


def _plain(dtype: DType, shape: Shape, generator: np.random.Generator) -> Array:
    if dtype.name == "i1":
        return generator.integers(0, 2, shape).astype(np.bool_)
    if dtype.is_float:
        whole = generator.integers(0, 2)
        numbers = generator.integers(-4, 5, shape) if whole else generator.standard_normal(shape)
        return np.asarray(numbers).astype(dtype.numpy)
    return generator.integers(0 if dtype.is_unsigned else -8, 9, shape).astype(dtype.numpy)
