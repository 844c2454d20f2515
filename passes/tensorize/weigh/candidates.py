"""From a nest and a kernel to candidates: every way to call the kernel for the nest, the cheapest first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from inarch.dialects.loop.access import number_of
from inarch.meaning import Number
from inarch.microkernel import Init
from inarch.passes.tensorize.report import Basis
from inarch.passes.tensorize.unify.strided import StridedAccess, StridedNest
from inarch.passes.tensorize.unify.views import view_of
from inarch.passes.tensorize.weigh.family import Family
from inarch.passes.tensorize.weigh.operands import (
    CallPlan,
    Matched,
    OperandPlan,
    moves_of,
    plan_call,
)
from inarch.passes.tensorize.weigh.tiles import Cutter, Params, Piece
from inarch.passes.tensorize.weigh.traffic import CallLoop, Stream
from inarch.passes.tensorize.write.finish import Finish, absorbed_finish


@dataclass(frozen=True)
class Call:
    """One `kernel.call`: what it works on, its loops, outermost first, and whether it does `finish`."""

    plan: CallPlan
    loops: tuple[CallLoop, ...]
    absorbs: bool

    @property
    def piece(self) -> Piece:
        """The part of the nest."""
        return self.plan.piece


Group = tuple[Call, ...]
"""The calls that add to the same elements: begun once before the first, finished once after the last."""


@dataclass(frozen=True)
class Candidate:
    """A way to do a nest by calls of one kernel."""

    matched: Matched
    family: Family
    params: Params
    groups: tuple[Group, ...]
    init: Init
    fills: bool
    """Whether the output is filled with the nest's init before the calls."""
    finish: Finish | None
    """In the kernel, for the calls that absorb it."""
    is_finished: bool
    """Whether nothing of the nest's `finish` is left to a nest after the calls that do not absorb it."""
    cost: float
    """Cycles, with everything around the calls."""
    order: tuple[int, ...]
    """The axes of loops, outermost first."""

    @property
    def calls(self) -> tuple[Call, ...]:
        """All of them, in the order in which they run."""
        return tuple(call for group in self.groups for call in group)

    def output_of(self, group: Group) -> OperandPlan:
        """What the calls of a group write: one plan for all of them, as `plan_nest` has seen to."""
        return group[0].plan.operands[self.matched.pattern.output]

    @property
    def main(self) -> Piece:
        """The part of the nest of which the calls do most."""
        return max((call.piece for call in self.calls), key=_points)

    @property
    def around(self) -> float:
        """Cycles around the calls: memory, copies, loops."""
        own = sum(kernel_cycles(self.family, call.piece, self.init) for call in self.calls)
        return max(0.0, self.cost - own)

    @property
    def basis(self) -> Basis:
        """How the cycles of the main calls are known."""
        return self.family.basis(self.main.params, sizes_of(self.family, self.main))

    @property
    def scattered(self) -> int:
        """How many operands do not lie in order along their last dimension: decides between equals."""
        operands = self.calls[0].plan.operands.values()
        return sum(operand.strides[-1:] != (1,) for operand in operands)

    @property
    def idle(self) -> int:
        """How many of the kernel's iterators have one point, or share an axis: with fewer, it fits better."""
        sizes = self.calls[0].piece.sizes
        shared = sum(len(names) for names in self.matched.assignment.taken if len(names) > 1)
        return shared + sum(sizes.get(each.name, 1) == 1 for each in self.family.pattern.iterators)


@dataclass(frozen=True)
class Start:
    """How the accumulation begins, which decides the variant."""

    init: Init
    fills: bool
    is_split: bool
    """Whether several calls add to one element; then none of them begins or finishes it."""


def _points(piece: Piece) -> int:
    return math.prod([cut.count * cut.block for cut in piece.cuts])


def kernel_cycles(family: Family, piece: Piece, init: Init) -> float:
    """The cycles of a piece's calls."""
    cycles = family.cycles(piece.params, init, sizes_of(family, piece))
    return family.costs.calls(piece.calls, cycles)


def sizes_of(family: Family, piece: Piece) -> dict[str, int]:
    """The sizes that each call of a piece gives."""
    return {size: piece.sizes.get(name, 1) for size, name in family.pattern.given}


def is_split(nest: StridedNest, pieces: Sequence[Piece]) -> bool:
    """Whether several calls add to one element of a nest that is cut into `pieces`."""
    for number, axis in enumerate(nest.axes):
        if axis.is_reduction:
            cuts = {id(piece.cuts[number]): piece.cuts[number].count for piece in pieces}
            if sum(cuts.values()) > 1:
                return True
    return False


def start_of(matched: Matched, *, split: bool) -> Start | str:
    """The init variant, where the nest's reductions are split or not; a reason where the kernel has none."""
    nest, pattern = matched.nest, matched.pattern
    init, inits = number_of(nest.nest.writes.data[0].init), pattern.kernel.inits
    own = pattern.normal.init
    if pattern.normal.operator is None:
        return Start(inits[0], fills=False, is_split=False)
    if split and pattern.normal.finish is not None:
        return "the kernel finishes what several calls would add up"
    if own is not None:
        if split:
            return "the kernel begins anew at each call, where several calls would add up"
        same = isinstance(own, Number) and init is not None and str(float(init)) == str(own.value)
        return (
            Start("accumulate", fills=False, is_split=False)
            if same
            else (
                f"the nest begins with {'what the output holds' if init is None else init}, "
                "the kernel does not"
            )
        )
    zero = init is not None and str(float(init)) == "0.0"
    if zero and "zero" in inits and not split:
        return Start("zero", fills=False, is_split=False)
    if "accumulate" in inits:
        return Start("accumulate", fills=init is not None, is_split=split)
    return 'the kernel has no variant that adds to what the output holds; it would need init "accumulate"'


def loops_of(nest: StridedNest, piece: Piece) -> list[CallLoop]:
    """The loops around the calls of a piece, in the order of the axes."""
    return [
        CallLoop(number, cut.count, axis.is_reduction)
        for number, (axis, cut) in enumerate(zip(nest.axes, piece.cuts, strict=True))
        if cut.count > 1
    ]


def streams_of(matched: Matched) -> list[Stream]:
    """The operands, those of an epilogue among them, as memory sees them."""
    nest, pattern = matched.nest, matched.pattern
    bound = set(matched.binding.values())
    found = [
        stream_of(
            nest,
            access,
            is_demanded=operand != pattern.output and operand in pattern.kernel.layout,
        )
        for operand, elements in pattern.elements.items()
        for access in [matched.access_of(elements[0])]
    ]
    found = [
        replace(stream, is_written=operand == pattern.output)
        for operand, stream in zip(pattern.elements, found, strict=True)
    ]
    late = [access for at, access in enumerate(nest.reads) if at not in bound]
    return [
        *found,
        *(replace(stream_of(nest, access, is_demanded=False), is_late=True) for access in late),
    ]


def copied_inputs(
    streams: Sequence[Stream], matched: Matched, family: Family, piece: Piece
) -> tuple[int, ...]:
    """Of the operands that `streams` are, those that the calls of `piece` need a copy of: other strides."""
    pattern, sizes = matched.pattern, piece.sizes
    demanded = family.demands(piece.params)
    found: list[int] = []
    for at, (operand, elements) in enumerate(pattern.elements.items()):
        if (
            streams[at].is_packed
            or operand == pattern.output
            or operand not in pattern.kernel.layout
        ):
            continue
        moves = moves_of(piece, streams[at].strides)
        for index, wanted in zip(elements[0].indices, demanded[operand], strict=True):
            if isinstance(wanted, int) and len(index) == 1 and not index[0].factors:
                iterator = index[0].iterator or ""
                if sizes.get(iterator, 1) > 1 and moves.get(iterator, wanted) != wanted:
                    found.append(at)
                    break
    return tuple(found)


def stream_of(nest: StridedNest, access: StridedAccess, *, is_demanded: bool) -> Stream:
    """An operand as memory sees it; `is_demanded`: a kernel says how it is laid out."""
    view = view_of(nest, access)
    rows = [form.coefficients for form in view.forms] if view is not None else []
    if view is None or view.is_flat:  # axis by axis: no two of them run over the same elements
        rows = [
            tuple(stride if at == axis else 0 for at in range(len(nest.axes)))
            for axis, stride in enumerate(access.strides)
        ]
    dimensions = tuple(
        tuple((axis, by) for axis, by in enumerate(row) if by) for row in rows if any(row)
    )
    known = access.is_constant
    return Stream(
        access.strides,
        dimensions,
        access.nbytes,
        is_packed=is_demanded and known,
        is_late=False,
        is_constant=known,
    )


def plan_nest(
    matched: Matched,
    family: Family,
    params: Params,
    pieces: Sequence[Piece],
    start: Start,
    order: Sequence[int],
    cycles: float,
) -> Candidate | str:
    """The candidate with its operands; a reason where one does not fit.

    `order` are the axes of loops, outermost first; `cycles` is the cost without copies.
    """
    nest, pattern = matched.nest, matched.pattern
    finish = absorbed_finish(matched, params, family.demands(params))
    absorbed = finish if isinstance(finish, Finish) and not start.is_split else None
    is_finished = nest.nest.finish is None or pattern.normal.finish is not None
    calls: list[Call] = []
    for piece in pieces:
        plan = plan_call(matched, piece, family.demands(piece.params), family.machine)
        if isinstance(plan, str):
            return plan
        is_direct = plan.operands[pattern.output].copy is None
        absorbs = absorbed is not None and not piece.overruns and is_direct
        if not is_direct or not (absorbs or is_finished):
            needed = [nest.write, *(() if is_finished else nest.reads)]
            if any(view_of(nest, access) is None for access in needed):
                return "a strided buffer with collapsed iterators has no place for a nest after it"
        loops = sorted(loops_of(nest, piece), key=lambda loop: order.index(loop.axis))
        calls.append(Call(plan, tuple(loops), absorbs))
    is_direct = {call.plan.operands[pattern.output].copy is None for call in calls}
    repeats = any(piece.overlaps for piece in pieces)
    if repeats and len(is_direct) > 1 and absorbed is None and not is_finished:
        return "what two tiles share would be finished twice"
    groups = _groups(nest, calls)
    for group in groups:
        outputs = [_place(call.plan.operands[pattern.output]) for call in group]
        if any(output != outputs[0] for output in outputs):
            return "parts of a reduction would need the output in two layouts at once"
    candidate = Candidate(
        matched,
        family,
        params,
        groups,
        start.init,
        start.fills,
        absorbed,
        is_finished,
        0.0,
        tuple(order),
    )
    return replace(candidate, cost=cycles + family.costs.copy(_moved_bytes(candidate)))


def _groups(nest: StridedNest, calls: Sequence[Call]) -> tuple[Group, ...]:
    """The calls by the parallel points that they do: those of one group are parts of one reduction."""
    found: dict[tuple[int, ...], list[Call]] = {}
    for call in calls:
        pairs = zip(nest.axes, call.piece.cuts, strict=True)
        starts = tuple(cut.start for axis, cut in pairs if not axis.is_reduction)
        found.setdefault(starts, []).append(call)
    return tuple(map(tuple, found.values()))


def _place(output: OperandPlan) -> object:
    """Equal where two calls write the same elements of the same memory."""
    copied = copy_key(output) if output.copy is not None else None
    return copied, output.strides, output.offset, output.moves


def cutter_of(matched: Matched, family: Family) -> Cutter:
    """What cuts the nest for members of the family."""
    pattern, nest = family.pattern, matched.nest
    repeats = may_repeat(matched)
    return Cutter(pattern, family.is_member, family.allowed, nest, matched.assignment, repeats)


def may_repeat(matched: Matched) -> bool:
    """Whether a whole reduction may be done twice: it begins anew; no nest here reads what it writes."""
    normal = matched.pattern.normal
    start = start_of(matched, split=False)
    if isinstance(start, str):
        return False
    return normal.operator is None or normal.init is not None or start.init == "zero"


def planned_again(
    matched: Matched,
    family: Family,
    params: Params,
    pieces: Sequence[Piece],
    order: Sequence[int],
    cost: float,
) -> Candidate | None:
    """The candidate of which all this is known; None where the nest's buffers make it impossible."""
    start = start_of(matched, split=is_split(matched.nest, pieces))
    assert isinstance(start, Start), "buffers have no part in it"
    planned = plan_nest(matched, family, params, pieces, start, order, 0.0)
    return replace(planned, cost=cost) if isinstance(planned, Candidate) else None


def again(candidate: Candidate, nest: StridedNest) -> Candidate | None:
    """The same for a nest that differs from the candidate's in its buffers, and where in them it is.

    None where that makes it impossible.
    """
    matched = replace(candidate.matched, nest=nest)
    pieces = [call.piece for call in candidate.calls]
    params, order = candidate.params, candidate.order
    return planned_again(matched, candidate.family, params, pieces, order, candidate.cost)


def _moved_bytes(candidate: Candidate) -> float:
    """Bytes read and written by copies, fills and nests after the calls; of constants none."""
    nest, output = candidate.matched.nest, candidate.matched.pattern.output
    total, line = 0.0, candidate.family.machine.line_bytes
    copied: set[object] = set()
    for call in candidate.calls:
        for name, operand in call.plan.operands.items():
            if name == output or operand.copy is None or operand.access.is_constant:
                continue
            key = copy_key(operand)
            if key not in copied:
                copied.add(key)
                total += 2 * _copied_bytes(operand, line, candidate) / operand.access.iterations
    for group in candidate.groups:
        written, first = candidate.output_of(group), group[0]
        if written.copy is not None:
            moves = 2 + candidate.fills
            total += moves * _copied_bytes(written, line, candidate)
            continue
        cuts = zip(first.piece.cuts, nest.write.strides, strict=True)
        points = math.prod(cut.count * cut.block for cut, stride in cuts if stride)
        finishes = not (first.absorbs or candidate.is_finished)
        total += points * nest.write.nbytes * (candidate.fills + 2 * finishes)
    return total


def _copied_bytes(operand: OperandPlan, line: int, candidate: Candidate) -> int:
    """Bytes of a copy: a short row takes as long as one of a line.

    What a kernel without a cost has copied is whole operands, transposed mostly: an element takes a line.
    """
    assert operand.copy is not None
    elements = math.prod(operand.copy.shape)
    if not candidate.family.is_stated:
        return elements * line
    return elements // operand.copy.row * max(operand.copy.row * operand.access.nbytes, line)


def copy_key(operand: OperandPlan) -> object:
    """Equal for two copies that hold the same elements."""
    copy = operand.copy
    assert copy is not None
    return operand.access.buffer, copy.view.is_flat, copy.forms, copy.shape
