"""What `choose-algorithm` found: the algorithms of each op, with their costs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp

from inarch.ir.target import PRECISIONS, precision_of
from inarch.passes.lower.algorithm import DIRECT, policy_of


@dataclass(frozen=True)
class Weighed:
    """An algorithm of an op, with its cost."""

    name: str
    cycles: float = 0.0
    """Estimated cycles of one core, with the kernels that its nests get; 0: it has no price."""
    workspace: int = 0
    """Bytes of its scratch buffers, including the result."""
    constants: int = 0
    """Bytes of its constants."""
    bound: str = ""
    """Empty where it does not apply."""
    numerics: str = ""
    """The strictest policy that allows it; empty: none does, or it does not apply."""
    refused: str = ""
    """Why it does not apply, or is not chosen by cost; empty if it may be."""


@dataclass
class Algorithms:
    """A fact: for each op with several algorithms its location and the algorithms, the chosen one first."""

    found: list[tuple[str, list[Weighed]]] = field(default_factory=list[tuple[str, list[Weighed]]])
    taken: list[str] = field(default_factory=list[str])
    """The chosen algorithms other than direct, each with its source."""


def numerics_of(module: ModuleOp, report: Algorithms | None) -> dict[str, object]:
    """For the manifest: the policy, the precision, and the number of ops by algorithm, without direct."""
    taken = Counter(weighed[0].name for _, weighed in (report.found if report else ()))
    del taken[DIRECT]
    algorithms = {"algorithms": dict(sorted(taken.items()))} if taken else {}
    precision = precision_of(module)
    lower = {} if precision == PRECISIONS[0] else {"precision": precision}
    return {"numerics": {"policy": policy_of(module), **lower, **algorithms}}


@dataclass(frozen=True)
class PriceAll:
    """A fact: algorithms that the numerics forbid are priced, too, which takes time."""
