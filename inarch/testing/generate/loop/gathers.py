"""Random reads at indices that are read, of one dimension or two: of buffers that are there, and new ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from inarch.testing.generate.loop.buffers import Buffer, RandomAccess
from inarch.testing.generate.loop.builder import LoopText
from inarch.testing.generate.loop.nest_text import Loops

Read: TypeAlias = tuple[Buffer, RandomAccess, str | None]
"""An operand of a nest: the buffer, where it is read, and its pad."""

INDICES = ("i64", "i32")
_SIZES = (3, 2, 5, 1, 8, 17)


def gathered(
    b: LoopText,
    loops: Loops,
    outputs: Sequence[Buffer],
    first: int,
    index: Callable[[], Read],
) -> list[Read]:
    """A read of which some indices are read, behind the operands of these, of which the first is `first`.

    `index` makes one of them. Each of the indices may be out of range: what is read is inside.
    """
    choices = b.choices
    found = _data(b, outputs)
    picked = [d for d in range(len(found.shape)) if choices.chance(50)]
    picked = picked[:2] or [choices.integer(0, len(found.shape) - 1)]
    reads: list[Read] = []
    access = RandomAccess()
    left = choices.shuffled(list(range(len(loops.sizes))))
    for d, size in enumerate(found.shape):
        access.terms.append({})
        access.constants.append(0)
        if d in picked:
            if not reads or not choices.chance(20):  # else two dimensions have one index
                reads.append(index())
            access.picks[d] = (first + len(reads) - 1, reads[-1][1])
            continue
        room = [i for i in left if 0 < loops.sizes[i] <= size]
        if not room or choices.chance(15):
            access.constants[d] = choices.integer(0, size - 1)
            continue
        left.remove(room[0])
        access.terms[d][room[0]] = 1
        access.constants[d] = choices.integer(0, size - loops.sizes[room[0]])
    return [*reads, (found, access, None)]


def _data(b: LoopText, outputs: Sequence[Buffer]) -> Buffer:
    """A buffer of which every element may be read."""
    choices = b.choices
    roots = {one.root for one in outputs}
    old = [
        one
        for one in b.buffers
        if one.shape and 0 not in one.shape and one.root not in roots and one.mask.all()
    ]
    if old and not choices.chance(40):
        return choices.pick(old[::-1][:6])
    rank = choices.weighted([(6, 2), (5, 1), (2, 3)])
    return b.input(b.element(), tuple(choices.pick(_SIZES) for _ in range(rank)))
