"""Command lines of `inarch` and `inarch-opt` on a small model: each ends with a known exit code."""

from __future__ import annotations

import shlex
from functools import cache

from inarch.core.errors import InarchError
from inarch.fuzz import Parser
from inarch.fuzz.files import written
from inarch.tools import cli, opt

_MODEL = b"""func.func @main(%x: tensor<2x3xf32> {inarch.name = "x"}) ->
    (tensor<2x3xf32> {inarch.name = "y"}) {
  %0 = graph.relu %x : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
"""
_SEEDS = [
    b"inarch compile MODEL --emit=loop --target generic --name net --dim batch=1 --shape x=2x3",
    b"inarch compile MODEL --emit=c --target x86-64-v3+avx512vnni --backend ccompiler",
    b"inarch compile MODEL --emit=kernel --backend examplejson --backend-option examplejson:a=1",
    b"inarch compile MODEL --emit=graph --give relu=examplejson --keep '*=cblas' --require-offload --checked",
    b"inarch inspect MODEL --json --check",
    b"inarch explain MODEL --backend examplejson --kernels",
    b"inarch list passes",
    b"inarch run MODEL --seed 3 --repeat 2 --input x=MODEL --function main --check MODEL --help",
    b"inarch-opt MODEL -p canonicalize,graph-to-loop --target generic --timing --verify-diagnostics",
    b"inarch-opt MODEL --print-ir-after-all --split-input-file --pass-help fold-constants",
]
_CODES = {0, 1, 2, 3}


@cache
def _model() -> str:
    return str(written("model.mlir", _MODEL))


def check(data: bytes) -> None:
    """Runs the command line; raises InarchError for what it refuses."""
    try:
        words = shlex.split(data.decode("utf-8", "replace").replace("MODEL", _model()))
    except ValueError as error:
        raise InarchError("no command line") from error
    words = [
        word for word in words if word not in ("-o", "--output", "--load", "-") and "\0" not in word
    ]
    if not words or any(
        word.startswith(("-o", "--o", "--load", "--html", "--dump")) for word in words
    ):
        raise InarchError("a command line that writes")
    name, *rest = words
    if rest[:1] in (["bench"], ["new"], ["verify-kernel"], ["run"]):
        rest = [*rest, "--help"]
    outcome = (opt if name == "inarch-opt" else cli).run(
        [*rest, *(["--debug"] if name == "inarch-opt" else [])]
    )
    assert outcome.code in _CODES, f"exit code {outcome.code}: {outcome.err[-3000:]}"
    if outcome.code:
        raise InarchError(outcome.err[:100])


PARSER = Parser(
    lambda: _SEEDS,
    check,
    located=False,
    words=[b"--dim", b"=", b"\xc2\xb2", b"x", b"--shape", b"1x1x1"],
)
