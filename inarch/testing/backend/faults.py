"""Faults put into a backend where others call it: each is an error of its own, and harms nothing after it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from inarch.core.errors import InarchError
from inarch.core.lazy import Array
from inarch.offload.backend import Emission, EmitRequest, Instance
from inarch.runtime.function import Function
from inarch.runtime.loaders import LOADERS, Loader
from inarch.runtime.module import Module
from inarch.testing.backend.native_parts import read_apart
from inarch.testing.backend.samples import Sample, SkipCheck
from inarch.testing.backend.uses import called, compiled

BOOM = "a fault of the test kit"


@contextmanager
def _instead(thing: object, name: str, value: object) -> Generator[None]:
    """`thing.name` is `value` within the block; both are frozen, and the process's own."""
    own = vars(thing).get(name)
    object.__setattr__(thing, name, value)
    try:
        yield
    finally:
        if own is None:
            object.__delattr__(thing, name)
        else:
            object.__setattr__(thing, name, own)


def in_emit(instance: Instance, sample: Sample) -> str:
    """`emit` that raises, gives nothing, forgets or invents a symbol: an error that names the backend."""
    emit = instance.backend.emit

    def raises(_: EmitRequest) -> Emission:
        raise RuntimeError(BOOM)

    faults: dict[str, Callable[[EmitRequest], Any]] = {
        "raises": raises,
        "gives nothing": lambda request: emit(request) and None,
        "forgets a symbol": lambda request: replace(
            emit(request), symbols=emit(request).symbols[:-1]
        ),
        "names one too many": lambda request: replace(
            emit(request), symbols=(*emit(request).symbols, "inarch_no_such")
        ),
        "has no content": lambda request: replace(emit(request), text="", data=b""),
    }
    for name, fault in faults.items():
        with _instead(instance.backend, "emit", fault):
            message = _error_of(lambda: compiled(instance, sample))
        said = f"backend '{instance.name}'"
        if message is None:
            # Without content a format of its own may have functions all the same.
            assert name == "has no content", f"emit that {name}: expected an error"
        else:
            assert said in message, f"emit that {name}: expected {said} in '{message}'"
    again = compiled(instance, sample)
    for function in sample.functions():
        arrays = sample.inputs(function)
        sample.compare(function, arrays, called(again[function], arrays))
    return f"{len(faults)} faults"


def _error_of(work: Callable[[], object]) -> str | None:
    """The message of the InarchError that it raises; None: it does not."""
    try:
        work()
    except InarchError as error:
        return str(error)
    return None


def damaged(instance: Instance, sample: Sample) -> str:
    """The loader reads bytes that are cut or changed, or raises an InarchError; nothing else.

    One in C says so by its status, in a process of its own.
    """
    count = 0
    for loader, part in _parts(instance, sample):
        data = part.save_to_bytes()
        step = max(1, len(data) // 40)
        cut = [data[:at] for at in range(0, len(data), step)]
        changed = [
            data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]
            for at in range(0, len(data), step)
        ]
        count += len(cut) + len(changed)
        if loader.library is not None:
            read_apart(loader.library, part.type_key, [*cut, *changed])
            continue
        for bad in (*cut, *changed):
            try:
                loader.from_bytes(bad, "damaged")
            except InarchError:
                continue
            except Exception as error:
                kind = type(error).__name__
                raise AssertionError(
                    f"loader '{part.type_key}' raises {kind}: {error}, of {len(bad)} bytes that are damaged; "
                    "expected an InarchError"
                ) from error
    return f"{count} damaged parts"


def in_calls(instance: Instance, sample: Sample) -> str:
    """Each call of the device fails once: an error of the call, or the host's result; the next is right."""
    loaders = [loader for loader, _ in _parts(instance, sample)]
    if any(loader.library is not None for loader in loaders):
        raise SkipCheck(
            "its loader is in C, and failing calls are put into loaders in Python: give it devices that fail "
            "in a program that calls its table (inarch_loader.h)"
        )
    failing: list[int] = []
    calls = [0]

    def faulty(function: Function) -> Function:
        def invoke(arrays: Sequence[Array]) -> None:
            calls[0] += 1
            if calls[0] in failing:
                raise RuntimeError(BOOM)
            count = len(function.signature.inputs)
            function(*arrays[:count], out=list(arrays[count:]))

        return Function(function.name, function.signature, invoke)

    def opened(loader: Loader) -> Callable[[bytes, str], Module]:
        own = loader.from_bytes

        def from_bytes(data: bytes, name: str) -> Module:
            module = own(data, name)
            functions = {key: faulty(one) for key, one in module.functions.items()}
            return Module(module.type_key, name, functions, content=data)

        return from_bytes

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the host runs it
        with _instead(loaders[0], "from_bytes", opened(loaders[0])):
            strict, mild = compiled(instance, sample), compiled(instance, sample, fallback="host")
        tried = 0
        for name in sample.functions():
            arrays = sample.inputs(name)
            calls[0], failing[:] = 0, []
            called(strict[name], arrays)
            for number in range(1, calls[0] + 1):
                tried += 1
                calls[0], failing[:] = 0, [number]
                message = _error_of(lambda name=name, arrays=arrays: called(strict[name], arrays))
                assert message is not None, f"call {number} failed, and nobody said so"
                assert BOOM in message, f"call {number}: expected '{BOOM}', found '{message}'"
                failing.clear()
                sample.compare(name, arrays, called(strict[name], arrays))
                calls[0], failing[:] = 0, [number]
                sample.compare(name, arrays, called(mild[name], arrays))
    return f"{tried} calls"


def _parts(instance: Instance, sample: Sample) -> list[tuple[Loader, Module]]:
    """The parts of the backend's own format, with their loaders. Raises SkipCheck where there are none."""
    module = compiled(instance, sample)
    found = [(LOADERS[part.type_key], part) for part in module.imports if part.type_key in LOADERS]
    if not found:
        raise SkipCheck("it emits C, which no loader of its own runs")
    return found


FAULTS: dict[str, Callable[[Instance, Sample], str]] = {
    "faults in emit": in_emit,
    "damaged parts": damaged,
    "faults in calls": in_calls,
}
"""By what is printed."""
