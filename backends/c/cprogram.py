"""What emission makes: C by translation unit, and what is known of its functions, imports and kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from inarch.artifact.manifest import Import
from inarch.backends.c.joined import joined
from inarch.backends.emitted import Emitted
from inarch.backends.entries import Entry
from inarch.backends.host import Program
from inarch.microkernel.code import KernelCode


@dataclass(frozen=True, kw_only=True)
class CProgram(Program):
    """A module in C: one translation unit per kernel and `model.c`, or all of it in one `text`.

    `text` is the amalgamation: it compiles alone; weights of at most 1 MiB are in it.
    """

    source: str
    """`text` without weights: what an artifact keeps, joined with the C of backends."""
    units: Mapping[str, str]
    """File name -> complete C source."""
    functions: tuple[Entry, ...]
    """The public ones."""
    imports: tuple[Import, ...]
    """In the order of the table: the slots that `<prefix>_bind` fills, then those that are linked."""
    kernels: tuple[KernelCode, ...] = ()
    """What the microkernels that are called need of outside."""
    unit_kernels: Mapping[str, tuple[KernelCode, ...]] = field(
        default_factory=dict[str, tuple[KernelCode, ...]]
    )
    """File name -> the microkernels whose C is in that unit."""

    @property
    def prefix(self) -> str:
        """What every symbol starts with: the program's name."""
        return self.name

    def joined(self, emitted: Sequence[Emitted]) -> str:
        """One file that compiles alone."""
        return joined(self.text, emitted)

    @property
    def unit_flags(self) -> dict[str, tuple[str, ...]]:
        """File name -> what is added to the compilation of that unit."""
        found = {
            name: tuple(dict.fromkeys(flag for kernel in kernels for flag in kernel.flags))
            for name, kernels in self.unit_kernels.items()
        }
        return {name: flags for name, flags in found.items() if flags}

    @property
    def needs(self) -> tuple[str, ...]:
        """CPU features that the code of microkernels uses."""
        return tuple(sorted({need for kernel in self.kernels for need in kernel.needs}))

    def single(self) -> CProgram:
        """The same in one translation unit."""
        unit = "programs.c"
        return replace(self, units={unit: self.text}, unit_kernels={unit: self.kernels})


_PYTHON_CALL_NS = 10_000
_C_CALL_NS = 5
"""One call through a slot, two operands: `python benchmarks/kernel_calls.py` on Zen 4."""


def registry_notes(calls: Mapping[str, int]) -> tuple[str, ...]:
    """For each microkernel that is called through the registry in a loop, what that costs.

    `calls`: how often one run of all public functions calls each.
    """
    return tuple(
        f"microkernel '{name}' is called {count} times a run through the registry, each call about "
        f"{_PYTHON_CALL_NS / 1000:g} us to a function of Python ({count * _PYTHON_CALL_NS / 1e6:.3g} ms "
        f"a run) and {_C_CALL_NS} ns to one of C; link it by symbol, or give it larger tiles"
        for name, count in calls.items()
        if count > 1
    )
