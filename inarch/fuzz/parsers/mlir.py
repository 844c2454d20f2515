"""MLIR text: what is read is verified, and printed again."""

from __future__ import annotations

import re

from inarch.dialects import new_context
from inarch.fuzz import Parser
from inarch.fuzz.files import texts
from inarch.ir.text import parse_module, print_module
from inarch.ir.verify import verify_module

_SEED = b"""func.func @main(%x: tensor<1x3x8x8xf32> {inarch.name = "x"})
  -> (tensor<1x4x4x4xf32> {inarch.name = "y"}) {
  %w = graph.constant dense<5.000000e-01> : tensor<4x3x3x3xf32>
  %0 = graph.conv %x, %w strides = [2, 2] pads = [1, 1, 1, 1] dilations = [1, 1] groups = 1 :
    tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32> -> tensor<1x4x4x4xf32>
  %1 = graph.relu %0 : tensor<1x4x4x4xf32> -> tensor<1x4x4x4xf32>
  func.return %1 : tensor<1x4x4x4xf32>
}
"""


def _seeds() -> list[bytes]:
    pieces = [
        piece for text in texts("tests/lit/**/*.mlir") for piece in re.split(rb"// -----+\n", text)
    ]
    return [_SEED, *(piece for piece in pieces if piece.strip())]


def check(data: bytes) -> None:
    """Reads, verifies and prints `data`."""
    module = parse_module(new_context(), data.decode("utf-8", "replace"), "fuzz.mlir")
    verify_module(module)
    print_module(module)


PARSER = Parser(
    _seeds,
    check,
    ".mlir",
    words=[
        b"i65",
        b"i30000000000",
        b"ui128",
        b"dense<0>",
        b"array<i64: 1>",
        b"tensor<99999999x99999999xf32>",
        b"vector<4xf32>",
        b"tuple<",
        b"complex<f32>",
        b"f80",
        b"bf16",
        b"affine_map<(d0) -> (d0)>",
        b"loc(unknown)",
        b"memref<4xf32, strided<[1], offset: ?>>",
        b'opaque<"a", "b">',
        b"dense_resource<w>",
        b"{-#",
        b"#-}",
        b"func.call",
        b"scf.if",
        b"^bb1",
        b"cf.br",
        b"()",
        b"unit",
        b"@a::@b",
        b"builtin.module",
    ],
)
