"""JAX: compiled functions as functions of its arrays, inside `jit`, `vmap` and `grad`.

from inarch.bridges.jax import to_jax_func

f = to_jax_func(inarch.compile("model.onnx"))
y = jax.jit(lambda x: f(2 * x) + 1)(x)      # one program of XLA, which calls ours in C
"""

from __future__ import annotations

from inarch.bridges.jax.function import to_jax_func

__all__ = ["to_jax_func"]
