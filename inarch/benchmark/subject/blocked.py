"""A layer lowered as it is in a network: its operands come, and its result stays, in the layout it wants.

The pipeline runs as always, but for two things. Channels are blocked whatever the relayouts around a single
layer would cost (`choose-layout{always}`); and those relayouts become functions of their own, `@before` and
`@after`, so that no later pass fuses them into the kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, UnitAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Region, SSAValue
from xdsl.rewriter import InsertPoint

from inarch.dialects.graph.relayout import RelayoutOp
from inarch.dialects.loop.buffer import AllocOp
from inarch.dialects.loop.nest import NestOp
from inarch.ir.edit import erase
from inarch.ir.location import location_text, named_location
from inarch.ir.verify import verify_module
from inarch.passes.graph.choose_layout import ChooseLayoutPass
from inarch.passes.lower.graph_to_loop import GraphToLoopPass
from inarch.passes.padding.known_zeros import promised_zeros, zero_margins
from inarch.pipeline.default import default_pipeline
from inarch.pipeline.pipeline import Pipeline

BEFORE, AFTER = "before", "after"
_MARK = "relayout of the layer"


def lower_blocked(
    context: Context,
    module: ModuleOp,
    choose: Callable[[ModuleOp], object] | None = None,
    lower: Callable[[Pipeline], Pipeline] = lambda pipeline: pipeline,
    *,
    always: bool = True,
) -> None:
    """Lowers `module` to `kernel`; its `@main` works on blocked channels where they can be.

    Without `always`: where `choose-layout` has them so, as where a kernel is demanded that wants rows.

    Where relayouts were needed there is `@before(x, blocked x)`, `@after(blocked y, y)`, or both.
    `choose` stands in the place of `tensorize`; `lower` is that of the host.
    """
    pipeline = default_pipeline().replace("choose-layout", ChooseLayoutPass(always=always))
    for one in lower(pipeline):
        if one.name == "tensorize" and choose is not None:
            choose(module)
        else:
            one.apply(context, module)
        if one.name == "choose-layout":
            for op in module.walk():
                if isinstance(op, RelayoutOp):
                    op.location = named_location(_MARK)
        if one.name == GraphToLoopPass.name:
            _cut(module)
    verify_module(module)


def _cut(module: ModuleOp) -> None:
    """Moves the nests of relayouts out of `@main`, which takes the blocked buffers instead."""
    main = next(op for op in module.body.ops if isinstance(op, FuncOp))
    nests = [op for op in main.body.block.ops if isinstance(op, NestOp)]
    moved = [op for op in nests if location_text(op) == _MARK]
    before = [op for op in moved if isinstance(op.outs[0].owner, AllocOp)]
    after = [op for op in moved if isinstance(op.outs[0], BlockArgument)]
    for name, group in ((BEFORE, before), (AFTER, after)):
        if not group:
            continue
        values = dict.fromkeys(value for op in group for value in (*op.ins, *op.outs))
        (outside,) = (value for value in values if isinstance(value, BlockArgument))
        (inside,) = (value for value in values if not isinstance(value, BlockArgument))
        order = (outside, inside) if name == BEFORE else (inside, outside)
        promise = promised_zeros(zero_margins(inside))
        module.body.block.add_op(_function(name, group, order))
        erase(*group)
        _take_instead(main, outside, inside, promise)


def _function(name: str, nests: Sequence[NestOp], order: Sequence[SSAValue]) -> FuncOp:
    """A public function of a source and a destination with copies of `nests`."""
    block = Block(arg_types=[value.type for value in order])
    builder = Builder(InsertPoint.at_end(block))
    mapper: dict[SSAValue, SSAValue] = dict(zip(order, block.args, strict=True))
    for op in nests:
        builder.insert(op.clone(mapper))
    builder.insert(ReturnOp())
    result = DictionaryAttr({"inarch.result": UnitAttr()})
    return FuncOp(
        name,
        ([value.type for value in order], []),
        Region(block),
        arg_attrs=ArrayAttr([DictionaryAttr({}), result]),
    )


def _take_instead(
    main: FuncOp, outside: BlockArgument, inside: SSAValue, attributes: DictionaryAttr
) -> None:
    """`inside`, a buffer of `main`, becomes its argument in the place of `outside`, with `attributes` too."""
    block = main.body.block
    assert main.arg_attrs is not None
    given = list(main.arg_attrs)
    given[outside.index] = DictionaryAttr(given[outside.index].data | attributes.data)
    main.arg_attrs = ArrayAttr(given)
    taken = block.insert_arg(inside.type, outside.index)
    inside.replace_all_uses_with(taken)
    alloc = inside.owner
    assert isinstance(alloc, AllocOp), "relayouts of a layer make, or read, what it allocates"
    erase(alloc)
    block.erase_arg(outside)
    main.update_function_type()
