"""A model against the definitions of its ops: every intermediate value, then the model as it is compiled."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from xdsl.ir import Operation

from inarch.core.errors import UsageError, unknown
from inarch.core.lazy import Array, np
from inarch.diagnosis.against import peer_values
from inarch.diagnosis.allowed import expected_of
from inarch.diagnosis.compare import Crash, Difference, difference, first_difference
from inarch.diagnosis.contained import CrashError
from inarch.diagnosis.locate import FaultPlace, failing_part, own_context, place_of, run_part
from inarch.diagnosis.regions import (
    RegionVerdict,
    check_region,
    dump_regions,
    partitioned,
    read_region,
    regions_of,
)
from inarch.diagnosis.reproducer import write_reproducer
from inarch.diagnosis.slices import Slice, cut, main_block, steps, value_names
from inarch.dialects import new_context
from inarch.driver.compiler import import_model
from inarch.driver.offload import is_wanted
from inarch.driver.options import DEFAULT_HOST, Options
from inarch.ir.location import location_text
from inarch.passes.tolerance import Tolerance
from inarch.testing import execute, random_inputs

WHOLE = 1e-4
"""Of a value's largest magnitude: how far two evaluations of a whole network may be apart.

Rounding is amplified from layer to layer by what the network is, not by how it is compiled; step by step,
where a bound can be had, it is used.
"""

LEAST_SECONDS = 60.0
DEFINITIONS = 10.0
"""Compiled code that takes longer than this many times the definitions in NumPy, and than `LEAST_SECONDS`,
hangs."""

NOBODY = "--dump-regions: expected a backend; name one with --backend"

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class VerifyOptions:
    """How to verify a model."""

    keywords: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Of `inarch.compile`."""
    inputs: Mapping[str, Array] = field(default_factory=dict[str, Array])
    """By name; those that are missing are drawn."""
    seed: int = 0
    against: str | None = None
    reproducer: Path | None = None
    """The folder to write when something differs."""
    load: Sequence[Path] = ()
    """Files of `--load`, for the reproducer."""
    tolerances: Mapping[str, str] = field(default_factory=dict[str, str])
    """Of regions, in place of what backends declare: `snr=20` by the name of an instance; `""` is for all."""
    regions_folder: Path | None = None
    """Where to write every region of a backend as a folder that `inarch verify` runs again."""


@dataclass(frozen=True)
class ModelVerdict:
    """What was compared, and the first fault, if there is one."""

    steps: int
    values: int
    peer_values: int
    difference: Difference | Crash | None = None
    place: FaultPlace | None = None
    reproducer: Path | None = None
    regions: tuple[RegionVerdict, ...] = ()
    """Of backends, each alone, on what enters it in the model."""

    @property
    def is_right(self) -> bool:
        """Whether nothing differs, crashes, or fails."""
        return self.difference is None and self.place is None


def verify_model(
    source: Path | str, options: VerifyOptions | None = None, *, progress: Progress | None = None
) -> ModelVerdict:
    """Compares the values of a model's @main on one set of inputs, in stages, until something differs.

    The import with another program's values (`against`); each region of a backend alone, by its tolerance;
    every step, compiled by the host to give its value, with its definition on the very values that entered
    it, within bounds; the outputs of the model as it is compiled. Compiled code runs in processes of its own,
    so that its crash is a fault like others.
    Raises InarchError as `inarch.compile` does.
    """
    return _Check(Path(source), options or VerifyOptions(), progress or _nobody).run()


def verify_region(
    folder: Path | str, options: VerifyOptions | None = None, *, progress: Progress | None = None
) -> ModelVerdict:
    """Runs a region again that `dump_regions` wrote; raises InarchError for a folder that is damaged."""
    chosen, context = options or VerifyOptions(), new_context()
    wish = Options(**chosen.keywords)
    region = read_region(Path(folder), context, wish, chosen.tolerances)
    found = check_region(region, context, wish, progress or _nobody, LEAST_SECONDS)
    return ModelVerdict(0, 0, 0, found.difference, place_of_region(found), None, (found,))


def write_regions(
    source: Path | str, folder: Path, options: Options, *, seed: int = 0, load: Sequence[Path] = ()
) -> list[Path]:
    """Writes each region that backends have of a model as a folder of `folder`, on seeded random inputs.

    What enters a region is computed by the definitions of the ops before it. Raises UsageError where no
    backend is asked, EnvironmentFault for a folder that exists or cannot be written.
    """
    context = new_context()
    module = import_model(source, context, options)
    if not is_wanted(module, options.offload()):
        raise UsageError(NOBODY)
    names = value_names(module)
    arguments = [names[argument] for argument in main_block(module).args]
    inputs = dict(zip(arguments, random_inputs(module, seed), strict=True))
    partitioned(module, context, options)
    return dump_regions(folder, regions_of(module, context, inputs), context, load)


def place_of_region(found: RegionVerdict) -> FaultPlace | None:
    """What is at fault in a region; None where it is right."""
    if found.is_right:
        return None
    steps = found.suspects or found.ops
    return FaultPlace("region", steps, function=found.region, backend=found.backend)


def _nobody(what: str, done: int, total: int) -> None:
    """Nobody is looking."""


class _Check:
    def __init__(self, source: Path, options: VerifyOptions, progress: Progress) -> None:
        self.source = source
        self.options = options
        self.progress = progress
        self.context = new_context()

    def run(self) -> ModelVerdict:
        keywords = dict(self.options.keywords)
        named = ("dims", "shapes", "target", "name", "microkernels", "without", "measure")
        imported = {key: keywords.pop(key) for key in named if key in keywords}
        self.host = keywords.get("host", DEFAULT_HOST)
        imported["host"] = self.host
        self.progress("import", 0, 1)
        self.module = import_model(self.source, self.context, **imported)
        self.names = value_names(self.module)
        self.keywords = keywords
        self.steps = steps(self.module)
        self.whole = cut(self.module, 0, len(self.steps), every_value=True)
        inputs = self._inputs()
        self.progress("evaluate by definitions", 0, 1)
        given = [inputs[name] for name in self.whole.takes]
        begin = time.monotonic()
        values = execute(self.whole.module, given, self.context)
        self.seconds = max(LEAST_SECONDS, DEFINITIONS * (time.monotonic() - begin))
        self.values = {**inputs, **dict(zip(self.whole.gives, values, strict=True))}
        self.tolerances: list[Tolerance] = []
        peers = 0
        if self.options.against is not None:
            self.progress(f"run {self.options.against}", 0, 1)
            peer = peer_values(self.source, inputs)
            peers = len(peer.keys() & set(self.whole.gives))
            if (found := self._import(peer)) is not None:
                return self._verdict(0, peers, found)
        regions = self._regions(inputs)
        wrong = next((one for one in regions if not one.is_right), None)
        if wrong is not None:
            place, written = place_of_region(wrong), self.options.reproducer
            return ModelVerdict(
                0, len(self.whole.gives), peers, wrong.difference, place, written, regions
            )
        count, found = self._every_step(inputs)
        return self._verdict(count, peers, found or self._as_compiled(), regions)

    def _regions(self, inputs: Mapping[str, Array]) -> tuple[RegionVerdict, ...]:
        """Each region of a backend alone; those that are wrong are written as the reproducer."""
        wish = Options(**self.keywords)
        folder = self.options.regions_folder
        if not is_wanted(self.module, wish.offload()):
            if folder is not None:
                raise UsageError(NOBODY)
            return ()
        self.progress("partition", 0, 1)
        program = self.module.clone()
        context = own_context(Slice(self.module, (), ()), self.context)
        partitioned(program, context, wish)
        regions = regions_of(program, context, inputs, self.options.tolerances)
        if folder is not None:
            dump_regions(folder, regions, context, self.options.load)
        found: list[RegionVerdict] = []
        for number, region in enumerate(regions):
            self.progress(f"check region {region.label}", number, len(regions))
            found.append(check_region(region, context, wish, self.progress, self.seconds))
        wrong = [one for one, each in zip(regions, found, strict=True) if not each.is_right]
        if wrong and self.options.reproducer is not None:
            dump_regions(self.options.reproducer, wrong, context, self.options.load)
        declared = [one.tolerance for one in regions if one.is_declared]
        self.tolerances = list(dict.fromkeys(declared))
        return tuple(found)

    def _inputs(self) -> dict[str, Array]:
        """Those that are given, and seeded ones for the others. Raises UsageError."""
        block, names = main_block(self.module), value_names(self.module)
        arguments = [names[argument] for argument in block.args]
        drawn = random_inputs(self.module, self.options.seed)
        found = dict(zip(arguments, drawn, strict=True))
        for name, array in self.options.inputs.items():
            if name not in found:
                raise unknown("input", name, found)
            wanted = found[name]
            if (array.shape, array.dtype) != (wanted.shape, wanted.dtype):
                raise UsageError(
                    f"--input: expected '{name}' of shape {wanted.shape} and dtype {wanted.dtype}, "
                    f"found {array.shape} and {array.dtype}"
                )
            found[name] = array
        return found

    def _import(self, peer: Mapping[str, Array]) -> _Found | None:
        """The first value that another program has differently. Its name says which node."""
        for number, step in enumerate(self.steps):
            for name in self._names_of(step):
                if name not in peer or peer[name].shape != self.values[name].shape:
                    continue
                wanted = np.asarray(peer[name])
                found = difference(name, wanted, self.values[name], _whole(wanted))
                if found is not None:
                    place = FaultPlace("import", (self._place_of(step),))
                    part = cut(self.module, number, number + 1)
                    return _Found(found, place, part, {name: wanted}, {name: _whole(wanted)})
        return None

    def _every_step(self, inputs: Mapping[str, Array]) -> tuple[int, _Found | None]:
        """Each step's values in the program that gives them all, from the values that it had itself."""
        self.progress("compile with every value", 0, 1)
        try:
            values = {**inputs, **self._run(self.whole, self._by_host())}
        except CrashError as error:
            return 0, self._fewest(Crash(str(error)), every_value=True)
        for number, step in enumerate(self.steps):
            self.progress(f"check {step.name}", number, len(self.steps))
            part = cut(self.module, number, number + 1, every_value=True)
            entering = [values[name] for name in part.takes]
            known = expected_of(part, step, self.context, entering)
            expected = {name: value for name, (value, _) in zip(part.gives, known, strict=True)}
            allowed = {name: bound for name, (_, bound) in zip(part.gives, known, strict=True)}
            found = first_difference(expected, values, allowed)
            if found is not None:
                place = self._locate(part, values)
                return number, _Found(found, place, part, expected, allowed, values)
        return len(self.steps), None

    def _as_compiled(self) -> _Found | None:
        """The outputs of the model as it is compiled; where they differ, of the fewest steps that do."""
        self.progress("compile", 0, 1)
        fault = self._fault(0, len(self.steps))
        return self._fewest(fault) if fault is not None else None

    def _by_host(self) -> Mapping[str, Any]:
        """How steps are compiled: regions have been compared; with all values given they would be others."""
        offloaded = ("backends", "backend_options", "give", "keep", "require_offload")
        return {key: value for key, value in self.keywords.items() if key not in offloaded}

    def _fewest(self, fault: Difference | Crash, *, every_value: bool = False) -> _Found:
        """The fault of all steps together, in the fewest of them that have one."""
        count = len(self.steps)

        def is_wrong(first: int, last: int) -> bool:
            return self._fault(first, last, every_value=every_value) is not None

        first, last = failing_part(count, is_wrong)
        found = self._fault(first, last, every_value=every_value)
        if found is None:  # it depends on more than the inputs: what was seen stands
            first, last, found = 0, count, fault
        part = cut(self.module, first, last, every_value=every_value)
        expected = {name: self.values[name] for name in part.gives}
        allowed = {name: _whole(value) for name, value in expected.items()}
        return _Found(found, self._locate(part, self.values), part, expected, allowed)

    def _fault(
        self, first: int, last: int, *, every_value: bool = False
    ) -> Difference | Crash | None:
        self.progress(f"compile steps {first} to {last}", 0, 1)
        part = cut(self.module, first, last, every_value=every_value)
        try:
            found = self._run(part)
        except CrashError as error:
            return Crash(str(error))
        expected = {
            name: self.values[name]
            for name in part.gives
            if not self._is_near(self.values[name], found[name])
        }
        allowed = {name: _whole(value) for name, value in expected.items()}
        return first_difference(expected, found, allowed)

    def _is_near(self, expected: Array, found: Array) -> bool:
        """Whether a value is as near as one of the backends that have a part of the model declares."""
        return any(one.allows(one.measure(expected, found)) for one in self.tolerances)

    def _run(self, part: Slice, keywords: Mapping[str, Any] | None = None) -> dict[str, Array]:
        """What a part gives as it is compiled, of the values that the definitions give. Raises CrashError."""
        wish = self.keywords if keywords is None else keywords
        return run_part(part, self.context, self.values, wish, self.progress, self.seconds)

    def _locate(self, part: Slice, values: Mapping[str, Array]) -> FaultPlace:
        inside = tuple(self._place_of(step) for step in steps(part.module))
        # Of the whole program, on the host: what backends make of their parts is no pass's fault.
        wish = {
            key: self.keywords[key]
            for key in ("host", "pipeline", "places")
            if key in self.keywords
        }
        return place_of(
            part, self.context, values, inside, self.progress, self.seconds, Options(**wish)
        )

    def _names_of(self, step: Operation) -> list[str]:
        return [self.names[result] for result in step.results]

    def _place_of(self, step: Operation) -> str:
        return f"{step.name} at {location_text(step) or step.results[0].name_hint}"

    def _verdict(
        self,
        count: int,
        peers: int,
        found: _Found | None,
        regions: tuple[RegionVerdict, ...] = (),
    ) -> ModelVerdict:
        values = len(self.whole.gives)
        if found is None:
            return ModelVerdict(count, values, peers, regions=regions)
        folder = self.options.reproducer
        if folder is not None:
            source = found.values if found.values is not None else self.values
            write_reproducer(
                folder,
                found.part,
                self.context,
                {name: source[name] for name in found.part.takes},
                found.expected,
                found.allowed,
                summary=found.place.text,
                keywords=self.keywords,
                load=self.options.load,
                seconds=self.seconds,
            )
        return ModelVerdict(count, values, peers, found.difference, found.place, folder, regions)


@dataclass(frozen=True)
class _Found:
    """A fault, and what shows it."""

    difference: Difference | Crash
    place: FaultPlace
    part: Slice
    expected: Mapping[str, Array]
    allowed: Mapping[str, Array]
    values: Mapping[str, Array] | None = None
    """What entered the part, where it is not what the definitions give."""


def _whole(value: Array) -> Array:
    """The allowed difference of a value of the whole network; integers are exact."""
    if value.dtype.kind != "f":
        return np.zeros(())
    finite = np.abs(value[np.isfinite(value)])
    return np.asarray(WHOLE * float(finite.max(initial=0.0)))
