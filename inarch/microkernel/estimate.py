"""What a call takes at the least, by what it computes and the machine's ports: for kernels that do not say.

    cycles = begin + largest of (multiply-adds, loads, stores)

The operations of the meaning on whole vectors, each element of an operand loaded once, each output stored
once. No code is faster; most take more, which a measurement finds out (`inarch.verification.timing`).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from inarch.core.dtypes import DTYPES
from inarch.machine.machine import Machine
from inarch.machine.target import Target
from inarch.machine.work import body_cycles
from inarch.meaning import Element, Iterator, Normal, elements
from inarch.microkernel._data import Microkernel


def estimated_cycles(
    kernel: Microkernel, shape: Normal, sizes: Mapping[str, int], target: Target, machine: Machine
) -> float:
    """Cycles of one call; `sizes` are those of the parameters and of what the call gives."""
    own = (*shape.parallel, *shape.reductions)
    points = {each.name: _size(each, sizes) for each in own}
    nbytes = DTYPES[kernel.dtypes[shape.target.operand]].nbytes
    lanes = max(1, target.vector_bytes // nbytes)
    # Lanes are neighbours of the output, or of what is summed where the output has no order.
    along = _in_order(kernel, shape) or list(points)
    lane = min(along, key=lambda name: _vectors(points[name], lanes) / points[name], default=None)
    used = min(lanes, points[lane]) if lane is not None else 1

    def vectors(names: frozenset[str]) -> int:
        each = (
            _vectors(n, lanes) if name == lane else n for name, n in points.items() if name in names
        )
        return prod(each)

    width = used * nbytes
    work = vectors(frozenset(points)) * body_cycles(shape.applied, width, machine)
    loads = sum(
        vectors(names) * machine.loads.cycles(width if lane in names else nbytes)
        for names in map(_moving, dict.fromkeys(elements(shape.update)))
    )
    stores = vectors(_moving(shape.target)) * machine.stores.cycles(width)
    return machine.begin + max(work, loads, stores)


def _vectors(size: int, lanes: int) -> int:
    return -(-size // lanes)


def _size(iterator: Iterator, sizes: Mapping[str, int]) -> int:
    return iterator.size if isinstance(iterator.size, int) else sizes[iterator.size]


def _in_order(kernel: Microkernel, shape: Normal) -> list[str]:
    """The iterators along which the layout has the output's elements side by side."""
    demanded = kernel.layout.get(shape.target.operand, ())
    pairs = zip(shape.target.indices, demanded, strict=False)
    return [index[0].iterator for index, stride in pairs if stride == 1 and index[0].iterator]


def _moving(element: Element) -> frozenset[str]:
    return frozenset(
        term.iterator for index in element.indices for term in index if term.iterator is not None
    )
