"""What every translation unit is compiled with."""

from __future__ import annotations

from inarch.machine.compilers import Compiler, Kind
from inarch.machine.target import Target

NUMERIC_FLAGS = (
    # Operators of a model round by themselves; where one rounding is meant, C says so.
    "-ffp-contract=off",
    "-fno-math-errno",
    # Floating-point exceptions are never observed; NaN and infinity keep their meaning.
    "-fno-trapping-math",
)
CONTRACTING = "-ffp-contract=fast"
"""Of code whose author lets the compiler round a product and a sum once."""
BASE_FLAGS = (
    "-std=c11",
    "-O3",
    "-fPIC",
    "-fvisibility=hidden",
    # As newer compilers: a function without a prototype would get its arguments otherwise than it takes them.
    "-Werror=implicit-function-declaration",
    *NUMERIC_FLAGS,
)

_KIND_FLAGS: dict[Kind, tuple[str, ...]] = {
    "gcc": (
        # Keeps loads of a sliding window in registers and spills accumulators.
        "-fno-predictive-commoning",
        # Loops are in an order that was chosen: gcc 12 takes sums that run side by side apart again.
        "-fno-loop-interchange",
        # Once induction variables have been expressed by each other's addresses, gcc 12 takes functions that
        # write for functions that do not, and leaves their calls out.
        "-fno-ipa-modref",
        "-fno-ipa-pure-const",
    ),
    "clang": (),
    # zig's defaults are those of a debug build.
    "zig": ("-fno-sanitize=undefined", "-fno-stack-protector"),
}


def common_flags(compiler: Compiler, target: Target) -> list[str]:
    """What every translation unit is compiled with."""
    return [*BASE_FLAGS, *_KIND_FLAGS[compiler.kind], *compiler.cflags(target)]
