"""Files whose bytes are constants: mapped, not read. A compilation notices when one is changed meanwhile.

Replacing such a file is safe. One that is changed in place gives an error in place of an artifact; one that
is cut off below what is still needed ends the process by SIGBUS, as with any mapped file.
"""

from __future__ import annotations

import mmap
from collections.abc import Hashable
from dataclasses import dataclass, field
from pathlib import Path

from inarch.core.errors import EnvironmentFault
from inarch.core.lazy import address_of
from inarch.core.outside.regular import open_regular
from inarch.core.states import State, is_settled, state_of


@dataclass(frozen=True)
class MappedFiles:
    """A fact (`inarch.ir.report.facts`): the mapped files of a program, and their states before."""

    states: dict[Path, State] = field(default_factory=dict[Path, State])
    _mapped: list[tuple[memoryview, State]] = field(default_factory=list[tuple[memoryview, State]])

    def map(self, path: Path) -> memoryview:
        """The bytes of a regular file, as long as anything refers to them. Raises OSError."""
        with open_regular(path) as file:
            state = state_of(file.fileno())
            assert state is not None, "it is open"
            self.states.setdefault(path, state)
            if state[2] == 0:
                return memoryview(b"")  # which nothing can map
            found = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            if is_settled(state):  # else it may be changed, and have the same state
                self._mapped.append((found, state))
            return found

    def origin(self, data: memoryview) -> Hashable:
        """Which bytes of which file, in which state, `data` is; None where it is of none that is mapped."""
        begin = address_of(data)
        for whole, state in self._mapped:
            offset = begin - address_of(whole)
            if offset >= 0 and offset + data.nbytes <= whole.nbytes:
                return (*state, offset, data.nbytes)
        return None

    def check(self) -> None:
        """Raises EnvironmentFault for a file that was changed since; another one in its place is not it."""
        for path, (*file, size, changed, _) in self.states.items():
            now = state_of(path)
            if now is not None and now[:2] == file and now[2:4] != [size, changed]:
                raise EnvironmentFault(
                    "expected a file that stays as it is while it is compiled, found it changed; "
                    "compile it again",
                    where=str(path),
                )
