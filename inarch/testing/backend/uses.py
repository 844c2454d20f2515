"""What users do with a compiled module: they call it again, by threads, save it and load it."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from inarch.core.lazy import Array
from inarch.driver.compile import compile as compile_model
from inarch.offload.backend import Instance
from inarch.runtime.module import Module
from inarch.testing.backend.samples import Sample
from inarch.testing.generate.check.room import called

THREADS = 8
CALLS = 5


def compiled(instance: Instance, sample: Sample, **settings: Any) -> Module:
    """A sample, of which the backend has its part."""
    context, module = sample.parse()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile_model(module, context=context, backends=[instance], checked=True, **settings)


def _same(what: str, first: Sequence[Array], other: Sequence[Array]) -> None:
    for number, (one, two) in enumerate(zip(first, other, strict=True)):
        assert one.tobytes() == two.tobytes(), f"output {number} is another one {what}"


def right(instance: Instance, sample: Sample) -> str:
    """It gives what it should."""
    module = compiled(instance, sample)
    for name in sample.functions():
        arrays = sample.inputs(name)
        sample.compare(name, arrays, called(module[name], arrays))
    return f"has {', '.join(sorted(sample.taken)) or 'nothing'}"


def again(instance: Instance, sample: Sample) -> str:
    """Two calls of one module give the same, and so does another compilation."""
    module, other = compiled(instance, sample), compiled(instance, sample)
    for name in sample.functions():
        arrays = sample.inputs(name)
        first = called(module[name], arrays)
        sample.compare(name, arrays, first)
        _same("in the second call", first, called(module[name], arrays))
        _same("when it is compiled again", first, called(other[name], arrays))
    return ""


def saved(instance: Instance, sample: Sample) -> str:
    """What is saved and loaded, or pickled, gives the same."""
    module = compiled(instance, sample)
    loaded = Module.load_from_bytes(module.save_to_bytes())
    pickled: Module = pickle.loads(pickle.dumps(module))
    for name in sample.functions():
        arrays = sample.inputs(name)
        first = called(module[name], arrays)
        _same("after load", first, called(loaded[name], arrays))
        _same("after pickle", first, called(pickled[name], arrays))
    return ""


def threads(instance: Instance, sample: Sample) -> str:
    """Calls of several threads at once give what one gives, also of two modules."""
    modules = [compiled(instance, sample), compiled(instance, sample)]
    for name in sample.functions():
        arrays = sample.inputs(name)
        first = called(modules[0][name], arrays)

        def work(number: int, name: str = name, arrays: Sequence[Array] = arrays) -> list[Array]:
            return called(modules[number % 2][name], arrays)

        with ThreadPoolExecutor(THREADS) as pool:
            for found in pool.map(work, range(THREADS * CALLS)):
                _same(f"among {THREADS} threads", first, found)
    return f"{THREADS} threads"


USES: dict[str, Callable[[Instance, Sample], str]] = {
    "called again": again,
    "saved, loaded, pickled": saved,
    "threads": threads,
}
"""By what is printed."""
