"""Loops of computed length: bounds that are loaded, a condition that an iteration writes, state in place."""

from __future__ import annotations

from inarch.testing.generate.loop.builder import LoopText
from inarch.testing.generate.loop.scalars import Body

_MOST = 7
"""Of an index: bounds are loaded, and cut to what the rows are."""


def repeat(b: LoopText) -> None:
    """`state = f(state, rows[i])` for a computed range, in place; sometimes in another such loop.

    An iteration stores the condition of the next one: whether a number of its own is in an order with its
    index.
    """
    choices = b.choices
    width = choices.pick((4, 1, 7, 17))
    kind = b.kind if b.kind != "i1" else "f32"
    state = b.argument(kind, (width,), filled=True, writable=True)
    rows = b.input(kind, (_MOST + 1, width))
    flag = b.name("t") if choices.chance(70) else None
    if flag is not None:
        b.lines.append(f"%{flag} = loop.alloc : memref<i1>")
    lines = _loop(b, _iteration(b, kind, state.name, rows.name, width, flag), flag)
    b.lines += _loop(b, lines, None) if choices.chance(25) else lines


def _iteration(
    b: LoopText, kind: str, state: str, rows: str, width: int, flag: str | None
) -> list[str]:
    """The body of the innermost loop, whose index is `%INDEX`."""
    choices = b.choices
    row, body = b.name("s"), Body(choices, f"{b.name('v')}_")
    x, old = (f"%{b.name(hint)}" for hint in "xo")
    value = body.grow([(x, kind), (old, kind)], kind, choices.integer(1, 2))
    view = f"memref<1x{width}x{kind}, strided<[{width}, 1], offset: ?>>"
    whole = f"memref<{_MOST + 1}x{width}x{kind}>"
    lines = [
        f"%{row} = memref.subview %{rows}[%INDEX, 0] [1, {width}] [1, 1] : {whole} to {view}",
        f"loop.nest (j = {width}) ins(%{row}[0, j] : {view}) outs(%{state}[j] : memref<{width}x{kind}>) {{",
        f"^bb0({x}: {kind}, {old}: {kind}):",
        *(f"  {line}" for line in body.lines),
        f"  loop.yield {value} : {kind}",
        "}",
    ]
    if flag is None:
        return lines
    limit, test = (f"%{b.name(hint)}" for hint in "kf")
    return [
        *lines,
        f"{limit} = arith.constant {choices.integer(0, _MOST)} : index",
        f"{test} = arith.cmpi {choices.pick(('slt', 'ne', 'sge'))}, %INDEX, {limit} : index",
        f"memref.store {test}, %{flag}[] : memref<i1>",
    ]


def _loop(b: LoopText, body: list[str], flag: str | None) -> list[str]:
    """A loop around these lines; bounds from a constant or from memory, between 0 and the number of rows."""
    choices = b.choices
    index = b.name("i")
    head: list[str] = []
    lower = _number(b, head, choices.integer(0, 2), choices.pick((0, 0, 1)))
    upper = _number(b, head, choices.integer(0, _MOST), choices.pick((1, 0)))
    step = _number(b, head, choices.pick((1, 2, 3, 9)), choices.pick((0, 1)), low=-1)
    condition = ""
    if flag is not None:
        first = f"%{b.name('f')}"
        head.append(
            f"{first} = arith.cmpi {choices.pick(('sle', 'slt'))}, {lower}, {upper} : index"
        )
        head.append(f"memref.store {first}, %{flag}[] : memref<i1>")
        condition = f" if %{flag} : memref<i1>"
    inside = [f"  {line.replace('%INDEX', f'%{index}')}" for line in (*body, "loop.yield")]
    return [
        *head,
        f"loop.while %{index} = {lower} to {upper} step {step}{condition} {{",
        *inside,
        "}",
    ]


def _number(b: LoopText, head: list[str], number: int, loaded: int, low: int = 0) -> str:
    """The name of a number; where it is `loaded`, one from memory, cut to what is from `low` to `_MOST`."""
    name = f"%{b.name('n')}"
    if not loaded:
        head.append(f"{name} = arith.constant {number} : index")
        return name
    source = b.input("i64", (1,))
    zero, least, most, wide, cast, cut = (f"%{b.name('n')}" for _ in range(6))
    head += [
        f"{zero} = arith.constant 0 : index",
        f"{least} = arith.constant {low} : index",
        f"{most} = arith.constant {_MOST} : index",
        f"{wide} = memref.load %{source.name}[{zero}] : {source.type}",
        f"{cast} = arith.index_cast {wide} : i64 to index",
        f"{cut} = arith.minsi {cast}, {most} : index",
        f"{name} = arith.maxsi {cut}, {least} : index",
    ]
    return name
