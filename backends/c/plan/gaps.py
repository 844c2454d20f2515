"""Nests that gcc would compile to reads behind the end of an operand, and the attribute against it.

The loop vectoriser of gcc 12 iterations

    for (int q = 0; q < 5; q++)
        for (int o = 0; o < 8; o++)          (unrolled: eight stores side by side)
            y[q * 8 + o] = x[q * 4] * w[o];

into loads of 8 elements at `x + q * 4`. It leaves the last q to scalar code, which accounts for the gap of 3
elements behind each one that is used, but not for a register longer than the step: at q = 3 it reads x[12] to
x[19] of the 17 elements that there are. Where an argument ends with a page (a mapped file), that is a
segmentation fault. It is a bug like GCC's PR tree-optimization/115385 ("peeling for gaps can be
insufficient"), seen with gcc 12.2 for all levels of x86-64; no version is taken to be free of it. clang is.

Safe are loops whose step is one element, or is filled by loops inside, which have no gaps, and those that
still have loops inside them when gcc vectorises: it refuses gaps there. A loop with a step is harmless as the
innermost, as in pools: there is one store in it, so that registers are filled from several steps; those keep
their vectors, which make them twice as fast. What microkernels read is judged by their meaning
(`inarch/microkernel/gaps.py`). `optimize` is an attribute and no flag, so that the amalgamation has it
whoever compiles it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from inarch.backends.c.plan.linear import Loop, LoopNest, PointerAccess
from inarch.microkernel.gaps import is_gap

ATTRIBUTE = "INARCH_NO_LOOP_VECTORS"
"""What stands before the definition of a function with such a nest."""

_UNROLLED = 32
"""A loop of more iterations stays a loop; gcc's limit is 17 (`--param max-completely-peel-times`)."""

DEFINITION = f"""
/* gcc 12 vectorises loops over x[i * 4] with inner loops that it unrolls such that they read elements behind
   the last one (as in GCC's bug 115385). noipa: the attribute is the function's, not that of its text; and
   where addresses are expressed by each other, gcc 12 takes such a function for one that writes nothing, and
   leaves its calls out. */
#if defined(__GNUC__) && !defined(__clang__)
#define {ATTRIBUTE} __attribute__((noipa, optimize("no-tree-loop-vectorize")))
#else
#define {ATTRIBUTE}
#endif
"""


def reads_gaps(nest: LoopNest) -> bool:
    """Whether a read skips elements along a loop that gcc may see as innermost, with several stores in it."""
    return any(
        _skips(nest, read, position)
        and any(_vanishes(inside) for inside in _loops_inside(nest, position))
        for read in nest.reads
        for position in range(len(nest.loops))
    )


def _skips(nest: LoopNest, read: PointerAccess, position: int) -> bool:
    """Whether it has gaps along a loop: loops inside may fill the step, as channels in blocks do."""
    steps = [abs(by) for by in read.offset.coefficients]
    inside = zip(steps[position + 1 :], nest.loops[position + 1 :], strict=True)
    filled = 1
    for by, loop in sorted(inside, key=lambda one: one[0]):
        if by <= filled:  # neighbours meet, or overlap
            filled += by * (loop.size - 1)
    return is_gap(steps[position], read.dtype.nbytes) and filled < steps[position]


def _vanishes(inside: Sequence[Loop]) -> bool:
    """Whether loops are there, and may all be unrolled."""
    return bool(inside) and all(loop.mode != "serial" or loop.size <= _UNROLLED for loop in inside)


def _loops_inside(nest: LoopNest, position: int) -> Iterator[list[Loop]]:
    """What runs within a loop: while values accumulate, and where a tile is finished and stored."""
    loop, first = nest.loops[position], nest.first_inner
    tile = [i for i in range(first, len(nest.loops)) if not nest.loops[i].is_reduction]
    after = list(range(position + 1, len(nest.loops)))
    if loop.is_reduction:
        # A tile in registers is text within every one of its reductions.
        after += [i for i in tile if i < position and nest.loops[i].mode != "serial"]
    yield [nest.loops[i] for i in after]
    # `finish_tile` makes the loop along the output's memory the innermost.
    if position < first or (
        not loop.is_reduction and abs(nest.writes[0].offset.coefficients[position]) != 1
    ):
        yield [nest.loops[i] for i in tile if i != position]
