"""Running programs of any level by the definitions of their ops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from inarch.core.dtypes import is_float_array
from inarch.core.errors import ArgumentError
from inarch.core.lazy import np
from inarch.definitions.frame import Import
from inarch.definitions.functions import (
    Array,
    Signature,
    indexed_sizes,
    random_array,
    signature,
    the_function,
)
from inarch.definitions.run import run_definitions
from inarch.dialects import new_context
from inarch.ir.functions import index_ranges
from inarch.ir.text import parse_module


def as_module(program: ModuleOp | str, ctx: Context | None) -> tuple[Context, ModuleOp]:
    """The program in a context: text is parsed, in `ctx` or a new one."""
    context = ctx if ctx is not None else new_context()
    module = parse_module(context, program) if isinstance(program, str) else program
    return context, module


def random_inputs(
    program: FuncOp | ModuleOp, seed: int = 0, *, function: str | None = None
) -> list[Array]:
    """Inputs for a function, or for the module's only one (or `@main`, or `function`), by `seed`.

    Floats are standard normal, signed integers -4 to 4, unsigned ones 0 to 8, bools are fair;
    shapes and dtypes are those of the arguments that are not outputs. What is read as an index
    as it is given is a valid one. Where they are computed, and for integer division, inputs of
    your own may be needed.
    """
    if isinstance(program, FuncOp):
        chosen, module = program, _module_of(program)
    else:
        chosen, module = the_function(program, function), program
    takes = signature(chosen, module)
    generator = np.random.default_rng(seed)
    arrays = [random_array(takes, position, generator) for position in takes.inputs]
    sizes = indexed_sizes(chosen)
    for number, position in enumerate(takes.inputs):
        size = sizes.get(position)
        ranges = index_ranges(chosen, position) or ([] if size is None else [(-size, size - 1)])
        if ranges:
            arrays[number] = _within(arrays[number], ranges)
    return arrays


def _within(array: Array, ranges: Sequence[tuple[int, int]]) -> Array:
    """Its elements, in turn, brought into the ranges; those of an empty one as they are."""
    flat: Array = array.astype(np.int64).reshape(-1)
    for at, (least, most) in enumerate(ranges):
        if least <= most:
            part: Array = flat[at :: len(ranges)]
            part[...] = (part - least) % (most - least + 1) + least
    found: Array = flat.reshape(array.shape)
    return found.astype(array.dtype)


def _module_of(function: FuncOp) -> ModuleOp:
    parent = function.parent_op()
    return parent if isinstance(parent, ModuleOp) else ModuleOp([])


def execute(
    program: ModuleOp | str,
    inputs: Sequence[Array],
    ctx: Context | None = None,
    *,
    function: str | None = None,
    imports: Mapping[str, Import] | None = None,
) -> list[Array]:
    """The outputs of a function (the only public one, `@main`, or `function`) on `inputs`.

    Every op does what its definition says (`inarch.definitions.ops`), in NumPy: no C is involved. The
    outputs of a function on buffers are the arguments with `inarch.result`, or without any, those that some
    op writes; they hold arbitrary but fixed numbers before the call. `ctx` holds the constants of a
    module that was parsed or made in it. `imports` stand for functions without a body: called on
    NumPy arrays; those on tensors return their results, those on buffers fill theirs in.

    Raises InarchError for a program that has no meaning: an access outside of a buffer, a nest whose
    result depends on the order of its points, an output that depends on memory that nothing wrote.
    """
    context, module = as_module(program, ctx)
    chosen = the_function(module, function)
    takes = signature(chosen, module)
    arrays = checked_inputs(takes, inputs)
    return run_definitions(context, module, takes, arrays, imports=imports)


def checked_inputs(takes: Signature, inputs: Sequence[Array]) -> list[Array]:
    """The inputs, of the shapes and dtypes that the function takes. Raises ArgumentError."""
    if len(inputs) != len(takes.inputs):
        raise ArgumentError(
            f"@{takes.name}: expected {len(takes.inputs)} inputs, found {len(inputs)}"
        )
    for number, (array, position) in enumerate(zip(inputs, takes.inputs, strict=True)):
        wanted, shape = takes.dtypes[position], takes.shapes[position]
        if not isinstance(array, np.ndarray | np.generic):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(
                f"@{takes.name}: expected input {number} to be a NumPy array, found a "
                f"{type(array).__name__}; use np.array(x, dtype={wanted.python})"
            )
        same_kind = array.dtype.itemsize == wanted.nbytes and (
            array.dtype.name == wanted.numpy or not (wanted.is_float or is_float_array(array.dtype))
        )
        if array.shape != shape or not same_kind:
            raise ArgumentError(
                f"@{takes.name}: expected input {number} of shape {shape} and dtype "
                f"{wanted.numpy}, found {array.shape} and {array.dtype.name}"
            )
    return [
        # A loop-level i8 may hold what the graph calls ui8: the same bytes.
        np.ascontiguousarray(array).view(takes.dtypes[position].numpy).reshape(array.shape)
        for array, position in zip(inputs, takes.inputs, strict=True)
    ]
