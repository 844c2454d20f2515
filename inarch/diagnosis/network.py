"""Outputs of a whole network: the one verdict of `inarch verify` and of `inarch run --check` about them.

They are right within `WHOLE` of their largest magnitude; farther apart, where rounding explains it, which
networks amplify. It is measured: the definitions run again, each step's result off by what it rounds itself,
of random sign in each element.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import AnyFloat, ModuleOp, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from inarch.core.dtypes import is_float_array
from inarch.core.lazy import Array, np
from inarch.core.rounding import distance, largest
from inarch.definitions.compare import Expected
from inarch.diagnosis.allowed import DIRECTLY, Taken, expected_values, network_value, own_rounding
from inarch.diagnosis.compare import Difference, difference
from inarch.diagnosis.slices import Slice, cut, main_block, steps, value_names
from inarch.dialects.graph.elementwise.arithmetic import ModOp
from inarch.dialects.graph.elementwise.unary import CeilOp, FloorOp, RoundOp, SignOp
from inarch.offload.tolerance import Tolerance
from inarch.testing import execute

_DRAWS = 4
"""Of the signs; of an output the largest change in any element of any of them is allowed."""

_STAIRS = (CeilOp, FloorOp, ModOp, RoundOp, SignOp)
"""And all that makes integers and bools of floats: a change decides, which a few draws need not meet."""


@dataclass(frozen=True)
class NetworkVerdict:
    """What was expected, and what is farther away than that: `difference`; None: nothing is."""

    expected: Mapping[str, Expected]
    difference: Difference | None
    is_near: bool
    """Whether all outputs are within `WHOLE`; else rounding may hide other faults in them."""


def network_verdict(
    wanted: Mapping[str, Array],
    found: Mapping[str, Array],
    explain: Callable[[], Mapping[str, Array]],
    tolerances: Sequence[Tolerance] = (),
) -> NetworkVerdict:
    """Whether outputs are what is wanted, as the definitions or a reference have them.

    `explain` says how far rounding may take them, where that is known, and is asked where they are not near.
    `tolerances`: any of which is enough for an output.
    """
    expected = {name: network_value(value) for name, value in wanted.items()}
    if differing(expected, found, tolerances) is None:
        return NetworkVerdict(expected, None, is_near=True)
    bounds = explain()
    wider = {
        name: replace(each, bound=np.maximum(each.bound, bounds.get(name, 0.0)))
        for name, each in expected.items()
    }
    return NetworkVerdict(wider, differing(wider, found, tolerances), is_near=False)


def differing(
    expected: Mapping[str, Expected],
    found: Mapping[str, Array],
    tolerances: Sequence[Tolerance] = (),
) -> Difference | None:
    """The first value that is neither as near as is expected, nor as one of `tolerances` allows."""
    for name, each in expected.items():
        one = difference(name, each.center, found[name], each.bound)
        if one is not None and not any(
            t.allows(t.measure(each.value, found[name])) for t in tolerances
        ):
            return one
    return None


def explained(
    part: Slice, context: Context, inputs: Mapping[str, Array], taken: Taken = DIRECTLY
) -> dict[str, Array]:
    """How far rounding may take each output: as measured, or by the bounds of all its steps."""
    if not _has_stairs(part.module):
        return _measured(part, context, inputs, taken)
    known = expected_values(part, context, inputs, taken)
    given = [inputs[name] for name in part.takes]
    own = dict(zip(part.gives, execute(part.module, given, context), strict=True))
    return {name: each.bound + distance(each.center, own[name]) for name, each in known.items()}


def _measured(
    part: Slice, context: Context, inputs: Mapping[str, Array], taken: Taken
) -> dict[str, Array]:
    names, block, every = value_names(part.module), main_block(part.module), steps(part.module)
    given = {names[each]: inputs[name] for each, name in zip(block.args, part.takes, strict=True)}
    returned = block.last_op
    assert returned is not None, "a function ends with a return"
    gives = {name: names[each] for name, each in zip(part.gives, returned.operands, strict=True)}
    alone = [cut(part.module, [step], every_value=True) for step in every]
    plain, roundings = dict(given), list[list[Array]]()
    for step, one in zip(every, alone, strict=True):
        entering = [plain[name] for name in one.takes]
        values = execute(one.module, entering, context)
        plain |= zip(one.gives, values, strict=True)
        roundings.append(own_rounding(step, one, entering, values, context, taken))
    found = {name: np.zeros(()) for name in part.gives}
    for draw in range(_DRAWS):
        rng, drawn = np.random.default_rng(draw), dict(given)
        for one, off in zip(alone, roundings, strict=True):
            values = execute(one.module, [drawn[name] for name in one.takes], context)
            for name, value, bound in zip(one.gives, values, off, strict=True):
                drawn[name] = value
                if is_float_array(value.dtype):
                    # Where any number is right: NaN, and infinities.
                    kind = bound if draw else np.where(np.isinf(bound), np.nan, bound)
                    off_by = rng.choice([-1.0, 1.0], value.shape) * kind
                    with np.errstate(invalid="ignore"):  # infinities of both signs
                        drawn[name] = np.asarray(value + off_by, value.dtype)
        for name, own in gives.items():
            found[name] = np.maximum(found[name], distance(plain[own], drawn[own]))
    return {name: np.maximum(away, largest(away)) for name, away in found.items()}


def _has_stairs(module: ModuleOp) -> bool:
    return any(isinstance(op, _STAIRS) or _is_decided(op) for op in module.walk())


def _is_decided(op: Operation) -> bool:
    """Whether it makes of floats what is none."""
    return any(map(_is_float, op.operands)) and any(not _is_float(each) for each in op.results)


def _is_float(value: SSAValue) -> bool:
    kind = value.type
    if isinstance(kind, TensorType):
        kind = cast("TensorType[Attribute]", kind).element_type
    return isinstance(kind, AnyFloat)
