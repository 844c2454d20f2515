"""Reads `.chain` files: a shape and the ops that are applied to the input, `2x3 square abs`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, TensorType, f32
from xdsl.dialects.func import FuncOp, ReturnOp

from inarch.core.errors import InarchError, UsageError, unknown
from inarch.dialects.graph.elementwise.unary import AbsOp
from inarch.frontends import Frontend, Sizes
from inarch_example_plugin.power.square import SquareOp

OPS = {"abs": AbsOp, "square": SquareOp}


def _read(source: Any, _: Context, sizes: Sizes) -> ModuleOp:
    shape, *names = Path(source).read_text().split()
    own = [int(size) for size in shape.split("x")]
    if sizes.dims or any(list(given) != own for given in sizes.shapes.values()):
        raise UsageError(f"{source} has the shape {own} and no symbolic dimensions")
    kind = TensorType(f32, own)
    function = FuncOp("main", ([kind], [kind]))
    value = function.body.block.args[0]
    ops: list[AbsOp | SquareOp] = []
    for name in names:
        if name not in OPS:
            raise InarchError(unknown("op", name, OPS).message, where=str(source))
        ops.append(OPS[name].make(value))
        value = ops[-1].results[0]
    function.body.block.add_ops([*ops, ReturnOp(value)])
    function.arg_attrs = ArrayAttr([DictionaryAttr({"inarch.name": StringAttr("x")})])
    function.res_attrs = ArrayAttr([DictionaryAttr({"inarch.name": StringAttr("y")})])
    return ModuleOp([function])


FRONTEND = Frontend((".chain",), _read)
