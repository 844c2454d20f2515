"""The cores and caches of this computer: what Linux tells, what cannot be, and nothing at all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from inarch.machine.here import as_here
from inarch.machine.machine_file import MACHINES

ZEN4 = MACHINES["zen4"]
CACHES = {1: ("Data", "48K", "12"), 2: ("Unified", "2048K", "16"), 3: ("Unified", "60M", "15")}


def _told(root: Path, cpus: int, siblings: int, caches: dict[int, tuple[str, str, str]]) -> Path:
    for cpu in range(cpus):
        topology = root / f"cpu{cpu}" / "topology"
        topology.mkdir(parents=True)
        (topology / "physical_package_id").write_text("0\n")
        (topology / "core_id").write_text(f"{cpu // siblings}\n")
    for level, (kind, size, ways) in caches.items():
        index = root / "cpu0" / "cache" / f"index{level}"
        index.mkdir(parents=True)
        texts = {"level": level, "type": kind, "size": size, "ways_of_associativity": ways}
        for name, text in texts.items():
            (index / name).write_text(f"{text}\n")
    return root


def test_cores_and_caches_are_those_that_there_are(tmp_path: Path) -> None:
    """Two processors of a core are one core; what is not told of is the file's."""
    found = as_here(ZEN4, _told(tmp_path, 12, 2, CACHES))
    assert found.cores == 6
    assert found.l3 is not None
    sizes = [(each.bytes, each.ways) for each in (found.l1, found.l2, found.l3)]
    assert sizes == [(48 << 10, 12), (2 << 20, 16), (60 << 20, 15)]
    assert replace(found, cores=8, l1=ZEN4.l1, l2=ZEN4.l2, l3=ZEN4.l3) == ZEN4


@pytest.mark.parametrize(
    "caches",
    [
        {},
        {2: ("Unified", "1K", "8")},
        {2: ("Unified", "1M", "0")},
        {2: ("Instruction", "512K", "8")},
        {2: ("Unified", "", "8")},
        {1: ("Data", "1024K", "8"), 2: ("Unified", "1024K", "8")},
        {9: ("Unified", "1024K", "8")},
    ],
)
def test_what_cannot_be_is_not_believed(
    tmp_path: Path, caches: dict[int, tuple[str, str, str]]
) -> None:
    found = as_here(ZEN4, _told(tmp_path, 0, 1, caches))
    assert found == ZEN4
    assert as_here(ZEN4, tmp_path / "nothing") == ZEN4
