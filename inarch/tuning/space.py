"""What can be tuned of a model: its loop nests, and for each the ways that are worth measuring."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from inarch.dialects import new_context
from inarch.dialects.loop.nest import NestOp
from inarch.driver.compiler import import_model
from inarch.driver.host import find_host
from inarch.driver.options import Options
from inarch.ir.functions import entry_blocks
from inarch.ir.report.facts import facts_of
from inarch.ir.target import target_of
from inarch.microkernel.identity import identity_of
from inarch.passes.tensorize.choose import Chooser, KernelTrial, chooser_of
from inarch.passes.tensorize.keep.memo import key_of_nest
from inarch.passes.tensorize.keep.record import way_of
from inarch.passes.tensorize.keep.tuned import TunedWay, address_of
from inarch.passes.tensorize.report import KernelReport
from inarch.passes.tensorize.unify.strided import StridedNest, strided_nest
from inarch.passes.tensorize.unsuitable import unsuitable
from inarch.passes.tensorize.weigh.candidates import Candidate
from inarch.passes.tensorize.weigh.search import candidates, sweep
from inarch.pipeline.manager import Instrument, Step, run_pipeline

FAR = 1.5
"""Ways that cost so many times what the best one does are not measured: the model errs less."""


@dataclass(frozen=True)
class Tunable:
    """A nest, and how it can be done: first as it is without records, then the others, the cheapest first."""

    address: str
    nest: str
    ways: tuple[TunedWay, ...]


@dataclass(frozen=True)
class Space:
    """All of a model. Ops of which several nests are made are tuned together."""

    nests: Mapping[str, Tunable]
    """By address."""
    places: Mapping[str, tuple[str, ...]]
    """Op of the model -> the addresses of its nests."""
    target: str


@dataclass
class _Seen(Instrument):
    """Looks at the nests as `tensorize` finds them."""

    options: Options
    most: int
    found: dict[str, Tunable] = field(default_factory=dict[str, Tunable])
    trial: KernelTrial | None = None

    def before(self, step: Step, module: ModuleOp) -> None:
        if step.name != "tensorize":
            return
        trial = self.trial
        kept, measure = (trial.kept, trial.measure) if trial is not None else (None, None)
        chooser = chooser_of(module, kept=kept, measure=measure)
        target = target_of(module)
        for _, block in entry_blocks(module):
            for op in block.walk():
                if isinstance(op, NestOp) and unsuitable(op) is None:
                    nest = strided_nest(op)
                    address = address_of(key_of_nest(nest), target)
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
            key = repr({name: value for name, value in way.items() if name != "cost"})
            if key not in seen and len(seen) <= self.most:
                seen.add(key)
                yield TunedWay(way, identity_of(one.family.instance(one.params)))


def _text(nest: StridedNest) -> str:
    return ", ".join(
        f"{axis.name} = {axis.size}{' reduction' if axis.is_reduction else ''}"
        for axis in nest.axes
    )


def space_of(model: Path, options: Options, most: int) -> Space:
    """The nests of a model, and up to `most` other ways for each. Raises what compilation raises."""
    context = new_context()
    module = import_model(model, context, options)
    pipeline = find_host(options.host).lower(options.passes()).until("tensorize")
    seen = _Seen(options, most)

    class Trial(Instrument):
        """Keeps the fact that `tensorize` takes."""

        def before(self, step: Step, module: ModuleOp) -> None:
            if step.name == "tensorize":
                seen.trial = facts_of(context).get(KernelTrial)

    run_pipeline(context, module, pipeline, [Trial(), seen])
    report = facts_of(context).get(KernelReport)
    assert report is not None, "tensorize is one of the passes"
    places: dict[str, dict[str, None]] = {}
    for nest in report.nests:
        if nest.address in seen.found and nest.location is not None:
            places.setdefault(nest.location, {})[nest.address] = None
    found = {where: tuple(addresses) for where, addresses in places.items()}
    return Space(seen.found, found, str(target_of(module)))
