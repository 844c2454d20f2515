"""NonZero, Compress and Unique: of the elements for which something is true, as many as there are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.core.lazy import np
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.frontends.onnx.computed import sized
from inarch.frontends.onnx.node import Converter, Node
from inarch.frontends.report import NotSupportedError
from inarch.ir.types import i64


@dataclass(frozen=True)
class Places:
    """Where the elements of a mask [n] go that are true."""

    indices: SSAValue
    """[n], i64: how many are true before; n where it is false, which a scatter drops"""
    count: SSAValue
    """(), i64: how many are true"""

    @staticmethod
    def of(node: Node, mask: SSAValue) -> Places:
        """Those of a mask of bools, which is not empty."""
        (n,) = shape_of(mask)
        until = node.graph.cumsum(node.graph.cast(mask, to=i64), axis=0)
        last = node.part(until, 0, n - 1, 1)
        before = node.graph.sub(until, integer(node, 1))
        indices = node.graph.select(mask, before, integer(node, n))
        return Places(indices, node.reshape(last, ()))

    def moved(self, node: Node, values: SSAValue, axis: int) -> SSAValue:
        """The slices of `values` along the axis, of size n, for which the mask is true; zeros behind."""
        shape = shape_of(values)
        single = [shape[at] if at == axis else 1 for at in range(len(shape))]
        indices = node.broadcast(node.reshape(self.indices, single), shape)
        dtype = tensor_dtype(values)
        node.room(*shape, itemsize=dtype.nbytes)
        nothing = node.constant(np.zeros(shape, dtype.numpy))
        return node.graph.scatter_elements(nothing, indices, values, axis=axis)

    def taken(self, node: Node, values: SSAValue, axis: int = 0) -> SSAValue:
        """As `moved`, of as many slices as there are."""
        return sized(node, self.moved(node, values, axis), axis, self.count)


def integer(node: Node, number: int) -> SSAValue:
    """A constant of i64."""
    return node.constant(np.array(number, np.int64))


def _non_zero(node: Node) -> SSAValue:
    """[rank, count]: the indices of the elements that are not 0, in row-major order."""
    shape, dtype = node.shape(), node.dtype()
    n = math.prod(shape)
    if not shape:
        raise NotSupportedError("a scalar")
    if n == 0:
        return node.constant(np.zeros((len(shape), 0), np.int64))
    node.room(len(shape), n)
    flat = node.reshape(node.x(), (n,))
    mask = flat
    if dtype.name != "i1":
        mask = node.graph.not_equal(flat, node.constant(np.zeros((), dtype.numpy)))
    indices = np.indices(shape).reshape(len(shape), n).astype(np.int64)
    return Places.of(node, mask).taken(node, node.constant(indices), 1)


def _compress(node: Node) -> SSAValue:
    """`x` at the places along the axis where the condition, [count], is true; without one, of flat x."""
    shape, x = node.shape(), node.x()
    condition = node.x(1)
    axis = 0
    if node.has_attribute("axis"):
        axis = node.axis(node.int("axis", 0), len(shape))
    else:
        x = node.reshape(x, (math.prod(shape),))
        shape = (math.prod(shape),)
    found = shape_of(condition)
    if len(found) != 1 or found[0] > shape[axis]:
        raise InarchError(
            f"expected a condition of at most {shape[axis]} elements, found shape {found}"
        )
    if condition in node.builder.arrays or not found[0]:
        known = np.zeros(0, bool) if not found[0] else node.array(1, "condition")
        places = np.flatnonzero(known).astype(np.int64)
        return node.graph.gather(x, node.constant(places), axis=axis)
    return Places.of(node, condition).taken(node, node.part(x, axis, 0, found[0]), axis)


def _unique(node: Node) -> Sequence[SSAValue]:
    """The different slices of x along the axis, or elements of flat x; then three lists of i64.

    Where each is first, which of them each of x is, and how often each is there. Ascending, the first
    elements of slices first, or (`sorted` 0) as they come. NaN is one element, in slices each is another one.
    """
    shape, x = node.shape(), node.x()
    if node.dtype().name == "i1":
        raise NotSupportedError("dtype i1")
    axis, perm = 0, [0]
    if node.has_attribute("axis"):
        axis = node.axis(node.int("axis", 0), len(shape))
        perm = [axis, *(at for at in range(len(shape)) if at != axis)]
        x = node.graph.transpose(x, perm=perm)
    else:
        x = node.reshape(x, (math.prod(shape),))
    rows = shape_of(x)
    n, width = rows[0], math.prod(rows[1:])
    if n * width == 0:
        if n:
            raise NotSupportedError("slices without elements")
        nothing = node.constant(np.zeros(0, np.int64))
        return [node.x() if len(perm) > 1 else x, *[nothing] * 3]
    at, begins = _sorted(
        node, node.reshape(x, (n, width)), joins_nan=not node.has_attribute("axis")
    )
    places = Places.of(node, begins)
    until = node.graph.cumsum(node.graph.cast(begins, to=i64), axis=0)
    kinds = node.graph.sub(until, integer(node, 1))  # of the sorted slices
    node.room(3, n)
    zeros, ones = node.constant(np.zeros(n, np.int64)), node.constant(np.ones(n, np.int64))
    first = places.moved(node, at, 0)
    inverse = node.graph.scatter_elements(zeros, at, kinds, axis=0)
    counts = node.graph.scatter_elements(zeros, kinds, ones, axis=0, reduction="add")
    if not node.flag("sorted", default=True):
        numbers = node.constant(np.arange(n))
        is_there = node.graph.less(numbers, node.broadcast(places.count, (n,)))
        late = node.graph.select(is_there, first, integer(node, n))
        order = node.emit_all("topk", late, k=n, axis=0, largest=False)[1]
        first, counts = (node.graph.gather(each, order, axis=0) for each in (first, counts))
        ranks = node.graph.scatter_elements(zeros, order, numbers, axis=0)
        inverse = node.graph.gather(ranks, inverse, axis=0)
    different = node.graph.gather(x, first, axis=0)
    if len(perm) > 1:
        different = node.graph.transpose(different, perm=[perm.index(d) for d in range(len(perm))])
    return [
        sized(node, different, axis, places.count),
        sized(node, first, 0, places.count),
        inverse,
        sized(node, counts, 0, places.count),
    ]


def _sorted(node: Node, rows: SSAValue, *, joins_nan: bool) -> tuple[SSAValue, SSAValue]:
    """Which row of [n, width] comes when in ascending order, and whether it differs from the one before.

    Equal rows stay in order. Elements are sorted; of longer rows each is compared with each. `joins_nan`: of
    several NaN only the first differs from the one before.
    """
    n, width = shape_of(rows)
    if width == 1:
        flat = node.reshape(rows, (n,))
        values, at = node.emit_all("topk", flat, k=n, axis=0, largest=False)
        begins = node.constant(np.ones(1, bool))
        if n > 1:
            left = node.part(values, 0, 0, n - 1)
            right = node.part(values, 0, 1, n - 1)
            differ = node.graph.not_equal(left, right)
            if joins_nan:  # which are behind all others
                differ = node.graph.logical_and(differ, node.graph.equal(left, left))
            begins = node.graph.concat(begins, differ, axis=0)
        return at, begins
    node.room(n, n, width)
    one, other = node.reshape(rows, (n, 1, width)), node.reshape(rows, (1, n, width))
    unlike = node.graph.cast(node.graph.not_equal(one, other), to=i64)
    where = node.graph.argmax(unlike, axis=2, keepdims=True)  # the first
    is_there = node.graph.equal(node.constant(np.arange(width).reshape(1, 1, width)), where)
    less = node.graph.logical_and(node.graph.less(other, one), is_there)
    is_less = node.graph.reduce_max(node.graph.cast(less, to=i64), axes=[2])
    unlike = node.graph.reduce_max(unlike, axes=[2])
    earlier = node.constant(np.tril(np.ones((n, n), np.int64), -1))  # row j before row i: j < i
    same = node.graph.mul(node.graph.sub(integer(node, 1), unlike), earlier)
    before = node.graph.add(is_less, same)
    ranks = node.graph.reduce_sum(before, axes=[1])
    zeros = node.constant(np.zeros(n, np.int64))
    at = node.graph.scatter_elements(zeros, ranks, node.constant(np.arange(n)), axis=0)
    is_first = node.graph.equal(node.graph.reduce_max(same, axes=[1]), integer(node, 0))
    return at, node.graph.gather(is_first, at, axis=0)


CONVERTERS: dict[str, Converter] = {
    "Compress": _compress,
    "NonZero": _non_zero,
    "Unique": _unique,
}
