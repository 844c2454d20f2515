"""Loops around nests: tiles of a product, scratch of each iteration, views that move, in place."""

from __future__ import annotations

from dataclasses import dataclass, field

from inarch.testing.generate.loop.buffers import Buffer
from inarch.testing.generate.loop.builder import LoopText
from inarch.testing.generate.loop.control import counted_loop
from inarch.testing.generate.loop.scalars import REDUCERS_FLOAT, REDUCERS_INT, Body, is_float


@dataclass(frozen=True)
class _Part:
    """A buffer in the loop: its name and its type."""

    name: str
    type: str

    def at(self, place: str) -> str:
        """It as an operand of a nest."""
        return f"%{self.name}[{place}] : {self.type}"


@dataclass
class _Loop:
    """A loop's body that grows."""

    b: LoopText
    kind: str
    lines: list[str] = field(default_factory=list[str])

    def view(self, source: _Part, place: str, shape: tuple[int, ...], row: int) -> _Part:
        """A window of a matrix with so many elements a row, or of a vector."""
        strides = "[1]" if len(shape) == 1 else f"[{row}, 1]"
        sizes = "x".join(map(str, shape))
        made = _Part(
            self.b.name("s"), f"memref<{sizes}x{self.kind}, strided<{strides}, offset: ?>>"
        )
        ones = ", ".join("1" for _ in shape)
        extent = ", ".join(map(str, shape))
        self.lines.append(
            f"%{made.name} = memref.subview %{source.name}[{place}] [{extent}] [{ones}] : "
            f"{source.type} to {made.type}"
        )
        return made

    def scratch(self, shape: tuple[int, ...]) -> _Part:
        """Memory that each iteration has for itself."""
        made = _Part(self.b.name("t"), f"memref<{'x'.join(map(str, shape))}x{self.kind}>")
        self.lines.append(f"%{made.name} = loop.alloc : {made.type}")
        return made

    def nest(self, loops: str, ins: list[str], out: str, init: str = "", ops: int = 1) -> None:
        """`out = f(ins)`, or where there is an `init`, `out = reduce(out, f(ins))`; by random ops."""
        choices, kind = self.b.choices, self.kind
        body = Body(choices, f"{self.b.name('v')}_")
        arguments = [f"%{self.b.name('x')}" for _ in ins]
        total = f"%{self.b.name('o')}"
        value = body.grow([(name, kind) for name in arguments], kind, choices.integer(0, ops))
        if init:
            reducers = REDUCERS_FLOAT if is_float(kind) else REDUCERS_INT
            value = body.emit(f"{choices.pick(reducers[:2])} {total}, {value} : {kind}")
        place, _, kind_of = out.partition(" : ")
        taken = f" ins({', '.join(ins)})" if ins else ""
        heads = ", ".join(f"{name}: {kind}" for name in (*arguments, total))
        self.lines += [
            f"loop.nest ({loops}){taken} outs({place}{init} : {kind_of}) {{",
            f"^bb0({heads}):",
            *(f"  {line}" for line in body.lines),
            f"  loop.yield {value} : {kind}",
            "}",
        ]


def tree(b: LoopText) -> None:
    """A loop over blocks of rows: a product into scratch, rows of it reduced, both into the block's result.

    Sometimes in another loop over blocks of columns, and sometimes with a part that is done in place.
    """
    choices = b.choices
    kind = b.kind if b.kind != "i1" else "f32"
    rows, count = choices.pick((2, 1, 4, 7, 14)), choices.pick((3, 1, 2, 5))
    width, blocks = choices.pick((4, 1, 8, 17, 32, 48)), choices.pick((1, 1, 2, 3))
    depth = choices.pick((3, 1, 8, 16, 64))
    whole = width * blocks
    a = _of(b.input(kind, (rows * count, depth)))
    w = _of(b.input(kind, (depth, whole)))
    result = b.output(kind, (rows * count, whole), whole=True)
    result.mask[...] = True
    y = _of(result)
    loop = _Loop(b, kind)
    i, j = b.name("i"), b.name("j")
    row = loop.view(a, f"%{i}, 0", (rows, depth), depth)
    if blocks == 1:
        column, at = w, f"%{i}, 0"
        _block(loop, row, column, loop.view(y, at, (rows, width), whole), (rows, width, depth))
    else:
        inner = _Loop(b, kind)
        column = inner.view(w, f"0, %{j}", (depth, width), whole)
        at = f"%{i}, %{j}"
        _block(inner, row, column, inner.view(y, at, (rows, width), whole), (rows, width, depth))
        loop.lines += _for(b, j, whole, width, inner.lines)
    b.lines += _for(b, i, rows * count, rows, loop.lines)


def _of(found: Buffer) -> _Part:
    return _Part(found.name, found.type)


def _for(b: LoopText, index: str, end: int, step: int, lines: list[str]) -> list[str]:
    inside = [f"  {line}" for line in (*lines, "loop.yield")]
    return [*counted_loop(b, index, (0, end, step)), *inside, "}"]


def _block(loop: _Loop, row: _Part, column: _Part, out: _Part, sizes: tuple[int, int, int]) -> None:
    rows, width, depth = sizes
    choices = loop.b.choices
    zero = "0.0" if is_float(loop.kind) else "0"
    t = loop.scratch((rows, width)) if choices.chance(80) else out
    order = choices.pick(
        (
            f"m = {rows}, n = {width}, k = {depth} reduction",
            f"n = {width}, m = {rows}, k = {depth} reduction",
        )
    )
    loop.nest(order, [row.at("m, k"), column.at("k, n")], t.at("m, n"), f" init {zero}")
    if choices.chance(40):  # in place
        loop.nest(f"m = {rows}, n = {width}", [t.at("m, n")], t.at("m, n"), ops=2)
    ins = [t.at("m, n")]
    if choices.chance(50):
        r = loop.scratch((rows,))
        loop.nest(
            f"m = {rows}, n = {width} reduction", [t.at("m, n")], r.at("m"), f" init {zero}", ops=0
        )
        ins.append(r.at("m"))
    if t is not out or len(ins) > 1:
        loop.nest(f"m = {rows}, n = {width}", ins, out.at("m, n"), ops=2)
