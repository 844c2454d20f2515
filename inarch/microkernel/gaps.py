"""Microkernels that gcc 12 would compile to reads behind the end of an operand, and the pragmas against it.

`backends/c/plan/gaps.py` says what goes wrong, and with which loops. The C of a microkernel is not ours to
judge: it is kept from vectorising its loops wherever its meaning, with the strides of the call, reads with
such steps; what has explicit vectors does not notice.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from inarch.core.dtypes import DTYPES
from inarch.meaning import Element, Meaning, elements
from inarch.microkernel import Instance, demands

_REGISTER_BYTES = 64

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
