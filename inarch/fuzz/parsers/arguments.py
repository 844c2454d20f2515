"""Command lines of `inarch` and `inarch-opt` on a small model: each ends with a known exit code."""

from __future__ import annotations

import shlex
from functools import cache

from inarch.core.errors import InarchError
from inarch.fuzz import Parser
from inarch.fuzz.files import corpus, written
from inarch.tools import cli, opt

_KEPT = corpus("arguments")

_CODES = {0, 1, 2, 3}


@cache
def _model() -> str:
    return str(written("model.mlir", _KEPT.seeds[0]))


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
    lambda: _KEPT.seeds[1:],
    check,
    located=False,
    words=_KEPT.words,
)
