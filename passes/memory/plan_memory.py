"""Scratch buffers share one workspace by lifetime; constants get their place in the weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import DenseResourceAttr, IntegerAttr, MemRefType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from inarch.dialects.loop.buffer import WORKSPACE_ALIGNMENT_BYTES, AllocOp, ConstantOp
from inarch.dialects.loop.control import CallOp, ForOp
from inarch.dialects.loop.memory import memref_of, nbytes
from inarch.ir.functions import entry_blocks, error_at, functions, is_public
from inarch.ir.report.remarks import Remarks, remarks_of
from inarch.passes.memory.arena import Lifetime, align, place
from inarch.passes.memory.first_reads import check_first_reads

WORKSPACE_BYTES = "inarch.workspace_bytes"
WEIGHTS_BYTES = "inarch.weights_bytes"


@dataclass(frozen=True)
class PlanMemoryPass(ModulePass):
    """Gives every `loop.alloc` and `loop.constant` its byte offset, a multiple of 64.

    Public functions get `inarch.workspace_bytes`, the module `inarch.weights_bytes`. A buffer lives
    from the first op that uses it to the last, also through views of it; the inputs and outputs of
    one op live at the same time. Constants stand in program order; equal ones share their place.
    Raises InarchError for a `loop.alloc` in a private function or in a parallel loop, for a
    `loop.call` that does not fit its callee, and at an op that reads scratch which nothing has written
    (`first_reads.py` says what is found).
    """

    name = "plan-memory"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        _check_allocs(op)
        _check_calls(op)
        check_first_reads(op)
        for function, block in entry_blocks(op):
            _plan_workspace(function, block, remarks_of(ctx))
        _plan_weights(op)


# ------------------------------------------------------------------------------------ checks


def _check_allocs(module: ModuleOp) -> None:
    """Kernels have no workspace; iterations that may run at once cannot share scratch."""
    for function in functions(module):
        for op in function.walk():
            if not isinstance(op, AllocOp):
                continue
            if not is_public(function):
                raise error_at(
                    op,
                    f"expected loop.alloc in a public function only, found it in private "
                    f"@{function.sym_name.data}; pass the buffer as an argument",
                )
            if _in_parallel_loop(op):
                raise error_at(
                    op,
                    "expected loop.alloc outside parallel loops, whose iterations would share it; "
                    "allocate one slice an iteration before the loop",
                )


def _in_parallel_loop(op: Operation) -> bool:
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, ForOp) and parent.mode.data == "parallel":
            return True
        parent = parent.parent_op()
    return False


def _check_calls(module: ModuleOp) -> None:
    """Arity and types of every `loop.call`, with one table of callees for the module."""
    callees = {function.sym_name.data: function for function in functions(module)}
    for op in module.walk():
        if isinstance(op, CallOp):
            _check_call(op, callees)


def _check_call(call: CallOp, callees: Mapping[str, FuncOp]) -> None:
    name = call.callee.root_reference.data
    if name not in callees:
        known = ", ".join(f"@{known}" for known in sorted(callees)) or "none"
        raise error_at(call, f"loop.call refers to no function @{name}; known: {known}")
    wanted = callees[name].function_type
    if wanted.outputs.data:
        raise error_at(
            call, f"loop.call expects a function without results, found @{name} : {wanted}"
        )
    if len(wanted.inputs) != len(call.arguments):
        raise error_at(
            call,
            f"loop.call of @{name} expects {len(wanted.inputs)} arguments, "
            f"found {len(call.arguments)}",
        )
    for index, (expected, found) in enumerate(zip(wanted.inputs, call.arguments, strict=True)):
        if expected != found.type:
            raise error_at(
                call,
                f"loop.call of @{name} expects argument {index} of type {expected}, "
                f"found {found.type}",
            )


# ------------------------------------------------------------------------------------ workspace


def _plan_workspace(function: FuncOp, block: Block, remarks: Remarks) -> None:
    allocs = [op for op in function.walk() if isinstance(op, AllocOp)]
    spans = _spans(block)
    lifetimes = [_lifetime(alloc, spans) for alloc in allocs]
    offsets, total = place(lifetimes, WORKSPACE_ALIGNMENT_BYTES)
    for alloc, offset in zip(allocs, offsets, strict=True):
        alloc.offset = IntegerAttr(offset, 64)
    function.attributes[WORKSPACE_BYTES] = IntegerAttr(total, 64)
    alone = sum(lifetime.size for lifetime in lifetimes)
    name = f"@{function.sym_name.data}"
    remarks.done(function, f"{name}: {total} bytes of workspace, for {alone} bytes of buffers")


def _lifetime(alloc: AllocOp, spans: Mapping[SSAValue, tuple[int, int]]) -> Lifetime:
    if alloc.buffer not in spans:  # nothing uses it
        return Lifetime(0, 0, 0)
    return Lifetime(nbytes(memref_of(alloc.buffer)), *spans[alloc.buffer])


def _spans(block: Block) -> dict[SSAValue, tuple[int, int]]:
    """For each `loop.alloc`, the steps (positions in `block`) of its first and its last use.

    What happens inside a loop counts as happening at every moment of the loop.
    """
    roots: dict[SSAValue, frozenset[SSAValue]] = {}
    spans: dict[SSAValue, tuple[int, int]] = {}
    for step, top in enumerate(block.ops):
        for op in top.walk():
            reached = _reached(op, roots)
            if _is_view(op):
                roots.update((result, reached) for result in op.results)
                if op is top:
                    continue  # naming memory does not use it
            for buffer in reached:
                first, _ = spans.get(buffer, (step, step))
                spans[buffer] = first, step
    return spans


def _reached(op: Operation, roots: dict[SSAValue, frozenset[SSAValue]]) -> frozenset[SSAValue]:
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


# ------------------------------------------------------------------------------------ weights


def _plan_weights(module: ModuleOp) -> None:
    offsets: dict[object, int] = {}
    total = 0
    for op in module.walk():
        if not isinstance(op, ConstantOp):
            continue
        size = nbytes(memref_of(op.buffer))
        key = _content(op, size)
        if key not in offsets:
            offsets[key] = total
            total += align(size, WORKSPACE_ALIGNMENT_BYTES)
        op.offset = IntegerAttr(offsets[key], 64)
    module.attributes[WEIGHTS_BYTES] = IntegerAttr(total, 64)


def _content(constant: ConstantOp, size: int) -> object:
    """Equal for two constants only if their bytes are equal; a handle's shape does not matter."""
    if isinstance(constant.value, DenseResourceAttr):
        return constant.value.resource_handle.data, size
    return constant.value


PASS = PlanMemoryPass
