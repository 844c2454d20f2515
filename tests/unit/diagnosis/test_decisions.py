"""`inarch verify` names a pass that is wrong for few values: beyond a limit, for equal ones, of one sign."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from wrong_passes import DECISIONS, write_pass

from effort import effort
from inarch.tools.cli import run

DECIDED = """func.func @main(%x: tensor<6x40xf32>, %y: tensor<6x40xf32>, %z: tensor<1x8x6x6xf32>)
    -> (tensor<6x40xf32>, tensor<6xi64>, tensor<6x40xi1>, tensor<6x40xf32>, tensor<1x8x6x6xf32>) {
  %a = graph.clip %x low = 0.0 high = 9.0 : tensor<6x40xf32> -> tensor<6x40xf32>
  %b = graph.argmax %x axis = 1 : tensor<6x40xf32> -> tensor<6xi64>
  %c = graph.greater %x, %y : tensor<6x40xf32>, tensor<6x40xf32> -> tensor<6x40xi1>
  %d = graph.round %y : tensor<6x40xf32> -> tensor<6x40xf32>
  %r = graph.relu %z : tensor<1x8x6x6xf32> -> tensor<1x8x6x6xf32>
  %e = graph.max_pool %r window = [3, 3] strides = [1, 1] pads = [1, 1, 1, 1]
      dilations = [1, 1] : tensor<1x8x6x6xf32> -> tensor<1x8x6x6xf32>
  func.return %a, %b, %c, %d, %e
      : tensor<6x40xf32>, tensor<6xi64>, tensor<6x40xi1>, tensor<6x40xf32>, tensor<1x8x6x6xf32>
}
"""


@pytest.mark.sampled(effort(2, 99), reason="two compilations and a process each")
@pytest.mark.parametrize("name", DECISIONS)
def test_what_few_values_decide_is_seen(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No value of the model is beyond the limit, no two are equal, none is a half, none below 0 is pooled."""
    monkeypatch.chdir(tmp_path)
    Path("m.mlir").write_text(DECIDED)
    load = write_pass(name, tmp_path)
    code, out, err = run(["verify", "m.mlir", "--load", str(load), "--json", "-q", "-o", "found"])
    assert (code, err) == (1, ""), out
    place = json.loads(out)["place"]
    assert (place["stage"], place["pass"], len(place["ops"])) == ("pass", name, 1)
