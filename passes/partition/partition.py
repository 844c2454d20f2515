"""Each region becomes a function of its backend, and a call of it."""

from __future__ import annotations

import heapq
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, OpResult, Region

from inarch.core.errors import InarchError, UsageError
from inarch.dialects.graph.call import CallOp
from inarch.ir.names import symbols_of
from inarch.ir.passes import Pass
from inarch.ir.report.facts import facts_of
from inarch.ir.report.remarks import Remarks, remarks_of
from inarch.offload.backend import Backend
from inarch.offload.instance import Instances
from inarch.passes.partition.common import (
    BACKEND,
    COMPILER,
    REGION,
    number_of,
    tensor_blocks,
    text_of,
)
from inarch.passes.partition.cut.rewrite import (
    erase_unused,
    interface_of,
    move_into_body,
    replace_outside,
    strip,
)
from inarch.passes.partition.report import PartitionReport, Recorder
from inarch.passes.partition.verify import check_annotations, check_partition


@dataclass(frozen=True)
class PartitionPass(Pass):
    """The ops with one `partition.region` become `func.func private @a_0 ... {compiler = "a"}`.

    Arguments are in the order of first use, results in program order; constants are copied into the
    function, unless the backend wants them passed. A `graph.call` stands where the last op stood; ops
    move as far as that needs. `symbol_prefix` replaces the backends' names in the symbols: with `gcc`
    they are `gcc_0`, `gcc_1` ... A backend that `annotate` asked and that has nothing is a warning, with
    `require` an error. Who has what, and why not, is the fact `PartitionReport`. TVM's name: PartitionGraph.
    """

    symbol_prefix: str = ""
    require: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_annotations(op)
        partition(ctx, op, self.symbol_prefix)
        recorder = facts_of(ctx).take(Recorder)
        if recorder is None:
            return
        report = recorder.finish()
        facts_of(ctx).put(report)
        _remark(report, remarks_of(ctx))
        for name in report.idle():
            message = f"backend '{name}' was asked for and got nothing: {report.why_idle(name)}"
            if self.require:
                raise InarchError(
                    f"{message}; give it something that it takes, or do not require it"
                )
            warnings.warn(message, stacklevel=2)


def _remark(report: PartitionReport, remarks: Remarks) -> None:
    """Who has each op, and why those that were asked and have it not do not."""
    for each in report.ops:
        if each.region is not None:
            pattern = f" by its pattern {each.pattern}" if each.pattern is not None else ""
            remarks.done(each.location, f"{each.op} is in @{each.region} of {each.owner}{pattern}")
        for backend, reason in each.reasons.items():
            remarks.missed(each.location, f"{each.op} is not for {backend}: {reason}")


def partition(context: Context, module: ModuleOp, symbol_prefix: str = "") -> None:
    """The pass, on a program whose annotations are in order."""
    if symbol_prefix and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", symbol_prefix) is None:
        raise UsageError(
            f"expected a symbol prefix that is a C identifier, found '{symbol_prefix}'"
        )
    symbols = _Symbols(module, symbol_prefix)
    instances = Instances(context, module)
    for function, block in tensor_blocks(module):
        _sort(block)
        for ops in _regions(block):
            backend = instances.asked(text_of(ops[0], BACKEND) or "", ops[0]).backend
            outlined = _outline(ops, backend, symbols.next(backend.name))
            symbols.place(outlined, function)
    check_partition(module)


@dataclass
class _Symbols:
    """Names and places of new functions: `a_0`, `a_1` ..., after the function that calls them."""

    module: ModuleOp
    prefix: str

    def __post_init__(self) -> None:
        self._taken = {*symbols_of(self.module)}
        self._counts: dict[str, int] = {}
        self._last: dict[FuncOp, FuncOp] = {}

    def next(self, backend: str) -> str:
        """The next name that nothing has."""
        stem = self.prefix or re.sub(r"[^A-Za-z0-9_]", "_", backend)
        while True:
            count = self._counts.get(stem, 0)
            self._counts[stem] = count + 1
            if (name := f"{stem}_{count}") not in self._taken:
                self._taken.add(name)
                return name

    def place(self, outlined: FuncOp, caller: FuncOp) -> None:
        """Inserts a function after those of the same caller."""
        block = self.module.body.block
        block.insert_op_after(outlined, self._last.get(caller, caller))
        self._last[caller] = outlined


def _regions(block: Block) -> list[list[Operation]]:
    """The ops of each region, in the (sorted) order of the program."""
    found: dict[int, list[Operation]] = {}
    for op in block.ops:
        if (number := number_of(op, REGION)) is not None:
            found.setdefault(number, []).append(op)
    return list(found.values())


def _outline(ops: Sequence[Operation], backend: Backend, symbol: str) -> FuncOp:
    interface = interface_of(ops, bind_constants=backend.bind_constants)
    before, parent = ops[-1].next_op, ops[-1].parent
    assert parent is not None  # it is in a block
    assert before is not None  # which ends in a return
    location = ops[0].location  # all of them could be hundreds
    body = move_into_body(ops, interface)
    returned = ReturnOp(*interface.outputs)
    returned.location = location
    body.add_op(returned)
    types = [value.type for value in interface.outputs]
    function = FuncOp(
        symbol,
        ([value.type for value in interface.inputs], types),
        Region(body),
        visibility="private",
    )
    function.location = location
    function.attributes[COMPILER] = StringAttr(backend.name)
    call = CallOp(symbol, interface.inputs, types)
    call.location = location
    parent.insert_op_before(call, before)
    replace_outside(body, interface.outputs, call.outs)
    for op in ops:
        for inner in op.walk():
            strip(inner)
    erase_unused(interface.constants)
    return function


# ------------------------------------------------------------------------------------ order


def _sort(block: Block) -> None:
    """Reorders ops so that those of a region are neighbours, and otherwise as little as possible.

    A region stands where its last op stood, or later, where it needs what comes later.
    """
    ops = list(block.ops)
    unit = {op: number_of(op, REGION) for op in ops}
    key = {op: -1 - index for index, op in enumerate(ops)}
    key |= {op: number for op, number in unit.items() if number is not None}
    members: dict[int, list[Operation]] = {}
    last: dict[int, int] = {}
    for index, op in enumerate(ops):
        members.setdefault(key[op], []).append(op)
        last[key[op]] = index
    after: dict[int, set[int]] = {k: set() for k in members}
    waiting = dict.fromkeys(members, 0)
    for op in ops:
        for operand in op.operands:
            if not isinstance(operand, OpResult) or key[operand.op] == key[op]:
                continue
            if key[op] not in after[key[operand.op]]:
                after[key[operand.op]].add(key[op])
                waiting[key[op]] += 1
    ready = [(last[k], k) for k, count in waiting.items() if count == 0]
    heapq.heapify(ready)
    order: list[Operation] = []
    while ready:
        _, current = heapq.heappop(ready)
        order += members[current]
        for user in after[current]:
            waiting[user] -= 1
            if waiting[user] == 0:
                heapq.heappush(ready, (last[user], user))
    assert len(order) == len(ops), "regions make a cycle"  # check_partition has seen to it
    if order != ops:
        for op in ops:
            op.detach()
        block.add_ops(order)
