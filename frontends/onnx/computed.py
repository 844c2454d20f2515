"""Sizes that data decide: values with room for the most elements, and how many of them count.

NonZero of [2, 3] gives [2, 6] and a number; the elements behind it are zeros, which nobody sees: results of a
function say which other result has the number (`inarch.computed`), and a call gives as much as counts. Only
operators pass such a value on whose elements that count do not depend on the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from xdsl.ir import SSAValue

from inarch.dialects.graph.op import shape_of
from inarch.frontends.onnx.node import Node
from inarch.frontends.onnx.ops.elementwise.elementwise import CONVERTERS
from inarch.frontends.report import NotSupportedError

Sizes: TypeAlias = Mapping[int, SSAValue]
"""Of a value: the axes of computed size, and how much of each counts, an i64 of shape ()."""

Rule: TypeAlias = Callable[[Node, Sequence[Sizes]], Sizes]
"""The sizes of an operator's output, of those of its inputs. Raises NotSupportedError where it has none."""


def sized(node: Node, value: SSAValue, axis: int, count: SSAValue) -> SSAValue:
    """`value`, of which the first `count` along the axis count: where it is known, as many."""
    if count in node.builder.arrays:
        return node.part(value, axis, 0, int(node.builder.arrays[count]))
    node.sizes[value] = {axis: count}
    return value


def passed_on(node: Node, title: str) -> Sizes:
    """The sizes of an operator's outputs that those of its inputs make.

    Raises NotSupportedError where it does not pass them on.
    """
    none: Sizes = {}
    given = [none if x is None else node.sizes.get(x, none) for x in node.inputs]
    if not any(given):
        return none
    rule = _RULES.get(title)
    if rule is None:
        raise NotSupportedError("an input of computed size")
    return rule(node, given)


def _elementwise(node: Node, given: Sequence[Sizes]) -> Sizes:
    """Of operands that are broadcast: sizes of one axis are the same, or 1."""
    shapes = [shape_of(x) for x in node.given()]
    every = [sizes for x, sizes in zip(node.inputs, given, strict=True) if x is not None]
    rank = max(map(len, shapes))
    found: dict[int, SSAValue] = {}
    for shape, sizes in zip(shapes, every, strict=True):
        for axis, count in sizes.items():
            at = axis + rank - len(shape)
            if found.setdefault(at, count) is not count:
                raise NotSupportedError("inputs of several computed sizes")
    for shape, sizes in zip(shapes, every, strict=True):
        for at in found:
            own = at - rank + len(shape)
            if own >= 0 and own not in sizes and shape[own] != 1:
                raise NotSupportedError("inputs of which one has a computed size")
    return found


def _transpose(node: Node, given: Sequence[Sizes]) -> Sizes:
    rank = len(node.shape())
    perm = node.ints("perm", range(rank)[::-1])
    return {perm.index(axis): count for axis, count in given[0].items()}


def _gather(node: Node, given: Sequence[Sizes]) -> Sizes:
    """Slices of data by indices, which take the place of the axis."""
    axis = node.axis(node.int("axis", 0), len(node.shape(0)))
    if axis in given[0]:
        raise NotSupportedError("indices along an axis of computed size")
    more = len(node.shape(1)) - 1
    data = {at if at < axis else at + more: count for at, count in given[0].items()}
    return data | {axis + at: count for at, count in given[1].items()}


def _gather_nd(node: Node, given: Sequence[Sizes]) -> Sizes:
    if given[0] or node.int("batch_dims", 0) or len(node.shape(1)) - 1 in given[1]:
        raise NotSupportedError("an input of computed size")
    return given[1]


def _squeeze(node: Node, given: Sequence[Sizes]) -> Sizes:
    shape = node.shape()
    axes = node.ints("axes") if node.opset < 13 else []
    if node.opset >= 13 and node.has(1):
        axes = node.numbers(1, "axes")
    gone = set(node.axes(axes, len(shape)))
    if not gone or gone & given[0].keys():  # without axes, all of size 1 go, which this one may be
        raise NotSupportedError("an axis of computed size that may be squeezed")
    return {axis - sum(one < axis for one in gone): count for axis, count in given[0].items()}


def _unsqueeze(node: Node, given: Sequence[Sizes]) -> Sizes:
    axes = node.ints("axes") if node.opset < 13 else node.numbers(1, "axes")
    rank = len(node.shape()) + len(axes)
    new = set(node.axes(axes, rank))
    kept = [axis for axis in range(rank) if axis not in new]
    return {kept[axis]: count for axis, count in given[0].items()}


def _slice(node: Node, given: Sequence[Sizes]) -> Sizes:
    """Of the other axes."""
    if node.opset < 10:
        axes = node.ints("axes", range(len(node.ints("starts"))))
    elif node.has(3):
        axes = node.numbers(3, "axes")
    else:
        axes = list(range(len(node.numbers(1, "starts"))))
    if set(node.axes(axes, len(node.shape()))) & given[0].keys():
        raise NotSupportedError("a slice of an axis of computed size")
    return given[0]


def _concat(node: Node, given: Sequence[Sizes]) -> Sizes:
    """Of values with the same sizes, along another axis."""
    axis = node.axis(node.int("axis", 0), len(node.shape()))
    if axis in given[0] or any(dict(sizes) != dict(given[0]) for sizes in given):
        raise NotSupportedError("inputs of several computed sizes")
    return given[0]


_RULES: Mapping[str, Rule] = {
    **dict.fromkeys((*CONVERTERS, "Clip", "Identity", "LeakyRelu"), _elementwise),
    "CastLike": lambda _, given: given[0],
    "Concat": _concat,
    "Gather": _gather,
    "GatherND": _gather_nd,
    "Slice": _slice,
    "Squeeze": _squeeze,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}
"""Operators of ONNX that pass computed sizes on."""
