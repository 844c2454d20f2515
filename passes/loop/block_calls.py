"""Calls that read packed panels run over blocks of panels and of their other operand, which the caches hold.

                                                  for no:
    pack B to P                                       pack 16 panels of B, from 16 no on, to P
    for n, m: kernel(A[m], P[n], C[m, n])  -->        for mo, n, m: kernel(A[30 mo + m], P[n], C[...])
                                                      for n, m: the same for the remaining rows
                                                  the same for the remaining panels

Without blocks, all of A is read for each panel, from memory where it is larger than the caches. With them, A
is read from memory once a block of panels, and scratch is a block of panels. Every call computes the same as
before, and so every sum keeps its order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from inarch.dialects.kernel.call import CallOp
from inarch.dialects.kernel.definition import DefOp
from inarch.dialects.kernel.pack import PackOp
from inarch.dialects.loop.access import IteratorAttr
from inarch.dialects.loop.buffer import AllocOp
from inarch.dialects.loop.footprint import Form
from inarch.dialects.loop.keep import is_kept
from inarch.dialects.loop.memory import buffer_shape, memref_of, nbytes
from inarch.ir.functions import entry_blocks
from inarch.ir.index.linear import Linear
from inarch.ir.passes import OptionalPass
from inarch.ir.report.remarks import Remarks, remarks_of
from inarch.ir.target import machine_of, threads_of
from inarch.ir.types import dtype_of
from inarch.machine.machine import Machine
from inarch.passes.loop.panels.blocks import outer_name, pack_blocks
from inarch.passes.loop.panels.write import in_loops


@dataclass(frozen=True)
class BlockCallsPass(OptionalPass):
    """Splits a loop of kernel calls whose operand is read from memory in each iteration of an outer loop.

    `iterations`: of a block; 0: as many as half of a core's part of the last cache holds, where it does not
    hold all of the operand, and memory traffic falls. `panels`: of a block; 0: as many as the other half
    holds, in a multiple of as many blocks as there are threads. Where threads are more than blocks, they
    share the panels of one block of all.
    """

    iterations: int = 0
    panels: int = 0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        symbols: dict[str, Operation] = {
            each.sym_name.data: each for each in op.body.ops if isinstance(each, DefOp | FuncOp)
        }
        machine = machine_of(op)
        threads = threads_of(op) or machine.cores
        blocking = _Blocking(self, symbols, machine, threads, remarks_of(ctx))
        for _, block in entry_blocks(op):
            for pack in [inner for inner in block.walk() if isinstance(inner, PackOp)]:
                if isinstance(pack.dst.owner, AllocOp) and not is_kept(pack):
                    blocking.run(pack)


@dataclass(frozen=True)
class _Passing:
    """A loop inside the one over the panels, and the operands that it moves and panels do not."""

    loop: int
    trip_count: int
    nbytes: int
    """Of these operands, in all iterations of the loop."""


@dataclass(frozen=True)
class _Blocking:
    """Splits the calls that read a pack."""

    options: BlockCallsPass
    symbols: Mapping[str, Operation]
    machine: Machine
    threads: int
    remarks: Remarks

    def run(self, pack: PackOp) -> None:
        """Splits the loops of the calls that read `pack`, where that pays."""
        packed = nbytes(memref_of(pack.dst))
        if not any(self._pays(call, passing, packed) for call, passing in self._found(pack)):
            return
        panels, blocks = self._panels(buffer_shape(pack.dst)[0], packed), [pack]
        if panels:
            blocks = pack_blocks(pack, self.symbols, panels)
            self.remarks.done(blocks[0], f"{packed} bytes are packed in blocks of {panels} panels")
        for call, passing in list(chain.from_iterable(map(self._found, blocks))):
            iterations = self._iterations(passing)
            if 0 < iterations < passing.trip_count:
                name = call.names[passing.loop]
                message = f"{name} in blocks of {iterations} iterations: {passing.nbytes} bytes"
                self.remarks.done(call, f"{message} are read once for all panels of a block")
                Rewriter.replace_op(call, list(_blocked(call, passing, iterations)))

    def _found(self, pack: PackOp) -> list[tuple[CallOp, _Passing]]:
        """The calls that read `pack`, and the loop of each that may be split."""
        found: list[tuple[CallOp, _Passing]] = []
        for call in dict.fromkeys(use.operation for use in pack.dst.uses):
            if isinstance(call, CallOp) and call.parent is pack.parent:
                definition = self.symbols[call.callee.root_reference.data]
                assert isinstance(definition, DefOp)
                passing = _passing(call, pack, definition)
                found += [] if passing is None else [(call, passing)]
        return found

    def _pays(self, call: CallOp, passing: _Passing, packed: int) -> bool:
        """Whether blocks take less from memory than panels that are packed where they are read."""
        iterations = self._iterations(passing)
        if self.options.iterations or not iterations:
            return 0 < iterations < passing.trip_count
        blocks = -(-passing.trip_count // iterations)
        return (call.trip_counts[0] - 1) * passing.nbytes > (blocks + 1) * packed

    def _iterations(self, passing: _Passing) -> int:
        """Iterations of a block, of half of a core's part of the caches; 0: the caches hold all."""
        if self.options.iterations or passing.nbytes <= self.machine.own:
            return self.options.iterations
        blocks = -(-2 * passing.nbytes // self.machine.own)
        return 0 if blocks > passing.trip_count else -(-passing.trip_count // blocks)

    def _panels(self, count: int, packed: int) -> int:
        """Panels of a block; 0: all of them are one."""
        if self.options.panels:
            return self.options.panels if 1 < self.options.panels < count else 0
        blocks = -(-2 * packed // self.machine.own)
        if blocks < max(2, self.threads):
            return 0
        panels = count // (-(-blocks // self.threads) * self.threads)
        return panels if panels > 1 else 0


def _passing(call: CallOp, pack: PackOp, definition: DefOp) -> _Passing | None:
    """The loop that moves most bytes which each iteration of the outermost one, over panels, reads again."""
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


def _blocked(call: CallOp, passing: _Passing, iterations: int) -> Iterator[CallOp]:
    """The call with a loop over blocks outside, and one for the remaining iterations."""
    loop, blocks = passing.loop, passing.trip_count // iterations
    own = list(call.iterators)
    own[loop] = own[loop].of_size(iterations)
    forms = [
        Linear(tuple(by), start) for by, start in map(call.offset_of, range(len(call.offsets)))
    ]
    yield in_loops(
        call,
        [IteratorAttr.get(outer_name(call, loop), blocks), *own],
        [Linear((iterations * f.coefficients[loop], *f.coefficients), f.constant) for f in forms],
    )
    begun = blocks * iterations
    if begun < passing.trip_count:
        own[loop] = own[loop].of_size(passing.trip_count - begun)
        moved = [Linear(f.coefficients, f.constant + begun * f.coefficients[loop]) for f in forms]
        yield in_loops(call, own, moved)
