"""`interchange`: other loops outermost. Those that are named take each other's places, in the order named.

    m, n, k; interchange k m    -->    k, n, m

Parallel iterators go anywhere. Reductions stay in their order among each other, so that no sum is rounded
otherwise, unless the step says `reassociate`. An explicit loop goes inside of another one where its own
iterations, and so all pairs of both, are independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from inarch.core.errors import UsageError, unknown
from inarch.dialects.loop.control import ForOp
from inarch.dialects.loop.dependence.check import carried_by
from inarch.dialects.loop.memory import memref_of
from inarch.dialects.loop.nest import NestOp, YieldOp
from inarch.ir.edit import insert_before
from inarch.ir.names import symbols_of
from inarch.ir.types import dtype_of
from inarch.passes.loop.nests.arg_reduce import match_arg_reduction
from inarch.passes.loop.nests.transform import reorder
from inarch.passes.schedule.language.keeping import keep
from inarch.passes.schedule.language.places import (
    Loops,
    error_of,
    iterator_of,
    loop_name,
)
from inarch.passes.schedule.language.step import Action, Step, StepPass
from inarch.passes.schedule.language.words import Words

_EXACT = (arith.MaximumfOp, arith.MinimumfOp)
"""Of floats: no order of them rounds."""


def interchange(
    op: Loops,
    order: Sequence[str],
    *,
    reassociate: bool = False,
    symbols: dict[str, Operation] | None = None,
) -> Loops:
    """Puts the iterators `order` of a nest, or loops that stand in each other, in that order.

    `reassociate`: sums may be in another order. `symbols` are those of the module, for what loops call.
    Raises UsageError for a name, InarchError with the dependence where it is not legal.
    """
    if len(set(order)) < len(order):
        raise UsageError(f"expected each iterator once, found {' '.join(order)}")
    if isinstance(op, ForOp):
        return _interchange_loops(op, order, symbols or {})
    positions = [iterator_of(op, name) for name in order]
    wanted = list(range(len(op.iterators)))
    for place, position in zip(sorted(positions), positions, strict=True):
        wanted[place] = position
    if not reassociate:
        _check_sums(op, wanted)
    _check_shared(op, wanted)
    reorder(op, wanted)
    keep(op)
    return op


def _check_sums(nest: NestOp, wanted: Sequence[int]) -> None:
    iterators = nest.iterators.data
    found = [i for i in wanted if iterators[i].is_reduction and iterators[i].size.data > 1]
    for first, second in pairwise(found):
        if first < second or _is_exact(nest):
            continue
        outer, inner = (iterators[i].label.data for i in (second, first))
        raise error_of(
            nest,
            f"expected the sum over {outer}, {inner} in its order, in which ({outer} = 0, {inner} = 1) "
            "adds to "
            f"its accumulator before ({outer} = 1, {inner} = 0), found {inner} outside of {outer}; write "
            "'reassociate' where another rounding is wanted",
        )


def _is_exact(nest: NestOp) -> bool:
    """Whether its sums are the same in every order, bit by bit."""
    if match_arg_reduction(nest) is not None:
        return True
    return all(
        not dtype_of(memref_of(out).element_type).is_float or isinstance(value.owner, _EXACT)
        for out, value in zip(nest.outs, nest.yielded(nest.body), strict=True)
    )


def _check_shared(nest: NestOp, wanted: Sequence[int]) -> None:
    iterators = [nest.iterators.data[i] for i in wanted]
    carried = next((each for each in iterators if each.is_reduction or each.is_scan), None)
    for each in iterators[iterators.index(carried) :] if carried is not None else []:
        if each.is_shared:
            assert carried is not None
            raise error_of(
                nest,
                f"expected {each.label.data}, whose iterations threads share, outside of "
                f"{carried.label.data}, whose "
                "iterations one thread adds up, found it inside; interchange before parallelize",
            )


def _interchange_loops(op: ForOp, order: Sequence[str], symbols: dict[str, Operation]) -> ForOp:
    """Bubbles: of two neighbours at a time, each of which goes inside where it carries no dependence."""
    _perfect(op)
    chain = _chain(op)
    names = [loop_name(each) for each in chain]
    if len(set(names)) < len(names):
        raise UsageError(f"expected loops of different names, found {', '.join(names)}")
    for name in order:
        if name not in names:
            raise unknown("loop", name, names, within="those that stand in each other alone")
    wanted = list(names)
    places = sorted(names.index(name) for name in order)
    for place, name in zip(places, order, strict=True):
        wanted[place] = name
    for last in range(len(chain) - 1, 0, -1):
        for at in range(last):
            if wanted.index(names[at]) <= wanted.index(names[at + 1]):
                continue
            if _depends(chain[at + 1], chain[at]):
                raise error_of(
                    op,
                    f"expected bounds of {names[at + 1]} that do not depend on {names[at]}, which is to go "
                    "inside, found computed ones that do",
                )
            found = carried_by(chain[at], symbols)
            if found is not None:
                raise error_of(
                    op,
                    f"expected independent iterations of {names[at]}, which is to go inside of "
                    f"{names[at + 1]}, "
                    f"found {found}",
                )
            _swap(chain[at], chain[at + 1])
            names[at], names[at + 1] = names[at + 1], names[at]
    keep(op)
    return op


def _chain(loop: ForOp) -> list[ForOp]:
    """The loop, and those that are alone in it, but for what their bounds are computed by."""
    found = [loop]
    while (inner := _inner(found[-1])) is not None:
        found.append(inner)
    return found


def _inner(loop: ForOp) -> ForOp | None:
    """The loop that is all in another one, beside arithmetic."""
    ops = [each for each in loop.body.block.ops if not isinstance(each, YieldOp)]
    last = ops[-1] if ops else None
    is_alone = all(_is_pure(each) for each in ops[:-1])
    return last if is_alone and isinstance(last, ForOp) else None


def _between(loop: ForOp) -> list[Operation]:
    """What stands in a loop before the one that is in it."""
    return list(loop.body.block.ops)[:-2]


def _depends(inner: ForOp, loop: ForOp) -> bool:
    """Whether bounds of the loop in another one are its index, or computed of it."""
    return loop.induction in inner.bounds or bool(_between(loop))


def _is_pure(op: Operation) -> bool:
    return op.name.startswith("arith.")


def _perfect(loop: ForOp) -> None:
    """Moves arithmetic out of a loop where it is the same in each iteration, else in front of what uses it.

    What stays between two loops is what bounds of the inner one are computed by, of the outer one's index.
    """
    chain = _chain(loop)
    for outer in reversed(chain[:-1]):
        for each in _between(outer):
            if all(_is_outside(value, outer) for value in each.operands):
                each.detach()
                insert_before(outer, each)
    for outer, inner in pairwise(chain):
        for each in reversed(_between(outer)):
            users = [use.operation for result in each.results for use in result.uses]
            if all(user is not inner and user.parent is not outer.body.block for user in users):
                each.detach()
                Builder(InsertPoint.at_start(inner.body.block)).insert(each)


def _is_outside(value: SSAValue, loop: ForOp) -> bool:
    block = value.owner if isinstance(value.owner, Block) else value.owner.parent
    around = block.parent_op() if block is not None else None
    while around is not None:
        if around is loop:
            return False
        around = around.parent_op()
    return True


def _swap(outer: ForOp, inner: ForOp) -> None:
    """Exchanges what two loops count: bounds, modes, and the uses of their indices."""
    one = outer.lower, outer.upper, outer.step, outer.mode
    other = inner.lower, inner.upper, inner.step, inner.mode
    # Values that are defined before both.
    outer.operands, inner.operands = list(inner.operands), list(outer.operands)
    outer.lower, outer.upper, outer.step, outer.mode = other
    inner.lower, inner.upper, inner.step, inner.mode = one
    a, b = outer.induction, inner.induction
    uses = list(a.uses), list(b.uses)
    for use in uses[0]:
        use.operation.operands[use.index] = b
    for use in uses[1]:
        use.operation.operands[use.index] = a
    a.name_hint, b.name_hint = b.name_hint, a.name_hint


def _read(words: Words) -> Action:
    reassociate = words.has("reassociate")
    order = words.names("an iterator")
    return lambda module, op: interchange(
        op, order, reassociate=reassociate, symbols=symbols_of(module)
    )


STEP = Step("interchange [reassociate] ITERATOR ITERATOR [...]", _read)


@dataclass(frozen=True)
class InterchangePass(StepPass):
    """Changes the order of the iterators of a nest, or of loops in each other, that are named.

    `nest`: as for `split`. `order`: the iterators, outermost first; others stay where they are.
    `reassociate`: sums may be in another order.
    """

    order: tuple[str, ...]
    reassociate: bool = False

    def run(self, module: ModuleOp, op: Loops) -> Loops:
        symbols = symbols_of(module)
        return interchange(op, self.order, reassociate=self.reassociate, symbols=symbols)
