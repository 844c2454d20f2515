"""Calls that read what is packed run over blocks of what else they read, so that a block stays in the caches.

    pack B to P                                   pack B to P
    for n, m: kernel(A[m], P[n], C[m, n])  -->    for mo, n, m: kernel(A[30 mo + m], P[n], C[30 mo + m, n])
                                                  for n, m: the same for the rows that are left

All of A passes by for each panel of P, from memory where it is larger than the caches; a block of A comes
from memory once. What is packed is read once a block, and not panel by panel (`sink-packs`). Every call does
the same as before, and so every sum keeps its order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from inarch.dialects.kernel.call import CallOp
from inarch.dialects.kernel.definition import DefOp
from inarch.dialects.kernel.pack import PackOp
from inarch.dialects.loop.access import IteratorAttr
from inarch.dialects.loop.buffer import AllocOp
from inarch.dialects.loop.footprint import Form
from inarch.dialects.loop.keep import is_kept
from inarch.dialects.loop.memory import memref_of, nbytes
from inarch.ir.functions import entry_blocks
from inarch.ir.index.linear import Linear, affine_map
from inarch.ir.report.remarks import Remarks, remarks_of
from inarch.ir.target import machine_of
from inarch.ir.types import dtype_of
from inarch.machine.machine import Machine


@dataclass(frozen=True)
class BlockCallsPass(ModulePass):
    """Splits a loop of calls of kernels whose operand passes by again and again from memory.

    `turns`: of a block; 0: as many as half of a core's part of the last cache holds, where all of the operand
    does not fit into it, and less comes from memory.
    """

    name = "block-calls"
    is_optional: ClassVar = True

    turns: int = 0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels = {each.sym_name.data: each for each in op.body.ops if isinstance(each, DefOp)}
        for _, block in entry_blocks(op):
            for pack in [inner for inner in block.walk() if isinstance(inner, PackOp)]:
                if isinstance(pack.dst.owner, AllocOp) and not is_kept(pack):
                    _block(pack, kernels, machine_of(op), remarks_of(ctx), self.turns)


PASS = BlockCallsPass


@dataclass(frozen=True)
class _Passing:
    """A loop within that over the panels, and what it moves that the panels do not."""

    loop: int
    turns: int
    nbytes: int
    """Of what passes by in all turns of the loop."""


def _block(
    pack: PackOp, kernels: Mapping[str, DefOp], machine: Machine, remarks: Remarks, wanted: int
) -> None:
    calls = {use.operation for use in pack.dst.uses} - {pack}
    found = [
        (call, passing)
        for call in calls
        if isinstance(call, CallOp) and call.parent is pack.parent
        for passing in [_passing(call, pack, kernels[call.callee.root_reference.data])]
        if passing is not None
    ]
    for call, passing in found:
        turns = wanted or _turns(passing, call.trip_counts[0], nbytes(memref_of(pack.dst)), machine)
        if 0 < turns < passing.turns:
            name, whole = call.names[passing.loop], passing.nbytes
            remarks.done(call, f"{name} in blocks of {turns} turns: {whole} bytes pass by once")
            Rewriter.replace_op(call, list(_blocked(call, passing, turns)))


def _passing(call: CallOp, pack: PackOp, definition: DefOp) -> _Passing | None:
    """The loop in which most passes by that the outermost one, which moves the panel, comes back to."""
    packed = [at for at, value in enumerate(call.arguments) if value is pack.dst]
    counts = call.trip_counts
    if len(packed) != 1 or len(counts) < 2 or not _by(call, packed[0])[0]:
        return None
    if any(iterator.is_reduction or iterator.is_shared for iterator in call.iterators):
        return None
    forms = call.elements(definition)
    found: list[_Passing] = []
    for loop in range(1, len(counts)):
        if _by(call, packed[0])[loop]:
            continue
        passing = 0
        for at, value in enumerate(call.arguments):
            reads = definition.arguments.data[at].access.data == "read"
            moves = _by(call, at)
            if reads and at != packed[0] and moves[loop] and not moves[0]:
                size = dtype_of(memref_of(value).element_type).nbytes
                passing += size * sum(map(_points, forms[at]))
        if passing:
            found.append(_Passing(loop, counts[loop], passing))
    return max(found, key=lambda one: one.nbytes, default=None)


def _points(form: Form) -> int:
    """Elements that are touched, by what moves from one to another."""
    pairs = zip(form.coefficients, form.sizes, strict=True)
    return prod(size for by, size in pairs if by)


def _by(call: CallOp, position: int) -> Sequence[int]:
    return call.offset_of(position)[0]


def _turns(passing: _Passing, panels: int, packed: int, machine: Machine) -> int:
    """Turns of a block; 0 where blocks bring no less from memory than panels do.

    Without blocks a panel is packed where it is read; with them the packed copy is written to memory, and
    comes back for each block.
    """
    if passing.nbytes <= machine.own:
        return 0
    blocks = -(-2 * passing.nbytes // machine.own)
    if blocks > passing.turns or (panels - 1) * passing.nbytes <= (blocks + 1) * packed:
        return 0
    return -(-passing.turns // blocks)


def _blocked(call: CallOp, passing: _Passing, turns: int) -> Iterator[CallOp]:
    """The call with a loop over blocks outside, and one for the turns that are left."""
    loop, blocks = passing.loop, passing.turns // turns
    name = call.names[loop]
    outer = f"{name}o"
    while outer in call.names:
        outer += "o"
    own = list(call.iterators)
    own[loop] = IteratorAttr.get(name, turns, own[loop].kind.data, own[loop].mode.data)
    forms = [
        Linear(tuple(by), start) for by, start in map(call.offset_of, range(len(call.offsets)))
    ]
    yield _like(
        call,
        [IteratorAttr.get(outer, blocks), *own],
        [Linear((turns * f.coefficients[loop], *f.coefficients), f.constant) for f in forms],
    )
    left = passing.turns - blocks * turns
    if left:
        rest = list(own)
        rest[loop] = IteratorAttr.get(name, left, own[loop].kind.data, own[loop].mode.data)
        begun = blocks * turns
        moved = [Linear(f.coefficients, f.constant + begun * f.coefficients[loop]) for f in forms]
        yield _like(call, rest, moved)


def _like(call: CallOp, iterators: Sequence[IteratorAttr], forms: Sequence[Linear]) -> CallOp:
    """The same kernel on the same operands, in other loops."""
    made = CallOp(
        call.callee.root_reference.data,
        iterators,
        list(call.arguments),
        [affine_map([form], len(iterators)) for form in forms],
        [call.strides_of(position) for position in range(len(call.arguments))],
        call.size_values,
    )
    made.attributes |= call.attributes
    made.location = call.location
    return made
