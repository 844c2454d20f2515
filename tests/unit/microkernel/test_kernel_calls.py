"""`kernel.call` executed: offsets, strides, loops, reductions, and calls through the registry."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import inarch
from inarch.backends.c import emit
from inarch.core.errors import EnvironmentFault, InarchError
from inarch.dialects import new_context
from inarch.dialects.kernel.extents import shapes, touched
from inarch.dialects.loop.footprint import span_of
from inarch.driver.compiler import build
from inarch.ir.text import parse_module, print_module
from inarch.ir.verify import verify_module
from inarch.machine.target import native
from inarch.machine.toolchain import compile_library
from inarch.meaning import parse
from inarch.runtime.native import NativeFunction
from inarch.runtime.registry import REGISTRY, register

Array = np.ndarray[Any, Any]

GEMM = """kernel.def @gemm computes "for m in M, n in N, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [
    #kernel.operand<A : f32 read rank 2 align 4>,
    #kernel.operand<B : f32 read rank 2 align 4>,
    #kernel.operand<C : f32 update rank 2 align 4>] needs [] """
C = r"""
void gemm(const float *A, const float *B, float *C, int64_t A_0, int64_t A_1, int64_t B_0,
          int64_t B_1, int64_t C_0, int64_t C_1, int64_t M, int64_t N, int64_t K)
{
    for (int64_t m = 0; m < M; m++)
        for (int64_t n = 0; n < N; n++)
            for (int64_t k = 0; k < K; k++)
                C[m * C_0 + n * C_1] += A[m * A_0 + k * A_1] * B[k * B_0 + n * B_1];
}
"""
TENSORS = f"""
#include <inarch.h>
#define EXPORT __attribute__((visibility("default")))
EXPORT {C.strip()}
static float *first(const DLTensor *t) {{ return (float *)((char *)t->data + t->byte_offset); }}
EXPORT int32_t gemm_tensors(void *self, DLTensor *args, int32_t n)
{{
    if (self != (void *)0 || n != 3) return 7;
    const int64_t *a = args[0].strides, *b = args[1].strides, *c = args[2].strides;
    gemm(first(&args[0]), first(&args[1]), first(&args[2]), a[0], a[1], b[0], b[1], c[0], c[1],
         args[2].shape[0], args[2].shape[1], args[0].shape[1]);
    return 0;
}}
"""
OWN = f'source "{C.strip()}"'.replace("\n", "\\n")


def gemm(a: Array, b: Array, c: Array) -> None:
    """The kernel in Python, as a registered function."""
    c += a @ b


def program(code: str, call: str, arguments: str, definition: str = GEMM) -> str:
    """A module whose main is one call."""
    return f"""module attributes {{inarch.name = "net"}} {{
{definition}{code}
func.func @main({arguments}) {{
  {call}
  func.return
}}
}}"""


def built(text: str, path: Path) -> Path:
    """The artifact of a module in text."""
    context = new_context()
    module = parse_module(context, text, "p.mlir")
    verify_module(module)
    return build(module, path, context=context).path


def loaded(text: str, path: Path, imports: Mapping[str, Any] | None = None) -> inarch.Module:
    return inarch.load(built(text, path), imports=imports)


@pytest.fixture
def registered() -> Iterator[Callable[[str, Callable[..., object]], None]]:
    """Registers functions until the test ends."""
    names: list[str] = []

    def add(name: str, function: Callable[..., object]) -> None:
        names.append(name)
        register(name, function)

    yield add
    for name in names:
        REGISTRY.unregister(name)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A shared library with the kernel by symbol, and as a function on tensors."""
    path = tmp_path_factory.mktemp("kernels") / "libgemm.so"
    include = Path(inarch.__file__).parent / "runtime" / "include"
    compile_library({"gemm.c": TENSORS}, path, target=native(), flags=[f"-I{include}"])
    return path


# One call on pieces of larger buffers: offsets of the loops, of the operand and of the buffer's layout;
# A transposed and with a gap, B with strides (2, 36), C with gaps between its rows.
CALL = """%v = memref.subview %c[1, 2] [12, 9] [1, 1]
      : memref<13x12xf32> to memref<12x9xf32, strided<[12, 1], offset: 14>>
  kernel.call @gemm for (i in 3, k in 2 reduction, one in 1, j in 2)
      (%a[i * 4 + k * 65 + 1] strides [1, 13], %b[k * 10 + j * 108 + 3] strides [2, 36],
       %v[i * 48 + j * 3] strides [12, 1]) sizes [4, 3, 5]
      : memref<10x13xf32>, memref<6x36xf32>, memref<12x9xf32, strided<[12, 1], offset: 14>>"""
ARGUMENTS = "%a: memref<10x13xf32>, %b: memref<6x36xf32>, %c: memref<13x12xf32> {inarch.result}"


def expected(a: Array, b: Array, c: Array) -> Array:
    """What CALL makes of c, with NumPy's views; integers, so that every order gives the same."""
    c = c.copy()
    for i in range(3):
        for k in range(2):
            for j in range(2):
                x = as_strided(a.ravel()[i * 4 + k * 65 + 1 :], (4, 5), (4, 52))
                y = as_strided(b.ravel()[k * 10 + j * 108 + 3 :], (5, 3), (8, 144))
                z = as_strided(c.ravel()[14 + i * 48 + j * 3 :], (4, 3), (48, 4))
                z += x @ y
    return c


def arrays() -> tuple[Array, Array, Array]:
    numbers = np.random.default_rng(4).integers
    a, b, c = (numbers(-4, 5, shape) for shape in ((10, 13), (6, 36), (13, 12)))
    return a.astype(np.float32), b.astype(np.float32), c.astype(np.float32)


def run(module: inarch.Module) -> Array:
    """What the program makes of `arrays()`: c is read before it is written."""
    a, b, c = arrays()
    module(a, b, out=c)
    return c


# ---------------------------------------------------------------------------------- two ways


def test_offsets_and_strides_reach_the_kernel(tmp_path: Path) -> None:
    """K4: raw pointers with offsets, strides that are not those of contiguous arrays."""
    module = loaded(program(OWN, CALL, ARGUMENTS), tmp_path / "own.inarch")
    np.testing.assert_array_equal(run(module), expected(*arrays()))


def test_the_same_kernel_by_symbol_and_through_the_registry(
    tmp_path: Path, library: Path, registered: Callable[[str, Callable[..., object]], None]
) -> None:
    """K5: a direct call of a symbol, a C function and a Python function in the registry are equal."""
    registered("gemm-c", NativeFunction.open(library, "gemm_tensors"))
    registered("gemm-python", gemm)
    codes = {
        "symbol": f'symbol "gemm" library "{library}"',
        "c": 'registered "gemm-c"',
        "python": 'registered "gemm-python"',
    }
    results: dict[str, Array] = {}
    for name, code in codes.items():
        text = program(code, CALL, ARGUMENTS)
        if name == "symbol":
            module = loaded(text, tmp_path / f"{name}.inarch")
        else:
            with pytest.warns(UserWarning, match="through the registry"):
                module = loaded(text, tmp_path / f"{name}.inarch")
        results[name] = run(module)
    for result in results.values():
        np.testing.assert_array_equal(result, expected(*arrays()))


def test_a_registered_function_is_called_from_python_too(library: Path) -> None:
    """K5: the registry holds callables on buffers, whoever calls them."""
    function = NativeFunction.open(library, "gemm_tensors")
    a, b = np.ones((4, 6), np.float32)[::2], np.ones((3, 6), np.float32).T[::2]
    c = np.zeros((2, 6), np.float32)
    function(a[:, ::2], b, c[:, ::2])
    assert c.tolist() == [[3, 0, 3, 0, 3, 0]] * 2
    with pytest.raises(InarchError) as raised:
        function(a)
    assert str(raised.value) == "'gemm_tensors' failed with code 7"


def test_a_registry_call_in_a_loop_is_a_warning(tmp_path: Path, recwarn: Any) -> None:
    """K6: one warning at compile time, with the kernel, its calls and what one costs."""
    built(program('registered "slot"', CALL, ARGUMENTS), tmp_path / "looped.inarch")
    (warning,) = recwarn.list
    assert str(warning.message) == (
        "microkernel 'gemm' is called 12 times a run through the registry, each call about 10 us to "
        "a function of Python (0.12 ms a run) and 5 ns to one of C; link it by symbol, or give it "
        "larger tiles"
    )
    once = """kernel.call @gemm(%a[0] strides [13, 1], %b[0] strides [36, 1], %c[0] strides [12, 1])
      sizes [10, 12, 6] : memref<10x13xf32>, memref<6x36xf32>, memref<13x12xf32>"""
    built(program('registered "slot"', once, ARGUMENTS), tmp_path / "once.inarch")
    assert len(recwarn.list) == 1


def test_a_slot_that_nobody_fills_is_an_error_at_load(tmp_path: Path) -> None:
    """K8: never at a call."""
    with pytest.warns(UserWarning, match="through the registry"):
        path = built(program('registered "nobody"', CALL, ARGUMENTS), tmp_path / "p.inarch")
    with pytest.raises(InarchError) as raised:
        inarch.load(path)
    assert str(raised.value) == (
        f"{path}: imports 'nobody', which nothing provides; give it with load(..., "
        "imports={'nobody': function}) or inarch.runtime.registry.register"
    )


def test_what_a_registered_function_raises_is_the_calls_error(tmp_path: Path) -> None:
    def fails(*_: object) -> None:
        raise ValueError("no")

    with pytest.warns(UserWarning, match="through the registry"):
        path = built(program('registered "slot"', CALL, ARGUMENTS), tmp_path / "p.inarch")
    module = inarch.load(path, imports={"slot": fails})
    with pytest.raises(InarchError) as raised:
        run(module)
    assert str(raised.value) == "main: import 'slot' failed: ValueError: no"


def test_a_function_that_is_not_there(library: Path, tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFault) as raised:
        NativeFunction.open(library, "gemm_tensor")
    assert str(raised.value) == (
        f"library '{library}': expected the function 'gemm_tensor', found none"
    )
    with pytest.raises(EnvironmentFault, match="cannot be opened"):
        NativeFunction.open(tmp_path / "none.so", "x")


# ---------------------------------------------------------------------------------- other shapes


def test_negative_strides_and_overlapping_reads(tmp_path: Path) -> None:
    """K4: a convolution with its weights backwards; a window is a stride that overlaps."""
    definition = """kernel.def @conv computes "for q in 8, s in 3: Y[q] += X[q, s] * W[s]" arguments [
    #kernel.operand<Y : f32 update rank 1 align 4>, #kernel.operand<X : f32 read rank 2 align 4>,
    #kernel.operand<W : f32 read rank 1 align 4>] needs [] """
    source = r"""void conv(float *Y, const float *X, const float *W, int64_t Y_0, int64_t X_0, int64_t X_1,
          int64_t W_0)
{
    for (int q = 0; q < 8; q++)
        for (int s = 0; s < 3; s++)
            Y[q * Y_0] += X[q * X_0 + s * X_1] * W[s * W_0];
}"""
    call = """kernel.call @conv(%y[0] strides [1], %x[0] strides [1, 1], %w[2] strides [-1]) sizes []
      : memref<8xf32>, memref<10xf32>, memref<3xf32>"""
    arguments = "%x: memref<10xf32>, %w: memref<3xf32>, %y: memref<8xf32> {inarch.result}"
    x, w = np.arange(10, dtype=np.float32), np.array([1, 2, 4], np.float32)
    wanted = np.convolve(x, w, "valid")
    escaped = source.replace("\n", "\\n")
    seen: list[list[float]] = []

    def python(views: Array, weights: Array, out: Array) -> None:
        seen.append(weights.tolist())
        out += views @ weights

    for number, code in enumerate((f'source "{escaped}"', 'registered "conv"')):
        text = program(code, call, arguments, definition)
        module = loaded(text, tmp_path / f"{number}.inarch", {"conv": python} if number else None)
        y = np.zeros(8, np.float32)
        module(x, w, out=y)
        np.testing.assert_array_equal(y, wanted)
    assert seen == [[4.0, 2.0, 1.0]]


def test_loops_run_in_the_written_order(tmp_path: Path) -> None:
    """Parallel points that write one element twice are not refused, and the last one stays."""
    definition = """kernel.def @put computes "for i in 2: Y[i] = X[]" arguments [
    #kernel.operand<X : f32 read rank 0 align 4>, #kernel.operand<Y : f32 write rank 1 align 4>] needs [] """
    source = 'source "void put(const float *X, float *Y, int64_t Y_0) { Y[0] = Y[Y_0] = *X; }"'
    call = """kernel.call @put for (a in 2, b in 3) (%x[a * 3 + b] strides [], %y[a + b * 2] strides [1])
      sizes [] : memref<6xf32>, memref<7xf32>"""
    arguments = "%x: memref<6xf32>, %y: memref<7xf32> {inarch.result}"
    module = loaded(program(source, call, arguments, definition), tmp_path / "p.inarch")
    result = np.asarray(module(np.arange(6, dtype=np.float32)))
    assert result.tolist() == [0, 3, 3, 4, 4, 5, 5]


def test_constants_make_the_kernel_special() -> None:
    """Strides and sizes are numbers in the text, and the function is static beside its call."""
    context = new_context()
    module = parse_module(context, program(OWN, CALL, ARGUMENTS), "p.mlir")
    text = emit(context, module).units["model.c"]
    assert "static void gemm(const float *A" in text
    addresses = "a + i * 4 + k * 65 + 1, b + k * 10 + j * 108 + 3, c + i * 48 + j * 3 + 14"
    assert f"gemm({addresses}, 1, 13, 2, 36, 12, 1, 4, 3, 5);" in text


# ---------------------------------------------------------------------------------- extents


@pytest.mark.every_case(reason="each is a form of its own")
@pytest.mark.parametrize("seed", range(20))
def test_extents_are_what_is_touched(seed: int) -> None:
    """The bounds that calls are checked by, against the elements themselves."""
    rng = np.random.default_rng(seed)
    p, q, r = (int(n) for n in rng.integers(1, 5, 3))
    meaning = parse("for a in P, b in 3, k in Q: C[a, b] += A[a * 2 + k * R, b + 1] * B[k, k]")
    values = {"P": p, "Q": q, "R": r}
    strides = {name: tuple(map(int, rng.integers(-9, 10, 2))) for name in "ABC"}
    points = [(a, b, k) for a in range(p) for b in range(3) for k in range(q)]
    indices = {
        "A": [(a * 2 + k * r, b + 1) for a, b, k in points],
        "B": [(k, k) for _, _, k in points],
        "C": [(a, b) for a, b, _ in points],
    }
    found = touched(meaning, values, strides)
    for name, places in indices.items():
        offsets = [i * strides[name][0] + j * strides[name][1] for i, j in places]
        assert span_of(found[name]) == (min(offsets), max(offsets))
        sizes = (max(i for i, _ in places) + 1, max(j for _, j in places) + 1)
        assert shapes(meaning, values)[name] == sizes


def test_statements_of_their_own_loops_count() -> None:
    meaning = parse("for m in 4: C[m] = 0; for k in K: C[m] += A[m, k]")
    empty = touched(meaning, {"K": 0}, {"A": (8, 1), "C": (1,)})
    assert set(empty) == {"C"}
    assert span_of(touched(meaning, {"K": 8}, {"A": (8, 1), "C": (1,)})["A"]) == (0, 31)


def test_a_call_is_checked_before_it_is_emitted() -> None:
    """Whoever makes a module without verifying it gets the same error from the emitter."""
    context = new_context()
    wrong = program(OWN, CALL.replace("sizes [4, 3, 5]", "sizes [4, 3, 6]"), ARGUMENTS)
    with pytest.raises(InarchError) as raised:
        emit(context, parse_module(context, wrong, "p.mlir"))
    assert raised.value.message == (
        "'kernel.call' C6: operand A touches elements 1 to 142, outside of memref<10x13xf32>, which "
        "has 0 to 129"
    )


def test_registered_calls_stay_in_public_functions() -> None:
    context = new_context()
    text = program('registered "slot"', CALL, ARGUMENTS).replace("@main", "private @main")
    with pytest.raises(InarchError) as raised:
        emit(context, parse_module(context, text, "p.mlir"))
    assert raised.value.message == "expected calls of registered @gemm in public functions only"


def test_the_text_is_read_back() -> None:
    context = new_context()
    module = parse_module(context, program(OWN, CALL, ARGUMENTS), "p.mlir")
    again = parse_module(context, print_module(module), "q.mlir")
    assert print_module(again) == print_module(module)


# ---------------------------------------------------------------------------------- alignment

ALIGNED = """kernel.def @copy computes "for i in 16: Y[i] = X[i]" arguments [
    #kernel.operand<X : f32 read rank 1 align 64>, #kernel.operand<Y : f32 write rank 1 align 4>]
    needs [] source "void copy(const float *X, float *Y, int64_t X_0, int64_t Y_0) { (void)X; }"
func.func private @kernel(%x: memref<64xf32>, %y: memref<64xf32>) {
  kernel.call @copy for (i in 2) (%x[i * STEP + START] strides [1], %y[i * 16] strides [1]) sizes []
      : memref<64xf32>, memref<64xf32>
  func.return
}
func.func @main(%x: memref<64xf32>, %y: memref<64xf32> {inarch.result}) {
  %t = loop.alloc at 64 : memref<64xf32>
  %w = loop.constant dense<1.0> : tensor<64xf32> at 128 : memref<64xf32>
  %r = loop.reshape %w : memref<64xf32> to memref<64xf32>
  loop.call @kernel(%t, %y) : memref<64xf32>, memref<64xf32>
  loop.call @kernel(%r, %y) : memref<64xf32>, memref<64xf32>
  func.return
}
"""


@pytest.mark.parametrize(
    ("start", "step", "source", "known"),
    [
        ("16", "16", "%r", None),
        ("0", "32", "%t", None),
        ("0", "8", "%r", 32),
        ("4", "16", "%r", 16),
        ("0", "16", "%x", 4),
    ],
)
def test_an_alignment_that_code_relies_on_is_checked(
    start: str, step: str, source: str, known: int | None
) -> None:
    """What workspace, weights, offsets and all calls of a function have in common."""
    text = ALIGNED.replace("START", start).replace("STEP", step)
    text = text.replace("@kernel(%r", f"@kernel({source}")
    context = new_context()
    module = parse_module(context, text, "p.mlir")
    verify_module(module)
    if known is None:
        assert "copy(" in emit(context, module).text
        return
    with pytest.raises(InarchError) as raised:
        emit(context, module)
    assert str(raised.value) == (
        "p.mlir:5:3: 'kernel.call' of @copy expects operand X aligned to 64 bytes, found "
        f"{known}; copy it with kernel.pack, or lower the demand"
    )
