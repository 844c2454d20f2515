"""What is told of a compilation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xdsl.context import Context


@dataclass(frozen=True)
class Built:
    """What `build` made."""

    path: Path
    name: str
    host: str
    target: str
    machine: str
    """Whose caches and ports choices were made for."""
    kernels: int
    weights_bytes: int
    workspace_bytes: int
    offloaded: Mapping[str, tuple[str, ...]]
    """Backend -> the functions that it emitted."""
    microkernels: Mapping[str, int]
    """Microkernel -> the loop nests that it does."""
    passes: Mapping[str, str]
    """The passes of others that ran, and their files or packages."""
    reused: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Backend -> those of its functions that it had from the cache."""
    shipped_bytes: int = 0
    """Of programs and weights that backends have shipped, in parts of their own."""
    tuned: tuple[int, int] | None = None
    """With records: the loop nests that have one, and those that kernels could do."""
    chosen: Mapping[str, int] = field(default_factory=dict[str, int])
    """With records: the passes that have chosen as these say, and how often."""
    variants: tuple[Mapping[str, Any], ...] = ()
    """Of an artifact for several targets, the fields of the others than the best, `target` first."""


def microkernels_of(context: Context) -> dict[str, int]:
    """The nests that each microkernel does; the busiest first."""
    from inarch.ir.report.facts import facts_of
    from inarch.passes.tensorize.report import KernelReport

    report = facts_of(context).get(KernelReport)
    nests = report.nests if report is not None else ()
    return dict(Counter(n.taken.kernel for n in nests if n.taken is not None).most_common())


def tuned_nests_of(context: Context) -> tuple[int, int] | None:
    """The nests that are done as records have it, and all that kernels could do; None without records."""
    from inarch.ir.report.facts import facts_of
    from inarch.passes.tensorize.report import KernelReport
    from inarch.passes.tuned import Tuned

    facts = facts_of(context)
    report = facts.get(KernelReport)
    return report.tuned if report is not None and facts.get(Tuned) is not None else None


def tuned_choices_of(context: Context) -> dict[str, int]:
    """The passes that have chosen as records say, and how often; the first one first."""
    from inarch.ir.report.facts import facts_of
    from inarch.passes.tuned import Tuned

    tuned = facts_of(context).get(Tuned)
    return dict(Counter(one.by for one in tuned.choices)) if tuned is not None else {}
