"""Functions as the test kit sees them: which are public, what they take, what they give."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import (
    MemRefType,
    ModuleOp,
    StringAttr,
    TensorType,
    UnitAttr,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue

from inarch.core.dtypes import DTYPES, DType
from inarch.core.errors import InarchError, unknown
from inarch.core.lazy import np
from inarch.dialects.graph.elementwise.cast import CastOp
from inarch.dialects.graph.gather import GatherOp
from inarch.dialects.graph.op import shape_of
from inarch.dialects.graph.shape import BroadcastToOp, ReshapeOp, SliceOp, TransposeOp
from inarch.dialects.kernel.call import CallOp as KernelCallOp
from inarch.dialects.kernel.definition import DefOp
from inarch.dialects.loop.indirect import picks_of
from inarch.dialects.loop.memory import buffer_shape
from inarch.dialects.loop.nest import NestOp
from inarch.ir.types import dtype_of

Array: TypeAlias = "np.ndarray[Any, Any]"

_VIEWS = ("loop.reshape", "memref.subview", "memref.cast", "memref.reinterpret_cast")
"""Ops whose result is (a part of) the memory of their first operand."""

_WRITTEN = {"memref.store": ("memref",), "memref.copy": ("destination",)}
"""The operands that an op writes; `outs` and `dst` are written in every op of ours."""


@dataclass(frozen=True)
class Signature:
    """What a function takes: positions of inputs (and outputs, at loop level), and all types."""

    name: str
    is_loop_level: bool
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    dtypes: tuple[DType, ...]
    shapes: tuple[tuple[int, ...], ...]


def functions_of(module: ModuleOp) -> dict[str, FuncOp]:
    """Every function of the module, by name."""
    return {op.sym_name.data: op for op in module.body.ops if isinstance(op, FuncOp)}


def public_functions(module: ModuleOp) -> dict[str, FuncOp]:
    """The public functions that have a body."""
    return {
        name: function
        for name, function in functions_of(module).items()
        if function.body.blocks
        and (function.sym_visibility is None or function.sym_visibility.data == "public")
    }


def the_function(module: ModuleOp, name: str | None) -> FuncOp:
    """The public function `name`; without a name the only one, or `main`. Raises InarchError."""
    found = public_functions(module)
    if name is not None:
        if name not in found:
            raise unknown("public function", name, found)
        return found[name]
    if len(found) == 1:
        return next(iter(found.values()))
    if "main" in found:
        return found["main"]
    names = ", ".join(f"@{n}" for n in found) or "none"
    raise InarchError(f"expected one public function, or @main, found {names}")


def signature(function: FuncOp, module: ModuleOp) -> Signature:
    """What `function` takes. Raises InarchError for one that is neither tensor nor buffer."""
    types = list(function.function_type.inputs)
    attributes = [_attributes(function, index) for index in range(len(types))]
    is_loop_level = any(isinstance(t, MemRefType) for t in types)
    outputs: tuple[int, ...] = ()
    if is_loop_level:
        marked = [
            i for i, a in enumerate(attributes) if isinstance(a.get("inarch.result"), UnitAttr)
        ]
        outputs = tuple(marked or sorted(written_arguments(function, module)))
    dtypes = [_dtype(t, a) for t, a in zip(types, attributes, strict=True)]
    return Signature(
        function.sym_name.data,
        is_loop_level,
        tuple(i for i in range(len(types)) if i not in outputs),
        outputs,
        tuple(dtypes),
        tuple(_shape(t) for t in types),
    )


def _attributes(function: FuncOp, index: int) -> dict[str, Attribute]:
    if function.arg_attrs is None:
        return {}
    return dict(function.arg_attrs.data[index].data)


def _dtype(kind: Attribute, attributes: dict[str, Attribute]) -> DType:
    declared = attributes.get("inarch.dtype")
    if isinstance(declared, StringAttr):
        return DTYPES[declared.data]
    return dtype_of(declared if declared is not None else _shaped(kind).get_element_type())


def _shape(kind: Attribute) -> tuple[int, ...]:
    shape = tuple(_shaped(kind).get_shape())
    if any(size < 0 for size in shape):
        raise InarchError(f"expected arguments of static shape, found {kind}")
    return shape


def _shaped(kind: Attribute) -> TensorType[Attribute] | MemRefType[Attribute]:
    if not isinstance(kind, TensorType | MemRefType):
        raise InarchError(f"expected arguments that are tensors or buffers, found {kind}")
    return cast("TensorType[Attribute] | MemRefType[Attribute]", kind)  # pyrefly: ignore[redundant-cast] - pyright: Unknown


def written_arguments(function: FuncOp, module: ModuleOp, callers: Sequence[str] = ()) -> set[int]:
    """The positions of the arguments whose memory some op of `function`, or a callee, writes.

    A callee without a body counts as one that writes everything.
    """
    name = function.sym_name.data
    if not function.body.blocks or name in callers:
        return set(range(len(function.function_type.inputs)))
    arguments = list(function.body.block.args)
    found: set[int] = set()
    for op in function.walk():
        for value in _written(op, module, (*callers, name)):
            root = _root(value)
            if root in arguments:
                found.add(arguments.index(root))  # pyright: ignore[reportArgumentType] - `in` has narrowed it
    return found


def _written(op: Operation, module: ModuleOp, callers: Sequence[str]) -> list[SSAValue]:
    if op.name in ("loop.call", "func.call"):
        callee = functions_of(module).get(callee_of(op))
        positions = range(len(op.operands))
        if callee is not None:
            return [op.operands[i] for i in written_arguments(callee, module, callers)]
        return [op.operands[i] for i in positions]
    if isinstance(op, KernelCallOp):
        return _written_by_kernel(op, module)
    names = _WRITTEN.get(op.name, ("outs", "dst"))
    values: list[SSAValue] = []
    for name in names:
        found: object = getattr(op, name, None)
        if isinstance(found, SSAValue):
            values.append(cast("SSAValue", found))
        elif isinstance(found, Sequence) and op.name.startswith(("loop.", "kernel.")):
            values += cast("Sequence[SSAValue]", found)
    return values


def _written_by_kernel(op: KernelCallOp, module: ModuleOp) -> list[SSAValue]:
    """The operands that the microkernel does not only read; all of one that is not defined."""
    name = op.callee.root_reference.data
    for each in module.body.ops:
        if isinstance(each, DefOp) and each.sym_name.data == name:
            pairs = zip(op.arguments, each.arguments, strict=True)
            return [value for value, operand in pairs if operand.access.data != "read"]
    return list(op.arguments)


def callee_of(op: Operation) -> str:
    """The name of the function that a call calls."""
    callee = op.properties["callee"]
    return str(getattr(callee, "string_value")())  # noqa: B009 - a SymbolRefAttr of any call op


def _root(value: SSAValue) -> SSAValue:
    while isinstance(value, OpResult) and value.op.name in _VIEWS:
        value = value.op.operands[0]
    return value


_KEEPING = (ReshapeOp, TransposeOp, BroadcastToOp, SliceOp, CastOp)
"""What gives elements of its operand and no others."""


def indexed_sizes(function: FuncOp) -> dict[int, int]:
    """By position of an argument: the least size of a dimension that its elements are indices of."""
    sizes: dict[int, int] = {}
    for indices, size in (pair for op in function.walk() for pair in indexed(op)):
        value = indices
        while isinstance(value.owner, _KEEPING):
            value = value.owner.operands[0]
        if isinstance(value, BlockArgument) and value.block is function.body.first_block and size:
            sizes[value.index] = min(size, sizes.get(value.index, size))
    return sizes


def indexed(op: Operation) -> Iterator[tuple[SSAValue, int]]:
    """What an op reads its indices of, and the size of the dimension that they are of."""
    if isinstance(op, GatherOp):
        yield op.indices, shape_of(op.data)[op.axis.value.data]
    if isinstance(op, NestOp):
        for value, read in zip(op.ins, op.reads, strict=True):
            for axis, operand in picks_of(read.map.data).items():
                yield op.ins[operand], buffer_shape(value)[axis]


def random_array(takes: Signature, position: int, generator: np.random.Generator) -> Array:
    """What `random_inputs` gives the argument at `position`."""
    dtype, shape = takes.dtypes[position], takes.shapes[position]
    if dtype.is_float:
        return generator.standard_normal(shape).astype(dtype.numpy)
    if dtype.name == "i1":
        return generator.integers(0, 2, shape).astype(np.bool_)
    low, high = (0, 8) if dtype.is_unsigned else (-4, 4)
    return generator.integers(low, high, shape, endpoint=True).astype(dtype.numpy)
