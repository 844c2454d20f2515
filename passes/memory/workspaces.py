"""The workspace of each function: its scratch by lifetime, and that of the functions that it calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from inarch.core.limits import RUN_BYTES
from inarch.dialects.loop.buffer import WORKSPACE_ALIGNMENT_BYTES, AllocOp
from inarch.dialects.loop.control import CallOp
from inarch.dialects.loop.memory import memref_of, nbytes
from inarch.ir.functions import error_at, functions, is_public
from inarch.ir.location import location_text
from inarch.ir.report.remarks import Remarks
from inarch.ir.target import machine_of, threads_of
from inarch.passes.loop.threads.iterations import shared_iterations
from inarch.passes.memory.arena import Lifetime, align, place

WORKSPACE_BYTES = "inarch.workspace_bytes"
_THREAD_ALIGNMENT_BYTES = 2 * WORKSPACE_ALIGNMENT_BYTES
"""Of the workspaces of threads: processors fetch lines by pairs, which two threads should not share."""


def workspace_bytes(function: FuncOp) -> int:
    """What a planned function needs; 0 where nothing is said."""
    stated = function.attributes.get(WORKSPACE_BYTES)
    return stated.value.data if isinstance(stated, IntegerAttr) else 0


@dataclass
class Workspaces:
    """Gives every `loop.alloc` of a module its offset, and every call of a function with a workspace."""

    module: ModuleOp
    remarks: Remarks
    _planned: dict[str, int] = field(default_factory=dict[str, int])
    """Bytes, by symbol."""

    def plan(self) -> None:
        """Functions after those that they call."""
        self._functions = {each.sym_name.data: each for each in functions(self.module)}
        for function in self._functions.values():
            self._visit(function, ())

    def _visit(self, function: FuncOp, around: tuple[str, ...]) -> int:
        name = function.sym_name.data
        if name in self._planned or function.is_declaration:
            return self._planned.get(name, 0)
        for op in function.walk():
            if not isinstance(op, CallOp):
                continue
            callee = op.callee.root_reference.data
            if callee in (*around, name):
                self._check_circle(op, (*around, name)[(*around, name).index(callee) :])
                continue
            self._visit(self._functions[callee], (*around, name))
        self._planned[name] = self._plan(function)
        return self._planned[name]

    def _check_circle(self, call: CallOp, names: Sequence[str]) -> None:
        """Functions that call each other have no scratch: it would be one for all of their calls."""
        inside = [op for name in names for op in self._functions[name].walk()]
        if any(isinstance(op, AllocOp) for op in inside):
            told = " -> ".join(f"@{name}" for name in (*names, names[0]))
            raise error_at(
                call,
                f"expected no function with scratch that calls itself, found {told}; give it the "
                "buffers as arguments",
            )

    def _plan(self, function: FuncOp) -> int:
        spans = _spans(function)
        allocs = [op for op in function.walk() if isinstance(op, AllocOp)]
        calls = [op for op in function.walk() if isinstance(op, CallOp) and self._callees(op)]
        parts = [self._threads(function, call) for call in calls]
        lifetimes = [_lifetime(alloc, spans) for alloc in allocs] + [
            Lifetime(count * self._callees(call), *spans[call])
            for call, count in zip(calls, parts, strict=True)
        ]
        offsets, total = place(lifetimes, WORKSPACE_ALIGNMENT_BYTES)
        _check_bytes(function, allocs, total)
        for alloc, offset in zip(allocs, offsets, strict=False):
            alloc.offset = IntegerAttr(offset, 64)
        for call, offset, count in zip(calls, offsets[len(allocs) :], parts, strict=True):
            call.workspace = IntegerAttr(offset, 64)
            call.threads = IntegerAttr(count, 64) if count > 1 else None
        if not is_public(function):
            total = align(total, _THREAD_ALIGNMENT_BYTES)
            if not total:
                return 0
        function.attributes[WORKSPACE_BYTES] = IntegerAttr(total, 64)
        alone = sum(lifetime.size for lifetime in lifetimes)
        name = f"@{function.sym_name.data}"
        self.remarks.done(
            function,
            f"{name}: {total} bytes of workspace, for {alone} bytes of buffers, of which "
            f"{_most_alive(lifetimes)} are needed at once",
        )
        return total

    def _callees(self, call: CallOp) -> int:
        """Bytes of the workspace of the function that is called, for one thread."""
        return self._planned.get(call.callee.root_reference.data, 0)

    def _threads(self, caller: FuncOp, call: CallOp) -> int:
        """How many may share its loop at most: what the program says, or as many as the machine has cores."""
        iterations = shared_iterations(self._functions[call.callee.root_reference.data])
        if not is_public(caller) or not iterations:
            return 1
        return min(iterations, threads_of(self.module) or machine_of(self.module).cores)


def _check_bytes(function: FuncOp, allocs: Sequence[AllocOp], workspace: int) -> None:
    """Raises InarchError, at the op that writes the largest buffer, where a call takes too much memory.

    What the caller gives is not counted: that is in memory.
    """
    attributes = function.arg_attrs if is_public(function) and function.arg_attrs else ()
    pairs = zip(function.body.block.args, attributes, strict=False)
    results = [each for each, own in pairs if "inarch.result" in own.data]
    total = workspace + sum(nbytes(memref_of(each)) for each in results)
    if total <= RUN_BYTES.value:
        return
    buffers: list[SSAValue] = [*results, *(alloc.buffer for alloc in allocs)]
    largest = max(buffers, key=lambda buffer: nbytes(memref_of(buffer)), default=None)
    writers = [] if largest is None else [use.operation for use in largest.uses]
    where = next(filter(None, map(location_text, writers)), f"@{function.sym_name.data}")
    RUN_BYTES.check(total, where=where)


def _most_alive(lifetimes: list[Lifetime]) -> int:
    """The largest sum of bytes at one step: no plan needs fewer."""
    changes: dict[int, int] = {}
    for life in lifetimes:
        size = align(life.size, WORKSPACE_ALIGNMENT_BYTES)
        changes[life.first] = changes.get(life.first, 0) + size
        changes[life.last + 1] = changes.get(life.last + 1, 0) - size
    most = alive = 0
    for step in sorted(changes):
        alive += changes[step]
        most = max(most, alive)
    return most


def _lifetime(alloc: AllocOp, spans: Mapping[object, tuple[int, int]]) -> Lifetime:
    if alloc.buffer not in spans:  # nothing uses it
        return Lifetime(0, 0, 0)
    return Lifetime(nbytes(memref_of(alloc.buffer)), *spans[alloc.buffer])


def _spans(function: FuncOp) -> dict[object, tuple[int, int]]:
    """For each `loop.alloc`, and each call, the steps of its first and of its last use.

    Ops are numbered as they stand, also within loops: a use within a loop of a buffer from outside of it is
    one at every step of the loop. What is allocated within is new in each iteration.
    """
    steps: dict[Operation, tuple[int, int]] = {}
    _number(function.body.block, steps, 0)
    roots: dict[SSAValue, frozenset[SSAValue]] = {}
    spans: dict[object, tuple[int, int]] = {}
    for op in function.body.walk():
        reached = _reached(op, roots)
        if _is_view(op):
            roots.update((result, reached) for result in op.results)
            continue  # naming memory does not use it
        if isinstance(op, CallOp):
            spans[op] = steps[op]
        for buffer in reached:
            alloc = buffer.owner
            assert isinstance(alloc, AllocOp), "nothing else is reached"
            first, last = steps[_within(op, alloc.parent)]
            before = spans.get(buffer, (first, last))
            spans[buffer] = min(first, before[0]), max(last, before[1])
    return spans


def _number(block: Block, steps: dict[Operation, tuple[int, int]], step: int) -> int:
    """Numbers the ops of a block from `step` on: one with regions has the steps of all in it."""
    for op in block.ops:
        first = step
        step += 1
        for region in op.regions:
            for inner in region.blocks:
                step = _number(inner, steps, step)
        steps[op] = first, step - 1
    return step


def _within(op: Operation, block: Block | None) -> Operation:
    """The op of `block` that `op` is, or is in."""
    while op.parent is not block:
        parent = op.parent_op()
        assert parent is not None, "a value is used where it is defined, or within"
        op = parent
    return op


def _reached(op: Operation, roots: Mapping[SSAValue, frozenset[SSAValue]]) -> frozenset[SSAValue]:
    """The allocs that the operands of `op` lead to."""
    found: set[SSAValue] = set()
    for operand in op.operands:
        if operand in roots:
            found |= roots[operand]
        elif isinstance(operand.owner, AllocOp):
            found.add(operand)
    return frozenset(found)


def _is_view(op: Operation) -> bool:
    """Whether the results of `op` are other names for the memory of its operands."""
    makes = any(isinstance(result.type, MemRefType) for result in op.results)
    takes = any(isinstance(operand.type, MemRefType) for operand in op.operands)
    return makes and takes
