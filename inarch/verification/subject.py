"""An instance with operands of given sizes, laid out as a call has them, and C that calls it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inarch.core.dtypes import DTYPES, DType
from inarch.core.errors import UsageError
from inarch.meaning import Index, applications, bind, elements, free_sizes, ranks
from inarch.microkernel import (
    AtLeast,
    Demand,
    Instance,
    demands,
    instance_source,
    known_demand,
    prototype,
)


@dataclass(frozen=True)
class Operand:
    """How an operand is laid out for the measurement; sizes in elements."""

    strides: tuple[int, ...]
    extents: tuple[int, ...]
    elements: int
    distinct: int
    dtype: DType


@dataclass(frozen=True)
class Subject:
    """An instance, its operands in the order of the C function, and its work."""

    instance: Instance
    sizes: Mapping[str, int]
    operands: Mapping[str, Operand]
    flops: int

    @property
    def nbytes(self) -> int:
        """What a call reads and writes, each element once."""
        return sum(each.distinct * each.dtype.nbytes for each in self.operands.values())


def subject_of(instance: Instance, sizes: Mapping[str, int]) -> Subject:
    """Lays out the operands. Raises UsageError where `sizes` leaves one open."""
    meaning = bind(instance.meaning, sizes)
    extents: dict[str, list[int]] = {name: [1] * rank for name, rank in ranks(meaning).items()}
    flops = 0
    for statement in meaning.statements:
        points = {each.name: each.size for each in (*meaning.iterators, *statement.iterators)}
        if open_sizes := [size for size in points.values() if isinstance(size, str)]:
            raise UsageError(f"expected --size {open_sizes[0]}=NUMBER, found none")
        counts = {name: int(size) for name, size in points.items()}
        if statement.operator != "=":  # what is counted is the reduction, not the epilogue
            flops += (applications(statement.value) + 1) * math.prod(counts.values())
        for element in (statement.target, *elements(statement.value)):
            for axis, index in enumerate(element.indices):
                seen = extents[element.operand]
                seen[axis] = max(seen[axis], _largest(index, counts) + 1)
    dtypes = {**instance.kernel.dtypes, **instance.extras}
    wanted = demands(instance)
    laid = {name: _layout(extents[name], wanted[name], sizes, dtypes[name]) for name in dtypes}
    return Subject(instance, sizes, laid, flops)


def _largest(index: Index, counts: Mapping[str, int]) -> int:
    return sum(
        math.prod(int(factor) for factor in term.factors)
        * (counts[term.iterator] - 1 if term.iterator else 1)
        for term in index
    )


def _layout(
    extents: Sequence[int],
    wanted: Sequence[Demand],
    sizes: Mapping[str, int],
    dtype: str,
) -> Operand:
    strides = [0] * len(extents)
    dense = 1
    for axis in reversed(range(len(extents))):
        demand = known_demand(wanted[axis], sizes)
        if isinstance(demand, AtLeast):
            demand = max(dense, demand.least)
        strides[axis] = dense if demand is None else demand
        dense = max(dense, strides[axis] * extents[axis])
    last = sum(stride * (extent - 1) for stride, extent in zip(strides, extents, strict=True))
    return Operand(tuple(strides), tuple(extents), last + 1, math.prod(extents), DTYPES[dtype])


def program(subjects: Sequence[Subject], first: int) -> str:
    """C with `run<i>(pointers, steps in bytes, copies, calls)` for each subject."""
    texts = ["#include <stdint.h>\n"]
    for number, subject in enumerate(subjects, first):
        texts.append(f"static {prototype(subject.instance)};\n")
        texts.append(instance_source(subject.instance))
        kinds = [each.dtype.c for each in subject.operands.values()]
        pointers = [
            f"({kind} *)((char *)p[{i}] + copy * steps[{i}])" for i, kind in enumerate(kinds)
        ]
        strides = [str(s) for each in subject.operands.values() for s in each.strides]
        sizes = [str(subject.sizes[name]) for name in free_sizes(subject.instance.meaning)]
        texts.append(f"""
__attribute__((visibility("default")))
void run{number}(void *const *p, const int64_t *steps, int64_t copies, int64_t calls)
{{
    for (int64_t n = 0, copy = 0; n < calls; n++, copy = copy + 1 < copies ? copy + 1 : 0) {{
        {subject.instance.symbol}({", ".join([*pointers, *strides, *sizes])});
        __asm__ volatile("" ::: "memory");
    }}
}}
""")
    return "".join(texts)
