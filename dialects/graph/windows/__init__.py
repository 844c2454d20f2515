"""Sliding windows over the trailing (spatial) dimensions: what convolution and pooling share."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from xdsl.ir.affine import AffineExpr

from inarch.core.lazy import np
from inarch.core.limits import RUN_BYTES
from inarch.dialects.graph.op import Array
from inarch.dialects.nest_spec import NestBuilder
from inarch.dialects.scalar import Number
from inarch.ir.require import require


@dataclass(frozen=True)
class Window:
    """Windows of `sizes` taps, `dilations` apart, that move by `strides` over a padded input.

    `pads` are the begins of every dimension, then the ends, as in ONNX. Tap `k` of window `o` is at
    `o * stride + k * dilation - begin`.
    """

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    pads: tuple[int, ...]
    dilations: tuple[int, ...]

    def check(self, spatial: Sequence[int], label: str, fits: str, *, ceil: bool = False) -> None:
        """Constraint `label`: one number a dimension, in range; `fits`: there is a window."""
        self.check_numbers(label, rank := len(spatial))
        for d, (size, extent) in enumerate(zip(spatial, self.extents, strict=True)):
            padded = size + self.pads[d] + self.pads[rank + d]
            least = max(1, extent - self.strides[d] + 1) if ceil else extent
            message = (
                f"expected {least} or more with padding in spatial dimension {d}, found {padded}"
            )
            require(padded >= least, fits, message)

    def check_numbers(self, label: str, rank: int) -> None:
        """Constraint `label`: one number for each of `rank` dimensions, in range."""
        for name, numbers, count, least in (
            ("window sizes", self.sizes, rank, 1),
            ("strides", self.strides, rank, 1),
            ("pads", self.pads, 2 * rank, 0),
            ("dilations", self.dilations, rank, 1),
        ):
            good = len(numbers) == count and min(numbers, default=least) >= least
            message = f"expected {count} {name} >= {least}, found {list(numbers)}"
            require(good, label, message)
            message = f"expected {name} below 2**31, found {list(numbers)}"
            require(max(numbers, default=0) < 1 << 31, label, message)

    @property
    def begins(self) -> tuple[int, ...]:
        """The padding before each dimension."""
        return self.pads[: len(self.sizes)]

    @property
    def extents(self) -> tuple[int, ...]:
        """From the first tap to behind the last one."""
        pairs = zip(self.sizes, self.dilations, strict=True)
        return tuple((size - 1) * dilation + 1 for size, dilation in pairs)

    def outputs(self, spatial: Sequence[int], *, ceil: bool = False) -> tuple[int, ...]:
        """How many windows there are in each dimension.

        With `ceil`, a last window may run over the end of the padding, but none starts behind the
        input (ONNX AveragePool-22, MaxPool-22: such windows "are ignored").
        """
        counts: list[int] = []
        for d, size in enumerate(spatial):
            begin, end, stride = self.pads[d], self.pads[len(spatial) + d], self.strides[d]
            room = size + begin + end - self.extents[d]
            count = (room + stride - 1 if ceil else room) // stride + 1
            if ceil and (count - 1) * stride >= size + begin:
                count -= 1
            counts.append(count)
        return tuple(counts)

    def taps_inside(self, d: int, windows: Array, low: int, high: int) -> Array:
        """How many taps of each of `windows` (indices) are at `low` to before `high` of dimension d."""
        starts = windows * self.strides[d] - self.begins[d]
        dilation = self.dilations[d]
        first = np.maximum(0, -((starts - low) // dilation))
        behind = np.minimum(self.sizes[d], -((starts - high) // dilation))
        return np.maximum(0, behind - first)

    def over_edges(self, d: int, size: int, count: int) -> tuple[range, range]:
        """Of `count` windows, those that begin before the input, and the others that end behind it."""
        stride, begin = self.strides[d], self.begins[d]
        before = min(count, -(-begin // stride))
        behind = (size + begin - self.extents[d]) // stride + 1
        return range(before), range(max(before, behind), count)

    def points(self, spatial: Sequence[int], outputs: Sequence[int]) -> int:
        """Places that `views` visits or makes: taps of windows, and the padded input."""
        padded = math.prod(
            size + begin + extent
            for size, begin, extent in zip(spatial, self.begins, self.extents, strict=True)
        )
        return math.prod(self.sizes) * max(1, math.prod(outputs)) + padded

    def overruns(self, spatial: Sequence[int], outputs: Sequence[int]) -> bool:
        """Whether any tap of any window is outside the input."""
        return any(
            begin > 0 or (count - 1) * stride + extent - begin > size
            for begin, count, stride, extent, size in zip(
                self.begins, outputs, self.strides, self.extents, spatial, strict=True
            )
        )

    def iterators(
        self, nest: NestBuilder, outputs: Sequence[int]
    ) -> tuple[tuple[AffineExpr, ...], list[str]]:
        """The parallel iterators over windows (`oh`, `ow`), and the names of those over taps."""
        names = spatial_names(len(outputs))
        windows = tuple(
            nest.parallel(f"o{name}", count) for name, count in zip(names, outputs, strict=True)
        )
        return windows, [f"k{name}" for name in names]

    def positions(
        self, windows: Sequence[AffineExpr], taps: Sequence[AffineExpr]
    ) -> list[AffineExpr]:
        """Where each tap of each window is in the input."""
        return [
            o * stride + k * dilation - begin
            for o, k, stride, dilation, begin in zip(
                windows, taps, self.strides, self.dilations, self.begins, strict=True
            )
        ]

    def views(
        self, x: Array, outputs: Sequence[int], fill: Number
    ) -> Iterator[tuple[tuple[int, ...], Array]]:
        """`(tap, elements)`: for each tap, its element of every window; `fill` outside `x`.

        Raises InarchError where `x` with its padding takes too much memory.
        """
        lead = x.ndim - len(self.sizes)
        last = [(n - 1) * s for n, s in zip(outputs, self.strides, strict=True)]
        ends = [
            max(0, stop + extent - begin - size)
            for stop, extent, begin, size in zip(
                last, self.extents, self.begins, x.shape[lead:], strict=True
            )
        ]
        widths = [(0, 0)] * lead + list(zip(self.begins, ends, strict=True))
        if any(low or high for low, high in widths):
            padded = (size + low + high for size, (low, high) in zip(x.shape, widths, strict=True))
            RUN_BYTES.check(math.prod(padded) * x.itemsize)
            x = np.pad(x, widths, constant_values=x.dtype.type(fill))
        for tap in product(*(range(size) for size in self.sizes)):
            first = [k * dilation for k, dilation in zip(tap, self.dilations, strict=True)]
            steps = [
                slice(start, start + stop + 1, stride)
                for start, stop, stride in zip(first, last, self.strides, strict=True)
            ]
            yield tap, x[(..., *steps)]


def spatial_names(rank: int) -> tuple[str, ...]:
    """What spatial dimensions are called.

    >>> spatial_names(2), spatial_names(4)
    (('h', 'w'), ('0', '1', '2', '3'))
    """
    names = ("d", "h", "w")
    return names[len(names) - rank :] if rank <= len(names) else tuple(str(d) for d in range(rank))
