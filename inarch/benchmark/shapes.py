"""Products and convolutions as people have them, drawn at random: shapes that nothing was fitted to.

A shape is one op of `graph`, with operands that are constants or given at run time, transposed or not.
`draw` spreads them over kinds: odd sizes, batches, tall and flat products, long sums, grouped, strided,
dilated and depthwise convolutions. Equal seeds draw equal shapes on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.rewriter import InsertPoint

from inarch.core.lazy import Array, np
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.matmul import MatmulOp
from inarch.dialects.graph.shape import TransposeOp
from inarch.dialects.graph.windows.conv import ConvOp
from inarch.ir.context import store_of
from inarch.ir.payload.constants import constant_attribute
from inarch.ir.types import mlir_type, tensor

MOST_FLOPS = 1.2e9
"""Of one drawn shape: some 10 ms of a core, so that 200 can be measured many times over."""


@dataclass(frozen=True)
class Product:
    """`A @ B`, [batch, M, K] by [batch, K, N]; an operand that is `transposed` lies as its transpose."""

    m: int
    n: int
    k: int
    batch: int = 1
    transposed: str = ""
    """Of the letters `a` and `b`."""
    is_given: bool = False
    """B comes at run time; else it is a constant, which is packed when the program is compiled."""

    def __str__(self) -> str:
        """`12x128x64x128 B given, A transposed` (batch x M x N x K)."""
        sizes = "x".join(str(n) for n in (self.batch, self.m, self.n, self.k)[self.batch == 1 :])
        notes = [f"{letter.upper()} transposed" for letter in self.transposed]
        return ", ".join([f"{sizes} B {'given' if self.is_given else 'constant'}", *notes])

    @property
    def flops(self) -> int:
        """A multiplication and an addition for each term."""
        return 2 * self.batch * self.m * self.n * self.k

    def operands(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The shapes of A and B as they lie in memory."""
        a, b = (self.m, self.k), (self.k, self.n)
        a = a[::-1] if "a" in self.transposed else a
        b = b[::-1] if "b" in self.transposed else b
        lead = (self.batch,) if self.batch > 1 else ()
        return (*lead, *a), (*lead, *b)

    def insert(self, builder: Builder, a: SSAValue, b: SSAValue) -> SSAValue:
        """The ops; the product."""
        order = [0, 2, 1] if self.batch > 1 else [1, 0]
        x, y = (
            builder.insert(TransposeOp.make(value, perm=order)).results[0]
            if letter in self.transposed
            else value
            for letter, value in (("a", a), ("b", b))
        )
        return builder.insert(MatmulOp.make(x, y)).results[0]


@dataclass(frozen=True)
class Convolution:
    """A convolution of one image [C, H, W] by windows [O, C / groups, R, S], padded by half a window."""

    channels: int
    height: int
    width: int
    outputs: int
    window: tuple[int, int]
    stride: int = 1
    dilation: int = 1
    groups: int = 1
    is_given: bool = False
    """The weights come at run time."""

    def __str__(self) -> str:
        """`64x56x56->256 3x3 stride 2, weights given`."""
        r, s = self.window
        text = f"{self.channels}x{self.height}x{self.width}->{self.outputs} {r}x{s}"
        for name, value in (
            ("stride", self.stride),
            ("dilation", self.dilation),
            ("groups", self.groups),
        ):
            text += f" {name} {value}" if value != 1 else ""
        return text + (", weights given" if self.is_given else "")

    @property
    def flops(self) -> int:
        """A multiplication and an addition for each tap of each output, padding included."""
        taps = self.channels // self.groups * math.prod(self.window)
        pixels = math.prod(math.ceil(size / self.stride) for size in (self.height, self.width))
        return 2 * self.outputs * pixels * taps

    def operands(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The shapes of the image and of the weights."""
        weights = (self.outputs, self.channels // self.groups, *self.window)
        return (1, self.channels, self.height, self.width), weights

    def insert(self, builder: Builder, a: SSAValue, b: SSAValue) -> SSAValue:
        """The op; its result."""
        pads = [self.dilation * (size // 2) for size in self.window]
        op = ConvOp.make(
            a,
            b,
            pads=[*pads, *pads],
            strides=[self.stride] * 2,
            dilations=[self.dilation] * 2,
            groups=self.groups,
        )
        return builder.insert(op).results[0]


Shape = Product | Convolution


def arrays_of(shape: Shape) -> tuple[Array, Array]:
    """Standard normal operands, the second scaled so that results are of magnitude 1."""
    rng = np.random.default_rng(0)
    first, second = shape.operands()
    terms = shape.k if isinstance(shape, Product) else math.prod(second[1:])
    scale = np.float32(1 / math.sqrt(terms))
    return rng.standard_normal(first, np.float32), rng.standard_normal(second, np.float32) * scale


def result_of(shape: Shape) -> Array:
    """What the shape's op is by definition, of `arrays_of`, by NumPy."""
    first, second = arrays_of(shape)
    if isinstance(shape, Product):
        a = first.swapaxes(-1, -2) if "a" in shape.transposed else first
        b = second.swapaxes(-1, -2) if "b" in shape.transposed else second
        return np.matmul(a, b)
    pads = [shape.dilation * (size // 2) for size in shape.window]
    image = np.pad(first[0], [(0, 0), *((pad, pad) for pad in pads)])
    extents = [shape.dilation * (size - 1) + 1 for size in shape.window]
    windows = np.lib.stride_tricks.sliding_window_view(image, extents, (1, 2))  # [C, H, W, R, S]
    by, apart = slice(None, None, shape.stride), slice(None, None, shape.dilation)
    groups = np.split(windows[:, by, by, apart, apart], shape.groups)
    weights = np.split(second, shape.groups)  # [O, C / groups, R, S]
    axes = (1, 2, 3), (0, 3, 4)
    parts = [np.tensordot(w, x, axes) for w, x in zip(weights, groups, strict=True)]
    return np.concatenate(parts)[None]


def program_of(shape: Shape, context: Context) -> ModuleOp:
    """A module whose `@main` takes what is given and returns the result."""
    arrays = arrays_of(shape)
    given = arrays if shape.is_given else arrays[:1]
    block = Block(arg_types=[tensor(mlir_type("f32"), array.shape) for array in given])
    builder = Builder(InsertPoint.at_end(block))
    a, *rest = block.args
    if not shape.is_given:
        value = constant_attribute(arrays[1], store_of(context), "b")
        rest = [builder.insert(ConstantOp.make(value=value)).results[0]]
    out = shape.insert(builder, a, rest[0])
    builder.insert(ReturnOp(out))
    kind = ([argument.type for argument in block.args], [out.type])
    return ModuleOp([FuncOp("main", kind, Region(block))], {"inarch.name": StringAttr("shape")})


def draw(seed: int, count: int) -> list[Shape]:
    """`count` different shapes, the kinds in turn; fewer are the first of more."""
    random, found = Random(seed), dict[Shape, None]()
    for number in range(100 * count):
        if len(found) == count:
            break
        shape = _KINDS[number % len(_KINDS)](random)
        if shape.flops <= MOST_FLOPS:
            found[shape] = None
    return list(found)


def _size(random: Random, low: int, high: int) -> int:
    """Uniform in its logarithm; every second one a multiple of 8 where there is one, the others any."""
    size = round(math.exp(random.uniform(math.log(low), math.log(high))))
    return max(8, size - size % 8) if random.random() < 0.5 and size >= 8 else size


def _product(
    m: tuple[int, int], n: tuple[int, int], k: tuple[int, int], batch: tuple[int, int] = (1, 1)
) -> Callable[[Random], Shape]:
    def make(random: Random) -> Shape:
        rows, columns, terms = (_size(random, *bounds) for bounds in (m, n, k))
        several = _size(random, *batch) if batch != (1, 1) else 1
        transposed = random.choice(["", "", "", "a", "b", "b", "ab"])
        return Product(rows, columns, terms, several, transposed, random.random() < 0.5)

    return make


def _convolution(
    windows: tuple[tuple[int, int], ...], strides: tuple[int, ...] = (1, 1, 2), dilation: int = 1
) -> Callable[[Random], Shape]:
    def make(random: Random) -> Shape:
        side = _size(random, 6, 120)
        window = random.choice(windows)
        height = 1 if window[0] == 1 < window[1] else side
        channels, outputs = _size(random, 8, 600), _size(random, 8, 600)
        given = random.random() < 0.25
        stride = random.choice(strides)
        width = side if height > 1 else 8 * side
        return Convolution(
            channels, height, width, outputs, window, stride, dilation, is_given=given
        )

    return make


def _first(random: Random) -> Shape:
    side, size = _size(random, 64, 256), random.choice((3, 5, 7))
    channels, outputs = random.choice((1, 3, 4)), _size(random, 8, 96)
    return Convolution(channels, side, side, outputs, (size, size), random.choice((1, 2)))


def _grouped(random: Random) -> Shape:
    side, groups = _size(random, 6, 80), random.choice((2, 4, 8, 32))
    channels, outputs = (groups * random.choice((1, 3, 4, 8, 16, 24, 32)) for _ in range(2))
    size, stride = random.choice((1, 3)), random.choice((1, 2))
    return Convolution(channels, side, side, outputs, (size, size), stride, groups=groups)


def _depthwise(random: Random) -> Shape:
    side, channels, size = _size(random, 6, 120), _size(random, 8, 600), random.choice((3, 5, 7))
    stride = random.choice((1, 2))
    return Convolution(channels, side, side, channels, (size, size), stride, groups=channels)


_KINDS: tuple[Callable[[Random], Shape], ...] = (
    _product((32, 1000), (32, 1000), (32, 1000)),
    _convolution(((1, 1),)),
    _product((1000, 20000), (4, 80), (4, 200)),  # tall
    _convolution(((3, 3), (5, 5), (3, 5))),
    _product((1, 6), (100, 4000), (100, 4000)),  # a matrix by a vector, or a few
    _grouped,
    _product((8, 64), (8, 64), (2000, 40000)),  # long sums
    _depthwise,
    _product((8, 260), (8, 260), (8, 260), (2, 30)),
    _convolution(((1, 3), (1, 7), (3, 3)), dilation=2),
    _product((4, 80), (1000, 20000), (4, 200)),  # flat
    _first,
)
