"""What a check of a microkernel found: verdicts, as data, and the names of faults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Fault = Literal[
    "wrong-value",
    "inaccurate",
    "unwritten",
    "hidden-state",
    "shared-state",
    "leak",
    "read-outside",
    "write-outside",
    "writes-input",
    "memory-error",
    "undefined-behaviour",
    "misaligned",
    "float-mode",
    "registers",
    "crash",
    "illegal-instruction",
    "stack-overflow",
    "abort",
    "exit",
    "timeout",
    "bad-declaration",
    "does-not-compile",
    "missing-library",
    "missing-symbol",
    "wrong-architecture",
    "lacks-feature",
]
"""What is wrong with a kernel.

    wrong-value          an element differs although its value is exact, or is NaN where it must not be
    inaccurate           an element is further off than rounding explains
    unwritten            an element of the output was not written
    hidden-state         a call gave something else than the same call alone, or before
    shared-state         two threads that call it at once disturb each other: a static buffer
    leak                 each call keeps memory that it allocates
    read-outside         a byte outside an operand was read; write-outside: was written, or one of the
                         gaps between an output's elements
    writes-input         an operand that is only read was written
    memory-error         the stack, freed memory ... (AddressSanitizer)
    undefined-behaviour  of C (UndefinedBehaviorSanitizer)
    misaligned           an instruction that wants more alignment than is declared
    float-mode           MXCSR or the x87 unit are not as they were: rounding, flushing of denormals
    registers            a register (or the direction flag) that a function must keep has changed
    crash, illegal-instruction, stack-overflow, abort, exit, timeout: it did not return
    bad-declaration      the meaning does not parse, a parameter has no such value ...
    does-not-compile     the C compiler refuses the kernel's own text, or the call of its symbol
    missing-library, missing-symbol, wrong-architecture: of the library that it is in
    lacks-feature        this machine cannot execute it: it was not checked
"""

Run = Literal["guard pages", "sanitizer", "in this process"]

ENVIRONMENT: frozenset[str] = frozenset({"missing-library", "lacks-feature"})
"""Faults that say something of this machine: exit code 3, not 1."""


@dataclass(frozen=True)
class Verdict:
    """Whether an instance does what its meaning says; if not, the first thing that differs."""

    kernel: str
    instance: str
    """Its parameters and variants: `MR=4 NR=16, init zero, finish max(C[m, n], 0.0)`."""
    ok: bool
    fault: Fault | None = None
    message: str = ""
    """One line: where, what was expected, what was found."""
    run: Run | None = None
    """The one that found the fault, or the only one that there was; None when there was none, or two."""
    shape: str = ""
    """The sizes that the call gave, and the strides: `K=7, A strides (9, 1)`."""
    operand: str | None = None
    element: tuple[int, ...] | None = None
    """The first element that differs."""
    byte: int | None = None
    """The byte that was touched, from the address of the operand's element 0."""
    expected: float | None = None
    found: float | None = None
    calls: int = 0
    """How many calls were made and compared."""
    seconds: float = 0.0

    @property
    def is_checked(self) -> bool:
        """Whether there was anything to be checked on this machine."""
        return self.fault not in ENVIRONMENT

    def line(self) -> str:
        """The verdict as a person reads it."""
        name = f"microkernel '{self.kernel}'" + (f" ({self.instance})" if self.instance else "")
        if self.ok:
            only = f" ({self.run} only)" if self.run else ""
            return f"{name}: ok, {self.calls} calls in {self.seconds:.2f} s{only}"
        where = ", ".join(part for part in (self.shape, self.run) if part)
        place = f" [{where}]" if where else ""
        return f"{name}: {self.fault}: {self.message}{place}"
