"""Building `loop` ops at the end of a block: what the lowering rules write with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from inarch._xdsl import ConstantStore
from inarch.dialects._constants import ConstantAttr, constant_attribute
from inarch.dialects._nest import Body, NestSpec
from inarch.dialects._scalar import Scalar
from inarch.dialects._types import memref, mlir_type
from inarch.dialects.graph._base import shape_of, tensor_dtype
from inarch.dialects.loop._base import memref_of
from inarch.dialects.loop.access import IteratorAttr, ReadAttr, WriteAttr, typed
from inarch.dialects.loop.buffer import AllocOp, ConstantOp, ReshapeOp
from inarch.dialects.loop.nest import NestOp, YieldOp
from inarch.dtypes import DType
from inarch.lazy import Array


@dataclass
class LoopBuilder:
    """Appends `loop` ops to `block`; every op gets `location`, that of the graph op being lowered.

    `buffers` maps each graph value to the buffer that holds it. `destinations` maps a graph value to
    the output argument it should be written to, where it is an output of the function.
    """

    block: Block
    store: ConstantStore
    location: LocationAttr
    buffers: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    destinations: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    def add(self, op: Operation) -> Operation:
        """Appends any op."""
        op.location = self.location
        self.block.add_op(op)
        return op

    def alloc(self, element_type: Attribute, shape: Sequence[int]) -> SSAValue:
        """A new row-major scratch buffer."""
        return self.add(AllocOp(memref(element_type, shape))).results[0]

    def constant(self, array: Array, name: str) -> SSAValue:
        """A buffer of the weights with the contents of `array`."""
        return self.constant_attr(constant_attribute(array, self.store, name))

    def constant_attr(self, value: ConstantAttr) -> SSAValue:
        """A buffer of the weights with a constant's contents."""
        buffer = memref(value.type.element_type, value.type.get_shape())
        return self.add(ConstantOp(value, buffer)).results[0]

    def reshape(self, source: SSAValue, shape: Sequence[int]) -> SSAValue:
        """The same memory under another shape."""
        buffer = memref(memref_of(source).element_type, shape)
        return source if source.type == buffer else self.add(ReshapeOp(source, buffer)).results[0]

    def result(self, value: SSAValue) -> SSAValue:
        """The buffer that a graph value is to be written to: an output, or a new scratch buffer."""
        if value not in self.buffers:
            shape, element = shape_of(value), mlir_type(tensor_dtype(value))
            known = self.destinations.get(value)
            self.buffers[value] = known if known is not None else self.alloc(element, shape)
        return self.buffers[value]

    def nest(
        self,
        spec: NestSpec,
        ins: Sequence[SSAValue],
        in_dtypes: Sequence[DType],
        out: SSAValue,
        out_dtype: DType,
    ) -> NestOp:
        """`spec` over buffers; dtypes say which integers are unsigned."""
        dtypes = (*in_dtypes, out_dtype)
        elements = [memref_of(value).element_type for value in (*ins, out)]
        reduces = spec.init is not None
        body = trace(spec.body, elements, dtypes, with_accumulator=reduces)
        finish = (
            trace(spec.finish, elements, dtypes, with_accumulator=True) if spec.finish else None
        )
        op = NestOp(
            [
                IteratorAttr.get(i.name, i.size, "reduction" if i.reduction else "parallel")
                for i in spec.iterators
            ],
            ins,
            [
                ReadAttr.get(read.map, typed(read.pad, element))
                for read, element in zip(spec.reads, elements, strict=False)
            ],
            [out],
            [WriteAttr.get(spec.write, typed(spec.init, elements[-1]))],
            body,
            finish,
        )
        return cast("NestOp", self.add(op))


def trace(
    body: Body, elements: Sequence[Attribute], dtypes: Sequence[DType], *, with_accumulator: bool
) -> Region:
    """The region of `body`: called once with the elements (the last one is the accumulator)."""
    block = Block(arg_types=elements)
    scalars = [
        Scalar(argument, dtype, block) for argument, dtype in zip(block.args, dtypes, strict=True)
    ]
    result = body(*scalars) if with_accumulator else body(*scalars[:-1])
    block.add_op(YieldOp(result.value))
    return Region(block)
