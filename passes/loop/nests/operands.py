"""Making one nest of two: its operands, its scalar regions, its location."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias, cast

from xdsl.dialects.builtin import AffineMapAttr, FusedLoc, LocationAttr, NoneAttr, UnknownLoc
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr

from inarch.dialects.loop.access import ReadAttr
from inarch.dialects.loop.indirect import base_of, picks_of, renamed
from inarch.dialects.loop.memory import memref_of
from inarch.dialects.loop.nest import NestOp, YieldOp
from inarch.dialects.loop.scalar import PointOp
from inarch.ir.edit import erase
from inarch.ir.index.affine import indirect_map
from inarch.ir.index.linear import Linear, affine_map, linear_map

MAX_FUSED_LOCATIONS = 4
"""Of these many ops a fused nest names the origin; more would not fit one message."""

_Key: TypeAlias = tuple[SSAValue, tuple[Linear | int, ...], Attribute]
"""A buffer, each index (of one that is read, the operand), and the pad."""


@dataclass
class Operands:
    """The inputs of a nest of `count` iterators; equal reads of a buffer are one input."""

    count: int
    values: list[SSAValue] = field(default_factory=list[SSAValue])
    reads: list[ReadAttr] = field(default_factory=list[ReadAttr])
    hints: list[str | None] = field(default_factory=list[str | None])
    """What the printed form calls the elements."""
    _places: dict[_Key, int] = field(default_factory=dict[_Key, int])

    def add(self, value: SSAValue, read: ReadAttr, hint: str | None) -> int:
        """The position of the element of `value` at `read`."""
        place = self._places.setdefault(_key(value, read), len(self.values))
        if place == len(self.values):
            self.values.append(value)
            self.reads.append(read)
            self.hints.append(hint)
        return place

    def keep(self, nest: NestOp, position: int, known: Mapping[int, int] | None = None) -> int:
        """Operand `position` of `nest`, as it is; its indices are at `known` places, or kept as well."""
        read = nest.reads.data[position]
        if read.is_indirect:
            places = {
                n: known[n] if known and n in known else self.keep(nest, n)
                for n in picks_of(read.map.data).values()
            }
            read = ReadAttr(AffineMapAttr(renamed(read.map.data, places)), read.pad)
        return self.add(nest.ins[position], read, nest.body.block.args[position].name_hint)

    def add_moved(self, nest: NestOp, position: int, point: Sequence[Linear]) -> int:
        """Operand `position` of `nest`, whose iterators are at `point` of this one's."""
        read = nest.reads.data[position]
        moved = _moved(read, tuple(point), self.count)
        if read.is_indirect:
            exprs = list(moved.map.data.results)
            for axis, picking in picks_of(read.map.data).items():
                exprs[axis] = AffineExpr.symbol(self.add_moved(nest, picking, point))
            moved = ReadAttr(AffineMapAttr(indirect_map(self.count, exprs)), read.pad)
        return self.add(nest.ins[position], moved, nest.body.block.args[position].name_hint)

    def add_all(self, nest: NestOp, point: Sequence[Linear]) -> list[int]:
        """Every operand of `nest`, in order."""
        return [self.add_moved(nest, position, point) for position in range(len(nest.ins))]


@lru_cache(maxsize=1024)  # the operands of a chain of nests are read at few different places
def _moved(read: ReadAttr, point: tuple[Linear, ...], count: int) -> ReadAttr:
    """A read where the iterators are at `point` over `count` others; an index that is read is 0."""
    results = [form.substitute(point, count) for form in linear_map(base_of(read.map.data))]
    return ReadAttr(AffineMapAttr(affine_map(results, count)), read.pad)


def _key(value: SSAValue, read: ReadAttr) -> _Key:
    # Two maps of equal meaning may differ as attributes.
    index: list[Linear | int] = [*linear_map(base_of(read.map.data))]
    for axis, operand in picks_of(read.map.data).items():
        index[axis] = operand
    return value, tuple(index), read.pad


def new_block(operands: Operands, outs: Sequence[SSAValue], accumulators: Block) -> Block:
    """An empty region's block; its accumulators are called like the last arguments of a block."""
    block = Block()
    _add_arguments(block, operands, outs, accumulators)
    return block


def _add_arguments(
    block: Block, operands: Operands, outs: Sequence[SSAValue], accumulators: Block
) -> None:
    names = [argument.name_hint for argument in accumulators.args[-len(outs) :]]
    for value, hint in zip((*operands.values, *outs), [*operands.hints, *names], strict=True):
        element = memref_of(value).element_type
        block.insert_arg(element, len(block.args)).name_hint = hint


def grown_block(
    source: Region,
    chosen: Sequence[int],
    operands: Operands,
    outs: Sequence[SSAValue],
    accumulators: Block,
    move: Move | None,
) -> tuple[Block, list[SSAValue]]:
    """As `new_block`, with the ops of a region that is of no use any more, and what it yields.

    `chosen` are the positions of what its block took, but for accumulators, of which any will do. Its ops
    stay where they are: a chain that becomes one nest bit by bit is not copied each time.
    """
    block = source.detach_block(source.block)
    old = block.args
    _add_arguments(block, operands, outs, accumulators)
    new = block.args[len(old) :]
    last = new[-1]
    taken = [*(new[at] for at in chosen), *(last for _ in range(len(old) - len(chosen)))]
    for before, after in zip(old, taken, strict=True):
        before.replace_all_uses_with(after)
        block.erase_arg(before)
    end_op = block.last_op
    assert isinstance(end_op, YieldOp), "verify_module has seen to it"
    values = list(end_op.values)
    erase(end_op)
    for op in list(block.ops) if move is not None else ():
        if move is not None and isinstance(op, PointOp):
            op.move(move.source.names, move.target.names, move.places)
    return block, values


@dataclass(frozen=True)
class Move:
    """From a nest into another one, over whose iterators each of the first one's is given."""

    source: NestOp
    target: NestOp
    places: Sequence[Linear]


def inline(
    source: Block,
    arguments: Sequence[SSAValue],
    target: Block,
    move: Move | None = None,
    *,
    takes: bool = False,
) -> list[SSAValue]:
    """Copies the ops of `source`, with `arguments` for its own, to the end of `target`.

    Returns what `source` yields; its terminator is not copied. Without a `move`, `target` is of a nest
    with the iterators that `source` knows. `takes`: the ops themselves go there, and `source` is of no use
    any more: a chain that grows by one op at a time is not copied each time.
    """
    if takes:
        return _taken(source, arguments, target, move)
    values: dict[SSAValue, SSAValue] = dict(zip(source.args, arguments, strict=True))
    for op in source.ops:
        if isinstance(op, YieldOp):
            return [values.get(value, value) for value in op.values]
        copy = op.clone(values)
        if move is not None and isinstance(copy, PointOp):
            copy.move(move.source.names, move.target.names, move.places)
        target.add_op(copy)
    raise AssertionError("verify_module has seen to it that a region ends in loop.yield")


def _taken(
    source: Block, arguments: Sequence[SSAValue], target: Block, move: Move | None
) -> list[SSAValue]:
    for old, new in zip(source.args, arguments, strict=True):
        old.replace_all_uses_with(new)
    for op in list(source.ops):
        if isinstance(op, YieldOp):
            return list(op.values)
        op.detach()
        if move is not None and isinstance(op, PointOp):
            op.move(move.source.names, move.target.names, move.places)
        target.add_op(op)
    raise AssertionError("verify_module has seen to it that a region ends in loop.yield")


def end(target: Block, values: Sequence[SSAValue]) -> Block:
    """Ends `target` by yielding `values`."""
    target.add_op(YieldOp(*values))
    return target


def fused_location(*ops: Operation) -> LocationAttr:
    """Where all the ops came from: each origin once, in order, the first few."""
    leaves = dict.fromkeys(leaf for op in ops for leaf in _leaves(op.location))
    if not leaves:
        return UnknownLoc()
    if len(leaves) == 1:
        return next(iter(leaves))
    return FusedLoc(tuple(leaves)[:MAX_FUSED_LOCATIONS], NoneAttr())


def _leaves(location: Attribute) -> list[LocationAttr]:
    if isinstance(location, FusedLoc):
        parts = cast("Sequence[Attribute]", location.locations)
        return [leaf for part in parts for leaf in _leaves(part)]
    return [] if isinstance(location, UnknownLoc) else [cast("LocationAttr", location)]
