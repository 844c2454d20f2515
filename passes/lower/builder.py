"""Building `loop` ops at the end of a block: what the lowering rules write with."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import cast

from xdsl.dialects.builtin import DenseResourceAttr, LocationAttr, TensorType
from xdsl.dialects.memref import SubviewOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from inarch.core.dtypes import DType
from inarch.core.lazy import Array, np
from inarch.dialects.graph.layout import LayoutAttr, layout_of
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.dialects.loop.access import IteratorAttr, ReadAttr, WriteAttr, typed
from inarch.dialects.loop.buffer import AllocOp, ConstantOp, ReshapeOp
from inarch.dialects.loop.memory import buffer_shape, is_moved_row_major, memref_of
from inarch.dialects.loop.nest import NestOp, YieldOp
from inarch.dialects.nest_spec import Body, NestSpec, Read
from inarch.dialects.scalar import Scalar
from inarch.ir.context import ConstantStore
from inarch.ir.payload.constants import (
    ConstantAttr,
    constant_array,
    constant_attribute,
    constant_type,
    later_constant,
)
from inarch.ir.types import dtype_of, memref, mlir_type, moved_memref
from inarch.machine.machine import Machine
from inarch.passes.lower._halo import border_nests
from inarch.passes.lower.physical import TensorPlace, extents, physical_nest


@dataclass
class LoopBuilder:
    """Appends `loop` ops to `block`; every op gets `location`, that of the graph op being lowered.

    `buffers` maps each graph value to the buffer that holds it. `destinations` maps a graph value to
    the output argument it should be written to, where it is an output of the function.
    """

    block: Block
    store: ConstantStore
    location: LocationAttr
    machine: Machine
    """Whose caches nests are cut for."""
    buffers: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    destinations: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    places: dict[SSAValue, TensorPlace] = field(default_factory=dict[SSAValue, TensorPlace])
    """How the buffers that are not row-major hold their tensors."""
    filled: dict[tuple[SSAValue, tuple[int, ...]], SSAValue] = field(
        default_factory=dict[tuple[SSAValue, tuple[int, ...]], SSAValue]
    )
    """Constants that were filled up with zeros, by the constant and its new shape."""
    active: set[tuple[Operation, str]] = field(default_factory=set[tuple[Operation, str]])
    """Ops that are being lowered, and the algorithms."""

    def add(self, op: Operation) -> Operation:
        """Appends any op."""
        op.location = self.location
        self.block.add_op(op)
        return op

    def alloc(
        self, element_type: Attribute, shape: Sequence[int], layout: LayoutAttr | None = None
    ) -> SSAValue:
        """A new scratch buffer for a tensor of `shape`; row-major but for `layout`.

        Its halo is filled with 0.
        """
        place = TensorPlace(tuple(shape), layout)
        buffer = self.add(AllocOp(memref(element_type, place.physical_shape))).results[0]
        if layout is not None:
            self.places[buffer] = place
        for border in border_nests(buffer, place):
            self.add(border)
        return buffer

    def place(self, buffer: SSAValue) -> TensorPlace:
        """How a buffer holds its tensor."""
        return self.places.get(buffer) or TensorPlace(buffer_shape(buffer))

    def constant(self, array: Array, name: str) -> SSAValue:
        """A buffer of the weights with the contents of `array`."""
        return self.constant_attr(constant_attribute(array, self.store, name))

    def constant_attr(self, value: ConstantAttr) -> SSAValue:
        """A buffer of the weights with a constant's contents."""
        kind = constant_type(value)
        buffer = memref(kind.element_type, kind.get_shape())
        return self.add(ConstantOp(value, buffer)).results[0]

    def reshape(self, source: SSAValue, shape: Sequence[int]) -> SSAValue:
        """The same memory under another shape."""
        kind = memref_of(source)
        make = moved_memref if is_moved_row_major(kind) else memref
        buffer = make(kind.element_type, shape)
        return source if source.type == buffer else self.add(ReshapeOp(source, buffer)).results[0]

    def result(self, value: SSAValue) -> SSAValue:
        """The buffer that a graph value is to be written to: an output, or a new scratch buffer."""
        if value not in self.buffers:
            shape, element = shape_of(value), mlir_type(tensor_dtype(value))
            known = self.destinations.get(value)
            if known is None:
                known = self.alloc(element, shape, layout_of(value))
            self.buffers[value] = known
        return self.buffers[value]

    def nest(
        self,
        spec: NestSpec,
        ins: Sequence[SSAValue],
        in_dtypes: Sequence[DType],
        out: SSAValue,
        out_dtype: DType,
    ) -> NestOp:
        """`spec`, which is over tensors, over the buffers that hold them (see `place`).

        Dtypes say which integers are unsigned. Raises LayoutError when `spec` cannot run over them.
        """
        spec, ins = self._placed(spec, ins, out)
        dtypes = (*in_dtypes, out_dtype)
        elements = [memref_of(value).element_type for value in (*ins, out)]
        reduces = spec.init is not None
        body = trace(spec.body, elements, dtypes, with_accumulator=reduces)
        finish = (
            trace(spec.finish, elements, dtypes, with_accumulator=True) if spec.finish else None
        )
        op = NestOp(
            [IteratorAttr.get(i.name, i.size, i.kind) for i in spec.iterators],
            ins,
            [
                ReadAttr.get(read.map, typed(read.pad, element))
                for read, element in zip(spec.reads, elements, strict=False)
            ],
            [out],
            [WriteAttr.get(spec.write, typed(spec.init, elements[-1]), clip=spec.clip)],
            body,
            finish,
        )
        return cast("NestOp", self.add(op))

    def map(
        self,
        iterators: Sequence[tuple[str, int]],
        reads: Sequence[tuple[SSAValue, Sequence[AffineExpr | int]]],
        writes: Sequence[tuple[SSAValue, Sequence[AffineExpr | int]]],
        body: Callable[[Sequence[Scalar]], Sequence[Scalar]],
    ) -> NestOp:
        """A nest without reduction, with several outputs, over physical buffers; no access is out of bounds.

        `body` maps the elements that are read to the elements that are written.
        """
        buffers = [buffer for buffer, _ in (*reads, *writes)]
        block = Block(arg_types=[memref_of(buffer).element_type for buffer in buffers])
        elements = [
            Scalar(argument, dtype_of(memref_of(buffer).element_type), block)
            for argument, buffer in zip(block.args, buffers, strict=True)
        ]
        results = body(elements[: len(reads)])
        block.add_op(YieldOp(*(one.value for one in results)))
        index = partial(_map, len(iterators))
        op = NestOp(
            [
                IteratorAttr.get(name, size, "parallel", "vector" if name == "l" else "serial")
                for name, size in iterators
            ],
            [buffer for buffer, _ in reads],
            [ReadAttr.get(index(at), None) for _, at in reads],
            [buffer for buffer, _ in writes],
            [WriteAttr.get(index(at), None) for _, at in writes],
            Region(block),
        )
        return cast("NestOp", self.add(op))

    def later(
        self,
        make: Callable[[], Array],
        kind: TensorType[Attribute],
        name: str,
        made: tuple[Array, Hashable] | None,
    ) -> SSAValue:
        """A buffer of the weights with what `make` gives when they are written (`later_constant`)."""
        return self.constant_attr(later_constant(make, kind, self.store, name, made))

    def made_from(
        self,
        source: ConstantAttr,
        make: Callable[[Array], Array],
        kind: TensorType[Attribute],
        how: tuple[Hashable, ...],
    ) -> SSAValue:
        """A buffer of the weights with what `make` gives of a constant; `how[0]` is its name.

        It is made when weights are written, from an array that is kept. `how` is equal for equal ways.
        """
        name, store = str(how[0]), self.store
        has_data = not isinstance(source, DenseResourceAttr) or source.resource_handle.data in store
        held = constant_array(source, store) if has_data else None

        def made() -> Array:
            return make(constant_array(source, store) if held is None else held)

        return self.later(made, kind, name, None if held is None else (held, how))

    def filled_up(self, constant: SSAValue, shape: tuple[int, ...]) -> SSAValue:
        """A constant buffer of at least `shape` that starts with another one and is 0 behind it."""
        key = (constant, shape)
        if key not in self.filled:
            value = cast("ConstantOp", constant.owner).value
            array = constant_array(value, self.store)
            widths = [(0, max(0, new - old)) for new, old in zip(shape, array.shape, strict=True)]
            name = value.resource_handle.data if isinstance(value, DenseResourceAttr) else "zeros"
            self.filled[key] = self.constant(np.pad(array, widths), f"{name}_filled")
        return self.filled[key]

    def _placed(
        self, spec: NestSpec, ins: Sequence[SSAValue], out: SSAValue
    ) -> tuple[NestSpec, Sequence[SSAValue]]:
        """The physical nest; constants that it would read outside are filled up with 0."""
        values = [
            self._interior(value) if read.pad else value  # a halo holds 0, no other number
            for value, read in zip(ins, spec.reads, strict=True)
        ]
        physical = physical_nest(spec, [self.place(value) for value in values], self.place(out))
        reads = list(physical.reads)
        for position, (old, read) in enumerate(zip(spec.reads, physical.reads, strict=True)):
            if old.pad is None and read.pad is not None and _is_constant(values[position]):
                values[position] = self.filled_up(values[position], extents(physical, position))
                reads[position] = Read(read.map)
        return replace(physical, reads=tuple(reads)), values

    def _interior(self, buffer: SSAValue) -> SSAValue:
        """A buffer without its halo: a view of its tensor alone."""
        place = self.place(buffer)
        if place.layout is None or not any(map(any, place.margins)):
            return buffer
        inside = TensorPlace(place.shape, LayoutAttr.get(place.blocks))
        offsets = [begin for begin, _ in place.margins]
        offsets += [0] * (len(inside.physical_shape) - len(offsets))
        view = SubviewOp.from_static_parameters(
            buffer, memref_of(buffer), offsets, inside.physical_shape, [1] * len(offsets)
        )
        result = self.add(view).results[0]
        self.places[result] = inside
        return result


def _is_constant(value: SSAValue) -> bool:
    return isinstance(value.owner, ConstantOp)


def _map(rank: int, index: Sequence[AffineExpr | int]) -> AffineMap:
    return AffineMap(
        rank, 0, tuple(AffineExpr.constant(e) if isinstance(e, int) else e for e in index)
    )


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
