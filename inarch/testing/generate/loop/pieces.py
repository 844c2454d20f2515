"""Random maps of several outputs: pieces of one buffer or of several, and who reads the whole of them.

    for i, j, l: y[2 i, j, l], y[2 i + 1, j, l] = f(x[i, j, l], ...)
    for i, j, l: z[i, j, l] = relu(y[i, j, l] + r[i, j, l])

The pieces are strided, or lie one after the other; sometimes one is missing. Along the last iterator there
are whole vectors, mostly.
"""

from __future__ import annotations

from itertools import product

from inarch.testing.generate.loop.buffers import Buffer, RandomAccess, readable, write
from inarch.testing.generate.loop.builder import LoopText
from inarch.testing.generate.loop.gathers import Read
from inarch.testing.generate.loop.nest_text import Loops, Write
from inarch.testing.generate.loop.nests import read
from inarch.testing.generate.loop.scalars import Body, is_float

_OUTER = (3, 2, 1, 5, 7)
_ALONG = (8, 4, 16, 24, 48, 2, 5, 12, 1, 20)
_COUNTS = (2, 1, 3, 4)
_FLOATS = ("arith.addf", "arith.mulf", "arith.subf", "arith.maximumf", "arith.minimumf")
_INTEGERS = ("arith.addi", "arith.muli", "arith.subi", "arith.maxsi", "arith.andi", "arith.xori")


def pieces(b: LoopText) -> None:
    """Adds a map of several outputs, and mostly a nest that reads its result."""
    choices = b.choices
    element = b.element() if choices.chance(30) else choices.pick(("f32", "f64", "i32", "i8"))
    sizes = [*(choices.pick(_OUTER) for _ in range(choices.integer(1, 2))), choices.pick(_ALONG)]
    counts = [*(choices.pick(_COUNTS) for _ in sizes[:-1]), 2 if choices.chance(8) else 1]
    loops = Loops(
        [f"i{n}" for n in range(len(sizes))], sizes, [False] * len(sizes), ["serial"] * len(sizes)
    )
    writes = _writes(b, loops, counts, element)
    outputs = [one.buffer for one in writes]
    reads = [_read(b, loops, outputs, element) for _ in range(choices.integer(1, 4))]
    _map(b, loops, reads, writes)
    for one in writes:
        write(one.buffer, one.access, loops.sizes)
    if choices.chance(75):
        _consumer(b, writes[0].buffer)


def _writes(b: LoopText, loops: Loops, counts: list[int], element: str) -> list[Write]:
    """All pieces, of one buffer or each of its own; now and then the last one is missing."""
    choices = b.choices
    places = list(product(*map(range, counts)))
    is_strided = not choices.chance(25)
    is_apart = choices.chance(15)
    if len(places) > 1 and choices.chance(10):
        places.pop()
    shape = tuple(size * count for size, count in zip(loops.sizes, counts, strict=True))
    found = None
    if not is_apart:
        other = choices.chance(30)
        found = b.output(element, shape, whole=True) if other else b.scratch(element, shape)
    writes: list[Write] = []
    for place in choices.shuffled(places) if choices.chance(20) else places:
        access = RandomAccess()
        for i, (at, count, size) in enumerate(zip(place, counts, loops.sizes, strict=True)):
            access.terms.append({i: count if is_strided else 1})
            access.constants.append(at if is_strided else at * size)
        target = found if found is not None else b.output(element, shape, whole=False)
        init = choices.pick(("0.0", "1.5") if is_float(element) else ("0", "1"))
        writes.append(Write(target, access, element, False, init if choices.chance(20) else None))
    return writes


def _read(b: LoopText, loops: Loops, outputs: list[Buffer], element: str) -> Read:
    """An operand that moves along with the outputs, mostly; else any."""
    if b.choices.chance(35):
        return read(b, loops, outputs, everywhere=True)
    by = b.choices.pick((1, 2))
    moved = b.choices.integer(0, 1)
    rank = len(loops.sizes)
    forms = [{i: by if i == 0 else 1} for i in range(rank)]
    access = RandomAccess(forms, [moved if i == 0 else 0 for i in range(rank)])
    shape = tuple(access.span(d, loops.sizes)[1] + 1 for d in range(rank))
    return b.input(element, shape), access, None


def _map(
    b: LoopText,
    loops: Loops,
    reads: list[Read],
    writes: list[Write],
) -> None:
    """The nest: each output is computed of some operands, mostly by what has a form for vectors."""
    choices = b.choices
    body = Body(choices, "v")
    names = [(f"%e{n}", found.element) for n, (found, _, _) in enumerate(reads)]
    is_plain = not choices.chance(25)
    yields: list[str] = []
    for number, one in enumerate(writes):
        leaves = [names[choices.integer(0, len(names) - 1)] for _ in range(2)]
        own = one.init is not None or readable(one.buffer, one.access, loops.sizes, padded=False)
        if own and choices.chance(15):
            leaves.append((f"%acc{number}", one.element))
        yields.append(
            _plain(body, leaves, one.element) if is_plain else body.grow(leaves, one.element, 1)
        )
    ins = ", ".join(
        f"%{found.name}[{access.text(loops.names)}]{f' pad {pad}' if pad else ''} : {found.type}"
        for found, access, pad in reads
    )
    outs = ", ".join(
        f"%{one.buffer.name}[{one.access.text(loops.names)}]"
        f"{f' init {one.init}' if one.init is not None else ''} : {one.buffer.type}"
        for one in writes
    )
    arguments = [f"{name}: {kind}" for name, kind in names]
    arguments += [f"%acc{n}: {one.element}" for n, one in enumerate(writes)]
    kinds = ", ".join(one.element for one in writes)
    b.lines += [
        f"loop.nest ({loops.text()}) ins({ins}) outs({outs}) {{",
        f"^bb0({', '.join(arguments)}):",
        *(f"  {line}" for line in body.lines),
        f"  loop.yield {', '.join(yields)} : {kinds}",
        "}",
    ]


def _plain(body: Body, leaves: list[tuple[str, str]], element: str) -> str:
    """The leaves put together by arithmetic that vectors have."""
    if element == "i1":
        return body.grow(leaves, element, 0)
    value, *others = (body.cast(name, kind, element) for name, kind in leaves)
    for other in others:
        op = body.choices.pick(_FLOATS if is_float(element) else _INTEGERS)
        value = body.emit(f"{op} {value}, {other} : {element}")
    return value


def _consumer(b: LoopText, found: Buffer) -> None:
    """A nest with a point for each element of a buffer, if all of it is written: bias, residual, ReLU."""
    choices = b.choices
    if not found.mask.all() or not found.shape:
        return
    rank = len(found.shape)
    names = [f"j{n}" for n in range(rank)]
    order = choices.shuffled(list(range(rank))) if choices.chance(15) else list(range(rank))
    space = ", ".join(f"{names[i]} = {found.shape[i]}" for i in order)
    point = RandomAccess([{i: 1} for i in range(rank)], [0] * rank)
    reads = [(found, point)]
    if choices.chance(50):
        reads.append((b.input(found.element, found.shape), point))
    if choices.chance(30):
        reads.append((b.input(found.element, found.shape[-1:]), RandomAccess([{rank - 1: 1}], [0])))
    if choices.chance(10):  # a neighbour, too: from the other end
        ends = [(found.shape[0] - 1) if i == 0 else 0 for i in range(rank)]
        back = RandomAccess([{i: -1 if i == 0 else 1} for i in range(rank)], ends)
        reads.append((found, back))
    target = b.output(found.element, found.shape, whole=choices.chance(70))
    body = Body(choices, "w")
    leaves = [(f"%e{n}", one.element) for n, (one, _) in enumerate(reads)]
    if choices.chance(75):
        value = _plain(body, leaves, found.element)
        if choices.chance(50) and found.element != "i1":
            last = "arith.maximumf" if is_float(found.element) else "arith.maxsi"
            value = body.emit(f"{last} {value}, {body.number(found.element)} : {found.element}")
    else:
        value = body.grow(leaves, found.element, 1)
    ins = ", ".join(one.at(access.text(names)) for one, access in reads)
    arguments = ", ".join(f"{name}: {kind}" for name, kind in [*leaves, ("%o", target.element)])
    b.lines += [
        f"loop.nest ({space}) ins({ins}) outs({target.at(point.text(names))}) {{",
        f"^bb0({arguments}):",
        *(f"  {line}" for line in body.lines),
        f"  loop.yield {value} : {target.element}",
        "}",
    ]
    write(target, point, found.shape)
    if not choices.chance(15):
        b.buffers = [one for one in b.buffers if one is not found]  # nothing else reads it
