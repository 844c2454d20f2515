"""What is known of pointers' alignment: workspace and weights have 64 bytes, arguments their element's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd

from xdsl.dialects import memref
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, SSAValue

from inarch.backends.c.plan.linear import element_strides
from inarch.core.errors import InarchError
from inarch.dialects.kernel.call import CallOp as KernelCallOp
from inarch.dialects.kernel.definition import DefOp
from inarch.dialects.loop.buffer import WORKSPACE_ALIGNMENT_BYTES, AllocOp, ConstantOp, ReshapeOp
from inarch.dialects.loop.control import CallOp
from inarch.dialects.loop.memory import memref_of
from inarch.ir.location import location_text
from inarch.ir.types import dtype_of


class Alignments:
    """The alignment in bytes of every pointer of a module, as far as its calls tell."""

    def __init__(self, functions: Sequence[FuncOp], public: Sequence[FuncOp]) -> None:
        self._public = frozenset(function.sym_name.data for function in public)
        self._calls: dict[str, list[CallOp]] = {}
        for function in functions:
            for op in function.body.walk():
                if isinstance(op, CallOp):
                    self._calls.setdefault(op.callee.root_reference.data, []).append(op)
        self._arguments: dict[tuple[str, int], int] = {}

    def of(self, value: SSAValue) -> int:
        """Of the C pointer of a buffer: without the offset of its layout."""
        itemsize = dtype_of(memref_of(value).element_type).nbytes
        if isinstance(value, BlockArgument):
            return max(itemsize, self._argument(value))
        owner = value.owner
        if isinstance(owner, ReshapeOp):
            return self.of(owner.source)
        if isinstance(owner, memref.SubviewOp):
            # C moves the pointer where an offset is dynamic, by the source's offset too.
            return itemsize if owner.offsets else self.of(owner.source)
        if isinstance(owner, AllocOp | ConstantOp) and owner.offset is not None:
            return gcd(WORKSPACE_ALIGNMENT_BYTES, owner.offset.value.data)
        return itemsize

    def _argument(self, value: BlockArgument) -> int:
        """Of a function's argument: what all its calls have in common."""
        function = value.block.parent_op()
        symbol = function.sym_name.data if isinstance(function, FuncOp) else ""
        calls = self._calls.get(symbol, [])
        if symbol in self._public or not calls:
            return 1
        key = (symbol, value.index)
        if key not in self._arguments:
            self._arguments[key] = 1  # ends the search in a cycle
            fitting = [op.arguments[value.index] for op in calls if value.index < len(op.arguments)]
            self._arguments[key] = gcd(*(self.of(argument) for argument in fitting))
        return self._arguments[key]

    def check(self, op: KernelCallOp, definitions: Mapping[str, DefOp]) -> None:
        """Raises InarchError where a microkernel relies on an alignment that a pointer may not have."""
        definition = definitions[op.callee.root_reference.data]
        for position, operand in enumerate(definition.arguments):
            nbytes = dtype_of(operand.dtype).nbytes
            demanded = operand.align.data
            if demanded <= nbytes:
                continue
            value = op.arguments[position]
            coefficients, constant = op.offset_of(position)
            steps = [
                coefficient
                for coefficient, size in zip(coefficients, op.trip_counts, strict=True)
                if size > 1
            ]
            start = constant + element_strides(value)[1]
            known = gcd(self.of(value), *(step * nbytes for step in (start, *steps)))
            if known % demanded:
                raise InarchError(
                    f"'kernel.call' of @{definition.sym_name.data} expects operand "
                    f"{operand.label.data} aligned to {demanded} bytes, found {known}; copy it with "
                    "kernel.pack, or lower the demand",
                    where=location_text(op),
                )
