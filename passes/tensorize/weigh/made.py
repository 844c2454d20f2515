"""Kernels made to measure for one nest, by the templates there are; equal ones are made once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from inarch.core.errors import InarchError
from inarch.machine.machine import Machine
from inarch.machine.target import Target
from inarch.microkernel import Microkernel
from inarch.microkernel.template import Template, Workload, made_name
from inarch.passes.tensorize.unify.strided import StridedNest
from inarch.passes.tensorize.unify.workload import workload_of
from inarch.passes.tensorize.weigh.candidates import Candidate
from inarch.passes.tensorize.weigh.family import Family
from inarch.passes.tensorize.weigh.search import candidates


@dataclass
class Maker:
    """The families that `templates` make for `target` on `machine`. One that fails is not asked again."""

    templates: Mapping[str, Template]
    target: Target
    machine: Machine
    failures: dict[str, str] = field(default_factory=dict[str, str])
    """Template -> what is wrong with it."""
    refused: set[str] = field(default_factory=set[str])
    """Kernels that cannot be used."""
    _families: dict[str, Family] = field(default_factory=dict[str, Family])

    def candidates(self, nest: StridedNest) -> list[Candidate]:
        """The ways to do `nest` by kernels made for it."""
        ways = [candidates(nest, family) for family in self.families(nest)]
        return [one for found in ways if isinstance(found, list) for one in found]

    def families(self, nest: StridedNest) -> list[Family]:
        """The kernels that are made for `nest`, without those that cannot be used."""
        workload = workload_of(nest) if self.templates else None
        if workload is None:
            return []
        families = [self._family(name, workload) for name in self.templates]
        return [one for one in families if one and one.pattern.name not in self.refused]

    def _family(self, template: str, workload: Workload) -> Family | None:
        if template in self.failures:
            return None
        try:
            kernel = self.templates[template].make(workload, self.target)
            return self._known(template, kernel) if kernel is not None else None
        except Exception as error:  # noqa: BLE001 - a template's author writes anything
            said = (
                str(error) if isinstance(error, InarchError) else f"{type(error).__name__}: {error}"
            )
            self.failures[template] = f"template '{template}' fails: {said}"
            return None

    def _known(self, template: str, kernel: Microkernel) -> Family:
        name = made_name(template, kernel)
        if name not in self._families:
            self._families[name] = Family.of(
                name, kernel, self.target, self.machine, is_optional=True
            )
        return self._families[name]
