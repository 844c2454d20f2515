"""Which microkernels of a compilation can be used: the pass `try-kernels` lets `tensorize` ask.

All are tried. One of others (`--load`, entry points) that cannot be built, or fails its quick check, is a
warning with the reason, and the model is compiled without it; where it was demanded it is an error. So is a
warning, or an error, that a loaded kernel does nothing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from inarch.driver.keep.decisions import decisions
from inarch.ir.target import ESTIMATED, target_of
from inarch.machine.target import NATIVE, Target
from inarch.microkernel import Instance
from inarch.microkernel.table import MICROKERNELS, TEMPLATES
from inarch.microkernel.template import template_of
from inarch.microkernel.usable import usable_for

if TYPE_CHECKING:
    from inarch.passes.tensorize.choose import KernelTrial
    from inarch.passes.tensorize.decide import Meter


def trial_for(module: ModuleOp) -> KernelTrial:
    """How `tensorize` finds out which kernels can be used for the module's target."""
    from inarch.passes.tensorize.choose import KernelTrial

    target = target_of(module)
    trial = Trial(target)
    measure = meter_for(module, target)
    kept = decisions(is_measuring=measure is not None)
    return KernelTrial(trial, trial.reasons, kept, measure)


def meter_for(module: ModuleOp, target: Target) -> Meter | None:
    """What calls take on this computer, of kernels that do not say.

    None where nothing is to be measured, where code for the target cannot run here, and where
    `INARCH_NATIVE` limits the computer: all that are limited choose alike.
    """
    if ESTIMATED in module.attributes or target.missing_here() or os.environ.get(NATIVE):
        return None
    from inarch.verification.timing import call_cycles  # not where nothing is measured

    build = usable_for(target)

    def cycles(instance: Instance, sizes: Mapping[str, int]) -> float | str | None:
        found = call_cycles(instance, sizes)
        if not isinstance(found, str):
            return found
        # Of a kernel that cannot be built whoever builds it knows what to do.
        return build(instance) or f"microkernel '{instance.name}' cannot be measured: {found}"

    return cycles


def others() -> list[str]:
    """The names of kernels that are not ours."""
    return [
        name
        for name in MICROKERNELS
        if not MICROKERNELS.origin(name).source.startswith(f"{MICROKERNELS.group}.")
    ]


class Trial:
    """Why an instance cannot be used for `target`; None when it can: it is built, and checked quickly."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._build = usable_for(target)
        self._others = frozenset(others())
        self._templates = {name: origin.source for name, origin in TEMPLATES.foreign()}
        self._found: dict[tuple[str, str], str | None] = {}
        self.reasons: dict[str, str] = {}
        """Kernel -> the first reason."""

    def __call__(self, instance: Instance) -> str | None:
        key = (instance.name, instance.symbol)
        if key not in self._found:
            self._found[key] = self._try(instance)
        reason = self._found[key]
        if reason is not None:
            self.reasons.setdefault(instance.name, reason)
        return reason

    def _try(self, instance: Instance) -> str | None:
        source = self._templates.get(template_of(instance.name))
        if instance.name in self._others:
            source = MICROKERNELS.origin(instance.name).source
        if source is None:
            return None  # ours are tested
        reason = self._build(instance)
        if reason is not None:
            return _located(source, reason)
        if instance.kernel.registered is not None or self._target.missing_here():
            return None  # who fills the slot is known at load; code for another CPU cannot run here
        from inarch.verification import quick_check

        verdict = quick_check(instance)
        if verdict.ok or not verdict.is_checked:
            return None
        return _located(source, verdict.line())


def _located(source: str, reason: str) -> str:
    """The reason with the kernel's file, or its template's, which it may name already."""
    return reason if Path(source).name in reason else f"{source}: {reason}"
