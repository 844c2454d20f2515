"""Moves the body of each `graph.scan` into a function: what is done with functions is done with bodies."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, UnitAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.passes import ModulePass

from inarch.dialects.graph.call import CallOp
from inarch.dialects.graph.composite import YieldOp
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.op import ints
from inarch.dialects.graph.regions.scan import ScanOp, scan_block
from inarch.ir.functions import BODY, error_at, functions
from inarch.ir.location import copy_locations


@dataclass(frozen=True)
class OutlineScansPass(ModulePass):
    """Makes a private function with the unit attribute `inarch.body` of the body of each `graph.scan`.

    The scan stays, with a body that is one `graph.call` of it. What is the same at each turn and constant
    goes into the function, where it is folded and packed as constants are; it returns each value once.
    Later passes take such a function for one of the program's (`entry_blocks`), and `inline-bodies` puts
    what they made of it back, into the loop.
    """

    name = "outline-scans"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        outliner = _Outliner(op)
        for function in functions(op):
            scans = [each for each in function.walk() if isinstance(each, ScanOp)]
            for scan in reversed(scans):  # inner ones first
                if not _is_outlined(scan):
                    outliner.outline(scan, function)


PASS = OutlineScansPass


def _is_outlined(scan: ScanOp) -> bool:
    """Whether its body is one call, whose results are yielded."""
    first = scan.body.block.first_op
    return isinstance(first, CallOp) and isinstance(first.next_op, YieldOp)


@dataclass
class _Outliner:
    module: ModuleOp
    taken: set[str] = field(default_factory=set[str])

    def __post_init__(self) -> None:
        symbols = (op.properties.get("sym_name") for op in self.module.body.ops)
        self.taken = {symbol.data for symbol in symbols if isinstance(symbol, StringAttr)}

    def outline(self, scan: ScanOp, function: FuncOp) -> None:
        """Replaces `scan` by one whose body calls a new function."""
        _check_calls(scan)
        kept = [value for value in scan.all if not isinstance(value.owner, ConstantOp)]
        returned = list(dict.fromkeys(scan.yielded))
        body = self._body(scan, function, kept, returned)
        block = scan_block(scan.states, scan.each, kept)
        call = CallOp(body.sym_name.data, block.args, [value.type for value in returned])
        results = dict(zip(returned, call.outs, strict=True))
        ends = YieldOp(*(results[value] for value in scan.yielded))
        for op in (call, ends):
            op.location = scan.location
            block.add_op(op)
        made = ScanOp(scan.count, scan.states, scan.each, kept, Region(block), ints(scan.backward))
        made.location = scan.location
        made.attributes |= scan.attributes
        parent = scan.parent
        assert parent is not None, "it is in a function"
        parent.insert_op_before(made, scan)
        for old, new in zip(scan.outs, made.outs, strict=True):
            new.name_hint = old.name_hint
            old.replace_all_uses_with(new)
        scan.detach()
        scan.erase()

    def _body(
        self, scan: ScanOp, function: FuncOp, kept: list[SSAValue], returned: list[SSAValue]
    ) -> FuncOp:
        """The function of the ops of the body, and of the constants that it is given."""
        source = scan.body.block
        block = scan_block(scan.states, scan.each, kept)
        given = source.args[: len(scan.states) + len(scan.each)]
        values: dict[SSAValue, SSAValue] = dict(zip(given, block.args, strict=False))
        arguments = iter(block.args[len(given) :])
        for argument, value in zip(source.args[len(given) :], scan.all, strict=True):
            is_kept = not isinstance(value.owner, ConstantOp)
            values[argument] = next(arguments) if is_kept else _constant(value, block)
        for op in list(source.ops)[:-1]:
            copy = op.clone(values)
            copy_locations(op, copy)
            block.add_op(copy)
        end = ReturnOp(*(values.get(value, value) for value in returned))
        end.location = scan.location
        block.add_op(end)
        kinds = [argument.type for argument in block.args], [value.type for value in returned]
        made = FuncOp(self._name(function), kinds, Region(block), visibility="private")
        made.attributes[BODY] = UnitAttr()
        made.location = scan.location
        self.module.body.block.add_op(made)
        return made

    def _name(self, function: FuncOp) -> str:
        stem = f"{function.sym_name.data}_body"
        name, count = stem, 0
        while name in self.taken:
            count += 1
            name = f"{stem}_{count}"
        self.taken.add(name)
        return name


def _check_calls(scan: ScanOp) -> None:
    """Raises InarchError for a call in the body: it has no place for what a foreign function reports."""
    for op in scan.body.block.ops:
        if isinstance(op, CallOp):
            raise error_at(
                op,
                "expected graph ops in the body of a graph.scan, found a call of "
                f"@{op.callee.string_value()}; run inline-calls before, or call it outside of the scan",
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
