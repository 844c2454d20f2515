"""Scalar code in loops: what rules write with whose algorithm is no nest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from inarch.dialects.loop.buffer import AllocOp
from inarch.dialects.loop.control import empty_loop
from inarch.dialects.loop.memory import buffer_shape, memref_of
from inarch.dialects.loop.nest import YieldOp
from inarch.dialects.loop.repeat import empty_while
from inarch.ir.types import i1, i64, moved_memref
from inarch.ir.types import memref as memref_type
from inarch.passes.lower.builder import LoopBuilder


@dataclass
class Code:
    """Where ops are appended: a block, and what its loop counts."""

    builder: LoopBuilder
    block: Block

    @property
    def index(self) -> SSAValue:
        """What the loop of the block counts."""
        return self.block.args[0]

    def append(self, op: Operation) -> None:
        """Appends an op."""
        op.location = self.builder.location
        self.block.add_op(op)

    def add(self, op: Operation) -> SSAValue:
        """Appends an op; its result."""
        self.append(op)
        return op.results[0]

    def loop(self, count: int, name: str) -> Code:
        """The body of a new loop, which is to be ended."""
        loop = empty_loop(0, count)
        loop.induction.name_hint = name
        self.append(loop)
        return Code(self.builder, loop.body.block)

    def repeat(self, most: SSAValue, condition: SSAValue, name: str) -> Code:
        """The body of a new loop of `most` iterations, while a buffer holds true; it is to be ended."""
        loop = empty_while(self.number(0), most, self.number(1), condition)
        loop.induction.name_hint = name
        self.append(loop)
        return Code(self.builder, loop.body.block)

    def end(self) -> None:
        """Ends the body of a loop."""
        self.append(YieldOp())

    def number(self, value: int) -> SSAValue:
        """A constant index."""
        return self.add(arith.ConstantOp.from_int_and_width(value, IndexType()))

    def scratch(self, element: Attribute, shape: Sequence[int], hint: str) -> SSAValue:
        """A buffer of scratch memory, which is called `hint`."""
        buffer = self.add(AllocOp(memref_type(element, shape)))
        buffer.name_hint = hint
        return buffer

    def nests(self) -> LoopBuilder:
        """What appends nests to the block."""
        return replace(self.builder, block=self.block)

    def row(self, buffer: SSAValue) -> SSAValue:
        """The row (n,) of a buffer (rows, n) whose number the loop counts."""
        rest = buffer_shape(buffer)[1:]
        kind = moved_memref(memref_of(buffer).element_type, rest)
        offsets, strides = [self.index, *(0 for _ in rest)], [1] * (1 + len(rest))
        return self.add(memref.SubviewOp.get(buffer, offsets, [1, *rest], strides, kind))

    def load(self, buffer: SSAValue, *indices: SSAValue) -> SSAValue:
        """An element."""
        return self.add(memref.LoadOp.get(buffer, list(indices)))

    def store(self, value: SSAValue, buffer: SSAValue, *indices: SSAValue) -> None:
        """Writes an element."""
        self.append(memref.StoreOp.get(value, buffer, list(indices)))

    def place(self, index: SSAValue) -> SSAValue:
        """An index as an element of memory, an i64."""
        return self.add(arith.IndexCastOp(index, i64))

    def plus(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """The sum of indices."""
        return self.add(arith.AddiOp(a, b))

    def minus(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """The difference of indices."""
        return self.add(arith.SubiOp(a, b))

    def times(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """The product of indices."""
        return self.add(arith.MuliOp(a, b))

    def true(self) -> SSAValue:
        """A bool that holds."""
        return self.add(arith.ConstantOp.from_int_and_width(1, i1))

    def false(self) -> SSAValue:
        """One that does not."""
        return self.add(arith.ConstantOp.from_int_and_width(0, i1))

    def less(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """Whether an index, or an i64, is below another one."""
        return self.add(arith.CmpiOp(a, b, "slt"))

    def select(self, condition: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
        """Either of two values."""
        return self.add(arith.SelectOp(condition, a, b))

    def branch(self) -> Code:
        """A block that is to be one of an `scf.if`."""
        return Code(self.builder, Block())

    def choose(
        self,
        condition: SSAValue,
        then: Code,
        otherwise: Code | None,
        types: Sequence[Attribute] = (),
    ) -> SSAValue | None:
        """An `scf.if` of the two; what the branches yield, if they do."""
        last = None if otherwise is None else Region(otherwise.block)
        op = scf.IfOp(condition, list(types), Region(then.block), last)
        self.append(op)
        return op.results[0] if types else None

    def yields(self, *values: SSAValue) -> None:
        """Ends a branch."""
        self.append(scf.YieldOp(*values))
