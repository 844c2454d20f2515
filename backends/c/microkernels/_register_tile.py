"""The C of a contraction whose whole output tile lives in vector registers.

    C[rows, v, l] += A[rows, steps] * B[steps, v, l]    rows x NV vectors of VL lanes

One named accumulator a vector for the whole reduction, so that C is touched once. A step of the innermost
reduction loads NV vectors of B and broadcasts one element of A for each row. The empty `asm` before a step
makes the pointers unknown there: neighbouring pixels of a convolution read the same element in different
steps, and gcc 12 and clang 19 would keep it in a register meanwhile and spill accumulators instead
(measured: a 7x7 window at stride 2 then runs at 66 to 82 % of the FMA peak instead of 97 to 98 %).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import ceil

from inarch.backends.c.microkernels._epilogue import (
    Accumulator,
    Tile,
    address,
    begin_lines,
    finish_lines,
    stride,
)
from inarch.backends.c.microkernels._function import (
    function_text,
    keep,
    multiply_add,
    use,
    wide_text,
)
from inarch.core.dtypes import DTYPES, DType
from inarch.machine.machine import Machine
from inarch.meaning import Element, Term, elements
from inarch.microkernel import Instance, Microkernel

UNROLL = 4
"""Steps of the innermost reduction in one round of its loop."""
_ROWS_TO_PREFETCH = 4
"""From so many rows on there are load slots to spare."""
_STEPS_TO_PREFETCH = 2 * UNROLL
"""Of the innermost reduction: fewer products do not hide a prefetch for each row (1.3 times as slow)."""


@dataclass(frozen=True)
class Contraction:
    """The iterators of A's, B's and C's dimensions: all of a family that the generator needs to know.

    The last two of B and C are those of the vectors and of the lanes; the others of C are the rows,
    the others of B the reductions, outermost first.
    """

    a: Sequence[str]
    b: Sequence[str]
    c: Sequence[str]
    sizes: Mapping[str, str]
    """Iterator -> the name of its size: a parameter, or one that the call gives."""
    unroll: int = UNROLL
    neighbour: str | None = None
    """The row iterator along which the next call's tile lies, if its A is worth a prefetch."""
    is_often_whole: bool = False
    """A's rows are one run where the last reduction but one has one step: hardware foresees them."""

    @property
    def rows(self) -> Sequence[str]:
        """The iterators that A and C have."""
        return self.c[:-2]

    @property
    def steps(self) -> Sequence[str]:
        """The reductions."""
        return self.b[:-2]


def register_tile(instance: Instance, contraction: Contraction) -> str:
    """The C of an instance: the functions that its `finish` calls, and its own."""
    sizes = {
        iterator: instance.params.get(name, name) for iterator, name in contraction.sizes.items()
    }
    tile = _tile(contraction, sizes)
    stored = DTYPES[instance.kernel.dtypes["B"]]
    writer = _Writer(contraction, sizes, tile, instance.machine, stored)
    body = [
        *begin_lines(tile, instance.init),
        *writer.prefetch_late(instance),
        *writer.reduce(0, "A", "B"),
        *finish_lines(instance, tile, is_full=True),
    ]
    return function_text(instance, tile.lanes, body)


def narrow_b(kernel: Microkernel, dtype: str, *, needs: Sequence[str] = ()) -> Microkernel:
    """The same family of a B that is stored in a narrower float, and widened when it is loaded."""
    computes = re.sub(r"\bB\[[^]]*\]", rf"{kernel.dtypes['B']}(\g<0>)", kernel.computes)
    return replace(
        kernel,
        computes=computes,
        dtypes={**kernel.dtypes, "B": dtype},
        needs=(*kernel.needs, *needs),
        doc=f"{kernel.doc.rstrip().rstrip('.')}: B is stored as {dtype}.",
    )


def _tile(contraction: Contraction, sizes: Mapping[str, int | str]) -> Tile:
    outer = contraction.c[:-1]
    counts = {name: int(sizes[name]) for name in outer}
    points = product(*(range(count) for count in counts.values()))
    accumulators = tuple(
        Accumulator(f"c{number}", dict(zip(outer, point, strict=True)))
        for number, point in enumerate(points)
    )
    written = _element("C", contraction.c)
    lane = contraction.c[-1]
    return Tile(accumulators, counts, int(sizes[lane]), lane, written)


def _element(operand: str, iterators: Sequence[str]) -> Element:
    return Element(operand, tuple((Term((), name),) for name in iterators))


@dataclass(frozen=True)
class _Writer:
    contraction: Contraction
    sizes: Mapping[str, int | str]
    """Iterator -> its size: a number, or the C function's parameter."""
    tile: Tile
    machine: Machine
    stored: DType
    """Of B, which is multiplied in f32."""

    def prefetch_late(self, instance: Instance) -> list[str]:
        """To the first level, what the epilogue reads at each row: a residual, which comes from far.

        ResNet-50 with AVX-512 adds one to 256 channels of 56x56: 77 % of the FMA peak became 88 %.
        """
        tile, vectors = len(self.tile.accumulators), self._vectors
        if tile // vectors + vectors >= tile:
            return []  # loads have no slots to spare
        finish = instance.finish
        late = [
            each
            for each in ([] if finish is None else elements(finish))
            if each.operand != "C"
            and {term.iterator for index in each.indices for term in index}
            & {*self.contraction.rows}
        ]
        places = dict.fromkeys(
            address(element, each.values) for element in late for each in self.tile.accumulators
        )
        return [f"    __builtin_prefetch({place});" for place in places]

    def reduce(self, depth: int, a: str, b: str) -> list[str]:
        """The loops over the reductions from `depth` on; `a` and `b` point to where they begin."""
        name = self.contraction.steps[depth]
        size, by_a, by_b = self.sizes[name], self._stride("A", name), self._stride("B", name)
        pad = "    " * (depth + 1)
        if depth + 1 < len(self.contraction.steps):
            return [
                *([self._declare_ahead(pad)] if depth == 0 and self._prefetches_b else []),
                f"{pad}for (int64_t {name} = 0; {name} < {size}; {name}++) {{",
                f"{pad}    const float *a_{name} = {a} + {name} * {by_a};",
                f"{pad}    const {self.stored.c} *b_{name} = {b} + {name} * {by_b};",
                *self.reduce(depth + 1, f"a_{name}", f"b_{name}"),
                f"{pad}}}",
            ]
        rounds = self.contraction.unroll
        return [
            f"{pad}const float *x = {a};",
            f"{pad}const {self.stored.c} *y = {b};",
            f"{pad}if ({size} < {rounds}) {{",
            *self._prefetch_next(f"{size} * {by_b}", "1", pad + "    "),
            f"{pad}}}",
            *self._prefetch_neighbour(pad),
            f"{pad}int64_t {name} = 0;",
            f"{pad}for (; {name} + {rounds} <= {size}; {name} += {rounds}) {{",
            *self._prefetch_next(f"{size} * {by_b}", f"({size} / {rounds})", pad + "    "),
            *(line for step in range(rounds) for line in self._step(step, pad + "    ")),
            f"{pad}    x += {rounds} * {by_a};",
            f"{pad}    y += {rounds} * {by_b};",
            f"{pad}}}",
            f"{pad}for (; {name} < {size}; {name}++) {{",
            *self._step(0, pad + "    "),
            f"{pad}    x += {by_a};",
            f"{pad}    y += {by_b};",
            f"{pad}}}",
        ]

    def _prefetch_neighbour(self, pad: str) -> list[str]:
        """A's rows of the next tile, to L2: short runs of strided lines, which hardware does not foresee.

        Geometric mean over ResNet-50's convolutions: 93.5 % of the FMA peak became 94.3 % with warm
        weights, 92.2 % became 93.3 % with cold ones; to L1 it pushes out what the tile uses (94.0, 91.9).
        """
        along = self.contraction.neighbour
        if along is None or len(self.tile.accumulators) < _ROWS_TO_PREFETCH * self._vectors:
            return []
        element, distance = _element("A", self.contraction.a), int(self.sizes[along])
        rows = [each.values for each in self.tile.accumulators[:: self._vectors]]
        places = [address(element, {**row, along: row[along] + distance}) for row in rows]
        lines = [f"{pad}__builtin_prefetch({_from('x', place)}, 0, 2);" for place in places]
        outer, inner = (self.sizes[name] for name in self.contraction.steps[-2:])
        is_strided = f"{outer} > 1 && " if self.contraction.is_often_whole else ""
        guard = f"if ({is_strided}{inner} >= {_STEPS_TO_PREFETCH})"
        return [f"{pad}{guard} {{", *(f"    {line}" for line in lines), f"{pad}}}"]

    def _prefetch_next(self, elements: str, rounds: str, pad: str) -> list[str]:
        """What a later call reads of B: `elements` in `iterations` calls of so many rounds each.

        The first call that reads a panel of B waits for memory, those after it have it in the caches. A
        panel of 32 KiB from memory, read by nine tiles with AVX2: 80 % of the FMA peak became 90 %.
        """
        line = self.machine.line_bytes // self.stored.nbytes
        return [
            f"{pad}const int64_t parts = {rounds} * iterations;",
            f"{pad}const int64_t share = parts > 0 ? ({elements} + parts - 1) / parts : 0;",
            f"{pad}for (int64_t z = 0; z < share; z += {line}) {{",
            f"{pad}    __builtin_prefetch(later + z);",
            f"{pad}}}",
            f"{pad}later += share;",
        ]

    def _declare_ahead(self, pad: str) -> str:
        """How far ahead B is prefetched, along the innermost reductions that have so many steps together."""
        *outer, last = self.contraction.steps
        inside, text = str(self.sizes[last]), f"{self._ahead} * {self._stride('B', last)}"
        found = f"{inside} >= {self._ahead} ? {text} : "
        for at, name in reversed([*enumerate(outer)]):
            text = f"{self._ahead} / ({inside}) * {self._stride('B', name)}"
            inside = f"{inside} * {self.sizes[name]}"
            found += text if at == 0 else f"{inside} >= {self._ahead} ? {text} : "
        return f"{pad}const int64_t ahead = {found};"

    @property
    def _prefetches_b(self) -> bool:
        """Whether there are slots of loads for it; B may lie in rows far apart, one for each step."""
        return len(self.tile.accumulators) >= _ROWS_TO_PREFETCH * self._vectors

    @property
    def _ahead(self) -> int:
        """Steps that B is prefetched ahead: as long as the last cache takes, whole rounds of the loop.

        A step takes at least as long as a sum. Geometric mean over ResNet-50's convolutions on Zen 4: 93.3 %
        of the FMA peak became 95.2 % with warm weights, 92.2 % became 92.9 % with cold ones, up to 5 points a
        layer. Prefetching C before the reduction gains nothing (94.6 % and 92.0 %).
        """
        return UNROLL * ceil(self.machine.last.latency / self.machine.fma_latency / UNROLL)

    @property
    def _vectors(self) -> int:
        return int(self.sizes[self.contraction.b[-2]])

    def _step(self, step: int, pad: str) -> list[str]:
        last, vectors = self.contraction.b[-3:-1]
        count, lanes = self._vectors, self.tile.lanes
        rows = len(self.tile.accumulators) // count
        at = {last: step}
        lines = [f"{pad}{{", f'{pad}    __asm__("" : "+r"(x), "+r"(y));']
        element = _element("B", self.contraction.b)
        for v in range(count):
            place = address(element, {**at, vectors: v})
            # Gcc 12 may read it from memory again for each row (3x3: twice as long): nothing is known of it.
            kept = f" {keep(f'b{v}', lanes)}" if rows > 1 else ""
            read = wide_text(_from("y", place), self.stored, lanes)
            lines.append(f"{pad}    vec b{v} = {read};{kept}")
            bytes_before = (step * count + v) * lanes * self.stored.nbytes
            if self._prefetches_b and bytes_before % self.machine.line_bytes == 0:
                lines.append(f"{pad}    __builtin_prefetch({_from('y', place)} + ahead);")
        for row in range(0, len(self.tile.accumulators), count):
            group = self.tile.accumulators[row : row + count]
            place = address(_element("A", self.contraction.a), {**group[0].values, **at})
            updates = " ".join(
                multiply_add(each.register, "e", f"b{v}", lanes) for v, each in enumerate(group)
            )
            # With one vector, AVX-512 takes the broadcast as an operand of the product.
            used = "" if count == 1 and lanes == 16 else f" {use('e', lanes)}"
            read = f"*({_from('x', place)})"
            lines.append(f"{pad}    {{ const vec e = {read} - (vec){{0}}; {updates}{used} }}")
        lines += [f"{pad}    {use(f'b{v}', lanes)}" for v in range(count) if rows > 1]
        return [*lines, f"{pad}}}"]

    def _stride(self, operand: str, iterator: str) -> str:
        dimensions = self.contraction.a if operand == "A" else self.contraction.b
        return stride(operand, list(dimensions).index(iterator))


def _from(pointer: str, place: str) -> str:
    """`place` counted from `pointer` instead of from the operand's first element."""
    _, plus, rest = place.partition(" + ")
    return pointer + plus + rest
