"""Which kernels may be called with buffers that overlap; they do without `__restrict`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import memref
from xdsl.ir import BlockArgument, SSAValue

from inarch.backends.c.plan.linear import element_strides
from inarch.backends.c.plan.program import ProgramPlan, offset_of
from inarch.dialects.loop.buffer import AllocOp, ConstantOp, ReshapeOp, root
from inarch.dialects.loop.control import CallOp
from inarch.dialects.loop.memory import buffer_shape, memref_of, nbytes
from inarch.ir.types import dtype_of


@dataclass(frozen=True)
class _Extent:
    """The bytes `low` to `high` of something: of the workspace, of the weights, of an argument."""

    root: object
    low: int
    high: int

    def overlaps(self, other: _Extent) -> bool:
        return self.root == other.root and self.low < other.high and other.low < self.high


def functions_with_aliases(program: ProgramPlan) -> frozenset[str]:
    """Symbols of the private functions that some call gives two overlapping buffers, one written.

    Those that such functions call are among them.
    """
    found: set[str] = set()
    callees: dict[str, set[str]] = {}
    for caller in (*program.public, *program.private):
        called = callees.setdefault(caller.sym_name.data, set())
        for op in caller.body.walk():
            symbol = op.callee.root_reference.data if isinstance(op, CallOp) else ""
            if symbol not in program.functions or not isinstance(op, CallOp):
                continue
            called.add(symbol)
            if symbol not in found and _overlaps(program, op, symbol):
                found.add(symbol)
    pending = list(found)
    while pending:
        inside = callees.get(pending.pop(), set()) - found
        found |= inside
        pending += inside
    return frozenset(found)


def _overlaps(program: ProgramPlan, op: CallOp, symbol: str) -> bool:
    extents = [_extent(value) for value in op.arguments]
    return any(
        extents[i].overlaps(other)
        for i in program.written[symbol]
        if i < len(extents)
        for j, other in enumerate(extents)
        if j != i
    )


def _extent(value: SSAValue) -> _Extent:
    buffer = root(value)
    low, high = 0, nbytes(memref_of(buffer))
    if not _moves(value):
        itemsize = dtype_of(memref_of(value).element_type).nbytes
        strides, offset = element_strides(value)
        span = sum(s * (n - 1) for s, n in zip(strides, buffer_shape(value), strict=True))
        low, high = offset * itemsize, (offset + span + 1) * itemsize
    if isinstance(buffer, BlockArgument):
        return _Extent(buffer, low, high)
    owner = buffer.owner
    assert isinstance(owner, AllocOp | ConstantOp), "buffers come from nothing else"
    kind = "workspace" if isinstance(owner, AllocOp) else "weights"
    return _Extent(kind, offset_of(owner) + low, offset_of(owner) + high)


def _moves(value: SSAValue) -> bool:
    """Whether a subview with dynamic offsets is on the way from the root to `value`."""
    while isinstance(owner := value.owner, ReshapeOp | memref.SubviewOp):
        if isinstance(owner, memref.SubviewOp) and owner.offsets:
            return True
        value = owner.source
    return False
