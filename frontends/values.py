"""Inputs whose values are known when a model is compiled: constants in the place of arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, FunctionType, ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from inarch.core.dtypes import DType
from inarch.core.errors import UsageError, unknown
from inarch.core.lazy import Array, np
from inarch.dialects.graph.constant import ConstantOp
from inarch.ir.context import store_of
from inarch.ir.functions import functions
from inarch.ir.payload.constants import constant_attribute
from inarch.ir.types import dtype_of


def fixed_value(name: str, value: Array, dtype: DType, rank: int | None) -> Array:
    """`value` as input `name`, of a dtype and a rank (None: any), has it.

    Floats are rounded to another float dtype; else a number of another dtype is taken where it stays the same
    number. One number is taken for an input of rank 0 or 1.
    Raises UsageError for what does not fit; sizes are not looked at.
    """
    if rank in (0, 1) and value.size == 1 and value.ndim in (0, 1):
        value = value.reshape((1,) * rank)
    if rank is not None and value.ndim != rank:
        raise UsageError(
            f"value of '{name}': expected an array of rank {rank}, found shape {value.shape}"
        )
    if value.dtype.kind not in "biuf":
        raise UsageError(f"value of '{name}': expected numbers, found {value.dtype.name}")
    with np.errstate(invalid="ignore", over="ignore"):
        found = value.astype(dtype.numpy)
        if dtype.is_float and value.dtype.kind == "f":
            same = np.isfinite(found) | ~np.isfinite(value)
        else:  # there and back: comparing whole numbers with floats would round them
            same = (found == value) & (found.astype(value.dtype) == value)
    if not np.all(same):
        lost = value[~same].reshape(-1)[0]
        raise UsageError(f"value of '{name}': expected numbers of {dtype.name}, found {lost}")
    return np.ascontiguousarray(found).reshape(found.shape)


def fix_arguments(module: ModuleOp, values: Mapping[str, Array], context: Context) -> None:
    """Makes arguments of `@main` constants, by name: that of the model, else `in0`, `in1` ...

    Raises UsageError for a name that no argument has, and for a value that does not fit.
    """
    if not values:
        return
    main = next((each for each in functions(module) if each.sym_name.data == "main"), None)
    names = _names(main) if main is not None else []
    for name in values:
        if name not in names:
            raise unknown("input", name, names, within="values")
    if main is not None:
        _fix(main, [values.get(name) for name in names], names, context)


def _fix(
    main: FuncOp, given: Sequence[Array | None], names: Sequence[str], context: Context
) -> None:
    """Argument `i` becomes the constant `given[i]`, where there is one."""
    block, store = main.body.block, store_of(context)
    for argument, value, name in zip(tuple(block.args), given, names, strict=True):
        if value is None:
            continue
        kind = argument.type
        if not isinstance(kind, TensorType):
            raise UsageError(f"value of '{name}': expected an input that is a tensor, found {kind}")
        tensor = cast("TensorType[Attribute]", kind)
        array = fixed_value(name, value, dtype_of(tensor.element_type), len(tensor.get_shape()))
        if array.shape != tensor.get_shape():
            raise UsageError(
                f"value of '{name}': expected shape {tensor.get_shape()}, found {array.shape}"
            )
        constant = ConstantOp.make(value=constant_attribute(array, store, name))
        constant.out.name_hint = argument.name_hint
        block.insert_op_before(constant, cast("Operation", block.first_op))
        argument.replace_all_uses_with(constant.out)
        block.erase_arg(argument)
    kept = [at for at, value in enumerate(given) if value is None]
    kind = main.function_type
    main.function_type = FunctionType.from_lists(
        [kind.inputs.data[at] for at in kept], kind.outputs.data
    )
    if main.arg_attrs is not None:
        main.arg_attrs = ArrayAttr([main.arg_attrs.data[at] for at in kept])


def _names(main: FuncOp) -> list[str]:
    attributes = main.arg_attrs.data if main.arg_attrs is not None else ()
    given = [each.data.get("inarch.name") for each in attributes] or [None] * len(main.args)
    return [
        name.data if isinstance(name, StringAttr) else f"in{at}" for at, name in enumerate(given)
    ]
