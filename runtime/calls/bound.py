"""Calls with bound arguments: everything is checked once, and each call runs.

call = module.bind(x=x, out=y)
for frame in frames:
    x[:] = frame
    call()                  # y
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from inarch.artifact.manifest import Signature
from inarch.core.errors import ArgumentError, InarchError
from inarch.core.lazy import np
from inarch.runtime.abi import ffi
from inarch.runtime.calls.entry import CEntry
from inarch.runtime.calls.frameworks import as_framework
from inarch.runtime.tensor import Array, Layout
from inarch.runtime.threads import limit_here, threads_here


class BoundCall:
    """A function and the memory that it reads and writes. It keeps both; from any thread, one at a time.

    Calls read what is in the memory by then. That bools are 0 or 1 is looked at when it is bound.
    """

    def __init__(
        self,
        _plan: object,
        _addresses: object,
        held: Sequence[Array],
        result: object,
        name: str,
        run: Any,
    ) -> None:
        """For `Function.bind`: `run()` runs it, where it is not compiled."""
        self._held = held
        self._result = result
        self._name = name
        self._run = run

    def __call__(self) -> Any:
        """Runs it; the outputs, as the function gives them. Raises InarchError where it fails."""
        self._run()
        return self._result

    def _general(self, *args: object, **named: object) -> None:
        count = len(args) + len(named)
        raise ArgumentError(f"{self._name}: a bound call takes no arguments, found {count}")

    @property
    def outputs(self) -> Any:
        """What each call gives: the same object each time."""
        return self._result

    def __repr__(self) -> str:
        return f"<inarch bound call of {self._name}>"


@cache
def compiled_call(extension: Any) -> Any:
    """The class of bound calls that run without Python."""
    return type("CompiledCall", (extension.Bound, BoundCall), {})


@dataclass(frozen=True)
class Places:
    """Where the arguments of a call belong among inputs and outputs, and what may stand there."""

    all: Sequence[int]
    """Of a call that gives every one; one place may come twice, for one and the same array."""
    fewest: Sequence[int] | None
    """Of one without the outputs that are made; None: they have to be given."""
    takes: Sequence[int]
    """By place: FLOATS, INTS, BOOLS, ARRAYS; READ is of outputs whose old values count."""
    next: object = None
    """The plan that is tried where this one does not fit."""


FLOATS, INTS, BOOLS, ARRAYS, READ = 1, 2, 4, 8, 16
"""As `arguments.h` has them."""


def in_order(signature: Signature, next_plan: object = None) -> Places:
    """Inputs, then outputs; numbers where a port has no dimensions. Else `next_plan` is tried."""
    count = len(signature.inputs) + len(signature.outputs)
    return Places(
        range(count),
        range(len(signature.inputs)),
        (FLOATS | INTS | BOOLS | ARRAYS,) * count,
        next_plan,
    )


def plan_of(
    extension: Any,
    name: str,
    signature: Signature,
    entry: CEntry,
    threads: int | None,
    places: Places | None = None,
) -> Any:
    """What the extension has to know of a function. Without `places`: inputs, then outputs."""
    ports = (*signature.inputs, *signature.outputs)
    where = places or in_order(signature)
    if len(ports) > _MOST_PLACES:
        return False
    sizes: list[int] = []
    for port, takes in zip(ports, where.takes, strict=True):
        kind, shape = port.dtype, port.shape
        sizes += [takes, kind.dlpack, kind.bits, port.nbytes, len(shape), *shape]

    def failed() -> None:
        raise failure(name, entry)

    return extension.Plan(
        entry.address,
        entry.set_threads,
        0,
        len(signature.inputs),
        -1 if where.fewest is None else len(where.fewest),
        bytes((*where.all, *(where.fewest or ()))),
        struct.pack(f"{len(sizes)}q", *sizes),
        tuple(np.dtype(port.dtype.numpy) for port in ports),
        failed,
        as_framework,
        _said(threads),
        entry,
        where.next,
    )


_MOST_PLACES = 64
"""As `calls.c` has it: calls of more arguments go by Python."""


def _said(threads: int | None) -> Callable[[], int]:
    """How many threads run a call, within the limit of the calling thread; 0: as many as there should be."""
    if threads is None:
        return threads_here
    return lambda: min(threads, limit_here() or threads)


def failure(name: str, entry: CEntry) -> InarchError:
    """Why a call of this thread failed; what the library says begins with the name or does not."""
    text = ffi().cast("const char *(*)(void)", entry.last_error)()
    said = ffi().string(text).decode(errors="replace") if text != ffi().NULL else "no message"
    return InarchError(f"{name}: {said.removeprefix(f'{name}: ')}")


def runner(
    name: str, signature: Signature, entry: CEntry, arrays: Sequence[Array], threads: int | None
) -> Any:
    """What runs the function on the arrays by cffi."""
    made = ffi()
    layout = Layout((*signature.inputs, *signature.outputs))
    tensors, count = layout.tensors(arrays), len(arrays)
    call = made.cast("int32_t(*)(DLTensor *, int32_t)", entry.address)
    set_threads = made.cast("int32_t(*)(int32_t)", entry.set_threads)
    has_threads, said = entry.set_threads != 0, _said(threads)

    def run() -> None:
        # `layout` has the shapes, to which the tensors only point.
        assert layout is not None
        if has_threads:
            set_threads(said())
        if call(tensors, count):
            raise failure(name, entry)

    return run


def quick_call(
    name: str, signature: Signature, entry: CEntry
) -> Callable[[Sequence[object]], bool] | None:
    """What runs arrays of NumPy that fit, inputs and then the output, by cffi; False: nothing was run.

    None for functions of other kinds: with bools, whose bytes are looked at, with loops that threads share,
    or without just one output. Calls that have no C compiler take it; the checks are those of `tensor.py`.
    It raises what the function itself fails with.
    """
    ports = (*signature.inputs, *signature.outputs)
    if len(signature.outputs) != 1 or entry.set_threads or any(p.dtype.name == "i1" for p in ports):
        return None
    made = ffi()
    layout = Layout(ports)
    free: list[Any] = []
    """Tensors, and their memory to write addresses and to read them; a call that finds none makes its own."""

    def new() -> Any:
        tensors = layout.tensors(())
        return tensors, made.cast("void **", tensors), memoryview(made.buffer(tensors)).cast("L")

    # One array after the other and no loop: a third of the time of a call.
    *inputs, output = range(len(ports))
    numbers = (*inputs, output)
    words = made.sizeof("DLTensor") // struct.calcsize("L")
    known: dict[str, Any] = {
        "array": np.ndarray,
        "any": made.typeof("char[]"),
        "address": made.from_buffer,
        "call": made.cast("int32_t(*)(DLTensor *, int32_t)", entry.address),
        "take": free.pop,
        "give": free.append,
        "new": new,
        "failed": lambda: failure(name, entry),  # keeps the code in memory
    }
    for n, port in enumerate(ports):
        known |= {f"d{n}": np.dtype(port.dtype.numpy), f"s{n}": port.shape}
    fits = " and ".join(
        f"type(a{n}) is array and a{n}.dtype is d{n} and a{n}.shape == s{n}" for n in numbers
    )
    # The address of a row-major array only; the last, the output, has to be one that can be written.
    gets = [f"address(a{n})" for n in inputs] + [f"address(any, a{output}, True)"]
    of_bits: dict[int, list[str]] = {}
    for n, port in enumerate(ports):
        of_bits.setdefault(port.dtype.bits, []).append(f"p{n}")
    unaligned = [f"({' | '.join(each)}) & {bits // 8 - 1}" for bits, each in of_bits.items()]
    size = ports[output].nbytes
    shared = [
        f"{-ports[n].nbytes} < p{n} - p{output} < {size}"
        for n in inputs
        if size and ports[n].nbytes
    ]
    text = _QUICK.format(
        names=", ".join(f"a{n}" for n in numbers),
        fits=fits,
        fill="; ".join(f"put[{n * words}] = {get}" for n, get in enumerate(gets)),
        read="; ".join(f"p{n} = at[{n * words}]" for n in numbers),
        unfit=" or ".join((*unaligned, *shared)),
        count=len(ports),
    )
    exec(text, known)  # names and numbers alone, as a dataclass makes its methods
    # Out of its own globals: in a cycle it would keep the library until garbage is collected.
    return known.pop("quick")


_QUICK = """
def quick(args):
    if len(args) != {count}:
        return False
    {names}, = args
    if not ({fits}):
        return False
    try:
        made = take()
    except IndexError:
        made = new()
    try:
        tensors, put, at = made
        {fill}
        {read}
        if {unfit}:
            return False
        if call(tensors, {count}) == 0:
            return True
    except (ValueError, BufferError):
        return False
    finally:
        give(made)
    raise failed()
"""
