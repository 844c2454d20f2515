"""Views of buffers that loops move."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, LocationAttr, MemRefType, StridedLayoutAttr
from xdsl.dialects.memref import SubviewOp
from xdsl.ir import SSAValue

from inarch.dialects.loop.memory import memref_of, strides_of


def moved_view(
    builder: Builder,
    value: SSAValue,
    indices: Sequence[SSAValue],
    factors: Sequence[Sequence[int]],
    extents: Sequence[int],
    location: LocationAttr,
) -> SSAValue:
    """The part of `value` with these `extents` that begins at `sum of factors[dim][i] * indices[i]`."""
    source = memref_of(value)
    layout = StridedLayoutAttr(list(strides_of(source)), None)
    offsets = [_sum(builder, by, indices, location) if any(by) else 0 for by in factors]
    kind = MemRefType(source.element_type, list(extents), layout)
    view = SubviewOp.get(value, offsets, list(extents), [1] * len(extents), kind)
    view.location = location
    builder.insert(view)
    view.result.name_hint = value.name_hint
    return view.result


def _sum(
    builder: Builder,
    factors: Sequence[int],
    indices: Sequence[SSAValue],
    location: LocationAttr,
) -> SSAValue:
    """`sum of factors * indices`, of which one is not 0."""
    total: SSAValue | None = None
    for factor, index in zip(factors, indices, strict=True):
        if not factor:
            continue
        term = index
        if factor != 1:
            number = arith.ConstantOp.from_int_and_width(factor, IndexType())
            product = arith.MuliOp(index, number.result)
            for op in (number, product):
                op.location = location
                builder.insert(op)
            term = product.result
        if total is None:
            total = term
            continue
        added = arith.AddiOp(total, term)
        added.location = location
        builder.insert(added)
        total = added.result
    assert total is not None, "one of them moves it"
    return total
