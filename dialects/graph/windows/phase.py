"""The phases of a transposed convolution: outputs that are `stride` apart see the same taps.

    out[o] sums x[i] * w[k] where i * stride + k * dilation - begin = o

Of the outputs `o = stride * j + p` of one `p`, the taps are `k = first + step * m`, and so is each phase an
ordinary convolution of x by a part of w, of stride 1. With a stride of 2, a window of 3 and no cut, the
even outputs see two taps, and the odd ones one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import gcd

from xdsl.ir.affine import AffineExpr

from inarch.dialects.graph.windows import spatial_names
from inarch.dialects.nest_spec import (
    NestBuilder,
    NestSpec,
    add_bias,
    multiply_add,
    multiply_add_biased,
)
from inarch.dialects.scalar import Scalar


@dataclass(frozen=True)
class Phase:
    """The outputs `start + stride * j` of one dimension, for `j` below `outputs`.

    With `m` below `taps`, output `j` sums `x[j + m * dilation + shift] * w[last - m * step]`.
    """

    start: int
    stride: int
    outputs: int
    taps: int
    """0, where the window is shorter than the stride: these outputs sum nothing."""
    last: int
    step: int
    dilation: int
    shift: int

    def reach(self, size: int) -> tuple[int, int]:
        """How far it reaches before and behind the `size` elements of x."""
        if not self.taps:
            return 0, 0
        end = self.shift + self.outputs - 1 + (self.taps - 1) * self.dilation
        return max(0, -self.shift), max(0, end - size + 1)


def phases(window: int, stride: int, dilation: int, begin: int, outputs: int) -> Iterator[Phase]:
    """The phases of a dimension with so many outputs, of which `begin` were cut off before.

    >>> [(phase.start, phase.taps, phase.last) for phase in phases(3, 2, 1, 0, 9)]
    [(0, 2, 2), (1, 1, 1)]
    """
    common = gcd(stride, dilation)
    step = stride // common
    for start in range(min(stride, outputs)):
        place = start + begin
        firsts = (k for k in range(min(step, window)) if (place - k * dilation) % stride == 0)
        first = next(firsts, window)
        taps = len(range(first, window, step))
        last = first + (taps - 1) * step
        yield Phase(
            start=start,
            stride=stride,
            outputs=len(range(start, outputs, stride)),
            taps=taps,
            last=last,
            step=step,
            dilation=dilation // common,
            shift=(place - last * dilation) // stride,
        )


@dataclass(frozen=True)
class Sizes:
    """Of the operands: x is [batch, groups * channels, *spatial], w [.., filters, *window]."""

    batch: int
    groups: int
    channels: int
    """Of a group."""
    filters: int
    """Outputs of a group."""
    spatial: tuple[int, ...]


def sum_nest(sizes: Sizes, along: Sequence[Phase], *, is_biased: bool) -> NestSpec:
    """The nest of one phase, given along each dimension, over x, w and bias."""
    builder = NestBuilder()
    n, g, oc, o = _points(builder, sizes, along)
    ic = builder.reduction("ic", sizes.channels)
    names = [f"k{name}" for name in spatial_names(len(along))]
    k = [builder.reduction(name, phase.taps) for name, phase in zip(names, along, strict=True)]
    channel = ic if g is None else g * sizes.channels + ic
    seen = [
        at + tap * phase.dilation + phase.shift for at, tap, phase in zip(o, k, along, strict=True)
    ]
    taps = [tap * -phase.step + phase.last for tap, phase in zip(k, along, strict=True)]
    reads = [(n, channel, *seen), (channel, oc, *taps)]
    pairs = zip(along, sizes.spatial, strict=True)
    pads = [0 if any(any(phase.reach(size)) for phase, size in pairs) else None, None]
    write = _written(sizes, along, (n, g, oc, o))
    if not is_biased:
        return builder.spec(reads, write, multiply_add, init=0, pads=pads)
    return builder.spec(
        [*reads, write[1:2]],
        write,
        multiply_add_biased,
        init=0,
        pads=[*pads, None],
        finish=add_bias,
    )


def empty_nest(sizes: Sizes, along: Sequence[Phase], *, is_biased: bool) -> NestSpec:
    """The nest of a phase that has no tap, over bias: the sum of nothing."""
    builder = NestBuilder()
    write = _written(sizes, along, _points(builder, sizes, along))
    if not is_biased:
        return builder.spec([], write, _keep, init=0)
    return builder.spec([write[1:2]], write, _keep_biased, init=0, finish=_add_only_bias)


_Points = tuple[AffineExpr, AffineExpr | None, AffineExpr, list[AffineExpr]]
"""The parallel iterators: batch, group where there are several, filter of a group, outputs."""


def _points(builder: NestBuilder, sizes: Sizes, along: Sequence[Phase]) -> _Points:
    n = builder.parallel("n", sizes.batch)
    g = builder.parallel("g", sizes.groups) if sizes.groups > 1 else None
    oc = builder.parallel("oc", sizes.filters)
    names = spatial_names(len(along))
    pairs = zip(names, along, strict=True)
    return n, g, oc, [builder.parallel(f"o{name}", phase.outputs) for name, phase in pairs]


def _written(sizes: Sizes, along: Sequence[Phase], points: _Points) -> tuple[AffineExpr, ...]:
    n, g, oc, o = points
    channel = oc if g is None else g * sizes.filters + oc
    pairs = zip(o, along, strict=True)
    return (n, channel, *(at * phase.stride + phase.start for at, phase in pairs))


def _keep(acc: Scalar) -> Scalar:
    return acc


def _keep_biased(_: Scalar, acc: Scalar) -> Scalar:
    return acc


def _add_only_bias(bias: Scalar, acc: Scalar) -> Scalar:
    return acc + bias
