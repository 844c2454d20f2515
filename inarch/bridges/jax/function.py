"""`to_jax_func`: a call of the one FFI handler of Inarch, `handler.c`, with the number of a function.

The number comes from the artifact's bytes, not from an address, so that a program of XLA that JAX keeps on
disk never calls other code than it was compiled with: where its function is not in the process, it fails.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, cast

from inarch.artifact.manifest import Port
from inarch.bridges.framework import check_place, framework
from inarch.bridges.shim import Shim, entry_of, shim
from inarch.bridges.shim import called as in_c
from inarch.computation import Computation, Described
from inarch.core.cache import key_of
from inarch.core.errors import ArgumentError, UsageError
from inarch.core.forks import long_lock
from inarch.core.lazy import np
from inarch.runtime.function import Function
from inarch.runtime.module import Module

_TARGET = "inarch.call"
_PUT = "int32_t(*)(int64_t, const void *)"
_MOST = 256
"""Operands and results, as `handler.c` has it."""
_MOST_OUTPUTS = 63
"""Bits of its attribute `updates`."""

Backward = Callable[[Sequence[Any], Sequence[Any], Sequence[Any]], Sequence[Any]]
"""`(inputs, outputs, gradients of outputs)` -> the gradients of inputs, each an array or None for zeros."""


def to_jax_func(
    function: Function | Module | Computation,
    *,
    backward: Backward | None = None,
    vmap_method: str = "sequential",
    device: object = "cpu",
    stream: object = None,
) -> Any:
    """A function on arrays of JAX that runs `function` on the CPU; of a module its `main`.

    It takes the inputs and gives the output, or a tuple of several. What a computation updates is an input
    as well, in its place among the arguments: its new value is a result, in donated memory where there is
    some. Under `vmap` it runs once for each element (`vmap_method`, as `jax.ffi.ffi_call` has it: shapes
    are fixed). `grad` needs `backward`; without it JAX says that there is no rule. A call that fails is a
    JaxRuntimeError where the result is waited for. The code stays in memory for the rest of the process.

    Raises EnvironmentFault without JAX or a C compiler, UnsupportedError for a function that calls Python.
    A call raises ArgumentError for what does not fit the signature.
    """
    check_place("to_jax_func", device, stream)
    jax = framework("jax")
    framework("jax.ffi", distribution="jax")
    _register(jax)
    call = _Call(jax, function, vmap_method)
    if backward is None:
        return call
    return _with_gradient(jax, call, backward)


@cache
def _register(jax: Any) -> Shim:
    """The handler, known to XLA."""
    made = shim("jax/handler.c", f"-I{jax.ffi.include_dir()}")
    capsule = jax.ffi.pycapsule(made.address("inarch_jax_call"))
    jax.ffi.register_ffi_target(_TARGET, capsule, platform="cpu")
    return made


_LOCK = long_lock()


class _Call:
    """Traces a call of one function, or of a computation that is compiled for what it meets."""

    def __init__(
        self, jax: Any, function: Function | Module | Computation, vmap_method: str
    ) -> None:
        self._jax = jax
        self._of = function
        self._vmap_method = vmap_method
        self.__name__ = "compute"
        if not isinstance(function, Computation):
            self.__name__ = self._target(function)[0].name  # what is refused is so now

    def __call__(self, *args: Any, **by_name: Any) -> Any:
        if isinstance(self._of, Computation):
            return self._computation(self._of, args, by_name)
        if by_name:
            raise ArgumentError(f"{self.__name__}: expected arguments by position")
        called, number = self._target(self._of)
        ports = called.signature.inputs
        if len(args) != len(ports):
            raise ArgumentError(
                f"{called.name}: expected {len(ports)} arguments "
                f"({', '.join(map(str, ports))}), found {len(args)}"
            )
        values = [self._value(port, arg) for port, arg in zip(ports, args, strict=True)]
        return self._run(values, called.signature.outputs, number, {})

    def _target(self, module: Function | Module) -> tuple[Function, int]:
        """The function, and its number, under which the handler finds it."""
        called = module if isinstance(module, Function) else module.get_function("main")
        if len(called.signature.outputs) > _MOST_OUTPUTS:
            raise UsageError(
                f"{called.name}: expected at most {_MOST_OUTPUTS} outputs, found "
                f"{len(called.signature.outputs)}",
                where="bridge to jax",
            )
        if len(called.signature.inputs) + len(called.signature.outputs) > _MOST:
            raise UsageError(
                f"{called.name}: expected at most {_MOST} inputs and outputs", where="bridge to jax"
            )
        entry = entry_of(called, "jax")
        with _LOCK:
            key = (entry.address, called.threads)
            number = _NUMBERS.get(key)
            if number is None:
                unique = os.urandom(16) if isinstance(module, Function) else module.save_to_bytes()
                digest = bytes.fromhex(key_of(unique, called.name, str(called.threads)))
                number = _NUMBERS[key] = int.from_bytes(digest[:8], "little", signed=True)
                put = _register(self._jax).symbol("inarch_jax_put", _PUT)
                if put(number, in_c(entry, called.name, called.threads)):
                    raise MemoryError
        return called, number

    def _value(self, port: Port, value: Any) -> Any:
        """An array, or a number as one, of the port's type. Raises ArgumentError."""
        role = f"{self.__name__}: argument '{port.name}'"
        if not port.shape and (isinstance(value, bool | int | float) or _is_weak(value)):
            self._check_width(port, role)
            return self._jax.numpy.asarray(value, port.dtype.numpy)
        if not hasattr(value, "shape") or not hasattr(value, "dtype"):
            raise ArgumentError(
                f"{role}: expected {port.type}, found a {type(value).__name__}; use jnp.asarray(x)"
            )
        if tuple(value.shape) != port.shape or str(value.dtype) != port.dtype.numpy:
            raise ArgumentError(
                f"{role}: expected {port.type} ({port.dtype.numpy}), found "
                f"{value.dtype}{list(value.shape)}"
            )
        self._check_width(port, role)
        return value

    def _check_width(self, port: Port, role: str) -> None:
        """JAX makes 32 bits of 64 without a word."""
        if port.dtype.bits == 64 and not self._jax.config.jax_enable_x64:
            raise ArgumentError(
                f"{role}: expected JAX to have {port.dtype.numpy}, found 64 bits switched off; "
                "jax.config.update('jax_enable_x64', True)"
            )

    def _computation(
        self, computation: Computation, args: Sequence[Any], by_name: dict[str, Any]
    ) -> Any:
        values: dict[str, Any] = computation.bind(args, by_name)
        numbers: dict[str, str] = {}
        arrays: dict[str, Described] = {}
        for name, value in values.items():
            if isinstance(value, bool | int | float):
                numbers[name] = type(value).__name__
            elif not hasattr(value, "shape") or not hasattr(value, "dtype"):
                raise ArgumentError(
                    f"compute: argument '{name}': expected an array, found a {type(value).__name__}"
                )
            elif _is_weak(value):
                numbers[name] = {"b": "bool", "f": "float"}.get(np.dtype(value.dtype).kind, "int")
            else:
                arrays[name] = Described(np.dtype(value.dtype), tuple(value.shape))
        made = computation.specialized(numbers, arrays)
        _, number = self._target(made.module)
        updated = {n: made.ports[name] for n, name in enumerate(made.outputs) if name in values}
        for n, port in updated.items():
            if computation.accesses[port.name] == "write":
                raise ArgumentError(
                    f"compute: argument '{made.outputs[n]}': expected no output, which JAX allocates"
                )
        ports = [*(made.ports[name] for name in made.inputs), *updated.values()]
        operands = [self._value(port, values[port.name]) for port in ports]
        aliases = {len(made.inputs) + i: n for i, n in enumerate(updated)}
        return self._run(operands, [made.ports[name] for name in made.outputs], number, aliases)

    def _run(
        self, operands: Sequence[Any], outputs: Sequence[Port], number: int, aliases: dict[int, int]
    ) -> Any:
        for port in outputs:
            self._check_width(port, f"{self.__name__}: output '{port.name}'")
        kinds = [self._jax.ShapeDtypeStruct(port.shape, port.dtype.numpy) for port in outputs]
        call = self._jax.ffi.ffi_call(
            _TARGET, kinds, vmap_method=self._vmap_method, input_output_aliases=aliases
        )
        updates = sum(1 << n for n in aliases.values())
        results = call(*operands, id=np.int64(number), updates=np.int64(updates))
        return results[0] if len(results) == 1 else tuple(results)


_NUMBERS: dict[tuple[int, int | None], int] = {}
"""Address of a function, and its threads -> its number in `handler.c`."""


def _is_weak(value: Any) -> bool:
    """Whether it was a number, of which JAX has made an array of no dimensions."""
    return bool(getattr(value, "weak_type", False)) and not value.shape


def _with_gradient(jax: Any, call: _Call, backward: Backward) -> Any:
    """`call` with a rule of the user's for its gradient."""

    def plain(*args: Any) -> Any:
        return call(*args)

    def forward(*args: Any) -> Any:
        result = call(*args)
        return result, (args, result)

    def gradient(kept: Any, grads: Any) -> Any:
        args, result = kept
        single = not isinstance(result, tuple)
        outputs = [result] if single else list(cast("tuple[Any, ...]", result))
        found = tuple(backward(args, outputs, (grads,) if single else grads))
        if len(found) != len(args):
            raise ArgumentError(
                f"{call.__name__}: expected backward to give {len(args)} gradients, one for each "
                f"argument, found {len(found)}"
            )
        zeros = jax.numpy.zeros_like
        return tuple(
            zeros(arg) if one is None else one for arg, one in zip(args, found, strict=True)
        )

    plain.__name__ = call.__name__
    wrapped = jax.custom_vjp(plain)
    wrapped.defvjp(forward, gradient)
    return wrapped
