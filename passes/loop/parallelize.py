"""Which loops are parallel: one iterator of each profitable op whose iterations write different elements.

    loop.nest (i = 112, j = 3584) ...   -->   loop.nest (i = 112 parallel, j = 3584) ...

A thread does neighbouring iterations of it, and all of the other loops. Nothing is reordered, and no result
depends on how many threads there are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import ArrayAttr, IndexType, ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from inarch.core.errors import InarchError, UsageError
from inarch.dialects.kernel.call import CallOp as KernelCallOp
from inarch.dialects.kernel.definition import DefOp
from inarch.dialects.kernel.pack import PackOp
from inarch.dialects.loop.access import IteratorAttr
from inarch.dialects.loop.control import ForOp
from inarch.dialects.loop.dependence.check import carried_by
from inarch.dialects.loop.footprint import Form
from inarch.dialects.loop.indirect import iterators_of, iterators_written
from inarch.dialects.loop.keep import is_kept
from inarch.dialects.loop.memory import memref_of, nbytes
from inarch.dialects.loop.nest import NestOp
from inarch.dialects.loop.repeat import WhileOp
from inarch.dialects.loop.rounding import applied_in
from inarch.ir.functions import entry_blocks, error_at
from inarch.ir.location import location_text
from inarch.ir.names import symbols_of
from inarch.ir.passes import OptionalPass
from inarch.ir.report.facts import facts_of
from inarch.ir.report.remarks import Remarks, remarks_of
from inarch.ir.target import machine_of, target_of, threads_of
from inarch.ir.types import dtype_of
from inarch.machine.machine import Machine
from inarch.machine.work import body_cycles
from inarch.passes.loop.threads.computed import begins_at_a_number, may_be_parted, part
from inarch.passes.loop.threads.numbers import can_be_handed_on, hand_on, numbers_used
from inarch.passes.loop.threads.sharing import Sharing, SharingReport
from inarch.passes.schedule.language.step import transform
from inarch.passes.schedule.parallelize import parallelize
from inarch.passes.tuned import choose

WORTH = 4
"""Of the time that it takes to share a loop, which must be less than what half of its work takes: twice that,
as the work is estimated from below and what another thread has made comes from further away.
"""
ONE = "one thread"
SLOWER = "slower when shared, as was measured"

Forms = Sequence[Sequence[Form]]
"""Of each operand of a kernel's call, the elements that it touches."""

_NO_WORK = (arith.ConstantOp, arith.IndexCastOp, memref.SubviewOp)
"""Of what loops do to single elements, what takes no time or is a part of an address."""
_PARTS = 4
"""For each thread, of a loop whose iterations are not known: a multiple of what most programs share."""


@dataclass(frozen=True)
class ParallelizePass(OptionalPass):
    """Marks one iterator `parallel` of each nest and each call of a microkernel that has work enough.

    `threads`: for how many the iterator is chosen; 0: what the program says (`inarch.threads`), or else for
    two up to the machine's cores; 1: none is marked. `least`: cycles of work from which on an op is marked;
    without it, what is worth the time that sharing takes on the machine. `nest` and `iterator`: only that
    one, whatever it costs; `nest` is a location or @FUNCTION[NUMBER], as for `split`.
    """

    threads: int = 0
    least: int | None = None
    nest: str = ""
    iterator: str = ""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.nest or self.iterator:
            self._one(op)
            return
        if self.threads < 0:
            raise UsageError(
                f"{self.name}: threads: expected a whole number from 0 on, found {self.threads}"
            )
        machine, vector_bytes = machine_of(op), target_of(op).vector_bytes
        threads = self.threads or threads_of(op)
        counts = (threads,) if threads else _counts(machine.cores)
        if counts == (1,):
            return
        symbols = symbols_of(op)
        least = WORTH * machine.fork if self.least is None else self.least
        by = f"{self.name}{{threads={threads}}}"

        def ask(one: Operation, usual: str, others: Sequence[str]) -> str:
            return choose(ctx, op, by, [one], usual, others) if threads else usual

        sharing = _Sharing(machine, vector_bytes, counts, least, symbols, remarks_of(ctx), ask)
        for _, block in entry_blocks(op):
            for inner in list(block.ops):
                sharing.visit(inner)
        facts_of(ctx).put(SharingReport(tuple(sharing.found)))

    def _one(self, op: ModuleOp) -> None:
        if not self.nest or not self.iterator:
            raise UsageError(f"{self.name}: expected both a nest and an iterator, or none of them")
        transform(
            op,
            self.name,
            self.nest,
            lambda module, loops: parallelize(loops, self.iterator, symbols_of(module)),
        )


def _counts(cores: int) -> tuple[int, ...]:
    """2, 4, 8, ... threads, at last one for each core."""
    powers = [1 << bit for bit in range(1, cores.bit_length()) if 1 << bit < cores]
    return (*powers, max(cores, 2))


@dataclass(frozen=True)
class _Loop:
    """An iterator whose iterations threads may share."""

    axis: int
    name: str
    iterations: int
    shares: tuple[bool, ...]
    """For each operand, whether another iteration looks at another part of it."""


@dataclass(frozen=True)
class _Sharing:
    machine: Machine
    vector_bytes: int
    counts: tuple[int, ...]
    least: float
    symbols: Mapping[str, Operation]
    remarks: Remarks
    ask: Callable[[Operation, str, Sequence[str]], str]
    """What an op is shared by: the usual loop and the others, or `ONE`."""
    found: list[Sharing] = field(default_factory=list[Sharing])

    def visit(self, op: Operation) -> None:
        """Marks an iterator of `op` where that is worth it."""
        if isinstance(op, PackOp):
            nest = op.as_nest()
            self.visit(nest)
            if any(iterator.is_shared for iterator in nest.iterators):
                Rewriter.replace_op(op, nest)
            else:
                nest.drop_all_references()
            return
        if isinstance(op, ForOp):
            self._loop(op)
            return
        if isinstance(op, scf.IfOp | WhileOp):
            self._inside(op)
            return
        if not isinstance(op, NestOp | KernelCallOp):
            return
        by_hand = next((each for each in op.iterators if each.is_shared), None)
        if by_hand is None and isinstance(op, NestOp) and is_kept(op):
            return
        forms = op.elements(self._definition(op)) if isinstance(op, KernelCallOp) else ()
        touched = list(_touched(op, forms))
        work = self._work(op, forms, touched)
        us = work / self.machine.ghz / 1000
        if by_hand is not None:
            name, iterations = by_hand.label.data, by_hand.size.data
            self._tell(op, Sharing(location_text(op), us, name, iterations, ""))
            return
        if work < self.least:
            self._tell(op, Sharing(location_text(op), us, None, 1, "too little"))
            return
        loops = list(self._loops(op, forms))
        if not loops:
            self._tell(op, Sharing(location_text(op), us, None, 1, "no loop to share"))
            return
        best = min(loops, key=lambda loop: self._time(loop, work, touched))
        others = [loop.name for loop in loops if loop is not best]
        taken = self.ask(op, best.name, [*others, ONE])
        if taken == ONE:
            self._tell(op, Sharing(location_text(op), us, None, 1, SLOWER))
            return
        best = next(loop for loop in loops if loop.name == taken)
        _mark(op, best.axis)
        self._tell(op, Sharing(location_text(op), us, best.name, best.iterations, ""))

    def _loop(self, op: ForOp) -> None:
        """A loop around nests and calls: its iterations, where they are independent."""
        if len(op.spanned()) < 2 and op.mode.data != "unroll":
            self._once(op)
            return
        numbers = op.counted()
        if numbers is None:
            self._computed(op)
            return
        iterations = len(numbers)
        if op.mode.data == "parallel":
            self._by_hand(op, iterations)
            return
        if any(isinstance(e, ForOp) and e.mode.data == "parallel" for e in op.walk()):
            self._inside(op)  # its author has said which loop
            return
        if op.mode.data != "serial" or is_kept(op):
            return
        work = self._work_in(op)
        us = work / self.machine.ghz / 1000
        if work < self.least:
            self._tell(op, Sharing(location_text(op), us, None, 1, "too little"))
            return
        if (why := carried_by(op, self.symbols)) is not None:
            self._tell(op, Sharing(location_text(op), us, None, 1, why))
            self._inside(op)
            return
        if self._is_better_inside(op, work):
            self._inside(op)
            return
        shared = hand_on(op, self.symbols)
        if shared is None:
            self._inside(op)
            return
        name = shared.induction.name_hint or "i"
        if self.ask(shared, name, [ONE]) == ONE:
            self._tell(shared, Sharing(location_text(shared), us, None, 1, SLOWER))
            return
        shared.mode = StringAttr("parallel")
        self._tell(shared, Sharing(location_text(shared), us, name, iterations, ""))

    def _once(self, op: ForOp) -> None:
        """Makes a loop with at most one iteration serial, so that loops in it may be parallel."""
        if op.mode.data == "serial" and is_kept(op):
            return
        op.mode = StringAttr("serial")
        self._inside(op)

    def _by_hand(self, op: ForOp, iterations: int) -> None:
        """A loop that its author, or a schedule, has made parallel: it is shared, or an error.

        One that uses numbers of loops around it reads them from memory, or it would run in order, unsaid.
        """
        us = self._work_in(op) / self.machine.ghz / 1000
        shared = hand_on(op, self.symbols)
        if shared is None:
            raise _refused(op, _uses(op))
        name = op.induction.name_hint or "i"
        self._tell(shared, Sharing(location_text(shared), us, name, iterations, ""))

    def _is_better_inside(self, op: ForOp, work: float) -> bool:
        """Whether its inner loops, shared in each iteration, take less: of 3 iterations a thread has 2."""
        iterations = op.likely_trip_count
        inside = list(self._worth_inside(op))
        alone = together = 0.0
        for threads in self.counts:
            alone += work * math.ceil(iterations / threads) / iterations
            each = work / iterations
            for own, count in inside:
                each -= own - own * math.ceil(count / threads) / count - self.machine.fork
            together += iterations * each
        return together < alone

    def _worth_inside(self, op: ForOp) -> Iterator[tuple[float, int]]:
        """Cycles and trip count of each inner loop that may be parallel and is profitable."""
        for inner in op.body.block.ops:
            if not isinstance(inner, ForOp) or inner.mode.data != "serial" or is_kept(inner):
                continue
            own = self._work_in(inner)
            if inner.counted() is None or own < self.least or not can_be_handed_on(inner):
                continue
            if carried_by(inner, self.symbols) is None:
                yield own, inner.likely_trip_count

    def _computed(self, op: ForOp) -> None:
        """A loop of computed bounds: shared where it has as many iterations as are worth it.

        One that its author has made parallel is shared, or an error, as in `_by_hand`.
        """
        wanted = op.mode.data == "parallel"
        if is_kept(op) and not wanted:
            return
        each = max(self._work_in(op) / op.likely_trip_count, body_cycles([], 1, self.machine))
        us = each * op.likely_trip_count / self.machine.ghz / 1000
        least = 0 if wanted else math.ceil(self.least / each)
        if len(op.spanned()) < least or not may_be_parted(op):
            if wanted:
                raise _refused(op, _uses(op) if begins_at_a_number(op) else "with a computed begin")
            self._inside(op)
            return
        parts = _PARTS * self.counts[-1]
        name, where = op.induction.name_hint or "i", location_text(op)
        most = (least or len(op.spanned())) // parts  # so that no part is empty
        # Neighbours write the same line: a block takes as long as a line that comes from another core.
        block = max(
            1, min(self.machine.line_bytes, math.ceil(self.machine.far.latency / each), most)
        )
        if part(op, parts, block, least, self.symbols):
            self._tell(op, Sharing(where, us, f"{name}, computed", parts, ""))
        elif wanted:
            raise _refused(op, "whose parts are not known to write different elements")
        else:
            self._inside(op)

    def _inside(self, op: Operation) -> None:
        """The work of one iteration, or of a branch, may be worth it."""
        for region in op.regions:
            for block in region.blocks:
                for inner in list(block.ops):
                    self.visit(inner)

    def _work_in(self, op: ForOp) -> float:
        """Cycles of all iterations of what is in a loop, as of the ops alone; a branch may not be taken."""
        total = 0.0
        for inner in op.body.block.ops:
            if inner.name.startswith(("arith.", "memref.")) and not isinstance(inner, _NO_WORK):
                total += body_cycles([inner.name], 1, self.machine)
                continue
            if isinstance(inner, ForOp):
                total += self._work_in(inner)
            elif isinstance(inner, NestOp | KernelCallOp):
                forms = (
                    inner.elements(self._definition(inner))
                    if isinstance(inner, KernelCallOp)
                    else ()
                )
                total += self._work(inner, forms, list(_touched(inner, forms)))
        return total * op.likely_trip_count

    def _work(self, op: NestOp | KernelCallOp, forms: Forms, touched: Sequence[int]) -> float:
        return max(self._operations(op, forms), sum(touched) / self.machine.l2.bandwidth)

    def _tell(self, op: Operation, one: Sharing) -> None:
        self.found.append(one)
        if one.loop is not None:
            self.remarks.done(op, one.text())
        elif one.why != "too little":
            self.remarks.missed(op, one.text())

    def _time(self, loop: _Loop, work: float, touched: Sequence[int]) -> float:
        """Cycles of the thread with the most iterations, summed over the numbers of threads."""
        total = 0.0
        for threads in self.counts:
            part = math.ceil(loop.iterations / threads) / loop.iterations
            pairs = zip(touched, loop.shares, strict=True)
            own = sum(count * (part if mine else 1) for count, mine in pairs)
            total += work * part + own / self.machine.far.bandwidth
        return total

    def _operations(self, op: NestOp | KernelCallOp, forms: Forms) -> float:
        """Cycles of its operations on whole vectors, at the rate of multiply-adds."""
        lanes = self.vector_bytes // dtype_of(memref_of(op.operands[-1]).element_type).nbytes
        if isinstance(op, NestOp):
            points, functions = math.prod(op.sizes), applied_in(op.body.block)
        else:
            points = max((math.prod(form.sizes) for own in forms for form in own), default=0)
            functions = []
        each = body_cycles(functions, self.vector_bytes, self.machine)
        return points / max(1, lanes) * each

    def _definition(self, call: KernelCallOp) -> DefOp:
        found = self.symbols[call.callee.root_reference.data]
        assert isinstance(found, DefOp), "the verifier has seen to it"
        return found

    def _loops(self, op: NestOp | KernelCallOp, forms: Forms) -> Iterator[_Loop]:
        """The iterators whose iterations may be shared."""
        if isinstance(op, KernelCallOp) and self._definition(op).source is None:
            return  # a library may have threads of its own
        for axis, iterator in enumerate(op.iterators):
            if isinstance(op, NestOp) and (iterator.is_reduction or iterator.is_scan):
                return
            if iterator.is_reduction or iterator.mode.data != "serial" or iterator.size.data < 2:
                continue
            if isinstance(op, KernelCallOp) and op.written_twice(self._definition(op), axis, forms):
                continue
            shares = tuple(axis in used for used in _moving(op))
            yield _Loop(axis, iterator.label.data, iterator.size.data, shares)


def _uses(op: ForOp) -> str:
    found = numbers_used(op)
    others = [value for value in found if not isinstance(value.type, IndexType)]
    used = ", ".join(f"%{value.name_hint or '?'}" for value in others or found)
    return f"that uses {used}, which it cannot read from memory"


def _refused(op: ForOp, why: str) -> InarchError:
    name = op.induction.name_hint or "i"
    return error_at(
        op,
        f"expected a parallel loop whose iterations threads can share, found one of %{name} {why}; "
        "make it serial, or make the loop around it the parallel one",
    )


def _touched(op: NestOp | KernelCallOp, forms: Forms) -> Iterator[int]:
    """Bytes of each operand, at most: no nest takes less than their way from the second-level cache."""
    if isinstance(op, KernelCallOp):
        points = [sum(math.prod(form.sizes) for form in own) for own in forms]
    else:
        points = [math.prod(op.sizes[i] for i in used) for used in _moving(op)]
    for value, count in zip(op.operands, points, strict=True):
        kind = memref_of(value)
        yield min(nbytes(kind), count * dtype_of(kind.element_type).nbytes)


def _moving(op: NestOp | KernelCallOp) -> list[set[int]]:
    """For each operand, the iterators that its element varies with."""
    if isinstance(op, KernelCallOp):
        return [offset.data.used_dims() for offset in op.offsets]
    reads = [iterators_of(op, position) for position in range(len(op.ins))]
    return [*reads, *(iterators_written(op, position) for position in range(len(op.outs)))]


def _mark(op: NestOp | KernelCallOp, axis: int) -> None:
    iterators = list(op.iterators)
    old = iterators[axis]
    iterators[axis] = IteratorAttr.get(old.label.data, old.size.data, mode="parallel")
    op.iterators = ArrayAttr(iterators)
