"""Products with weights of a few bits: words of i32 are taken apart in registers, outputs are lanes.

    C[m, n] += scale[n, b] * sum over i of X_i[m, b, d] * (f32((W[n, b, d] >> bits i) & mask) - zero[n, b])

A word of each output is a lane of one load; each of its 32 / bits fields is a shift and a mask away, or, with
AVX-512, a shift and a look-up in a vector of sixteen numbers, less the zero point already. A block is summed
up, then scaled, for all rows of the tile; its accumulators wait in memory meanwhile where registers are few.
That differs from the meaning where a scale is infinite, or a sum overflows: the tile of a result that is no
finite number is computed once more as the meaning says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from math import prod

from inarch.backends.c.templates._lanes import Writer
from inarch.backends.c.templates._points import address, sizes_of
from inarch.backends.c.templates.columns import Tile
from inarch.backends.c.write.value.vectors import Value, fused
from inarch.core.dtypes import DTYPES
from inarch.machine.target import Target
from inarch.meaning import Apply, Element, Expression, Number, elements, normal
from inarch.microkernel import Instance, Microkernel
from inarch.microkernel.template import Template, Workload

MOST_ROWS = 8
"""Rows that are a power of two apart share a set of the first level, which has so many ways or more."""
MOST_VECTORS = 4
CHAINS = 8
"""Multiply-adds that begin before one ends, or more: so many sums are summed up side by side."""
SPARE = 5
"""Registers for the table, a broadcast, and what is taken apart."""
_TABLE = 16
"""Numbers of a vector that a look-up picks from: the lanes of f32 with AVX-512."""

_PICK = """#ifndef INARCH_PICK
#if defined(__clang__)
#define INARCH_PICK(table, at) __builtin_ia32_permvarsf512(table, at)
#else
#define INARCH_PICK(table, at) __builtin_shuffle(table, at)
#endif
#endif
"""
"""Lane by lane the number of a table that the lowest four bits say: `vpermps`."""


@dataclass(frozen=True)
class Weights:
    """The parts of an update, `(x_0 * (field_0 - zero) + x_1 * ...) * scale`."""

    word: Element
    scale: Element
    zero: Element | float
    factors: tuple[Element, ...]
    bits: int

    @property
    def mask(self) -> int:
        """What a field of the word holds at most."""
        return (1 << self.bits) - 1


def weights_of(update: Expression) -> Weights | None:
    """The parts of an update that is of this form; None of another one."""
    match update:
        case Apply("mul", (Apply() as total, Element() as scale)):
            terms = _terms(total)
        case _:
            return None
    fields = [_field(term) for term in terms]
    if not terms or 32 % len(terms) or any(each is None for each in fields):
        return None
    bits = 32 // len(terms)
    found = [each for each in fields if each is not None]
    _, word, _, _, zero = found[0]
    mask = (1 << bits) - 1
    for at, (_, each, shift, kept, less) in enumerate(found):
        if (each, shift, kept, less) != (word, bits * at, mask, zero):
            return None
    return Weights(word, scale, zero, tuple(each[0] for each in found), bits)


def _terms(total: Expression) -> list[Expression]:
    """The terms of a sum, in order."""
    match total:
        case Apply("add", (left, right)):
            return [*_terms(left), right]
        case _:
            return [total]


def _field(term: Expression) -> tuple[Element, Element, int, int, Element | float] | None:
    """Of `x * (f32(and(shift_right(word, shift), mask)) - zero)`: x, word, shift, mask, zero."""
    match term:
        case Apply(
            "mul",
            (
                Element() as x,
                Apply("sub", (Apply("f32", (Apply("and", (inner, Number(mask))),)), less)),
            ),
        ):
            pass
        case _:
            return None
    match less:
        case Number(value=value):
            zero: Element | float = value
        case Element() | Apply("f32", (Element(),)):
            (zero,) = elements(less)
        case _:
            return None
    match inner:
        case Element():
            return x, inner, 0, int(mask), zero
        case Apply("shift_right", (Element() as word, Number(value=shift))):
            return x, word, int(shift), int(mask), zero
        case _:
            return None


def make(workload: Workload, target: Target) -> Microkernel | None:
    """The family for a workload of that form whose outputs lie side by side."""
    parts = weights_of(workload.update)
    if parts is None or workload.operator != "add":
        return None
    word, scale, output = (
        workload.operands[name]
        for name in (parts.word.operand, parts.scale.operand, workload.output)
    )
    axes = range(len(workload.axes))
    parallel = [at for at in axes if not workload.axes[at].is_reduction]
    columns = [at for at in parallel if word.strides[at]]
    rows = [at for at in parallel if not word.strides[at] and output.strides[at]]
    outer = [at for at in axes if workload.axes[at].is_reduction and scale.strides[at]]
    inner = [at for at in axes if workload.axes[at].is_reduction and not scale.strides[at]]
    lanes = target.vector_bytes // 4
    if len(columns) != 1 or output.strides[columns[0]] != 1 or len(outer) > 1 or len(inner) > 1:
        return None
    if not (outer or inner) or lanes < 2 or workload.axes[columns[0]].size < lanes:
        return None
    zeros = [parts.zero] if isinstance(parts.zero, Element) else []
    by_block = [parts.scale.operand, *(each.operand for each in zeros)]
    if any(not workload.operands[name].strides[columns[0]] for name in by_block):
        return None
    floats = [workload.output, parts.scale.operand, *(each.operand for each in parts.factors)]
    if word.dtype != "i32" or {workload.operands[name].dtype for name in floats} != {"f32"}:
        return None
    iterators = {"m": rows[-1]} if rows else {}
    iterators |= {"n": columns[0]}
    for name, found in (("b", outer), ("d", inner)):
        iterators |= {name: found[0]} if found else {}
    layout: dict[str, tuple[int | str, ...]] = {
        name: _demanded(workload, name, [*iterators.values()], columns[0])
        for name in (parts.word.operand, *by_block, workload.output)
    }
    most = min(MOST_VECTORS, workload.axes[columns[0]].size // lanes)
    draft = Microkernel(
        computes="",
        dtypes={},
        params={
            **({"MR": range(1, min(MOST_ROWS, workload.axes[rows[-1]].size) + 1)} if rows else {}),
            "NR": [lanes * count for count in range(1, most + 1)],
        },
        where=(f"(MR + 1) * NR // {lanes} + {SPARE} <= VECTOR_REGISTERS",) if rows else (),
        layout=layout,
        contract=False,
        generate=partial(_generate, lanes=lanes),
        cost=partial(_cost, lanes=lanes),
        doc=f"Weights of {parts.bits} bits, {lanes} outputs in a vector.",
    )
    return workload.kernel(iterators, {"m": "MR", "n": "NR"}, draft)


def _demanded(
    workload: Workload, name: str, axes: Sequence[int], column: int
) -> tuple[int | str, ...]:
    """An operand's strides: outputs are lanes, and what a step reads follows what the last one read."""
    moving = [axis for axis in axes if workload.operands[name].strides[axis]]
    dense = moving[-1] if name != workload.output else column
    return tuple(1 if axis == column else "NR" if axis == dense else "*" for axis in moving)


TEMPLATE = Template(make, doc=__doc__ or "")


# ------------------------------------------------------------------------------------ the code


def _generate(instance: Instance, *, lanes: int) -> str:
    rows, vectors = instance.params.get("MR", 1), instance.params["NR"] // lanes
    writer = Writer(instance, lanes)
    writer.line("const int64_t n = 0;")
    tile = _Tile(instance, writer, rows, vectors, lanes)
    tile.write()
    return (_PICK if tile.has_table else "") + writer.function()


@dataclass
class _Tile(Tile):
    """`rows` by `vectors` accumulators of all blocks."""

    parts: Weights = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        found = weights_of(self.shape.update)
        assert found is not None, "the template asked"
        self.parts = found

    @property
    def has_table(self) -> bool:
        """Whether fields are looked up."""
        return has_table(self.instance, self.parts, self.lanes)

    @property
    def points(self) -> list[tuple[int, int]]:
        """The accumulators: row and vector."""
        return list(product(range(self.rows), range(self.vectors)))

    def write(self) -> None:
        writer = self.writer
        if self.has_table:
            known = self.parts.zero if not isinstance(self.parts.zero, Element) else 0
            numbers = ", ".join(f"{float((at & self.parts.mask) - known)}f" for at in range(_TABLE))
            writer.line(f"const {writer.vector(DTYPES['f32'])} table = {{{numbers}}};")
        for point in self.points:
            self.begin(point)
        self._blocks()
        self._check()
        for point in self.points:
            self.end(point)

    def _blocks(self) -> None:
        """The reduction: the sum of each block is scaled, and added."""
        writer, kind = self.writer, self.writer.vector(DTYPES["f32"])
        loops = {loop.name: loop.size for loop in self.shape.reductions}
        chains = self._chains()
        if "b" in loops:
            writer.open(f"for (int64_t b = 0; b < {loops['b']}; b++)")
        scales = [self._vector(self.parts.scale, v) for v in range(self.vectors)]
        zero = self.parts.zero
        zeros = (
            [self._vector(zero, v) for v in range(self.vectors)]
            if isinstance(zero, Element)
            else []
        )
        sums = {
            (point, chain): f"t_{chain}_{point[0]}_{point[1]}"
            for point in self.points
            for chain in range(chains)
        }
        for name in sums.values():
            writer.variable(kind, name, "{0}")
        if "d" in loops:
            writer.open(f"for (int64_t d = 0; d < {loops['d']}; d++)")
        words = [self._vector(self.parts.word, v) for v in range(self.vectors)]
        for number, factor in enumerate(self.parts.factors):
            weights = [
                self._weight(words[v], number, zeros[v] if zeros else None)
                for v in range(self.vectors)
            ]
            for m in range(self.rows):
                x = writer.named("float", f"*({address(factor, {'m': m})})")
                for v, weight in enumerate(weights):
                    self._add(sums[(m, v), number % chains], Value(x), weight)
        if "d" in loops:
            writer.close()
        for m, v in self.points:
            total = " + ".join(sums[(m, v), chain] for chain in range(chains))
            self._add(self.register((m, v)), Value(f"({total})", is_vector=True), scales[v])
        if "b" in loops:
            writer.close()

    def _chains(self) -> int:
        """Sums of each accumulator: as many as have multiply-adds begin, and registers hold."""
        count, held = len(self.points), self.instance.target.vector_registers - SPARE
        chains = 4
        while chains > 1 and (count * chains > CHAINS or count * (chains + 1) > held):
            chains //= 2
        return chains

    def _add(self, into: str, x: Value, weight: Value) -> None:
        f32, writer = DTYPES["f32"], self.writer
        found = fused([x, weight, Value(into, is_vector=True)], f32, self.lanes, writer.scope)
        writer.line(f"{into} = {found.text};")

    def _vector(self, element: Element, v: int) -> Value:
        """A vector of an operand, as f32 where it is a zero point of integers."""
        writer, dtype = self.writer, DTYPES[self.writer.dtypes[element.operand]]
        place = address(element, self.place((0, v)), "n")
        text = f"*(const {writer.memory(dtype)} *)({place})"
        if element != self.parts.word and dtype.name != "f32":
            text = f"__builtin_convertvector({text}, {writer.vector(DTYPES['f32'])})"
            dtype = DTYPES["f32"]
        return Value(writer.named(writer.vector(dtype), text), is_vector=True)

    def _weight(self, word: Value, number: int, zero: Value | None) -> Value:
        """A field of the words less the zero point."""
        writer, kind, bits = self.writer, self.writer.vector(DTYPES["f32"]), self.parts.bits
        shifted = f"({word.text} >> {bits * number})" if number else word.text
        if self.has_table:
            text = f"INARCH_PICK(table, {shifted})"
            less = "" if zero is None else f" - {zero.text}"
        else:
            text = f"__builtin_convertvector({shifted} & {self.parts.mask}, {kind})"
            less = f" - {self.parts.zero}f" if zero is None else f" - {zero.text}"
        return Value(writer.named(kind, f"{text}{less}"), is_vector=True)

    def _check(self) -> None:
        """Computes as the meaning says what is not finite, and leaves: a finite number less itself is 0."""
        writer, ints = self.writer, self.writer.vector(DTYPES["i32"])
        names = [self.register(point) for point in self.points]
        writer.line(
            f"const {ints} odd = {' | '.join(f'({ints})({name} - {name})' for name in names)};"
        )
        writer.line("int32_t is_odd = 0;")
        writer.line(f"for (int lane = 0; lane < {self.lanes}; lane++) is_odd |= odd[lane];")
        writer.open("if (is_odd)")
        writer.open(f"for (int64_t m = 0; m < {self.rows}; m++)")
        writer.open(f"for (int64_t at = 0; at < {self.vectors * self.lanes}; at += {self.lanes})")
        _Careful(self.instance, writer, 1, 1, self.lanes, "r").write()
        writer.close()
        writer.close()
        writer.line("return;")
        writer.close()


class _Careful(Tile):
    """One vector at `m` and `at`, by the template of all sums."""

    def place(self, point: tuple[int, int]) -> dict[str, str | int]:
        return {"m": "m", "n": "at"}


def has_table(instance: Instance, parts: Weights, lanes: int) -> bool:
    """Whether fields are looked up: a vector holds all that they may be."""
    return lanes == _TABLE and "avx512f" in instance.target.features and parts.bits <= 4


# ------------------------------------------------------------------------------------ the cost


def _cost(instance: Instance, *, lanes: int) -> float:
    """Cycles of a call: multiply-adds, and what takes words apart, on twice as many ports.

    The sum of each block takes two more, and a load and a store of its accumulator.
    """
    shape = normal(instance.meaning)
    parts = weights_of(shape.update)
    assert parts is not None, "the template asked"
    machine, nbytes, sizes = instance.machine, 4 * lanes, sizes_of(instance, shape)
    rows, vectors = instance.params.get("MR", 1), instance.params["NR"] // lanes
    per = len(parts.factors)
    pace = machine.fma.cycles(nbytes)
    apart = 2 if has_table(instance, parts, lanes) else 4
    apart += isinstance(parts.zero, Element)
    products = per * vectors * rows
    others = per * vectors * apart
    loads = per * rows * machine.loads.cycles(4) + vectors * machine.loads.cycles(nbytes)
    step = max(products * pace, (products + others) * pace / 2, loads)
    steps = prod(sizes[loop.name] for loop in shape.reductions)
    blocks = sizes.get("b", 1) * 2 * pace + 2
    return machine.begin + steps * step + blocks * rows * vectors
