"""What a compiled function does one after the other, each step as a function that can be timed alone.

A lowered `@main` is a list of calls of kernels on planned buffers. `split_steps` adds for each of them a
copy of `@main` in which that call alone is left: same arguments, same places in the workspace, so after
one run of `@main` any step can run any number of times on the data that it sees in it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation

from inarch.dialects.kernel.call import CallOp as KernelCallOp
from inarch.dialects.kernel.definition import DefOp
from inarch.dialects.loop.buffer import AllocOp, ConstantOp, ReshapeOp
from inarch.dialects.loop.control import CallOp, ForOp
from inarch.dialects.loop.nest import NestOp
from inarch.ir.edit import erase
from inarch.ir.location import location_text
from inarch.meaning import applications, free_sizes, parse
from inarch.passes.loop.threads.iterations import shared_iterations

_SILENT = (AllocOp, ConstantOp, ReshapeOp, ReturnOp, arith.ConstantOp)
"""Ops of a planned function that do nothing when it runs."""

_NO_ARITHMETIC = (arith.ConstantOp, arith.SelectOp, arith.CmpiOp, arith.CmpfOp)
"""A copy may choose between an element and a zero."""


@dataclass(frozen=True)
class Step:
    """One call that `@main` makes. `function` is the public function that does it alone."""

    function: str
    kernel: str
    where: str
    """The node of the model that it comes from, as far as that is known."""
    computes: bool
    """Whether it does arithmetic on elements; the others copy, pack and fill."""
    flops: int
    """Multiplications and additions that it executes in reductions: padding lanes and taps too."""
    shared_iterations: int = 0
    """Of its loop whose iterations threads share; 0: one thread does it."""


def split_steps(module: ModuleOp) -> list[Step]:
    """Adds to a planned `module` one public function a step of `@main`, and lists them in order."""
    functions = {op.sym_name.data: op for op in module.body.ops if isinstance(op, FuncOp)}
    definitions = {op.sym_name.data: op for op in module.body.ops if isinstance(op, DefOp)}
    main = functions["main"]
    count = len(_acting(main))
    steps: list[Step] = []
    for index in range(count):
        name = f"step{index}"
        alone = main.clone()
        alone.sym_name = StringAttr(name)
        acting = _acting(alone)
        for other in acting:
            if other is not acting[index]:
                erase(other)
        module.body.block.add_op(alone)
        steps.append(_step(name, acting[index], functions, definitions))
    return steps


def _acting(function: FuncOp) -> list[Operation]:
    """The ops that are steps. What has a result is read or computed for one, such as an `if`: it stays."""
    return [op for op in function.body.block.ops if not isinstance(op, _SILENT) and not op.results]


def _step(
    name: str,
    op: Operation,
    functions: Mapping[str, FuncOp],
    definitions: Mapping[str, DefOp],
) -> Step:
    body: Operation = op
    kernel, shared = op.name, 0
    if isinstance(op, CallOp):
        kernel = op.callee.root_reference.data
        body = functions[kernel]
        shared = shared_iterations(functions[kernel])
    computes = any(_does_arithmetic(inner) for inner in body.walk())
    where = location_text(op) or ""
    return Step(name, kernel, where, computes, _flops(body, definitions), shared)


def _does_arithmetic(op: Operation) -> bool:
    if isinstance(op, KernelCallOp):
        return True
    if op.dialect_name() not in ("arith", "math") or isinstance(op, _NO_ARITHMETIC):
        return False
    return not any(isinstance(result.type, IndexType) for result in op.results)


def _flops(op: Operation, definitions: Mapping[str, DefOp]) -> int:
    """Floating-point operations of the reductions in `op`, by trip counts."""
    if isinstance(op, NestOp):
        if not op.has_reduction:
            return 0
        each = sum(_does_arithmetic(inner) for inner in op.body.block.ops)
        return math.prod(op.sizes) * each
    if isinstance(op, KernelCallOp):
        return _flops_of_call(op, definitions[op.callee.root_reference.data])
    inside = sum(
        _flops(inner, definitions)
        for region in op.regions
        for block in region.blocks
        for inner in block.ops
    )
    if isinstance(op, ForOp):
        return inside * op.likely_trip_count
    return inside


def _flops_of_call(op: KernelCallOp, definition: DefOp) -> int:
    """Of a microkernel: what the accumulating statements of its meaning do, at every point."""
    meaning = parse(definition.computes.data)
    known = dict(zip(free_sizes(meaning), op.sizes.get_values(), strict=True))
    points = math.prod(iterator.size.data for iterator in op.iterators)
    total = 0
    for statement in meaning.statements:
        if statement.operator == "=":
            continue
        iterators = (*meaning.iterators, *statement.iterators)
        sizes = [i.size if isinstance(i.size, int) else int(known[i.size]) for i in iterators]
        total += math.prod(sizes) * (1 + applications(statement.value))
    return points * total
