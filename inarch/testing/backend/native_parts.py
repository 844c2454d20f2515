"""Damaged parts and a loader in C: in a process of its own, which such a loader may end.

    python native_parts.py LIBRARY FORMAT FOLDER COUNT

reads `FOLDER/0`, `FOLDER/1` and so on, and prints each number before it does. It needs no compiler, and so
imports none.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from inarch.core.errors import InarchError
from inarch.core.scratch import scratch
from inarch.runtime.loaders.native import module_of_bytes

_RAISED = 3
SECONDS = 60.0
"""For all parts of one loader; as much again until it reads the first, on a busy machine."""


def read_apart(
    library: Path, type_key: str, parts: Sequence[bytes], seconds: float = SECONDS
) -> None:
    """Has the loader read each of `parts`, or refuse it. Raises AssertionError for the first that ends it."""
    with scratch("inarch-parts-") as folder:
        for number, part in enumerate(parts):
            (folder / str(number)).write_bytes(part)
        words = [sys.executable, "-P", __file__, str(library.absolute()), type_key]
        words += [str(folder), str(len(parts))]
        with (folder / "said").open("w+") as said, (folder / "error").open("w+") as error:
            with subprocess.Popen(words, stdout=said, stderr=error) as process:
                done = _ended(process, folder / "said", seconds)
            if done == 0:
                return
            said.seek(0)
            error.seek(0)
            reached, lines = said.read().split(), error.read().strip().splitlines()
    if done is None:
        how = f"does not end within {seconds:.0f} s"
    elif done < 0:
        how = f"is ended by {signal.Signals(-done).name}"
    else:
        how = f"raises {lines[-1]}" if done == _RAISED else f"ends its process with status {done}"
    if not reached:
        raise AssertionError(f"loader '{type_key}' ({library}) {how} before it reads anything")
    raise AssertionError(
        f"loader '{type_key}' ({library}) {how}, of {len(parts[int(reached[-1])])} bytes that are damaged "
        f"(number {reached[-1]}); expected a status"
    )


def _ended(process: subprocess.Popen[bytes], said: Path, seconds: float) -> int | None:
    """The status of the process; None: it took more than `seconds` after its first number; it was killed."""
    begun = time.monotonic()
    while time.monotonic() - begun < SECONDS and not said.stat().st_size:
        with suppress(subprocess.TimeoutExpired):
            return process.wait(0.05)
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        return None


def main(arguments: Sequence[str]) -> int:
    """Reads the parts; one that is refused is as good."""
    library, type_key, folder, count = arguments
    for number in range(int(count)):
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()
        with suppress(InarchError):
            module_of_bytes(
                Path(library), type_key, (Path(folder) / str(number)).read_bytes(), "damaged"
            )
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Exception as raised:  # noqa: BLE001 - for whoever started it
        sys.stderr.write(f"{type(raised).__name__}: {raised}\n")
        sys.exit(_RAISED)
