"""A wrong pass of any kind is named by `inarch verify`, and its reproducer fails in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from wrong_passes import NAMES, write_pass

from effort import effort
from inarch.tools.cli import run


def network() -> str:
    """A convolution, a residual block, means, a softmax and products, with more than one use of a value."""
    random = np.random.default_rng(0)

    def constant(*shape: int) -> str:
        values = (random.standard_normal(shape) * 0.3).round(3).tolist()
        kind = "x".join(map(str, shape))
        return f"graph.constant dense<{values}> : tensor<{kind}xf32>"

    image, rows = "tensor<1x8x8x8xf32>", "tensor<8x64xf32>"
    conv = "strides = [1, 1] pads = [1, 1, 1, 1] dilations = [1, 1] groups = 1"
    means, one = "tensor<1x8x1x1xf32>", "tensor<8x1x3x3xf32>"
    return f"""func.func @main(%x: tensor<1x1x8x8xf32>, %z: {image}) -> tensor<8x10xf32> {{
  %w1 = {constant(8, 1, 3, 3)}
  %w2 = {constant(8, 8, 3, 3)}
  %w3 = {constant(64, 64)}
  %w4 = {constant(8, 64)}
  %w5 = {constant(64, 10)}
  %a = graph.conv %x, %w1 {conv} : tensor<1x1x8x8xf32>, {one} -> {image}
  %b = graph.relu %a : {image} -> {image}
  %c = graph.conv %b, %w2 {conv} : {image}, tensor<8x8x3x3xf32> -> {image}
  %d = graph.add %c, %b : {image}, {image} -> {image}
  %e = graph.relu %d : {image} -> {image}
  %m = graph.reduce_mean %e axes = [2, 3] keepdims = true : {image} -> {means}
  %f = graph.sub %e, %m : {image}, {means} -> {image}
  %g = graph.add %f, %z : {image}, {image} -> {image}
  %h = graph.reshape %g shape = [8, 64] : {image} -> {rows}
  %i = graph.matmul %h, %w3 : {rows}, tensor<64x64xf32> -> {rows}
  %j = graph.add %i, %w4 : {rows}, {rows} -> {rows}
  %k = graph.softmax %j axis = 1 : {rows} -> {rows}
  %l = graph.matmul %k, %w5 : {rows}, tensor<64x10xf32> -> tensor<8x10xf32>
  func.return %l : tensor<8x10xf32>
}}
"""


@pytest.mark.sampled(effort(1, 99), reason="two compilations and a process each")
@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_pass_is_named_and_seen_to_fail(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.mlir").write_text(network())
    load = write_pass(name, tmp_path)
    code, out, err = run(["verify", "m.mlir", "--load", str(load), "--json", "-q"])
    assert (code, err) == (1, ""), out
    facts = json.loads(out)
    assert (facts["place"]["stage"], facts["place"]["pass"]) == ("pass", name)
    assert len(facts["place"]["ops"]) <= 3
    script = [sys.executable, "m-reproducer/reproduce.py"]
    ran = subprocess.run(script, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout.splitlines()[-1], ran.stderr) == (1, "wrong", "")
