"""Programs of `loop`: nests, explicit loops, views and calls, step by step."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from inarch.dialects import new_context
from inarch.ir.text import parse_module
from inarch.ir.verify import verify_module
from inarch.testing.generate.choices import Choices
from inarch.testing.generate.loop.arg_reduce import search
from inarch.testing.generate.loop.buffers import Buffer, buffer
from inarch.testing.generate.loop.builder import ELEMENTS, LoopText
from inarch.testing.generate.loop.control import call, elements, rows
from inarch.testing.generate.loop.nests import nest
from inarch.testing.generate.loop.pieces import pieces
from inarch.testing.generate.loop.repeat import repeat
from inarch.testing.generate.loop.scatters import scatter
from inarch.testing.generate.loop.trees import tree
from inarch.testing.generate.program import GeneratedProgram, program_of


def _view(b: LoopText) -> None:
    """A subview, or a reshape, of a buffer: later nests read and write through it."""
    found = b.choices.pick(b.buffers[::-1]) if b.buffers else b.input("f32", (4, 6))
    name = b.name("s")
    if found.is_dense and b.choices.chance(40) and found.shape:
        shape = _reshaped(b.choices, found.shape)
        made = Buffer(
            name, found.element, shape, found.root, found.mask.reshape(shape), found.writable
        )
        made.strides = buffer(name, found.element, shape, filled=False, writable=False).strides
        b.lines.append(f"%{name} = loop.reshape %{found.name} : {found.type} to {made.type}")
    else:
        offsets, sizes, steps = list[int](), list[int](), list[int]()
        for size in found.shape:
            step = b.choices.weighted([(6, 1), (1, 2), (1, 3)])
            most = -(-size // step)
            count = b.choices.integer(min(1, most), most)
            room = size - 1 - (count - 1) * step if count else 0
            offsets.append(b.choices.integer(0, max(room, 0)))
            sizes.append(count)
            steps.append(step)
        pieces = tuple(
            slice(at, at + count * step, step)
            for at, count, step in zip(offsets, sizes, steps, strict=True)
        )
        made = Buffer(
            name,
            found.element,
            tuple(sizes),
            found.root,
            found.mask[(*pieces, ...)],  # an array also of rank 0: it shares memory
            found.writable,
            tuple(s * by for s, by in zip(found.strides, steps, strict=True)),
            found.offset + sum(at * s for at, s in zip(offsets, found.strides, strict=True)),
        )
        b.lines.append(
            f"%{name} = memref.subview %{found.name}{offsets} {sizes} {steps} : "
            f"{found.type} to {made.type}"
        )
        b.buffers.append(made)
        return
    b.buffers.append(made)


def _reshaped(choices: Choices, shape: tuple[int, ...]) -> tuple[int, ...]:
    kind = choices.pick(("flat", "ones", "split"))
    if kind == "ones":
        at = choices.integer(0, len(shape))
        return (*shape[:at], 1, *shape[at:])
    if kind == "split":
        size = shape[-1]
        factors = [f for f in range(1, size + 1) if size % f == 0] or [1]
        factor = choices.pick(factors)
        return (*shape[:-1], factor, size // factor)
    return (math.prod(shape),)


STEPS: list[tuple[int, Callable[[LoopText], None]]] = [
    (12, nest),
    (2, _view),
    (2, elements),
    (1, rows),
    (1, call),
    (2, tree),
    (1, search),
    (1, repeat),
    (1, scatter),
    (2, pieces),
]


# ---------------------------------------------------------------------------------- programs


def loop_program(choices: Choices, *, large: bool = False) -> GeneratedProgram:
    """A module of one public function on buffers, sometimes of two."""
    context = new_context()
    texts: list[str] = []
    choices.enter("head")
    for number in range(2 if choices.chance(5) else 1):
        choices.enter("head")
        name = "main" if number == 0 else f"other{number}"
        b = LoopText(choices, context, f"{name}_")
        b.kind = "f32" if not choices.chance(40) else choices.pick(ELEMENTS)
        steps(b, STEPS, 40 if large else 10)
        texts += [*b.callees, function_text(b, name)]
    return finished("loop", context, "\n".join(texts), choices)


def steps(b: LoopText, kinds: Sequence[tuple[int, Callable[[LoopText], None]]], most: int) -> None:
    """Adds up to `most` steps of these kinds, and begins the end of the function."""
    percent = b.choices.pick((75, 60, 90)) if most <= 10 else 96
    count = 0
    while count < most and b.choices.more(percent):
        b.choices.enter("step")
        b.choices.weighted(kinds)(b)
        count += 1
    b.choices.enter("close")


def function_text(b: LoopText, name: str) -> str:
    """The function: scratch memory that is whole is copied to a result at its end, mostly."""
    scratch = [one for one in b.buffers if one.name.startswith("t") and one.mask.all()]
    for found in scratch:
        if not b.choices.chance(30):
            b.show(found)
    if not any("inarch.result" in argument for argument in b.arguments):
        b.show(b.argument("f32", (3,), filled=True, writable=False))
    inner = [*b.heads, *b.lines, "func.return"]
    text = "\n".join(f"  {line}" for line in inner)
    return f"func.func @{name}({', '.join(b.arguments)}) {{\n{text}\n}}"


def finished(level: str, context: object, text: str, choices: Choices) -> GeneratedProgram:
    """The program of a text."""
    module = parse_module(context, text, "<generated>")  # pyright: ignore[reportArgumentType]
    verify_module(module)
    return program_of(level, context, module, choices.record)  # pyright: ignore[reportArgumentType]
