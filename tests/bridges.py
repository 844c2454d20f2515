"""`make bridges`: the tests of each bridge, in turn, and a table of what they said.

python tests/bridges.py torch jax     # `make bridge-torch`, then `make bridge-jax`
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
_SAID = re.compile(r"(\d+) (passed|failed|skipped|errors?)\b")


def tested(name: str) -> tuple[str, ...]:
    """A row of the table: the framework and its version, how many passed, failed, skipped, seconds."""
    print(f"=== make bridge-{name}", flush=True)
    command = ["make", "--no-print-directory", f"bridge-{name}"]
    last = ""
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            last = line if " in " in line and _SAID.search(line) else last
    counts = {word.rstrip("s"): number for number, word in _SAID.findall(last)}
    took = last.rpartition(" in ")[2].split("s")[0] if last else ""
    failed = sum(int(counts.get(word, 0)) for word in ("failed", "error"))
    if process.returncode != 0 and not failed:
        failed = "no tests"
    return version(name), counts.get("passed", "0"), str(failed), counts.get("skipped", "0"), took


def version(name: str) -> str:
    """The pin of the framework itself: of `tvm` the package is `apache-tvm-ffi`."""
    lines = (ROOT / "tests" / "unit" / "bridges" / f"{name}.txt").read_text().splitlines()
    pins = [line for line in lines if name.replace("_", "-") in line.partition("==")[0]]
    return min(pins, key=len).replace("==", " ")


def main(names: list[str]) -> int:
    """0 where no test failed."""
    head = "framework", "passed", "failed", "skipped", "seconds"
    rows = [head, *map(tested, names)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    print()
    for first, *rest in rows:
        cells = [word.rjust(width) for word, width in zip(rest, widths[1:], strict=True)]
        print(first.ljust(widths[0]), *cells, sep="  ")
    return int(any(row[2] != "0" for row in rows[1:]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
