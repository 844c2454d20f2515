"""Values of their own for steps that run apart: no zeros, and no sign that the model does not have there."""

from __future__ import annotations

from collections.abc import Mapping

from inarch.core.lazy import Array, np
from inarch.diagnosis.program import Program
from inarch.diagnosis.slices import Slice, entering, own_name
from inarch.dialects.graph.constant import ConstantOp


def dense_values(
    part: Slice, program: Program, values: Mapping[str, Array], seed: int
) -> dict[str, Array]:
    """What the steps of `part`, which is `apart`, take: of each value in the model one like it.

    Floats are drawn, each half to one and a half times as large as the values of the model are on the average
    (in the mean square), and positive where they all are: a logarithm stays in its domain. Everything
    else may be an index, a size or a condition, and is what it is in the model.
    """
    generator = np.random.default_rng(seed)
    found: dict[str, Array] = {}
    for number, step in enumerate(program.steps):
        for value in entering(step):
            if not isinstance(value.owner, ConstantOp):
                name = program.names[value]
                found[own_name(name, number)] = _like(values[name], generator)
    return {name: found[name] for name in part.takes}


def _like(value: Array, generator: np.random.Generator) -> Array:
    if value.dtype.kind != "f" or not value.size:
        return value
    finite = value[np.isfinite(value)].astype(np.float64)
    size = float(np.sqrt(np.mean(finite**2))) if finite.size else 0.0
    size = size if 0 < size < float(np.finfo(value.dtype).max) / 4 else 1.0
    drawn = np.asarray(generator.uniform(0.5 * size, 1.5 * size, value.shape), np.float64)
    if np.any(finite < 0):
        signs = np.asarray(generator.integers(0, 2, value.shape), np.float64)
        drawn = drawn * (2 * signs - 1)
    return np.asarray(drawn, value.dtype)
