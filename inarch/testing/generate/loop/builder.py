"""A function of `loop` that grows: buffers, and what may be read when."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from inarch.core.dtypes import DTYPES
from inarch.core.lazy import np
from inarch.ir.context import store_of
from inarch.ir.payload.constants import constant_attribute
from inarch.testing.generate.choices import Choices
from inarch.testing.generate.inputs import random_array
from inarch.testing.generate.loop.buffers import Buffer, buffer
from inarch.testing.generate.loop.scalars import Body

ELEMENTS = ("f32", "f64", "i32", "i8", "i64", "i16", "i1")


@dataclass
class LoopText:
    """One function on buffers that grows, as lines of text."""

    choices: Choices
    context: object
    prefix: str = ""
    lines: list[str] = field(default_factory=list[str])
    heads: list[str] = field(default_factory=list[str])
    """Allocations and constants: before everything else."""
    arguments: list[str] = field(default_factory=list[str])
    buffers: list[Buffer] = field(default_factory=list[Buffer])
    callees: list[str] = field(default_factory=list[str])
    kind: str = "f32"
    count: int = 0

    def element(self) -> str:
        """An element type: mostly the program's."""
        return self.choices.pick(ELEMENTS) if self.choices.chance(12) else self.kind

    def name(self, hint: str) -> str:
        """A new name."""
        self.count += 1
        return f"{hint}{self.count}"

    def input(self, element: str, shape: tuple[int, ...]) -> Buffer:
        """A new argument that is only read, or a constant."""
        small = math.prod(shape) <= 4096
        if small and self.choices.chance(20):
            return self.constant(element, shape)
        return self.argument(element, shape, filled=True, writable=False)

    def argument(
        self, element: str, shape: tuple[int, ...], *, filled: bool, writable: bool
    ) -> Buffer:
        """A new argument; a writable one is a result, `filled` too: it holds something before."""
        found = buffer(self.name("b"), element, shape, filled=filled, writable=writable)
        mark = " {inarch.result}" if writable else ""
        self.arguments.append(f"%{found.name}: {found.type}{mark}")
        self.buffers.append(found)
        return found

    def output(self, element: str, shape: tuple[int, ...], *, whole: bool) -> Buffer:
        """A new buffer that a nest writes: a result, or scratch memory (sometimes a view of it)."""
        if whole:
            # A result that holds something before is an update in place of the caller's memory.
            filled = self.choices.chance(20)
            return self.argument(element, shape, filled=filled, writable=True)
        found = self.scratch(element, shape)
        if self.choices.chance(40):
            self.fill(found)
        return found

    def scratch(self, element: str, shape: tuple[int, ...]) -> Buffer:
        """A new buffer of scratch memory that nothing has written."""
        found = buffer(self.name("t"), element, shape, filled=False, writable=True)
        self.heads.append(f"%{found.name} = loop.alloc : {found.type}")
        self.buffers.append(found)
        return found

    def fill(self, found: Buffer) -> None:
        """Adds a nest that writes all of it."""
        names = [f"i{n}" for n in range(len(found.shape))]
        loops = ", ".join(f"{n} = {size}" for n, size in zip(names, found.shape, strict=True))
        body = Body(self.choices, "v")
        value = body.number(found.element)
        self.lines += [
            f"loop.nest ({loops}) outs(%{found.name}[{', '.join(names)}] : {found.type}) {{",
            f"^bb0(%o: {found.element}):",
            *(f"  {line}" for line in body.lines),
            f"  loop.yield {value} : {found.element}",
            "}",
        ]
        found.mask[...] = True

    def show(self, found: Buffer) -> None:
        """Adds a nest that copies it to a result."""
        target = self.argument(found.element, found.shape, filled=False, writable=True)
        names = [f"i{n}" for n in range(len(found.shape))]
        loops = ", ".join(f"{n} = {size}" for n, size in zip(names, found.shape, strict=True))
        place = ", ".join(names)
        self.lines += [
            f"loop.nest ({loops}) ins({found.at(place)}) outs({target.at(place)}) {{",
            f"^bb0(%x: {found.element}, %o: {found.element}):",
            f"  loop.yield %x : {found.element}",
            "}",
        ]

    def constant(self, element: str, shape: tuple[int, ...]) -> Buffer:
        """A new `loop.constant`."""
        found = buffer(self.name("c"), element, shape, filled=True, writable=False)
        generator = np.random.default_rng(self.choices.integer(0, 999))
        array = random_array(DTYPES[element], shape, generator)
        value = constant_attribute(array, store_of(self.context), found.name)  # pyright: ignore[reportArgumentType]
        self.heads.append(f"%{found.name} = loop.constant {value} : {found.type}")
        self.buffers.append(found)
        return found
