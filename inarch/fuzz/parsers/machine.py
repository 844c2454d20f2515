"""Machines as TOML: what is read is printed, and reads as the same machine again."""

from __future__ import annotations

from pathlib import Path

from inarch.fuzz import Parser
from inarch.fuzz.files import written
from inarch.machine import machine_file
from inarch.machine.machine_file import machine_of_text, machine_text, read_machine_file


def _seeds() -> list[bytes]:
    folder = Path(machine_file.__file__).parent / "machines"
    return [path.read_bytes() for path in sorted(folder.glob("*.toml"))]


def check(data: bytes) -> None:
    """Reads `data` as `inarch machine FILE` and `--machine` do."""
    machine = read_machine_file(written("fuzz.toml", data))
    assert machine_of_text(machine_text(machine), machine.name, "again") == machine


PARSER = Parser(
    _seeds, check, ".toml", words=[b"[l2]", b"inf", b"nan", b'"""', b"[[fma]]", b"1e999", b"0x10"]
)
