"""Where the commands begin, and how Ctrl-C, `kill` or a closed terminal ends one: cleaned up, in one word.

A signal becomes an exception in the main thread, so that compilers are stopped and temporary files go. A
main thread that waits for a lock does not hear of one that came to another thread, or just before it began to
wait: a thread that listens too sends it again. One that stays in C never hears of it: then that thread ends
the process.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_AGAIN_SECONDS = 2.0
"""A second signal within this time is the first one, impatiently: it must not break the clean-up off."""
_PATIENCE_SECONDS = 10.0
"""After a signal the process has this time to end by itself."""
_POKE_SECONDS = 0.2
"""After this time the main thread, if it has not heard of the signal, gets it again."""


class Interrupted(KeyboardInterrupt):
    """A signal that ends the process has come."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def inarch() -> int:
    """The console script `inarch`."""
    return guarded(_inarch)


def inarch_opt() -> int:
    """The console script `inarch-opt`."""
    return guarded(_inarch_opt)


def _inarch() -> int:
    from inarch.tools.cli import main  # not before signals are caught: it takes a while

    return main()


def _inarch_opt() -> int:
    from inarch.tools.opt import main

    return main()


def guarded(work: Callable[[], int]) -> int:
    """The exit code of `work`, the last that this process does: 128 + its number where a signal ended it."""
    gc.set_threshold(100_000, 50, 100)  # modules and IR live long: collecting young finds nothing
    read, write = os.pipe()
    os.set_blocking(write, False)
    heard: list[int] = []
    main = threading.get_ident()
    threading.Thread(target=_end_late, args=(read, main, heard), daemon=True).start()
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    caught = [number for number in _SIGNALS if _ends_us(number)]
    handle = _handler(heard)
    for number in caught:
        signal.signal(number, handle)
    after = signal.SIG_DFL
    try:
        return work()
    except KeyboardInterrupt as error:
        after = signal.SIG_IGN  # one more of them changes nothing
        number = error.number if isinstance(error, Interrupted) else int(signal.SIGINT)
        by = "" if number == signal.SIGINT else f" by {signal.Signals(number).name}"
        print(f"interrupted{by}", file=sys.stderr, flush=True)
        return 128 + number
    finally:
        heard.append(0)  # no more of them from our thread
        for number in caught:
            signal.signal(number, after)
        signal.set_wakeup_fd(-1)
        os.close(write)
        gc.freeze()  # nothing is collected any more: the system takes back all at once


def _ends_us(number: int) -> bool:
    """Whether it would; `nohup` and shells have some ignored."""
    return signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler)


def _handler(heard: list[int]) -> Callable[[int, FrameType | None], None]:
    last = -_AGAIN_SECONDS

    def handle(number: int, _frame: FrameType | None) -> None:
        nonlocal last
        heard.append(number)
        if time.monotonic() - last > _AGAIN_SECONDS:
            last = time.monotonic()
            raise Interrupted(number)

    return handle


def _end_late(read: int, main: int, heard: list[int]) -> None:
    """Ends the process some time after a signal, which C writes to the pipe at once. Runs in a thread."""
    for number in iter(lambda: os.read(read, 1), b""):
        if number[0] in _SIGNALS:
            end = time.monotonic() + _PATIENCE_SECONDS
            while time.monotonic() < end:
                time.sleep(min(_POKE_SECONDS, _PATIENCE_SECONDS))
                if not heard:
                    signal.pthread_kill(main, number[0])
            os._exit(128 + number[0])
