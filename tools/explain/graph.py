"""The graph behind the page of `inarch explain --html`: ops, inputs and outputs as boxes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from inarch.core.errors import InarchError
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.offload.instance import Instances, instance_from
from inarch.passes.partition.common import is_claimable, tensor_blocks
from inarch.passes.partition.match.own import own_passes
from inarch.passes.partitioning import PartitionReport
from inarch.tools.explain.html import Box

Attributes = Iterable[DictionaryAttr] | None
"""Of a function's arguments or results."""


def run_required(context: Context, module: ModuleOp, backends: Sequence[str]) -> None:
    """Runs the passes that the backends require, so that `module` has the ops of the report."""
    instances = Instances(context, module)
    names = [instances.declare(instance_from(text, "backend")).name for text in backends]
    every = [instances.asked(name) for name in names]
    required = [p for one in every for p in own_passes(one, one.backend.requires, "requires")]
    for each in dict.fromkeys(required):
        each.apply(context, module)


def boxes_of(module: ModuleOp, report: PartitionReport) -> list[Box]:
    """One box for each op of the report, and for each input and output of the functions.

    `module` is what was explained. Raises InarchError when a pass that a backend requires finds more
    to do when it runs again, so that the report has other ops.
    """
    blocks = tensor_blocks(module)
    ops = [op for _, block in blocks for op in block.ops if is_claimable(op)]
    if [op.name for op in ops] != [entry.op for entry in report.ops]:
        instances = Instances(Context(), module)
        required = {name for b in report.backends for name in instances.asked(b).backend.requires}
        raise InarchError(
            f"the graph cannot be drawn: the required passes {', '.join(sorted(required))} change "
            "the program again when they run twice; leave --html out"
        )
    entries = dict(zip(ops, report.ops, strict=True))
    boxes: list[Box] = []
    numbers: dict[SSAValue, int] = {}
    for function, block in blocks:
        for argument, name in zip(block.args, _names(function.arg_attrs, block.args), strict=True):
            numbers[argument] = len(boxes)
            boxes.append(_port("input", name, argument, ()))
        for op in block.ops:
            if op in entries:
                numbers.update((result, len(boxes)) for result in op.results)
                entry = entries[op]
                boxes.append(
                    Box(
                        op=entry.op.removeprefix("graph."),
                        location=entry.location or entry.value,
                        types=_types(op),
                        owner=entry.owner,
                        pattern=entry.pattern or "",
                        reasons=tuple(entry.reasons.items()),
                        inputs=_known(op.operands, numbers),
                    )
                )
        boxes += _outputs(function, block, numbers)
    return boxes


def _outputs(function: FuncOp, block: Block, numbers: dict[SSAValue, int]) -> list[Box]:
    end = block.last_op
    values = list(end.operands) if end is not None else []
    names = _names(function.res_attrs, values)
    return [
        _port("output", name, value, _known([value], numbers))
        for value, name in zip(values, names, strict=True)
    ]


def _port(kind: str, name: str, value: SSAValue, inputs: tuple[int, ...]) -> Box:
    return Box(kind, name, _type(value), None, "", (), inputs)


def _names(attributes: Attributes, values: Sequence[SSAValue]) -> list[str]:
    """The model's names of the values, or their hints."""
    names = [one.data.get("inarch.name") for one in attributes or ()] or [None] * len(values)
    return [
        name.data if isinstance(name, StringAttr) else value.name_hint or ""
        for name, value in zip(names, values, strict=True)
    ]


def _known(values: Sequence[SSAValue], numbers: dict[SSAValue, int]) -> tuple[int, ...]:
    """The boxes of `values`, each once; constants have none."""
    return tuple(dict.fromkeys(numbers[value] for value in values if value in numbers))


def _types(op: Operation) -> str:
    inputs = ", ".join(_type(value) for value in op.operands)
    return f"{inputs} -> {', '.join(_type(value) for value in op.results)}"


def _type(value: SSAValue) -> str:
    return f"{tensor_dtype(value).name}{list(shape_of(value))}"
