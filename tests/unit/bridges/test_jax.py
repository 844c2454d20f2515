"""JAX: compiled functions and computations inside its programs."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import inarch
from inarch.bridges.jax import to_jax_func
from inarch.core.errors import ArgumentError, InarchError
from inarch.runtime.module import Module
from inarch.runtime.registry import REGISTRY

jax = pytest.importorskip("jax", reason="JAX is not installed: make bridges")
jnp: Any = jax.numpy

SCALE = "for i in N: C[i] = s * (A[i] + B[i])"
STEP = """
    for i in N: m[i] = mu * m[i] + g[i]
    for i in N: w[i] = w[i] - lr * m[i]
"""
NEURON = """
    for m in M, n in N: Y[m, n] = b[n]; for k in K: Y[m, n] += X[m, k] * W[k, n];
                        Y[m, n] = tanh(Y[m, n])
"""


SumOfTwo = Callable[[str], Module]


def normal(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def test_a_module_within_a_program_of_jax_and_its_map() -> None:
    x, w, b = normal(0, 3, 5), normal(1, 5, 4), normal(2, 4)
    module = inarch.compute(NEURON).module(b, x, w)
    wanted = np.tanh(x @ w + b)
    neuron = to_jax_func(module)
    jitted = jax.jit(lambda *args: 2 * neuron(*args) + 1)
    np.testing.assert_allclose(neuron(b, x, w), wanted, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(jitted(b, x, w), 2 * wanted + 1, rtol=1e-5, atol=1e-6)
    rows = np.stack([x, 2 * x, -x])
    mapped = jax.jit(jax.vmap(neuron, in_axes=(None, 0, None)))(b, rows, w)
    np.testing.assert_allclose(mapped, np.tanh(rows @ w + b), rtol=1e-5, atol=1e-6)


def test_a_computation_in_jax_is_compiled_for_what_is_traced() -> None:
    """B12: numbers of Python, numbers that jit has made arrays of, arrays without dimensions."""
    scale = to_jax_func(inarch.compute(SCALE))
    for n in (4, 7):
        a = jnp.arange(n, dtype=jnp.float32)
        for s in (2, 2.0, jnp.float32(2)):
            np.testing.assert_array_equal(scale(s, a, a), 4 * np.arange(n))
            np.testing.assert_array_equal(jax.jit(scale)(s, a, a), 4 * np.arange(n))
        np.testing.assert_array_equal(scale(A=a, B=a, s=0.5), np.arange(n))
    whole = jnp.arange(4, dtype=jnp.int8)
    assert jax.jit(scale)(2, whole, whole).dtype == jnp.int8


def test_what_is_updated_is_new_and_in_the_old_memory_where_that_is_donated() -> None:
    """B12, B3: an update rule; pointers are equal."""
    step = to_jax_func(inarch.compute(STEP, arguments="w, m, g, lr, mu"))
    w, m, g = normal(0, 64), normal(1, 64), normal(2, 64)
    momentum = np.float32(0.9) * m + g
    wanted = w - np.float32(0.1) * momentum
    old = jnp.asarray(w)
    new_m, new_w = step(old, jnp.asarray(m), g, 0.1, 0.9)
    np.testing.assert_allclose(new_w, wanted, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(old, w)
    donated, moving = jnp.array(w), jnp.array(m)
    pointers = {moving.unsafe_buffer_pointer(), donated.unsafe_buffer_pointer()}
    results = jax.jit(step, donate_argnums=(0, 1))(donated, moving, g, 0.1, 0.9)
    assert {each.unsafe_buffer_pointer() for each in results} == pointers
    for found, value in zip(results, (momentum, wanted), strict=True):
        np.testing.assert_allclose(found, value, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(new_m, momentum, rtol=1e-6, atol=1e-6)


def test_a_gradient_has_the_rule_that_is_given_and_none_without() -> None:
    square = inarch.compute("for i in N: C[i] = A[i] * A[i]")
    x = jnp.asarray(normal(3, 6))
    f = to_jax_func(square, backward=lambda inputs, _, grads: [2 * inputs[0] * grads[0]])
    gradient = jax.jit(jax.grad(lambda a: (3 * f(a)).sum()))(x)
    np.testing.assert_allclose(gradient, 6 * x, rtol=1e-6)
    with pytest.raises(ValueError, match=r"The FFI call to `inarch.call` cannot be differentiated"):
        jax.grad(lambda a: to_jax_func(square)(a).sum())(x)
    wrong = to_jax_func(square, backward=lambda *_: [])
    with pytest.raises(ArgumentError) as raised:
        jax.grad(lambda a: wrong(a).sum())(x)
    assert str(raised.value) == (
        "compute: expected backward to give 1 gradients, one for each argument, found 0"
    )
    scale = to_jax_func(inarch.compute(SCALE), backward=lambda i, _, g: (None, i[0] * g[0], None))
    np.testing.assert_array_equal(jax.grad(lambda a: scale(2.0, a, x).sum())(x), np.full(6, 2))


def test_a_call_that_fails_is_an_error_of_jax_where_it_is_waited_for(sum_of_two: SumOfTwo) -> None:
    x = jnp.ones(4)
    f = jax.jit(to_jax_func(sum_of_two("fails")))
    with pytest.raises(jax.errors.JaxRuntimeError) as raised:
        f(x, x).block_until_ready()
    assert str(raised.value).splitlines()[0] == (
        "INVALID_ARGUMENT: inarch: import 'kernel' failed with code 42"
    )


def test_a_module_lives_as_long_as_what_was_compiled_with_it() -> None:
    """No name is left of it, nor of the function that JAX has traced."""
    holder = [to_jax_func(inarch.compute("for i in N: C[i] = A[i] + 41").module(np.zeros(4)))]
    jax.config.update("jax_enable_x64", True)
    try:
        f = jax.jit(lambda a: holder[0](a) + 0)
        f(np.ones(4))
        holder.clear()
        gc.collect()
        np.testing.assert_array_equal(f(np.ones(4)), np.full(4, 42.0))
    finally:
        jax.config.update("jax_enable_x64", False)


def test_a_program_whose_function_is_not_in_the_process_fails() -> None:
    """As one that JAX has kept on disk, in a process that has not loaded the module."""
    to_jax_func(inarch.compute(SCALE))
    call = jax.ffi.ffi_call("inarch.call", jax.ShapeDtypeStruct((4,), np.float32))
    with pytest.raises(jax.errors.JaxRuntimeError) as raised:
        call(jnp.ones(4), id=np.int64(7), updates=np.int64(0)).block_until_ready()
    assert str(raised.value).splitlines()[0] == (
        "NOT_FOUND: inarch: expected the compiled function of this program in the process, found none; "
        "call to_jax_func on its module first"
    )


def test_wrong_calls_are_one_line_each() -> None:
    module = inarch.compute(SCALE).module(np.float32(1), *[np.zeros(4, np.float32)] * 2)
    f, computation = to_jax_func(module), to_jax_func(inarch.compute(SCALE))
    a = jnp.zeros(4)
    wide = to_jax_func(inarch.compute("for i in N: C[i] = A[i]").module(np.zeros(4)))
    cases: list[tuple[Any, tuple[Any, ...], str]] = [
        (f, (1.0, a), "main: expected 3 arguments (s: f32[], A: f32[4], B: f32[4]), found 2"),
        (f, (1.0, a, jnp.zeros(5)), "main: argument 'B': expected f32[4] (float32), found float32[5]"),
        (f, (1.0, a, a.astype(np.int32)), "main: argument 'B': expected f32[4] (float32), found int32[4]"),
        (f, (1.0, a, [0.0]), "main: argument 'B': expected f32[4], found a list; use jnp.asarray(x)"),
        (computation, (1.0, a, "b"), "compute: argument 'B': expected an array, found a str"),
        (computation, (1.0, a, a, a), "compute: argument 'C': expected no output, which JAX allocates"),
        (computation, (1.0, a, jnp.zeros(5)), "compute: argument 'B': expected 4 in dimension 0 "
         "(N, as of A), found shape (5,)"),
        (wide, (np.zeros(4),), "main: argument 'A': expected JAX to have float64, found 64 bits "
         "switched off; jax.config.update('jax_enable_x64', True)"),
    ]  # fmt: skip
    for function, args, message in cases:
        with pytest.raises(InarchError) as raised:
            function(*args)
        assert str(raised.value) == message


def test_a_function_that_calls_python_is_refused() -> None:
    text = """
func.func private @jax_test_twice(tensor<4xf32>) -> tensor<4xf32>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.call @jax_test_twice(%x) : tensor<4xf32> -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
"""
    from inarch.dialects import new_context
    from inarch.ir.text import parse_module

    context = new_context()
    REGISTRY.register("jax_test_twice", lambda x, y: np.multiply(x, 2, out=y))
    try:
        module = inarch.compile(parse_module(context, text), context=context)
    finally:
        REGISTRY.unregister("jax_test_twice")
    with pytest.raises(InarchError) as raised:
        to_jax_func(module)
    assert str(raised.value) == (
        "bridge to jax: main: expected a function of C alone, found one that calls Python; "
        "fill its imports with functions of C (inarch.runtime.native)"
    )


def test_a_call_within_jit_takes_a_fraction_of_a_microsecond() -> None:
    """B10: 0.12 us on a quiet machine; twice what it may take, as others use this one."""
    f = to_jax_func(inarch.compute("for i in N: C[i] = A[i] * A[i]"))
    x = jnp.ones(4)

    def chain(count: int) -> Any:
        def calls(a: Any) -> Any:
            for _ in range(count):
                a = f(a)
            return a

        return jax.jit(calls)

    def least(function: Any) -> float:
        function(x).block_until_ready()
        best = np.inf
        for _ in range(1000):
            start = time.perf_counter()
            function(x).block_until_ready()
            best = min(best, time.perf_counter() - start)
        return best

    assert (least(chain(101)) - least(chain(1))) / 100 < 0.4e-6
