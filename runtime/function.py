"""A compiled function as a Python one: arrays in, arrays out, checked against its signature."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import TypeAlias, cast

from inarch.artifact.manifest import Port, Signature
from inarch.core.arguments import checked_threads
from inarch.core.errors import ArgumentError
from inarch.core.lazy import np
from inarch.runtime.tensor import Array, as_array, as_output, check, check_bools, empty
from inarch.runtime.threads import threads as limited

Invoke: TypeAlias = Callable[[Sequence[Array]], None]
"""Runs a function on arrays that fit its signature: inputs, then outputs to write."""


class Function:
    """One function of a module. Immutable, and safe to call from several threads at once.

    >>> from inarch.core.dtypes import DTYPES
    >>> def double(arrays):
    ...     _ = np.multiply(arrays[0], 2, out=arrays[1])
    >>> port = Port("x", DTYPES["f32"], (2,))
    >>> f = Function("double", Signature((port,), (port,)), double)
    >>> f(np.array([1, 2], np.float32))
    array([2., 4.], dtype=float32)
    """

    def __init__(
        self, name: str, signature: Signature, invoke: Invoke, *, threads: int | None = None
    ) -> None:
        self.name = name
        self._threads = threads
        self.signature = signature
        self._invoke = invoke
        self._inputs = [(port, f"{name}: argument '{port.name}'") for port in signature.inputs]
        self._outputs = [(port, f"{name}: output '{port.name}'") for port in signature.outputs]

    def __repr__(self) -> str:
        return f"<inarch function {self}>"

    def __str__(self) -> str:
        inputs, outputs = _listed(self.signature.inputs), _listed(self.signature.outputs)
        return f"{self.name}({inputs}) -> ({outputs})"

    def __call__(
        self,
        /,
        *args: object,
        out: object = None,
        threads: object = None,
        **by_name: object,
    ) -> Array | tuple[Array, ...]:
        """The outputs: one array, or a tuple when there are several (or none).

        Inputs are given by position or by name: NumPy arrays, or anything with `__dlpack__` or the
        buffer protocol, of exactly the declared type and row-major. `out` is an array to write
        into, or a sequence of them, one for each output. `threads`: at most so many run it, where code is
        compiled so that threads share its loops (`inarch.runtime.threads`).

        Raises ArgumentError for what does not fit, and InarchError when the function fails.
        """
        inputs = self._checked_inputs(args, by_name)
        outputs = (
            tuple(empty(port) for port, _ in self._outputs)
            if out is None
            else self._checked_outputs(out, inputs)
        )
        self._run((*inputs, *outputs), threads)
        return outputs[0] if len(outputs) == 1 else outputs

    def run(self, inputs: Mapping[str, object], *, threads: int | None = None) -> dict[str, Array]:
        """The outputs by name, from the inputs by name: also for names that Python cannot spell."""
        if not isinstance(inputs, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(
                f"{self.name}: run expected a dict of inputs by name "
                f"({_listed(self.signature.inputs)}), found a {type(inputs).__name__}"
            )
        outputs = tuple(empty(port) for port, _ in self._outputs)
        self._run((*self._checked_inputs((), inputs), *outputs), threads)
        names = (port.name for port, _ in self._outputs)
        return dict(zip(names, outputs, strict=True))

    def _run(self, arrays: Sequence[Array], threads: object) -> None:
        most = self._threads if threads is None else threads
        if most is None:
            self._invoke(arrays)
            return
        with limited(most):
            self._invoke(arrays)

    def with_threads(self, threads: int) -> Function:
        """The same function, run by at most so many threads where a call does not say how many."""
        return Function(self.name, self.signature, self._invoke, threads=checked_threads(threads))

    def _checked_inputs(self, args: Sequence[object], by_name: Mapping[str, object]) -> list[Array]:
        values = args if not by_name else self._in_order(args, by_name)
        if len(values) != len(self._inputs):
            raise ArgumentError(
                f"{self.name}: expected {_count(self._inputs, 'argument')} "
                f"({_listed(self.signature.inputs)}), found {len(values)}"
            )
        arrays: list[Array] = []
        for value, (port, role) in zip(values, self._inputs, strict=True):
            array = as_array(value, port, role)
            check(array, port, role)
            check_bools(array, port, role)
            arrays.append(array)
        return arrays

    def _in_order(self, args: Sequence[object], by_name: Mapping[str, object]) -> list[object]:
        """All inputs by position, from some by position and the rest by name."""
        names = [port.name for port in self.signature.inputs]
        for name in by_name:
            if name not in names:
                near = get_close_matches(name, names, n=1)
                hint = f"; did you mean '{near[0]}'?" if near else "."
                raise ArgumentError(
                    f"{self.name}: no input '{name}'{hint} Inputs: {', '.join(names) or 'none'}"
                )
            if names.index(name) < len(args):
                raise ArgumentError(
                    f"{self.name}: input '{name}' is given twice, by position and by name"
                )
        missing = [name for name in names[len(args) :] if name not in by_name]
        if missing:
            raise ArgumentError(
                f"{self.name}: input '{missing[0]}' is missing; inputs: {', '.join(names)}"
            )
        return [*args, *(by_name[name] for name in names[len(args) :])]

    def _checked_outputs(self, out: object, inputs: Sequence[Array]) -> tuple[Array, ...]:
        """The arrays of `out`, which overlap neither an input nor each other."""
        values = cast("Sequence[object]", out) if isinstance(out, tuple | list) else (out,)
        if len(values) != len(self._outputs):
            raise ArgumentError(
                f"{self.name}: expected {_count(self._outputs, 'array')} in out "
                f"({_listed(self.signature.outputs)}), found {len(values)}"
            )
        names = [f"input '{port.name}'" for port in self.signature.inputs]
        before = list(zip(inputs, names, strict=True))
        arrays: list[Array] = []
        for value, (port, role) in zip(values, self._outputs, strict=True):
            array = as_output(value, port, role)
            for other, what in before:
                # Exact for row-major arrays, and quick: only the bounds are compared.
                if np.may_share_memory(array, other):
                    raise ArgumentError(f"{role}: expected memory of its own, found that of {what}")
            before.append((array, f"output '{port.name}'"))
            arrays.append(array)
        return tuple(arrays)


def _listed(ports: Sequence[Port]) -> str:
    return ", ".join(str(port) for port in ports)


def _count(items: Sequence[object], noun: str) -> str:
    return f"{len(items)} {noun}" + ("" if len(items) == 1 else "s")
