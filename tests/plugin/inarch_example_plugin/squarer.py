"""A backend that takes squares of f32; its text is one line a function: the symbol and the shape."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.offload.backend import Backend, Emission, EmitRequest


def _accepts(op: Operation) -> str | None:
    dtype = tensor_dtype(op.results[0]).name
    return None if dtype == "f32" else f"takes f32, found {dtype}"


def _line(function: FuncOp) -> str:
    shape = "x".join(map(str, shape_of(function.body.block.args[0])))
    squares = sum(op.name == "power.square" for op in function.body.block.ops)
    return f"{function.sym_name.data} {shape} {squares}\n"


def _emit(request: EmitRequest) -> Emission:
    return Emission("squarer", request.names(), text="".join(map(_line, request.functions)))


BACKEND = Backend(
    name="squarer",
    description="Squares of f32, in NumPy.",
    emit=_emit,
    ops=("power.square",),
    accepts=_accepts,
)
