"""The process of a job: compiles each variant of the model, and times what each is made of, by turns.

python -m inarch.tuning.runner JOB RESULT
"""

from __future__ import annotations

import json
import os
import pickle
import resource
import shutil
import signal
import sys
import time
import warnings
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any

from inarch.benchmark.harness import Harness, aligned
from inarch.benchmark.model import random_array
from inarch.benchmark.subject.steps import Step, split_steps
from inarch.core.errors import InarchError
from inarch.core.lazy import Array, np
from inarch.core.outside.regular import is_inside
from inarch.core.plugins import load_file
from inarch.core.rounding import WAYS, relative
from inarch.dialects import new_context
from inarch.driver.compiler import import_model, lower
from inarch.driver.extensions import kinds
from inarch.driver.keep.records import compiler_name
from inarch.driver.options import Options
from inarch.ir.report.facts import facts_of
from inarch.machine.find import cpu_name, find_machine
from inarch.machine.target import native, parse
from inarch.passes.tuned import Tuned
from inarch.tuning.executor import EXECUTORS
from inarch.tuning.job import MEGABYTES, PATIENCE_SECONDS, Job, Ways
from inarch.tuning.outcome import COMPILING, IMPORT, LOWERING, MEASURING
from inarch.tuning.version import version

ASLEEP = 0.001
"""Seconds in which the threads of one variant stop waiting awake, before another variant is measured."""


@dataclass
class _Variant:
    """A compiled variant, and the least seconds of each step so far."""

    steps: tuple[Step, ...]
    entries: list[Any]
    memory: tuple[Any, Any, Any]
    buffers: list[Array]
    held: list[Array]
    least: list[float]


class _Clock:
    """Seconds so far, by activity."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}

    @contextmanager
    def of(self, what: str) -> Generator[None]:
        """Counts the seconds of a block."""
        begun = time.monotonic()
        try:
            yield
        finally:
            self.spent[what] = self.spent.get(what, 0.0) + time.monotonic() - begun


def main(given: str, found: str) -> int:
    """Does the job in one file, and writes what came of it into another."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # compilers are stopped by it
    folder, alone = Path(given).parent, Event()
    Thread(target=_end_with_parent, args=(folder, alone), daemon=True).start()
    try:
        job: Job = pickle.loads(Path(given).read_bytes())
        Path(found).write_text(json.dumps(_done(job)))
    finally:
        if alone.is_set():
            shutil.rmtree(folder, ignore_errors=True)
    return 0


def _end_with_parent(folder: Path, alone: Event) -> None:
    """Whoever has started this holds the other end of its input: where nobody does, nobody waits for it."""
    while os.read(0, 1):
        pass
    alone.set()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(PATIENCE_SECONDS)
    shutil.rmtree(folder, ignore_errors=True)
    os.killpg(0, signal.SIGKILL)


def _done(job: Job) -> dict[str, Any]:
    if job.version != version():
        return {"error": f"the worker has Inarch {version()}, the tuner {job.version}; install one"}
    if job.megabytes:
        limit = job.megabytes * MEGABYTES
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    warnings.simplefilter("ignore")
    if outside := [name for name in job.files if not is_inside(name)]:
        return {"error": f"expected files of the job in its folder, found '{outside[0]}'"}
    for name, data in job.files.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    try:
        for name in job.loads:
            load_file(Path(name), {**kinds(), "executors": EXECUTORS})
        options = _options(job)
        target = native() if options.target == "native" else parse(options.target)
        harness = Harness(target, options.host, threads=job.threads)
    except InarchError as error:
        return {"error": str(error)}
    variants: list[_Variant | None] = []
    errors: list[str] = []
    clock = _Clock()
    for ways in job.variants:
        try:
            variants.append(_compiled(Path(job.model), options, ways, harness, clock))
            errors.append("")
        except (InarchError, MemoryError) as error:
            variants.append(None)
            errors.append(str(error) or type(error).__name__)
    _check(variants, errors)
    sound = [one for one in variants if one is not None]
    with clock.of(MEASURING):
        for _ in range(job.rounds):
            for one in sound:
                _time(one, harness)
                if job.threads > 1:
                    time.sleep(ASLEEP)
    times = [None if one is None else _by_place(one) for one in variants]
    found = {"cpu": cpu_name(), "compiler": compiler_name(), "times": times, "errors": errors}
    return {**found, "spent": clock.spent}


def _options(job: Job) -> Options:
    given = dict(job.options)
    if given.get("machine") is not None:
        given["machine"] = find_machine(given["machine"])
    return Options(**given)


def _compiled(
    path: Path, options: Options, ways: Ways, harness: Harness, clock: _Clock
) -> _Variant:
    context = new_context()
    with clock.of(IMPORT):
        module = import_model(path, context, options)
    tuned = Tuned(ways, "the job")
    facts_of(context).put(tuned)
    with clock.of(LOWERING):
        lower(context, module, "kernel", pipeline=options.passes())
        if tuned.refused:
            raise InarchError(next(iter(tuned.refused.values())))
        steps = tuple(split_steps(module))
    with clock.of(COMPILING):
        made, library = harness.native(context, module)
    entries = [getattr(library, made.symbols[step.function]) for step in steps]
    main_entry = made.entries["main"]
    buffers = [aligned(random_array(port.shape, port.dtype.numpy)) for port in main_entry.ports]
    weights = aligned(np.frombuffer(made.weights, np.uint8))
    workspace = aligned(np.zeros(main_entry.workspace_bytes, np.uint8))
    memory = (harness.pointers(buffers), harness.pointer(weights), harness.pointer(workspace))
    one = _Variant(steps, entries, memory, buffers, [weights, workspace], [])
    with clock.of(MEASURING):
        _time(one, harness)
    one.least = [float("inf")] * len(steps)  # the first run does not count
    return one


def _time(one: _Variant, harness: Harness) -> None:
    found = [ns * 1e-9 for ns in harness.sequence_ns(one.entries, *one.memory)]
    one.least = [*map(min, one.least, found)] if one.least else found


def _check(variants: list[_Variant | None], errors: list[str]) -> None:
    """Takes out variants that compute something else than the first one does."""
    first = variants[0] if variants else None
    if first is None:
        return
    for at, one in enumerate(variants[1:], 1):
        if one is None:
            continue
        for own, theirs in zip(one.buffers, first.buffers, strict=True):
            if not relative(theirs, own) <= WAYS:
                errors[at], variants[at] = "it computes something else", None
                break


def _by_place(one: _Variant) -> Mapping[str, float]:
    found: dict[str, float] = {}
    for step, seconds in zip(one.steps, one.least, strict=True):
        found[step.where] = found.get(step.where, 0.0) + seconds
    return found


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
