"""The operands of one `kernel.call`: used where they are, or copied into the layout that is demanded."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inarch.dialects.loop.buffer import WORKSPACE_ALIGNMENT_BYTES, AllocOp, is_constant, root
from inarch.dialects.loop.memory import memref_of, strides_of
from inarch.ir.index.linear import Linear
from inarch.ir.types import layout_of
from inarch.machine.machine import Machine
from inarch.meaning import Element, Term, element_text
from inarch.microkernel import AtLeast, Demand, KnownDemand, known_demand
from inarch.passes.tensorize.unify.body import ACCUMULATOR, Binding
from inarch.passes.tensorize.unify.iterators import Assignment
from inarch.passes.tensorize.unify.pattern import KernelPattern
from inarch.passes.tensorize.unify.strided import StridedAccess, StridedNest
from inarch.passes.tensorize.unify.strides import Solution, solve
from inarch.passes.tensorize.unify.views import View, view_of
from inarch.passes.tensorize.weigh.layouts import PackedLayout, dense_layout
from inarch.passes.tensorize.weigh.tiles import Piece


@dataclass(frozen=True)
class Copy:
    """A copy with a dimension for each loop that the operand moves along, then those of `layout`."""

    view: View
    loops: tuple[int, ...]
    """Axes."""
    counts: tuple[int, ...]
    layout: PackedLayout
    forms: tuple[Linear, ...]
    """The index in the view, over the copy's dimensions."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the copy."""
        return (*self.counts, *self.layout.shape)

    @property
    def row(self) -> int:
        """Elements that are written in order, or read in order where rows become columns."""
        strides = [1] if self.view.is_flat else strides_of(memref_of(self.view.buffer))
        moves = [
            sum(by * form.coefficients[at] for by, form in zip(strides, self.forms, strict=True))
            for at in range(len(self.shape))
        ]
        along = [size for by, size in zip(moves, self.shape, strict=True) if by == 1]
        return max([*self.shape[-1:], *along], default=1)


@dataclass(frozen=True)
class OperandPlan:
    """An operand of a call: element `offset + sum of moves[axis] * loop of axis` and its strides."""

    access: StridedAccess
    strides: tuple[int, ...]
    offset: int
    moves: tuple[int, ...]
    copy: Copy | None
    reason: str | None
    """Why it is copied."""


@dataclass(frozen=True)
class CallPlan:
    """What one piece of a nest becomes: the operands by name, and the sizes that the call gives."""

    piece: Piece
    operands: Mapping[str, OperandPlan]
    given: Mapping[str, int]


@dataclass(frozen=True)
class Matched:
    """A kernel and a nest whose bodies are equal, with axes for the iterators."""

    pattern: KernelPattern
    nest: StridedNest
    binding: Binding
    assignment: Assignment

    def access_of(self, element: Element) -> StridedAccess:
        """The access of the nest that an element of the meaning is."""
        if element == self.pattern.normal.target:
            return self.nest.write
        position = self.binding[element]
        return self.nest.write if position == ACCUMULATOR else self.nest.reads[position]


Demands = Mapping[str, Sequence[Demand]]


def plan_call(matched: Matched, piece: Piece, demands: Demands, machine: Machine) -> CallPlan | str:
    """The operands of `piece` on `machine`; a reason where no strides make the addresses equal."""
    pattern = matched.pattern
    given: dict[str, int] = dict(piece.params)
    sizes = piece.sizes
    for iterator in pattern.iterators:
        size = iterator.size
        found = sizes.get(iterator.name, 1)
        if isinstance(size, int):
            if size != found:
                return f"{iterator.name} in {size} takes {found} points"
        elif given.setdefault(size, found) != found:
            return f"{iterator.name} in {size} would need {found} and {given[size]} points at once"
    solutions: dict[str, Solution] = {}
    for operand in pattern.kernel.dtypes:
        solution = _solve(matched, piece, operand, given)
        if isinstance(solution, str):
            return solution
        given.update(solution.given)
        solutions[operand] = solution
    for name in pattern.free:
        given.setdefault(name, 1)
    plans: dict[str, OperandPlan] = {}
    for operand, solution in solutions.items():
        wanted = [known_demand(each, given) for each in demands[operand]]
        plan = _operand(matched, piece, operand, solution, wanted, machine)
        if isinstance(plan, str):
            return plan
        plans[operand] = plan
    return CallPlan(piece, plans, {name: given[name] for name in pattern.free})


def moves_of(piece: Piece, strides: Sequence[int]) -> dict[str, int]:
    """Iterator of more than one point -> what an access of these strides by axis moves by along it."""
    found: dict[str, int] = {}
    for cut, stride in zip(piece.cuts, strides, strict=True):
        inside = stride
        for name, size in reversed(list(cut.sizes.items())):
            if size > 1:
                found[name] = inside
            inside *= size
    return found


def _solve(
    matched: Matched, piece: Piece, operand: str, given: Mapping[str, int]
) -> Solution | str:
    """The strides for which every element of the operand is where the nest has it."""
    merged: Solution | None = None
    sizes = piece.sizes
    for element in matched.pattern.elements[operand]:
        access = matched.access_of(element)
        moves = moves_of(piece, access.strides)
        used = {term.iterator for index in element.indices for term in index}
        moves = {name: by for name, by in moves.items() if by or name in used}
        solution = solve(element.indices, moves, {**given, **(merged.given if merged else {})})
        if solution is None:
            along = ", ".join(f"{by} along {name} of {sizes[name]}" for name, by in moves.items())
            return f"no strides of {operand} make {element_text(element)} move by {along}"
        if merged is not None:
            pairs = list(zip(merged.strides, solution.strides, strict=True))
            if any(a is not None and b is not None and a != b for a, b in pairs):
                return f"{operand} would need two strides at once"
            strides = tuple(a if a is not None else b for a, b in pairs)
            solution = Solution(strides, solution.given)
        merged = solution
    assert merged is not None, "every operand has an element"
    return merged


def _operand(
    matched: Matched,
    piece: Piece,
    operand: str,
    solution: Solution,
    wanted: Sequence[KnownDemand],
    machine: Machine,
) -> OperandPlan | str:
    elements = matched.pattern.elements[operand]
    accesses = [matched.access_of(element) for element in elements]
    extents = _extents(elements, piece, solution.given)
    strides = _filled(solution.strides, wanted, extents)
    starts = {
        (root(access.buffer), access.offset - _constant(element, strides, solution.given))
        for element, access in zip(elements, accesses, strict=True)
    }
    if len({access.buffer for access in accesses}) > 1 or len(starts) > 1:
        return f"{operand} would need to be two buffers at once"
    access = accesses[0]
    start = sum(s * cut.start for s, cut in zip(access.strides, piece.cuts, strict=True))
    offset = access.offset - _constant(elements[0], strides, solution.given) + start
    moves = tuple(s * cut.block for s, cut in zip(access.strides, piece.cuts, strict=True))
    reason = _misfit(matched, piece, operand, strides, wanted, extents, offset, moves)
    if reason is None and access.is_constant and len(elements) == 1:
        reason, wanted = _crowded(access, strides, wanted, extents, machine)
        if reason is None and operand in matched.pattern.kernel.layout:
            reason = _scattered(strides, wanted, extents)
    if reason is None:
        return OperandPlan(access, strides, offset, moves, None, None)
    if len(elements) > 1:
        return f"{operand} cannot be copied ({reason}): it is read at {len(elements)} indices"
    return _copied(matched, piece, operand, solution.given, wanted, extents, reason)


def _crowded(
    access: StridedAccess,
    strides: Sequence[int],
    wanted: Sequence[KnownDemand],
    extents: Sequence[int],
    machine: Machine,
) -> tuple[str | None, Sequence[KnownDemand]]:
    """A reason to copy rows that crowd each other out of the first-level cache, and a gap between them."""
    nbytes = access.nbytes
    for axis, (stride, extent) in enumerate(zip(strides, extents, strict=True)):
        if wanted[axis] is None and stride and machine.crowds(extent, stride * nbytes):
            row = min(
                stride, math.prod(extents[axis + 1 :])
            )  # of the copy, which has what a call reads
            gap = machine.line_bytes // nbytes if machine.crowds(extent, row * nbytes) else 0
            apart = AtLeast(row + gap)
            reason = f"{extent} rows {stride * nbytes} bytes apart do not fit into a cache together"
            return reason, [*wanted[:axis], apart, *wanted[axis + 1 :]]
    return None, wanted


def _scattered(
    strides: Sequence[int], wanted: Sequence[KnownDemand], extents: Sequence[int]
) -> str | None:
    """A reason to copy what a call does not read in one run: a constant is laid out for nothing."""
    layout = dense_layout(extents, wanted, 1)
    if layout is None:
        return None
    dimensions = zip(strides, layout.strides, extents, strict=True)
    if all(stride == dense or extent <= 1 for stride, dense, extent in dimensions):
        return None
    return "a constant is laid out in the order in which it is read"


def _extents(
    elements: Sequence[Element], piece: Piece, given: Mapping[str, int]
) -> tuple[int, ...]:
    """Indices run from 0 to these, by dimension."""
    sizes = piece.sizes
    found = [1] * len(elements[0].indices)
    for element in elements:
        for axis, index in enumerate(element.indices):
            last = 0
            for term in index:
                factor = math.prod(_value(each, given) for each in term.factors)
                reach = sizes.get(term.iterator, 1) - 1 if term.iterator is not None else 1
                last += max(0, factor * reach)
            found[axis] = max(found[axis], last + 1)
    return tuple(found)


def _value(size: int | str, given: Mapping[str, int]) -> int:
    return given.get(size, 1) if isinstance(size, str) else size


def _constant(element: Element, strides: Sequence[int], given: Mapping[str, int]) -> int:
    """The offset that the element itself adds: of `A[m + 1]`, one stride."""
    total = 0
    for stride, index in zip(strides, element.indices, strict=True):
        for term in index:
            if term.iterator is None:
                total += stride * math.prod(_value(each, given) for each in term.factors)
    return total


def _filled(
    strides: Sequence[int | None], wanted: Sequence[KnownDemand], extents: Sequence[int]
) -> tuple[int, ...]:
    """Strides of dimensions that nothing moves along: those demanded, else past everything else."""
    reach = 1 + sum(
        abs(stride) * (extent - 1)
        for stride, extent in zip(strides, extents, strict=True)
        if stride is not None
    )
    return tuple(
        stride if stride is not None else _unmoved(demanded, reach)
        for stride, demanded in zip(strides, wanted, strict=True)
    )


def _unmoved(demanded: KnownDemand, reach: int) -> int:
    if isinstance(demanded, AtLeast):
        return max(demanded.least, reach)
    return reach if demanded is None else demanded


def _misfit(
    matched: Matched,
    piece: Piece,
    operand: str,
    strides: Sequence[int],
    wanted: Sequence[KnownDemand],
    extents: Sequence[int],
    offset: int,
    moves: Sequence[int],
) -> str | None:
    """Why the operand cannot be used where it is; None where it can."""
    access = matched.access_of(matched.pattern.elements[operand][0])
    for axis, cut in enumerate(piece.cuts):
        if cut.overrun and access.strides[axis]:
            return f"its tiles run over the end of {matched.nest.axes[axis].name}"
    for axis, (stride, demanded) in enumerate(zip(strides, wanted, strict=True)):
        if stride < 0:
            return f"stride {stride} of dimension {axis} runs backwards"
        if isinstance(demanded, AtLeast):  # a library checks it of a single row, too
            fits = stride >= demanded.least
        else:
            fits = demanded is None or stride == demanded or extents[axis] <= 1
        if not fits:
            return f"stride {stride} of dimension {axis}, {demanded} is demanded"
    nbytes = access.nbytes
    align = matched.pattern.kernel.align.get(operand, nbytes)
    if align > nbytes:
        memory = root(access.buffer)
        known = isinstance(memory.owner, AllocOp) or is_constant(memory)
        layout = layout_of(memref_of(access.buffer))
        start = layout[1] if layout is not None else None  # of a view, within the buffer
        start = 1 if start is None else start
        steps = [by for by, cut in zip(moves, piece.cuts, strict=True) if cut.count > 1]
        if not known or any(step * nbytes % align for step in (start + offset, *steps)):
            return f"an alignment of {align} bytes is demanded"
    return None


def _copied(
    matched: Matched,
    piece: Piece,
    operand: str,
    given: Mapping[str, int],
    wanted: Sequence[KnownDemand],
    extents: Sequence[int],
    reason: str,
) -> OperandPlan | str:
    """The operand in a buffer of its own, with the strides that are demanded."""
    element = matched.pattern.elements[operand][0]
    access = matched.access_of(element)
    view = view_of(matched.nest, access)
    nbytes = access.nbytes
    align = matched.pattern.kernel.align.get(operand, nbytes)
    layout = dense_layout(extents, wanted, math.lcm(align, nbytes) // nbytes)
    if view is None or layout is None or align > WORKSPACE_ALIGNMENT_BYTES:
        return f"{operand} cannot be copied ({reason}): no buffer of ours has that layout"
    loops = tuple(
        axis
        for axis, cut in enumerate(piece.cuts)
        if cut.count > 1 and any(form.coefficients[axis] for form in view.forms)
    )
    counts = tuple(piece.cuts[axis].count for axis in loops)
    forms = _forms(piece, element, given, view, loops, layout)
    if forms is None:
        return f"{operand} cannot be copied ({reason}): {element_text(element)} overlaps itself"
    copy = Copy(view, loops, counts, layout, forms)
    moves = [0] * len(piece.cuts)
    step = layout.elements
    for axis, count in zip(reversed(loops), reversed(counts), strict=True):
        moves[axis] = step
        step *= count
    return OperandPlan(access, layout.strides, 0, tuple(moves), copy, reason)


def _forms(
    piece: Piece,
    element: Element,
    given: Mapping[str, int],
    view: View,
    loops: Sequence[int],
    layout: PackedLayout,
) -> tuple[Linear, ...] | None:
    """The view's index over the copy's dimensions; None where a dimension is a sum that differs there."""
    count = len(loops) + len(layout.order)
    place = {axis: len(loops) + at for at, axis in enumerate(layout.order) if axis is not None}
    terms = [
        (dimension, term)
        for dimension, index in enumerate(element.indices)
        for term in index
        if term.iterator is not None
    ]
    if len({term.iterator for _, term in terms}) < len(terms):
        return None
    found: list[Linear] = []
    for form in view.forms:
        steps = _steps(terms, moves_of(piece, form.coefficients), given)
        if steps is None:
            return None
        coefficients = [0] * count
        for at, axis in enumerate(loops):
            coefficients[at] = form.coefficients[axis] * piece.cuts[axis].block
        for dimension, step in steps.items():
            if dimension in place:
                coefficients[place[dimension]] = step
        pairs = zip(form.coefficients, piece.cuts, strict=True)
        start = form.constant + sum(by * cut.start for by, cut in pairs)
        along = [steps.get(dimension, 0) for dimension in range(len(element.indices))]
        found.append(Linear(tuple(coefficients), start - _constant(element, along, given)))
    return tuple(found)


def _steps(
    terms: Sequence[tuple[int, Term]], moves: Mapping[str, int], given: Mapping[str, int]
) -> dict[int, int] | None:
    """Dimension of the operand -> what an index of the view moves by along it; None where that differs."""
    steps: dict[int, int] = {}
    for dimension, term in terms:
        if term.iterator is None or term.iterator not in moves:
            continue
        factor = math.prod(_value(each, given) for each in term.factors)
        move = moves[term.iterator]
        if factor == 0 or move % factor:
            return None
        if steps.setdefault(dimension, move // factor) != move // factor:
            return None
    return steps
