"""`split`: one loop becomes two, of which the inner one has as many points as is said.

    n = 128, split n 64         -->  no = 2, ni = 64      n is no * 64 + ni
    n = 100, split n 64         -->  the same, and points behind the last one read and write nothing
    n = 0 to %e, split n 64     -->  no = 0 to %e step 64, ni = 0 to min(64, %e - no): of a loop

Nothing is reordered: sums keep their order, also those along the iterator itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.rewriter import InsertPoint

from inarch.core.errors import UsageError
from inarch.dialects.loop.access import IteratorAttr
from inarch.dialects.loop.control import ForOp, empty_loop
from inarch.dialects.loop.nest import NestOp
from inarch.ir.edit import erase
from inarch.passes.loop.nests.transform import replace_iterators
from inarch.passes.schedule.language.computed import Indices
from inarch.passes.schedule.language.guard import guard_behind
from inarch.passes.schedule.language.keeping import keep
from inarch.passes.schedule.language.places import (
    Loops,
    error_of,
    iterator_of,
    loop_name,
    loop_of,
    loops_around,
    loops_within,
)
from inarch.passes.schedule.language.step import Action, Step, StepPass
from inarch.passes.schedule.language.words import Words


def split(op: Loops, iterator: str, factor: int, names: tuple[str, str] | None = None) -> Loops:
    """Splits `iterator` of a nest, or a loop, by `factor`; returns what took the place of `op`.

    The two are called `names`, or else as it, with `o` and `i` behind. Where the factor does not divide the
    points, a parallel iterator gets a guard: its outputs clip, and its reads are padded.
    Raises UsageError for a name or a number, InarchError for a sum or an output that takes no guard.
    """
    if factor < 1:
        raise UsageError(f"expected a factor from 1 on, found {factor}")
    outer, inner = names or (f"{iterator}o", f"{iterator}i")
    loop = loop_of(op, iterator)
    if loop is not None:
        return _split_loop(op, loop, factor, (outer, inner))
    assert isinstance(op, NestOp)
    position = iterator_of(op, iterator)
    taken = [each for each in op.names if each != iterator]
    for name in (outer, inner):
        if name in taken:
            raise UsageError(f"expected a name that no iterator has, found '{name}'")
        taken.append(name)
    old = op.iterators.data[position]
    if old.mode.data != "serial":
        message = f"expected a serial iterator, found '{iterator}' with the mode {old.mode.data}"
        raise error_of(op, f"{message}; split it first")
    if old.is_scan:
        raise error_of(
            op, f"expected a loop in parts, found the scan {iterator}, which is one chain"
        )
    size, kind = old.size.data, old.kind.data
    iterations = -(-size // factor)
    if iterations * factor != size:
        guard_behind(op, position, factor)
    _split_nest(op, position, (outer, iterations), (inner, factor), kind)
    keep(op)
    return op


def _split_nest(
    nest: NestOp, position: int, outer: tuple[str, int], inner: tuple[str, int], kind: str
) -> None:
    iterators = list(nest.iterators)
    iterators[position : position + 1] = [IteratorAttr.get(*each, kind) for each in (outer, inner)]
    places = [AffineExpr.dimension(i + (i > position)) for i in range(len(iterators) - 1)]
    places[position] = AffineExpr.dimension(position) * inner[1] + AffineExpr.dimension(
        position + 1
    )
    replace_iterators(nest, iterators, places)


def _split_loop(op: Loops, loop: ForOp, factor: int, names: tuple[str, str]) -> Loops:
    """A loop in a loop with the same iterations in order; a condition leaves out those past the end."""
    if loop.mode.data == "unroll":
        raise error_of(loop, f"expected a loop of iterations, found '{loop_name(loop)}' unrolled")
    known = [*loops_around(loop), *(each for each in loops_within(loop) if each is not loop)]
    for name in names:
        if name in {loop_name(each) for each in known}:
            raise UsageError(f"expected a name that no loop has, found '{name}'")
    numbers = loop.counted()
    if numbers is None:
        outer = _split_computed(loop, factor, names)
        return outer if op is loop else op
    iterations = -(-len(numbers) // factor)
    outer = empty_loop(0, iterations, 1, loop.mode.data)
    inner = empty_loop(0, factor)
    outer.induction.name_hint, inner.induction.name_hint = names
    before = Indices.before(loop, loop)
    around, body = before.within(outer), before.within(inner)
    start = _times(body, outer.induction, factor * numbers.step)
    step = _times(body, inner.induction, numbers.step)
    index = body.put(arith.AddiOp(start, step))
    if numbers.start:
        index = body.put(arith.AddiOp(index, body.value(numbers.start)))
    index.name_hint = loop_name(loop)
    loop.induction.replace_all_uses_with(index)
    ops = [each for each in loop.body.block.ops if each is not loop.body.block.last_op]
    inside = body.builder
    if iterations * factor != len(numbers):
        within = body.put(arith.CmpiOp(index, body.value(numbers.stop), "slt"))
        within.name_hint = "inside"
        condition = scf.IfOp(within, [], [_yield(loop, scf.YieldOp())])
        body.add(condition)
        end = condition.true_region.block.last_op
        assert end is not None
        inside = Builder(InsertPoint.before(end))
    for each in ops:
        each.detach()
        inside.insert(each)
    body.end()
    around.add(inner)
    around.end()
    before.add(outer)
    erase(loop)
    keep(outer)
    return outer if op is loop else op


def _split_computed(loop: ForOp, factor: int, names: tuple[str, str]) -> ForOp:
    """The outer one counts iterations, by the factor; the inner one ends where they do."""
    before = Indices.before(loop, loop)
    iterations = before.iterations()
    outer = empty_loop(0, iterations, factor, loop.mode.data)
    around = before.within(outer)
    left = around.put(arith.SubiOp(iterations, outer.induction))
    inner = empty_loop(0, around.put(arith.MinSIOp(left, around.value(factor))))
    outer.induction.name_hint, inner.induction.name_hint = names
    inside = before.within(inner)
    iteration = inside.put(arith.AddiOp(outer.induction, inner.induction))
    index = inside.index(iteration)
    index.name_hint = loop_name(loop)
    loop.induction.replace_all_uses_with(index)
    for each in list(loop.body.block.ops):
        each.detach()
        inside.builder.insert(each)
    around.add(inner)
    around.end()
    before.add(outer)
    erase(loop)
    keep(outer)
    return outer


def _times(at: Indices, value: SSAValue, factor: int) -> SSAValue:
    return value if factor == 1 else at.put(arith.MuliOp(value, at.value(factor)))


def _yield(loop: ForOp, op: Operation) -> Operation:
    op.location = loop.location
    return op


def _read(words: Words) -> Action:
    iterator, factor = words.name("an iterator"), words.number("a factor")
    names = None
    if words.has("->"):
        names = words.name("a name of the outer loop"), words.name("a name of the inner loop")
    return lambda _, op: split(op, iterator, factor, names)


STEP = Step("split ITERATOR FACTOR [-> OUTER INNER]", _read)


@dataclass(frozen=True)
class SplitPass(StepPass):
    """Splits an iterator of a nest, or a loop, that is named.

    `nest`: a location, as LOCATION or LOCATION[NUMBER], or @FUNCTION[NUMBER]. `iterator`: which one of it.
    `factor`: how many points the inner loop has. `names`: what the two are called; else as before, with `o`
    and `i` behind.
    """

    iterator: str
    factor: int
    names: tuple[str, ...] = ()

    def run(self, module: ModuleOp, op: Loops) -> Loops:
        if len(self.names) not in (0, 2):
            raise UsageError(f"names: expected two, found {len(self.names)}")
        names = (self.names[0], self.names[1]) if self.names else None
        return split(op, self.iterator, self.factor, names)
