"""Random arg-reductions: nests that look for an element and where it is, in every order and at any tiling."""

from __future__ import annotations

import math
from dataclasses import dataclass

from inarch.testing.generate.choices import SIZES, Choices
from inarch.testing.generate.loop.buffers import Buffer, RandomAccess, index_text, write
from inarch.testing.generate.loop.builder import LoopText
from inarch.testing.generate.loop.nest_text import Loops
from inarch.testing.generate.loop.scalars import WIDTH, is_float

_SIZES = (*SIZES, 150)
_ELEMENTS = tuple(name for name in WIDTH if name != "i1")


def search(b: LoopText) -> None:
    """Adds a nest with two outputs: the first (or last) of the largest (or smallest) elements, its place."""
    choices = b.choices
    element = b.kind if b.kind in _ELEMENTS and choices.chance(60) else choices.pick(_ELEMENTS)
    loops = _loops(choices)
    read, source = _read(b, loops, element)
    others = [next(iter(form)) for form in read.terms if next(iter(form)) in loops.parallel]
    access = RandomAccess([{i: 1} for i in others], [0] * len(others))
    shape = tuple(loops.sizes[i] for i in others)
    few = math.prod(loops.sizes[i] for i in loops.reduction) < 100  # so that no place wraps
    where = choices.pick(("i64", "i32", "i64", "i8" if few else "i16"))
    values = b.output(element, shape, whole=choices.chance(60))
    positions = b.output(where, shape, whole=choices.chance(80))
    order = _Order(choices.chance(50), choices.chance(50), choices.chance(30))
    start = order.start(element)
    if choices.chance(15):
        start = choices.pick(("0.0", "nan") if is_float(element) else ("0", "7"))
    place = index_text(_rising(choices, loops), choices.pick((0, 0, 2)), loops.names)
    outs = access.text(loops.names)
    ins = source.at(read.text(loops.names))
    first = choices.pick((0, 0, 3))
    b.lines += [
        f"loop.nest ({loops.text()}) ins({ins}) outs(",
        f"    %{values.name}[{outs}] init {start} : {values.type},",
        f"    %{positions.name}[{outs}] init {first} : {positions.type}) {{",
        f"^bb0(%x: {element}, %value: {element}, %position: {where}):",
        *(f"  {line}" for line in _body(choices, element, where, place, order)),
        "}",
    ]
    for found in (values, positions):
        write(found, access, loops.only(loops.parallel))


@dataclass(frozen=True)
class _Order:
    largest: bool
    last: bool
    unsigned: bool

    def start(self, element: str) -> str:
        """What every element comes before, or is as good as."""
        if is_float(element):
            return "-inf" if self.largest else "inf"
        bits = WIDTH[element]
        if self.unsigned:
            return "0" if self.largest else "-1"
        return str(-(1 << (bits - 1)) if self.largest else (1 << (bits - 1)) - 1)


def _loops(choices: Choices) -> Loops:
    kinds = [False] * choices.integer(0, 2) + [True] * choices.weighted([(4, 1), (1, 2)])
    if choices.chance(40):
        kinds = choices.shuffled(kinds)
    sizes: list[int] = []
    for reduces in kinds:
        size = choices.pick(_SIZES)
        while size > 1 and (size * math.prod(sizes) > 4000 or (reduces and size > 160)):
            size = (size + 1) // 2
        sizes.append(size)
    names = [f"{'r' if reduces else 'i'}{n}" for n, reduces in enumerate(kinds)]
    modes = ["serial"] * len(kinds)
    if kinds[-1] and kinds.count(True) == 1 and choices.chance(50):
        modes[-1] = "vector"
    return Loops(names, sizes, kinds, modes)


def _read(b: LoopText, loops: Loops, element: str) -> tuple[RandomAccess, Buffer]:
    """The elements, in any order of dimensions, one of them sometimes from its end."""
    choices = b.choices
    order = list(range(len(loops.sizes)))
    order = choices.shuffled(order) if choices.chance(50) else order
    read = RandomAccess([{i: 1} for i in order], [0] * len(order))
    if choices.chance(20):
        at = choices.integer(0, len(order) - 1)
        read.terms[at] = {order[at]: -1}
        read.constants[at] = loops.sizes[order[at]] - 1
    return read, b.input(element, tuple(loops.sizes[i] for i in order))


def _rising(choices: Choices, loops: Loops) -> dict[int, int]:
    """A place of its own for each point of the reductions, rising in the written order, or falling."""
    place: dict[int, int] = {}
    is_vector = "vector" in loops.modes  # obeyed where places rise
    step = -1 if not is_vector and choices.chance(15) else 1
    for i in reversed(loops.reduction):
        place[i] = step
        step *= loops.sizes[i]
    return place


def _body(choices: Choices, element: str, where: str, place: str, order: _Order) -> list[str]:
    """The recurrence, sometimes of what is computed from the element."""
    lines = [f"%k = loop.point {place} : index", f"%p = arith.index_cast %k : index to {where}"]
    x = "%x"
    if choices.chance(30):
        x = "%e"
        if is_float(element):
            lines.append(f"%e = {choices.pick(('arith.negf', 'math.absf'))} %x : {element}")
        else:
            lines.append(f"%e = arith.muli %x, %x : {element}")
    sign = "g" if order.largest else "l"
    if is_float(element):
        lines += [
            f"%better = arith.cmpf o{sign}t, {x}, %value : {element}",
            f"%same = arith.cmpf oeq, {x}, %value : {element}",
            f"%nan = arith.cmpf une, {x}, {x} : {element}",
            f"%number = arith.cmpf oeq, %value, %value : {element}",
            "%first = arith.andi %nan, %number : i1",
            "%either = arith.ori %better, %first : i1",
            f"%none = arith.cmpf une, %value, %value : {element}",
            "%both = arith.andi %nan, %none : i1",
            "%alike = arith.ori %same, %both : i1",
        ]
    else:
        kind = "u" if order.unsigned else "s"
        lines += [
            f"%either = arith.cmpi {kind}{sign}t, {x}, %value : {element}",
            f"%alike = arith.cmpi eq, {x}, %value : {element}",
        ]
    lines += [
        f"%nearer = arith.cmpi s{'g' if order.last else 'l'}t, %p, %position : {where}",
        "%tie = arith.andi %alike, %nearer : i1",
        "%take = arith.ori %either, %tie : i1",
        f"%v = arith.select %take, {x}, %value : {element}",
        f"%q = arith.select %take, %p, %position : {where}",
        f"loop.yield %v, %q : {element}, {where}",
    ]
    return lines
