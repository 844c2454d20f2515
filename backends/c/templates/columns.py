"""Reductions whose output is contiguous: neighbouring elements of the output are the lanes of a vector.

    C[m, n] = init; for k: C[m, n] op= update(A[m, k], B[k, n], ...); C[m, n] = finish(C[m, n], ...)

MR rows by as many vectors as the registers hold stay in registers for the whole reduction: products of any
dtype, pooling, sums over an outer axis. Rows share what does not move along them. What the last whole vector
leaves over is done one by one. The terms of an element are added in the order of the nest, many floats in
blocks (`write/value/blocks.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from math import prod

from inarch.backends.c.templates._lanes import Writer, block_of, widest
from inarch.backends.c.templates._points import (
    address,
    anywhere,
    loader,
    scalars,
    sizes_of,
    step_cycles,
)
from inarch.backends.c.write.value.blocks import LongSum, flushed
from inarch.backends.c.write.value.vectors import Value
from inarch.core.dtypes import DTYPES, DType
from inarch.machine.target import Target
from inarch.meaning import Normal, normal
from inarch.microkernel import Instance, Microkernel
from inarch.microkernel.template import Template, Workload

MOST_ROWS = 14
MOST_VECTORS = 4
MOST_REDUCTIONS = 4
"""Loops of one function."""
SHARED = 4
"""Rows from which on packing what they share costs less than it gains."""


def make(workload: Workload, target: Target) -> Microkernel | None:
    """The family for a workload whose output and operands have a contiguous axis in common."""
    column = _column(workload)
    reductions = [at for at, axis in enumerate(workload.axes) if axis.is_reduction]
    if column is None or not 0 < len(reductions) <= MOST_REDUCTIONS:
        return None
    reads = workload.read_by(workload.update)
    size = workload.axes[column].size
    lanes = target.vector_bytes // widest(workload.dtypes((*reads, workload.output)))
    while lanes > size:
        lanes //= 2
    if lanes < 2:
        return None
    row = _row(workload, column)
    iterators = {} if row is None else {"m": row}
    iterators |= {"n": column} | {f"k{number}": axis for number, axis in enumerate(reductions)}
    rows = range(1, min(MOST_ROWS, workload.axes[row].size) + 1) if row is not None else ()
    most = min(MOST_VECTORS, size // lanes)
    draft = Microkernel(
        computes="",
        dtypes={},
        params={"MR": rows} if rows else {},
        where=("MR + 2 <= VECTOR_REGISTERS",) if rows else (),
        layout=workload.layout(iterators, column, (*reads, workload.output)),
        contract=False,
        adds_in_blocks=True,
        generate=partial(_generate, lanes=lanes, most=most),
        cost=partial(_cost, lanes=lanes, most=most),
        doc=f"Neighbouring outputs in {lanes} lanes of up to {most} vectors.",
    )
    return workload.kernel(iterators, {"m": "MR"}, draft)


TEMPLATE = Template(make, doc=__doc__ or "")


def _column(workload: Workload) -> int | None:
    """The axis along which the output is contiguous; None where operands are not, and no copy would pay."""
    axes, output = workload.axes, workload.operands[workload.output]
    parallel = [at for at, axis in enumerate(axes) if not axis.is_reduction]
    column = next((at for at in parallel if output.strides[at] == 1), None)
    reads = [workload.operands[name] for name in workload.read_by(workload.update)]
    if column is None or not any(operand.strides[column] for operand in reads):
        return None
    for operand in reads:
        shared = any(
            not operand.strides[at] and axes[at].size >= SHARED for at in parallel if at != column
        )
        if operand.strides[column] not in (0, 1) and not (operand.is_constant or shared):
            return None
    return column


def _row(workload: Workload, column: int) -> int | None:
    """The axis along which most operands stay where they are, the innermost of equals."""
    reads = [workload.operands[name] for name in workload.read_by(workload.update)]
    output = workload.operands[workload.output]
    others = [at for at, axis in enumerate(workload.axes) if not axis.is_reduction and at != column]
    stays = {at: sum(not operand.strides[at] for operand in reads) for at in others}
    return max(others, key=lambda at: (stays[at], -output.strides[at]), default=None)


# ------------------------------------------------------------------------------------ the code


def _generate(instance: Instance, *, lanes: int, most: int) -> str:
    rows = instance.params.get("MR", 1)
    count = _vectors(instance, rows, most)
    writer = Writer(instance, lanes)
    writer.line("int64_t n = 0;")
    if count > 1:
        writer.open(f"for (; n + {count * lanes} <= N; n += {count * lanes})")
        Tile(instance, writer, rows, count, lanes).write()
        writer.close()
    writer.open(f"for (; n + {lanes} <= N; n += {lanes})")
    Tile(instance, writer, rows, 1, lanes).write()
    writer.close()
    # gcc 12 would warn of a loop that it does not see to be empty where N is known.
    writer.open(f"for (; N % {lanes} != 0 && n < N; n++)")
    Tile(instance, writer, rows, 1, 1).write()
    writer.close()
    return writer.function()


def _vectors(instance: Instance, rows: int, most: int) -> int:
    """As many as the registers hold beside a vector of an operand each, and a broadcast."""
    return max(1, min(most, (instance.target.vector_registers - 1) // (rows + 1)))


@dataclass
class Tile:
    """The code of `rows` by `vectors` accumulators of `lanes` lanes, from column `n` on."""

    instance: Instance
    writer: Writer
    rows: int
    vectors: int
    lanes: int
    name: str = ""
    """What tells its accumulators from those of another tile of the function."""
    shape: Normal = field(init=False)

    def __post_init__(self) -> None:
        self.shape = normal(self.instance.meaning)

    def write(self) -> None:
        """All of the tile: its begin, its reduction, its end."""
        shape, writer = self.shape, self.writer
        points = list(product(range(self.rows), range(self.vectors)))
        for point in points:
            self.begin(point)
        block = block_of(str(shape.operator), shape.update, self.dtype)
        sums = self._sums(points)
        if block is not None:
            count = " * ".join(str(loop.size) for loop in shape.reductions)
            writer.line(f"const int is_long = {count} > 2 * {block};")
            self._lines(["int64_t since = 0;", "(void)since;"])
            self._lines(line for each in sums for line in each.declare())
        *outer, inner = shape.reductions
        for loop in outer:
            name = loop.name
            writer.open(f"for (int64_t {name} = 0; {name} < {loop.size}; {name}++)")
        name, end = inner.name, inner.size
        if block is None:
            writer.open(f"for (int64_t {name} = 0; {name} < {end}; {name}++)")
        else:
            writer.line(f"int64_t {name} = 0;")
            writer.open(f"while ({name} < {end})")
            rest = f"is_long && {end} - {name} > {block}"
            writer.line(f"const int64_t begin = {name};")
            writer.line(f"const int64_t stop = {rest} ? {name} + {block} : {end};")
            writer.open(f"for (; {name} < stop; {name}++)")
        loaded: dict[str, Value] = {}
        for point in points:
            at = loader(writer, self.place(point), "n", self.lanes, loaded)
            old = Value(self.register(point), is_vector=self.lanes > 1)
            found = writer.updated(str(shape.operator), old, shape.update, self.dtype, at)
            writer.line(f"{self.register(point)} = {found.text};")
        writer.close()
        if block is not None:
            writer.line("since += stop - begin;")
            writer.open(f"if (is_long && since >= {block})")
            self._lines([*flushed(sums), "since = 0;"])
            writer.close()
            writer.close()
        for _ in outer:
            writer.close()
        if block is not None:
            self._end_blocks(sums)
        for point in points:
            self.end(point)

    def _lines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.writer.line(line)

    def _sums(self, points: Sequence[tuple[int, int]]) -> list[LongSum]:
        """Of each accumulator, where there are so many terms that they are added up in blocks."""
        kind, _ = self._kinds
        names = [f"{m}_{v}" for m, v in points]
        of = self.name
        return [
            LongSum(f"c{of}_{at}", f"h{of}_{at}", f"l{of}_{at}", self.dtype, kind) for at in names
        ]

    def _end_blocks(self, sums: Sequence[LongSum]) -> None:
        self.writer.open("if (is_long)")
        self._lines(flushed(sums))
        for each in sums:
            self.writer.line(f"{each.part} = {each.total} + {each.lost};")
        self.writer.close()

    @property
    def dtype(self) -> DType:
        """Of the accumulators."""
        return DTYPES[self.writer.dtypes[self.shape.target.operand]]

    def register(self, point: tuple[int, int]) -> str:
        """The name of an accumulator."""
        return f"c{self.name}_{point[0]}_{point[1]}"

    def place(self, point: tuple[int, int]) -> dict[str, str | int]:
        """Iterator -> where an accumulator is along it."""
        m, v = point
        return {"m": m, "n": f"(n + {v * self.lanes})" if v else "n"}

    @property
    def _kinds(self) -> tuple[str, str]:
        """The type of an accumulator, and the same at any element's address."""
        dtype, writer = self.dtype, self.writer
        if self.lanes == 1:
            return dtype.c, dtype.c
        return writer.vector(dtype), writer.memory(dtype)

    def begin(self, point: tuple[int, int]) -> None:
        """Declares an accumulator."""
        shape, writer = self.shape, self.writer
        kind, memory = self._kinds
        if shape.init is None:
            start = f"*(const {memory} *)({address(shape.target, self.place(point), 'n')})"
        else:
            first = writer.value(shape.init, self.dtype, scalars({}, shape.target, ""))
            start = writer.splat(first, self.dtype) if self.lanes > 1 else first.text
        writer.variable(kind, self.register(point), start)

    def end(self, point: tuple[int, int]) -> None:
        """Finishes and stores an accumulator."""
        shape, writer, dtype, name = self.shape, self.writer, self.dtype, self.register(point)
        place = self.place(point)
        _, memory = self._kinds
        if shape.finish is not None:
            at = anywhere(writer, place, "n", self.lanes, Value(name, self.lanes > 1), shape.target)
            found = writer.value(shape.finish, dtype, at)
            name = writer.splat(found, dtype) if self.lanes > 1 else found.text
        writer.line(f"*({memory} *)({address(shape.target, place, 'n')}) = {name};")


# ------------------------------------------------------------------------------------ the cost


def _cost(instance: Instance, *, lanes: int, most: int) -> float:
    """Cycles of a call: the steps of its tiles, and two for each accumulator's begin and end."""
    shape = normal(instance.meaning)
    rows = instance.params.get("MR", 1)
    vectors = _vectors(instance, rows, most)
    sizes: Mapping[str, int] = sizes_of(instance, shape)
    steps = prod(sizes[loop.name] for loop in shape.reductions)
    wide, rest = divmod(sizes["n"], lanes * vectors)
    tiles: Sequence[tuple[int, int]] = ((vectors, wide), (1, sum(divmod(rest, lanes))))
    machine, nbytes = instance.machine, lanes * widest(instance.kernel.dtypes)
    cycles = machine.begin
    for count, number in tiles:
        step = step_cycles(machine, shape, {"m": rows, "n": count}, nbytes)
        cycles += number * (steps * max(step, machine.fma_latency) + 2 * rows * count)
    return cycles
