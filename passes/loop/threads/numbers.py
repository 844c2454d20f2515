"""Numbers that a shared loop uses from outside are handed on in memory: kernels take buffers and constants.

for h: for m parallel: ... x[h, m]    -->    for h: %n[0] = h; for m parallel: g = %n[0]; ... x[g, m]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.ir import Operation, SSAValue

from inarch.dialects.loop.buffer import AllocOp
from inarch.dialects.loop.control import ForOp
from inarch.dialects.loop.dependence.check import carried_by
from inarch.ir.edit import erase, insert_before
from inarch.ir.index.span import FAR, span_of
from inarch.ir.types import i64
from inarch.ir.types import memref as memref_type
from inarch.passes.loop.nests.writer import Writer


def numbers_used(loop: ForOp) -> list[SSAValue]:
    """What its body uses from outside that is neither a buffer nor a constant, each once."""
    inside: set[SSAValue] = {value for op in loop.walk() for value in op.results}
    inside.update(
        argument
        for op in loop.walk()
        for region in op.regions
        for block in region.blocks
        for argument in block.args
    )
    found = {
        value: None
        for op in loop.walk()
        if op is not loop
        for value in op.operands
        if value not in inside
        and not isinstance(value.type, MemRefType)
        and not isinstance(value.owner, arith.ConstantOp)
    }
    return [*found]


def can_be_handed_on(loop: ForOp) -> bool:
    """Whether all of them are indices, and no parallel loop is around, which shows by them that it is one."""
    numbers = numbers_used(loop)
    if not numbers:
        return True
    around = loop.parent_op()
    while around is not None:
        if isinstance(around, ForOp) and around.mode.data == "parallel":
            return False
        around = around.parent_op()
    return all(isinstance(value.type, IndexType) for value in numbers)


def stored(at: Writer, numbers: Sequence[SSAValue]) -> SSAValue:
    """A new buffer with the numbers."""
    room = AllocOp(memref_type(i64, (len(numbers),)))
    room.buffer.name_hint = "numbers"
    at.put(room)
    for place, value in enumerate(numbers):
        number = at.put(arith.IndexCastOp(value, i64))
        at.add(memref.StoreOp.get(number, room.buffer, [at.value(place)]))
    return room.buffer


def loaded(at: Writer, buffer: SSAValue, numbers: Sequence[SSAValue]) -> list[SSAValue]:
    """The numbers, with what is known of each: accesses are shown to be apart by that."""
    found: list[SSAValue] = []
    for place, value in enumerate(numbers):
        word = at.put(memref.LoadOp.get(buffer, [at.value(place)]))
        number = at.put(arith.IndexCastOp(word, IndexType()))
        low, high = span_of(value)
        if low > -FAR:
            number = at.put(arith.MaxSIOp(number, at.value(low)))
        if high < FAR:
            number = at.put(arith.MinSIOp(number, at.value(high)))
        found.append(number)
    return found


def hand_on(loop: ForOp, symbols: Mapping[str, Operation]) -> ForOp | None:
    """The loop, or what took its place: one that reads its numbers from memory.

    None, and nothing is changed, where its iterations cannot be shown to be independent then, or one is no
    index.
    """
    numbers = numbers_used(loop)
    if not numbers:
        return loop
    if not can_be_handed_on(loop):
        return None
    mark = loop.prev_op
    trial = loop.clone()
    insert_before(loop, trial)
    first = trial.body.block.first_op
    assert first is not None, "a block has an end"
    buffer = stored(Writer.before(trial, loop), numbers)
    inside = {*trial.walk()}
    uses = [(use, value) for value in numbers for use in list(value.uses)]
    given = loaded(Writer.before(first, loop), buffer, numbers)
    by = dict(zip(numbers, given, strict=True))
    for use, value in uses:
        if use.operation in inside and use.operation is not trial:
            use.operation.operands[use.index] = by[value]
    if carried_by(trial, symbols) is not None:
        forget_behind(mark, loop)
        return None
    erase(loop)
    return trial


def forget_behind(mark: Operation | None, op: Operation) -> None:
    """Takes away what stands between `mark`, or the block's begin, and an op, which uses nothing of it."""
    while (last := op.prev_op) is not None and last is not mark:
        erase(last)
