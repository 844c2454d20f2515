"""The cache: where it is, what it keeps, and that nothing wrong ever comes out of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from inarch.core import cache as module
from inarch.core.cache import Cache, default_cache, key_of, replacing
from inarch.core.errors import EnvironmentFault, UsageError


def test_keys_tell_parts_apart() -> None:
    assert key_of("ab", "c") != key_of("a", "bc")
    assert key_of("a") == key_of(b"a")


def test_what_was_put_comes_back(tmp_path: Path) -> None:
    made = Cache(tmp_path)
    key = key_of("x")
    assert made.get(key) is None
    made.put(key, b"content")
    assert made.get(key) == b"content"
    assert Cache(tmp_path).get(key) == b"content"


@pytest.mark.parametrize("damage", ["truncate", "flip", "empty"])
def test_a_damaged_entry_is_a_miss(tmp_path: Path, damage: str) -> None:
    made = Cache(tmp_path)
    key = key_of("x")
    made.put(key, b"content")
    path = tmp_path / key[:2] / key
    data = path.read_bytes()
    path.write_bytes({"truncate": data[:-1], "flip": data[:-1] + b"!", "empty": b""}[damage])
    assert made.get(key) is None
    assert not path.exists()


def test_the_unused_goes_first(tmp_path: Path) -> None:
    made = Cache(tmp_path)
    keys = [key_of(str(number)) for number in range(4)]
    for age, key in enumerate(keys):
        made.put(key, bytes(3000))
        stamp = time.time() - 100 + age
        os.utime(tmp_path / key[:2] / key, (stamp, stamp))
    assert made.get(keys[0]) is not None  # used now: the second is the oldest
    Cache(tmp_path, max_bytes=10_000).evict()
    assert [made.get(key) is not None for key in keys] == [True, False, True, True]


def test_what_just_fits_stays(tmp_path: Path) -> None:
    made = Cache(tmp_path)
    keys = [key_of(str(number)) for number in range(2)]
    for key in keys:
        made.put(key, bytes(100))
    size = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
    Cache(tmp_path, max_bytes=size).evict()
    assert all(made.get(key) is not None for key in keys)


def test_the_first_entry_of_a_process_looks_at_what_others_left(tmp_path: Path) -> None:
    for number in range(4):
        Cache(tmp_path).put(key_of(str(number)), bytes(3000))
    Cache(tmp_path, max_bytes=7000).put(key_of("new"), b"small")
    size = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
    assert size <= 7000


def test_the_size_stays_bounded(tmp_path: Path) -> None:
    made = Cache(tmp_path, max_bytes=50_000)
    for number in range(100):
        made.put(key_of(str(number)), bytes(2000))
    size = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
    assert size <= 50_000 + 50_000 // 16 + 2 * 2032


def test_leftovers_of_killed_processes_go(tmp_path: Path) -> None:
    old, new = tmp_path / ".a.1.partial", tmp_path / ".b.2.partial"
    for path in (old, new):
        path.write_bytes(b"half")
    stamp = time.time() - 7200
    os.utime(old, (stamp, stamp))
    Cache(tmp_path).evict()
    assert (old.exists(), new.exists()) == (False, True)
    Cache(tmp_path, max_bytes=0).evict()
    assert new.exists(), "somebody is writing it"


def test_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INARCH_CACHE_DIR", str(tmp_path / "own"))
    assert default_cache().folder == tmp_path / "own"
    assert (tmp_path / "own").stat().st_mode & 0o777 == 0o700
    monkeypatch.setenv("INARCH_CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert default_cache().folder == tmp_path / "xdg" / "inarch"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert default_cache().folder == tmp_path / "home" / ".cache" / "inarch"


def test_its_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INARCH_CACHE_DIR", str(tmp_path))
    tmp_path.chmod(0o700)
    assert default_cache().max_bytes == 2 << 30
    monkeypatch.setenv("INARCH_CACHE_BYTES", "1000")
    assert default_cache().max_bytes == 1000
    monkeypatch.setenv("INARCH_CACHE_BYTES", "1 GB")
    with pytest.raises(UsageError) as caught:
        default_cache()
    assert str(caught.value) == "$INARCH_CACHE_BYTES: expected a number of bytes, found '1 GB'"


def test_unusable_is_one_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("INARCH_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with pytest.warns(UserWarning, match="cannot be used") as seen:
        made = default_cache()
    assert str(seen[0].message) == (
        f"the cache folder '{tmp_path}/file/cache' cannot be used (Not a directory); "
        "everything is built anew; set INARCH_CACHE_DIR to a folder of yours"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert default_cache() is made
    made.put(key_of("x"), b"content")
    assert made.get(key_of("x")) == b"content"


@pytest.mark.parametrize("mode", [0o777, 0o720, 0o702])
def test_a_folder_that_others_can_write_is_not_trusted(
    mode: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(mode)
    monkeypatch.setenv("INARCH_CACHE_DIR", str(tmp_path))
    with pytest.warns(UserWarning, match="others can write in it; run chmod 700 on it"):
        assert default_cache().folder != tmp_path


def test_a_folder_of_another_user_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever its mode: its owner can put there what is then linked."""
    tmp_path.chmod(0o700)
    monkeypatch.setenv("INARCH_CACHE_DIR", str(tmp_path))
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    with pytest.warns(UserWarning, match="cannot be used") as seen:
        made = default_cache()
    assert str(seen[0].message) == (
        f"the cache folder '{tmp_path}' cannot be used (it belongs to another user); "
        "everything is built anew; set INARCH_CACHE_DIR to a folder of yours"
    )
    assert made.folder != tmp_path


def test_an_entry_of_another_user_is_a_miss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Cache(tmp_path)
    made.put(key_of("x"), b"content")
    assert made.get(key_of("x")) == b"content"
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    assert made.get(key_of("x")) is None


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_an_entry_that_is_no_file_is_a_miss(tmp_path: Path, kind: str) -> None:
    """And nothing waits for whoever would write into a pipe."""
    made = Cache(tmp_path)
    made.put(key_of("x"), b"content")
    path = tmp_path / key_of("x")[:2] / key_of("x")
    moved = path.rename(tmp_path / "moved")
    {"link": lambda: path.symlink_to(moved), "pipe": lambda: os.mkfifo(path), "folder": path.mkdir}[
        kind
    ]()
    assert made.get(key_of("x")) is None


def test_an_entry_under_another_key_is_a_miss(tmp_path: Path) -> None:
    made = Cache(tmp_path)
    made.put(key_of("x"), b"content")
    made.put(key_of("y"), b"other")
    (tmp_path / key_of("x")[:2] / key_of("x")).replace(tmp_path / key_of("y")[:2] / key_of("y"))
    assert made.get(key_of("y")) is None


def test_folders_above_are_made_for_the_user_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INARCH_CACHE_DIR", str(tmp_path / "p" / "q" / "r"))
    before = os.umask(0)
    try:
        made = default_cache()
        made.put(key_of("x"), b"content")
    finally:
        os.umask(before)
    folders = [path for path in (tmp_path / "p", *(tmp_path / "p").rglob("*")) if path.is_dir()]
    assert len(folders) == 4
    assert {path.stat().st_mode & 0o777 for path in folders} == {0o700}


def test_a_name_as_long_as_names_can_be_is_written(tmp_path: Path) -> None:
    for name in ("n" * 255, "\u00e9" * 127):
        with replacing(tmp_path / name) as file:
            file.write(b"content")
        assert (tmp_path / name).read_bytes() == b"content"


def test_a_full_disk_only_forgets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path) -> None:
        raise EnvironmentFault(f"cannot write '{path}': No space left on device")

    monkeypatch.setattr(module, "replacing", full)
    made = Cache(tmp_path)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        made.put(key_of("x"), b"content")
        made.put(key_of("y"), b"content")  # which says nothing more
    path = tmp_path / key_of("x")[:2] / key_of("x")
    assert [str(one.message) for one in warned] == [
        f"the cache does not keep what is built: cannot write '{path}': No space left on device"
    ]
    assert made.get(key_of("x")) is None


def test_replacing_leaves_the_old_file_when_the_block_fails(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def write() -> None:
        with replacing(path) as file:
            file.write(b"new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write()
    assert path.read_text() == "old"
    assert [item.name for item in tmp_path.iterdir()] == ["file"]


def test_replacing_a_link_replaces_what_it_points_to(tmp_path: Path) -> None:
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_text("old")
    link.symlink_to(path.name)
    with replacing(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert path.read_text() == "new"


def test_replacing_says_where_it_cannot_write(tmp_path: Path) -> None:
    path = tmp_path / "no" / "file"
    with pytest.raises(EnvironmentFault) as caught, replacing(path):
        pass
    assert str(caught.value) == f"cannot write '{path}': No such file or directory"


_HAMMER = """
import sys
from pathlib import Path
from inarch.core.cache import Cache, key_of
cache = Cache(Path(sys.argv[1]), max_bytes=300_000)
print("ready", flush=True)
for number in range(int(sys.argv[2])):
    key = key_of(str(number % 40))
    content = str(number % 40).encode() * 5000
    found = cache.get(key)
    assert found is None or found == content, number
    cache.put(key, content)
"""


def test_two_processes_and_a_killed_one(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _HAMMER, str(tmp_path)]
    both = [subprocess.Popen([*command, "300"]) for _ in range(2)]
    with subprocess.Popen([*command, "100000000"], stdout=subprocess.PIPE) as victim:
        assert victim.stdout is not None
        victim.stdout.readline()
        time.sleep(0.1)
        victim.send_signal(signal.SIGKILL)
    assert [process.wait() for process in both] == [0, 0]
    made = Cache(tmp_path)
    for number in range(40):
        assert made.get(key_of(str(number))) in (None, str(number).encode() * 5000)


def test_many_files_are_looked_at_by_one_process_in_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look at a hundred thousand takes a second, which each compilation paid."""
    monkeypatch.setattr("inarch.core.cache._MANY", 3)
    looks: list[Cache] = []
    evict = Cache.evict

    def look(cache: Cache) -> None:
        looks.append(cache)
        evict(cache)

    monkeypatch.setattr(Cache, "evict", look)
    for number in range(8):
        Cache(tmp_path, 1 << 20).put(f"{number:064d}", b"x")
    assert len(looks) == 4  # until there were more than three
    Cache(tmp_path, 16 * 40).put("a" * 64, bytes(41))
    assert len(looks) == 5  # what is written counts at once
    os.utime(tmp_path / ".scanned", (0, 0))
    Cache(tmp_path, 1 << 20).put("b" * 64, b"x")
    assert len(looks) == 6
