"""Reductions along what is contiguous: neighbouring terms of one sum are the lanes of a vector.

    C[m] = init; for k: C[m] op= update(A[m, k], B[k], ...); C[m] = finish(C[m], ...)

Sums along the last axis (softmax, layer norm, averages, distances), of any dtype and body. Each row has
`CHAINS` vectors of partial results, so that no addition waits for the one before; they are combined at
the end, the vectors first, then their lanes by halves, then what the last whole vector left over, and last
the init. This order is the same for every member, so that equal rows come out equal. Sums of floats are in
blocks (`write/value/blocks.py`) where there are more terms than a few hundred.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from math import prod

from inarch.backends.c.templates._lanes import Writer, block_of, identity, widest
from inarch.backends.c.templates._points import (
    address,
    loader,
    moves,
    scalars,
    sizes_of,
    step_cycles,
)
from inarch.backends.c.types import literal
from inarch.backends.c.write.value.blocks import LongSum
from inarch.backends.c.write.value.elementary import OURS, TOGETHER
from inarch.backends.c.write.value.vectors import Value
from inarch.core.dtypes import DTYPES, DType
from inarch.machine.target import Target
from inarch.meaning import Apply, Iterator, Normal, Size, elements, normal
from inarch.microkernel import Instance, Microkernel
from inarch.microkernel.template import Template, Workload

CHAINS = 4
_SMALLEST = 16
"""Bytes of the vectors that every machine with vectors has."""
_LINE = 64
"""Bytes that come from memory together."""
MOST_ROWS = 4
MOST_OUTER = 3
"""Reductions around the contiguous one in one function."""


def make(workload: Workload, target: Target) -> Microkernel | None:
    """The family for a workload whose operands are contiguous along a reduction."""
    axes = workload.axes
    along = _along(workload)
    outer = [at for at, axis in enumerate(axes) if axis.is_reduction and at != along]
    if along is None or len(outer) > MOST_OUTER:
        return None
    reads = workload.read_by(workload.update)
    lanes = target.vector_bytes // widest(workload.dtypes((*reads, workload.output)))
    while lanes > axes[along].size:
        lanes //= 2
    if lanes < 2:
        return None
    parallel = [at for at, axis in enumerate(axes) if not axis.is_reduction]
    row = max(parallel, key=lambda at: axes[at].size, default=None)
    iterators = {} if row is None else {"m": row}
    iterators |= {f"k{number}": axis for number, axis in enumerate(outer)} | {"k": along}
    draft = Microkernel(
        computes="",
        dtypes={},
        params={"MR": range(1, min(MOST_ROWS, axes[row].size) + 1)} if row is not None else {},
        where=(f"MR * {CHAINS} < VECTOR_REGISTERS",) if row is not None else (),
        layout=workload.layout(iterators, along, reads),
        contract=False,
        adds_in_blocks=True,
        generate=partial(_generate, lanes=lanes),
        cost=partial(_cost, lanes=lanes),
        doc=f"Neighbouring terms in {lanes} lanes of {CHAINS} vectors.",
    )
    return workload.kernel(iterators, {"m": "MR"}, draft)


TEMPLATE = Template(make, doc=__doc__ or "")


def _along(workload: Workload) -> int | None:
    """The reduction along which whatever moves is contiguous, or a constant."""
    reads = [workload.operands[name] for name in workload.read_by(workload.update)]
    for at, axis in enumerate(workload.axes):
        moving = [operand for operand in reads if operand.strides[at]]
        contiguous = all(operand.strides[at] == 1 or operand.is_constant for operand in moving)
        if axis.is_reduction and moving and contiguous:
            return at
    return None


# ------------------------------------------------------------------------------------ the code


def _generate(instance: Instance, *, lanes: int) -> str:
    writer = Writer(instance, lanes)
    _Rows(instance, writer, instance.params.get("MR", 1), lanes).write()
    return writer.function()


@dataclass
class _Rows:
    instance: Instance
    writer: Writer
    rows: int
    lanes: int
    shape: Normal = field(init=False)

    def __post_init__(self) -> None:
        self.shape = normal(self.instance.meaning)

    @property
    def _dtype(self) -> DType:
        return DTYPES[self.writer.dtypes[self.shape.target.operand]]

    def write(self) -> None:
        writer, dtype = self.writer, self._dtype
        kind, none = writer.vector(dtype), identity(str(self.shape.operator), dtype)
        for m in range(self.rows):
            for chain in range(CHAINS):
                writer.variable(kind, f"c_{m}_{chain}", writer.splat(Value(none), dtype))
            writer.variable(dtype.c, f"s_{m}", none)
        *outer, inner = self.shape.reductions
        block = block_of(str(self.shape.operator), self.shape.update, dtype)
        if block is not None:
            self._begin_blocks(outer, inner.size, block)
        for loop in outer:
            name = loop.name
            writer.open(f"for (int64_t {name} = 0; {name} < {loop.size}; {name}++)")
        writer.line("int64_t k = 0;")
        if block is not None:
            self._blocks(inner.size, block, is_of_rows=bool(outer))
        else:
            self._steps(CHAINS, self.lanes, inner.size)
        self._steps(1, self.lanes, inner.size)
        self._steps(1, 1, inner.size)
        if outer and block is not None:
            writer.line(f"since += {CHAINS + self.lanes};")
            self._flush(f"since >= {block}", with_rest=True)
        for _ in outer:
            writer.close()
        for m in range(self.rows):
            self._end(m)

    def _steps(self, chains: int, lanes: int, end: Size) -> None:
        """The loop over whole steps from `k` on."""
        step = chains * lanes
        self.writer.open(f"for (; k + {step} <= {end}; k += {step})")
        self._terms(chains, lanes)
        self.writer.close()

    # -- sums in blocks

    def _blocks(self, size: Size, block: int, *, is_of_rows: bool) -> None:
        """The whole steps in blocks. A block of short rows is of several: `since` counts its steps."""
        writer, step = self.writer, CHAINS * self.lanes
        writer.open(f"while (k + {step} <= {size})")
        rest = f"is_long && {size} - k > {block} * {step}"
        writer.line(f"const int64_t stop = {rest} ? k + {block} * {step} : {size};")
        if is_of_rows:
            writer.line("const int64_t begin = k;")
        self._steps(CHAINS, self.lanes, "stop")
        if is_of_rows:
            writer.line(f"since += (k - begin) / {step};")
        whole = f"since >= {block}" if is_of_rows else f"stop < {size}"
        self._flush(whole, with_rest=is_of_rows)
        writer.close()
        # Compilers do not see it, and keep loops for a rest that is not there.
        writer.line(f"k = {size} - {size} % {step};")

    def _sums(self) -> list[LongSum]:
        dtype, kind = self._dtype, self.writer.vector(self._dtype)
        return [LongSum(f"c_{m}_0", f"h_{m}", f"l_{m}", dtype, kind) for m in range(self.rows)]

    def _begin_blocks(self, outer: Sequence[Iterator], size: Size, block: int) -> None:
        """Whether there are so many terms, and of several rows, how many a block has by now (`since`)."""
        sizes = [str(loop.size) for loop in outer]
        rounds = f"({size} / {CHAINS * self.lanes} + {CHAINS + self.lanes})"
        self.writer.line(f"const int is_long = {' * '.join([*sizes, rounds])} > 2 * {block};")
        if outer:
            self.writer.line("int64_t since = 0;")
        for each in self._sums():
            for line in each.declare():
                self.writer.line(line)

    def _flush(self, condition: str, *, with_rest: bool) -> None:
        self.writer.open(f"if (is_long && {condition})")
        self._flush_all(with_rest=with_rest)
        if with_rest:
            self.writer.line("since = 0;")
        self.writer.close()

    def _flush_all(self, *, with_rest: bool) -> None:
        """What was left over by now is a term of the first lane."""
        writer, dtype = self.writer, self._dtype
        none = identity("add", dtype)
        for m, each in enumerate(self._sums()):
            vectors = [f"c_{m}_{chain}" for chain in range(CHAINS)]
            if with_rest:
                writer.line(f"{vectors[0]}[0] += s_{m};")
                writer.line(f"s_{m} = {none};")
            for vector in vectors[1:]:
                writer.line(f"{vectors[0]} += {vector};")
                writer.line(f"{vector} = {each.none};")
            for line in each.flush():
                writer.line(line)

    def _terms(self, chains: int, lanes: int) -> None:
        update = self.shape.update
        if (
            isinstance(update, Apply)
            and update.function in OURS
            and self._dtype.name == "f32"
            and chains * self.rows % TOGETHER == 0
            and lanes > 1
        ):
            self._functions_of_terms(update, chains, lanes)
            return
        loaded: dict[str, Value] = {}
        for chain in range(chains):
            place = f"(k + {chain * lanes})" if chain else "k"
            for m in range(self.rows):
                at = loader(self.writer, {"m": m, "k": place}, "k", lanes, loaded)
                name = f"c_{m}_{chain}" if lanes > 1 else f"s_{m}"
                found = self.writer.updated(
                    str(self.shape.operator),
                    Value(name, is_vector=lanes > 1),
                    self.shape.update,
                    self._dtype,
                    at,
                )
                self._set(name, found, is_vector=lanes > 1)

    def _functions_of_terms(self, update: Apply, chains: int, lanes: int) -> None:
        """Terms that are functions: what they are of first, then the functions of several at once."""
        loaded: dict[str, Value] = {}
        names: list[str] = []
        values: list[Value] = []
        for chain in range(chains):
            place = f"(k + {chain * lanes})" if chain else "k"
            for m in range(self.rows):
                at = loader(self.writer, {"m": m, "k": place}, "k", lanes, loaded)
                values.append(self.writer.value(update.arguments[0], self._dtype, at))
                names.append(f"c_{m}_{chain}")
                self._ask_ahead(update, m, place, chain * lanes)
        found = self.writer.together(update.function, values, self._dtype)
        for name, value in zip(names, found, strict=True):
            self._combine(name, Value(name, is_vector=True), value)

    def _ask_ahead(self, update: Apply, m: int, place: str, first: int) -> None:
        """The rows that follow those of this call come while these are computed with.

        Loops over blocks of rows read each block from memory in the nest before this one, which
        computes too little for what it reads. A prefetch past the last row has no effect.
        """
        for element in dict.fromkeys(elements(update)):
            nbytes = DTYPES[self.writer.dtypes[element.operand]].nbytes
            if first * nbytes % _LINE == 0 and moves(element, "m") and moves(element, "k"):
                there = address(element, {"m": m + self.rows, "k": place}, "k")
                self.writer.line(f"__builtin_prefetch({there});")

    def _combine(self, name: str, old: Value, update: Value) -> None:
        found = self.writer.combined(str(self.shape.operator), old, update, self._dtype)
        self._set(name, found, is_vector=old.is_vector)

    def _set(self, name: str, found: Value, *, is_vector: bool) -> None:
        # What is the same in all lanes was not made a vector: a constant, or an operand that stays.
        text = self.writer.splat(found, self._dtype) if is_vector else found.text
        self.writer.line(f"{name} = {text};")

    def _halved(self, vector: str) -> str:
        """A vector whose lane 0 is all lanes of `vector`, combined by halves, without a branch."""
        writer, dtype = self.writer, self._dtype
        while writer.lanes * dtype.nbytes > _SMALLEST:
            writer.lanes //= 2
            kind = writer.vector(dtype)
            halves = [
                writer.named(kind, f"((const {writer.memory(dtype)} *)&{vector})[{at}]")
                for at in range(2)
            ]
            vector = self._both(*halves)
        half = writer.lanes // 2
        while half:
            lanes = [f"{vector}[{lane % half + half}]" for lane in range(writer.lanes)]
            kind = writer.vector(dtype)
            vector = self._both(vector, writer.named(kind, f"({kind}){{{', '.join(lanes)}}}"))
            half //= 2
        writer.lanes = self.lanes
        return vector

    def _both(self, left: str, right: str) -> str:
        parts = Value(left, is_vector=True), Value(right, is_vector=True)
        found = self.writer.combined(str(self.shape.operator), *parts, self._dtype)
        return self.writer.named(self.writer.vector(self._dtype), found.text)

    def _end(self, m: int) -> None:
        """All partial results of a row, then its init, then `finish`."""
        shape, writer, dtype = self.shape, self.writer, self._dtype
        vectors = [f"c_{m}_{chain}" for chain in range(CHAINS)]
        is_blocked = block_of(str(shape.operator), shape.update, dtype) is not None
        if is_blocked:
            writer.line(f"{dtype.c} lost_{m} = {literal(-0.0, dtype)};")
            writer.open("if (is_long)")
            if m == 0:
                self._flush_all(with_rest=True)
            writer.line(f"{vectors[0]} = h_{m};")
            writer.open(f"for (int lane = 0; lane < {self.lanes}; lane++)")
            writer.line(f"lost_{m} += l_{m}[lane];")
            writer.close()
            writer.close()
        while len(vectors) > 1:
            for left, right in zip(vectors[::2], vectors[1::2], strict=True):
                self._combine(left, Value(left, is_vector=True), Value(right, is_vector=True))
            vectors = vectors[::2]
        vector = self._halved(vectors[0])
        operator, place = str(shape.operator), address(shape.target, {"m": m})
        total = writer.combined(operator, Value(f"{vector}[0]"), Value(f"s_{m}"), dtype)
        if is_blocked:
            total = Value(writer.named(dtype.c, f"({total.text}) + lost_{m}"))
        start = Value(f"*({place})")
        if shape.init is not None:
            start = writer.value(shape.init, dtype, scalars({}, shape.target, ""))
        result = writer.named(dtype.c, writer.combined(operator, start, total, dtype).text)
        if shape.finish is not None:
            result = writer.value(shape.finish, dtype, scalars({"m": m}, shape.target, result)).text
        writer.line(f"*({place}) = {result};")


# ------------------------------------------------------------------------------------ the cost


def _cost(instance: Instance, *, lanes: int) -> float:
    """Cycles of a call: the steps of its vectors, what is left over, and the end of each row."""
    shape = normal(instance.meaning)
    rows = instance.params.get("MR", 1)
    sizes = sizes_of(instance, shape)
    steps: Sequence[int] = [sizes[loop.name] for loop in shape.reductions]
    vectors, single = divmod(steps[-1], lanes)
    machine = instance.machine
    step = step_cycles(machine, shape, {"m": rows}, lanes * widest(instance.kernel.dtypes))
    # What is left over, and the halves of the lanes, are sums that wait for the one before.
    waits = prod(steps[:-1]) * single + CHAINS.bit_length() + lanes.bit_length()
    return machine.begin + prod(steps[:-1]) * vectors * step + rows * waits * machine.fma_latency
