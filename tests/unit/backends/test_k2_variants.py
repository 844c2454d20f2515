"""K2: variants of one meaning stand side by side, each a file; shape, CPU features and cost choose."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from inarch.core.plugins import load_file
from inarch.dialects import new_context
from inarch.driver.compiler import import_model
from inarch.microkernel.table import MICROKERNELS
from inarch.passes.tensorize.tensorize import tensorize
from inarch.pipeline.default import default_pipeline
from inarch.pipeline.manager import run_pipeline

FILE = """/* inarch
computes = "for m in {m}, n in {n}, k in K: C[m, n] += A[m, k] * B[k, n]"
dtypes = {{A = "f32", B = "f32", C = "f32"}}
layout = {{A = ["*", "*"], B = ["*", 1], C = ["*", 1]}}
needs = [{needs}]
cost = {cost}
*/
void {name}(const float *A, const float *B, float *C, int64_t A_0, int64_t A_1, int64_t B_0,
            int64_t B_1, int64_t C_0, int64_t C_1, int64_t K) {{}}
"""
VARIANTS = {
    # name: rows, columns, CPU features, cycles
    "tile_4x8": (4, 8, "", 400),
    "tile_8x8": (8, 8, '"avx2"', 500),
    "slow_8x8": (8, 8, '"avx2"', 600),
    "tile_14x32": (14, 32, '"avx512f"', 700),
}


@pytest.fixture
def variants(tmp_path: Path) -> Iterator[list[str]]:
    with MICROKERNELS.scope():
        for name, (m, n, needs, cost) in VARIANTS.items():
            path = tmp_path / f"{name}.c"
            path.write_text(FILE.format(name=name, m=m, n=n, needs=needs, cost=cost))
            load_file(path, {"microkernels": MICROKERNELS})
        yield [name.replace("_", "-") for name in VARIANTS]


def chosen(variants: list[str], m: int, n: int, target: str, folder: Path) -> str:
    """The variant that does a product of that many rows and columns."""
    path = folder / "model.mlir"
    path.write_text(f"""
func.func @main(%x: tensor<{m}x64xf32>, %w: tensor<64x{n}xf32>) -> tensor<{m}x{n}xf32> {{
  %0 = graph.matmul %x, %w : tensor<{m}x64xf32>, tensor<64x{n}xf32> -> tensor<{m}x{n}xf32>
  func.return %0 : tensor<{m}x{n}xf32>
}}
""")
    context = new_context()
    module = import_model(path, context, target=target)
    run_pipeline(context, module, default_pipeline().until("padding"))
    (taken,) = [nest.taken for nest in tensorize(module, variants).nests if nest.reduces]
    return taken.kernel if taken is not None else "none"


@pytest.mark.parametrize(
    ("m", "n", "target", "expected"),
    [
        (4, 8, "x86-64-v4", "tile-4x8"),
        (8, 8, "x86-64-v4", "tile-8x8"),
        (14, 32, "x86-64-v4", "tile-14x32"),
        (28, 64, "x86-64-v4", "tile-14x32"),
        (56, 64, "x86-64-v3", "tile-8x8"),
        (56, 64, "x86-64-v2", "tile-4x8"),
        (56, 64, "aarch64", "tile-4x8"),
    ],
)
def test_shape_features_and_cost_choose(
    variants: list[str], tmp_path: Path, m: int, n: int, target: str, expected: str
) -> None:
    """K2: by the shape; by what the CPU has; and of two that both fit, the cheaper one."""
    assert chosen(variants, m, n, target, tmp_path) == expected
