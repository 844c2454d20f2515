"""A part of a graph program as a program of its own: what enters it are arguments, what leaves it results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from inarch.core.errors import InarchError
from inarch.dialects.graph.constant import ConstantOp
from inarch.ir.names import free_name, hint


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


def is_network(module: ModuleOp) -> bool:
    """Whether @main is a function of tensors: a program of ops of `graph`, which have definitions each."""
    functions = [op for op in module.body.ops if isinstance(op, FuncOp)]
    main = next((op for op in functions if op.sym_name.data == "main"), None)
    is_only = all(op is main or op.sym_visibility is not None for op in functions)
    kinds = () if main is None else (*main.function_type.inputs, *main.function_type.outputs)
    return is_only and bool(kinds) and all(isinstance(kind, TensorType) for kind in kinds)


def value_names(module: ModuleOp) -> dict[SSAValue, str]:
    """A name for every value of @main, distinct: the model's of an argument, its own where it has one."""
    block = main_block(module)
    names: dict[SSAValue, str] = {}
    taken: set[str] = set()
    given = _given_names(block)
    for value in (*block.args, *(result for op in block.ops for result in op.results)):
        base = given.get(value) or value.name_hint or f"v{len(names)}"
        names[value] = free_name(base, taken)
    return names


def _given_names(block: Block) -> dict[SSAValue, str]:
    """The model's names of the arguments."""
    function = block.parent_op()
    assert isinstance(function, FuncOp), "main_block has found it"
    attributes = function.arg_attrs.data if function.arg_attrs is not None else ()
    pairs = zip(block.args, attributes, strict=False)
    found = {argument: each.data.get("inarch.name") for argument, each in pairs}
    return {key: name.data for key, name in found.items() if isinstance(name, StringAttr)}


def cut(module: ModuleOp, chosen: Sequence[Operation], *, every_value: bool = False) -> Slice:
    """The steps `chosen` of `module`, which stays as it is, with the constants they use.

    With `every_value` all that the steps compute is given, else what others use of it.
    """
    block, names = main_block(module), value_names(module)
    within = {nested for op in chosen for nested in op.walk()}
    made = {result for op in chosen for result in op.results}
    used = dict.fromkeys(operand for op in chosen for operand in entering(op))
    gives = [
        result
        for op in block.ops
        if op in within
        for result in op.results
        if every_value or any(use.operation not in within for use in result.uses)
    ]
    takes = [v for v in used if v not in made and not isinstance(v.owner, ConstantOp)]
    body = _Body([(names[value], value.type) for value in takes])
    copies: dict[SSAValue, SSAValue] = dict(zip(takes, body.block.args, strict=True))
    constants = {value.owner for value in used if isinstance(value.owner, ConstantOp)}
    body.block.add_ops(op.clone(copies) for op in block.ops if op in constants or op in within)
    return body.slice(module, [(names[value], copies[value]) for value in gives])


def apart(module: ModuleOp) -> Slice:
    """All steps of `module`, each with arguments of its own (`own_name`) for all that is no constant."""
    block, names = main_block(module), value_names(module)
    every = steps(module)
    takes = [
        (own_name(names[value], number), value.type)
        for number, op in enumerate(every)
        for value in entering(op)
        if not isinstance(value.owner, ConstantOp)
    ]
    body = _Body(takes)
    arguments = iter(body.block.args)
    copies: dict[SSAValue, SSAValue] = {}
    body.block.add_ops(op.clone(copies) for op in block.ops if isinstance(op, ConstantOp))
    gives: list[tuple[str, SSAValue]] = []
    for op in every:
        own = [value for value in entering(op) if not isinstance(value.owner, ConstantOp)]
        copy = op.clone(copies | {value: next(arguments) for value in own})
        body.block.add_op(copy)
        pairs = zip(op.results, copy.results, strict=True)
        gives += [(names[result], other) for result, other in pairs]
    return body.slice(module, gives)


def own_name(name: str, step: int) -> str:
    """What the value `name` is called as an argument of the step of this number alone."""
    return f"{name} of step {step}"


class _Body:
    """The body of @main that becomes a program."""

    def __init__(self, takes: Sequence[tuple[str, Attribute]]) -> None:
        self.takes = [name for name, _ in takes]
        self.block = Block(arg_types=[kind for _, kind in takes])
        for name, argument in zip(self.takes, self.block.args, strict=True):
            hint(argument, name)

    def slice(self, module: ModuleOp, gives: Sequence[tuple[str, SSAValue]]) -> Slice:
        """The program, with all that `module` has but its own @main."""
        names = [name for name, _ in gives]
        self.block.add_op(ReturnOp(*(value for _, value in gives)))
        kinds = [argument.type for argument in self.block.args]
        function = FuncOp(
            "main",
            (kinds, [value.type for _, value in gives]),
            Region(self.block),
            arg_attrs=named(self.takes),
            res_attrs=named(names),
        )
        main = main_block(module).parent_op()
        others = [op.clone() for op in module.body.ops if op is not main]
        program = ModuleOp([*others, function], dict(module.attributes))
        return Slice(program, tuple(self.takes), tuple(names))


def entering(op: Operation) -> list[SSAValue]:
    """The operands of an op and of all in it that it does not make itself, each once."""
    within = set(op.walk())
    found = (
        operand
        for nested in op.walk()
        for operand in nested.operands
        if operand.owner not in within
        and not (isinstance(operand.owner, Block) and operand.owner.parent_op() in within)
    )
    return list(dict.fromkeys(found))


def named(names: Sequence[str]) -> ArrayAttr[DictionaryAttr]:
    """Their names as attributes of arguments or results."""
    return ArrayAttr(DictionaryAttr({"inarch.name": StringAttr(name)}) for name in names)
