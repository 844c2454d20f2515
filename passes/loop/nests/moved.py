"""Views of buffers that loops move."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import MemRefType, StridedLayoutAttr
from xdsl.dialects.memref import SubviewOp
from xdsl.ir import SSAValue

from inarch.dialects.loop.memory import memref_of, strides_of
from inarch.passes.loop.nests.writer import Writer


def moved_view(
    at: Writer,
    value: SSAValue,
    indices: Sequence[SSAValue],
    factors: Sequence[Sequence[int]],
    extents: Sequence[int],
) -> SSAValue:
    """The part of `value` with these `extents` that begins at `sum of factors[dim][i] * indices[i]`."""
    source = memref_of(value)
    layout = StridedLayoutAttr(list(strides_of(source)), None)
    offsets = [_sum(at, by, indices) if any(by) else 0 for by in factors]
    kind = MemRefType(source.element_type, list(extents), layout)
    view = SubviewOp.get(value, offsets, list(extents), [1] * len(extents), kind)
    at.add(view)
    view.result.name_hint = value.name_hint
    return view.result


def _sum(at: Writer, factors: Sequence[int], indices: Sequence[SSAValue]) -> SSAValue:
    """`sum of factors * indices`, of which one is not 0."""
    total: SSAValue | None = None
    for factor, index in zip(factors, indices, strict=True):
        if not factor:
            continue
        term = index if factor == 1 else at.put(arith.MuliOp(index, at.value(factor)))
        total = term if total is None else at.put(arith.AddiOp(total, term))
    assert total is not None, "one of them moves it"
    return total
