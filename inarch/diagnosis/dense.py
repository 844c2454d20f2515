"""Values of their own for steps that run apart: no zeros, and both signs where any number is good."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import FloatAttr
from xdsl.ir import Operation

from inarch.core.dtypes import float_limits, is_float_array
from inarch.core.lazy import Array, np
from inarch.diagnosis.program import Program
from inarch.diagnosis.slices import Slice, entering, own_name
from inarch.dialects.graph.composites.quantize import QuantizedOp
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.elementwise import ElementwiseOp
from inarch.dialects.graph.op import tensor_dtype
from inarch.ir.context import store_of
from inarch.ir.payload.constants import constant_array

_FEW = 16
"""Numbers of a constant that a step may compare with: more are weights."""
_WIDE = 6
"""Powers of two by which some numbers are larger, or smaller."""
_NEGATIVE = (0.1, 0.5, 0.9)
"""Shares of a plane's numbers that are negative."""


def dense_values(
    part: Slice, program: Program, values: Mapping[str, Array], seed: int
) -> dict[str, Array]:
    """What the steps of `part`, which is `apart`, take: of each value in the model one like it.

    Floats are drawn, each half to one and a half times as large as the values of the model are on the average
    (in the mean square). Those of elementwise steps are positive where all are, as a logarithm stays in its
    domain. Others have both signs: a maximum after a Relu shows its initial value. A quarter are equal to
    others, and half of those that a step compares; a quarter of what enters an elementwise step is large,
    small, or near the numbers that the step has itself. Everything else may be an index, a size or a
    condition, and is what it is in the model.
    """
    generator = np.random.default_rng(seed)
    found: dict[str, Array] = {}
    for number, step in enumerate(program.steps):
        taken = [value for value in entering(step) if not isinstance(value.owner, ConstantOp)]
        names = [program.names[value] for value in taken]
        sizes = {name: _size(values[name]) for name in names}
        compares = not any(tensor_dtype(result).is_float for result in step.results)
        if compares:
            sizes = dict.fromkeys(sizes, max(sizes.values(), default=1.0))
        limits = _limits(step, program)
        for name in names:
            ties = 0.5 if compares else 0.25
            drawn = _like(values[name], sizes[name], limits, ties, generator)
            found[own_name(name, number)] = drawn
    return {name: found[name] for name in part.takes}


def _size(value: Array) -> float:
    """How large floats are on the average."""
    if not is_float_array(value.dtype):
        return 0.0
    finite = value[np.isfinite(value)].astype(np.float64)
    size = float(np.sqrt(np.mean(finite**2))) if finite.size else 0.0
    return size if 0 < size < float_limits(value.dtype).most / 4 else 1.0


def _limits(step: Operation, program: Program) -> Sequence[float] | None:
    """Numbers near which an elementwise step may do something else: its own, and 1; None of other steps.

    There a large number would hide what becomes of the others.
    """
    if not isinstance(step, ElementwiseOp | QuantizedOp):
        return None
    found = [each.value.data for each in step.properties.values() if isinstance(each, FloatAttr)]
    found.append(1.0)  # where domains end; its half is rounded to the even one
    for value in entering(step):
        if isinstance(value.owner, ConstantOp):
            array = constant_array(value.owner.value, store_of(program.context))
            if is_float_array(array.dtype) and array.size <= _FEW:
                found += map(float, array.ravel())
    return [number for number in found if np.isfinite(number)]


def _like(
    value: Array,
    size: float,
    limits: Sequence[float] | None,
    ties: float,
    generator: np.random.Generator,
) -> Array:
    if not is_float_array(value.dtype) or not value.size:
        return value
    shape, has_signs = value.shape, limits is None or bool(np.any(value[np.isfinite(value)] < 0))
    drawn = np.asarray(generator.uniform(0.5, 1.5, shape), np.float64)
    equal = np.asarray(np.round(2 * drawn) / 2, np.float64)
    drawn = size * np.where(_some(shape, generator, ties), equal, drawn)
    if has_signs:
        # Of other steps most numbers of some planes, or rows, are negative: so are all of a window.
        shares, outer = [0.5] if limits is not None else _NEGATIVE, -2 if len(shape) > 2 else -1
        share = _one_of(shares, (*shape[:outer], *(1 for _ in shape[outer:])), generator)
        drawn = np.where(_some(shape, generator, share), -drawn, drawn)
    if limits is not None:
        numbers = [limit for limit in limits if has_signs or limit > 0]
        wide = drawn * _one_of([2.0**power for power in range(-_WIDE, _WIDE + 1)], shape, generator)
        if numbers:
            near = _one_of(numbers, shape, generator) * _one_of([0.5, 1.0, 1.5], shape, generator)
            wide = np.asarray(np.where(_some(shape, generator, 0.5), near, wide))
        drawn = np.asarray(np.where(_some(shape, generator), wide, drawn))
    most = float_limits(value.dtype).most
    return np.asarray(np.clip(drawn, -most, most), value.dtype)


def _one_of(
    numbers: Sequence[float], shape: tuple[int, ...], generator: np.random.Generator
) -> Array:
    return np.asarray(generator.choice(np.asarray(numbers, np.float64), shape))


def _some(
    shape: tuple[int, ...], generator: np.random.Generator, share: float | Array = 0.25
) -> Array:
    return np.asarray(generator.random(shape) < share)
