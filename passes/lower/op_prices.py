"""What ops take by their algorithms: each is lowered alone up to `tensorize`, and its nests are priced."""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import dataclass, field, replace

from xdsl.context import Context
from xdsl.dialects.builtin import DenseResourceAttr, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from inarch.core.errors import InarchError, InarchWarning, PluginError
from inarch.core.lazy import np
from inarch.dialects import new_context
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.layout import layout_of
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.dialects.loop.buffer import AllocOp
from inarch.dialects.loop.buffer import ConstantOp as BufferConstantOp
from inarch.dialects.loop.memory import memref_of, nbytes
from inarch.dialects.loop.nest import NestOp
from inarch.ir.context import ConstantStore, store_of
from inarch.ir.report.facts import facts_of
from inarch.ir.target import machine_of
from inarch.ir.types import memref, mlir_type
from inarch.passes.lower.algorithm import (
    DIRECT,
    POLICIES,
    Algorithm,
    Bound,
    algorithm_of,
    algorithms_of,
    asked_for,
    bound_of,
    known_numbers,
    origin_of,
    policy_of,
    refusal,
)
from inarch.passes.lower.builder import LoopBuilder
from inarch.passes.lower.graph_to_loop import lower_op
from inarch.passes.lower.physical import TensorPlace
from inarch.passes.lower.trial import lower_trial, trial_passes
from inarch.passes.lower.weighed import PriceAll, Weighed
from inarch.passes.tensorize.choose import Prices
from inarch.passes.tensorize.keep.record import Store
from inarch.passes.tuned import Tuned


@dataclass
class OpPrices:
    """A fact: what ops of a program take, those that are alike once."""

    context: Context
    module: ModuleOp
    _known: dict[object, Weighed] = field(default_factory=dict[object, Weighed])

    @staticmethod
    def of(context: Context, module: ModuleOp) -> OpPrices:
        """Those of a program; of another one that was on the context nothing is known."""
        facts = facts_of(context)
        known = facts.get(OpPrices)
        if known is None or known.module is not module:
            facts.put(known := OpPrices(context, module))
        return known

    def price(self, op: Operation, name: str) -> Weighed:
        """An algorithm of an op with cost and scratch of its nests, or why it fails."""
        key = name, *key_of_op(op)
        if key not in self._known:
            self._known[key] = self._restored(op, name, key) or self._priced(op, name, key)
        return self._known[key]

    def ways(self, op: Operation) -> list[Weighed]:
        """An op's own nest and its other algorithms, with why one is not to be taken."""
        found = [self._asked(op, name, algorithm) for name, algorithm in algorithms_of(op)]
        direct = Weighed(DIRECT, numerics=POLICIES[0])
        prices_all = facts_of(self.context).get(PriceAll) is not None
        wanted = [one for one in found if not one.refused or (prices_all and one.bound)]
        if not wanted:
            return [direct, *found]
        return [
            self._with_price(op, one) if one in (direct, *wanted) else one
            for one in (direct, *found)
        ]

    def cycles(self, op: Operation) -> float:
        """Of our fastest way that may be taken; of an op that cannot be lowered, infinitely many.

        Algorithms of others may fail, which is said once, by `choose-algorithm`.
        """
        own = {name: one for name, one in algorithms_of(op) if _is_own(op, name)}
        others = [name for name, one in own.items() if not self._asked(op, name, one).refused]
        prices = [self.price(op, name) for name in (DIRECT, *others)]
        return min((one.cycles for one in prices if not one.refused), default=math.inf)

    def _asked(self, op: Operation, name: str, algorithm: Algorithm) -> Weighed:
        """An algorithm without a price: its bound, and whether it applies and the numerics allow it."""
        bound, store = None, store_of(self.context)
        try:
            why = refusal(op, name, algorithm)
            if why is None:
                bound = bound_of(op, name, algorithm, lambda value: known_numbers(value, store))
                if name != asked_for(op):
                    why = _forbidden(bound, POLICIES.index(policy_of(self.module)))
        except PluginError as error:
            why = left_out(op, name, error)
        numerics = (bound.policy if bound is not None else None) or ""
        return Weighed(name, bound=str(bound or ""), numerics=numerics, refused=why or "")

    def _with_price(self, op: Operation, one: Weighed) -> Weighed:
        price = self.price(op, one.name)
        if price.refused:
            return price
        return replace(price, bound=one.bound, numerics=one.numerics, refused=one.refused)

    def _restored(self, op: Operation, name: str, key: object) -> Weighed | None:
        record = kept.get(self._address(key)) if (kept := self._kept(op, name)) else None
        return Weighed(name, *json.loads(record)) if record is not None else None

    def _priced(self, op: Operation, name: str, key: object) -> Weighed:
        found = priced(self.context, self.module, op, name)
        if not found.refused and (kept := self._kept(op, name)) is not None:
            record = [found.cycles, found.workspace, found.constants]
            kept.put(self._address(key), json.dumps(record))
        return found

    def _address(self, key: object) -> str:
        passes = ",".join(str(one.pipeline_pass_spec()) for one in trial_passes(self.context))
        return f"{passes} {Prices.of(self.context, self.module).chooser.context} {key}"

    def _kept(self, op: Operation, name: str) -> Store | None:
        """Where prices of other compilations are; None for what is not made of the files of Inarch alone."""
        facts, chooser = facts_of(self.context), Prices.of(self.context, self.module).chooser
        algorithm = algorithm_of(op, name)
        code = [type(op), *map(type, trial_passes(self.context))]
        is_own = all(one.__module__.startswith("inarch.") for one in code) and (
            algorithm is None or _is_own(op, name)
        )
        has_others = bool(chooser.guests) or facts.get(Tuned) is not None
        return chooser.kept if is_own and not has_others else None


def priced(ctx: Context, module: ModuleOp, op: Operation, name: str) -> Weighed:
    """An algorithm of an op with cost and scratch of its nests, lowered in a program of their own."""
    context = new_context()
    facts_of(context).put(prices := Prices.of(ctx, module))
    try:
        alone = _alone(op, name, module, store_of(context))
        workspace = sum(nbytes(memref_of(each.results[0])) for each in _allocs(alone))
        made = [each.results[0] for each in alone.walk() if isinstance(each, BufferConstantOp)]
        constants = sum(nbytes(memref_of(each)) for each in made if any(each.uses))
        lower_trial(ctx, context, alone)
    except InarchError as error:
        why = left_out(op, name, error) if isinstance(error, PluginError) else error.message
        return Weighed(name, refused=why)
    nests = [each for each in alone.walk() if isinstance(each, NestOp)]
    cycles = prices.cycles(nests)
    return Weighed(name, cycles, workspace, constants)


def _is_own(op: Operation, algorithm: str) -> bool:
    """Whether the algorithm is made of files of Inarch."""
    return origin_of(op, algorithm).startswith("inarch.")


def _forbidden(bound: Bound, policy: int) -> str | None:
    """Why a policy does not allow an algorithm of this bound."""
    if bound.policy is None:
        return "its error has no bound here"
    is_allowed = policy >= POLICIES.index(bound.policy)
    return None if is_allowed else f"expected numerics '{bound.policy}' for it"


def left_out(op: Operation, name: str, error: PluginError) -> str:
    """Why an algorithm whose code fails is not taken, which is a warning; raised where it is asked for."""
    if name == asked_for(op):
        raise error
    warnings.warn(
        InarchWarning(f"{error.message}; it is not taken", where=error.where), stacklevel=2
    )
    return error.message


def _allocs(module: ModuleOp) -> list[Operation]:
    return [each for each in module.walk() if isinstance(each, AllocOp)]


def bytes_of(value: SSAValue) -> int:
    """Of a tensor's elements."""
    return math.prod(shape_of(value)) * tensor_dtype(value).nbytes


def _alone(op: Operation, name: str, module: ModuleOp, own: ConstantStore) -> ModuleOp:
    """A program of the op alone, lowered by an algorithm, on buffers in the operands' layouts."""
    given = [value for value in op.operands if not isinstance(value.owner, ConstantOp)]
    places = [TensorPlace(shape_of(value), layout_of(value)) for value in dict.fromkeys(given)]
    types: list[Attribute] = [
        memref(mlir_type(tensor_dtype(value)), place.physical_shape)
        for value, place in zip(dict.fromkeys(given), places, strict=True)
    ]
    block = Block(arg_types=types)
    builder = LoopBuilder(block, own, op.location, machine_of(module))
    for value, argument, place in zip(dict.fromkeys(given), block.args, places, strict=True):
        builder.buffers[value] = argument
        if place.layout is not None:
            builder.places[argument] = place
    for value in op.operands:
        if isinstance(value.owner, ConstantOp):
            held = value.owner.value
            if isinstance(held, DenseResourceAttr):  # the cost depends on no value
                own.set(held.resource_handle.data, np.zeros(bytes_of(value), np.uint8).data)
            builder.buffers[value] = builder.constant_attr(held)
    lower_op(op, builder, name)
    block.add_op(ReturnOp())
    function = FuncOp("main", (types, []), Region(block))
    return ModuleOp([function], attributes=dict(module.attributes))


def key_of_op(op: Operation) -> tuple[object, ...]:
    """Equal for ops that cost the same."""
    values = (*op.operands, *op.results)
    return (
        op.name,
        tuple(f"{name} = {value}" for name, value in sorted(op.properties.items())),
        asked_for(op),
        tuple(str(value.type) for value in values),
        tuple(isinstance(value.owner, ConstantOp) for value in op.operands),
    )
