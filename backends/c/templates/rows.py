"""Reductions along what is contiguous: neighbouring terms of one sum are the lanes of a vector.

    C[m] = init; for k: C[m] op= update(A[m, k], B[k], ...); C[m] = finish(C[m], ...)

Sums along the last axis (softmax, layer norm, averages, distances), of any dtype and body. Each row has
`CHAINS` vectors of partial results, so that no addition waits for the one before; they are combined at
the end, the vectors first, then their lanes by halves, then what the last whole vector left over, and last
the init. This order is the same for every member, so that equal rows come out equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from math import prod

from inarch.backends.c.templates._lanes import Text, Writer, identity, widest
from inarch.backends.c.templates._points import (
    address,
    loader,
    scalars,
    sizes_of,
    step_cycles,
)
from inarch.core.dtypes import DTYPES, DType
from inarch.machine.target import Target
from inarch.meaning import Normal, normal
from inarch.microkernel import Instance, Microkernel
from inarch.microkernel.template import Template, Workload

CHAINS = 4
_SMALLEST = 16
"""Bytes of the vectors that every machine with vectors has."""
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
    writer = Writer(instance.kernel.dtypes, lanes)
    _Rows(instance, writer, instance.params.get("MR", 1), lanes).write()
    return writer.function(instance)


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
                writer.line(f"{kind} c_{m}_{chain} = {writer.splat(Text(none), dtype)};")
            writer.line(f"{dtype.c} s_{m} = {none};")
        *outer, inner = self.shape.reductions
        for loop in outer:
            name = loop.name
            writer.open(f"for (int64_t {name} = 0; {name} < {loop.size}; {name}++) {{")
        writer.line("int64_t k = 0;")
        for chains, lanes in ((CHAINS, self.lanes), (1, self.lanes), (1, 1)):
            step = chains * lanes
            writer.open(f"for (; k + {step} <= {inner.size}; k += {step}) {{")
            self._terms(chains, lanes)
            writer.close()
        for _ in outer:
            writer.close()
        for m in range(self.rows):
            self._end(m)

    def _terms(self, chains: int, lanes: int) -> None:
        loaded: dict[str, Text] = {}
        for chain in range(chains):
            place = f"(k + {chain * lanes})" if chain else "k"
            for m in range(self.rows):
                at = loader(self.writer, {"m": m, "k": place}, "k", lanes, loaded)
                update = self.writer.value(self.shape.update, self._dtype, at)
                name = f"c_{m}_{chain}" if lanes > 1 else f"s_{m}"
                self._combine(name, Text(name, is_vector=lanes > 1), update)

    def _combine(self, name: str, old: Text, update: Text) -> None:
        found = self.writer.combined(str(self.shape.operator), old, update, self._dtype)
        # What is the same in all lanes was not made a vector: a constant, or an operand that stays.
        text = self.writer.splat(found, self._dtype) if old.is_vector else found.text
        self.writer.line(f"{name} = {text};")

    def _halved(self, vector: str) -> str:
        """A vector whose lane 0 is all lanes of `vector`, combined by halves, without a branch."""
        writer, dtype = self.writer, self._dtype
        while writer.lanes * dtype.nbytes > _SMALLEST:
            writer.lanes //= 2
            kind = writer.vector(dtype)
            halves = [writer.named(kind, f"((const {kind} *)&{vector})[{at}]") for at in range(2)]
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
        parts = Text(left, is_vector=True), Text(right, is_vector=True)
        found = self.writer.combined(str(self.shape.operator), *parts, self._dtype)
        return self.writer.named(self.writer.vector(self._dtype), found.text)

    def _end(self, m: int) -> None:
        """All partial results of a row, then its init, then `finish`."""
        shape, writer, dtype = self.shape, self.writer, self._dtype
        vectors = [f"c_{m}_{chain}" for chain in range(CHAINS)]
        while len(vectors) > 1:
            for left, right in zip(vectors[::2], vectors[1::2], strict=True):
                self._combine(left, Text(left, is_vector=True), Text(right, is_vector=True))
            vectors = vectors[::2]
        vector = self._halved(vectors[0])
        operator, place = str(shape.operator), address(shape.target, {"m": m})
        total = writer.combined(operator, Text(f"{vector}[0]"), Text(f"s_{m}"), dtype)
        start = Text(f"*({place})")
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
    step = step_cycles(machine, shape.update, {"m": rows}, lanes * widest(instance.kernel.dtypes))
    # What is left over, and the halves of the lanes, are sums that wait for the one before.
    waits = prod(steps[:-1]) * single + CHAINS.bit_length() + lanes.bit_length()
    return machine.begin + prod(steps[:-1]) * vectors * step + rows * waits * machine.fma_latency
