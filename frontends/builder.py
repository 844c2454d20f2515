"""Builds the body of `@main`: ops with inferred types, and what is constant evaluated at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import DenseResourceAttr, LocationAttr
from xdsl.ir import Block, Operation, SSAValue

from inarch.core.errors import InarchError
from inarch.core.lazy import Array, np
from inarch.core.limits import CONSTANT_BYTES, NODES, OPS, check_shape
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.op import GraphOp, Property, shape_of, tensor_dtype
from inarch.dialects.graph.weight import weight
from inarch.ir.context import ConstantStore
from inarch.ir.location import named_location
from inarch.ir.names import hint
from inarch.ir.payload.constants import constant_attribute

Range = tuple[int, int]
"""The least and the most that an index may be."""

FOLD_ELEMENTS = 4096
"""Results up to this size are evaluated here, so that computed shapes are constants."""

FOLD_POINTS = 1 << 22
"""Ops that visit more places of their windows are not evaluated here, however small their results."""


@dataclass
class Builder:
    """The block that grows, and the arrays of the constants seen so far.

    A constant is made where it is first asked for and inserted where it is first used, so that those
    which only shapes were computed from never appear.
    """

    block: Block
    store: ConstantStore
    arrays: dict[SSAValue, Array] = field(default_factory=dict["SSAValue", "Array"])
    """Values that are known: constants, and of them what small ops compute that stay (`GraphOp.folds`)."""
    loose: list[ConstantOp] = field(default_factory=list[ConstantOp])
    """Constants that were made, in order; those that nothing used are dropped in the end."""
    indices: dict[SSAValue, list[Sequence[Range]]] = field(
        default_factory=dict["SSAValue", "list[Sequence[Range]]"]
    )
    """Arguments whose elements, in turn, are indices within these ranges, by use (`frontends/ids.py`)."""
    outermost: Block = field(init=False)
    """The first block: what is in it runs in each call."""
    narrow: dict[SSAValue, int] = field(default_factory=dict["SSAValue", "int"])
    """How many bits values have in the model that are i8 or ui8 here: 2 or 4."""
    nodes: int = 0
    """Nodes converted and ops made so far."""
    ops: int = 0
    """What the ops that are there mean."""
    computed: int = 0
    """Bytes of the constants that were made so far, beyond those that the model itself holds.

    It begins at minus the size of the model's message: what stands there once may be used once.
    """

    def __post_init__(self) -> None:
        self.outermost = self.block

    def count(self, nodes: int = 1) -> None:
        """Counts what is about to be converted. Raises InarchError when it is too much."""
        self.nodes += nodes
        NODES.check(self.nodes)

    def expect(self, nodes: int) -> None:
        """Raises InarchError when so many more nodes are too much: asked before any is made."""
        NODES.check(self.nodes + nodes)

    def room(self, elements: int, itemsize: int = 8) -> None:
        """Raises InarchError when arrays of so many elements are too much: asked before they are."""
        CONSTANT_BYTES.check(self.computed + elements * itemsize)

    def computed_constant(self, array: Array, name: str) -> SSAValue:
        """A constant that is not in the model's data but was made from it."""
        self.room(array.size, array.itemsize)
        self.computed += array.nbytes
        return self.constant(array, name)

    def constant(self, array: Array, name: str) -> SSAValue:
        """`array` as a constant that came from `name`; the array must not change afterwards."""
        value = constant_attribute(np.asarray(array), self.store, name)
        op = ConstantOp.make(value=value, location=named_location(name))
        hint(op.out, name)
        self.arrays[op.out] = array
        self.loose.append(op)
        return op.out

    def emit(
        self,
        kind: type[GraphOp],
        operands: Sequence[SSAValue],
        properties: dict[str, Property],
        name: str,
    ) -> list[SSAValue]:
        """The results of one op. Raises VerifyException when a constraint of it fails."""
        self.count()
        location: LocationAttr = named_location(name)
        op = kind.make(*operands, location=location, **properties)
        try:
            for result in op.results:
                check_shape(shape_of(result), tensor_dtype(result).nbytes)
        except InarchError:
            op.erase(safe_erase=False)
            raise
        size = sum(math.prod(shape_of(result)) for result in op.results)
        is_known = all(operand in self.arrays for operand in op.operands)
        if is_known and size <= FOLD_ELEMENTS and op.reference_points() <= FOLD_POINTS:
            arrays = self._evaluate(op)
            if op.folds() and all(isinstance(operand.owner, ConstantOp) for operand in op.operands):
                op.erase(safe_erase=False)
                return [self.computed_constant(each, name) for each in arrays]
            self.arrays.update(zip(op.results, arrays, strict=True))
        for operand in op.operands:
            self.insert(operand)
        self.add(op)
        return list(op.results)

    def add(self, op: Operation) -> None:
        """Puts an op at the end of the block. Raises LimitError when there are too many with it."""
        self.ops += weight(op)
        OPS.check(self.ops)
        self.block.add_op(op)

    def drop(self, block: Block) -> None:
        """Erases a block that was built and is not used."""
        self.ops -= sum(map(weight, block.walk()))
        block.erase(safe_erase=False)

    def insert(self, value: SSAValue) -> None:
        """Puts the constant that makes `value`, if it is one, into the block if it is not there."""
        if isinstance(value.owner, ConstantOp) and value.owner.parent is None:
            self.block.add_op(value.owner)

    def finish(self) -> None:
        """Drops the constants that no op used."""
        for op in self.loose:
            if op.parent is None and isinstance(op.value, DenseResourceAttr):
                self.store.drop(op.value.resource_handle.data)

    def _evaluate(self, op: GraphOp) -> list[Array]:
        """What an op computes whose operands are known."""
        arrays = [self.arrays[operand] for operand in op.operands]
        with np.errstate(all="ignore"):  # infinities and NaN are results like others
            found = op.reference(*arrays)
        return [
            np.ascontiguousarray(each).reshape(each.shape)
            for each in (found if isinstance(found, tuple) else (found,))
        ]
