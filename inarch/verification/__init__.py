"""Checks microkernels: that the code does what the meaning says, and nothing else.

    from inarch.verification import verify
    verdict = verify(instantiate(MICROKERNEL, "my-kernel", {"MR": 4, "NR": 16}, target=native()))
    assert verdict.ok, verdict.line()

The code runs in child processes; what it must give, and how far off it may be, is by `inarch.definitions`:

- Shapes: every size that a call gives from 1 on, primes, and just below and above usual blocks.
- Strides, wherever the layout says any: packed, with gaps, transposed, overlapping (what is read).
- Numbers: small integers and sparse ones of 12 bits, which must agree exactly; reals within
  c K eps sum |a| |b| (the bounds of definitions, twice as wide); NaN, infinities and zeros; denormals;
  large ones that cancel; rows that are all -inf where a maximum is reduced.
- Memory: run A puts each operand against pages that cannot be touched, on its right, then on its left,
  then aligned to no more than declared; operands that are read are write-protected. Gaps of inputs hold
  NaN, so that their use shows; gaps of outputs must stay as they are. Run B is compiled with
  AddressSanitizer and UndefinedBehaviorSanitizer, with operands of exactly their size, and locals that
  begin as a large number. A function of a library has run A only, one of the registry is called here.
- The process: callee-saved registers, MXCSR and the x87 unit as before; no signal, `exit`, endless loop;
  the same calls again in another order give the same; no call keeps memory (glibc's malloc). Calls of
  other numbers from two threads at once give the same too (not in a quick check).

Reading gaps between an operand's elements is allowed, as long as it does not change the result.
Sizes are 1 or more: a loop of no iterations never reaches a kernel.
"""

from __future__ import annotations

from inarch.verification.check import describe, verify
from inarch.verification.family import instances, verify_family
from inarch.verification.record import quick_check
from inarch.verification.verdict import ENVIRONMENT, Fault, Verdict

__all__ = [
    "ENVIRONMENT",
    "Fault",
    "Verdict",
    "describe",
    "instances",
    "quick_check",
    "verify",
    "verify_family",
]
