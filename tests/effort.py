"""How much a test tries: little in the gate, much in the search, which begins each run at other seeds.

`make test` and `.ci/run` say nothing: the same cases each time, on each machine. `make soak` sets
`INARCH_SOAK=1` and counts `INARCH_SEED` up with each run (tests/soak.jsonl says which ran where).

    @settings(max_examples=effort(20, 400))
    @pytest.mark.parametrize("seed", seeds(2, 40))
"""

from __future__ import annotations

import os
import signal
import zlib

SOAK = bool(os.environ.get("INARCH_SOAK"))
"""Whether this is the search, and not the gate."""
SEED = int(os.environ.get("INARCH_SEED", "0"))
"""The number of the run: random tests of another run draw other cases."""


def effort(gate: int, soak: int) -> int:
    """`gate` in the gate, `soak` in the search: a number of examples, steps, or callers."""
    return soak if SOAK else gate


def seeds(gate: int, soak: int) -> range:
    """As many seeds, from where the run before ended: those of run n are n * count, ..."""
    count = effort(gate, soak)
    return range(SEED * count, (SEED + 1) * count)


def let_children_hear() -> None:
    """Signals that this process ignores end what it starts: a shell's `&` and `nohup` hand them on ignored.

    A handler that does nothing ignores as well, and is not handed on: exec makes it the default.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, _ignore)


def _ignore(number: int, frame: object) -> None:
    """Does nothing."""


def shard_of(name: str, count: int) -> int:
    """Which of `count` shards runs the file: by its name alone, so that a new file moves no other one."""
    return zlib.crc32(name.encode()) % count
