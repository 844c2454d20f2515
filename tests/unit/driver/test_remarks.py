"""Remarks of passes: who hears them, where they say they are, and that nobody need listen."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from inarch.core.errors import InarchError
from inarch.dialects import new_context
from inarch.dialects.graph.elementwise.unary import ReluOp
from inarch.ir.report.remarks import Remark, remarks_of
from inarch.ir.text import parse_module
from inarch.pipeline.manager import run_pipeline
from inarch.pipeline.remarks import RemarkListener
from inarch.tools import cli

TEXT = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.relu %x : tensor<4xf32> -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
"""


@dataclass(frozen=True)
class Say(ModulePass):
    """Remarks on each relu; `fails` afterwards."""

    name = "say"
    fails: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for relu in [each for each in op.walk() if isinstance(each, ReluOp)]:
            remarks_of(ctx).done(relu, "seen")
        remarks_of(ctx).missed(None, "nothing left")
        if self.fails:
            raise InarchError("an error")


class Silent(Say):
    """The same under another name."""

    name = "silent"


SAID = [Remark("say", "seen", "m.mlir:2:3"), Remark("say", "nothing left", None, is_missed=True)]


@pytest.mark.parametrize("pattern", ["", "ay", "^say$"])
def test_those_of_the_passes_that_the_pattern_is_found_in(pattern: str) -> None:
    context, heard = new_context(), list[Remark]()
    module = parse_module(context, TEXT, "m.mlir")
    listener = RemarkListener(context, heard.append, pattern)
    run_pipeline(context, module, [Silent(), Say(), Silent()], [listener])
    assert [one for one in heard if one.by == "say"] == SAID
    assert len(heard) == (6 if pattern == "" else 2)


def test_those_of_a_pass_that_fails() -> None:
    context, heard = new_context(), list[Remark]()
    module = parse_module(context, TEXT, "m.mlir")
    with pytest.raises(InarchError, match=r"^an error$"):
        run_pipeline(context, module, [Say(fails=True)], [RemarkListener(context, heard.append)])
    assert heard == SAID
    assert not remarks_of(context).is_wanted


def test_nobody_listens() -> None:
    context = new_context()
    Say().apply(context, parse_module(context, TEXT))
    assert remarks_of(context).found == []


def test_lines_and_json() -> None:
    done, missed = SAID
    assert done.line() == "m.mlir:2:3: remark: [say] seen"
    assert missed.line() == "remark: [say] missed: nothing left"
    kinds = {"pass": "say", "kind": "missed", "where": None, "message": "nothing left"}
    assert missed.to_json() == kinds
    assert done.to_json()["kind"] == "done"


def test_a_compilation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On stderr, or in the JSON; without the option there are none."""
    monkeypatch.chdir(tmp_path)
    Path("m.mlir").write_text(TEXT)
    command = ["compile", "m.mlir", "--target", "generic"]
    said = "[plan-memory] @main: 0 bytes of workspace, for 0 bytes of buffers, of which 0 are needed at once"
    code, _, err = cli.run([*command, "--remarks=^plan-memory$"])
    assert (code, err) == (0, f"m.mlir:1:1: remark: {said}\n")
    code, out, err = cli.run([*command, "--remarks", "--json"])
    assert (code, err) == (0, "")
    remarks = json.loads(out)["remarks"]
    assert [one["message"] for one in remarks if one["pass"] == "plan-memory"] == [said[14:]]
    assert "remarks" not in json.loads(cli.run([*command, "--json"]).out)
    _, _, err = cli.run([*command, "--remarks=^plan-memory$", "--emit=kernel"])
    assert err == f"m.mlir:1:1: remark: {said}\n"
    assert cli.run([*command, "--remarks=nobody"]).err.startswith(
        "error: --remarks: expected a pass that 'nobody' is found in, found annotate, "
    )
