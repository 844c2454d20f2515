"""Files in memory: each once, as long as it is in use, and read again when it may have changed."""

from __future__ import annotations

import gc
import os
import time
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inarch.artifact import mapping as _mapping
from inarch.artifact.mapping import Identity, Mapping, Mappings

pytestmark = pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="no /proc here")


def mapped(path: Path) -> int:
    """How often the process has a file in memory."""
    return Path("/proc/self/maps").read_text().count(str(path))


def get(mappings: Mappings, path: Path) -> Mapping:
    with path.open("rb") as file:
        return mappings.get(file.fileno())


def test_a_file_is_mapped_once_and_as_long_as_it_is_in_use(tmp_path: Path) -> None:
    path, mappings = tmp_path / "file", Mappings()
    path.write_bytes(b"content")
    one, two = get(mappings, path), get(mappings, path)
    assert one is two
    assert mapped(path) == 1
    view = one.view[2:]
    del one, two
    gc.collect()
    assert (bytes(view), mapped(path)) == (b"ntent", 1)
    del view
    gc.collect()
    assert mapped(path) == 0


def test_a_file_that_was_given_its_old_time_is_another(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"one")
    os.utime(path, ns=(1, 1))
    first = Identity.of(path.stat())
    assert Identity.of(path.stat()) == first
    time.sleep(0.02)  # the clock of a file system has steps of 10 ms
    path.write_bytes(b"two")
    os.utime(path, ns=(1, 1))
    assert Identity.of(path.stat()) != first


class Fake:
    """A mapping of these bytes, of a file that last changed so many seconds ago."""

    def __init__(self, content: bytes, seconds: float, *, inode: int = 1) -> None:
        changed = time.time_ns() - int(seconds * 1e9)
        self.view = memoryview(content)
        self.identity = Identity(1, inode, len(content), changed, changed)


def is_right(mappings: Mappings, one: Any) -> bool:
    return mappings.crc_is(one, 3, zlib.crc32(b"one"))


@pytest.mark.parametrize(("seconds", "remembered"), [(0.5, False), (10.0, True)])
def test_what_may_change_without_another_time_is_read_each_time(
    seconds: float, *, remembered: bool
) -> None:
    mappings, one = Mappings(), Fake(b"one", seconds)
    assert is_right(mappings, one)
    one.view = memoryview(b"two")
    assert is_right(mappings, one) == remembered
    one.identity = replace(one.identity, inode=2)
    assert not is_right(mappings, one)


def test_the_last_files_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that loads new files for years does not keep a word of each."""
    monkeypatch.setattr(_mapping, "_REMEMBERED", 3)
    mappings = Mappings()
    files = [Fake(b"one", 10.0, inode=number) for number in range(5)]
    assert all(is_right(mappings, one) for one in files)
    for one in files:
        one.view = memoryview(b"two")
    assert [is_right(mappings, one) for one in files] == [False, False, True, True, True]
