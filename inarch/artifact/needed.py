"""How a program's library names the libraries of others that it calls: by a place to be filled in at load.

The dynamic loader takes any library that is open already for one of the same name (SONAME), so what a
library needs has to be a path; and the machine that runs it has other paths than the one that compiled it.
The library needs `/inarch/library/NUMBER///...` (its place in the manifest's `libraries`), a string with room
for any path, over which a reader writes, in a copy of the library, the path that it has found.
"""

from __future__ import annotations

from collections.abc import Mapping

ROOM = 4095
"""Bytes of the string: those of the longest path of Linux."""


def needed_name(number: int) -> str:
    """What the library needs in place of the one of that number.

    It ends in `/`, so that the linker cannot give its end to a symbol's name, as it does for equal ends.

    >>> needed_name(2)[:24], len(needed_name(2))
    ('/inarch/library/2///////', 4095)
    """
    return f"/inarch/library/{number}/".ljust(ROOM, "/")


def with_paths(library: bytes | memoryview, paths: Mapping[int, bytes]) -> bytes:
    """The library, which needs the files at `paths` by the numbers of what it was linked with.

    A number that it does not name (nothing of that library is called) changes nothing.
    """
    found = bytearray(library)
    for number, path in paths.items():
        name = needed_name(number).encode()
        at = found.find(name + b"\0")
        if at >= 0:
            found[at : at + ROOM] = path.ljust(ROOM, b"\0")
    return bytes(found)
