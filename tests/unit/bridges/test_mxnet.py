"""MXNet: compiled functions and computations in its asynchronous engine."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inarch
from inarch.bridges.mxnet import function as bridge
from inarch.bridges.mxnet import to_mxnet_func
from inarch.core.errors import EnvironmentFault, InarchError
from inarch.runtime.module import Module
from tests.unit.bridges.rules import rule

# It uses names that NumPy has warned of since 1.20.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
with pytest.MonkeyPatch.context() as _patch:
    _patch.setenv("MXNET_CPU_WORKER_NTHREADS", "2")
    mx: Any = pytest.importorskip("mxnet", reason="MXNet is not installed: make bridges")

FOUNDING = "for i in N: z[i] = scale * (x[i] + y[i])"
ORDER = "x, y, z, scale"
STEP = """
    for i in N: m[i] = mu * m[i] + g[i]
    for i in N: w[i] = w[i] - lr * m[i]
"""


SumOfTwo = Callable[[str], Module]


def waited() -> None:
    """Waits for all jobs; a deadlock fails instead of hanging."""
    errors: list[Exception] = []

    def wait() -> None:
        try:
            mx.nd.waitall()
        except Exception as error:  # noqa: BLE001 - of the engine
            errors.append(error)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive(), "the engine waits for itself"
    if errors:
        raise errors[0]


def test_the_founding_example_in_its_order_of_arguments() -> None:
    """B1, B2: x, y, z, scale; a number among tensors; the destination is an argument."""
    computation = inarch.compute(FOUNDING, arguments=ORDER)
    xx, yy = mx.nd.uniform(shape=(20,)), mx.nd.uniform(shape=(20,))
    wanted = (xx.asnumpy() + yy.asnumpy()) * 10
    module = computation.module(*[np.zeros(20, np.float32)] * 3, 1.0)
    functions = [
        to_mxnet_func(computation, const_loc=[0, 1]),
        to_mxnet_func(computation),
        to_mxnet_func(module, const_loc=[0, 1], arguments=ORDER.split(", ")),
    ]
    for function in functions:
        zz = mx.nd.empty(shape=(20,))
        assert function(xx, yy, zz, 10.0) is None
        np.testing.assert_allclose(zz.asnumpy(), wanted, rtol=1e-6)
    by_default = to_mxnet_func(module)
    zz = mx.nd.empty(shape=(20,))
    by_default(xx, yy, 10.0, zz)
    np.testing.assert_allclose(zz.asnumpy(), wanted, rtol=1e-6)
    assert repr(by_default) == "<inarch function of MXNet main(x, y, scale, z)>"


def test_a_call_returns_before_a_slow_kernel_ends_and_the_engine_keeps_the_order(
    sum_of_two: SumOfTwo,
) -> None:
    """B1: what reads the output waits (RAW), what writes an input waits (WAR), calls follow each other."""
    slow = to_mxnet_func(sum_of_two("slow"), const_loc=[0, 1])
    x, y, z = mx.nd.ones((4,)), mx.nd.ones((4,)), mx.nd.zeros((4,))
    mx.nd.waitall()
    start = time.perf_counter()
    slow(x, y, z)
    returned = time.perf_counter() - start
    after = z * 10 + 1
    x[:] = 100  # not before the kernel has read it
    queued = time.perf_counter() - start
    np.testing.assert_array_equal(after.asnumpy(), np.full(4, 21))
    done = time.perf_counter() - start
    assert returned < 0.15
    assert queued < 0.2
    assert done >= 0.3
    np.testing.assert_array_equal(x.asnumpy(), np.full(4, 100))
    start = time.perf_counter()
    slow(y, y, z)
    slow(z, y, x)  # reads what the other writes
    np.testing.assert_array_equal(x.asnumpy(), np.full(4, 3))
    assert time.perf_counter() - start >= 0.6
    # Of one that is not in const_loc, though it is an input, the next call waits as for an output.
    ordered = to_mxnet_func(sum_of_two("slow"), const_loc=[1])
    first, second = mx.nd.zeros((4,)), mx.nd.zeros((4,))
    mx.nd.waitall()
    start = time.perf_counter()
    ordered(y, y, first)
    ordered(y, x, second)
    waited()
    assert time.perf_counter() - start >= 0.6


def test_an_array_that_is_given_twice() -> None:
    """B1: two reads are one; a read and a write of one array is an error, not a deadlock."""
    add = to_mxnet_func(inarch.compute("for i in N: C[i] = A[i] + B[i]"))
    x, z = mx.nd.ones((8,)), mx.nd.zeros((8,))
    add(x, x, z)
    waited()
    np.testing.assert_array_equal(z.asnumpy(), np.full(8, 2))
    add(x, z, x)
    with pytest.raises(mx.base.MXNetError, match=r"argument 2 \(C\) overlaps argument 0 \(A\)"):
        waited()
    half, rest = x[0:4], x[4:8]  # one variable of the engine
    add(half, half, rest)
    waited()
    np.testing.assert_array_equal(x.asnumpy(), [1] * 4 + [2] * 4)


def test_a_call_that_fails_raises_where_its_output_is_waited_for(sum_of_two: SumOfTwo) -> None:
    """B1: also what depends on it; and the engine goes on."""
    fails = to_mxnet_func(sum_of_two("fails"))
    x = mx.nd.ones((4,))
    message = r"^(MXNetError: )?inarch: import 'kernel' failed with code 42"
    z = mx.nd.zeros((4,))
    fails(x, x, z)
    with pytest.raises(mx.base.MXNetError, match=message):
        z.wait_to_read()
    z = mx.nd.zeros((4,))
    fails(x, x, z)
    later = z + 1
    with pytest.raises(mx.base.MXNetError, match=message):
        later.asnumpy()
    with suppress(mx.base.MXNetError):  # that of z, which nobody has taken yet
        mx.nd.waitall()
    good = mx.nd.zeros((4,))
    to_mxnet_func(inarch.compute("for i in N: C[i] = A[i] + 1"))(x, good)
    np.testing.assert_array_equal(good.asnumpy(), np.full(4, 2))


def test_an_update_rule_runs_in_place_within_the_engine() -> None:
    """B12: a customised rule of an optimiser, compiled when it is called."""
    rule = inarch.compute(STEP, arguments="w, m, g, lr, mu")
    step = to_mxnet_func(rule)
    generator = np.random.default_rng(0)
    weights = generator.normal(size=50).astype(np.float32)
    momentum = np.zeros(50, np.float32)
    w, m = mx.nd.array(weights), mx.nd.array(momentum)
    for _ in range(4):
        gradient = generator.normal(size=50).astype(np.float32)
        step(w, m, mx.nd.array(gradient), 0.1, 0.9)  # whose gradient nobody holds
        momentum = np.float32(0.9) * momentum + gradient
        weights = weights - np.float32(0.1) * momentum
    np.testing.assert_allclose(w.asnumpy(), weights, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(m.asnumpy(), momentum, rtol=1e-5, atol=1e-6)


def test_dtypes_and_numbers_of_each() -> None:
    add = to_mxnet_func(inarch.compute("for i in N: C[i] = A[i] + s"))
    for dtype, number in (
        ("float64", 0.1),
        ("int32", 70000),
        ("int8", -3),
        ("uint8", 200),
        ("int64", 2),
    ):
        a, c = mx.nd.arange(5, dtype=dtype), mx.nd.zeros((5,), dtype=dtype)
        add(a, number, c)
        np.testing.assert_array_equal(c.asnumpy(), a.asnumpy() + np.asarray(number, dtype))


def test_calls_of_several_threads_are_all_there() -> None:
    count = to_mxnet_func(inarch.compute("for i in 4: C[i] = C[i] + 1"))
    shared = mx.nd.zeros((4,))
    own = [mx.nd.zeros((4,)) for _ in range(4)]

    def work(mine: Any) -> None:
        for _ in range(500):
            count(shared)
            count(mine)

    threads = [threading.Thread(target=work, args=(each,)) for each in own]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    waited()
    np.testing.assert_array_equal(shared.asnumpy(), np.full(4, 2000))
    for each in own:
        np.testing.assert_array_equal(each.asnumpy(), np.full(4, 500))


def test_wrong_calls_are_one_line_each() -> None:
    computation = inarch.compute(FOUNDING, arguments=ORDER)
    x, z = mx.nd.ones((4,)), mx.nd.zeros((4,))
    f = to_mxnet_func(computation)
    module = to_mxnet_func(computation.module(*[np.zeros(4, np.float32)] * 3, 1.0))
    whole = to_mxnet_func(inarch.compute("for i in N: C[i] = A[i] + s"))
    int8 = mx.nd.zeros((4,), dtype="int8")
    dense = mx.nd.array([[0, 0, 7, 0], [8, 9, 0, 0]])
    csr, rows = dense.tostype("csr"), dense.tostype("row_sparse")
    cases: list[tuple[Any, Sequence[Any], str]] = [
        (f, (x, x, z), "compute: expected 4 arguments (x, y, z, scale), found 3"),
        (f, (x, "y", z, 1), "compute: argument 'y': expected an NDArray or a number, found a str"),
        (f, (x, x, mx.nd.zeros((5,)), 1), "compute: argument 'z': expected 4 in dimension 0 "
         "(N, as of x), found shape (5,)"),
        (module, (x, x, 2.0, None), "main: argument 'z': expected an NDArray or a number, found a NoneType"),
        (module, (x, 3, 2.0, z), "main: argument 'y': expected an NDArray of f32[4], found 3"),
        (module, (x, x, 2.0, 1.0), "main: argument 'z': expected an NDArray of f32[4], found 1.0"),
        (module, (x, mx.nd.ones((5,)), 2.0, z), "main: argument 'y': expected f32[4], found f32[5]"),
        (module, (x, mx.nd.ones((4, 1)), 2.0, z), "main: argument 'y': expected f32[4], found f32[4, 1]"),
        (module, (x, x.astype("float64"), 2.0, z), "main: argument 'y': expected f32[4], found f64[4]"),
        (module, (x, x.astype("float16"), 2.0, z), "main: argument 'y': expected f32[4], found f16[4]"),
        (module, (x, x, x, z), "main: argument 'scale': expected f32[], found f32[4]"),
        (module, (csr, x, 2.0, z), "main: argument 'x': expected a dense array, found one of storage 'csr'; "
         "use x.tostype('default')"),
        (f, (csr, dense, dense, 1), "compute: argument 'x': expected a dense array, found one of storage "
         "'csr'; use x.tostype('default')"),
        (f, (dense, dense, rows, 1), "compute: argument 'z': expected a dense array, found one of storage "
         "'row_sparse'; use x.tostype('default')"),
        (whole, (int8, 300, int8), "main: argument 's': expected a number of i8, found 300"),
    ]  # fmt: skip
    for function, args, message in cases:
        with pytest.raises(InarchError) as raised:
            function(*args)
        assert str(raised.value) == message.replace("main: argument 's'", "compute: argument 's'")
    np.testing.assert_array_equal(z.asnumpy(), np.zeros(4))  # nothing was queued
    for const_loc, message in (
        ([0, 2], "to_mxnet_func: expected inputs in const_loc, found 2, the output 'z'"),
        ([4], "to_mxnet_func: expected positions from 0 to 3 in const_loc, found 4"),
    ):
        with pytest.raises(InarchError) as raised:
            to_mxnet_func(computation, const_loc=const_loc)
        assert str(raised.value) == message


def test_no_gradient_is_lost() -> None:
    """A job of the engine has none: a call is refused while they are recorded."""
    computation = inarch.compute(FOUNDING, arguments=ORDER)
    module = computation.module(*[np.zeros(4, np.float32)] * 3, 1.0)
    x, y, z = (mx.nd.ones((4,)) for _ in range(3))
    x.attach_grad()
    for function, args in (
        (to_mxnet_func(computation), (x, y, z, 2.0)),
        (to_mxnet_func(module), (x, y, 2.0, z)),
    ):
        name = "compute" if isinstance(args[-1], float) else "main"
        with mx.autograd.record(), pytest.raises(InarchError) as raised:
            function(*args)
        assert str(raised.value) == (
            f"{name}: expected no call while gradients are recorded, found one, whose gradient would be "
            "lost; call it outside of autograd.record(), or within autograd.pause()"
        )
        with mx.autograd.record(), mx.autograd.pause():
            function(*args)
        np.testing.assert_array_equal(z.asnumpy(), np.full(4, 4))


SIZED = """
func.func @NAME(%x: tensor<Nx3xf32> {inarch.name = "x"}) -> (tensor<Nx3xf32> {inarch.name = "y"}) {
  %0 = graph.add %x, %x : tensor<Nx3xf32>, tensor<Nx3xf32> -> tensor<Nx3xf32>
  func.return %0 : tensor<Nx3xf32>
}
"""


def test_an_artifact_of_several_sizes(tmp_path: Path) -> None:
    """Each call is of the function that fits; what fits none lists the sizes."""
    rows = {"main": 1, "main__2": 2}
    functions = "".join(SIZED.replace("NAME", k).replace("N", str(n)) for k, n in rows.items())
    sizes = "inarch.sizes = {main = {n = 1}, main__2 = {n = 2}}"
    (tmp_path / "m.mlir").write_text(f"module attributes {{{sizes}}} {{{functions}}}")
    f = to_mxnet_func(inarch.compile(tmp_path / "m.mlir"))
    for size in (1, 2):
        x, y = mx.nd.uniform(shape=(size, 3)), mx.nd.zeros((size, 3))
        f(x, y)
        np.testing.assert_array_equal(y.asnumpy(), 2 * x.asnumpy())
    with pytest.raises(
        InarchError, match=r"expected f32 of shape \[1, 3\] or \[2, 3\], found \[4, 3\]"
    ):
        f(mx.nd.ones((4, 3)), mx.nd.ones((4, 3)))
    with pytest.raises(InarchError, match=r"argument 'y': expected f32\[2, 3\], found f32\[1, 3\]"):
        f(mx.nd.ones((2, 3)), mx.nd.ones((1, 3)))


def test_a_computation_keeps_all_types_that_it_has_met() -> None:
    """Other shapes, dtypes and kinds of numbers in turn, each with its own code."""
    scaled = to_mxnet_func(inarch.compute("for i in N: C[i] = A[i] * s"))
    for _ in range(2):
        for size in (3, 5, 4):
            for dtype in ("float32", "int32", "float64"):
                for number in (2, True) if dtype == "int32" else (2, 1.5, True):
                    a, c = mx.nd.arange(size, dtype=dtype), mx.nd.zeros((size,), dtype=dtype)
                    scaled(a, number, c)
                    np.testing.assert_array_equal(
                        c.asnumpy(), np.arange(size, dtype=dtype) * number
                    )


def test_an_array_in_a_layout_of_mkl_says_what_to_do() -> None:
    data, weight = mx.nd.ones((1, 16, 8, 8)), mx.nd.ones((16, 16, 3, 3))
    bias, options = mx.nd.zeros((16,)), {"kernel": (3, 3), "num_filter": 16, "pad": (1, 1)}
    made = mx.nd.Convolution(data, weight, bias, **options)
    text = "for a in A, b in B, c in C, d in D: Y[a, b, c, d] = -X[a, b, c, d]"
    negate = to_mxnet_func(inarch.compute(text))
    out = mx.nd.zeros(made.shape)
    negate(made, out)
    try:
        waited()
    except mx.base.MXNetError as error:
        assert "in a layout of MKL-DNN perhaps (use x.copy())" in str(error)  # noqa: PT017
        negate(made.copy(), out)
    np.testing.assert_allclose(out.asnumpy(), -made.asnumpy(), rtol=1e-5)


def test_a_symbol_that_mxnet_lacks_is_reported_with_path_and_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """B5: of a version to come."""
    monkeypatch.setattr(bridge, "_SYMBOLS", ("MXEnginePushOfTheFuture",))
    bridge._engine.cache_clear()  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(EnvironmentFault) as raised:
        to_mxnet_func(inarch.compute(FOUNDING))
    path = mx.libinfo.find_lib_path()[0]
    assert str(raised.value) == (
        f"bridge to mxnet: expected the symbol 'MXEnginePushOfTheFuture' in {path} (mxnet {mx.__version__}), "
        "found none; this version has another interface"
    )


def test_update_rules_are_those_of_mxnet() -> None:
    """B12: momentum and Adam of docs/compute.md in MXNet's engine, in every step."""
    adam, step = to_mxnet_func(rule("adam"), const_loc=[3]), to_mxnet_func(rule("step"), [2])
    draw = np.random.default_rng(0)
    start = draw.standard_normal(50).astype(np.float32)
    ours, theirs = ([mx.nd.array(start), mx.nd.zeros(50), mx.nd.zeros(50)] for _ in range(2))
    own_w, own_m, their_w, their_m = (
        mx.nd.array(start),
        mx.nd.zeros(50),
        mx.nd.array(start),
        mx.nd.zeros(50),
    )
    for _ in range(5):
        g = mx.nd.array(draw.standard_normal(50).astype(np.float32))
        adam(*ours, g, 0.01, 0.9, 0.999, 1e-8, 1.0, 1.0)
        w, m, v = theirs
        mx.nd.adam_update(w, g, m, v, lr=0.01, beta1=0.9, beta2=0.999, epsilon=1e-8, out=w)
        for own, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(own.asnumpy(), other.asnumpy(), rtol=1e-5, atol=1e-6)
        step(own_w, own_m, g, 0.1, 0.9, 0.0)
        # MXNet's momentum has the learning rate in it, and the sign of the step.
        mx.nd.sgd_mom_update(their_w, g, their_m, lr=0.1, momentum=0.9, out=their_w)
        np.testing.assert_allclose(own_w.asnumpy(), their_w.asnumpy(), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(-0.1 * own_m.asnumpy(), their_m.asnumpy(), rtol=1e-5, atol=1e-6)
