"""The file of a pool: what is added to it, by whom, and what happens when that goes wrong."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from inarch.core.cache import Cache
from inarch.driver.keep import pool
from inarch.driver.keep.pool import Pool
from inarch.ir.payload.shared import Piece, Places


def _pieces(rng: np.random.Generator, count: int) -> list[bytes]:
    """Many are equal, or equal but for one byte; some are larger than what they are looked for by."""
    found: list[bytes] = []
    for _ in range(count):
        if found and rng.random() < 0.6:
            piece = bytearray(found[rng.integers(len(found))])
            if rng.random() < 0.5:
                piece[rng.integers(len(piece))] ^= 1
            found.append(bytes(piece))
        else:
            found.append(bytes(int(rng.choice([1, 63, 64, 65, 4096, 50_000]))))
    return found


def placed(own: Pool, pieces: Iterable[bytes | memoryview], nbytes: int) -> Places | None:
    """Pieces of which nobody knows where they are from."""
    return own.place((Piece(len(each), partial(memoryview, each)) for each in pieces), nbytes)


def test_what_was_placed_before_is_not_made_again(tmp_path: Path) -> None:
    """By its origin; another process, and another pool in its place, know nothing of it."""
    made: list[str] = []

    def piece(text: str) -> Piece:
        def make() -> memoryview:
            made.append(text)
            return memoryview(text.encode())

        return Piece(len(text), make, origin=("file", text))

    def run(own: Pool, *texts: str) -> list[str]:
        made.clear()
        places = own.place(map(piece, texts), 100)
        assert places is not None
        for text, at in zip(texts, places.offsets, strict=True):
            assert places.view[at : at + len(text)] == text.encode()
        return list(made)

    own = Pool(Cache(tmp_path), "ab" * 32)
    assert run(own, "one", "two") == ["one", "two"]
    assert run(own, "two", "three", "one") == ["three"]
    assert run(Pool(Cache(tmp_path), "ab" * 32), "two") == ["two"]
    Cache(tmp_path).path("ab" * 32).unlink()
    assert run(own, "three", "one") == ["three", "one"]


def test_places_are_of_content(tmp_path: Path) -> None:
    """Equal bytes have one place, others have others, in every order of processes that add."""
    rng, where = np.random.default_rng(8), Cache(tmp_path)
    pools = [Pool(where, "cd" * 32) for _ in range(2)]
    known: dict[bytes, int] = {}
    for _ in range(12):
        own = pools[rng.integers(2)] if rng.random() < 0.8 else Pool(where, "cd" * 32)
        pieces = _pieces(rng, 12)
        places = placed(own, pieces, sum(map(len, pieces)))
        assert places is not None
        for piece, offset in zip(pieces, places.offsets, strict=True):
            assert known.setdefault(piece, offset) == offset
            assert offset % 64 == 0
            assert places.view[offset : offset + len(piece)] == piece
        assert len(set(known.values())) == len(known)
        for other in pools:
            assert other.view(places.said) == places.view


def test_a_pool_that_grows_is_mapped_once(tmp_path: Path) -> None:
    here, there = (Pool(Cache(tmp_path), "ab" * 32) for _ in range(2))
    views: list[memoryview] = []
    for number in range(6):
        places = placed((here, there)[number % 2], [bytes([number]) * 9000], 9000)
        assert places is not None
        views.append(places.view)
    assert [view[-64:][0] for view in views] == [*range(6)]
    assert Path("/proc/self/maps").read_text().count("ab" * 32) == 2


def test_a_process_that_is_killed_leaves_what_was_there(tmp_path: Path) -> None:
    first, second = bytes(range(200)), b"other" * 3000
    own = Pool(Cache(tmp_path), "ef" * 32)

    def kill_one_that_adds() -> None:
        def pieces() -> Iterator[memoryview]:
            yield memoryview(second)
            os.kill(os.getpid(), signal.SIGKILL)

        child = os.fork()
        if child == 0:
            placed(Pool(Cache(tmp_path), "ef" * 32), pieces(), 10)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL

    kill_one_that_adds()
    before = placed(own, [first], 200)
    assert before is not None
    kill_one_that_adds()
    places = placed(own, [first, second[::-1]], 20_000)
    assert places is not None
    assert [bytes(places.view[at : at + 5]) for at in places.offsets] == [first[:5], b"rehto"]
    for each in (before, places):
        assert own.view(each.said) == each.view
        assert Pool(Cache(tmp_path), "ef" * 32).view(each.said) == each.view


def test_threads_that_add_at_once(tmp_path: Path) -> None:
    where, failed = Cache(tmp_path), list[BaseException]()
    shared = Pool(where, "ab" * 32)

    def add(own: Pool, seed: int) -> None:
        try:
            pieces = _pieces(np.random.default_rng(seed), 10)
            for _ in range(4):
                places = placed(own, pieces, 1)
                assert places is not None
                for piece, at in zip(pieces, places.offsets, strict=True):
                    assert places.view[at : at + len(piece)] == piece
        except BaseException as error:  # noqa: BLE001 - told below
            failed.append(error)

    owns = [shared, shared, Pool(where, "ab" * 32), Pool(where, "ab" * 32)]
    threads = [threading.Thread(target=add, args=(own, number)) for number, own in enumerate(owns)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_a_pool_that_is_removed_while_one_waits_for_it(tmp_path: Path) -> None:
    where, found = Cache(tmp_path), list[Places | None]()

    def add() -> None:
        found.append(placed(Pool(where, "ab" * 32), [b"b"], 1))

    waiting = threading.Thread(target=add)

    def pieces() -> Iterator[memoryview]:
        waiting.start()
        time.sleep(0.05)
        where.path("ab" * 32).unlink()
        yield memoryview(b"a")

    assert placed(Pool(where, "ab" * 32), pieces(), 1) is not None
    waiting.join()
    (places,) = found
    assert places is not None
    assert Pool(where, "ab" * 32).view(places.said) == b"b" + bytes(63)


def test_what_does_not_fit_leaves_what_was_there(tmp_path: Path) -> None:
    own = Pool(Cache(tmp_path, 40_000), "ab" * 32)
    pieces = [b"a" * 5000, b"b" * 5000, b"c" * 9000]
    before = placed(own, pieces[:1], 5000)
    assert before is not None
    assert placed(own, pieces, 19_000) is None
    after = placed(own, pieces[:2], 10_000)
    assert after is not None
    assert after.offsets[0] == before.offsets[0]
    assert Pool(Cache(tmp_path, 40_000), "ab" * 32).view(after.said) == after.view


def test_a_lock_that_nobody_gives_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "MOST_WAIT_S", 0.05)
    own = Pool(Cache(tmp_path), "ab" * 32)

    def pieces() -> Iterator[memoryview]:
        assert placed(Pool(Cache(tmp_path), "ab" * 32), [b"b"], 1) is None
        yield memoryview(b"a")

    assert placed(own, pieces(), 1) is not None


def test_a_pool_that_is_used_is_removed_last(tmp_path: Path) -> None:
    where = Cache(tmp_path, 40_000)
    own = Pool(where, "ab" * 32)
    places = placed(own, [b"a" * 5000], 5000)
    assert places is not None
    path = where.path("ab" * 32)
    os.utime(path, (1, 1))
    where.put("cd" * 32, bytes(9000))
    os.utime(where.path("cd" * 32), (100, 100))
    assert own.view(places.said) is not None
    where.max_bytes = 12_000
    where.evict()
    assert path.exists()
    assert not where.path("cd" * 32).exists()
    where.max_bytes = 0
    where.evict()
    assert own.view(places.said) == places.view  # as long as it is mapped
    assert Pool(where, "ab" * 32).view(places.said) is None
    assert placed(own, [b"b" * 5000], 5000) is not None  # another one in its place
    for each in (own, Pool(where, "ab" * 32)):
        assert each.view(places.said) is None
