"""One model on three backends and the host is one artifact and one call."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import inarch
from inarch.backends import BACKENDS

TEXT = """
func.func @main(%x: tensor<4x6xf32> {inarch.name = "x"}, %w: tensor<6x6xf32> {inarch.name = "w"})
    -> (tensor<4x6xf32> {inarch.name = "y"}) {
  %0 = graph.matmul %x, %w : tensor<4x6xf32>, tensor<6x6xf32> -> tensor<4x6xf32>
  %1 = graph.tanh %0 : tensor<4x6xf32> -> tensor<4x6xf32>
  %2 = graph.sub %1, %x : tensor<4x6xf32>, tensor<4x6xf32> -> tensor<4x6xf32>
  %3 = graph.erf %2 : tensor<4x6xf32> -> tensor<4x6xf32>
  func.return %3 : tensor<4x6xf32>
}
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.mlir"
    path.write_text(TEXT)
    return path


def _inputs() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    return {
        "x": rng.standard_normal((4, 6)).astype(np.float32),
        "w": rng.standard_normal((6, 6)).astype(np.float32),
    }


@pytest.mark.skipif(
    BACKENDS["cblas"].status() != "ready", reason="scipy-openblas32 is not installed"
)
def test_three_backends_and_the_host(model: Path, tmp_path: Path) -> None:
    """N12, T15: matmul by OpenBLAS, tanh by the JSON engine, sub by C source, erf by the host."""
    host = inarch.compile(model)
    mixed = inarch.compile(
        model,
        backends=("cblas", "examplejson", "ccompiler"),
        keep=("sub=examplejson", "tanh=ccompiler"),
        require_offload=True,
    )
    inputs = _inputs()
    np.testing.assert_allclose(mixed.run(inputs)["y"], host.run(inputs)["y"], rtol=1e-5, atol=1e-6)

    path = tmp_path / "mixed.inarch"
    mixed.save(path)
    script = (
        "import sys, numpy as np, inarch\n"
        "rng = np.random.default_rng(3)\n"
        "x = rng.standard_normal((4, 6)).astype(np.float32)\n"
        "w = rng.standard_normal((6, 6)).astype(np.float32)\n"
        "y = inarch.load(sys.argv[1])(x, w)\n"
        "assert 'xdsl' not in sys.modules\n"
        "print(repr(float(y.sum())))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script, str(path)],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={},
    )
    assert float(run.stdout) == pytest.approx(float(host.run(inputs)["y"].sum()), rel=1e-4)


@pytest.mark.skipif(
    BACKENDS["cblas"].status() != "ready", reason="scipy-openblas32 is not installed"
)
def test_three_backends_from_eight_threads(model: Path) -> None:
    """T14: state is per call, in every loader at once."""
    module = inarch.compile(
        model,
        backends=("cblas", "examplejson", "ccompiler"),
        keep=("sub=examplejson", "tanh=ccompiler"),
    )
    inputs = [{name: a + i for name, a in _inputs().items()} for i in range(8)]
    expected = [module.run(each)["y"] for each in inputs]

    def work(index: int) -> bool:
        return all(
            np.array_equal(module.run(inputs[index])["y"], expected[index]) for _ in range(50)
        )

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))
