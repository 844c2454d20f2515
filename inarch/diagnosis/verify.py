"""A model against the definitions of its ops: every intermediate value, then the model as it is compiled."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from inarch.core.dtypes import is_float_array
from inarch.core.errors import UsageError, unknown
from inarch.core.lazy import Array, np
from inarch.diagnosis.against import Peer, WrongImport
from inarch.diagnosis.allowed import Taken, expected_values
from inarch.diagnosis.compare import Crash, Difference
from inarch.diagnosis.contained import CrashError
from inarch.diagnosis.dense import dense_values
from inarch.diagnosis.locate import CompiledPart, FaultPlace, compiled_part, own_context
from inarch.diagnosis.network import differing
from inarch.diagnosis.program import Fault, Program, Progress
from inarch.diagnosis.regions.folder import dump_regions, read_region
from inarch.diagnosis.regions.found import partitioned, regions_of, tolerances_of_network
from inarch.diagnosis.regions.tried import RegionVerdict, check_region
from inarch.diagnosis.reproducer import Shown, UnseenError, write_reproducer
from inarch.diagnosis.slices import Slice, apart, cut, main_block, own_name, value_names
from inarch.dialects import new_context
from inarch.driver.compiler import import_model
from inarch.driver.offload import is_wanted
from inarch.driver.options import DEFAULT_HOST, Options
from inarch.ir.target import precision_of
from inarch.passes.schedule.apply_schedule import read_schedule
from inarch.passes.schedule.language.script import asked_of
from inarch.pipeline.rounded import round_factors
from inarch.testing import random_inputs

LEAST_SECONDS = 60.0
DEFINITIONS = 10.0
"""Compiled code that takes longer than this many times the definitions in NumPy, and than `LEAST_SECONDS`,
hangs."""

_NOBODY = "--dump-regions: expected a backend; name one with --backend"

_IMPORTED = (
    "dims", "shapes", "values", "target", "name", "microkernels", "without", "measure",
    "algorithms", "numerics", "precision",
)  # fmt: skip
"""Keywords of a compilation that say what is read."""


@dataclass(frozen=True)
class VerifyOptions:
    """How to verify a model."""

    keywords: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Of `inarch.compile`."""
    inputs: Mapping[str, Array] = field(default_factory=dict[str, Array])
    """By name; those that are missing are drawn."""
    seed: int = 0
    seeds: int = 1
    """How many of them: each op and the outputs are compared with `seed` and with those behind it."""
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
    seeds: int = 1
    unseen: str = ""
    """Why no reproducer is there: what one did instead of failing."""

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
        raise UsageError(_NOBODY)
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
        self.peers = 0
        self.compiled: dict[str, CompiledPart] = {}

    def run(self) -> ModelVerdict:
        keywords, context = dict(self.options.keywords), new_context()
        imported = {key: keywords.pop(key) for key in _IMPORTED if key in keywords}
        imported["host"] = keywords.get("host", DEFAULT_HOST)
        if keywords.get("schedule") is not None:  # parts have its algorithms, without its loops
            file, text = read_schedule(keywords["schedule"])
            asked = [one.selection for one in asked_of(text, file)]
            imported["algorithms"] = [*asked, *imported.get("algorithms", ())]
        self.progress("import", 0, 1)
        module = import_model(self.source, context, **imported)
        if self.options.against and precision_of(module) != "f32":
            raise UsageError(
                f"--against: {self.options.against} does not round factors; leave out --precision"
            )
        round_factors(context, module)
        self.program = Program(module, context, keywords, self.progress)
        self._require_backend()
        self.program.check_bytes()
        regions: tuple[RegionVerdict, ...] = ()
        for seed in range(self.options.seed, self.options.seed + self.options.seeds):
            inputs = self._inputs(seed)
            self.progress("evaluate by definitions", 0, 1)
            begin = time.monotonic()
            values = self.program.evaluate(inputs)
            spent = time.monotonic() - begin
            self.program.seconds = max(LEAST_SECONDS, DEFINITIONS * spent)
            inputs, values = self._with_numbers(inputs, values)
            if (wrong := self._import(inputs)) is not None:
                return self._verdict(wrong)
            if seed == self.options.seed:
                regions = self._regions(inputs)
                if (bad := next((one for one in regions if not one.is_right), None)) is not None:
                    return self._verdict(bad, regions)
            found = self._steps(values) or self._alone(values, seed) or self._as_compiled(values)
            if found is not None:
                return self._verdict(found, regions)
        return self._verdict(None, regions)

    def _require_backend(self) -> None:
        """Raises UsageError where what is asked of the regions of backends would have no effect."""
        if not is_wanted(self.program.module, Options(**self.program.keywords).offload()):
            if self.options.regions_folder is not None:
                raise UsageError(_NOBODY)
            if self.options.tolerances:
                raise UsageError(
                    "--tolerance: expected a backend, whose regions it is of; name one with --backend"
                )

    def _regions(self, inputs: Mapping[str, Array]) -> tuple[RegionVerdict, ...]:
        """Each region of a backend alone; those that are wrong are written as the reproducer."""
        wish, module = Options(**self.program.keywords), self.program.module
        folder, offload = self.options.regions_folder, wish.offload()
        if not is_wanted(module, offload):
            return ()
        self.progress("partition", 0, 1)
        program = module.clone()
        context = own_context(Slice(module, (), ()), self.program.context)
        partitioned(program, context, wish)
        regions = regions_of(program, context, inputs, self.options.tolerances)
        instances = [*offload.asked(), *(one.name for one in offload.others())]
        instances += [region.backend for region in regions]
        for name in self.options.tolerances:
            if name and name not in instances:
                raise unknown("backend", name, set(instances), within="--tolerance")
        if folder is not None:
            dump_regions(folder, regions, context, self.options.load)
        found: list[RegionVerdict] = []
        for number, region in enumerate(regions):
            self.progress(f"check region {region.label}", number, len(regions))
            seconds = self.program.seconds
            found.append(check_region(region, context, wish, self.progress, seconds))
        wrong = [one for one, each in zip(regions, found, strict=True) if not each.is_right]
        if wrong and self.options.reproducer is not None:
            reproducer = self.options.reproducer
            dump_regions(reproducer, wrong, context, self.options.load, shows_fault=True)
        self.program.tolerances = tolerances_of_network(regions)
        return tuple(found)

    def _inputs(self, seed: int) -> dict[str, Array]:
        """Those that are given, and seeded ones for the others. Raises UsageError."""
        module = self.program.module
        arguments = [self.program.names[argument] for argument in main_block(module).args]
        found = dict(zip(arguments, random_inputs(module, seed), strict=True))
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

    def _with_numbers(
        self, inputs: dict[str, Array], values: dict[str, Array]
    ) -> tuple[dict[str, Array], dict[str, Array]]:
        """Inputs and values with less NaN, behind which any fault hides: integers may be masks of 0 and 1."""
        own = {
            name: array
            for name, array in inputs.items()
            if array.dtype.kind in "iu" and name not in self.options.inputs
        }
        for masks in ({k: a % 2 for k, a in own.items()}, {k: a**0 for k, a in own.items()}):
            if not own or not (worst := _unknown(values)):
                break
            others = self.program.evaluate({**inputs, **masks})
            if _unknown(others) < worst:
                inputs, values = {**inputs, **masks}, others
        return inputs, values

    def _import(self, inputs: Mapping[str, Array]) -> WrongImport | None:
        """The first nodes that another program does differently."""
        if self.options.against is None:
            return None
        self.progress(f"run {self.options.against}", 0, 1)
        peer = Peer(self.source, self.program, inputs)
        wrong = peer.wrong_import()
        self.peers = len(peer.values) - len(peer.odd)
        return wrong

    def _compiled(self, part: Slice, key: str) -> CompiledPart:
        """By the host, to give all its values; once for all seeds."""
        if key not in self.compiled:
            self.progress(f"compile {key}", 0, 1)
            program = self.program
            wish = {
                name: value
                for name, value in program.of_host().items()
                if part is program.whole or name != "schedule"  # which names nests of several ops
            }
            self.compiled[key] = compiled_part(
                part, program.context, wish, self.progress, is_whole=part is program.whole
            )
        return self.compiled[key]

    def _steps(self, values: Mapping[str, Array]) -> Fault | None:
        """Each step's values in the program that gives them all, from the values that it had itself."""
        program, keywords = self.program, self.program.of_host()
        try:
            whole = self._compiled(program.whole, "with every value")
            found = {**values, **whole.run(values, program.seconds)}
        except CrashError as error:
            first = Fault(Crash(str(error)), program.whole, values, {}, keywords)
            return program.smallest(values, first, of_network=False)
        for number, step in enumerate(program.steps):
            self.progress(f"check {step.name}", number, len(program.steps))
            part = cut(program.module, [step], every_value=True)
            if (fault := self._fault(part, found, found, whole.taken)) is not None:
                return program.cut_out(step, found, keywords) or fault
        return None

    def _alone(self, values: Mapping[str, Array], seed: int) -> Fault | None:
        """Each step on dense values of its own, all in one program: it has no zeros to hide behind."""
        program = self.program
        part = apart(program.module)
        dense = dense_values(part, program, values, seed)
        try:
            alone = self._compiled(part, "each op alone")
            found = alone.run(dense, program.seconds)
        except CrashError as error:
            return self._crash_alone(values, dense) or Fault(
                Crash(str(error)), part, dense, {}, program.of_host()
            )
        for number, step in enumerate(program.steps):
            self.progress(f"check {step.name} alone", number, len(program.steps))
            one = cut(program.module, [step], every_value=True)
            given = {name: dense[own_name(name, number)] for name in one.takes}
            if (fault := self._fault(one, given, found, alone.taken)) is not None:
                return program.cut_out(step, {**values, **given}, program.of_host()) or fault
        return None

    def _crash_alone(self, values: Mapping[str, Array], dense: Mapping[str, Array]) -> Fault | None:
        """The first step that is wrong as a program of its own on such values."""
        program = self.program
        for number, step in enumerate(program.steps):
            takes = cut(program.module, [step], every_value=True).takes
            given = {**values, **{name: dense[own_name(name, number)] for name in takes}}
            fault = program.fault([step], given, program.of_host(), of_network=False)
            if fault is not None:
                return fault
        return None

    def _fault(
        self,
        part: Slice,
        inputs: Mapping[str, Array],
        found: Mapping[str, Array],
        taken: Taken,
    ) -> Fault | None:
        """Of one step, of which `found` was found."""
        expected = expected_values(part, self.program.context, inputs, taken)
        one = differing(expected, found)
        if one is None:
            return None
        given = {name: inputs[name] for name in part.takes}
        return Fault(one, part, given, expected, self.program.of_host(), found)

    def _as_compiled(self, values: Mapping[str, Array]) -> Fault | None:
        """The outputs of the model as it is compiled; where they differ, of the fewest steps that do."""
        self.progress("compile", 0, 1)
        return self.program.fault_of_outputs(values, self.program.of_parts())

    def _verdict(
        self,
        found: Fault | WrongImport | RegionVerdict | None,
        regions: tuple[RegionVerdict, ...] = (),
    ) -> ModelVerdict:
        verdict = ModelVerdict(
            len(self.program.steps),
            len(self.program.whole.gives),
            self.peers,
            regions=regions,
            seeds=self.options.seeds,
        )
        folder = self.options.reproducer
        if found is None:
            return verdict
        verdict = replace(verdict, steps=0, difference=found.difference)
        if isinstance(found, RegionVerdict):
            return replace(verdict, place=place_of_region(found), reproducer=folder)
        place = found.place if isinstance(found, WrongImport) else self.program.locate(found)
        verdict = replace(verdict, place=place)
        if folder is None:
            return verdict
        try:
            write_reproducer(folder, self._shown(found, place), self.program.context)
        except UnseenError as error:
            return replace(verdict, unseen=str(error))
        return replace(verdict, reproducer=folder)

    def _shown(self, found: Fault | WrongImport, place: FaultPlace) -> Shown:
        """Of an import the nodes; else a part of the program."""
        summary = place.text.replace(str(self.source), self.source.name)
        expected = found.expected
        if isinstance(found, Fault) and not expected:  # of a crash
            expected = expected_values(found.part, self.program.context, found.inputs)
        names = found.part.gives if isinstance(found, Fault) else tuple(expected)
        return Shown(
            found.part if isinstance(found, Fault) else found.model,
            found.inputs,
            {name: expected[name].center for name in names},
            {name: expected[name].bound for name in names},
            summary,
            found.keywords if isinstance(found, Fault) else {},
            self.options.load,
            self.program.seconds,
        )


def _unknown(values: Mapping[str, Array]) -> int:
    """How many values are NaN in some element."""
    return sum(bool(np.isnan(each).any()) for each in values.values() if is_float_array(each.dtype))
