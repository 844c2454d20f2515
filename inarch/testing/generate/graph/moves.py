"""Recipes of the ops of `graph` that only move elements."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import SSAValue

from inarch.core.dtypes import DTYPES
from inarch.core.lazy import np
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.testing.generate.graph.builder import GraphBuilder, computed


def reshape(b: GraphBuilder) -> None:
    """Another shape: flat, split, merged, with ones."""
    x = b.value()
    sizes = shape_of(x)
    count = math.prod(sizes)
    kind = b.choices.pick(("flat", "split", "merge", "ones", "scalar", "same"))
    new = list(sizes)
    if kind == "flat":
        new = [count]
    elif kind == "split" and sizes and count:
        at = b.choices.integer(0, len(sizes) - 1)
        factors = [f for f in range(1, sizes[at] + 1) if sizes[at] % f == 0]
        factor = b.choices.pick(factors)
        new[at : at + 1] = [factor, sizes[at] // factor]
    elif kind == "merge" and len(sizes) >= 2:
        at = b.choices.integer(0, len(sizes) - 2)
        new[at : at + 2] = [sizes[at] * sizes[at + 1]]
    elif kind == "ones":
        new.insert(b.choices.integer(0, len(new)), 1)
    elif kind == "scalar" and count == 1:
        new = []
    if len(new) > 6:
        new = [count]
    b.graph.reshape(x, shape=new)


def transpose(b: GraphBuilder) -> None:
    """A permutation, often a cycle of three, which is not its own inverse; sometimes two."""
    x = b.value(fits=lambda s: len(s) >= 2, make=lambda: b.shape(2, 4))
    rank = len(shape_of(x))
    if rank >= 3 and b.choices.chance(50):  # a cycle of three is not its own inverse
        moved = b.choices.shuffled(range(rank))[:3]
        perm = list(range(rank))
        for source, target in zip(moved, [*moved[1:], moved[0]], strict=True):
            perm[target] = source
    else:
        perm = b.choices.shuffled(range(rank))
    once = b.graph.transpose(x, perm=perm)
    if b.choices.chance(30):
        b.graph.transpose(once, perm=b.choices.shuffled(range(rank)))


def broadcast_to(b: GraphBuilder) -> None:
    """A value repeated along new dimensions and those of size 1."""
    x = b.value(fits=lambda s: math.prod(s) <= 512)
    sizes = [b.size() if size == 1 else size for size in shape_of(x)]
    lead = [b.size() for _ in range(b.choices.integer(0, 2) if len(sizes) < 4 else 0)]
    new = [*lead, *sizes]
    if math.prod(new) <= b.most_elements:
        b.graph.broadcast_to(x, shape=new)


def concat(b: GraphBuilder) -> None:
    """Values one after the other, `x` itself among them twice."""
    x = b.value(fits=lambda s: len(s) >= 1, make=lambda: b.shape(1, 4))
    axis = b.choices.integer(0, len(shape_of(x)) - 1)
    parts = [x]
    for _ in range(b.choices.integer(0, 3)):
        sizes = list(shape_of(x))
        if not b.choices.chance(50):
            parts.append(b.like(x))
            continue
        sizes[axis] = b.size()
        parts.append(b.fresh(tensor_dtype(x), sizes))
    parts = b.choices.shuffled(parts)
    total = sum(math.prod(shape_of(part)) for part in parts)
    if total <= 2 * b.most_elements:
        b.graph.concat(*parts, axis=axis)


def slice_(b: GraphBuilder) -> None:
    """A part: strided, backwards, empty."""
    x = b.value()
    starts, sizes, steps = list[int](), list[int](), list[int]()
    for size in shape_of(x):
        step = b.choices.pick((1, 1, 2, -1, 3, -2, 5))
        most = -(-size // abs(step))
        if size and b.choices.chance(40):
            count, first = most, 0 if step > 0 else size - 1
        else:
            count = b.choices.integer(0 if b.choices.chance(5) else min(1, most), most)
            room = size - 1 - (count - 1) * abs(step) if count else 0
            first = b.choices.integer(0, max(room, 0))
            first = first if step > 0 else first + (count - 1) * -step
            first = max(first, 0)
        starts.append(first)
        sizes.append(count)
        steps.append(step)
    b.graph.slice(x, starts=starts, sizes=sizes, steps=steps)


def pad(b: GraphBuilder) -> None:
    """Elements around a value, special ones too."""
    x = b.value()
    rank = len(shape_of(x))
    amounts = (0, 1, 2, 0, 5)
    low = [b.choices.pick(amounts) for _ in range(rank)]
    high = [b.choices.pick(amounts) for _ in range(rank)]
    dtype = tensor_dtype(x)
    if dtype.is_float:
        value = b.choices.pick((0.0, 1.5, -1.0, math.inf, -math.inf, math.nan, -0.0, 1e-40))
    elif dtype.name == "i1":
        value = b.choices.pick((0.0, 1.0))
    else:
        value = b.choices.pick((0.0, 1.0, 100.0))
    sizes = [a + s + c for a, s, c in zip(low, shape_of(x), high, strict=True)]
    if math.prod(sizes) <= 2 * b.most_elements:
        b.graph.pad(x, low=low, high=high, value=value)


def gather(b: GraphBuilder) -> None:
    """Slices by indices: constants, arguments, or computed ones; a few are outside, where the nearest is."""
    x = b.value(computed, lambda s: len(s) >= 1 and 0 not in s, lambda: b.bounded([4, 3, 5]))
    sizes = shape_of(x)
    axis = b.choices.integer(0, len(sizes) - 1)
    shape_ = b.bounded([b.size() for _ in range(b.choices.integer(0, 2))])
    rest = math.prod(size for at, size in enumerate(sizes) if at != axis)
    if math.prod(shape_) * rest > b.most_elements:
        shape_ = ()
    b.graph.gather(x, _indices(b, sizes[axis], shape_), axis=axis)


def _indices(b: GraphBuilder, size: int, shape_: Sequence[int]) -> SSAValue:
    """Mostly from -size to size - 1."""
    dtype = DTYPES[b.choices.pick(("i64", "i32"))]
    if b.choices.chance(50):
        generator = np.random.default_rng(b.choices.integer(0, 999))
        far = 3 * size if b.choices.chance(25) else size
        return b.array(generator.integers(-far, far, shape_, dtype.numpy))
    if b.choices.chance(25):  # computed, and often brought into range
        indices = b.argument(dtype, shape_)
        if b.choices.chance(60):
            indices = b.graph.clip(indices, low=float(-size), high=float(size - 1))
        return indices
    indices = b.argument(dtype, shape_)
    b.values.remove(indices)  # so that nothing else reads it: its numbers are indices
    return indices


def scatter_elements(b: GraphBuilder) -> None:
    """Elements of a tensor at indices along an axis; mostly some of them twice, a few outside."""
    x = b.value(computed, lambda s: len(s) >= 1 and 0 not in s, lambda: b.bounded([4, 3, 5]))
    sizes = shape_of(x)
    axis = b.choices.integer(0, len(sizes) - 1)
    shape_ = [b.choices.pick((n, n, 1, (n + 1) // 2)) for n in sizes]
    shape_[axis] = b.choices.pick((1, sizes[axis], 3, 2 * sizes[axis]))
    if math.prod(shape_) > b.most_elements:
        return
    indices, updates = _indices(b, sizes[axis], shape_), b.argument(tensor_dtype(x), shape_)
    how = _reduction(b, x)
    b.graph.scatter_elements(x, indices, updates, axis=axis, reduction=how)


def scatter_nd(b: GraphBuilder) -> None:
    """Slices, or elements, of a tensor at rows of indices; the same number of any size in each column."""
    x = b.value(computed, lambda s: len(s) >= 1 and 0 not in s, lambda: b.bounded([4, 3, 5]))
    sizes = shape_of(x)
    depth = b.choices.integer(1, len(sizes))
    rows = [b.choices.pick((1, 3, 5, 2)) for _ in range(b.choices.integer(0, 2))]
    shape_ = [*rows, *sizes[depth:]]
    if math.prod(shape_) > b.most_elements:
        return
    indices = _indices(b, b.choices.pick(sizes[:depth]), [*rows, depth])
    updates = b.argument(tensor_dtype(x), shape_)
    b.graph.scatter_nd(x, indices, updates, reduction=_reduction(b, x))


def _reduction(b: GraphBuilder, x: SSAValue) -> str:
    known = ("none", "add", "mul", "max", "min")
    return b.choices.pick(known[:1] if tensor_dtype(x).name == "i1" else known)


_SORTED = 2000
"""Elements: what its heap does is defined one after the other, some 10 ms a row."""


def topk(b: GraphBuilder) -> None:
    """The first few, or all, along an axis; often of few different numbers."""
    x = b.value(
        lambda dtype: dtype.name != "i1",
        fits=lambda s: len(s) >= 1 and 0 not in s and math.prod(s) <= _SORTED,
        make=lambda: b.bounded([4, 9, 5]),
    )
    sizes = shape_of(x)
    axis = b.choices.integer(0, len(sizes) - 1)
    k = b.choices.pick((min(3, sizes[axis]), sizes[axis], b.choices.integer(0, sizes[axis]), 1))
    if b.choices.chance(40) and tensor_dtype(x).is_float:
        x = b.graph.floor(x)
    b.graph.topk(x, k=k, axis=axis, largest=b.choices.chance(50))
