"""The thresholds of Python's collector while a program is compiled."""

from __future__ import annotations

import gc
import threading

import pytest

import inarch
from inarch.core.collector import collected_rarely
from inarch.core.errors import InarchError


def test_the_last_of_several_restores_them() -> None:
    before, inside = gc.get_threshold(), threading.Event()
    entered = threading.Event()

    def other() -> None:
        with collected_rarely():
            entered.set()
            inside.wait(10)

    thread = threading.Thread(target=other)
    with collected_rarely():
        thread.start()
        entered.wait(10)
        assert gc.get_threshold()[0] > before[0]
    assert gc.get_threshold()[0] > before[0]
    inside.set()
    thread.join()
    assert gc.get_threshold() == before


def test_what_a_user_has_set_stays() -> None:
    before = gc.get_threshold()
    try:
        for own in ((0, 0, 0), (10**6, 5, 5)):
            gc.set_threshold(*own)
            with collected_rarely():
                assert gc.get_threshold() == own
            assert gc.get_threshold() == own
        gc.set_threshold(700, 10, 10)
        with collected_rarely():
            gc.set_threshold(123, 4, 5)
        assert gc.get_threshold() == (123, 4, 5)
    finally:
        gc.set_threshold(*before)


def test_a_compilation_that_fails_restores_them() -> None:
    before = gc.get_threshold()
    with pytest.raises(InarchError):
        inarch.compile("absent.onnx")
    assert gc.get_threshold() == before
