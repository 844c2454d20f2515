"""Functions to ExampleJSON: what is refused, and the text."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import NoneAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from inarch.backends.examplejson.ops import OPS
from inarch.core.errors import InternalError, UnsupportedError
from inarch.core.lazy import Array, np
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.op import shape_of, tensor_dtype, tensor_of
from inarch.ir.context import store_of
from inarch.ir.payload.constants import constant_array
from inarch.offload.backend import Emission, EmitRequest

MAX_RANK = 32
"""Of the engine's tensors."""

INLINE_ELEMENTS = 16
"""Constants of at most this many elements are written as numbers, larger ones in base64."""

_OF_FLOATS = ("graph.pow", "graph.reduce_mean")
"""Ops that other dtypes have, too, but not in the engine."""

_NUMBERED = re.compile(r"examplejson_(0|[1-9][0-9]{0,8})")
_SYMBOL = re.compile(r"[A-Za-z_][A-Za-z0-9_$.-]{0,254}")


def accepts(op: Operation) -> str | None:
    """None, or why the engine cannot run `op`."""
    for value in (*op.operands, *op.results):
        kind = tensor_of(value)
        if len(shape_of(value)) > MAX_RANK:
            return f"expected a rank of at most {MAX_RANK}, found {len(shape_of(value))}"
        if not isinstance(kind.encoding, NoneAttr):
            return f"expected a row-major tensor, found the layout {kind.encoding}"
        if (dtype := tensor_dtype(value)).is_stored:
            return f"expected a dtype that the engine has, found {dtype.name}"
    if op.name == "graph.softmax" and not shape_of(op.operands[0]):
        return "expected a softmax of rank 1 or more, found a scalar"
    dtypes = {tensor_dtype(value) for value in op.operands}
    if op.name in _OF_FLOATS and not all(dtype.is_float for dtype in dtypes):
        what = op.name.rpartition(".")[2].removeprefix("reduce_")
        return f"expected a {what} of floats, found {', '.join(dtype.name for dtype in dtypes)}"
    return None


def emit(request: EmitRequest) -> Emission:
    """One text with a subgraph for each function.

    `examplejson_<n>` is `subgraph_<n>`; a function of any other name takes the least number that is
    free, and the header names it.
    """
    names = request.names()
    numbers = _numbers(names)
    lines = [
        line
        for function, name in zip(request.functions, names, strict=True)
        for line in _subgraph(function, name, numbers[name], request.context)
    ]
    return Emission("examplejson", names, "".join(f"{line}\n" for line in lines))


def _numbers(names: Sequence[str]) -> dict[str, int]:
    numbers = {name: int(match[1]) for name in names if (match := _NUMBERED.fullmatch(name))}
    taken = set(numbers.values())
    free = 0
    for name in names:
        if name in numbers:
            continue
        if not _SYMBOL.fullmatch(name) or name.startswith("subgraph_"):
            raise UnsupportedError(
                f"expected a function name of letters, digits and '_$.-' that does not start with "
                f"'subgraph_', found '{name}'; rename the function"
            )
        # A header without `name:` would give examplejson_<free>: no function is called so.
        while free in taken:
            free += 1
        taken.add(free)
        numbers[name] = free
    return numbers


def _subgraph(function: FuncOp, name: str, number: int, context: Context) -> Iterator[str]:
    header = f"subgraph_{number}"
    yield header if _NUMBERED.fullmatch(name) else f"{header} name: {name}"
    ids: dict[SSAValue, int] = {}
    block = function.body.block
    for argument in block.args:
        ids[argument] = len(ids)
        yield f"  input {ids[argument]}{_sizes(argument)}{_dtype(argument)}"
    for op in block.ops:
        if isinstance(op, ReturnOp):
            yield from _outputs([ids[value] for value in op.operands], len(ids) - 1, block.args)
            return
        inputs = "".join(f" {ids[operand]}" for operand in op.operands)
        (result,) = op.results
        ids[result] = len(ids)
        yield f"  {_node(op, ids[result], inputs, context)}"


def _outputs(outputs: Sequence[int], last: int, inputs: Sequence[SSAValue]) -> Iterator[str]:
    """The line of the outputs, unless there is one, the last node, which is no input."""
    if not outputs:
        raise UnsupportedError("expected a function with results, found one without")
    if list(outputs) != [last] or last < len(inputs):
        yield f"  outputs:{''.join(f' {number}' for number in outputs)}"


def _node(op: Operation, number: int, inputs: str, context: Context) -> str:
    (result,) = op.results
    if isinstance(op, ConstantOp):
        data = _data(constant_array(op.value, store_of(context)))
        return f"constant {number} shape:{_sizes(result)}{_dtype(result)} {data}"
    name = op.name.removeprefix("graph.")
    if name not in OPS:
        raise InternalError(f"backend 'examplejson' was given '{op.name}', which it does not take")
    attrs = "".join(f" {key}={value}" for key, value in OPS[name](op))
    end = f" attrs:{attrs}" if attrs else ""
    return f"{name} {number} inputs:{inputs} shape:{_sizes(result)}{_dtype(result)}{end}"


def _sizes(value: SSAValue) -> str:
    return "".join(f" {size}" for size in shape_of(value))


def _dtype(value: SSAValue) -> str:
    """f32 is what a node has that names no dtype."""
    name = tensor_dtype(value).name
    return "" if name == "f32" else f" dtype: {name}"


def _data(array: Array) -> str:
    """Exact: a float of any width is a float of Python, whose repr is read back as the same one."""
    # A NaN has a sign and a payload, which no number spells.
    if array.size <= INLINE_ELEMENTS and not np.isnan(array).any():
        values: list[bool | int | float] = array.ravel().tolist()
        return " ".join(["data:", *(repr(+value) for value in values)])
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return f"base64: {b64encode(little.tobytes()).decode()}"
