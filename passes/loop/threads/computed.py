"""A loop of computed bounds whose iterations threads share: as parts whose number is known.

    for i = a to %e step s:  body      -->      for p = 0 to P parallel:
                                                  for r = 0 to ceil(T / (P B)):
                                                    for k = 0 to min(B, T - (r P + p) B):
                                                      body at i = a + ((r P + p) B + k) s

T is the number of iterations. Parts are of blocks of B neighbouring iterations, dealt in rounds: all threads
have the same to do, however few iterations there are of those that there may be.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.builder import Builder
from xdsl.dialects import arith, scf
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from inarch.dialects.loop.control import ForOp, empty_loop
from inarch.dialects.loop.dependence.check import carried_by
from inarch.dialects.loop.nest import YieldOp
from inarch.ir.index.span import number_of_index, span_of
from inarch.passes.loop.threads.numbers import (
    can_be_handed_on,
    forget_behind,
    loaded,
    numbers_used,
    stored,
)
from inarch.passes.schedule.language.computed import Indices


def begins_at_a_number(loop: ForOp) -> bool:
    """Whether its indices are known but for their number."""
    lower, _, step = map(number_of_index, loop.bounds)
    return lower is not None and step is not None


def may_be_parted(loop: ForOp) -> bool:
    """Whether it begins at a number, and what it uses from outside can be handed on."""
    return begins_at_a_number(loop) and can_be_handed_on(loop)


def part(loop: ForOp, parts: int, block: int, least: int, symbols: Mapping[str, Operation]) -> bool:
    """Replaces a loop by `parts` parts of blocks of so many iterations, which threads share.

    Where there are less than `least` iterations, it runs as it is. False, and nothing is changed, where the
    parts cannot be shown to be independent.
    """
    mark = loop.prev_op
    before = Indices.before(loop, loop)
    iterations = before.iterations()
    is_enough = span_of(iterations)[0] >= least
    room, at = before, None
    if not is_enough:
        enough = before.put(arith.CmpiOp(iterations, before.value(least), "sge"))
        at = scf.IfOp(enough, [], [scf.YieldOp()], [scf.YieldOp()])
        for region in (at.true_region, at.false_region):
            last = region.block.last_op
            assert last is not None, "it has just been made"
            last.location = loop.location
        before.add(at)
        room = Indices(Builder(InsertPoint.at_start(at.true_region.block)), loop)
    shared = _write(room, loop, iterations, parts, block)
    if carried_by(shared, symbols) is not None:  # or by the numbers alone that are handed on
        forget_behind(mark, loop)
        return False
    loop.detach()
    if at is None:
        loop.erase()
    else:
        Builder(InsertPoint.at_start(at.false_region.block)).insert(loop)
    return True


def _write(at: Indices, loop: ForOp, iterations: SSAValue, parts: int, block: int) -> ForOp:
    """The loops over parts, rounds and iterations. Kernels take buffers: numbers are handed on in one."""
    numbers = [iterations, *numbers_used(loop)]
    buffer = stored(at, numbers)
    outer = _opened(at, empty_loop(0, parts, 1, "parallel"), "part")
    count, *given = loaded(outer, buffer, numbers)
    rounds = outer.put(arith.CeilDivUIOp(count, outer.value(parts * block)))
    middle = _opened(outer, empty_loop(0, rounds), "round")
    own = middle.put(arith.MuliOp(outer.origin.induction, middle.value(block)))
    whole = middle.put(arith.MuliOp(middle.origin.induction, middle.value(parts * block)))
    start = middle.put(arith.AddiOp(whole, own))
    left = middle.put(arith.SubiOp(count, start))
    end = middle.put(arith.MinSIOp(left, middle.value(block)))
    inner = _opened(middle, empty_loop(0, end), "iteration")
    body = Indices(inner.builder, loop)
    iteration = body.put(arith.AddiOp(start, inner.origin.induction))
    index = body.index(iteration)
    index.name_hint = loop.induction.name_hint
    mapper = {loop.induction: index, **dict(zip(numbers[1:], given, strict=True))}
    for op in loop.body.block.ops:
        if not isinstance(op, YieldOp):
            inner.builder.insert(op.clone(mapper))
    for each in (inner, middle, outer):
        each.end()
    return outer.origin


def _opened(at: Indices, loop: ForOp, name: str) -> Indices:
    """The inside of a loop that is written where `at` is."""
    loop.induction.name_hint = name
    at.add(loop)
    return Indices(at.within(loop).builder, loop)
