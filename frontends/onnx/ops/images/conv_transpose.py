"""ConvTranspose: graph.conv_transpose.

Where nothing is spread out (strides of 1), or the strides make more phases than `graph.conv_transpose` has:
a convolution of its input, spread out by the strides, with its weights turned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.dialects.graph.op import shape_of
from inarch.dialects.graph.windows.conv_transpose import MAX_PHASES, phase_count
from inarch.frontends.onnx.node import Converter, Node


@dataclass(frozen=True)
class _Window:
    """One spatial dimension: sizes, and what ONNX calls padding, which cuts the result."""

    size: int
    taps: int
    stride: int
    dilation: int
    extra: int
    """`output_padding`."""

    @property
    def full(self) -> int:
        """Elements of the result where nothing is cut."""
        return self.stride * (self.size - 1) + (self.taps - 1) * self.dilation + 1 + self.extra


def _conv_transpose(node: Node) -> SSAValue:
    x, w = node.shape(0), node.shape(1)
    rank, groups = len(x) - 2, node.int("group", 1)
    if rank < 1 or len(w) != len(x) or groups < 1 or x[1] % groups or w[0] != x[1]:
        raise InarchError(
            f"expected shapes [N, C, ...] and [C, M / group, ...] with C a multiple of group, "
            f"found {x}, {w} and {groups}"
        )
    if (given := node.ints("kernel_shape", w[2:])) != list(w[2:]):
        raise InarchError(f"expected kernel_shape = {list(w[2:])} as in W, found {given}")
    windows = _windows(node, x[2:], w[2:])
    starts, ends = _cuts(node, windows)
    outputs = [v.full - a - b for v, a, b in zip(windows, starts, ends, strict=True)]
    if min(outputs) < 1:
        found = [x[0], w[1] * groups, *outputs]
        raise InarchError(f"expected pads that leave something, found a result of shape {found}")
    strides = [v.stride for v in windows]
    if 1 < phase_count(strides, outputs) <= MAX_PHASES:
        operands = [node.x(i) for i in range(3) if node.has(i)]
        return node.graph.conv_transpose(
            *operands,
            groups=groups,
            strides=strides,
            dilations=[v.dilation for v in windows],
            pads=[*starts, *(max(0, cut) for cut in ends)],
            output_padding=[v.extra + max(0, -cut) for v, cut in zip(windows, ends, strict=True)],
        )
    return _convolution(node, windows, starts, ends)


def _convolution(
    node: Node, windows: Sequence[_Window], starts: Sequence[int], ends: Sequence[int]
) -> SSAValue:
    """The input spread out, with zeros around it that are cut off where they are negative."""
    groups = node.int("group", 1)
    low = [(v.taps - 1) * v.dilation - cut for v, cut in zip(windows, starts, strict=True)]
    high = [(v.taps - 1) * v.dilation + v.extra - cut for v, cut in zip(windows, ends, strict=True)]
    bias = [node.x(2)] if node.has(2) else []
    result = node.graph.conv(
        _spread(node, windows),
        _turned(node, groups),
        *bias,
        groups=groups,
        strides=[1] * len(windows),
        dilations=[v.dilation for v in windows],
        pads=[max(0, pad) for pad in (*low, *high)],
    )
    return _cut(node, result, [max(0, -pad) for pad in low], [max(0, -pad) for pad in high])


def _windows(node: Node, sizes: Sequence[int], taps: Sequence[int]) -> list[_Window]:
    rank = len(sizes)
    strides, dilations = node.ints("strides", [1] * rank), node.ints("dilations", [1] * rank)
    extra = node.ints("output_padding", [0] * rank)
    fits = len(strides) == len(dilations) == len(extra) == rank
    if not fits or min((*strides, *dilations)) < 1 or min(extra) < 0 or min((*sizes, *taps)) < 1:
        raise InarchError(
            f"expected {rank} strides and dilations >= 1 and output_padding >= 0 on sizes >= 1, "
            f"found {strides}, {dilations}, {extra}, {list(sizes)} and {list(taps)}"
        )
    found = zip(sizes, taps, strides, dilations, extra, strict=True)
    return [_Window(*numbers) for numbers in found]


def _cuts(node: Node, windows: Sequence[_Window]) -> tuple[list[int], list[int]]:
    """Elements to take away at the start and the end of each dimension; negative ones are added."""
    rank, mode = len(windows), node.text("auto_pad", "NOTSET")
    if mode not in ("NOTSET", "", "VALID", "SAME_UPPER", "SAME_LOWER"):
        raise InarchError(
            f"expected auto_pad NOTSET, VALID, SAME_UPPER or SAME_LOWER, found '{mode}'"
        )
    if node.has_attribute("output_shape"):
        wanted = node.ints("output_shape")
    elif mode.startswith("SAME"):
        wanted = [v.size * v.stride for v in windows]
    else:
        pads = [0] * 2 * rank if mode == "VALID" else node.ints("pads", [0] * 2 * rank)
        if len(pads) != 2 * rank or min(pads) < 0:
            raise InarchError(f"expected {2 * rank} pads >= 0, found {pads}")
        return pads[:rank], pads[rank:]
    if len(wanted) != rank or min(wanted) < 1:
        raise InarchError(f"expected an output_shape of {rank} sizes >= 1, found {wanted}")
    totals = [v.full - size for v, size in zip(windows, wanted, strict=True)]
    if any(-total >= v.stride for v, total in zip(windows, totals, strict=True)):
        most = [v.full + v.stride - 1 for v in windows]
        raise InarchError(f"expected an output_shape of at most {most}, found {wanted}")
    # What is missing is added at the end; of an odd number, the end loses more where it is upper.
    small = [max(0, total) // 2 for total in totals]
    large = [total - part for total, part in zip(totals, small, strict=True)]
    upper = mode == "SAME_UPPER"
    starts = [
        a if upper or total < 0 else b for a, b, total in zip(small, large, totals, strict=True)
    ]
    return starts, [total - start for total, start in zip(totals, starts, strict=True)]


def _spread(node: Node, windows: Sequence[_Window]) -> SSAValue:
    """The input with `stride - 1` zeros between its elements."""
    x, shape = node.x(0), node.shape(0)
    if all(v.stride == 1 or v.size == 1 for v in windows):
        return x
    apart = [part for v in windows for part in (v.size, 1)]
    high = [part for v in windows for part in (0, v.stride - 1)]
    split = node.reshape(x, (*shape[:2], *apart))
    none = [0] * len(shape_of(split))
    padded = node.graph.pad(split, low=none, high=[0, 0, *high], value=0.0)
    joined = node.reshape(padded, (*shape[:2], *(v.size * v.stride for v in windows)))
    return _cut(node, joined, [0] * len(windows), [v.stride - 1 for v in windows])


def _turned(node: Node, groups: int) -> SSAValue:
    """[C, M / group, ...] as the weights of a convolution, [M, C / group, ...], back to front."""
    w, shape = node.x(1), node.shape(1)
    rank = len(shape)
    window, channels = shape[2:], shape[0] // groups
    turned = node.graph.slice(
        w,
        starts=[0, 0, *(size - 1 for size in window)],
        sizes=list(shape),
        steps=[1, 1, *(-1 for _ in window)],
    )
    split = node.reshape(turned, (groups, channels, shape[1], *window))
    swapped = node.graph.transpose(split, perm=[0, 2, 1, *range(3, rank + 1)])
    return node.reshape(swapped, (groups * shape[1], channels, *window))


def _cut(node: Node, x: SSAValue, starts: Sequence[int], ends: Sequence[int]) -> SSAValue:
    """`x` without so many elements at the start and end of each spatial dimension."""
    shape = shape_of(x)
    if not any((*starts, *ends)):
        return x
    low, high = [0, 0, *starts], [0, 0, *ends]
    sizes = [size - a - b for size, a, b in zip(shape, low, high, strict=True)]
    return node.graph.slice(x, starts=low, sizes=sizes, steps=[1] * len(shape))


CONVERTERS: dict[str, Converter] = {"ConvTranspose": _conv_transpose}
