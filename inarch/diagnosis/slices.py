"""A part of a graph program as a program of its own: what enters it are arguments, what leaves it results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from inarch.core.errors import InarchError
from inarch.dialects.graph.constant import ConstantOp
from inarch.ir.names import hint


@dataclass(frozen=True)
class Slice:
    """A program, and the values of the whole one that it takes and gives, by name."""

    module: ModuleOp
    takes: tuple[str, ...]
    gives: tuple[str, ...]


def steps(module: ModuleOp) -> list[Operation]:
    """The ops of @main that compute something, in order: all but constants and the return."""
    return [op for op in main_block(module).ops if not isinstance(op, ConstantOp | ReturnOp)]


def main_block(module: ModuleOp) -> Block:
    """The body of the one public function. Raises InarchError where there are none or several."""
    found = [
        op
        for op in module.body.ops
        if isinstance(op, FuncOp)
        and op.body.blocks
        and (op.sym_visibility is None or op.sym_visibility.data == "public")
    ]
    if len(found) != 1:
        raise InarchError(f"expected a program of one public function, found {len(found)}")
    return found[0].body.block


def value_names(module: ModuleOp) -> dict[SSAValue, str]:
    """A name for every value of @main, distinct: the model's of an argument, its own where it has one."""
    block = main_block(module)
    names: dict[SSAValue, str] = {}
    taken: set[str] = set()
    given = _given_names(block)
    for value in (*block.args, *(result for op in block.ops for result in op.results)):
        base = given.get(value) or value.name_hint or f"v{len(names)}"
        name, number = base, 1
        while name in taken:
            name, number = f"{base}_{number}", number + 1
        names[value] = name
        taken.add(name)
    return names


def _given_names(block: Block) -> dict[SSAValue, str]:
    """The model's names of the arguments."""
    function = block.parent_op()
    assert isinstance(function, FuncOp), "main_block has found it"
    attributes = function.arg_attrs.data if function.arg_attrs is not None else ()
    pairs = zip(block.args, attributes, strict=False)
    found = {argument: each.data.get("inarch.name") for argument, each in pairs}
    return {key: name.data for key, name in found.items() if isinstance(name, StringAttr)}


def cut(module: ModuleOp, first: int, last: int, *, every_value: bool = False) -> Slice:
    """Steps `first` to `last` (excluded) of `module`, which stays as it is, with the constants they use.

    With `every_value` all that the steps compute is given, else what others use of it.
    """
    block, names = main_block(module), value_names(module)
    inside = steps(module)[first:last]
    within = {nested for op in inside for nested in op.walk()}
    made = [result for op in inside for result in op.results]
    used = dict.fromkeys(operand for op in inside for operand in _from_outside(op))
    constants = {value.owner for value in used if isinstance(value.owner, ConstantOp)}
    takes = [v for v in used if v not in made and v.owner not in constants]
    gives = [
        value
        for value in made
        if every_value or any(use.operation not in within for use in value.uses)
    ]
    body = Block(arg_types=[value.type for value in takes])
    copies: dict[SSAValue, SSAValue] = dict(zip(takes, body.args, strict=True))
    for value, argument in zip(takes, body.args, strict=True):
        hint(argument, names[value])
    chosen = {*inside, *constants}
    body.add_ops(op.clone(copies) for op in block.ops if op in chosen)
    body.add_op(ReturnOp(*(copies[value] for value in gives)))
    function = FuncOp(
        "main",
        ([value.type for value in takes], [value.type for value in gives]),
        Region(body),
        arg_attrs=named([names[value] for value in takes]),
        res_attrs=named([names[value] for value in gives]),
    )
    others = [op.clone() for op in module.body.ops if op is not block.parent_op()]
    program = ModuleOp([*others, function], dict(module.attributes))
    return Slice(
        program, tuple(names[value] for value in takes), tuple(names[value] for value in gives)
    )


def _from_outside(op: Operation) -> list[SSAValue]:
    """The operands of an op and of all in it that it does not make itself."""
    within = set(op.walk())
    return [
        operand
        for nested in op.walk()
        for operand in nested.operands
        if operand.owner not in within
        and not (isinstance(operand.owner, Block) and operand.owner.parent_op() in within)
    ]


def named(names: Sequence[str]) -> ArrayAttr[DictionaryAttr]:
    """Their names as attributes of arguments or results."""
    return ArrayAttr(DictionaryAttr({"inarch.name": StringAttr(name)}) for name in names)
