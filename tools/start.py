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
    """The exit code of `work`, the last that this process does: 128 + the number of a signal that came in it.

    Also where `work` came to its end all the same: whoever sent the signal is told that it was heard.
    """
    gc.set_threshold(100_000, 50, 100)  # modules and IR live long: collecting young finds nothing
    read, write = os.pipe()
    os.set_blocking(write, False)
    heard = _Heard()
    main = threading.get_ident()
    threading.Thread(target=_end_late, args=(read, main, heard), daemon=True).start()
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    caught = [number for number in _SIGNALS if _ends_us(number)]
    for number in caught:
        signal.signal(number, heard.handle)
    try:
        try:
            code = work()
        finally:
            heard.is_over = True
    except KeyboardInterrupt:
        heard.first = heard.first or int(signal.SIGINT)  # some code raised it by itself
        code = 0
    finally:
        # After a signal one more of them changes nothing.
        after = signal.SIG_IGN if heard.first else signal.SIG_DFL
        for number in caught:
            signal.signal(number, after)
        signal.set_wakeup_fd(-1)
        os.close(write)
        gc.freeze()  # nothing is collected any more: the system takes back all at once
    if not heard.first:
        return code
    by = "" if heard.first == signal.SIGINT else f" by {signal.Signals(heard.first).name}"
    print(f"interrupted{by}", file=sys.stderr, flush=True)
    return 128 + heard.first


def _ends_us(number: int) -> bool:
    """Whether it would; `nohup` and shells have some ignored."""
    return signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler)


class _Heard:
    """Signals that the main thread received, and their effect."""

    def __init__(self) -> None:
        self.first = 0
        """The number of the first one."""
        self.is_over = False
        """Whether the work has ended: nothing is broken off any more."""
        self._last = -_AGAIN_SECONDS

    def handle(self, number: int, _frame: FrameType | None) -> None:
        """Breaks the work off."""
        self.first = self.first or number
        if not self.is_over and time.monotonic() - self._last > _AGAIN_SECONDS:
            self._last = time.monotonic()
            raise Interrupted(number)


def _end_late(read: int, main: int, heard: _Heard) -> None:
    """Ends the process some time after a signal, which C writes to the pipe at once. Runs in a thread."""
    for number in iter(lambda: os.read(read, 1), b""):
        if number[0] in _SIGNALS:
            end = time.monotonic() + _PATIENCE_SECONDS
            while time.monotonic() < end:
                time.sleep(min(_POKE_SECONDS, _PATIENCE_SECONDS))
                if not heard.first and not heard.is_over:
                    signal.pthread_kill(main, number[0])
            os._exit(128 + number[0])
