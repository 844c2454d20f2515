"""`graph` to `loop`: values become buffers, structured ops become the nests that they state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseResourceAttr,
    DictionaryAttr,
    FunctionType,
    ModuleOp,
    StringAttr,
    TensorType,
    UnitAttr,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from inarch.core.blame import raised
from inarch.core.errors import InarchError, UnsupportedError
from inarch.core.plugins import Extensions, Origin
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.facts.zeros import keeps_zeros
from inarch.dialects.graph.layout import LayoutAttr
from inarch.dialects.graph.op import (
    CompositeOp,
    GraphOp,
    StructuredOp,
    Tensor,
    shape_of,
    tensor_dtype,
)
from inarch.dialects.graph.shape import ReshapeOp
from inarch.dialects.loop.buffer import ConstantOp as LoopConstantOp
from inarch.dialects.nest_spec import NestBuilder, same
from inarch.ir.context import ConstantStore, store_of
from inarch.ir.edit import erase
from inarch.ir.functions import BODY
from inarch.ir.location import location_text
from inarch.ir.passes import Pass
from inarch.ir.report.walk import ops_within
from inarch.ir.target import machine_of
from inarch.ir.types import dtype_of, memref, moved_memref
from inarch.passes.lower.algorithm import algorithm_of, asked_for, lower_by
from inarch.passes.lower.builder import LoopBuilder
from inarch.passes.lower.count import check_count
from inarch.passes.lower.physical import LayoutError

Rule = Callable[[Operation, LoopBuilder], None]
"""Appends the loops of an op to the builder and enters its results into `builder.buffers`."""

RULES: Extensions[dict[type[Operation], Rule]] = Extensions("inarch.passes.lower.rules", "LOWERING")
"""How ops that are not structured lower: one file a family, `LOWERING = {FooOp: rule}`.

Of two rules for one op the later one is taken: that of a loaded file, then of another package.
"""


@dataclass(frozen=True)
class GraphToLoopPass(Pass):
    """Lowers every function on tensors to one on buffers; outputs become trailing arguments.

    Every buffer is written before it is read, and completely; nothing is updated in place. Buffers
    of tensors in a layout have its physical shape (`physical.py`). The buffers of the body of a loop
    (`inarch.body`) lie where the loop says. Raises InarchError for an op
    that cannot work in its layouts, and for a composition.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_count(op)
        rules = _rules()
        for function in list(op.body.ops):
            if isinstance(function, FuncOp) and _is_on_tensors(function):
                lowered = _lower_function(ctx, function, rules)
                op.body.block.insert_op_before(lowered, function)
                erase(function)
        _drop_unused(op, store_of(ctx))


def _rules() -> dict[type[Operation], Rule]:
    families = RULES.working("its rules are unknown")
    return {kind: rule for _, family in families for kind, rule in family.items()}


def is_lowered(kind: type[Operation]) -> bool:
    """Whether such ops have loops of their own: a nest that they state, or a rule."""
    return issubclass(kind, StructuredOp) or not _rules().keys().isdisjoint(kind.__mro__)


def lower_op(op: Operation, builder: LoopBuilder, algorithm: str) -> None:
    """Appends the loops of one op by an algorithm of it, whatever the program says that it gets."""
    found = algorithm_of(op, algorithm)
    if found is not None:
        lower_by(op, algorithm, found, builder)
    else:
        _lower_direct(op, builder, _rules())


def _drop_unused(module: ModuleOp, store: ConstantStore) -> None:
    """Erases the constants, and their bytes, that only were the source of ones filled up."""
    dropped: set[str] = set()
    kept: set[str] = set()
    for op in list(ops_within(module)):
        unused = isinstance(op, LoopConstantOp) and not op.buffer.uses
        value = op.properties.get("value")
        if isinstance(value, DenseResourceAttr):
            (dropped if unused else kept).add(value.resource_handle.data)
        if unused:
            erase(op)
    for key in dropped - kept:
        store.drop(key)


def _is_on_tensors(function: FuncOp) -> bool:
    types = (*function.function_type.inputs, *function.function_type.outputs)
    return any(isinstance(t, TensorType) for t in types)


def _lower_function(ctx: Context, function: FuncOp, rules: dict[type[Operation], Rule]) -> FuncOp:
    inputs = [cast("Tensor", t) for t in function.function_type.inputs]
    outputs = [cast("Tensor", t) for t in function.function_type.outputs]
    for kind in (*inputs, *outputs):
        if isinstance(kind.encoding, LayoutAttr):
            raise InarchError(
                f"expected row-major arguments and results, found {kind}; use graph.relayout",
                where=location_text(function),
            )
    make = moved_memref if BODY in function.attributes else memref
    types = [make(t.element_type, t.get_shape()) for t in (*inputs, *outputs)]
    region = Region() if function.is_declaration else Region(Block(arg_types=types))
    lowered = FuncOp(
        function.sym_name.data,
        FunctionType.from_lists(types, []),
        region,
        function.sym_visibility,
        arg_attrs=ArrayAttr(_argument_attributes(function, inputs, outputs)),
    )
    lowered.location = function.location
    lowered.attributes |= function.attributes
    if not function.is_declaration:
        _lower_body(ctx, function, region.block, rules)
    return lowered


def _argument_attributes(
    function: FuncOp, inputs: list[Tensor], outputs: list[Tensor]
) -> list[DictionaryAttr]:
    """Those of the tensors, and `inarch.result` on outputs, `inarch.dtype` where it is unsigned."""
    given = [*_dictionaries(function.arg_attrs, len(inputs))]
    results = [
        {**attributes, "inarch.result": UnitAttr()}
        for attributes in _dictionaries(function.res_attrs, len(outputs))
    ]
    attributes: list[DictionaryAttr] = []
    for entry, kind in zip((*given, *results), (*inputs, *outputs), strict=True):
        dtype = dtype_of(kind.element_type)
        declared = {"inarch.dtype": StringAttr(dtype.name)} if dtype.name.startswith("ui") else {}
        attributes.append(DictionaryAttr({**entry, **declared}))
    return attributes


def _dictionaries(
    attributes: ArrayAttr[DictionaryAttr] | None, count: int
) -> list[dict[str, Attribute]]:
    return [dict(d.data) for d in attributes] if attributes else [{} for _ in range(count)]


def _lower_body(
    ctx: Context, function: FuncOp, block: Block, rules: dict[type[Operation], Rule]
) -> None:
    source = function.body.block
    module = function.parent_op()
    assert isinstance(module, ModuleOp), "functions are in modules"
    builder = LoopBuilder(block, store_of(ctx), function.location, machine_of(module))
    outputs = block.args[len(source.args) :]
    for old, new in zip(source.args, block.args, strict=False):
        builder.buffers[old] = new
        new.name_hint = old.name_hint
    for output in outputs:
        output.name_hint = "out"
    returned = source.last_op
    assert isinstance(returned, ReturnOp)
    _place_outputs(builder, returned, list(outputs))
    for op in source.ops:
        builder.location = op.location
        if op is not returned:
            _lower_op(op, builder, rules)
    for value, output in zip(returned.operands, outputs, strict=True):
        if builder.buffers[value] is not output and not _views(builder.buffers[value], output):
            _copy(builder, value, output)
    builder.add(ReturnOp())


def _place_outputs(builder: LoopBuilder, returned: ReturnOp, outputs: list[SSAValue]) -> None:
    """Lets the op that computes an output write into the output argument, through reshapes."""
    for value, output in zip(returned.operands, outputs, strict=True):
        root = value
        while isinstance(root.owner, ReshapeOp):
            root = root.owner.operands[0]
        # Arguments and constants are not computed, and a value goes to one place only.
        computed = isinstance(root.owner, GraphOp) and not isinstance(root.owner, ConstantOp)
        if computed and root not in builder.destinations:
            builder.destinations[root] = builder.reshape(output, shape_of(root))


def _views(buffer: SSAValue, output: SSAValue) -> bool:
    """Whether `buffer` is a (reshaped) view of `output`."""
    while buffer is not output and isinstance(buffer.owner, Operation):
        if buffer.owner.name != "loop.reshape":
            return False
        buffer = buffer.owner.operands[0]
    return buffer is output


def _lower_op(op: Operation, builder: LoopBuilder, rules: dict[type[Operation], Rule]) -> None:
    if isinstance(op, GraphOp) and not keeps_zeros(op):
        raise UnsupportedError(
            f"expected an op that keeps the zeros behind the last block, found '{op.name}'; "
            "choose a block that divides the size",
            where=location_text(op),
        )
    try:
        _lower_by_rule(op, builder, rules)
    except LayoutError as error:
        raise UnsupportedError(
            f"'{op.name}' {error.message}; expected a layout that graph-to-loop can split",
            where=location_text(op),
        ) from error
    except InarchError as error:
        if error.where is None:
            error.where = location_text(op)
            error.message = f"'{op.name}': {error.message}"
        raise
    except Exception as error:
        kind = type(op)
        if kind.__module__.startswith("inarch."):
            raise
        # An op from outside: what its code raises is reported as its own, at the op.
        origin = Origin(kind.__module__, kind.__name__, kind.__module__)
        raise InarchError(
            f"'{op.name}' {raised(error, origin)}", where=location_text(op)
        ) from error


def _lower_by_rule(op: Operation, builder: LoopBuilder, rules: dict[type[Operation], Rule]) -> None:
    asked = asked_for(op)
    algorithm = algorithm_of(op, asked) if asked is not None else None
    if asked is not None and algorithm is not None:
        lower_by(op, asked, algorithm, builder)
    else:
        _lower_direct(op, builder, rules)


def _lower_direct(op: Operation, builder: LoopBuilder, rules: dict[type[Operation], Rule]) -> None:
    for kind in type(op).__mro__:
        if kind in rules:
            rules[kind](op, builder)
            return
    if isinstance(op, StructuredOp):
        (result,) = op.results
        builder.nest(
            op.nest(),
            [builder.buffers[operand] for operand in op.operands],
            [tensor_dtype(operand) for operand in op.operands],
            builder.result(result),
            tensor_dtype(result),
        )
    elif isinstance(op, CompositeOp):
        raise InarchError(
            f"'{op.name}' is a composition; run decompose-composites before graph-to-loop",
            where=location_text(op),
        )
    else:
        raise UnsupportedError(f"no lowering for '{op.name}'", where=location_text(op))


def _copy(builder: LoopBuilder, value: SSAValue, output: SSAValue) -> None:
    nest = NestBuilder()
    index = nest.shape(shape_of(value))
    spec = nest.spec([index], index, same)
    dtype = tensor_dtype(value)
    builder.nest(spec, [builder.buffers[value]], [dtype], output, dtype)
