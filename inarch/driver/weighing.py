"""What partitioning is told of costs: the host's estimates and, where that is asked for, what regions take.

A region is measured alone: its ops as a program of their own, once by the host and once by its backend, each
compiled and called for a short while on random inputs. What was found is kept in the user's cache by region
(constants with their bytes), instance, version and files of the backend, target, machine, threads, and all
files of Inarch.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import DenseResourceAttr, IntegerAttr, ModuleOp
from xdsl.dialects.func import ReturnOp

from inarch.core.cache import Cache, default_cache, key_of
from inarch.core.errors import InarchError
from inarch.core.once import cached_property
from inarch.core.scratch import scratch
from inarch.dialects import new_context
from inarch.dialects.graph.constant import ConstantOp
from inarch.driver.host import find_host
from inarch.driver.keep.sources import running
from inarch.driver.offloaded.emission import code_of
from inarch.driver.options import DEFAULT_HOST, Options
from inarch.ir.context import store_of
from inarch.ir.report.facts import facts_of
from inarch.ir.target import target_of
from inarch.ir.text import print_module
from inarch.machine.find import this_machine
from inarch.offload.instance import Asked
from inarch.offload.region import Region
from inarch.passes.partition.common import REGION, tensor_blocks
from inarch.passes.partition.cut.alone import alone
from inarch.passes.partition.cut.rewrite import strip
from inarch.passes.partition.decide.cost import Measuring
from inarch.passes.partition.decide.draft import HostEstimate
from inarch.passes.partition.decide.release import release
from inarch.passes.partition.partition import partition
from inarch.pipeline.default import default_pipeline

SECONDS = 0.02
"""For how long each side is called, at least `LEAST_CALLS` times; the fastest call counts."""
LEAST_CALLS = 3
_SEED = 0

Build = Callable[..., object]
"""Compiles a program into a file: `build` of `inarch.driver.compiler`."""


def prepare_weighing(
    context: Context, host: str = DEFAULT_HOST, *, measure: Build | None = None
) -> None:
    """Tells the passes on `context` what the host estimates, and how regions are built to be measured.

    Without `measure` they are estimated.
    """
    facts = facts_of(context)
    facts.put(HostEstimate(find_host(host).estimate))
    facts.take(Measuring)
    if measure is not None:
        facts.put(Measuring(Meter(context, measure, host)))


@dataclass(frozen=True)
class Meter:
    """Runs a region on both sides."""

    context: Context
    build: Build
    host: str = DEFAULT_HOST

    def __call__(self, region: Region, asked: Asked) -> tuple[float, float] | str:
        """Seconds a call on the backend and on the host; or why it cannot be measured."""
        module = region.ops[0].get_toplevel_object()
        assert isinstance(module, ModuleOp), "it is of a program"
        if missing := target_of(module).missing_here():
            return f"this computer lacks {', '.join(missing)}"
        try:
            status = asked.backend.status()
        except Exception as error:  # noqa: BLE001 - a plugin's code may fail in any way
            status = f"status raises {type(error).__name__}: {error}"
        if status != "ready":
            return status
        both = _Both(self, module, region, asked)
        key = both.key
        if key is not None and (known := self._cache.get(key)) is not None:
            seconds, host_seconds = json.loads(known)
            return seconds, host_seconds
        try:
            found = both.run()
        except InarchError as error:
            return str(error)
        if key is not None:
            self._cache.put(key, json.dumps(found).encode())
        return found

    @property
    def _cache(self) -> Cache:
        return default_cache()


@dataclass(frozen=True)
class _Both:
    """One region, to be run by its backend and by the host."""

    meter: Meter
    module: ModuleOp
    region: Region
    asked: Asked

    @cached_property
    def key(self) -> str | None:
        """What the seconds depend on; None where not all of it is known."""
        files = running()
        if files is None or not (code := code_of(self.asked)):
            return None
        program = alone(self.module, self.region.ops)
        store = store_of(self.meter.context)
        bytes_of = [bytes(store.get(key)) for key in _keys(program)]
        said = (
            print_module(program),
            str(self.asked.instance),
            self.asked.backend.version,
            code,
            repr(this_machine()),
            self.meter.host,
            files,
        )
        return key_of("region seconds", *said, *bytes_of)

    def run(self) -> tuple[float, float]:
        """Seconds of a call on the backend and on the host. Raises InarchError."""
        return self._seconds(is_offloaded=True), self._seconds(is_offloaded=False)

    def _seconds(self, *, is_offloaded: bool) -> float:
        from inarch.definitions.execute import random_inputs  # not where nothing is measured
        from inarch.runtime.module import load

        context, program = new_context(), alone(self.module, self.region.ops)
        store, own = store_of(self.meter.context), store_of(context)
        for key in _keys(program):
            own.set(key, store.get(key))
        ((_, block),) = tensor_blocks(program)
        for op in list(block.ops):
            if isinstance(op, ConstantOp | ReturnOp):
                continue
            if is_offloaded:
                op.attributes[REGION] = IntegerAttr(0, 64)
            else:
                for inner in release(op):
                    strip(inner)  # of what a person wrote, too
        pipeline = find_host(self.meter.host).lower(default_pipeline()).closed()
        if is_offloaded:
            partition(context, program)
            pipeline = pipeline.since("emit-offloaded")
        else:
            pipeline = pipeline.without("offload")
        inputs = random_inputs(program, _SEED)
        options = Options(host=self.meter.host, pipeline=pipeline)
        with scratch("inarch-weighing-") as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the whole they are given
            path = folder / "region.inarch"
            self.meter.build(program, path, options, context=context)
            return _fastest(load(path), inputs)


def _fastest(module: Any, inputs: Sequence[Any]) -> float:
    """The seconds of the fastest call, after one that does not count."""
    module(*inputs)
    found: list[float] = []
    end = time.perf_counter() + SECONDS
    while len(found) < LEAST_CALLS or time.perf_counter() < end:
        start = time.perf_counter()
        module(*inputs)
        found.append(time.perf_counter() - start)
    return min(found)


def _keys(program: ModuleOp) -> list[str]:
    """The constants of which the bytes are in the store."""
    values = (each for op in program.walk() for each in op.properties.values())
    return [each.resource_handle.data for each in values if isinstance(each, DenseResourceAttr)]
