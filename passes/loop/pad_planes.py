"""Scratch in planes that meet in a few sets of the first-level cache gets an odd number of lines a plane.

y[l] = f(v[0, l], v[1, l], ..., v[35, l])     v: 36 planes of 50,176 bytes, of which nine share a set
--> v: 36 planes of 50,240 bytes, of which none does
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul

from xdsl.context import Context
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, ModuleOp
from xdsl.rewriter import InsertPoint, Rewriter

from inarch.dialects.loop.access import ReadAttr, WriteAttr
from inarch.dialects.loop.buffer import AllocOp
from inarch.dialects.loop.keep import is_kept
from inarch.dialects.loop.memory import memref_of, strides_of
from inarch.dialects.loop.nest import NestOp
from inarch.ir.edit import erase
from inarch.ir.index.linear import Linear, affine_map, linear_map
from inarch.ir.passes import OptionalPass
from inarch.ir.report.remarks import Remarks, remarks_of
from inarch.ir.target import machine_of
from inarch.ir.types import dtype_of, memref
from inarch.machine.machine import Machine

_LEAST_PLANE = 16
"""The smallest plane to pad, in cache lines: padding adds two lines at most, an eighth of it."""


@dataclass(frozen=True)
class PadPlanesPass(OptionalPass):
    """Moves planes of a `loop.alloc` apart where a nest touches more of them than a set of a cache holds.

    The dimensions inside of a plane become one, of an odd number of cache lines. Only where nests alone use
    the buffer, at linear indices without pad and clip, and none is kept.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine, remarks = machine_of(op), remarks_of(ctx)
        for alloc in [each for each in op.walk() if isinstance(each, AllocOp)]:
            nests = _nests(alloc)
            planes = _crowded(alloc, nests, machine)
            if planes is not None:
                _pad(alloc, nests, planes, machine, remarks)


def _nests(alloc: AllocOp) -> list[NestOp]:
    """The nests that use a buffer; none where something else does, or in a way that is to stay."""
    nests: dict[NestOp, None] = {}
    for use in alloc.buffer.uses:
        nest = use.operation
        if not isinstance(nest, NestOp) or is_kept(nest):
            return []
        access = [*nest.reads, *nest.writes][use.index]
        guarded = access.is_padded if isinstance(access, ReadAttr) else access.clips
        if guarded or access.is_indirect:
            return []
        nests[nest] = None
    return list(nests)


def _crowded(alloc: AllocOp, nests: Sequence[NestOp], machine: Machine) -> int | None:
    """The dimension that counts planes of which a nest touches too many at once; None where none does."""
    buffer = memref_of(alloc.buffer)
    strides, itemsize = strides_of(buffer), dtype_of(buffer.element_type).nbytes
    for nest in nests:
        streams: defaultdict[object, set[tuple[int, ...]]] = defaultdict(set)
        for index in _indices(nest, alloc):
            coefficients = tuple(form.coefficients for form in index)
            streams[coefficients].add(tuple(form.constant for form in index))
        for starts in streams.values():
            offsets = [sum(map(mul, start, strides)) * itemsize for start in starts]
            if not machine.collide(offsets):
                continue
            places = [set(each) for each in zip(*starts, strict=True)]
            return max(d for d, found in enumerate(places) if len(found) > 1)
    return None


def _indices(nest: NestOp, alloc: AllocOp) -> list[tuple[Linear, ...]]:
    """At which indices a nest reads and writes a buffer."""
    maps = [access.map.data for access in (*nest.reads, *nest.writes)]
    pairs = zip(nest.operands, maps, strict=True)
    return [linear_map(index) for value, index in pairs if value is alloc.buffer]


def _pad(
    alloc: AllocOp, nests: Sequence[NestOp], planes: int, machine: Machine, remarks: Remarks
) -> None:
    """Gives a buffer an odd number of lines in each of its planes, counted by dimension `planes`."""
    buffer = memref_of(alloc.buffer)
    itemsize = dtype_of(buffer.element_type).nbytes
    strides = strides_of(buffer)
    plane = strides[planes]
    line = max(machine.line_bytes // itemsize, 1)
    lines = math.ceil(plane / line) | 1
    if lines * line == plane or lines < _LEAST_PLANE:
        return
    shape = (*list(buffer.get_shape())[: planes + 1], lines * line)
    made = AllocOp(memref(buffer.element_type, shape))
    made.location = alloc.location
    made.buffer.name_hint = alloc.buffer.name_hint
    Rewriter.insert_op(made, InsertPoint.before(alloc))
    for nest in nests:
        _move(nest, alloc, made, planes)
    between = (lines * line - plane) * itemsize
    remarks.done(made, f"{between} bytes more in each plane of {plane * itemsize}")
    erase(alloc)


def _move(nest: NestOp, alloc: AllocOp, made: AllocOp, planes: int) -> None:
    """Lets a nest use the padded buffer: indices within a plane become one."""
    inner = strides_of(memref_of(alloc.buffer))[planes + 1 :]
    count = len(nest.iterators)

    def moved(access: ReadAttr | WriteAttr) -> AffineMapAttr:
        index = linear_map(access.map.data)
        outer, within = index[: planes + 1], index[planes + 1 :]
        coefficients = tuple(
            sum(map(mul, inner, (form.coefficients[i] for form in within))) for i in range(count)
        )
        constant = sum(map(mul, inner, (form.constant for form in within)))
        return AffineMapAttr(affine_map([*outer, Linear(coefficients, constant)], count))

    is_ours = [value is alloc.buffer for value in nest.operands]
    reads = zip(nest.reads, is_ours[: len(nest.ins)], strict=True)
    writes = zip(nest.writes, is_ours[len(nest.ins) :], strict=True)
    nest.reads = ArrayAttr([ReadAttr(moved(r), r.pad) if ours else r for r, ours in reads])
    nest.writes = ArrayAttr(
        [WriteAttr(moved(w), w.init, w.clip) if ours else w for w, ours in writes]
    )
    nest.operands = [
        made.buffer if ours else value for value, ours in zip(nest.operands, is_ours, strict=True)
    ]
