"""What an instance does after the reduction: `finish` of each accumulator, then the stores to C.

All of it is on vectors of all lanes. Expressions of + - * / neg abs max min relu stay in the registers of the
tile. With a function of `VECTORS` the tile goes through a buffer in L1 and a loop over its vectors: the
functions of `backends/c/write/value/elementary.py` would else be written out once a register.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from inarch.backends.c.microkernels._ordered import ordered_macros
from inarch.backends.c.write.value.elementary import VECTORS, vector_helpers, vector_name
from inarch.core.scalars.functions import SIGNS
from inarch.meaning import Apply, Element, Expression, Number, Term
from inarch.microkernel import Instance

_IN_REGISTERS = (*SIGNS, "neg", "abs", "max", "min", "relu")
EPILOGUE = (*_IN_REGISTERS, *VECTORS)
"""The functions that `finish` may have."""


@dataclass(frozen=True)
class Accumulator:
    """One vector register of the tile, and the iterators' values there (all but those of the lanes)."""

    register: str
    values: Mapping[str, int]


@dataclass(frozen=True)
class Tile:
    """The accumulators when the reduction is done, in the order of their iterators' values."""

    accumulators: Sequence[Accumulator]
    sizes: Mapping[str, int]
    """Of the iterators of the tile's rows and vectors, in order."""
    lanes: int
    lane: str
    """The iterator along a vector."""
    written: Element
    """The operand that the kernel writes, at the meaning's indices."""


def finish_lines(instance: Instance, tile: Tile, *, is_full: bool = False) -> list[str]:
    """The statements, of one level of indentation; they know the types `vec`, `mem` and `ints`.

    Of a full tile the accumulators take all registers: nothing of its epilogue is kept in one before.
    """
    finish = instance.finish
    if finish is None:
        return [_store(tile, each.values, each.register) for each in tile.accumulators]
    if all(name in _IN_REGISTERS for name in _functions(finish)):
        numbers = _numbers(finish) if is_full else {}
        return [
            *(_not_before(finish, tile, numbers) if is_full else []),
            *(
                line
                for each in tile.accumulators
                for line in _in_registers(finish, tile, each, numbers)
            ),
        ]
    return [_own(line, instance) for line in _through_buffer(finish, tile)]


def _not_before(finish: Expression, tile: Tile, numbers: Mapping[str, str]) -> list[str]:
    """What is read, and numbers, are not known before they are needed (a number is stored and read again).

    Gcc 12 else loads them before the loop around the calls, keeps them across the reduction, and moves
    accumulators to the stack for them.
    """
    read = {each.operand for each in elements_of(finish)} - {tile.written.operand}
    lines = [f'    __asm__ volatile("" : "+r"({name}));' for name in sorted(read)]
    for text, name in numbers.items():
        lines += [f"    float {name} = {text};", f'    __asm__ volatile("" : "+m"({name}));']
    return lines


def _numbers(finish: Expression) -> dict[str, str]:
    """The literals of numbers -> names for them; relu has a 0."""
    values = [each.value for each in _parts(finish) if isinstance(each, Number)]
    values += [0.0] if "relu" in _functions(finish) else []
    return {text: f"number{at}" for at, text in enumerate(dict.fromkeys(map(_literal, values)))}


def finish_helpers(instance: Instance, lanes: int) -> str:
    """The functions that `finish_lines` calls, for vectors of so many lanes; each instance has its own."""
    used = set(_functions(instance.finish)) if instance.finish is not None else set[str]()
    macros = ordered_macros(lanes) if used & {"max", "min", "relu"} else ""
    called = [name for name in VECTORS if name in used]
    return macros + _own(vector_helpers(called, lanes), instance)


def _own(text: str, instance: Instance) -> str:
    return text.replace("inarch_", f"{instance.symbol}_")


def stride(operand: str, dimension: int) -> str:
    """The C function's parameter for a stride."""
    return f"{operand}_{dimension}"


def address(element: Element, values: Mapping[str, int | str]) -> str:
    """`C + 2 * C_0 + q * C_1`: where an element is, for the iterators in `values` (0 for others)."""
    parts = [
        product
        for dimension, index in enumerate(element.indices)
        for term in index
        for product in _product(term, values, stride(element.operand, dimension))
    ]
    return " + ".join([element.operand, *parts])


def _product(term: Term, values: Mapping[str, int | str], by: str) -> Iterator[str]:
    value = 1 if term.iterator is None else values.get(term.iterator, 0)
    if value == 0:
        return
    factors = [str(each) for each in (*term.factors, value) if each != 1]
    yield " * ".join([*factors, by])


def _in_registers(
    finish: Expression, tile: Tile, at: Accumulator, numbers: Mapping[str, str]
) -> list[str]:
    lines = _finished(finish, tile, at.register, at.values, numbers)
    return ["    {", *(f"    {line}" for line in lines), "    }"]


def _finished(
    finish: Expression,
    tile: Tile,
    register: str,
    values: Mapping[str, int | str],
    numbers: Mapping[str, str],
) -> list[str]:
    """The statements that finish and store what a register has, for the iterators' values or names."""
    writer = _Vectors(tile, register, values, [], numbers)
    value = writer.vector(writer.value(finish))
    return [*writer.lines, _store(tile, values, value)]


@dataclass(frozen=True)
class _Text:
    """An expression: the same in all lanes, or a vector."""

    text: str
    is_vector: bool


@dataclass(frozen=True)
class _Vectors:
    """Writes an expression of one accumulator on all lanes at once."""

    tile: Tile
    register: str
    values: Mapping[str, int | str]
    lines: list[str]
    numbers: Mapping[str, str]
    """Literals -> the variables that hold them."""

    def value(self, expression: Expression) -> _Text:
        if isinstance(expression, Number):
            text = _literal(expression.value)
            return _Text(self.numbers.get(text, text), is_vector=False)
        if isinstance(expression, Element):
            return self._element(expression)
        parts = [self.value(argument) for argument in expression.arguments]
        if expression.function in ("max", "min", "relu"):
            return _Text(self._ordered(expression, parts), is_vector=True)
        texts = [part.text for part in parts]
        is_vector = any(part.is_vector for part in parts)
        if expression.function == "neg":
            return _Text(f"(-{texts[0]})", is_vector)
        if expression.function == "abs":
            name = self.named(parts[0])
            return _Text(f"(vec)((ints){name} & 0x7fffffff)", is_vector=True)
        if expression.function in VECTORS:
            call = vector_name(expression.function, self.tile.lanes)
            return _Text(f"{call}({self.named(parts[0])})", is_vector=True)
        return _Text(f"({texts[0]} {SIGNS[expression.function]} {texts[1]})", is_vector)

    def _element(self, element: Element) -> _Text:
        if element.operand == self.tile.written.operand:
            return _Text(self.register, is_vector=True)
        at = address(element, self.values)
        along = _along(element, self.tile.lane)
        if not along:
            return _Text(f"*({at})", is_vector=False)
        name = self._fresh()
        # Strides are constants where the function is inlined: one branch is left.
        self.lines.extend(
            [
                f"    vec {name} = {{0}};",
                f"    if ({along} == 1) {{",
                f"        {name} = *(const mem *)({at});",
                "    } else {",
                f"        for (int64_t lane = 0; lane < {self.tile.lanes}; lane++) {{",
                f"            {name}[lane] = ({at})[lane * ({along})];",
                "        }",
                "    }",
            ]
        )
        return _Text(name, is_vector=True)

    def _ordered(self, expression: Apply, parts: Sequence[_Text]) -> str:
        """The larger or smaller, NaN when either is: one instruction where one side is a number."""
        if expression.function == "relu":
            return self._bounded("MAX", parts[0], self.value(Number(0.0)))
        large = expression.function == "max"
        for number, one, other in zip(expression.arguments, parts, parts[::-1], strict=True):
            if isinstance(number, Number) and not math.isnan(number.value):
                return self._bounded("MAX" if large else "MIN", other, one)
        a, b = (self.named(part) for part in parts)
        mask = f"(ints)(({a} {'>' if large else '<'} {b}) | ({a} != {a}))"
        return self.named(_Text(f"(vec)(({mask} & (ints){a}) | (~{mask} & (ints){b}))", True))

    def _bounded(self, function: str, value: _Text, bound: _Text) -> str:
        constant, x = self.named(bound), self.named(value)
        return self.named(_Text(f"INARCH_{function}_V{self.tile.lanes}F32({constant}, {x})", True))

    def named(self, value: _Text) -> str:
        name = self._fresh()
        self.lines.append(f"    const vec {name} = {self.vector(value)};")
        return name

    def vector(self, value: _Text) -> str:
        return value.text if value.is_vector else f"({value.text} - (vec){{0}})"

    def _fresh(self) -> str:
        return f"t{len(self.lines)}"


def _store(tile: Tile, values: Mapping[str, int | str], value: str) -> str:
    return f"    *(mem *)({address(tile.written, values)}) = {value};"


def _through_buffer(finish: Expression, tile: Tile) -> list[str]:
    lines = [
        f"    float buffer[{len(tile.accumulators) * tile.lanes}] __attribute__((aligned(64)));",
        *(
            f"    *(vec *)(buffer + {number * tile.lanes}) = {each.register};"
            for number, each in enumerate(tile.accumulators)
        ),
        "    const float *next = buffer;",
    ]
    pad = ""
    for name, size in tile.sizes.items():
        pad += "    "
        lines.append(f"{pad}for (int64_t {name} = 0; {name} < {size}; {name}++) {{")
    finished = _finished(finish, tile, "done", {name: name for name in tile.sizes}, {})
    lines += [
        f"{pad}    const vec done = *(const vec *)next;",
        *(f"{pad}{line}" for line in finished),
        f"{pad}    next += {tile.lanes};",
    ]
    lines += [f"{'    ' * depth}}}" for depth in range(len(tile.sizes), 0, -1)]
    return lines


def _along(element: Element, lane: str) -> str:
    """The distance of neighbouring lanes; empty where all lanes read one element."""
    return " + ".join(
        product
        for dimension, index in enumerate(element.indices)
        for term in index
        if term.iterator == lane
        for product in _product(term, {lane: 1}, stride(element.operand, dimension))
    )


def _parts(expression: Expression) -> Iterator[Expression]:
    """An expression and all that it is made of."""
    yield expression
    if isinstance(expression, Apply):
        for argument in expression.arguments:
            yield from _parts(argument)


def elements_of(finish: Expression | None) -> list[Element]:
    """What an epilogue reads, from left to right."""
    return [] if finish is None else [each for each in _parts(finish) if isinstance(each, Element)]


def _functions(finish: Expression) -> list[str]:
    return [each.function for each in _parts(finish) if isinstance(each, Apply)]


def _literal(value: float) -> str:
    if math.isnan(value):
        return '__builtin_nanf("")'
    if math.isinf(value):
        return "__builtin_inff()" if value > 0 else "(-__builtin_inff())"
    return f"({float(value)!r}f)" if math.copysign(1, value) < 0 else f"{float(value)!r}f"
