"""Where elements are at a point of a tile, and what one step of its reduction costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

from inarch.backends.c.templates._lanes import Writer
from inarch.backends.c.write.value.vectors import Value, load_strided
from inarch.core.dtypes import DTYPES
from inarch.machine.machine import Machine
from inarch.machine.work import body_cycles
from inarch.meaning import Element, Normal, elements
from inarch.microkernel import Instance

NOMINAL = 64
"""A size that is not known."""


def address(element: Element, values: Mapping[str, str | int], unit: str | None = None) -> str:
    """`A0 + 2 * A0_0 + k * A0_1`; iterators that are not in `values` stand for themselves.

    Along `unit` elements follow each other, whatever the stride is called.
    """
    parts = [element.operand]
    for dimension, index in enumerate(element.indices):
        name = str(index[0].iterator)
        value = values.get(name, name)
        stride = f"{element.operand}_{dimension}"
        if value != 0:
            parts.append(str(value) if name == unit else f"{value} * {stride}")
    return " + ".join(parts)


def moves(element: Element, iterator: str) -> bool:
    """Whether an element is another one at another value of the iterator."""
    return any(index[0].iterator == iterator for index in element.indices)


def loader(
    writer: Writer,
    values: Mapping[str, str | int],
    unit: str,
    lanes: int,
    loaded: dict[str, Value],
) -> Callable[[Element], Value]:
    """Elements at a point, as constants: what is at one address is read once (`loaded`).

    Those that move along `unit` are vectors, where there are `lanes`.
    """

    def at(element: Element) -> Value:
        dtype = DTYPES[writer.dtypes[element.operand]]
        is_vector = lanes > 1 and moves(element, unit)
        memory = writer.memory(dtype) if is_vector else dtype.c
        text = f"*(const {memory} *)({address(element, values, unit)})"
        if text not in loaded:
            kind = writer.vector(dtype) if is_vector else dtype.c
            loaded[text] = Value(writer.named(kind, text), is_vector)
        return loaded[text]

    return at


def anywhere(
    writer: Writer,
    values: Mapping[str, str | int],
    unit: str,
    lanes: int,
    held: Value,
    target: Element,
) -> Callable[[Element], Value]:
    """Elements at a point, where nothing is known of their strides; the element that is written is `held`.

    Those that move along `unit` are vectors, where there are `lanes`, loaded whole where they are neighbours.
    """

    def at(element: Element) -> Value:
        if element == target:
            return held
        first = address(element, values)
        if lanes == 1 or not moves(element, unit):
            return Value(f"*({first})")
        dtype = DTYPES[writer.dtypes[element.operand]]
        (dimension,) = [
            number for number, index in enumerate(element.indices) if index[0].iterator == unit
        ]
        kind = writer.scope.unit.vector(dtype, lanes)
        return load_strided(first, f"{element.operand}_{dimension}", kind, writer.scope)

    return at


def scalars(
    values: Mapping[str, str | int], target: Element, held: str
) -> Callable[[Element], Value]:
    """Elements at a point, where they are; the element that is written is `held`."""

    def at(element: Element) -> Value:
        return Value(held if element == target else f"*({address(element, values)})")

    return at


# ------------------------------------------------------------------------------------ costs


def sizes_of(instance: Instance, shape: Normal) -> dict[str, int]:
    """Iterator -> its size, as far as it is known."""
    known = {**instance.sizes, **instance.params}
    loops = (*shape.parallel, *shape.reductions)
    return {
        loop.name: loop.size if isinstance(loop.size, int) else known.get(loop.size, NOMINAL)
        for loop in loops
    }


def step_cycles(machine: Machine, shape: Normal, counts: Mapping[str, int], nbytes: int) -> float:
    """Of one step of a tile of `counts` (iterator -> copies) of vectors of `nbytes`: its loads or operations.

    An operand is loaded once for each copy along which it moves.
    """
    distinct = dict.fromkeys(elements(shape.update))
    loads = sum(
        prod(count for name, count in counts.items() if moves(element, name))
        for element in distinct
    )
    work = body_cycles(shape.applied, nbytes, machine) * prod(counts.values())
    return max(loads * machine.loads.cycles(nbytes), work)
