"""What the values of a part are, and how far rounding may take a compiled program from them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from xdsl.context import Context
from xdsl.ir import Operation, SSAValue

from inarch.core.dtypes import float_limits, is_float_array
from inarch.core.lazy import Array, np
from inarch.core.rounding import denormal, gamma, probable, whole
from inarch.definitions.compare import Expected
from inarch.definitions.expected import expected_of as by_bounds
from inarch.diagnosis.slices import Slice, cut, main_block, steps, value_names
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.matmul import MatmulOp
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.dialects.graph.windows.conv import ConvOp
from inarch.dialects.graph.windows.conv_transpose import ConvTransposeOp
from inarch.ir.context import store_of
from inarch.ir.location import location_text
from inarch.ir.payload.constants import constant_array
from inarch.passes.lower.algorithm import DIRECT, algorithms_of, error_of
from inarch.passes.lower.weighed import Algorithms
from inarch.testing import execute

_PRODUCTS = (ConvOp, ConvTransposeOp, MatmulOp)


Taken = Mapping[str, frozenset[str]]
"""By the place of ops, the algorithms by which a compilation computes them, where not direct alone."""

DIRECTLY: Taken = MappingProxyType({})
"""Each op as it states."""


def expected_values(
    part: Slice, context: Context, inputs: Mapping[str, Array], taken: Taken = DIRECTLY
) -> dict[str, Expected]:
    """What a part gives, by the definitions of its ops one after the other.

    What is allowed to a value is what its op makes of what is allowed to those that enter it, and its own
    rounding, by the algorithms that it may have been computed by. Products that are summed (the bulk of a
    network) are bounded in closed form, which is as much work as computing them once more; everything else
    by running its definition with bounds.
    """
    names, block = value_names(part.module), main_block(part.module)
    found = {
        names[each]: _exact(inputs[name]) for each, name in zip(block.args, part.takes, strict=True)
    }
    for step in steps(part.module):
        if isinstance(step, _PRODUCTS):
            operands = [_operand(value, names, found, context) for value in step.operands]
            if is_float_array(operands[0].value.dtype):
                by = algorithms_at(step, taken)
                found[names[step.results[0]]] = _sum_of_products(step, operands, by)
                continue
        alone = cut(part.module, [step], every_value=True)
        entering = [found[name] for name in alone.takes]
        given = _by_bounds(alone, entering, context)
        if by := algorithms_at(step, taken):
            ins = [_operand(value, names, found, context) for value in step.operands]
            values = [one.value for one in ins]
            is_exact = all(_error(one) is None for one in ins)
            given = [_by_algorithms(step, each, values, by, is_exact=is_exact) for each in given]
        found |= zip(alone.gives, given, strict=True)
    returned = block.last_op
    assert returned is not None, "a function ends with a return"
    return {
        name: found[names[value]] for name, value in zip(part.gives, returned.operands, strict=True)
    }


def taken_by(report: Algorithms | None) -> Taken:
    """Of a compilation's report."""
    found: dict[str, frozenset[str]] = {}
    for where, weighed in report.found if report is not None else ():
        found[where] = found.get(where, frozenset()) | {weighed[0].name}
    return {where: names for where, names in found.items() if names - {DIRECT}}


def algorithms_at(step: Operation, taken: Taken) -> frozenset[str]:
    """By which it may have been computed; none: direct alone."""
    found = taken.get(location_text(step) or step.name, frozenset())
    return found & {
        DIRECT,
        *(name for name, _ in algorithms_of(step)),
    }  # other ops are from there, too


def network_value(value: Array) -> Expected:
    """A value as what comes out of a whole network."""
    return Expected(value, value, np.broadcast_to(whole(value), value.shape))


def own_rounding(
    step: Operation,
    alone: Slice,
    entering: Sequence[Array],
    values: Sequence[Array],
    context: Context,
    taken: Taken = DIRECTLY,
) -> list[Array]:
    """How far rounding takes each result of one step, `alone`, whose operands are exact, as a rule.

    Of a sum of n products `probable(n)` of the root of its values' mean square, of others their bound.
    Infinite where an algorithm may give any number.
    """
    if isinstance(step, _PRODUCTS) and is_float_array(values[0].dtype):
        own = np.broadcast_to(probable(values[0], _terms(step) + 2), values[0].shape)
        inside = steps(alone.module)[0]
        given: dict[SSAValue, Array] = dict(
            zip(main_block(alone.module).args, entering, strict=True)
        )
        for name in sorted(algorithms_at(step, taken)):
            operands = [
                constant_array(each.owner.value, store_of(context))
                if isinstance(each.owner, ConstantOp)
                else given[each]
                for each in inside.operands
            ]
            own = np.where(np.isinf(error_of(inside, name, operands, own)), np.inf, own)
        return [own]
    found: list[Array] = []
    bounds = _by_bounds(alone, [_exact(each) for each in entering], context)
    for value, each in zip(values, bounds, strict=True):
        if not is_float_array(value.dtype):
            found.append(np.zeros(()))
            continue
        # Of what no bound is known, or anything is right, one rounding.
        is_known = np.isfinite(each.bound) & (each.bound < whole(value))
        found.append(np.where(is_known, each.bound, probable(value, 1)))
    return found


def _exact(value: Array) -> Expected:
    return Expected(value, value, np.zeros(()))


def _by_bounds(alone: Slice, entering: Sequence[Expected], context: Context) -> list[Expected]:
    """Of one step. Where its reference and its lowering disagree the reference is right."""
    arrays = [each.value for each in entering]
    try:
        return by_bounds(context, alone.module, arrays, errors=[_error(each) for each in entering])
    except AssertionError:
        return [network_value(value) for value in execute(alone.module, arrays, context)]


def _error(entering: Expected) -> Array | None:
    """How far a value may be from what is taken for it; None: it is that."""
    if entering.center is entering.value and not np.any(entering.bound):
        return None
    if not is_float_array(entering.value.dtype):
        return entering.bound
    with np.errstate(invalid="ignore"):
        away = np.abs(entering.center - entering.value.astype(np.float64))
    return entering.bound + np.where(np.isfinite(away), away, 0.0)


def _operand(
    value: SSAValue, names: Mapping[SSAValue, str], found: Mapping[str, Expected], context: Context
) -> Expected:
    if isinstance(value.owner, ConstantOp):
        return _exact(constant_array(value.owner.value, store_of(context)))
    return found[names[value]]


def _by_algorithms(
    op: Operation,
    expected: Expected,
    operands: Sequence[Array],
    names: frozenset[str],
    *,
    is_exact: bool,
) -> Expected:
    """What is allowed where the op is computed by one of these, of operands that are exact or not."""
    if not is_float_array(expected.value.dtype):
        return expected
    direct = np.broadcast_to(expected.bound, expected.value.shape)
    each = [error_of(op, name, operands, direct) for name in sorted(names)]
    # What the operands may be off by is in direct's bound.
    return replace(expected, bound=np.maximum.reduce(each if is_exact else [direct, *each]))


def _sum_of_products(
    op: ConvOp | ConvTransposeOp | MatmulOp, operands: Sequence[Expected], names: frozenset[str]
) -> Expected:
    """The value in float64, and `gamma(n) * (the same of absolute values)`: any order, with or without FMA.

    n counts a product's rounding and a bias. Algorithms have bounds of their own. What the operands may be
    off by adds what the op, which is linear in each, makes of their sizes with it and without.
    """
    dtype = np.dtype(tensor_dtype(op.out).numpy)
    count = _terms(op) + 2
    # Kernels of narrow factors may take denormals for 0.
    is_narrow = isinstance(op, ConvOp | MatmulOp) and op.to is not None
    least = float_limits(dtype).normal if is_narrow else denormal(dtype)
    wide = [np.asarray(each.value, np.float64) for each in operands]
    errors = [_error(each) for each in operands]
    with np.errstate(all="ignore"):
        value = np.asarray(op.reference(*wide))
        size = np.asarray(op.reference(*map(np.abs, wide)))
        spread: Array | float = 0.0
        most = wide
        if any(error is not None for error in errors):
            most = [
                np.abs(each) if error is None else np.abs(each) + error
                for each, error in zip(wide, errors, strict=True)
            ]
            larger = np.asarray(op.reference(*most))
            spread, size = larger - size, larger
        # Below the normal numbers a product loses at most half of the least denormal.
        bound = gamma(count, dtype) * size + count * least
        sizes = [each.astype(dtype) for each in most]
        if names:
            bound = np.maximum.reduce([error_of(op, name, sizes, bound) for name in sorted(names)])
        bound = bound + spread
        # Where the sizes overflow it depends on the order whether a sum does, and whether it is NaN.
        bound = np.where(size + bound <= float_limits(dtype).most, bound, np.inf)
        return Expected(value.astype(dtype), value, bound)


def _terms(op: ConvOp | ConvTransposeOp | MatmulOp) -> int:
    right = shape_of(op.operands[1])
    if isinstance(op, ConvTransposeOp):  # at the most
        return math.prod(right) // right[1] // op.groups.value.data if right[1] else 0
    return math.prod(right[1:]) if isinstance(op, ConvOp) else right[-2]
