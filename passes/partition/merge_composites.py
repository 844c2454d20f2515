"""The ops of each match become one `graph.composite` with the pattern's name."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Operation, Region

from inarch.dialects.graph.composite import CompositeRegionOp, YieldOp
from inarch.ir.passes import Pass
from inarch.offload.instance import Instances
from inarch.passes.partition.common import (
    BACKEND,
    GIVE,
    MATCH,
    PATTERN,
    number_of,
    tensor_blocks,
    text_of,
)
from inarch.passes.partition.cut.rewrite import (
    erase_unused,
    fused_location,
    interface_of,
    move_into_body,
    replace_outside,
    strip,
)
from inarch.passes.partition.verify import check_annotations, check_partition


@dataclass(frozen=True)
class MergeCompositesPass(Pass):
    """The ops with one `partition.match` become `graph.composite "backend.pattern"`.

    Its inputs are in the order in which the ops, in program order, first use them. Constants go into
    it, unless the backend wants them passed. TVM's name: MergeComposite.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_annotations(op)
        merge_composites(ctx, op)


def merge_composites(context: Context, module: ModuleOp) -> None:
    """The pass, on a program whose annotations are in order."""
    instances = Instances(context, module)
    for _, block in tensor_blocks(module):
        matches: dict[int, list[Operation]] = {}
        for op in block.ops:
            if (number := number_of(op, MATCH)) is not None:
                matches.setdefault(number, []).append(op)
        for ops in matches.values():
            _merge(ops, instances)
        if any(isinstance(op, CompositeRegionOp) and len(op.outs) > 1 for op in block.ops):
            _sort(block)
    check_partition(module)


def _sort(block: Block) -> None:
    """Puts what a value is made of before it: a composite of several roots is where the last one was."""
    order: dict[Operation, None] = {}
    for op in block.ops:
        todo = [op]
        while todo:
            makers = [value.owner for value in todo[-1].operands]
            missing = [m for m in makers if isinstance(m, Operation) and m not in order]
            if missing:
                todo += missing
            else:
                order.setdefault(todo.pop())
    for op in order:
        op.detach()
    block.add_ops(order)


def _merge(ops: list[Operation], instances: Instances) -> None:
    root = ops[-1]
    backend = instances.asked(text_of(root, BACKEND) or "", root).backend
    interface = interface_of(ops, bind_constants=backend.bind_constants)
    before, parent = root.next_op, root.parent
    assert parent is not None  # it is in a block
    assert before is not None  # which ends in a return
    symbol = f"{backend.name}.{text_of(root, PATTERN)}"
    given = next((op.attributes[GIVE] for op in ops if GIVE in op.attributes), None)
    block = move_into_body(ops, interface)
    block.add_op(YieldOp(*interface.outputs))
    composite = CompositeRegionOp(symbol, interface.inputs, Region(block))
    composite.location = fused_location(ops)
    composite.attributes[BACKEND] = StringAttr(backend.name)
    if given is not None:
        composite.attributes[GIVE] = given
    parent.insert_op_before(composite, before)
    replace_outside(block, interface.outputs, composite.outs)
    for op in ops:
        strip(op, BACKEND, PATTERN, MATCH, GIVE)  # from whom it is kept holds when it comes back
    erase_unused(interface.constants)
