"""Nests that gcc would compile to reads behind the end of an operand, and the attribute against it.

The loop vectoriser of gcc 12 turns

    for (int q = 0; q < 5; q++)
        for (int o = 0; o < 8; o++)          (unrolled: eight stores side by side)
            y[q * 8 + o] = x[q * 4] * w[o];

into loads of 8 elements at `x + q * 4`. It leaves the last q to scalar code, which accounts for the gap of 3
elements behind each one that is used, but not for a register longer than the step: at q = 3 it reads x[12] to
x[19] of the 17 elements that there are. Where an argument ends with a page (a mapped file), that is a
segmentation fault. It is a bug like GCC's PR tree-optimization/115385 ("peeling for gaps can be
insufficient"), seen with gcc 12.2 for all levels of x86-64; no version is taken to be free of it. clang is.

Safe are loops whose step is one element, which have no gaps, and those that still have loops inside them when
gcc vectorises: it refuses gaps there. A loop with a step is harmless as the innermost, as in pools: there is
one store in it, so that registers are filled from several steps; those keep their vectors, which make them
twice as fast. The C of microkernels is not ours to judge: it is kept from vectorising its loops wherever its
meaning, with the strides of the call, reads with such steps; what has explicit vectors does not notice.
`optimize` is an attribute and no flag, so that the amalgamation has it whoever compiles it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from inarch.backends.c.plan.linear import Access, LinearNest, Loop
from inarch.core.dtypes import DTYPES
from inarch.meaning import Element, Meaning, elements
from inarch.microkernel import Instance, demands

ATTRIBUTE = "INARCH_NO_LOOP_VECTORS"
"""What stands before the definition of a function with such a nest."""

_REGISTER_BYTES = 64
_UNROLLED = 32
"""A loop of more iterations stays a loop; gcc's limit is 17 (`--param max-completely-peel-times`)."""

DEFINITION = f"""
/* gcc 12 vectorises loops over x[i * 4] with inner loops that it unrolls such that they read elements behind
   the last one (as in GCC's bug 115385). noinline: the attribute is the function's, not that of its text. */
#if defined(__GNUC__) && !defined(__clang__)
#define {ATTRIBUTE} __attribute__((noinline, optimize("no-tree-loop-vectorize")))
#else
#define {ATTRIBUTE}
#endif
"""


_PRAGMAS = """#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("no-tree-loop-vectorize")
#endif
%s#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
"""


def without_loop_vectors(source: str) -> str:
    """C of functions of others, compiled as those with the attribute are."""
    return _PRAGMAS % source


def instance_reads_gaps(instance: Instance) -> bool:
    """Whether a microkernel reads with steps whatever the strides that it is given."""
    dtypes = {**instance.kernel.dtypes, **instance.extras}
    strides = {
        operand: [demand if isinstance(demand, int) else 1 for demand in demanded]
        for operand, demanded in demands(instance).items()
    }
    sizes = {operand: DTYPES[dtype].nbytes for operand, dtype in dtypes.items()}
    return call_reads_gaps(instance.meaning, strides, sizes)


def call_reads_gaps(
    meaning: Meaning, strides: Mapping[str, Sequence[int]], nbytes: Mapping[str, int]
) -> bool:
    """Whether a microkernel reads with steps where its operands have these strides, in elements."""
    return any(
        is_gap(step, nbytes[element.operand])
        for statement in meaning.statements
        for element in elements(statement.value)
        for step in _steps(element, strides[element.operand])
    )


def _steps(element: Element, strides: Sequence[int]) -> Iterable[int]:
    """How far apart in memory neighbours along each iterator are; factors without a value count 1."""
    found: dict[str, int] = {}
    for index, stride in zip(element.indices, strides, strict=True):
        for term in index:
            if term.iterator is not None:
                numbers = (factor for factor in term.factors if isinstance(factor, int))
                step = stride * math.prod(numbers)
                found[term.iterator] = found.get(term.iterator, 0) + step
    return found.values()


def is_gap(step: int, nbytes: int) -> bool:
    """Whether a read every `step` elements may be one that gcc gets wrong."""
    return abs(step) >= 2 and abs(step) * nbytes < _REGISTER_BYTES


def reads_gaps(nest: LinearNest) -> bool:
    """Whether a read skips elements along a loop that gcc may see as innermost, with several stores in it."""
    return any(
        _skips(read, position)
        and any(_vanishes(inside) for inside in _loops_inside(nest, position))
        for read in nest.reads
        for position in range(len(nest.loops))
    )


def _skips(read: Access, position: int) -> bool:
    return is_gap(read.offset.coefficients[position], read.dtype.nbytes)


def _vanishes(inside: Sequence[Loop]) -> bool:
    """Whether loops are there, and may all be unrolled."""
    return bool(inside) and all(loop.mode != "serial" or loop.size <= _UNROLLED for loop in inside)


def _loops_inside(nest: LinearNest, position: int) -> Iterator[list[Loop]]:
    """What runs within a loop: while values accumulate, and where a tile is finished and stored."""
    loop, first = nest.loops[position], nest.first_reduction
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
