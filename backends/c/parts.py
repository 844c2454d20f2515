"""What the C of a program is put together from: its functions as text, and what stands before them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from inarch.artifact.manifest import Import
from inarch.backends.c.plan.alias import functions_with_aliases
from inarch.backends.c.plan.gaps import DEFINITION
from inarch.backends.c.plan.program import ProgramPlan, c_function, read_program
from inarch.backends.c.plan.weights import Weights
from inarch.backends.c.text import CALLS_LIBRARY
from inarch.backends.c.write.abi.model import Described
from inarch.backends.c.write.functions import (
    CONTRACT_DEFINITION,
    FunctionText,
    entry_text,
    kernel_text,
    without_comments,
)
from inarch.backends.c.write.scope import Unit
from inarch.backends.c.write.value.math import helpers_text
from inarch.backends.entries import Entry
from inarch.ir.target import target_of
from inarch.machine.target import Target
from inarch.microkernel.gaps import without_loop_vectors


@dataclass(frozen=True)
class Parts:
    """Everything that the units are put together from."""

    program: ProgramPlan
    weights: Weights
    target: Target
    functions: tuple[Entry, ...]
    imports: tuple[Import, ...]
    kernels: Mapping[str, FunctionText]
    entries: tuple[FunctionText, ...]

    @property
    def stems(self) -> list[str]:
        """The C names of the checked entries."""
        return [entry.c_name.removesuffix("_run") for entry in self.entries]

    @property
    def features(self) -> frozenset[str]:
        """What the CPU must have: the target's features, and those of the microkernels."""
        called = self.program.kernels_of([*self.program.public, *self.program.private])
        return self.target.features.union(*(kernel.needs for kernel in called))

    @property
    def shares(self) -> bool:
        """Whether a public function calls a kernel whose iterations threads share."""
        return any(kernel.part for kernel in self.reachable())

    @property
    def library(self) -> Described:
        """What the library says of itself."""
        return Described(
            self.program.prefix,
            str(self.target),
            self.features,
            self.functions,
            self.stems,
            self.imports,
            self.weights,
            self.shares,
        )

    def reachable(self) -> list[FunctionText]:
        """The kernels that public functions call, directly or not, in the module's order."""
        found: set[str] = set()
        pending = [callee for entry in self.entries for callee in entry.callees]
        while pending:
            symbol = pending.pop()
            if symbol in self.kernels and symbol not in found:
                found.add(symbol)
                pending.extend(self.kernels[symbol].callees)
        return [kernel for symbol, kernel in self.kernels.items() if symbol in found]


def parts_of(module: ModuleOp, weights: Weights) -> Parts:
    """The functions of a planned module in C."""
    program = read_program(module)
    target = target_of(module)
    vector_bytes = target.vector_bytes
    aliased = functions_with_aliases(program)
    return Parts(
        program,
        weights,
        target,
        tuple(c_function(program, function) for function in program.public),
        program.import_table,
        {
            function.sym_name.data: kernel_text(program, function, vector_bytes, aliased)
            for function in program.private
        },
        tuple(entry_text(program, function, vector_bytes) for function in program.public),
    )


def _helpers(units: Sequence[Unit]) -> str:
    return helpers_text({name for unit in units for name in unit.helpers})


def _sources(units: Sequence[Unit]) -> str:
    found = {name: source for unit in units for name, source in unit.sources.items()}
    gaps = {name for unit in units for name in unit.gap_sources}
    return "".join(
        f"\n{without_loop_vectors(source) if name in gaps else source}"
        for name, source in found.items()
    )


def library_functions(units: Sequence[Unit], text: str) -> list[str]:
    """The functions of <math.h> that functions with the bodies `text` may call, sorted."""
    everything = without_comments(_helpers(units) + _sources(units) + text)
    return sorted(set(CALLS_LIBRARY.findall(everything)))


def includes(units: Sequence[Unit], text: str, base: str) -> str:
    """The headers that functions with the bodies `text` need."""
    return base + ("#include <math.h>\n" if library_functions(units, text) else "")


def preamble(units: Sequence[Unit]) -> str:
    """An attribute, vector types, helper functions and microkernels, each once."""
    vectors = sorted({kind for unit in units for kind in unit.vectors})
    types = "".join(f"{line}\n" for kind in vectors for line in kind.typedefs.values())
    gaps = DEFINITION if any(unit.reads_gaps for unit in units) else ""
    gaps += CONTRACT_DEFINITION if any(unit.contracts for unit in units) else ""
    return gaps + (f"\n{types}" if types else "") + _helpers(units) + _sources(units)
