"""Units of backends as recipes: what a pattern matches, drawn from the pattern, its constants and axes too.

From the root to the leaves: each op is told the dtype and shape of its result, and tells its operands theirs.
Random programs do not reach such units by chance: a quantized convolution is five ops in one order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from xdsl.ir import SSAValue
from xdsl.irdl import OperandDef
from xdsl.utils.exceptions import VerifyException

from inarch.core.dtypes import DTYPES, DType
from inarch.core.lazy import np
from inarch.dialects import DIALECTS
from inarch.dialects.graph.composites.quantize import QUANTIZED, DequantizeOp, QuantizeOp
from inarch.dialects.graph.elementwise import ElementwiseOp
from inarch.dialects.graph.elementwise.clip import ClipOp
from inarch.dialects.graph.matmul import MatmulOp
from inarch.dialects.graph.op import GraphOp, shape_of, tensor_dtype
from inarch.dialects.graph.shape import ConcatOp, ReshapeOp, TransposeOp
from inarch.dialects.graph.windows.conv import ConvOp
from inarch.dialects.graph.windows.pool import AvgPoolOp, MaxPoolOp
from inarch.ir.types import mlir_type
from inarch.offload.pattern import (
    Alternative,
    Constant,
    NamedPattern,
    Op,
    Pattern,
    op_names,
)
from inarch.testing.generate.graph.builder import GraphBuilder, Recipe, Shape

F32 = DTYPES["f32"]
_WINDOWS = (ConvOp, AvgPoolOp, MaxPoolOp)


class UnknownUnitError(Exception):
    """A pattern has an op of which nobody here knows what its operands have to be."""


@dataclass(frozen=True)
class Wish:
    """What a value is to be."""

    dtype: DType
    shape: Shape
    role: str = ""
    """`scale`, `weights` ...: which numbers, where it is a constant."""
    axis: int | None = None
    """Along which axis its scales mostly are."""


Wishes = tuple[list[Wish], dict[str, Any]]
"""Of an op's operands, and the op's properties."""


def unit(named: NamedPattern) -> Recipe:
    """The recipe of a pattern. It adds nothing where it does not know an op of it."""

    def recipe(b: GraphBuilder) -> None:
        try:
            _Unit(b).make_all(named)
        except (UnknownUnitError, VerifyException):
            return  # what was made of it so far is dead code

    return recipe


def unknown_ops(named: NamedPattern) -> list[str]:
    """The ops of a pattern that no recipe can be drawn from."""
    return sorted(name for name in op_names(named.pattern) if _kind(name) is None)


def _kind(name: str) -> type[GraphOp] | None:
    kinds = {op.name: op for op in DIALECTS["graph"].operations}
    kind = kinds.get(name)
    is_known = kind in _OPERANDS or (kind is not None and issubclass(kind, ElementwiseOp))
    return kind if is_known and kind is not None and issubclass(kind, GraphOp) else None


def _operand_count(kind: type[GraphOp]) -> int:
    """Of those that it must have."""
    known: Any = kind
    operands = known.get_irdl_definition().operands
    return sum(type(each) is OperandDef for _, each in operands)


@dataclass
class _Unit:
    """One that grows."""

    b: GraphBuilder
    values: dict[Pattern, SSAValue] = field(default_factory=dict[Pattern, SSAValue])
    """What parts of the pattern have become: a part that is there twice is one value."""

    def make_all(self, named: NamedPattern) -> None:
        """Only the roots are values for others: within a match nobody else uses one."""
        b, names = self.b, op_names(named.pattern)
        kinds = {_kind(name) for name in names}
        if kinds & {*_WINDOWS}:
            shape: Shape = (1, *(b.choices.pick((4, 1, 3, 8)) for _ in range(3)))
        else:
            shape = b.bounded([max(1, size) for size in b.shape(2 if MatmulOp in kinds else 1, 3)])
        wish = Wish(F32, shape)
        for root in (named.pattern, *named.others):
            b.values.append(self.make(root, wish))

    def make(self, part: Pattern, wish: Wish) -> SSAValue:
        """The value of `part`, which is `wish` where it is new."""
        if part not in self.values:
            self.values[part] = self._new(part, wish)
        return self.values[part]

    def _new(self, part: Pattern, wish: Wish) -> SSAValue:
        b = self.b
        match part:
            case Alternative():
                return self.make(b.choices.pick(part.choices), wish)
            case Constant():
                return self._constant(wish)
            case Op():
                return self._op(part, wish)
            case _:  # anything, and of what trails and is not named
                if wish.role:
                    return self._constant(wish)
                found = [
                    v
                    for v in b.values
                    if (tensor_dtype(v), shape_of(v)) == (wish.dtype, wish.shape)
                ]
                return b.choices.pick(found) if found else b.argument(wish.dtype, wish.shape)

    def _constant(self, wish: Wish) -> SSAValue:
        generator = np.random.default_rng(self.b.choices.integer(0, 999))
        if wish.role == "scale":
            numbers = 2.0 ** generator.uniform(-7, -1, wish.shape)
            return self.b.array(np.asarray(numbers).astype(wish.dtype.numpy))
        if wish.role == "zero":
            low = 0 if wish.dtype.is_unsigned else -9
            return self.b.array(
                np.asarray(generator.integers(low, 10, wish.shape)).astype(wish.dtype.numpy)
            )
        return self.b.constant(wish.dtype, wish.shape, special=False)

    def _op(self, part: Op, wish: Wish) -> SSAValue:
        kind = _kind(part.name)
        if kind is None:
            raise UnknownUnitError(part.name)
        how = next((how for each, how in _OPERANDS.items() if issubclass(kind, each)), _elementwise)
        count = max(len(part.operands), _operand_count(kind))
        wishes, properties = how(self.b, kind, wish, count)
        named: dict[str, Any] = {
            name: self._one_of(value) for name, value in part.attributes.items()
        }
        parts = [*part.operands, *(Pattern() for _ in wishes[len(part.operands) :])]
        if part.commutative and len(part.operands) == 2 and self.b.choices.chance(50):
            parts.reverse()
        operands = [self.make(each, one) for each, one in zip(parts, wishes, strict=True)]
        made = kind.make(*operands, **{**properties, **named})
        self.b.block.add_op(made)
        self.b.count += 1
        return made.results[0]

    def _one_of(self, value: object) -> Any:
        """Of a set any, else the value itself."""
        several: Any = value
        return self.b.choices.pick(sorted(several)) if isinstance(value, frozenset) else value


def _elementwise(b: GraphBuilder, kind: type[GraphOp], wish: Wish, count: int) -> Wishes:
    del kind
    own = replace(wish, role="", axis=None)
    more = [
        replace(own, shape=b.broadcastable(wish.shape) if b.choices.chance(40) else wish.shape)
        for _ in range(count - 1)
    ]
    return [own, *more], {}


def _clip(b: GraphBuilder, kind: type[GraphOp], wish: Wish, count: int) -> Wishes:
    wishes, _ = _elementwise(b, kind, wish, count)
    return wishes, {"low": 0.0, "high": 6.0}


def _numbers(b: GraphBuilder, wish: Wish, zero: DType, count: int) -> Wishes:
    """A scale and maybe a zero point, of all or of an axis."""
    rank = len(wish.shape)
    axes: list[int | None] = [None, wish.axis, b.choices.integer(0, max(rank - 1, 0))]
    axis = b.choices.pick(axes) if rank else None
    shape = () if axis is None else (wish.shape[axis],)
    found = [Wish(F32, shape, "scale"), Wish(zero, shape, "zero")]
    kept = found[: max(count - 1, 1 + b.choices.chance(60))]
    return kept, {} if axis is None else {"axis": axis}


def _dequantize(b: GraphBuilder, kind: type[GraphOp], wish: Wish, count: int) -> Wishes:
    del kind
    to = DTYPES[b.choices.pick(("i8", "ui8"))]
    numbers, properties = _numbers(b, wish, to, count)
    return [Wish(to, wish.shape), *numbers], properties


def _quantize(b: GraphBuilder, kind: type[GraphOp], wish: Wish, count: int) -> Wishes:
    del kind
    to = wish.dtype if wish.dtype.name in QUANTIZED else DTYPES[b.choices.pick(("i8", "ui8"))]
    numbers, properties = _numbers(b, wish, to, count)
    return [Wish(F32, wish.shape), *numbers], {**properties, "to": mlir_type(to)}


def _matmul(b: GraphBuilder, kind: type[GraphOp], wish: Wish, count: int) -> Wishes:
    del kind, count
    if len(wish.shape) < 2:
        raise UnknownUnitError("a product that is no matrix")
    *batch, rows, columns = wish.shape
    depth = b.choices.pick((8, 1, 3, 17, 32))
    left = Wish(wish.dtype, (*batch, rows, depth))
    return [left, Wish(wish.dtype, (depth, columns), axis=1)], {}


def _window(b: GraphBuilder, wish: Wish) -> tuple[int, list[int], dict[str, Any]]:
    """The size of a window, the sizes of the image, and properties."""
    size, stride = b.choices.pick((3, 1, 2)), b.choices.pick((1, 1, 2))
    spatial = wish.shape[2:]
    if not spatial:
        raise UnknownUnitError("a window without axes")
    image = [(each - 1) * stride + size for each in spatial]
    ones, zeros = [1] * len(spatial), [0] * len(spatial)
    pads = [*zeros, *zeros]
    if size == 3 and stride == 1 and b.choices.chance(50):
        image, pads = list(spatial), [*ones, *ones]
    return size, image, {"strides": [stride] * len(spatial), "pads": pads, "dilations": ones}


def _conv(b: GraphBuilder, kind: type[GraphOp], wish: Wish, count: int) -> Wishes:
    del kind
    size, image, properties = _window(b, wish)
    batch, filters = wish.shape[:2]
    channels = b.choices.pick((4, 1, 3, 8))
    window = (size,) * len(image)
    wishes = [
        Wish(wish.dtype, (batch, channels, *image)),
        Wish(wish.dtype, (filters, channels, *window), axis=0),
        Wish(wish.dtype, (filters,), axis=0),
    ]
    return wishes[: max(count, 2)], {**properties, "groups": 1}


def _pool(b: GraphBuilder, kind: type[GraphOp], wish: Wish, count: int) -> Wishes:
    del kind, count
    size, image, properties = _window(b, wish)
    own = replace(wish, shape=(*wish.shape[:2], *image))
    return [own], {**properties, "window": [size] * len(image)}


def _transpose(b: GraphBuilder, kind: type[GraphOp], wish: Wish, count: int) -> Wishes:
    """Of a matrix or a tensor: the last two axes."""
    del b, kind, count
    *most, rows, columns = (1, *wish.shape) if len(wish.shape) < 2 else wish.shape
    if len(wish.shape) < 2:
        return [wish], {"perm": list(range(len(wish.shape)))}
    rank = len(wish.shape)
    own = replace(
        wish, shape=(*most, columns, rows), axis=rank - 2 if wish.axis == rank - 1 else None
    )
    return [own], {"perm": [*range(rank - 2), rank - 1, rank - 2]}


def _reshape(b: GraphBuilder, kind: type[GraphOp], wish: Wish, count: int) -> Wishes:
    del kind, count
    flat = (int(np.prod(wish.shape)),)
    own = b.choices.pick((flat, (1, *wish.shape), (*wish.shape, 1)))
    return [replace(wish, shape=own, axis=None)], {"shape": list(wish.shape)}


def _concat(b: GraphBuilder, kind: type[GraphOp], wish: Wish, count: int) -> Wishes:
    del kind
    axis = b.choices.integer(0, len(wish.shape) - 1)
    sizes = [wish.shape[axis] // count] * count
    sizes[0] += wish.shape[axis] - sum(sizes)
    shapes = [(*wish.shape[:axis], size, *wish.shape[axis + 1 :]) for size in sizes]
    return [replace(wish, shape=shape, axis=None) for shape in shapes], {"axis": axis}


_OPERANDS: dict[type[GraphOp], Callable[[GraphBuilder, type[GraphOp], Wish, int], Wishes]] = {
    ClipOp: _clip,
    DequantizeOp: _dequantize,
    QuantizeOp: _quantize,
    MatmulOp: _matmul,
    ConvOp: _conv,
    AvgPoolOp: _pool,
    MaxPoolOp: _pool,
    TransposeOp: _transpose,
    ReshapeOp: _reshape,
    ConcatOp: _concat,
}
"""What the operands of an op have to be for a result; of others that are element-wise the same."""
