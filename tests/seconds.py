"""CPU seconds: what a process and all that it started has taken so far, and how fast this computer is.

The gate's limits and its budget count these. Time by the clock says how busy a machine is.
"""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

BUDGET = 450.0
"""CPU seconds of the whole gate, of the reference machine: above it the gate says so."""
LOOP_SECONDS = 0.032
"""Of `_loop` on the reference machine, quiet: AMD EPYC (Zen 3), CPython 3.11."""
_MOST = 3.0
"""How much slower another computer is taken to be, at most."""


def slowness() -> float:
    """How many times as long as the reference machine this computer takes: at least 1."""
    return min(_MOST, max(1.0, min(_loop() for _ in range(7)) / LOOP_SECONDS))


def _loop() -> float:
    """What a compiler in Python does: names, dictionaries, objects; and some of C."""
    begun, found = time.process_time(), dict[str, list[int]]()
    for number in range(120_000):
        found.setdefault(f"v{number % 997}", []).append(number)
    text = ",".join(map(str, sorted(sum(each) for each in found.values())))
    for _ in range(100):
        text = hashlib.sha256(text.encode() * 20).hexdigest()
    return time.process_time() - begun


def budget_said(used: float, slower: float) -> str:
    """A line on what the whole gate used, of the budget.

    No verdict: beside other work the same tests take up to half as many CPU seconds more.
    """
    own = used / slower
    line = f"{own:.0f} CPU s of the reference machine (this one takes {slower:.2f} of its time)"
    return line + (
        f": ABOVE the budget of {BUDGET:.0f}" if own > BUDGET else f", budget {BUDGET:.0f}"
    )


def of_tree(root: int) -> dict[int, float]:
    """The processes of a process, of its session and of what they started; empty where nobody says.

    With the CPU seconds so far of each, and of its children that have ended and were waited for.
    """
    parents, sessions, took = dict[int, int](), dict[int, int](), dict[int, float]()
    tick = os.sysconf("SC_CLK_TCK")
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            after = (folder / "stat").read_bytes().rpartition(b")")[2].split()
        except OSError:  # it has ended
            continue
        pid = int(folder.name)
        parents[pid], sessions[pid] = int(after[1]), int(after[3])
        took[pid] = sum(map(int, after[11:15])) / tick
    own = {pid for pid, session in sessions.items() if root in (pid, session)}
    while more := {pid for pid, parent in parents.items() if parent in own} - own:
        own |= more
    return {pid: took[pid] for pid in own}
