"""The regions that backends have of a model, as programs of their own, with what enters and leaves them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.ir import Region as Body

from inarch.core.lazy import Array
from inarch.diagnosis.slices import Slice, cut, main_block, named, steps, value_names
from inarch.dialects.graph.call import CallOp
from inarch.dialects.graph.composite import CompositeRegionOp
from inarch.dialects.graph.constant import ConstantOp
from inarch.driver.options import Options
from inarch.ir.context import store_of
from inarch.ir.functions import functions
from inarch.ir.location import location_text
from inarch.ir.names import free_name
from inarch.ir.payload.constants import constant_array
from inarch.offload.instance import Instances
from inarch.offload.tolerance import (
    EXACT,
    ROUNDING,
    Tolerance,
    Tolerances,
    network_tolerance,
    tolerance_of,
)
from inarch.pipeline.manager import Verifier, run_pipeline
from inarch.testing import execute

EMIT = "emit-offloaded"
"""The pass before which a program is partitioned."""


@dataclass(frozen=True)
class Region:
    """A function of a backend, and what it computes in the model."""

    label: str
    """Its symbol; where the program calls it again, with the number of the call: `npu_0.2`."""
    symbol: str
    backend: str
    """The name of the instance that has it."""
    ops: tuple[str, ...]
    """What it is made of: `graph.conv at model.onnx: node 'conv1'`."""
    part: Slice
    """Its body as a program: what it takes are arguments of @main."""
    attributes: Mapping[str, Attribute] = field(repr=False)
    """Of the backend's function."""
    inputs: Mapping[str, Array] = field(repr=False)
    """What enters it in the model, by name."""
    expected: Mapping[str, Array] = field(repr=False)
    """What leaves it, by the definitions of its ops."""
    tolerances: Tolerances
    is_declared: bool
    """Whether they are the backend's own, or what `inarch verify --tolerance` says."""

    def program(self, part: Slice | None = None) -> ModuleOp:
        """@main that calls the region; or `part` of its body, as if that were the region."""
        body = (part or self.part).module
        (inner,) = [one for one in functions(body) if one.sym_name.data == "main"]
        kinds = inner.function_type
        private = FuncOp(
            self.symbol,
            (list(kinds.inputs), list(kinds.outputs)),
            inner.body.clone(),
            StringAttr("private"),
        )
        private.attributes |= self.attributes
        block = Block(arg_types=list(kinds.inputs))
        call = CallOp(self.symbol, list(block.args), list(kinds.outputs))
        block.add_ops([call, ReturnOp(*call.results)])
        main = FuncOp(
            "main",
            (list(kinds.inputs), list(kinds.outputs)),
            Body(block),
            arg_attrs=inner.arg_attrs,
            res_attrs=inner.res_attrs,
        )
        attributes = {**body.attributes, "inarch.name": StringAttr("region")}
        return ModuleOp([main, private], attributes)


def partitioned(module: ModuleOp, context: Context, options: Options) -> None:
    """Leaves `module` with a function for each region, which no backend has been asked to emit."""
    passes = options.passes().until(EMIT)
    run_pipeline(context, module, [one for one in passes if one.name != EMIT], [Verifier()])


def regions_of(
    module: ModuleOp,
    context: Context,
    inputs: Mapping[str, Array],
    tolerances: Mapping[str, str] | None = None,
) -> list[Region]:
    """The regions that the @main of a partitioned program calls, in order, evaluated by definition.

    `inputs` are those of @main by name. `tolerances` take the place of what backends declare, by the
    name of an instance; `""` is for all. Raises UsageError for a tolerance that is none.
    """
    block, names = main_block(module), value_names(module)
    whole = cut(module, steps(module), every_value=True)
    given = [inputs[name] for name in whole.takes]
    values = {
        **inputs,
        **dict(zip(whole.gives, execute(whole.module, given, context), strict=True)),
    }
    owners = {one.sym_name.data: one for one in functions(module) if "compiler" in one.attributes}
    instances = Instances(context, module)
    seen: dict[str, int] = {}
    found: list[Region] = []

    def array(value: SSAValue) -> Array:
        if isinstance(value.owner, ConstantOp):
            return constant_array(value.owner.value, store_of(context))
        return values[names[value]]

    for call in block.ops:
        if not isinstance(call, CallOp) or call.callee.string_value() not in owners:
            continue
        function = owners[call.callee.string_value()]
        symbol, part = function.sym_name.data, _body(module, function)
        seen[symbol] = seen.get(symbol, 0) + 1
        owner = function.attributes["compiler"]
        assert isinstance(owner, StringAttr), "the pass that made it has seen to it"
        backend = instances.asked(owner.data).backend
        said = (tolerances or {}).get(owner.data, (tolerances or {}).get("", backend.tolerance))
        found.append(
            Region(
                symbol if seen[symbol] == 1 else f"{symbol}.{seen[symbol]}",
                symbol,
                owner.data,
                ops_of(part.module),
                part,
                dict(function.attributes),
                dict(zip(part.takes, map(array, call.arguments), strict=True)),
                dict(zip(part.gives, map(array, call.outs), strict=True)),
                tolerance_of(said, owner.data),
                bool(said),
            )
        )
    whole = {one.backend for one in found if any(map(_is_whole, one.expected.values()))}
    return [
        replace(one, tolerances=one.tolerances.in_steps()) if one.backend in whole else one
        for one in found
    ]


def _is_whole(value: Array) -> bool:
    return value.dtype.kind in "iu"


def tolerances_of_network(regions: Sequence[Region]) -> list[Tolerance]:
    """What the outputs of a model may be off by beyond rounding, as its backends declare of their parts."""
    found: dict[Tolerance, None] = {}
    for region in regions:
        for value in region.expected.values() if region.is_declared else ():
            used = region.tolerances.of(value.dtype)
            one = network_tolerance(used, region.expected.values())
            found |= {} if one is None or used in (ROUNDING, EXACT) else {one: None}
    return list(found)


def _body(module: ModuleOp, function: FuncOp) -> Slice:
    """The function as the public @main of a program, its arguments and results named."""
    inner = function.body.clone()
    returned = inner.block.last_op
    assert isinstance(returned, ReturnOp), "a function ends with a return"
    main = FuncOp(
        "main",
        (list(function.function_type.inputs), list(function.function_type.outputs)),
        inner,
    )
    program = ModuleOp([main], dict(module.attributes))
    names = value_names(program)
    takes = tuple(names[argument] for argument in inner.block.args)
    # A value that is returned twice, or is an argument, gets another name each time.
    taken = set(takes)
    gives = tuple(free_name(names[value], taken) for value in returned.operands)
    main.arg_attrs, main.res_attrs = named(takes), named(gives)
    return Slice(program, takes, gives)


def ops_of(program: ModuleOp) -> tuple[str, ...]:
    """The ops of @main, those of a match each by itself, with where they are from."""
    found: list[str] = []
    for step in steps(program):
        inside = [step]
        if isinstance(step, CompositeRegionOp):
            inside = [op for op in step.walk() if op.name.startswith("graph.") and op is not step]
            inside = [op for op in inside if not isinstance(op, ConstantOp) and op.results]
        for op in inside:
            where = location_text(op) or location_text(step)
            found.append(f"{op.name} at {where}" if where else op.name)
    return tuple(found)
