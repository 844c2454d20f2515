"""`inarch bench MODEL --overhead`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inarch.tools.cli import run


def test_the_overhead_of_a_call(tmp_path: Path) -> None:
    """Of a model and of its artifact, by each way (B10)."""
    path = tmp_path / "add.mlir"
    path.write_text(
        'func.func @main(%x: tensor<4xf32> {inarch.name = "x"}) -> tensor<4xf32> {\n'
        "  %0 = graph.add %x, %x : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>\n"
        "  func.return %0 : tensor<4xf32>\n}\n"
    )
    assert run(["compile", str(path), "-o", str(tmp_path / "add.inarch"), "-q"]).code == 0
    for name in ("add.mlir", "add.inarch"):
        command = ["bench", str(tmp_path / name), "--overhead", "--rounds", "2"]
        done = run([*command, "--json", "-"])
        assert (done.code, done.err) == (0, "")
        found = json.loads(done.out)
        assert found["np_add_us"] > 0
        assert [each.partition(":")[0] for each in found["us"]] == [
            "in C, with checks",
            "bound",
            "with outputs",
            "allocates",
        ]
        assert all(each > 0 for each in found["us"].values())
    text = run([*command, "-q"])
    assert (text.code, text.out) == (0, "")
    refused = run([*command, "--profile"])
    assert refused.err == "error: --overhead: it does not go with --profile\n"
    refused = run(["bench", "layers", "--overhead"])
    assert refused.err == "error: --overhead: it is for a model or an artifact\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--profile"], "--overhead: it does not go with --profile"),
        (
            ["--peers", "none"],
            "--peers: it does not go with --overhead, which compares ways to call one model",
        ),
        (["--threads", "1,2"], "--threads: --overhead measures calls of one thread"),
        (
            ["--target", "x86-64-v2,x86-64-v3"],
            "--target: expected one with --overhead, found several",
        ),
    ],
)
def test_what_it_does_not_go_with(words: list[str], said: str, tmp_path: Path) -> None:
    (tmp_path / "m.mlir").write_text("")
    refused = run(["bench", str(tmp_path / "m.mlir"), "--overhead", *words])
    assert (refused.code, refused.err) == (2, f"error: {said}\n")


def test_layers_have_none() -> None:
    refused = run(["bench", "layers", "--overhead"])
    assert refused.err == "error: --overhead: it is for a model or an artifact\n"
