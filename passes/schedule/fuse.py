"""`fuse`: nests run block by block, in explicit loops around all of them.

    at "softmax": fuse "scores" over m 32         for mo = 0 to 1024 step 32:
                                            -->       scores of the rows mo to mo + 31
                                                      softmax of these rows

A producer goes into the loops of its consumer where each iteration reads only what it has written itself:
every buffer that one of the nests writes and another one touches is indexed by the iterator alone, in one
dimension. What nobody else reads is then as large as a block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from inarch.core.errors import UsageError
from inarch.dialects.loop.control import ForOp
from inarch.dialects.loop.nest import NestOp
from inarch.passes.loop.tiling.loops import run_in_blocks
from inarch.passes.schedule.language.fusing import group_of
from inarch.passes.schedule.language.keeping import keep
from inarch.passes.schedule.language.places import (
    Loops,
    Place,
    find,
    iterator_of,
    nest_of,
    place_of_text,
    read_place,
)
from inarch.passes.schedule.language.step import Action, Step, StepPass
from inarch.passes.schedule.language.words import Words


def fuse(consumer: NestOp, producers: Sequence[NestOp], blocks: Mapping[str, int]) -> NestOp:
    """Puts loops over blocks of the consumer's iterators `blocks` around it and its producers.

    The loop of an iterator `m` is called `mo`. Without producers, it is the consumer alone that runs in
    blocks. The last block of an iterator may be a smaller one: copies of the nests, behind. Returns the
    consumer in the first loops. Raises UsageError for names and numbers; InarchError with the two accesses
    where an iteration would read what another one writes.
    """
    positions = [iterator_of(consumer, name) for name in blocks]
    for name, size in blocks.items():
        if size < 1:
            raise UsageError(f"expected a block of {name} from 1 on, found {size}")
    group = group_of([*producers, consumer], positions)
    sizes = [
        min(size, consumer.sizes[at]) for size, at in zip(blocks.values(), positions, strict=True)
    ]
    block = consumer.parent
    assert block is not None, "a nest stands in a block"
    known = set(block.ops)
    first = run_in_blocks(group, sizes, names=[f"{name}o" for name in blocks])
    for op in block.ops:
        if op not in known and isinstance(op, ForOp):
            for loop in op.walk():
                if isinstance(loop, ForOp):
                    keep(loop)
    loop = first
    for _ in positions[1:]:
        loop = next(op for op in loop.body.block.ops if isinstance(op, ForOp))
    return [op for op in loop.body.block.ops if isinstance(op, NestOp)][-1]


def _done(module: ModuleOp, op: Loops, places: Sequence[Place], blocks: Mapping[str, int]) -> Loops:
    found = [find(module, place) for place in places]
    return fuse(nest_of(op), [nest_of(each) for each in found], blocks)


def _read(words: Words) -> Action:
    places: list[Place] = []
    while not words.has("over"):
        places.append(read_place(words))
    blocks = words.sizes("an iterator")
    return lambda module, op: _done(module, op, places, blocks)


STEP = Step("fuse [PRODUCER ...] over ITERATOR BLOCK [ITERATOR BLOCK ...]", _read)


@dataclass(frozen=True)
class FusePass(StepPass):
    """Runs a nest that is named, with its producers, in loops over blocks.

    `nest`: the consumer, as for `split`. `iterators`: of the consumer, the outermost loop first; `blocks`:
    points an iteration. `producers`: the nests that go into the loops, in the program's order.
    """

    iterators: tuple[str, ...]
    blocks: tuple[int, ...]
    producers: tuple[str, ...] = ()

    def run(self, module: ModuleOp, op: Loops) -> Loops:
        if len(self.iterators) != len(self.blocks):
            found = f"{len(self.blocks)} for {len(self.iterators)} iterators"
            raise UsageError(f"blocks: expected one for each iterator, found {found}")
        blocks = dict(zip(self.iterators, self.blocks, strict=True))
        return _done(module, op, [place_of_text(text) for text in self.producers], blocks)
