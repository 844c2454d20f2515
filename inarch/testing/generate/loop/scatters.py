"""Random nests that write at indices which they read: rows, elements, sums; some of them outside."""

from __future__ import annotations

from inarch.testing.generate.choices import Choices
from inarch.testing.generate.loop.buffers import Buffer, RandomAccess
from inarch.testing.generate.loop.builder import LoopText
from inarch.testing.generate.loop.gathers import INDICES
from inarch.testing.generate.loop.nest_text import Loops, Write, nest_text
from inarch.testing.generate.loop.nests import read

_SIZES = (3, 2, 5, 1, 8, 17)


def scatter(b: LoopText) -> None:
    """Adds a nest that writes to a buffer, all of which holds something, at one or two read indices."""
    choices = b.choices
    target = _target(b)
    rank = len(target.shape)
    picked = [d for d in range(rank) if choices.chance(50)][:2] or [choices.integer(0, rank - 1)]
    loops, access = _loops(choices, target, picked)
    reads = [
        read(b, loops, [target], everywhere=choices.chance(70), kinds=INDICES)
        for _ in range(len(picked) if choices.chance(80) else 1)
    ]
    for at, d in enumerate(picked):
        operand = min(at, len(reads) - 1)
        access.picks[d] = (operand, reads[operand][1])
    reads += [
        read(b, loops, [target], everywhere=choices.chance(80))
        for _ in range(choices.weighted([(1, 0), (6, 1), (2, 2)]))
    ]
    b.lines += nest_text(b, loops, reads, [Write(target, access, target.element, False, None)])


def _target(b: LoopText) -> Buffer:
    choices = b.choices
    old = [
        one
        for one in b.buffers
        if one.writable and one.shape and 0 not in one.shape and one.mask.all()
    ]
    if old and not choices.chance(40):
        return choices.pick(old[::-1][:6])
    rank = choices.weighted([(6, 2), (5, 1), (2, 3)])
    shape = tuple(choices.pick(_SIZES) for _ in range(rank))
    found = b.output(b.element(), shape, whole=choices.chance(60))
    if not found.mask.all():
        b.fill(found)
    return found


def _loops(choices: Choices, target: Buffer, picked: list[int]) -> tuple[Loops, RandomAccess]:
    """Iterators for what is not picked, and mostly a scan, which goes along a dimension itself or not."""
    rank = len(target.shape)
    access = RandomAccess([{} for _ in range(rank)], [0] * rank)
    sizes: list[int] = []
    for d, size in enumerate(target.shape):
        if d in picked:
            continue
        if choices.chance(15):
            access.constants[d] = choices.integer(0, size - 1)
            continue
        count = size if choices.chance(60) else choices.integer(1, size)
        access.constants[d] = choices.integer(0, size - count)
        access.terms[d] = {len(sizes): 1}
        sizes.append(count)
    scan: int | None = None
    if choices.chance(85):
        if sizes and choices.chance(15):
            scan = choices.integer(0, len(sizes) - 1)
        else:
            scan = choices.integer(0, len(sizes))
            sizes.insert(scan, choices.pick(_SIZES))
            moved = [{i + (i >= scan): by for i, by in form.items()} for form in access.terms]
            access.terms = moved
    names = [f"{'s' if i == scan else 'i'}{i}" for i in range(len(sizes))]
    return Loops(names, sizes, [False] * len(sizes), ["serial"] * len(sizes), scan), access
