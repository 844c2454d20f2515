"""Moves the bodies of `graph.scan`, `while` and `if` into functions, which passes know how to treat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    UnitAttr,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from inarch.dialects.graph.call import CallOp
from inarch.dialects.graph.composite import YieldOp
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.op import GraphOp, ints
from inarch.dialects.graph.regions.body import yielded
from inarch.dialects.graph.regions.branch import IfOp
from inarch.dialects.graph.regions.repeat import WhileOp
from inarch.dialects.graph.regions.scan import ScanOp
from inarch.ir.edit import exchange
from inarch.ir.functions import BODY, ITERATIONS, error_at, functions
from inarch.ir.location import copy_locations
from inarch.ir.names import free_name, symbols_of
from inarch.ir.passes import Pass

_WITH_BODIES = (ScanOp, WhileOp, IfOp)


@dataclass(frozen=True)
class OutlineBodiesPass(Pass):
    """Makes a private function with the unit attribute `inarch.body` of each body of these ops.

    The op stays, with bodies that are one `graph.call`. Constants that a body is given (what is the same at
    each iteration of a scan) go into its function, where they are folded and packed as constants are; it
    returns each value once. An argument that is the same at each of a known number of iterations has that
    number as its attribute `inarch.iterations`. Later passes take such a function for one of the program's
    (`entry_blocks`), and
    `inline-bodies` puts what they made of it back.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        outliner = _Outliner(op)
        for function in functions(op):
            found = [each for each in function.walk() if isinstance(each, _WITH_BODIES)]
            for each in reversed(found):  # inner ones first
                if not _is_outlined(each):
                    outliner.outline(each, function)


def _is_outlined(op: Operation) -> bool:
    """Whether each body is one call, whose results are yielded."""
    firsts = [region.block.first_op for region in op.regions]
    return all(isinstance(f, CallOp) and isinstance(f.next_op, YieldOp) for f in firsts)


@dataclass
class _Outliner:
    module: ModuleOp
    taken: set[str] = field(default_factory=set[str])

    def __post_init__(self) -> None:
        self.taken = {*symbols_of(self.module)}

    def outline(self, op: ScanOp | WhileOp | IfOp, function: FuncOp) -> None:
        """Replaces `op` by one whose bodies call new functions."""
        given = list(op.inputs if isinstance(op, IfOp) else op.all)
        kept = [value for value in given if not isinstance(value.owner, ConstantOp)]
        regions = [self._called(op, region.block, given, function) for region in op.regions]
        made: GraphOp
        if isinstance(op, ScanOp):
            backward = ints(op.backward)
            made = ScanOp(op.count, op.states, op.each, kept, regions[0], backward)
        elif isinstance(op, WhileOp):
            made = WhileOp(op.iterations, op.condition, op.states, kept, regions[0])
        else:
            made = IfOp(op.condition, kept, regions[0], regions[1])
        made.location = op.location
        made.attributes |= op.attributes
        exchange(op, made)
        op.erase()

    def _called(
        self, op: Operation, source: Block, given: Sequence[SSAValue], function: FuncOp
    ) -> Region:
        """A body that calls a function made of `source`, whose last arguments are those `given`."""
        _check_calls(source)
        returned = list(dict.fromkeys(yielded(source)))
        body = self._body(op, source, given, returned, function)
        block = Block(arg_types=body.function_type.inputs.data)
        call = CallOp(body.sym_name.data, block.args, [value.type for value in returned])
        results = dict(zip(returned, call.outs, strict=True))
        ends = YieldOp(*(results[value] for value in yielded(source)))
        for each in (call, ends):
            each.location = op.location
            block.add_op(each)
        return Region(block)

    def _body(
        self,
        op: Operation,
        source: Block,
        given: Sequence[SSAValue],
        returned: Sequence[SSAValue],
        function: FuncOp,
    ) -> FuncOp:
        """The function of the ops of a body, and of the constants that it is given."""
        own = len(source.args) - len(given)
        constant = [isinstance(value.owner, ConstantOp) for value in given]
        arguments = [*source.args[:own]]
        arguments += [a for a, known in zip(source.args[own:], constant, strict=True) if not known]
        block = Block(arg_types=[argument.type for argument in arguments])
        values: dict[SSAValue, SSAValue] = dict(zip(arguments, block.args, strict=True))
        for argument, value, known in zip(source.args[own:], given, constant, strict=True):
            if known and argument.first_use is not None:
                values[argument] = _constant(value, block)
        for inner in list(source.ops)[:-1]:
            copy = inner.clone(values)
            copy_locations(inner, copy)
            block.add_op(copy)
        end = ReturnOp(*(values.get(value, value) for value in returned))
        end.location = op.location
        block.add_op(end)
        kinds = [argument.type for argument in block.args], [value.type for value in returned]
        made = FuncOp(
            free_name(f"{function.sym_name.data}_body", self.taken),
            kinds,
            Region(block),
            visibility="private",
            arg_attrs=_same(op, own, len(block.args)),
        )
        made.attributes[BODY] = UnitAttr()
        made.location = op.location
        self.module.body.block.add_op(made)
        return made


def _same(op: Operation, own: int, count: int) -> ArrayAttr[DictionaryAttr] | None:
    """Marks the arguments after its `own` as loop-invariant, where the trip count is known."""
    if not isinstance(op, ScanOp) or own == count:
        return None
    same = DictionaryAttr({ITERATIONS: IntegerAttr(op.count, 64)})
    return ArrayAttr(DictionaryAttr({}) if at < own else same for at in range(count))


def _check_calls(block: Block) -> None:
    """Raises InarchError for a call in a body: it has no place for what a foreign function reports."""
    for op in block.ops:
        if isinstance(op, CallOp):
            raise error_at(
                op,
                f"expected graph ops in the body of an op, found a call of "
                f"@{op.callee.string_value()}; run inline-calls before, or call it outside",
            )


def _constant(value: SSAValue, block: Block) -> SSAValue:
    """A copy of the constant that makes `value`, in the block."""
    owner = value.owner
    assert isinstance(owner, ConstantOp), "the caller has seen to it"
    copy = owner.clone()
    copy.location = owner.location
    copy.out.name_hint = value.name_hint
    block.add_op(copy)
    return copy.out
