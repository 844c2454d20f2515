"""Arrays that programs get: plain numbers, whole ones, wide ones, and the values that break things."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from inarch.core.dtypes import DType, float_limits, is_float_array
from inarch.core.lazy import np
from inarch.definitions.functions import Array, indexed, signature, the_function
from inarch.testing.generate.program import GeneratedProgram

SPECIAL_PERCENT = 20
"""Of all arrays: how many have special values in them."""

_WIDE = 1e18
"""The largest special number: products of two are finite in f32, and sums of those are not rounding."""


def inputs(
    program: GeneratedProgram | ModuleOp,
    seed: int = 0,
    *,
    function: str | None = None,
    special: bool = True,
) -> list[Array]:
    """Inputs for a function of `program`: one array for each argument that is no output.

    By `seed` each array is normal, of small whole numbers, in [0, 1), of all magnitudes, or constant;
    with `special`, in a fifth of them stand NaN, infinities, zeros of both signs, denormals, and
    numbers that overflow when multiplied; of integers, the extremes. What is read as an index is in range,
    negative ones among them; with `special`, some of a fifth of them are not.
    """
    module = program.parse()[1] if isinstance(program, GeneratedProgram) else program
    chosen = the_function(module, function)
    takes = signature(chosen, module)
    generator = np.random.default_rng([seed, 0x5EED])
    ranges = index_ranges(chosen, module)
    arrays: list[Array] = []
    for position in takes.inputs:
        dtype, shape = takes.dtypes[position], takes.shapes[position]
        if position in ranges:
            low, high = ranges[position]
            array = generator.integers(low, high, shape, dtype.numpy)
            arrays.append(_with_specials(array, dtype, generator) if special else array)
        else:
            arrays.append(random_array(dtype, shape, generator, special=special))
    return arrays


def index_ranges(function: FuncOp, module: ModuleOp) -> dict[int, tuple[int, int]]:
    """Argument -> the half-open range of what is to stand in it, where it holds indices of something."""
    del module
    found: dict[int, tuple[int, int]] = {}
    for indices, size in (pair for op in function.walk() for pair in indexed(op)):
        position = _argument(indices, function)
        if position is not None and size:
            low, high = found.get(position, (-size, size))
            found[position] = (max(low, -size), min(high, size))
    return found


def _argument(value: SSAValue, function: FuncOp) -> int | None:
    arguments: Sequence[SSAValue] = function.body.block.args
    return next((i for i, one in enumerate(arguments) if one is value), None)


def random_array(
    dtype: DType,
    shape: Sequence[int],
    generator: np.random.Generator,
    *,
    special: bool = True,
) -> Array:
    """One array of one of the kinds that `inputs` states."""
    shape = tuple(shape)
    if dtype.name == "i1":
        return generator.integers(0, 2, shape).astype(np.bool_)
    with np.errstate(all="ignore"):
        kind = int(generator.integers(0, 100))
        result = _floats(kind, shape, generator) if dtype.is_float else None
        array = (
            _integers(kind, dtype, shape, generator)
            if result is None
            else result.astype(dtype.numpy)
        )
        return _with_specials(array, dtype, generator) if special else array


def _with_specials(array: Array, dtype: DType, generator: np.random.Generator) -> Array:
    """The array, into a fifth of which special values have been written."""
    if array.size and generator.integers(0, 100) < SPECIAL_PERCENT:
        values = specials(dtype)
        count = int(generator.integers(1, max(2, array.size // 4 + 1)))
        places = generator.integers(0, array.size, count)
        array.reshape(-1)[places] = values[generator.integers(0, len(values), count)]
    return array


def _floats(kind: int, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
    if kind < 40:
        return generator.standard_normal(shape)
    if kind < 75:  # sums of products of these are exact: any order gives the same bits
        return generator.integers(-4, 5, shape).astype(np.float64)
    if kind < 85:
        return generator.random(shape)
    if kind < 95:
        return generator.standard_normal(shape) * np.exp(3 * generator.standard_normal(shape))
    return np.full(shape, generator.integers(-2, 3), np.float64)


def _integers(
    kind: int, dtype: DType, shape: tuple[int, ...], generator: np.random.Generator
) -> Array:
    whole = np.iinfo(dtype.numpy)
    if kind < 60:
        low = 0 if dtype.is_unsigned else -8
        return generator.integers(low, 9, shape).astype(dtype.numpy)
    if kind < 90:
        return generator.integers(whole.min, whole.max, shape, dtype.numpy, endpoint=True)
    return np.full(shape, generator.integers(0, 4), dtype.numpy)


def has_specials(arrays: Iterable[Array]) -> bool:
    """Whether a float of them is NaN, infinite, denormal, or so large that sums of products overflow."""
    for array in arrays:
        if is_float_array(array.dtype):
            size = np.abs(array.astype(np.float64))
            is_plain = (size == 0) | ((size >= float_limits(array.dtype).normal) & (size < _WIDE))
            if not np.all(is_plain):
                return True
    return False


def specials(dtype: DType) -> Array:
    """The values at which things break."""
    if dtype.is_float:
        tiny = float_limits(np.dtype(dtype.numpy)).normal
        numbers = [np.nan, np.inf, -np.inf, -0.0, 0.0, tiny / 8, -tiny / 2, tiny, _WIDE, -_WIDE]
        numbers += [0.5, -0.5, 1.5, 2.5, 65504.0, 2.0**24 + 2]
        with np.errstate(over="ignore"):  # an infinity of f16
            return np.array(numbers).astype(dtype.numpy)
    if dtype.name == "i1":
        return np.array([False, True])
    whole = np.iinfo(dtype.numpy)
    middle = [0, 1, dtype.bits, dtype.bits - 1]
    signed = [] if dtype.is_unsigned else [-1, whole.min + 1]
    return np.array([whole.min, whole.max, whole.max - 1, *middle, *signed], dtype.numpy)
