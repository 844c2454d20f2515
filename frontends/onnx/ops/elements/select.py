"""Operators that take, join or add parts: Slice, Split, Concat, Pad, Gather."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.core.lazy import np
from inarch.dialects.graph.number import number_property
from inarch.dialects.graph.op import shape_of
from inarch.frontends.onnx.node import Converter, Node


def _slice(node: Node) -> SSAValue:
    """Slices, clamped as ONNX does; starts, ends ... are attributes before opset 10, then inputs."""
    shape = node.shape()
    if node.opset < 10:
        starts, ends = node.ints("starts"), node.ints("ends")
        axes, steps = node.ints("axes", range(len(starts))), [1] * len(starts)
    else:
        starts, ends = node.numbers(1, "starts"), node.numbers(2, "ends")
        axes = node.numbers(3, "axes") if node.has(3) else list(range(len(starts)))
        steps = node.numbers(4, "steps") if node.has(4) else [1] * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        raise InarchError(
            "expected as many starts as ends, axes and steps, none of which is 0; "
            f"found {starts}, {ends}, {axes} and {steps}"
        )
    axes = [node.axis(axis, len(shape)) for axis in axes]
    if len(set(axes)) != len(axes):
        raise InarchError(f"expected different axes, found {axes}")
    taken = [slice(None)] * len(shape)
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        # Going down, ONNX begins at element 0 at the least, where NumPy takes nothing.
        begin = max(start, -shape[axis]) if step < 0 else start
        taken[axis] = slice(begin, end, step)
    return _take(node, node.x(), taken)


def _take(node: Node, x: SSAValue, taken: Sequence[slice]) -> SSAValue:
    """`x[taken]`; x itself when that is all of it."""
    shape = shape_of(x)
    ranges = [range(size)[part] for part, size in zip(taken, shape, strict=True)]
    if all(found == range(size) for found, size in zip(ranges, shape, strict=True)):
        return x
    return node.graph.slice(
        x,
        starts=[found.start if found else 0 for found in ranges],
        sizes=[len(found) for found in ranges],
        steps=[found.step for found in ranges],
    )


def _split(node: Node) -> list[SSAValue]:
    shape = node.shape()
    axis = node.axis(node.int("axis", 0), len(shape))
    sizes = _split_sizes(node, shape[axis])
    if sum(sizes) != shape[axis] or min(sizes) < 0 or len(sizes) != node.outputs:
        raise InarchError(
            f"expected {node.outputs} sizes that make {shape[axis]} along axis {axis}, found {sizes}"
        )
    node.builder.expect(len(sizes))
    results: list[SSAValue] = []
    start = 0
    for size in sizes:
        taken = [slice(None)] * len(shape)
        taken[axis] = slice(start, start + size)
        results.append(_take(node, node.x(), taken))
        start += size
    return results


def _split_sizes(node: Node, size: int) -> list[int]:
    """The given sizes, else equal ones, of which the last may be smaller from opset 18 on."""
    if node.opset < 13 and node.has_attribute("split"):
        return node.ints("split")
    if node.opset >= 13 and node.has(1):
        return node.numbers(1, "split")
    count = node.outputs
    if (said := node.int("num_outputs", count)) != count:
        raise InarchError(
            f"expected num_outputs to be {count}, as outputs are listed, found {said}"
        )
    if count < 1 or (node.opset < 18 and size % count):
        raise InarchError(f"expected a size that {count} outputs can share, found {size}")
    each = -(-size // count)
    return [min(each, max(0, size - each * index)) for index in range(count)]


def _concat(node: Node) -> SSAValue:
    parts = [node.x(index) for index in range(len(node.inputs))]
    axis = node.axis(node.int("axis", 1), len(node.shape()))
    return parts[0] if len(parts) == 1 else node.graph.concat(*parts, axis=axis)


def _gather(node: Node) -> SSAValue:
    axis = node.axis(node.int("axis", 0), len(node.shape()))
    found = node.graph.gather(node.x(0), node.x(1), axis=axis)
    node.indexes(node.x(1), node.shape()[axis])
    return found


def _pad(node: Node) -> SSAValue:
    """Negative pads cut. Modes other than `constant` gather: their indices are known."""
    low, high = _pads(node)
    mode = node.text("mode", "constant")
    shape = node.shape()
    if any(size + min(a, 0) + min(b, 0) < 0 for size, a, b in zip(shape, low, high, strict=True)):
        raise InarchError(f"expected pads that leave something of {shape}, found {low} and {high}")
    cut = [
        slice(max(0, -a), size - max(0, -b)) for size, a, b in zip(shape, low, high, strict=True)
    ]
    x = _take(node, node.x(), cut)
    low, high = [max(0, a) for a in low], [max(0, b) for b in high]
    if not any((*low, *high)):
        return x
    if mode == "constant":
        return _pad_constant(node, x, low, high)
    if mode not in ("edge", "reflect", "wrap"):
        raise InarchError(f"expected mode constant, edge, reflect or wrap, found '{mode}'")
    for axis, (before, behind) in enumerate(zip(low, high, strict=True)):
        size = shape_of(x)[axis]
        if (before or behind) and not size:
            raise InarchError(f"expected elements to pad with along axis {axis}, found none")
        if before or behind:
            node.room(before + size + behind)
            indices = np.pad(np.arange(size), (before, behind), mode=mode)
            x = node.graph.gather(x, node.constant(indices), axis=axis)
    return x


def _pads(node: Node) -> tuple[list[int], list[int]]:
    """Elements to add before and behind each dimension."""
    rank = len(node.shape())
    given = node.ints("pads") if node.opset < 11 else node.numbers(1, "pads")
    axes = list(range(rank))
    if node.opset >= 18 and node.has(3):
        axes = [node.axis(axis, rank) for axis in node.numbers(3, "axes")]
    if len(given) != 2 * len(axes):
        raise InarchError(f"expected {2 * len(axes)} pads, found {given}")
    low, high = [0] * rank, [0] * rank
    for index, axis in enumerate(axes):
        low[axis], high[axis] = given[index], given[index + len(axes)]
    return low, high


def _pad_constant(node: Node, x: SSAValue, low: list[int], high: list[int]) -> SSAValue:
    """Pads with a number; with one that is computed at run time, where there is no element of x."""
    is_known = node.opset < 11 or not node.has(2) or node.x(2) in node.builder.arrays
    if is_known:
        return node.graph.pad(x, low=low, high=high, value=number_property(_pad_value(node)))
    shape = shape_of(x)
    node.room(*(a + size + b for a, size, b in zip(low, shape, high, strict=True)), itemsize=1)
    inside = np.pad(np.ones(shape, bool), list(zip(low, high, strict=True)))
    padded = node.graph.pad(x, low=low, high=high, value=0.0)
    return node.graph.select(node.constant(inside), padded, node.reshape(node.x(2), ()))


def _pad_value(node: Node) -> float:
    if node.opset < 11:
        return node.float("value", 0.0)
    if not node.has(2):
        return 0.0
    value = node.scalar(2, "constant_value")
    return float(value) if isinstance(value, bool) else value


CONVERTERS: dict[str, Converter] = {
    "Concat": _concat,
    "Gather": _gather,
    "Pad": _pad,
    "Slice": _slice,
    "Split": _split,
}
