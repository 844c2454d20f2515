"""What can be tuned of a model: choices of passes, and loop nests, with the ways that are worth measuring.

Passes are in the order of the pipeline: what one chooses, later ones see.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from inarch.dialects import new_context
from inarch.dialects.loop.nest import NestOp
from inarch.driver.compiler import import_model
from inarch.driver.host import find_host
from inarch.driver.options import Options
from inarch.ir.functions import entry_blocks
from inarch.ir.location import JOINED, parts_of
from inarch.ir.report.facts import facts_of
from inarch.ir.target import machine_of, target_of
from inarch.machine.machine import Machine
from inarch.microkernel.identity import identity_of
from inarch.passes.tensorize.choose import Chooser, KernelTrial, chooser_of
from inarch.passes.tensorize.keep.memo import nest_text
from inarch.passes.tensorize.keep.record import way_of
from inarch.passes.tensorize.report import KernelReport
from inarch.passes.tensorize.unify.strided import StridedNest, strided_nest
from inarch.passes.tensorize.unsuitable import unsuitable
from inarch.passes.tensorize.weigh.candidates import Candidate
from inarch.passes.tensorize.weigh.search import candidates, sweep
from inarch.passes.tuned import Point, Tuned, TunedWay, address_of
from inarch.pipeline.manager import Instrument, Step, run_pipeline

NESTS = "tensorize"
"""The pass that decides how nests are done."""
FAR = 1.5
"""Ways that cost so many times what the best one does are not measured: the model errs less."""


@dataclass(frozen=True)
class Tunable:
    """A nest, or a choice of a pass: first how it is without records, then other ways, the cheapest first."""

    address: str
    nest: str
    ways: tuple[TunedWay, ...]


@dataclass(frozen=True)
class Space:
    """What one pass decides. Ops that several decisions are about are tuned together."""

    by: str
    """The pass."""
    nests: Mapping[str, Tunable]
    """By address."""
    places: Mapping[str, tuple[str, ...]]
    """Op of the model -> the addresses of what is decided of it."""
    target: str
    threads: int = 1
    """By which it is measured."""
    iterations: Mapping[tuple[str, str], float] = field(
        default_factory=dict[tuple[str, str], float]
    )
    """Op of the model, address of a nest -> how often that runs in a call."""
    machine: Machine | None = None
    """Whose cycles the costs of ways are."""


@dataclass
class _Seen(Instrument):
    """Looks at the nests as `tensorize` finds them."""

    options: Options
    most: int
    tuned: Tuned
    found: dict[str, Tunable] = field(default_factory=dict[str, Tunable])
    earlier: frozenset[str] = frozenset()
    """Choices of passes before it."""
    trial: KernelTrial | None = None

    def before(self, step: Step, module: ModuleOp) -> None:
        if step.name != NESTS:
            return
        self.earlier = frozenset(self.tuned.points)
        trial = self.trial
        kept, measure = (trial.kept, trial.measure) if trial is not None else (None, None)
        chooser = chooser_of(module, kept=kept, measure=measure)
        target = target_of(module)
        for _, block in entry_blocks(module):
            for op in block.walk():
                if isinstance(op, NestOp) and unsuitable(op) is None:
                    nest = strided_nest(op)
                    address = address_of(nest_text(nest), target)
                    if address not in self.found:
                        ways = tuple(self._ways(nest, chooser))
                        self.found[address] = Tunable(address, _text(nest), ways)

    def _ways(self, nest: StridedNest, chooser: Chooser) -> Iterable[TunedWay]:
        _, taken = chooser.decide(nest)
        if taken is None:
            return
        every: list[Candidate] = []
        families = [
            one
            for one in (*chooser.families, *chooser.maker.families(nest))
            if not chooser.demanded or one.pattern.name in chooser.demanded
        ]
        for family in families:
            some = candidates(nest, family)
            if isinstance(some, list):
                every += [*some, *sweep(nest, family, some[0], self.most)]
        every = [one for one in every if one.cost <= FAR * taken.cost]
        every.sort(key=lambda one: one.cost)
        seen: set[str] = set()
        for one in (taken, *every):
            way = way_of(one)
            key = repr({at: one for at, one in way.items() if at not in ("cost", "around")})
            if key not in seen and len(seen) <= self.most:
                seen.add(key)
                yield TunedWay(way, identity_of(one.family.instance(one.params)))


def _text(nest: StridedNest) -> str:
    return ", ".join(
        f"{axis.name} = {axis.size}{' reduction' if axis.is_reduction else ''}"
        for axis in nest.axes
    )


def spaces_of(
    model: Path, options: Options, most: int, given: Mapping[str, TunedWay]
) -> list[Space]:
    """What the passes decide of a model, with what is `given` decided so; up to `most` other ways of a nest.

    How loops are shared is decided for a number of threads, where there is one in `options`. Raises what
    compilation raises.
    """
    context = new_context()
    module = import_model(model, context, options)
    tuned = Tuned(given)
    facts_of(context).put(tuned)
    last = "parallelize" if options.threads > 1 else NESTS
    pipeline = find_host(options.host).lower(options.passes()).until(last)
    seen = _Seen(options, most, tuned)

    class Trial(Instrument):
        """Keeps the fact that `tensorize` takes."""

        def before(self, step: Step, module: ModuleOp) -> None:
            if step.name == NESTS:
                seen.trial = facts_of(context).get(KernelTrial)

    run_pipeline(context, module, pipeline, [Trial(), seen])
    report = facts_of(context).get(KernelReport)
    assert report is not None, "tensorize is one of the passes"
    places: dict[str, dict[str, None]] = {}
    iterations: dict[tuple[str, str], float] = {}
    for nest in report.nests:
        if nest.address in seen.found and nest.location is not None:
            place = _alone(nest.location, model)
            places.setdefault(place, {})[nest.address] = None
            at = place, nest.address
            iterations[at] = iterations.get(at, 0) + nest.iterations
    target = str(target_of(module))
    machine = machine_of(module)
    nests = Space(
        NESTS, seen.found, _frozen(places), target, iterations=iterations, machine=machine
    )
    before: list[Space] = []
    after: list[Space] = []
    for by in dict.fromkeys(point.by for point in tuned.points.values()):
        points = [
            replace(one, places=tuple([_alone(place, model) for place in one.places]))
            for one in tuned.points.values()
            if one.by == by
        ]
        if points[0].address in seen.earlier:
            before.append(space_of_points(by, points, target, 1))
        else:
            after.append(space_of_points(by, points, target, options.threads))
    return [*before, nests, *after]


def _alone(place: str, model: Path) -> str:
    """A place as a job tells it, which has the model's file without folders."""
    folder = str(model).removesuffix(model.name)
    return JOINED.join(part.removeprefix(folder) for part in parts_of(place))


def space_of_points(by: str, points: Sequence[Point], target: str, threads: int) -> Space:
    """What a pass chooses; first as it does without records."""
    found: dict[str, Tunable] = {}
    places: dict[str, dict[str, None]] = {}
    for one in points:
        ways = tuple(map(one.way, (one.usual, *one.others)))
        found[one.address] = Tunable(one.address, f"usually {one.usual}", ways)
        for place in one.places:
            places.setdefault(place, {})[one.address] = None
    return Space(by, found, _frozen(places), target, threads)


def _frozen(places: Mapping[str, Mapping[str, None]]) -> dict[str, tuple[str, ...]]:
    return {where: tuple(addresses) for where, addresses in places.items()}
