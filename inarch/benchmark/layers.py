"""What is measured: convolutions and matrix products by their shapes, and the named sets of them.

A shape is also text: `64x56x56->256k1s1` is a convolution of 64 channels of 56x56 to 256 channels by
a 1x1 window of stride 1 (`g96` behind it: 96 groups), `128x768x3072` a product of [128, 3072] and
[3072, 768] (M x N x K), and `12x128x64x128` twelve of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from inarch.core.errors import UsageError, unknown
from inarch.core.outside.value import Document, Value
from inarch.core.plugins import Extensions

F32_BYTES = 4


@dataclass(frozen=True)
class Conv:
    """`activation(conv(x, w) + bias)`: one image, square window, padded by half of it on each side."""

    name: str
    channels: int
    height: int
    width: int
    outputs: int
    window: int
    stride: int = 1
    groups: int = 1
    count: int = 1
    """How often its network has it."""
    activation: str = "relu"

    @property
    def pad(self) -> int:
        """Zeros on each side of the image."""
        return self.window // 2

    @property
    def output_shape(self) -> tuple[int, int, int, int]:
        """[1, outputs, height, width]."""
        sizes = (self.height, self.width)
        height, width = ((n + 2 * self.pad - self.window) // self.stride + 1 for n in sizes)
        return 1, self.outputs, height, width

    @property
    def input_shape(self) -> tuple[int, int, int, int]:
        """[1, channels, height, width]."""
        return 1, self.channels, self.height, self.width

    @property
    def weight_shape(self) -> tuple[int, int, int, int]:
        """[outputs, channels / groups, window, window]."""
        return self.outputs, self.channels // self.groups, self.window, self.window

    @property
    def flops(self) -> int:
        """Nominal: a multiplication and an addition for each tap of each output, padding included."""
        _, _, height, width = self.output_shape
        taps = self.channels // self.groups * self.window**2
        return 2 * self.outputs * height * width * taps

    @property
    def bytes(self) -> int:
        """What must be moved at least: input, weights and output, once each."""
        _, outputs, height, width = self.output_shape
        weights = outputs * (self.channels // self.groups * self.window**2 + 1)
        image = self.channels * self.height * self.width
        return F32_BYTES * (image + weights + outputs * height * width)

    @property
    def shape(self) -> str:
        """As `parse_shape` takes it."""
        groups = f"g{self.groups}" if self.groups != 1 else ""
        size = f"{self.channels}x{self.height}x{self.width}"
        return f"{size}->{self.outputs}k{self.window}s{self.stride}{groups}"


@dataclass(frozen=True)
class Gemm:
    """`A @ B`, [M, K] by [K, N]: B a constant (a linear layer), or in a batch both of them inputs."""

    name: str
    m: int
    n: int
    k: int
    batch: int = 0
    """How many products; 0: one, by a constant B."""
    count: int = 1
    bias: bool = False

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Of A."""
        return (self.batch, self.m, self.k) if self.batch else (self.m, self.k)

    @property
    def weight_shape(self) -> tuple[int, ...]:
        """Of B."""
        return (self.batch, self.k, self.n) if self.batch else (self.k, self.n)

    @property
    def output_shape(self) -> tuple[int, ...]:
        """Of the product."""
        return (self.batch, self.m, self.n) if self.batch else (self.m, self.n)

    @property
    def flops(self) -> int:
        """A multiplication and an addition for each term."""
        return 2 * max(1, self.batch) * self.m * self.n * self.k

    @property
    def bytes(self) -> int:
        """Both operands and the product, once each."""
        elements = self.m * self.k + self.k * self.n + self.m * self.n
        return F32_BYTES * max(1, self.batch) * elements

    @property
    def shape(self) -> str:
        """As `parse_shape` takes it."""
        sizes = [self.batch] if self.batch else []
        return "x".join(map(str, [*sizes, self.m, self.n, self.k]))


Layer = Conv | Gemm


@dataclass(frozen=True)
class LayerSet:
    """Layers of one network, or of one kind."""

    description: str
    layers: tuple[Layer, ...]


_CONV = re.compile(r"(\d+)x(\d+)x(\d+)->(\d+)k(\d+)(?:s(\d+))?(?:g(\d+))?")
_GEMM = re.compile(r"(?:(\d+)x)?(\d+)x(\d+)x(\d+)")


def parse_shape(text: str) -> Layer:
    """The layer of a shape; its name is the shape. Raises UsageError.

    >>> parse_shape("96x112x112->96k3s2g96").output_shape
    (1, 96, 56, 56)
    >>> parse_shape("12x128x64x128").flops
    25165824
    """
    layer: Layer | None = None
    if match := _CONV.fullmatch(text):
        c, h, w, o, k, s, g = (int(part or 1) for part in match.groups())
        if min(c, h, w, o, k, s, g) > 0 and c % g == o % g == 0 and k % 2 == 1:
            layer = Conv(text, c, h, w, o, k, s, g)
    elif match := _GEMM.fullmatch(text):
        batch, m, n, k = (int(part or 0) for part in match.groups())
        if min(m, n, k) > 0:
            layer = Gemm(text, m, n, k, batch)
    if layer is None:
        raise UsageError(
            f"--shape: expected a convolution CxHxW->OkWINDOW[sSTRIDE][gGROUPS] of an odd window, or a "
            f"product [BATCHx]MxNxK, found '{text}'"
        )
    return layer


@dataclass(frozen=True)
class _Row:
    name: str
    shape: str
    count: int = 1
    activation: Literal["relu", "relu6", "none"] = "relu"
    bias: bool = False


@dataclass(frozen=True)
class _Rows:
    description: str
    layers: tuple[_Row, ...]
    about: str = ""


def read_layer_set(path: Path) -> LayerSet:
    """The set of a file of JSON, whose layers are shapes with names. Raises UsageError."""
    said = json.loads(path.read_text())
    found = Value(said, "", Document(str(path), fault=UsageError, is_closed=True)).read(_Rows)
    return LayerSet(found.description, tuple(map(_layer, found.layers)))


def _layer(row: _Row) -> Layer:
    layer = replace(parse_shape(row.shape), name=row.name, count=row.count)
    if isinstance(layer, Conv):
        return replace(layer, activation=row.activation)
    return replace(layer, bias=row.bias)


LAYER_SETS: Extensions[LayerSet] = Extensions(
    "inarch.benchmark.layer_sets", "LAYER_SET", readers={".json": read_layer_set}
)
"""The named sets, one file each."""


def select(
    sets: Sequence[str], names: Sequence[str] = (), shapes: Sequence[str] = ()
) -> list[tuple[str, Layer]]:
    """`(set, layer)` of what is asked for: of the sets, those of `names`; and the shapes.

    Names are looked up in every set where none is given. Raises UsageError for what nothing has.
    """
    for name in sets:
        if name not in LAYER_SETS:
            raise unknown("layer set", name, LAYER_SETS)
    chosen: list[tuple[str, Layer]] = []
    if sets or names or not shapes:
        wanted = list(dict.fromkeys(sets)) or (list(LAYER_SETS) if names else ["resnet50"])
        every = [(name, layer) for name in wanted for layer in LAYER_SETS[name].layers]
        _check_names(names, (layer for _, layer in every), sets)
        chosen = [pair for pair in every if not names or pair[1].name in names]
    return [*chosen, *(("shapes", parse_shape(text)) for text in shapes)]


def _check_names(names: Iterable[str], layers: Iterable[Layer], sets: Sequence[str]) -> None:
    known = {layer.name for layer in layers}
    for name in names:
        if name not in known:
            raise unknown("layer", name, known, within=", ".join(sets))


def to_json(layer: Layer) -> dict[str, Any]:
    """The layer as JSON, for another process."""
    return {"kind": type(layer).__name__, **asdict(layer)}


def from_json(fields: dict[str, Any]) -> Layer:
    """What `to_json` gave."""
    return Value(fields).read(Conv if fields["kind"] == "Conv" else Gemm)
