"""What a match computes, as one matrix product: `C = A B (+ addends)`, then perhaps relu, per batch.

`matmul` is that product. A 1x1 convolution is `out[n][oc, hw] = w[oc, ic] x[n][ic, hw]`; where an
image is one pixel it is `out[n, oc] = x[n, ic] w'[ic, oc]`, one product for the whole batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from inarch.backends.cblas._views import (
    BLASINT_MAX,
    Layout,
    Loop,
    View,
    batch_loops,
    broadcast_strides,
    matrix_layout,
)
from inarch.core.dtypes import DType
from inarch.core.errors import UnsupportedError
from inarch.dialects.graph.elementwise.arithmetic import AddOp
from inarch.dialects.graph.elementwise.unary import ReluOp
from inarch.dialects.graph.matmul import MatmulOp
from inarch.dialects.graph.op import ints, shape_of, tensor_dtype
from inarch.dialects.graph.shape import TransposeOp
from inarch.dialects.graph.windows.conv import ConvOp
from inarch.ir.location import location_text
from inarch.ir.types import row_major

Resolve = Callable[[SSAValue], SSAValue]
"""The value outside of a composite that an argument of its body stands for."""


@dataclass(frozen=True)
class Addend:
    """What C starts from: element `[i, j]` is `value[i * row + j * column]`."""

    value: SSAValue
    row: int
    column: int


@dataclass(frozen=True)
class Gemm:
    """`C[m, n] = A[m, k] B[k, n] + addends`, in each iteration of `loops`."""

    out: SSAValue
    dtype: DType
    m: int
    n: int
    k: int
    a: SSAValue
    a_layout: Layout
    b: SSAValue
    b_layout: Layout
    addends: tuple[Addend, ...]
    loops: tuple[Loop, ...]
    """Steps of A, B, C, then the addends."""
    relu: bool
    origin: str
    """Which ops it came from, for the C."""


@dataclass
class _Match:
    """What one pass over the ops of a match finds."""

    views: dict[SSAValue, View] = field(default_factory=dict[SSAValue, View])
    core: MatmulOp | ConvOp | None = None
    result: SSAValue | None = None
    addends: list[View] = field(default_factory=list[View])
    relu: bool = False


def gemm_of(ops: Sequence[Operation], out: SSAValue, resolve: Resolve) -> Gemm:
    """The product that `ops`, in program order, compute; `out` is the value that the last one makes.

    Raises UnsupportedError for ops that no pattern of this backend describes.
    """
    match = _Match()
    for op in ops:
        _take(op, match, resolve)
    if match.core is None:
        raise _unexpected(ops[-1])
    names = list(dict.fromkeys(place for op in ops if (place := location_text(op)) is not None))
    kinds = ", ".join(op.name.removeprefix("graph.") for op in ops)
    origin = f"{kinds} ({', '.join(names)})" if names else kinds
    left, right, result, addends = _operands(match, out, resolve)
    return _gemm(out, left, right, result, addends, relu=match.relu, origin=origin)


def _take(op: Operation, match: _Match, resolve: Resolve) -> None:
    match op:
        case TransposeOp() if match.core is None:
            view = _view(op.x, match, resolve)
            match.views[op.out] = view.transposed(ints(op.perm))
        case MatmulOp() if match.core is None:
            match.core, match.result = op, op.out
        case ConvOp() if match.core is None and not match.views:
            match.core, match.result = op, op.out
        case AddOp() if match.result in op.operands and not match.relu:
            x, y = op.operands
            other = y if x is match.result else x
            match.addends.append(_view(other, match, resolve))
            match.result = op.results[0]
        case ReluOp() if match.result in op.operands:
            match.relu = True
            match.result = op.results[0]
        case _:
            raise _unexpected(op)


def _unexpected(op: Operation) -> UnsupportedError:
    return UnsupportedError(
        f"backend 'cblas' expected a match of one of its patterns, found '{op.name}' in it",
        where=location_text(op),
    )


def _view(value: SSAValue, match: _Match, resolve: Resolve) -> View:
    """`value`, through the transpositions of the match."""
    return match.views.get(value) or View.of(resolve(value), shape_of(value))


def _operands(
    match: _Match, out: SSAValue, resolve: Resolve
) -> tuple[View, View, View, list[View]]:
    """A, B, C and the addends as views of one rank, `[batch.., rows, columns]`."""
    if isinstance(match.core, MatmulOp):
        shape = shape_of(out)
        left, right = (_view(value, match, resolve) for value in (match.core.x, match.core.y))
        left = left.broadcast((*shape[:-2], *left.shape[-2:]))
        right = right.broadcast((*shape[:-2], *right.shape[-2:]))
        return left, right, View.of(out, shape), [v.broadcast(shape) for v in match.addends]
    assert match.core is not None  # gemm_of
    return _conv_operands(match.core, out, match, resolve)


def _conv_operands(
    conv: ConvOp, out: SSAValue, match: _Match, resolve: Resolve
) -> tuple[View, View, View, list[View]]:
    batch, channels, *spatial = shape_of(conv.x)
    outputs, pixels = shape_of(conv.w)[0], math.prod(spatial)
    shape = (batch, outputs, pixels)
    w = View.of(resolve(conv.w), (outputs, channels))
    addends = [_pixels(view, shape_of(out)) for view in match.addends]
    if conv.bias is not None:
        addends.append(View(resolve(conv.bias), (outputs, 1), (1, 0)).broadcast(shape))
    if pixels != 1:
        x = View.of(resolve(conv.x), (batch, channels, pixels))
        return w.broadcast((batch, outputs, channels)), x, View.of(out, shape), addends
    x = View.of(resolve(conv.x), (batch, channels))
    rows = [View(view.value, shape[:2], view.strides[:2]) for view in addends]
    return x, w.transposed((1, 0)), View.of(out, shape[:2]), rows


def _pixels(view: View, shape: Sequence[int]) -> View:
    """An addend that broadcasts to `[n, oc, s..]`, under `[n, oc, pixels]`."""
    batch, outputs, *spatial = shape
    strides = view.broadcast(shape).strides
    loops = batch_loops(spatial, [strides[2:]])
    step = loops[0].steps[0] if loops else 0
    return View(view.value, (batch, outputs, math.prod(spatial)), (*strides[:2], step))


def refuse_pixels(addend: Sequence[int], shape: Sequence[int]) -> str | None:
    """Why an addend of one shape cannot be walked pixel by pixel over `[n, oc, s..]`; or None."""
    strides = broadcast_strides(addend, row_major(addend), shape)
    if len(batch_loops(shape[2:], [strides[2:]])) > 1:
        return f"the addend has shape {list(addend)}, which repeats in some spatial dimensions only"
    return None


def _gemm(
    out: SSAValue,
    left: View,
    right: View,
    result: View,
    addends: Sequence[View],
    *,
    relu: bool,
    origin: str,
) -> Gemm:
    m, k, n = left.shape[-2], left.shape[-1], right.shape[-1]
    a_layout, b_layout = _layout(left, out), _layout(right, out)
    views = [left, right, result, *addends]
    loops = batch_loops(result.shape[:-2], [view.strides[:-2] for view in views])
    even = [a_layout.leading, 0, n, *(view.strides[-2] for view in addends)]
    if len(loops) == 1 and not a_layout.transposed and _continues(loops[0], m, even):
        # The rows of A and C go on from one matrix to the next, and B stays: one product.
        m, loops = m * loops[0].size, ()
    return Gemm(
        out,
        tensor_dtype(out),
        m,
        n,
        k,
        left.value,
        a_layout,
        right.value,
        b_layout,
        tuple(Addend(view.value, *view.strides[-2:]) for view in addends),
        loops,
        relu,
        origin,
    )


def _layout(view: View, out: SSAValue) -> Layout:
    layout = matrix_layout(view.shape, view.strides)
    if layout is None:
        raise UnsupportedError(
            f"backend 'cblas' expected a transpose that leaves one of the last two dimensions "
            f"contiguous, found strides {list(view.strides)}",
            where=location_text(out.owner) if isinstance(out.owner, Operation) else None,
        )
    return layout


def _continues(loop: Loop, rows: int, row_strides: Sequence[int]) -> bool:
    steps = tuple(rows * stride for stride in row_strides)
    return 0 < loop.size * rows <= BLASINT_MAX and loop.steps == steps
