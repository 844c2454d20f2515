"""`loop.nest`: every parallel point at once, those of a reduction folded, those of a scan one by one.

The order of parallel points is free. Each point reads before it writes; a nest in which one point reads, or
writes, what another one writes has no meaning, and is an error.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from inarch.core.lazy import Array, np
from inarch.definitions.access import (
    Access,
    PickedAccess,
    linear_access,
    picked,
    read_access,
    with_garbage,
    write_access,
)
from inarch.definitions.buffers import broadcast
from inarch.definitions.elements import FOLDS, Element, fold, without
from inarch.definitions.frame import Definition, Frame, definition_of
from inarch.definitions.ops.points import Points, inside_of, origin, place
from inarch.definitions.ops.scatter import Scattered
from inarch.definitions.order import check_order
from inarch.dialects.loop.access import number_of
from inarch.dialects.loop.indirect import base_of, scatters, used_operands
from inarch.dialects.loop.nest import NestOp
from inarch.dialects.loop.scalar import PointOp
from inarch.ir.index.affine import linear_form


def _nest(op: Operation, frame: Frame) -> None:
    assert isinstance(op, NestOp)
    flags = [iterator.is_reduction for iterator in op.iterators]
    reductions = [i for i, flag in enumerate(flags) if flag]
    parallel = [i for i, flag in enumerate(flags) if not flag]
    parallel.sort(key=lambda i: not op.iterators.data[i].is_scan)
    order = (*reductions, *parallel)
    sizes = op.sizes
    points = Points(order, tuple(sizes[i] for i in reductions), tuple(sizes[i] for i in parallel))
    if 0 in points.parallel:
        return
    reads = [_read(op, frame, number, points) for number in range(len(op.ins))]
    if scatters(op):
        scattered = Scattered(op, frame, points, lambda named: _access(op, frame, named))
        check_order(op, _used_reads(op, frame, points), [scattered], ())
        scattered.run(reads)
        return
    targets = [_Target(op, frame, number, points) for number in range(len(op.outs))]
    check_order(op, _used_reads(op, frame, points), targets, points.reductions)
    accumulators = [target.start(frame) for target in targets]
    if op.has_scan:
        scanned = _scan(op, frame, points, reads, accumulators)
        for target, parts in zip(targets, scanned, strict=True):
            target.write(parts)
        return
    if not reductions:
        elements = [read.at(frame, *origin(points)) if read else None for read in reads]
        place(op, op.body.block, frame, points, *origin(points))
        accumulators = frame.run(op.body.block, [*elements, *accumulators])
    elif 0 not in points.reductions:
        accumulators = _reduce(op, frame, points, reads, accumulators)
    if op.finish is not None:
        elements = [
            read.at(frame, *origin(points)) if read and argument.uses else None
            for read, argument in zip(reads, op.element_arguments(op.finish), strict=True)
        ]
        place(op, op.finish.block, frame, points, *origin(points))
        accumulators = frame.run(op.finish.block, [*elements, *accumulators])
    shape = points.parallel
    results = [
        [
            np.array(np.broadcast_to(without(part, len(shape)), shape))
            for part in frame.domain.parts(each)
        ]
        for each in accumulators
    ]
    for target, parts in zip(targets, results, strict=True):
        target.write(parts)


def _read(op: NestOp, frame: Frame, number: int, points: Points) -> Access | PickedAccess | None:
    """None where nothing uses the element."""
    regions = [op.body, *([op.finish] if op.finish is not None else [])]
    if not any(op.element_arguments(region)[number].uses for region in regions):
        return None
    if 0 in points.reductions and op.reduction_uses(number):
        return None
    return _access(op, frame, number).ordered(points.order)


def _access(op: NestOp, frame: Frame, number: int) -> Access | PickedAccess:
    """How operand `number` is read, over all iterators; garbage is in what nothing has written."""
    read = op.reads.data[number]
    buffer = frame.buffer(op.ins[number])
    sizes = [max(size, 1) for size in op.sizes]
    base = read_access(op, frame, buffer, read.map.data, sizes, number_of(read.pad))
    return picked(base, read, lambda named: _access(op, frame, named))


def _used_reads(
    op: NestOp, frame: Frame, points: Points
) -> list[tuple[Access | PickedAccess, Array | None]]:
    """Where each operand is read that may share memory with an output, and which points do."""
    found: list[tuple[Access | PickedAccess, Array | None]] = []
    used = used_operands(op)
    outs = [frame.buffer(out) for out in op.outs]
    sizes = [max(size, 1) for size in op.sizes]
    for number, value in enumerate(op.ins):
        buffer = frame.buffer(value)
        if not any(buffer.shares_memory(out) for out in outs):
            continue
        if number not in used:
            continue
        read = op.reads.data[number]
        forms = [linear_form(expr, len(sizes)) for expr in base_of(read.map.data).results]
        access = picked(
            linear_access(buffer, forms, len(sizes)), read, lambda named: _access(op, frame, named)
        ).ordered(points.order)
        inside = inside_of(forms, buffer.shape, points)
        found.append((access, None if inside.all() else inside))
    return found


class _Target:
    """One output: where its elements are, for all parallel points."""

    def __init__(self, op: NestOp, frame: Frame, number: int, points: Points) -> None:
        self.op = op
        self.buffer = frame.buffer(op.outs[number])
        self.init = number_of(op.writes.data[number].init)
        self.shape = points.parallel
        write = op.writes.data[number]
        index, count = op.write_map(number), len(op.iterators)
        sizes = [max(size, 1) for size in op.sizes]
        skip = len(points.reductions)
        self.inside: Array | None = None
        if write.clips:
            forms = [linear_form(expr, count) for expr in index.results]
            access = linear_access(self.buffer, forms, count)
            inside = inside_of(forms, self.buffer.shape, points)[(0,) * skip]
            self.inside = None if inside.all() else inside
        else:
            access = write_access(op, self.buffer, index, sizes)
        strides = tuple(access.strides[i] for i in points.order[skip:])
        self.access = Access(self.buffer, access.offset, strides)

    def places(self) -> Array:
        """The flat index of the element of each parallel point."""
        return self.access.addresses([0] * len(self.shape), self.shape)

    def start(self, frame: Frame) -> Element:
        """The accumulators at first."""
        if self.init is not None:
            number = np.array(self.init).astype(self.buffer.dtype)
            return frame.domain.exact(number)
        box = [(0, size - 1) for size in self.buffer.shape]
        buffer = with_garbage(self.op, frame, self.buffer, box)
        access = Access(buffer, self.access.offset, self.access.strides)
        if self.inside is None:
            found = access.at(frame, [0] * len(self.shape), self.shape)
            parts = [np.array(part) for part in frame.domain.parts(found)]
        else:  # outside of the buffer there is nothing to read, and nothing will be written
            places = np.where(self.inside, self.places(), self.access.buffer.offset)
            safe = buffer.parts[0].size > 0
            parts = [
                part[places] if safe else np.zeros(self.shape, part.dtype) for part in buffer.parts
            ]
        return frame.domain.element(parts, self.buffer.dtype)

    def write(self, parts: Sequence[Array]) -> None:
        """The results of all points."""
        if self.inside is not None:
            chosen = self.places()[self.inside]
            self.buffer.put(chosen, [part[self.inside] for part in parts])
            return
        offset, strides = self.access.offset, self.access.strides
        for view, part in zip(self.buffer.views(offset, self.shape, strides), parts, strict=True):
            view[...] = part
        self.buffer.mark(offset, self.shape, strides)


# ---------------------------------------------------------------------------------- reductions


@dataclass(frozen=True)
class _Fold:
    """`acc = combine(acc, term)`, with a term that is the same in any order."""

    op: Operation
    term: SSAValue


def _folds(op: NestOp) -> list[_Fold] | None:
    """How each accumulator grows, where all fold terms in which none takes part."""
    block = op.body.block
    found: list[_Fold] = []
    for accumulator, result in zip(op.accumulators(op.body), op.yielded(op.body), strict=True):
        owner = result.owner
        if not isinstance(owner, Operation) or owner.name not in FOLDS or owner.parent is not block:
            return None
        if len(list(accumulator.uses)) != 1 or len(list(result.uses)) != 1:
            return None
        left, right = owner.operands
        if (left is accumulator) == (right is accumulator):
            return None
        found.append(_Fold(owner, right if left is accumulator else left))
    return found


def _reduce(
    op: NestOp,
    frame: Frame,
    points: Points,
    reads: Sequence[Access | PickedAccess | None],
    accumulators: list[Element],
) -> list[Element]:
    folds = _folds(op)
    if folds is None:
        return _one_by_one(op, frame, points, reads, accumulators)
    axes = range(len(points.reductions))
    parallel = [0] * len(points.parallel)
    for starts, sizes in points.chunks():
        shape = (*sizes, *points.parallel)
        elements = [read.at(frame, [*starts, *parallel], shape) if read else None for read in reads]
        place(op, op.body.block, frame, points, [*starts, *parallel], shape)
        _run_terms(op.body.block, frame, [*elements, *accumulators], folds)
        terms = [frame.get(each.term) for each in folds]  # several may fold one term
        for number, (each, term) in enumerate(zip(folds, terms, strict=True)):
            full = broadcast(frame.domain, term, shape)

            def combine(a: Element, b: Element, each: _Fold = each) -> Element:
                frame.values[each.op.operands[0]], frame.values[each.op.operands[1]] = a, b
                definition = definition_of(type(each.op))
                assert definition is not None, "FOLDS are defined"
                definition(each.op, frame)
                return frame.get(each.op.results[0])

            accumulators[number] = fold(each.op.name, full, axes, combine, accumulators[number])
    return accumulators


def _run_terms(
    block: Block, frame: Frame, arguments: Sequence[Element], folds: Sequence[_Fold]
) -> None:
    """The body without the ops that fold."""
    frame.values.update(zip(block.args, arguments, strict=True))
    folding = {id(each.op) for each in folds}
    for op in block.ops:
        if id(op) not in folding and not op.has_trait(IsTerminator):
            frame.step(op)


def _one_by_one(
    op: NestOp,
    frame: Frame,
    points: Points,
    reads: Sequence[Access | PickedAccess | None],
    accumulators: list[Element],
) -> list[Element]:
    """The body at each reduction point, in the written order, for all parallel points."""
    parallel = [0] * len(points.parallel)
    ones = [1] * len(points.reductions)
    rank = len(points.parallel)
    for starts in itertools.product(*map(range, points.reductions)):
        elements = [
            _flat(read.at(frame, [*starts, *parallel], [*ones, *points.parallel]), frame, rank)
            if read
            else None
            for read in reads
        ]
        place(op, op.body.block, frame, points, [*starts, *parallel], [*ones, *points.parallel])
        accumulators = frame.run(op.body.block, [*elements, *accumulators])
    return accumulators


def _flat(element: Element, frame: Frame, rank: int) -> Element:
    parts = [without(part, rank) for part in frame.domain.parts(element)]
    return frame.domain.element(parts, element.dtype)


def _scan(
    op: NestOp,
    frame: Frame,
    points: Points,
    reads: Sequence[Access | PickedAccess | None],
    accumulators: list[Element],
) -> list[list[Array]]:
    """By output, what all points write: the body at each point of the scan, in order, then `finish`."""
    scan, *others = points.parallel
    shape = [1, *others]
    steps: list[list[Sequence[Array]]] = []
    for step in range(scan):
        start = [step, *(0 for _ in others)]
        elements = [read.at(frame, start, shape) if read else None for read in reads]
        place(op, op.body.block, frame, points, start, shape)
        accumulators = frame.run(op.body.block, [*elements, *accumulators])
        results = accumulators
        if op.finish is not None:
            place(op, op.finish.block, frame, points, start, shape)
            results = frame.run(op.finish.block, [*elements, *accumulators])
        steps.append([frame.domain.parts(each) for each in results])
    return [
        [
            np.concatenate([np.broadcast_to(part, shape) for part in parts])
            for parts in zip(*of_output, strict=True)
        ]
        for of_output in zip(*steps, strict=True)
    ]


DEFINITIONS: Mapping[type[Operation], Definition] = {
    NestOp: _nest,
    PointOp: lambda _op, _frame: None,
}
