"""FX graphs of core ATen as programs: nodes one after the other, checked against what PyTorch found.

    module = import_graph(graph_module, context, "part")

Nothing here imports PyTorch: whoever has a graph has it. Its tensors are static, strided and of a dtype
that Inarch has; the rest is not supported, and `reason_against` says why of a single node.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from inarch.core.dtypes import from_numpy
from inarch.core.errors import InarchError, UnsupportedError
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.frontends.builder import Builder
from inarch.frontends.ids import indices_of
from inarch.frontends.names import named
from inarch.frontends.report import NotSupportedError
from inarch.frontends.torch.node import Node, Result
from inarch.frontends.torch.ops import converters
from inarch.ir.context import store_of
from inarch.ir.names import hint
from inarch.ir.types import mlir_type, tensor

_Found = SSAValue | Sequence[SSAValue | None]


def operator_name(node: Any) -> str:
    """What an FX node calls: `aten.add.Tensor`."""
    target = node.target
    return "getitem" if target is operator.getitem else str(target)


def import_graph(
    graph: Any, context: Context, name: str, constants: Mapping[str, Any] | None = None
) -> ModuleOp:
    """The FX graph module `graph` as `func.func @main`: placeholders in order, then the outputs.

    Those that `constants` has an array for, by name, are no arguments. Raises UnsupportedError at the first
    node that Inarch does not take.
    """
    builder = Builder(Block(), store_of(context))
    values: dict[Any, _Found] = {}
    names: list[str] = []
    results: list[SSAValue] = []
    for node in graph.graph.nodes:
        try:
            if node.op == "placeholder" and constants is not None and node.name in constants:
                values[node] = builder.constant(constants[node.name], node.name)
            elif node.op == "placeholder":
                values[node] = _argument(builder, _result(node.meta["val"]), node.name)
                names.append(node.name)
            elif node.op == "get_attr":
                values[node] = builder.constant(_array(getattr(graph, node.target)), node.name)
            elif node.op == "output":
                results = _outputs(node, values)
            elif node.users:  # functions without effects: what nobody uses is not computed
                values[node] = _convert(node, values, builder)
        except NotSupportedError as error:
            raise UnsupportedError(
                f"{operator_name(node)}: {error.reason}", where=f"torch graph: node '{node.name}'"
            ) from error
    for result in results:
        builder.insert(result)
    builder.finish()
    builder.block.add_op(ReturnOp(*results))
    types = ([arg.type for arg in builder.block.args], [result.type for result in results])
    main = FuncOp(
        "main",
        types,
        Region(builder.block),
        arg_attrs=named(
            names, [("inarch.indices", indices_of(builder, arg)) for arg in builder.block.args]
        ),
        res_attrs=named([f"out{number}" for number in range(len(results))]),
    )
    return ModuleOp([main], attributes={"inarch.name": StringAttr(name)})


def reason_against(node: Any, context: Context) -> str | None:
    """Why Inarch does not take an FX node with the arguments that it has; None where it does."""
    builder = Builder(Block(), store_of(context))
    values: dict[Any, _Found] = {}
    try:
        if node.target is operator.getitem:
            return reason_against(node.args[0], context)
        for argument in node.all_input_nodes:
            found = argument.meta.get("val")
            values[argument] = _argument(builder, _result(found), argument.name)
        made = _convert(node, values, builder)
        missing = [n for n in _used(node) if not isinstance(made, SSAValue) and made[n] is None]
    except NotSupportedError as error:
        return error.reason
    except InarchError as error:
        return error.message
    return f"result {missing[0]} of it" if missing else None


def reason_against_tensor(value: Any) -> str | None:
    """Why Inarch does not take a tensor of PyTorch's; None where it does."""
    try:
        _result(value)
    except NotSupportedError as error:
        return error.reason
    return None


def _convert(node: Any, values: Mapping[Any, _Found], builder: Builder) -> _Found:
    """What a call gives. Raises NotSupportedError."""
    if node.target is operator.getitem:
        source, index = node.args
        found = values[source]
        value = None if isinstance(found, SSAValue) else found[cast("int", index)]
        if value is None:
            raise NotSupportedError(f"result {index} of {operator_name(source)}")
        return value
    name = operator_name(node)
    if node.op != "call_function" or name not in converters():
        raise NotSupportedError("no converter")
    val: Any = node.meta.get("val")
    every: list[Any] = list(cast("Sequence[Any]", val)) if isinstance(val, list | tuple) else [val]
    used = _used(node)
    results = [_result(each) if n in used else None for n, each in enumerate(every)]
    called = Node(
        node.name,
        builder,
        name,
        [_value(each, values) for each in node.args],
        {key: _value(each, values) for key, each in node.kwargs.items()},
        results,
        used,
    )
    try:
        found = converters()[name](called)
    except (InarchError, VerifyException) as error:
        raise NotSupportedError(
            error.message if isinstance(error, InarchError) else str(error)
        ) from error
    for number, value in enumerate([found] if isinstance(found, SSAValue) else found):
        wanted = results[number] if number < len(results) else None
        if value is None or wanted is None:
            continue
        hint(value, node.name)
        if (shape_of(value), tensor_dtype(value)) != (wanted.shape, wanted.dtype):
            raise NotSupportedError(
                f"expected {wanted.dtype.name}{list(wanted.shape)}, "
                f"found {tensor_dtype(value).name}{list(shape_of(value))}"
            )
    return found


def _used(node: Any) -> frozenset[int]:
    """The results of a node that others use; the only one of most."""
    picks = {user.args[1] for user in node.users if user.target is operator.getitem}
    is_list = isinstance(node.meta.get("val"), list | tuple)
    return frozenset(picks if is_list else {0})


def _value(value: Any, values: Mapping[Any, _Found]) -> object:
    if isinstance(value, list | tuple):
        return [_value(each, values) for each in cast("Sequence[Any]", value)]
    if hasattr(value, "all_input_nodes"):  # a node
        return values[value]
    if type(value).__name__ in ("SymInt", "SymFloat", "SymBool"):
        raise NotSupportedError("a size that is known at run time")
    return value


def _result(value: Any) -> Result:
    """A (fake) tensor of PyTorch. Raises NotSupportedError for one that Inarch does not have."""
    if value is None or not hasattr(value, "dtype"):
        raise NotSupportedError(f"a {type(value).__name__}")
    if value.device.type != "cpu":
        raise NotSupportedError(f"device {value.device.type}")
    if str(value.layout) != "torch.strided":
        raise NotSupportedError(f"layout {value.layout}")
    if not all(type(size) is int for size in value.shape):
        raise NotSupportedError(
            "a size that is known at run time; use torch.compile(..., dynamic=False)"
        )
    try:
        dtype = from_numpy(str(value.dtype).removeprefix("torch."))
        if dtype.is_stored:  # PyTorch computes with it in ways of its own
            raise UnsupportedError(f"dtype '{dtype.numpy}' is only stored")
        return Result(dtype, tuple(value.shape))
    except UnsupportedError as error:
        raise NotSupportedError(f"dtype {str(value.dtype).removeprefix('torch.')}") from error


def _argument(builder: Builder, result: Result, name: str) -> SSAValue:
    block = builder.block
    argument = block.insert_arg(tensor(mlir_type(result.dtype), result.shape), len(block.args))
    hint(argument, name)
    return argument


def _array(value: Any) -> Any:
    _result(value)
    return value.detach().contiguous().numpy()


def _outputs(node: Any, values: Mapping[Any, _Found]) -> list[SSAValue]:
    given: Any = node.args[0]
    every: list[Any] = (
        list(cast("Sequence[Any]", given)) if isinstance(given, list | tuple) else [given]
    )
    found = [values.get(each) for each in every]
    if not all(isinstance(each, SSAValue) for each in found):
        raise NotSupportedError("an output that is no tensor")
    return cast("list[SSAValue]", found)
