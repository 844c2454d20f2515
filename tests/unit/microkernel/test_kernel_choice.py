"""The driver's step `tensorize`: kernels of others do a model's work, and broken ones do not stop it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inarch
from effort import effort
from inarch.backends.c import emit
from inarch.core.errors import InarchError, UsageError
from inarch.core.plugins import load_file
from inarch.dialects import new_context
from inarch.driver.compiler import build, import_model, lower
from inarch.microkernel.table import MICROKERNELS
from inarch.runtime.registry import REGISTRY, register
from inarch.testing import execute
from inarch.tools.options import microkernel_names

Array = np.ndarray[Any, Any]

EXAMPLES = Path(__file__).parents[3] / "examples" / "microkernels"
CONV = """func.func @main(%x: tensor<1x16x10x9xf32>, %w: tensor<32x16x3x3xf32>) -> tensor<1x32x10x9xf32> {
  %y = graph.conv %x, %w strides = [1, 1] pads = [1, 1, 1, 1] dilations = [1, 1] groups = 1
    : tensor<1x16x10x9xf32>, tensor<32x16x3x3xf32> -> tensor<1x32x10x9xf32>
  func.return %y : tensor<1x32x10x9xf32>
}
"""
MATMUL = """func.func @main(%x: tensor<2x12x40xf32>, %w: tensor<40x32xf32>) -> tensor<2x12x32xf32> {
  %y = graph.matmul %x, %w : tensor<2x12x40xf32>, tensor<40x32xf32> -> tensor<2x12x32xf32>
  func.return %y : tensor<2x12x32xf32>
}
"""
REGISTERED = """from inarch.microkernel import Microkernel
MICROKERNEL = Microkernel(
    "for m in 8, n in N, k in K: C[m, n] += A[m, k] * B[k, n]", {"A": "f32", "B": "f32", "C": "f32"},
    registered="matmul-of-numpy",
)
"""
BROKEN = """/* inarch
computes = "for m in 4, n in 8, k in K: C[m, n] += A[m, k] * B[k, n]"
dtypes = {A = "f32", B = "f32", C = "f32"}
cost = 1
*/
void broken(const float *A, const float *B, float *C, int64_t A_0, int64_t A_1, int64_t B_0, int64_t B_1,
            int64_t C_0, int64_t C_1, int64_t K)
{
    BODY
}
"""


@pytest.fixture
def load() -> Iterator[Callable[[Path], object]]:
    """Loads kernels for the test."""

    def add(path: Path) -> object:
        return load_file(path, {"microkernel": MICROKERNELS})

    with MICROKERNELS.scope():
        yield add


def compiled(text: str, folder: Path, **options: Any) -> inarch.Module:
    path = folder / "model.mlir"
    path.write_text(text)
    return inarch.compile(path, **options)


def inputs(module: inarch.Module) -> list[Array]:
    rng = np.random.default_rng(7)
    shapes = [port.shape for port in module.signature.inputs]
    return [rng.integers(-4, 5, shape).astype(np.float32) for shape in shapes]


def kernels_of(text: str, **options: Any) -> list[str]:
    """The kernels that the compiled program calls."""
    context = new_context()
    path = options.pop("folder") / "model.mlir"
    path.write_text(text)
    module = import_model(path, context, **options)
    lower(context, module, "kernel")
    return [kernel.name for kernel in emit(context, module).kernels]


@pytest.mark.sampled(1, reason="each kernel and each op in make soak")
@pytest.mark.parametrize("text", [CONV, MATMUL], ids=["conv", "matmul"])
@pytest.mark.parametrize("file", ["sgemm_openblas.py", "gemm_tile.c"])
def test_a_kernel_from_outside_does_the_work(
    tmp_path: Path, load: Callable[[Path], object], text: str, file: str
) -> None:
    """K1, K8, K12: a library's symbol and a C file, in a convolution and a matmul."""
    load(EXAMPLES / file)
    name = file.partition(".")[0].replace("_", "-")
    used = kernels_of(text, folder=tmp_path, microkernels=[name])
    assert any(kernel.startswith(name.replace("-", "_")) for kernel in used)
    module = compiled(text, tmp_path, microkernels=[name])
    arrays = inputs(module)  # small whole numbers: exact in any order
    (wanted,) = execute(text, arrays)
    np.testing.assert_array_equal(np.asarray(module(*arrays)), wanted)


def test_a_registered_function_does_the_work(
    tmp_path: Path, load: Callable[[Path], object]
) -> None:
    """K5: the registry's function in a convolution, with a warning of what its calls cost (K6)."""

    def matmul(a: Array, b: Array, c: Array) -> None:
        c += a @ b

    plain = compiled(CONV, tmp_path)
    (tmp_path / "numpy_gemm.py").write_text(REGISTERED)
    load(tmp_path / "numpy_gemm.py")
    register("matmul-of-numpy", matmul)
    try:
        with pytest.warns(UserWarning, match="times a run through the registry"):
            module = compiled(CONV, tmp_path, microkernels=["numpy-gemm"])
        arrays = inputs(plain)
        np.testing.assert_array_equal(np.asarray(module(*arrays)), np.asarray(plain(*arrays)))
    finally:
        REGISTRY.unregister("matmul-of-numpy")


@pytest.mark.sampled(effort(1, 3), reason="a kind of fault each")
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("C[0] = Z;", "its C does not compile: broken.c:9:"),
        (
            "extern void nowhere(float *); nowhere(C);",
            "no symbol 'nowhere' in the libraries searched",
        ),
        ("} static float expf(float x) { return x;", "static declaration"),
        ("(void)A; (void)B; C[0] += 1;", "broken"),
        ("*(volatile int *)0 = 1;", "broken"),
    ],
    ids=["compile", "symbol", "collision", "wrong", "crash"],
)
def test_a_broken_kernel_is_passed_over(
    tmp_path: Path, load: Callable[[Path], object], body: str, reason: str
) -> None:
    """One located message, and the model still compiles on the plain path, unless it was demanded."""
    (tmp_path / "broken.c").write_text(BROKEN.replace("BODY", body))
    plain = compiled(MATMUL, tmp_path)
    load(tmp_path / "broken.c")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        module = compiled(MATMUL, tmp_path)
    (warning,) = caught
    message = str(warning.message)
    assert reason in message
    assert "\n" not in message
    assert message.endswith("; compiled without this kernel")
    arrays = inputs(plain)
    np.testing.assert_array_equal(np.asarray(module(*arrays)), np.asarray(plain(*arrays)))
    with pytest.raises(InarchError) as raised:
        compiled(MATMUL, tmp_path, microkernels=["broken"])
    assert reason in str(raised.value)


@pytest.mark.parametrize(
    ("cost", "reason"),
    [
        ("lambda member: 1 / 0", "cost fails: ZeroDivisionError: division by zero"),
        ("lambda member: float('nan')", "expected a cost of 0 or more cycles, found nan"),
    ],
)
def test_a_cost_that_fails_is_the_kernels_fault(
    tmp_path: Path, load: Callable[[Path], object], cost: str, reason: str
) -> None:
    """One line that names the kernel: a warning, or an error where the kernel was demanded."""
    plain = compiled(MATMUL, tmp_path)
    text = REGISTERED.replace("registered=", f"cost={cost}, registered=")
    (tmp_path / "costly.py").write_text(text)
    load(tmp_path / "costly.py")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        module = compiled(MATMUL, tmp_path)
    (warning,) = caught
    expected = f"microkernel 'costly': {reason}"
    assert str(warning.message) == f"{expected}; compiled without this kernel"
    arrays = inputs(plain)
    np.testing.assert_array_equal(np.asarray(module(*arrays)), np.asarray(plain(*arrays)))
    with pytest.raises(InarchError) as raised:
        compiled(MATMUL, tmp_path, microkernels=["costly"])
    assert str(raised.value) == expected


def test_our_kernels_are_used(tmp_path: Path) -> None:
    """Without being named; one that is named is preferred to the others."""
    assert kernels_of(MATMUL, folder=tmp_path)
    named = kernels_of(MATMUL, folder=tmp_path, microkernels=["gemm-f32"])
    assert named
    assert all(kernel.startswith("gemm_f32") for kernel in named)
    for kernels in ((), ["gemm-f32"]):
        module = compiled(MATMUL, tmp_path, microkernels=kernels)
        left, right = inputs(module)
        np.testing.assert_array_equal(np.asarray(module(left, right)), left @ right)


def test_a_kernel_that_is_not_there() -> None:
    with pytest.raises(UsageError) as raised:
        microkernel_names(["gemf-f32"], "--microkernel")
    assert raised.value.message.startswith(
        "no microkernel 'gemf-f32' in --microkernel; did you mean 'gemv-f32'? Known: "
    )
    assert microkernel_names(["gemm-f32", "gemm-f32"], "--microkernel") == ["gemm-f32"]


def test_a_build_without_kernels_of_others_is_quiet(tmp_path: Path, recwarn: Any) -> None:
    path = tmp_path / "model.mlir"
    path.write_text(MATMUL)
    build(path, tmp_path / "model.inarch")
    assert not recwarn.list
