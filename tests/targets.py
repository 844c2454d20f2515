"""For which targets tests run code: also for x86-64-v4 where the CPU, or INARCH_NATIVE, has no AVX-512."""

from __future__ import annotations

from inarch.machine.target import parse

V4, STAND_IN = "x86-64-v4", "x86-64-v4-on-v3"


def here(*names: str) -> list[str]:
    """Those of `names` that this machine runs; for `x86-64-v4` its code on v3 where it must be."""
    able = [name for name in names if not parse(name).missing_here()]
    if V4 not in names or V4 in able or parse(STAND_IN).missing_here():
        return able
    return here(*(STAND_IN if name == V4 else name for name in names))
