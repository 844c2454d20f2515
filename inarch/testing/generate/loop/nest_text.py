"""A random `loop.nest` as text: its iterators and accesses, and the bodies that are drawn for it."""

from __future__ import annotations

from dataclasses import dataclass

from inarch.testing.generate.loop.buffers import Buffer, RandomAccess, index_text, readable
from inarch.testing.generate.loop.builder import LoopText
from inarch.testing.generate.loop.scalars import REDUCERS_FLOAT, REDUCERS_INT, Body, is_float


@dataclass
class Loops:
    """The iterators of a nest, outermost first."""

    names: list[str]
    sizes: list[int]
    reduces: list[bool]
    modes: list[str]
    scan: int | None = None
    """The position of one that scans: it does not reduce, and nothing else does."""

    @property
    def parallel(self) -> list[int]:
        """The positions of those that do not reduce: each of their points is written."""
        return [i for i, reduces in enumerate(self.reduces) if not reduces]

    @property
    def reduction(self) -> list[int]:
        """The positions of those that reduce."""
        return [i for i, reduces in enumerate(self.reduces) if reduces]

    @property
    def carries(self) -> bool:
        """Whether an accumulator is carried from point to point."""
        return bool(self.reduction) or self.scan is not None

    @property
    def first(self) -> int:
        """The position of the outermost one that carries; behind all where none does."""
        return next(iter(self.reduction), len(self.sizes) if self.scan is None else self.scan)

    def only(self, wanted: list[int]) -> list[int]:
        """The sizes, with 1 for iterators that are not `wanted`."""
        return [size if i in wanted else 1 for i, size in enumerate(self.sizes)]

    def text(self) -> str:
        """As they stand in a nest."""
        parts: list[str] = []
        for at, (name, size, mode) in enumerate(
            zip(self.names, self.sizes, self.modes, strict=True)
        ):
            kind = "reduction" if self.reduces[at] else "scan" if at == self.scan else ""
            words = [f"{name} = {size}", kind, mode]
            parts.append(" ".join(word for word in words if word and word != "serial"))
        return ", ".join(parts)


@dataclass
class Write:
    """An output: where it is written, and what its accumulator starts from."""

    buffer: Buffer
    access: RandomAccess
    element: str
    clip: bool
    init: str | None


def nest_text(
    b: LoopText,
    loops: Loops,
    reads: list[tuple[Buffer, RandomAccess, str | None]],
    writes: list[Write],
) -> list[str]:
    """The lines of the nest: its operands, and bodies made up on the way."""
    choices = b.choices
    ins = ", ".join(
        f"%{found.name}[{access.text(loops.names)}]{f' pad {pad}' if pad else ''} : {found.type}"
        for found, access, pad in reads
    )
    outs = ", ".join(
        f"%{one.buffer.name}[{one.access.text(loops.names)}]"
        f"{f' init {one.init}' if one.init is not None else ''}"
        f"{' clip' if one.clip else ''} : {one.buffer.type}"
        for one in writes
    )
    head = f"loop.nest ({loops.text()}) {f'ins({ins}) ' if reads else ''}outs({outs}) {{"
    steady = [
        number
        for number, (_, access, _) in enumerate(reads)
        if not access.uses() & set(loops.reduction)
    ]
    finishes = loops.carries and choices.chance(45)
    elements = [found.element for found, _, _ in reads]
    names = [f"%e{n}" for n in range(len(reads))]
    body = Body(choices, "v")
    yields: list[str] = []
    for number, one in enumerate(writes):
        leaves = [
            (name, element)
            for name, element in zip(names, elements, strict=True)
            if len(writes) == 1 or not choices.chance(30)
        ]
        leaves += _place(body, loops, list(range(len(loops.sizes))))
        value = body.grow(leaves, one.element, choices.integer(0, 3))
        accumulator = (f"%acc{number}", one.element)
        if loops.scan is not None and choices.chance(30):  # whatever it is: it has an order
            value = body.grow([accumulator, (value, one.element)], one.element, 1)
        elif loops.carries and not (one.access.picks and choices.chance(40)):
            value = _reduced(body, f"%acc{number}", value, one.element)
        elif _may_use_accumulator(one, loops) and choices.chance(40):
            value = body.grow([accumulator, (value, one.element)], one.element, 0)
        yields.append(value)
    types = [one.element for one in writes]
    lines = [head, *_region(names, elements, types, body, yields)]
    if not finishes:
        return [*lines, "}"]
    last = Body(choices, "w")
    yields = [
        last.grow(
            [
                (f"%acc{n}", one.element),
                *((names[i], elements[i]) for i in steady),
                *_place(last, loops, loops.parallel),
            ],
            one.element,
            choices.integer(0, 2),
        )
        for n, one in enumerate(writes)
    ]
    return [*lines, "} finish {", *_region(names, elements, types, last, yields), "}"]


def _place(body: Body, loops: Loops, seen: list[int]) -> list[tuple[str, str]]:
    """Now and then where a point is, as a number: linear in one or two of the iterators that are `seen`."""
    choices = body.choices
    if not choices.chance(12):
        return []
    used = choices.shuffled(seen)[: choices.integer(0, 2)]
    form = {i: choices.weighted([(6, 1), (1, 2), (1, -1), (1, 7)]) for i in used}
    text = index_text(form, choices.weighted([(4, 0), (1, 3)]), loops.names)
    found = body.emit(f"loop.point {text} : index")
    element = choices.pick(("i32", "i64", "i16", "i8", "i1"))
    return [(body.emit(f"arith.index_cast {found} : index to {element}"), element)]


def _may_use_accumulator(one: Write, loops: Loops) -> bool:
    if one.init is not None:
        return True
    sizes = loops.only(loops.parallel)
    return readable(one.buffer, one.access, sizes, padded=one.clip)


def _reduced(body: Body, accumulator: str, value: str, element: str) -> str:
    """One step of a reduction whose order does not matter; sometimes only where something holds."""
    if element == "i1":
        op = body.choices.pick(("arith.xori", "arith.andi", "arith.ori"))
    else:
        op = body.choices.pick(REDUCERS_FLOAT if is_float(element) else REDUCERS_INT)
    if body.choices.chance(
        3
    ):  # the same at every point, so that it is of no matter which one is the last
        return body.number(element)
    if body.choices.chance(15):  # a guard: the others add what changes nothing
        test = body.test(value, body.number(element), element)
        moved = body.emit(f"{op} {accumulator}, {value} : {element}")
        return body.emit(f"arith.select {test}, {moved}, {accumulator} : {element}")
    return body.emit(f"{op} {accumulator}, {value} : {element}")


def _region(
    names: list[str], elements: list[str], types: list[str], body: Body, yields: list[str]
) -> list[str]:
    arguments = [f"{name}: {kind}" for name, kind in zip(names, elements, strict=True)]
    arguments += [f"%acc{n}: {kind}" for n, kind in enumerate(types)]
    return [
        f"^bb0({', '.join(arguments)}):",
        *(f"  {line}" for line in body.lines),
        f"  loop.yield {', '.join(yields)} : {', '.join(types)}",
    ]
