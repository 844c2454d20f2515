"""A compiled function as a Python one: arrays in, arrays out, checked against its signature."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, TypeAlias, cast

from inarch.artifact.manifest import Port, Signature
from inarch.core.arguments import checked_dims, checked_threads
from inarch.core.errors import ArgumentError, InarchError, UnsupportedError
from inarch.core.lazy import np
from inarch.runtime.calls.bound import (
    BoundCall,
    Places,
    compiled_call,
    in_order,
    plan_of,
    quick_call,
    runner,
)
from inarch.runtime.calls.called import Called
from inarch.runtime.calls.compiled import COMPILED
from inarch.runtime.calls.entry import CEntry
from inarch.runtime.calls.fits import Fits
from inarch.runtime.calls.frameworks import as_framework, framework_of
from inarch.runtime.calls.pickled import Origin, function_of, recipe
from inarch.runtime.computed import counted, shown
from inarch.runtime.tensor import (
    Array,
    address_of,
    as_array,
    as_output,
    check,
    check_bools,
    empty,
)
from inarch.runtime.threads import threads as limited

Invoke: TypeAlias = Callable[[Sequence[Array]], None]
"""Runs a function on arrays that fit its signature: inputs, then outputs to write."""


def no_input(
    function: str, name: str, names: Sequence[str], defaults: Sequence[str]
) -> ArgumentError:
    """The error for an argument by a name that no input has."""
    if name in defaults:
        return ArgumentError(
            f"{function}: expected no array for '{name}', whose own value is compiled in; "
            f"inarch.compile(model, values={{'{name}': array}}) takes another one"
        )
    near = get_close_matches(name, names, n=1)
    hint = f"; did you mean '{near[0]}'?" if near else "."
    return ArgumentError(
        f"{function}: no input '{name}'{hint} Inputs: {', '.join(names) or 'none'}"
    )


class Function(Called):
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
        self,
        name: str,
        signature: Signature,
        invoke: Invoke,
        *,
        threads: int | None = None,
        c_entry: CEntry | None = None,
    ) -> None:
        self.name = name
        self.c_entry = c_entry
        """The same in C; None where a call needs Python."""
        self._threads = threads
        self.fits: Fits | None = None
        """Of a function whose model has open dimensions: the functions for other sizes, and for these."""
        self.signature = signature
        self._invoke = invoke
        self.origin: Origin | None = None
        """Of its module."""
        self.defaults: Sequence[str] = ()
        """Inputs of the model whose own values are compiled in."""
        self._inputs = [(port, f"{name}: argument '{port.name}'") for port in signature.inputs]
        self._outputs = [(port, f"{name}: output '{port.name}'") for port in signature.outputs]
        self._computed = [port.computed for port in signature.outputs]
        self._shown = shown(self._computed)

    def __repr__(self) -> str:
        return f"<inarch function {self}>"

    def __str__(self) -> str:
        return f"{self.name}({_listed(self.signature.inputs)}) -> ({_listed(self.outputs)})"

    @property
    def outputs(self) -> tuple[Port, ...]:
        """What a call gives, in order: not the outputs that say how much counts of others."""
        return tuple(self.signature.outputs[at] for at in self._shown)

    def _general(
        self,
        /,
        *args: object,
        out: object = None,
        threads: object = None,
        **by_name: object,
    ) -> Any:
        """The outputs: one array, or a tuple when there are several (or none).

        Inputs are given by position or by name: NumPy arrays, or anything with `__dlpack__` or the
        buffer protocol, of exactly the declared type and row-major; numbers where one without dimensions
        is declared. Outputs are what `out` has, an array to write into or a sequence of them, or what
        follows the inputs; else they are made, as the framework of the inputs has them
        (`inarch.runtime.calls.frameworks`). Of outputs of computed size there is as much as counts: `out` has
        room for the most, of which it gives views. `threads`: at most so many run it, where code is
        compiled so that threads share its loops (`inarch.runtime.threads`).

        Raises ArgumentError for what does not fit, and InarchError when the function fails.
        """
        self._make_plan()
        args, out = self._parted(args, out)
        if self.fits is not None:
            values = args if not by_name else self._in_order(args, by_name)
            fit = self.fits.find(self.name, values)
            if fit is not None:
                return fit(*values, out=out, threads=threads)
        inputs = self._checked_inputs(args, by_name)
        if out is None:
            made = tuple(empty(port) for port, _ in self._outputs)
            self._run((*inputs, *made), threads)
            if any(self._computed):
                made = tuple(counted(self._computed, made, copy=True))
            like = framework_of((*args, *by_name.values()))
            if like is not None:
                return as_framework(like, made)
            return made[0] if len(made) == 1 else made
        outputs, given = self._checked_outputs(out, inputs)
        self._run((*inputs, *outputs), threads)
        if any(self._computed):
            given = tuple(counted(self._computed, outputs))
        return given[0] if len(given) == 1 else given

    def bind(
        self,
        /,
        *args: object,
        out: object = None,
        threads: object = None,
        **by_name: object,
    ) -> BoundCall:
        """A call without arguments, of the memory given here, as a call takes it; all is checked once.

        Outputs that are not given are made once: each call writes, and gives, the same.
        """
        if threads is not None:
            return self.with_threads(checked_threads(threads)).bind(*args, out=out, **by_name)
        for port, role in self._outputs:
            if port.computed:
                raise UnsupportedError(
                    f"{role}: expected an output of a known size to bind, found {port}; call the function"
                )
        self._make_plan()
        args, out = self._parted(args, out)
        if self.fits is not None:
            values = args if not by_name else self._in_order(args, by_name)
            fit = self.fits.find(self.name, values)
            if fit is not None:
                return fit.bind(*values, out=out)
        inputs = self._checked_inputs(args, by_name)
        if out is None:
            outputs = tuple(empty(port) for port, _ in self._outputs)
            like = framework_of((*args, *by_name.values()))
            given: object = outputs if like is None else as_framework(like, outputs)
        else:
            outputs, given = self._checked_outputs(out, inputs)
        result: object = given
        if type(given) is tuple and len(outputs) == 1:
            result = cast("tuple[object, ...]", given)[0]
        held = (*inputs, *outputs)
        addresses = tuple(address_of(array) for array in held)
        if self._plan:
            kind = compiled_call(COMPILED.extension())
            return kind(self._plan, addresses, held, result, self.name, None)
        if self.c_entry is not None:
            run = runner(self.name, self.signature, self.c_entry, held, self._threads)
        else:

            def run() -> None:
                self._run(held, None)

        return BoundCall(self._plan, addresses, held, result, self.name, run)

    def _make_plan(self) -> None:
        """What compiled calls know of this function, once there are compiled calls."""
        if self._plan is not None:
            return
        extension = COMPILED.extension()
        if self.c_entry is None or any(self._computed):
            self._plan = False
        elif extension is None:
            if COMPILED.is_settled and self._quick is None and self._threads is None:
                self._quick = quick_call(self.name, self.signature, self.c_entry)
        else:
            self._quick = None
            others = self.fits.plans(self.name) if self.fits is not None else None
            where = in_order(self.signature, others or None)
            self._plan = plan_of(
                extension, self.name, self.signature, self.c_entry, self._threads, where
            )

    def _parted(self, args: tuple[object, ...], out: object) -> tuple[tuple[object, ...], object]:
        """Inputs and outputs, where the outputs follow the inputs."""
        count = len(self._inputs)
        if out is None and self._shown and len(args) == count + len(self._shown):
            return args[:count], args[count:]
        return args, out

    def run(self, inputs: Mapping[str, object], *, threads: int | None = None) -> dict[str, Array]:
        """The outputs by name, from the inputs by name: also for names that Python cannot spell."""
        if not isinstance(inputs, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(
                f"{self.name}: run expected a dict of inputs by name "
                f"({_listed(self.signature.inputs)}), found a {type(inputs).__name__}"
            )
        if self.fits is not None:
            fit = self.fits.find(self.name, self._in_order((), inputs))
            if fit is not None:
                return fit.run(inputs, threads=threads)
        outputs = tuple(empty(port) for port, _ in self._outputs)
        self._run((*self._checked_inputs((), inputs), *outputs), threads)
        found: Sequence[Array] = outputs
        if any(self._computed):
            found = counted(self._computed, outputs, copy=True)
        return dict(zip((port.name for port in self.outputs), found, strict=True))

    def _run(self, arrays: Sequence[Array], threads: object) -> None:
        most = self._threads if threads is None else threads
        if most is None:
            self._invoke(arrays)
            return
        with limited(most):
            self._invoke(arrays)

    def with_threads(self, threads: int) -> Function:
        """The same function, run by at most so many threads where a call does not say how many."""
        most = checked_threads(threads)
        if self.fits is not None:
            return self.fits.with_threads(most)
        made = Function(self.name, self.signature, self._invoke, threads=most, c_entry=self.c_entry)
        made.origin, made.defaults = self.origin, self.defaults
        return made

    def at(self, /, *args: object, **by_name: object) -> Function:
        """The function for arguments of these shapes, or for sizes by name: `at(batch=1, seq=16)`.

        Raises ArgumentError where there is no code for them, or no size was open.
        """
        if self.fits is None:
            raise ArgumentError(
                f"{self.name}: expected a function of open sizes, found {self}, whose sizes are fixed; "
                "call it as it is"
            )
        names = [port.name for port in self.signature.inputs]
        sizes = {name: size for name, size in by_name.items() if name not in names}
        if not sizes:
            values = self._in_order(args, by_name)
            found = self.fits.find(self.name, values) or self
            found._checked_inputs(values, {})  # noqa: SLF001 - another of this class
            return found.alone()
        given = {**dict(zip(names, args, strict=False)), **by_name}
        shapes = {
            name: tuple(np.shape(cast("Any", given[name]))) for name in names if name in given
        }
        return self.fits.named(self.name, checked_dims(sizes), shapes).alone()

    def alone(self) -> Function:
        """The same function, for these sizes only."""
        made = Function(
            self.name, self.signature, self._invoke, threads=self._threads, c_entry=self.c_entry
        )
        made.origin, made.defaults = self.origin, self.defaults
        return made

    @property
    def sizes(self) -> tuple[Mapping[str, int], ...]:
        """The sizes of the model's open dimensions that there is code for; empty where none were open."""
        return self.fits.sizes if self.fits is not None else ()

    def __reduce__(self) -> tuple[Any, ...]:
        if self.origin is None:
            raise InarchError(f"function '{self.name}' cannot be pickled: it is of no module")
        make, args = recipe(self.origin, None)
        return function_of, (make, args, self.name, self._threads)

    def plan_of(self, places: Places) -> Any:
        """What compiled calls know of it where arguments come in another order; None without such calls."""
        self._make_plan()
        if not self._plan or self.c_entry is None:
            return None
        extension = COMPILED.extension()
        return plan_of(extension, self.name, self.signature, self.c_entry, self._threads, places)

    @property
    def quick_ways(self) -> tuple[Any, Callable[[Sequence[object]], bool] | None]:
        """What compiled calls know of it, and what runs it by cffi, for `Module`."""
        return self._plan, self._quick

    @property
    def address(self) -> int:
        """Of the C function `int32_t f(DLTensor *args, int32_t n)`, valid as long as this function lives.

        Raises UnsupportedError where it, or what it imports, runs in Python.
        """
        if self.c_entry is None:
            raise UnsupportedError(
                f"{self.name}: expected a function of C alone, found one that runs in Python, or calls it; "
                "fill its imports with C (inarch.runtime.native.NativeFunction), or call it from Python"
            )
        return self.c_entry.address

    @property
    def threads(self) -> int | None:
        """At most so many run a call that does not say how many; None: as many as there should be."""
        return self._threads

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
                raise no_input(self.name, name, names, self.defaults)
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

    def _checked_outputs(
        self, out: object, inputs: Sequence[Array]
    ) -> tuple[tuple[Array, ...], tuple[object, ...]]:
        """The arrays of `out`, which overlap neither an input nor each other, and what was given."""
        values = cast("Sequence[object]", out) if isinstance(out, tuple | list) else (out,)
        if len(values) != len(self._shown):
            raise ArgumentError(
                f"{self.name}: expected {_count(self._shown, 'array')} in out "
                f"({_listed(self.outputs)}), found {len(values)}"
            )
        every: dict[int, object] = dict(zip(self._shown, values, strict=True))
        names = [f"input '{port.name}'" for port in self.signature.inputs]
        before = list(zip(inputs, names, strict=True))
        arrays: list[Array] = []
        for at, (port, role) in enumerate(self._outputs):
            if at not in every:  # how much counts of another one
                arrays.append(empty(port))
                continue
            array = as_output(every[at], port, role)
            for other, what in before:
                # Exact for row-major arrays, and quick: only the bounds are compared.
                if np.may_share_memory(array, other):
                    raise ArgumentError(f"{role}: expected memory of its own, found that of {what}")
            before.append((array, f"output '{port.name}'"))
            arrays.append(array)
        return tuple(arrays), tuple(values)


def _listed(ports: Sequence[Port]) -> str:
    return ", ".join(str(port) for port in ports)


def _count(items: Sequence[object], noun: str) -> str:
    return f"{len(items)} {noun}" + ("" if len(items) == 1 else "s")
