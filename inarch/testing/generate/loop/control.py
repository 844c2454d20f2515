"""What of a loop program is no nest: explicit loops, conditions, indices that are computed, calls."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from inarch.testing.generate.loop.buffers import Buffer
from inarch.testing.generate.loop.builder import LoopText
from inarch.testing.generate.loop.scalars import Body

_MODES = ("", " parallel", " unroll")


# ------------------------------------------------------------------------------ element by element


def elements(b: LoopText) -> None:
    """Loops that store a function of one buffer's elements in another, some of them only if."""
    choices = b.choices
    rank = choices.weighted([(6, 1), (3, 2), (1, 0)])
    sizes = tuple(choices.pick((4, 1, 7, 33, 8) if rank < 2 else (3, 1, 5, 8)) for _ in range(rank))
    names = [b.name("i") for _ in sizes]
    lowers = [choices.pick((0, 1)) if size > 1 else 0 for size in sizes]
    steps = [choices.pick((1, 2, 3)) for _ in sizes]
    body = _body(b, "f")
    kind = b.element()
    source, value = _source(b, body, kind, names, sizes)
    target = b.output(kind, sizes, whole=choices.chance(60))
    place = ", ".join(f"%{name}" for name in names)
    store = f"%{target.name}[{place}] : {target.type}"
    known = bool(target.mask.all())
    if choices.chance(50):
        lines = _stored_if(b, body, kind, source, value, store, [*names], known=known)
    else:
        new = body.grow([(value, kind)], kind, choices.integer(0, 2))
        lines = [*body.lines, f"memref.store {new}, {store}"]
    ahead = choices.integer(-1, 3) if rank == 2 and choices.chance(40) else None
    for at, bounds in reversed([*enumerate(zip(lowers, sizes, steps, strict=True))]):
        look = (names[0], ahead) if at == 1 and ahead is not None else None
        head = counted_loop(b, names[at], bounds, look)
        lines = [*head, *(f"  {line}" for line in (*lines, "loop.yield")), "}"]
    b.lines += lines
    ranges = [range(*bounds) for bounds in zip(lowers, sizes, steps, strict=True)]
    for point in itertools.product(*ranges):
        if ahead is None or point[1] < point[0] + ahead:
            target.mask[point] = True


def counted_loop(
    b: LoopText, name: str, bounds: tuple[int, int, int], look: tuple[str, int] | None = None
) -> list[str]:
    """The head of a loop with these bounds and step, which may be values, and what computes them.

    `look`: of another loop's index, and of how far the loop goes beyond it, at most to its upper bound.
    """
    choices = b.choices
    body = _body(b, "b")
    texts: list[str] = []
    is_known, begins_at_a_number = look is None, True
    for position, number in enumerate(bounds):
        form = choices.weighted([(8, "number"), (1, "constant"), (2, "sum")])
        text = str(number)
        if position == 1 and look is not None:
            text = _indexed(body, "minsi", _indexed(body, "addi", f"%{look[0]}", look[1]), number)
        elif form == "constant":
            text = _index(body, number)
        elif form == "sum":  # which nobody folds
            text, is_known = _indexed(body, "addi", _index(body, number - 2), 2), False
            begins_at_a_number &= position == 1
        texts.append(text)
    # A parallel loop with a computed begin is refused: threads cannot share it.
    mode = choices.pick(_MODES if is_known else _MODES[:2] if begins_at_a_number else _MODES[:1])
    by = "" if texts[2] == "1" else f" step {texts[2]}"
    return [*body.lines, f"loop.for %{name} = {texts[0]} to {texts[1]}{by}{mode} {{"]


def _source(
    b: LoopText, body: Body, kind: str, names: Sequence[str], sizes: Sequence[int]
) -> tuple[str, str]:
    """Loads from a new input at indices that are computed; what is loaded, twice where one load will do."""
    choices = b.choices
    shape: list[int] = []
    places: list[str] = []
    for name, size in zip(names, sizes, strict=True):
        form = choices.pick(("plain", "shifted", "reversed", "scaled", "clamped", "number"))
        index = f"%{name}"
        extent = size
        if form == "number":
            index, extent = _index(body, choices.integer(0, size - 1)), size
        elif form == "shifted":
            index, extent = _indexed(body, "addi", index, 1), size + 1
        elif form == "reversed":
            index = _indexed(body, "subi", _index(body, size - 1), index)
        elif form == "scaled":
            index, extent = _indexed(body, "muli", index, 2), 2 * size - 1
        elif form == "clamped":
            extent = (size + 1) // 2
            index = _indexed(body, "minsi", index, extent - 1)
        places.append(index)
        shape.append(extent)
    source = b.input(kind, tuple(shape))
    loaded = body.emit(f"memref.load %{source.name}[{', '.join(places)}] : {source.type}")
    if choices.chance(20) and names and kind in ("i32", "i64", "f32"):
        number = body.emit(f"arith.index_cast %{names[0]} : index to i64")
        narrow = body.cast(number, "i64", kind)
        loaded = body.grow([(loaded, kind), (narrow, kind)], kind, 0)
    return loaded, loaded


def _body(b: LoopText, hint: str) -> Body:
    """One whose names are those of no other."""
    return Body(b.choices, f"{b.name(hint)}_")


def _index(body: Body, number: int) -> str:
    return body.emit(f"arith.constant {number} : index")


def _indexed(body: Body, op: str, left: str, right: str | int) -> str:
    other = _index(body, right) if isinstance(right, int) else right
    return body.emit(f"arith.{op} {left}, {other} : index")


def _stored_if(
    b: LoopText,
    body: Body,
    kind: str,
    source: str,
    value: str,
    store: str,
    names: Sequence[str],
    *,
    known: bool,
) -> list[str]:
    """Stores one thing or the other: by two stores, by a value that is chosen, or nothing else."""
    choices = b.choices
    if names and choices.chance(60):
        limit = _index(body, choices.integer(0, 8))
        order = choices.pick(("slt", "sge", "eq"))
        test = body.emit(f"arith.cmpi {order}, %{names[-1]}, {limit} : index")
    else:
        test = body.test(source, body.number(kind), kind)
    head = [*body.lines]
    inside = _body(b, "g")
    new = inside.grow([(value, kind)], kind, choices.integer(1, 2))
    then = [f"  {line}" for line in inside.lines]
    form = choices.pick(("two stores", "one value", "one store" if known else "two stores"))
    if form == "one value":
        other = _body(b, "h")
        second = other.number(kind)
        picked = [f"%{b.name('r')}" for _ in range(choices.pick((1, 2)))]
        both = ", ".join([kind] * len(picked))
        yields = [", ".join([one] * len(picked)) for one in (new, second)]
        return [
            *head,
            f"{', '.join(picked)} = scf.if {test} -> ({both}) {{",
            *then,
            f"  scf.yield {yields[0]} : {both}",
            "} else {",
            *(f"  {line}" for line in other.lines),
            f"  scf.yield {yields[1]} : {both}",
            "}",
            f"memref.store {picked[-1]}, {store}",
        ]
    other_store = ["} else {", f"  memref.store {source}, {store}"] if form == "two stores" else []
    return [
        *head,
        f"scf.if {test} {{",
        *then,
        f"  memref.store {new}, {store}",
        *other_store,
        "}",
    ]


# ------------------------------------------------------------------------------ row by row


def rows(b: LoopText) -> None:
    """A loop over the rows of two matrices, and one over views of a row each, whose place is computed."""
    choices = b.choices
    count, width = choices.pick((3, 1, 5)), choices.pick((4, 1, 7, 17))
    extra, left = choices.pick((0, 2)), choices.pick((0, 1))
    kind = b.element()
    source = b.input(kind, (count + 1, width + extra + left))
    target = b.output(kind, (count, width + left), whole=choices.chance(60))
    i, j, zero = (b.name(hint) for hint in ("i", "j", "k"))
    head, row = [f"%{zero} = arith.constant 0 : index"], f"%{i}"
    if choices.chance(30):
        one, row = f"%{b.name('k')}", f"%{b.name('i')}"
        head += [f"{one} = arith.constant 1 : index", f"{row} = arith.addi %{i}, {one} : index"]
    v, v_type, read = _row(b, source, row, left, width)
    w, w_type, written = _row(b, target, f"%{i}", left, width)
    body = Body(choices, f"{b.name('f')}_")
    loaded = body.emit(f"memref.load {v}[%{zero}, %{j}] : {v_type}")
    value = body.grow([(loaded, kind)], kind, choices.integer(0, 3))
    b.lines += [
        *counted_loop(b, i, (0, count, 1)),
        *(f"  {line}" for line in (*head, read, written)),
        *(f"  {line}" for line in counted_loop(b, j, (0, width, 1))),
        *(f"    {line}" for line in body.lines),
        f"    memref.store {value}, {w}[%{zero}, %{j}] : {w_type}",
        "    loop.yield",
        "  }",
        "  loop.yield",
        "}",
    ]
    target.mask[:, left : left + width] = True


def _row(b: LoopText, found: Buffer, row: str, left: int, width: int) -> tuple[str, str, str]:
    """A view of a row that a loop chooses: its name, its type, its text."""
    name = f"%{b.name('s')}"
    kind = f"memref<1x{width}x{found.element}, strided<[{found.strides[0]}, 1], offset: ?>>"
    window = f"[{row}, {left}] [1, {width}] [1, 1]"
    return name, kind, f"{name} = memref.subview %{found.name}{window} : {found.type} to {kind}"


# ------------------------------------------------------------------------------ calls


def call(b: LoopText) -> None:
    """A call of a private function that scales one buffer into another."""
    choices = b.choices
    shape = (choices.pick((3, 8, 17)), choices.pick((1, 5, 16)))
    source = b.argument("f32", shape, filled=True, writable=False)
    target = b.output("f32", shape, whole=choices.chance(60))
    name = f"{b.prefix}part{len(b.callees)}"
    loops = f"i = {shape[0]}, j = {shape[1]}"
    body = Body(choices, "v")
    value = body.grow([("%x", "f32")], "f32", choices.integer(1, 3))
    b.callees.append(
        "\n".join(
            [
                f"func.func private @{name}(%a: {source.type}, %b: {target.type}) {{",
                f"  loop.nest ({loops}) ins(%a[i, j] : {source.type}) outs(%b[i, j] : {target.type}) {{",
                "  ^bb0(%x: f32, %o: f32):",
                *(f"    {line}" for line in body.lines),
                f"    loop.yield {value} : f32",
                "  }",
                "  func.return",
                "}",
            ]
        )
    )
    b.lines.append(
        f"loop.call @{name}(%{source.name}, %{target.name}) : {source.type}, {target.type}"
    )
    target.mask[...] = True
