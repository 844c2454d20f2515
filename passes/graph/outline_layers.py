"""Moves layers that a program repeats into one function, so that passes work on one of them.

    x1 = LAYER(x0, mask, w0)            func @main_layer(x, mask, w) -> y { y = LAYER(x, mask, w) }
    x2 = LAYER(x1, mask, w1)    -->     x1 = call @main_layer(x0, mask, w0)
    x3 = LAYER(x2, mask, w2)            x2 = call @main_layer(x1, mask, w1) ...

In program order, and without constants, each op has a signature: its name, properties and types, and what is
known of its operands. A stretch of P ops that repeats is a run of ops whose signatures are equal to those P
ops later. A run is mostly longer than its copies: they begin where the fewest values go from copy to copy.
Then all operands are compared: what a copy makes itself, all copies make at the same place; everything else
is an argument, but for the constants that all copies read.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar, TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    ModuleOp,
    NoneAttr,
    UnitAttr,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue

from inarch.core.lazy import Array, np
from inarch.dialects.graph.call import CallOp
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.matmul import MatmulOp
from inarch.dialects.graph.op import GraphOp, shape_of, tensor_dtype, tensor_of
from inarch.dialects.graph.windows.conv import ConvOp
from inarch.ir.context import ConstantStore, store_of
from inarch.ir.edit import erase
from inarch.ir.functions import LAYER, WEIGHT, functions, is_public
from inarch.ir.location import LOCATIONS, copy_locations
from inarch.ir.names import free_name, symbols_of
from inarch.ir.passes import OptionalPass
from inarch.ir.payload.constants import constant_array
from inarch.passes.schedule.apply_schedule import SCHEDULE

LEAST_OPS = 8
"""Of a layer: with fewer there is little to save, and nests that could be one are in two functions."""

MOST_OPS = 256
"""Of a layer."""

MOST_JOINTS = 4
"""Values that a layer gives."""

MOST_PERIODS = 8
MOST_BEGINS = 4
"""Which are tried, those that save most first: in a long program without layers the search must end."""

_WEIGHTS = ("f32", "f64", "i8", "ui8", "i16")
"""Dtypes of constants of which passes on loops ask no value."""

_HIDDEN = -1e9
"""Numbers below hide keys of a softmax: whole blocks of them are left out where a constant says it."""

Layers: TypeAlias = Sequence[Sequence[Operation]]
"""Copies of a stretch of ops, one behind the other."""


@dataclass(frozen=True)
class OutlineLayersPass(OptionalPass):
    """Makes a private function with the unit attribute `inarch.layer` of layers that a function repeats.

    Weights are its arguments. Passes take it for one of the program's (`entry_blocks`) until
    `inline-layers` puts what they made of it in the place of each call. `inarch.locations`, of the function
    and of each call, says where each of its ops is from.

    A layer has at least 8 ops, a product of matrices among them, and no op with a region, a call, or a
    convolution, of which `drop-padding-taps` asks whether its weights are finite. Each value that it gives is
    read by a product or by several ops, so that it would be stored in any case. Programs that have a
    schedule, which names nests, stay as they are, and so do layers with tensors in a layout.
    """

    ended_by: ClassVar = "inline-layers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if SCHEDULE in op.attributes:
            return
        outliner = _Outliner(op, store_of(ctx))
        for function in functions(op):
            if is_public(function) and not function.is_declaration:
                outliner.outline(function)


class _Outliner:
    def __init__(self, module: ModuleOp, store: ConstantStore) -> None:
        self._module = module
        self._store = store
        self._taken = {*symbols_of(module)}

    def outline(self, function: FuncOp) -> None:
        """The longest repeated stretch first, then what is before it and behind it."""
        block = function.body.block
        pending = [[op for op in block.ops if not isinstance(op, ConstantOp | ReturnOp)]]
        while pending:
            ops = pending.pop()
            for start, layers in _repeated(ops):
                plan = _plan(layers, self._store)
                if plan is not None:
                    self._replace(function, layers, plan)
                    end = start + len(layers) * len(layers[0])
                    pending += [ops[:start], ops[end:]]
                    break

    def _replace(self, function: FuncOp, layers: Layers, plan: _Plan) -> None:
        made = self._function(function, layers[0], plan)
        name = made.sym_name.data
        now: dict[SSAValue, SSAValue] = {}
        for number, layer in enumerate(layers):
            results = [layer[at].results[n] for at, n in plan.returned]
            given = [now.get(values[number], values[number]) for values in plan.arguments]
            call = CallOp(name, given, [result.type for result in results])
            call.location = layer[-1].location
            call.attributes[LOCATIONS] = ArrayAttr(op.location for op in layer)
            function.body.block.insert_op_before(call, layer[-1])
            for old, new in zip(results, call.outs, strict=True):
                new.name_hint = old.name_hint
                old.replace_all_uses_with(new)
                now[old] = new
        erase(*reversed([op for layer in layers for op in layer]))

    def _function(self, caller: FuncOp, layer: Sequence[Operation], plan: _Plan) -> FuncOp:
        block = Block(arg_types=[values[0].type for values in plan.arguments])
        copies: dict[SSAValue, SSAValue] = {}
        for values, argument in zip(plan.arguments, block.args, strict=True):
            copies[values[0]] = argument
            argument.name_hint = values[0].name_hint
        constants = [value.owner for value in plan.shared]
        for op in (*constants, *layer):
            assert isinstance(op, Operation), "arguments are no constants"
            copy = op.clone(copies)
            copy_locations(op, copy)
            block.add_op(copy)
        returned = [copies[layer[at].results[number]] for at, number in plan.returned]
        end = ReturnOp(*returned)
        end.location = layer[-1].location
        block.add_op(end)
        kinds = [argument.type for argument in block.args], [value.type for value in returned]
        made = FuncOp(
            free_name(f"{caller.sym_name.data}_layer", self._taken),
            kinds,
            Region(block),
            visibility="private",
            arg_attrs=ArrayAttr(
                DictionaryAttr({WEIGHT: UnitAttr()} if _are_constants(values) else {})
                for values in plan.arguments
            ),
        )
        made.attributes[LAYER] = UnitAttr()
        made.attributes[LOCATIONS] = ArrayAttr(op.location for op in layer)
        made.location = caller.location
        self._module.body.block.add_op(made)
        return made


# ------------------------------------------------------------------------------------ finding


def _repeated(ops: Sequence[Operation]) -> Iterator[tuple[int, Layers]]:
    """Where stretches that may be repeated begin, and their copies; those that save most come first."""
    if len(ops) < 2 * LEAST_OPS or not any(isinstance(op, MatmulOp) for op in ops):
        return  # without NumPy, which small programs do not need
    numbers: dict[Hashable, int] = {}
    signs = np.array([numbers.setdefault(_signature(op), len(numbers)) for op in ops], np.int64)
    found: list[tuple[int, int, int, int]] = []
    for period in range(LEAST_OPS, min(len(ops) // 2, MOST_OPS) + 1):
        start, length = _longest_run(signs[:-period] == signs[period:])
        copies = (length + period) // period
        if copies > 1:
            found.append(((copies - 1) * period, -period, start, length + period))
    for _, negative, start, length in sorted(found, reverse=True)[:MOST_PERIODS]:
        period = -negative
        begins = range(start, start + min(period, length - 2 * period + 1))
        choices = [(begin, (start + length - begin) // period) for begin in begins]
        choices.sort(key=lambda one: _cost(ops[one[0] : one[0] + period], one[1]))
        for begin, copies in choices[:MOST_BEGINS]:
            stretch = range(begin, begin + copies * period, period)
            yield begin, [ops[at : at + period] for at in stretch]


def _cost(layer: Sequence[Operation], copies: int) -> tuple[int, int, int]:
    """Of several begins the least is best: few values from copy to copy, many copies and readers."""
    joints = _joints([layer])
    readers = sum(len(list(layer[at].results[n].uses)) for at, n in joints)
    return len(joints), -copies, -readers


def _longest_run(equal: Array) -> tuple[int, int]:
    """Where the longest run of True begins, and its length."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], equal.astype(np.int8), [0]])))
    starts, ends = edges[::2], edges[1::2]
    if not len(starts):
        return 0, 0
    best = int(np.argmax(ends - starts))
    return int(starts[best]), int(ends[best] - starts[best])


def _signature(op: Operation) -> Hashable:
    """Equal for two ops that may stand at the same place of two copies."""
    if op.regions or isinstance(op, CallOp | ConvOp) or not isinstance(op, GraphOp):
        return id(op)
    operands = [
        value.owner.value
        if isinstance(value.owner, ConstantOp) and _is_number(value)
        else value.type
        for value in op.operands
    ]
    results = tuple(result.type for result in op.results)
    known = (*sorted(op.properties.items()), *sorted(op.attributes.items()))
    return op.name, known, tuple(operands), results


def _is_number(value: SSAValue) -> bool:
    return prod(shape_of(value)) == 1


# ------------------------------------------------------------------------------------ comparing


@dataclass(frozen=True)
class _Plan:
    """What a layer is given, and what it gives."""

    arguments: Sequence[tuple[SSAValue, ...]]
    """Each with its value in every copy."""
    shared: Sequence[SSAValue]
    """The constants of the first copy that are those of all."""
    returned: Sequence[tuple[int, int]]
    """By op of the layer, and its result."""


def _plan(layers: Layers, store: ConstantStore) -> _Plan | None:
    """How the copies are calls of one function; None where they are not."""
    if not any(isinstance(op, MatmulOp) for op in layers[0]):
        return None
    places = [{op: at for at, op in enumerate(layer)} for layer in layers]
    arguments: dict[tuple[SSAValue, ...], None] = {}
    shared: dict[SSAValue, None] = {}
    for row in zip(*layers, strict=True):
        for values in zip(*(op.operands for op in row), strict=True):
            made = {_place(value, own) for value, own in zip(values, places, strict=True)}
            if made == {None}:
                if _is_one_constant(values):
                    shared[values[0]] = None
                elif all(_is_weight(value, store) for value in values):
                    arguments[values] = None
                else:
                    return None
            elif len(made) > 1:
                return None
    # Two arguments may have one value in the first copy and two in another one.
    firsts = [values[0] for values in arguments]
    if len(set(firsts)) < len(firsts) or not shared.keys().isdisjoint(firsts):
        return None
    returned = _joints(layers)
    results = [layer[at].results[number] for layer in layers for at, number in returned]
    given = [value for values in arguments for value in values]
    plain = all(isinstance(tensor_of(value).encoding, NoneAttr) for value in (*results, *given))
    if not returned or len(returned) > MOST_JOINTS or not plain:
        return None
    if not all(_is_stored(result) for result in results):
        return None
    return _Plan(list(arguments), list(shared), returned)


def _place(value: SSAValue, own: dict[Operation, int]) -> tuple[int, int] | None:
    """Which op of the copy makes a value, and as which result."""
    if isinstance(value, OpResult) and value.op in own:
        return own[value.op], value.index
    return None


def _are_constants(values: Sequence[SSAValue]) -> bool:
    return all(isinstance(value.owner, ConstantOp) for value in values)


def _is_one_constant(values: Sequence[SSAValue]) -> bool:
    found = {value.owner.value for value in values if isinstance(value.owner, ConstantOp)}
    return len(found) == 1 and _are_constants(values)


def _is_weight(value: SSAValue, store: ConstantStore) -> bool:
    """Whether no pass on loops asks what the value is: it is computed, or a constant like any other."""
    if not isinstance(value.owner, ConstantOp):
        return True
    if tensor_dtype(value).name not in _WEIGHTS or _is_number(value):
        return False
    if all(isinstance(use.operation, MatmulOp) for use in value.uses):
        return True
    return not np.any(constant_array(value.owner.value, store) < _HIDDEN)


def _joints(layers: Layers) -> list[tuple[int, int]]:
    """The results of a layer's ops that something outside of its copy reads, in any copy."""
    found: set[tuple[int, int]] = set()
    for layer in layers:
        own = set(layer)
        for at, op in enumerate(layer):
            for number, result in enumerate(op.results):
                if any(use.operation not in own for use in result.uses):
                    found.add((at, number))
    return sorted(found)


def _is_stored(value: SSAValue) -> bool:
    """Whether it is stored in any case: a product reads it, several ops do, or the caller does."""
    readers = {use.operation for use in value.uses}
    return len(readers) != 1 or any(isinstance(op, MatmulOp | ReturnOp) for op in readers)
