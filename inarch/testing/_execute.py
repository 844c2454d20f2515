"""Running programs: `graph` functions op by op in NumPy, `loop` functions as compiled C."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from inarch._xdsl import ConstantStore, location_text, parse_module, store_of
from inarch.dialects import new_context
from inarch.dialects._constants import constant_array
from inarch.dialects.graph._base import GraphOp, shape_of, tensor_dtype
from inarch.dialects.graph.composite import CompositeRegionOp
from inarch.dialects.graph.constant import ConstantOp
from inarch.errors import ArgumentError, InarchError, InternalError, UnsupportedError
from inarch.lazy import np
from inarch.testing._functions import (
    Array,
    Signature,
    callee_of,
    functions_of,
    signature,
    the_function,
)

_CALLS = ("graph.call", "func.call")


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
    shapes and dtypes are those of the arguments that are not outputs. Ops with a narrower domain
    (`gather`, integer division) need inputs of your own.
    """
    if isinstance(program, FuncOp):
        chosen, module = program, _module_of(program)
    else:
        chosen, module = the_function(program, function), program
    takes = signature(chosen, module)
    generator = np.random.default_rng(seed)
    return [_random(takes, position, generator) for position in takes.inputs]


def _module_of(function: FuncOp) -> ModuleOp:
    parent = function.parent_op()
    return parent if isinstance(parent, ModuleOp) else ModuleOp([])


def _random(takes: Signature, position: int, generator: np.random.Generator) -> Array:
    dtype, shape = takes.dtypes[position], takes.shapes[position]
    if dtype.is_float:
        return generator.standard_normal(shape).astype(dtype.numpy)
    if dtype.name == "i1":
        return generator.integers(0, 2, shape).astype(np.bool_)
    low, high = (0, 8) if dtype.is_unsigned else (-4, 4)
    return generator.integers(low, high, shape, endpoint=True).astype(dtype.numpy)


def execute(
    program: ModuleOp | str,
    inputs: Sequence[Array],
    ctx: Context | None = None,
    *,
    function: str | None = None,
) -> list[Array]:
    """The outputs of a function (the only public one, `@main`, or `function`) on `inputs`.

    A function on tensors is evaluated op by op with `GraphOp.reference`. One on buffers is compiled
    from emitted C; its outputs are the arguments with `inarch.result`, or without any, those that
    some op writes; they hold arbitrary but fixed numbers before the call. `ctx` holds the constants
    of a module that was parsed or made in it. Raises InarchError.
    """
    context, module = as_module(program, ctx)
    chosen = the_function(module, function)
    takes = signature(chosen, module)
    arrays = _checked(takes, inputs)
    if takes.is_loop_level:
        return _run_compiled(context, module, takes, arrays)
    with np.errstate(all="ignore"):  # NaN and infinity are results like any other
        return _evaluate(chosen, arrays, functions_of(module), store_of(context))


def _checked(takes: Signature, inputs: Sequence[Array]) -> list[Array]:
    if len(inputs) != len(takes.inputs):
        raise ArgumentError(
            f"@{takes.name}: expected {len(takes.inputs)} inputs, found {len(inputs)}"
        )
    for number, (array, position) in enumerate(zip(inputs, takes.inputs, strict=True)):
        wanted, shape = takes.dtypes[position], takes.shapes[position]
        if not isinstance(array, np.ndarray | np.generic):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(
                f"@{takes.name}: expected input {number} to be a NumPy array, found a "
                f"{type(array).__name__}; use np.array(x, dtype=np.{_numpy_name(wanted.numpy)})"
            )
        same_kind = array.dtype.itemsize == wanted.nbytes and (
            array.dtype.name == wanted.numpy or not (wanted.is_float or array.dtype.kind == "f")
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


def _numpy_name(dtype: str) -> str:
    return "bool_" if dtype == "bool" else dtype  # np.bool is the Python type before NumPy 2


# ------------------------------------------------------------------------------------ graph


def _evaluate(
    function: FuncOp,
    inputs: Sequence[Array],
    functions: Mapping[str, FuncOp],
    store: ConstantStore,
) -> list[Array]:
    values: dict[SSAValue, Array] = dict(zip(function.body.block.args, inputs, strict=True))
    for op in function.body.block.ops:
        operands = [values[operand] for operand in op.operands]
        if op.name == "func.return":
            return operands
        results = _evaluate_op(op, operands, functions, store)
        values.update(zip(op.results, results, strict=True))
    raise InarchError(f"@{function.sym_name.data} does not end in func.return")


def _evaluate_op(
    op: Operation,
    operands: Sequence[Array],
    functions: Mapping[str, FuncOp],
    store: ConstantStore,
) -> list[Array]:
    if isinstance(op, ConstantOp):
        return [constant_array(op.value, store)]
    if op.name in _CALLS:
        callee = functions.get(callee_of(op))
        if callee is None or not callee.body.blocks:
            raise UnsupportedError(
                f"cannot evaluate a call of @{callee_of(op)}: it has no body",
                where=location_text(op),
            )
        return _evaluate(callee, operands, functions, store)
    if not isinstance(op, GraphOp):
        raise UnsupportedError(
            f"cannot evaluate '{op.name}': expected graph ops only", where=location_text(op)
        )
    if isinstance(op, CompositeRegionOp):
        found = op.evaluate(operands, store)
    else:
        found = op.reference(*operands)
    results = [np.asarray(result) for result in (found if isinstance(found, tuple) else (found,))]
    for value, result in zip(op.results, results, strict=True):
        wanted = (shape_of(value), tensor_dtype(value).numpy)
        if (result.shape, result.dtype.name) != wanted:
            raise InternalError(
                f"the reference of '{op.name}' gives shape {result.shape} and dtype "
                f"{result.dtype.name}, its type is {wanted[0]} and {wanted[1]}",
                where=location_text(op),
            )
    return results


# ------------------------------------------------------------------------------------ loop


def _run_compiled(
    context: Context, module: ModuleOp, takes: Signature, inputs: Sequence[Array]
) -> list[Array]:
    from inarch.backends.c import run_function

    # What an output holds before must not matter, or must matter in the same way every time.
    generator = np.random.default_rng(1)
    arrays: dict[int, Array] = {p: _random(takes, p, generator) for p in takes.outputs}
    arrays |= {p: a.copy() for p, a in zip(takes.inputs, inputs, strict=True)}
    ordered = [arrays[position] for position in range(len(takes.dtypes))]
    run_function(context, module.clone(), takes.name, ordered)
    return [arrays[position] for position in takes.outputs]
