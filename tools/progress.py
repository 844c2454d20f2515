"""Progress of long work: one line that follows what is being done on a terminal, or a line a step."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from inarch.core.outside.printable import printable, printable_stream

if TYPE_CHECKING:
    from inarch.driver.compiler import Progress


DELAY_SECONDS = 1.0
"""Work shorter than this shows nothing."""


@contextmanager
def progress(*, quiet: bool = False, verbose: bool = False) -> Generator[Progress | None]:
    """A callback for `inarch.driver.compiler`, or None where nobody is looking (no terminal, no rich).

    `verbose`: it prints each step, with the seconds since the first, wherever stderr goes.
    """
    if verbose:
        yield _told()
        return
    if quiet or not sys.stderr.isatty():
        yield None
        return
    try:
        from rich.console import Console
        from rich.markup import escape
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
        from rich.progress import Progress as Bar
    except ImportError:
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    bar = Bar(*columns, console=Console(file=printable_stream(sys.stderr)), transient=True)
    task = bar.add_task("")
    # One step may take all the time, and says nothing until it is done.
    timer = threading.Timer(DELAY_SECONDS, bar.start)
    timer.daemon = True
    timer.start()

    def report(what: str, done: int, total: int) -> None:
        bar.update(task, description=escape(printable(what)), completed=done, total=total)

    try:
        yield report
    finally:
        timer.cancel()
        timer.join()
        if bar.live.is_started:
            bar.stop()


def _told() -> Progress:
    start = time.monotonic()

    def report(what: str, done: int, total: int) -> None:
        seconds = time.monotonic() - start
        print(f"[{seconds:7.2f} s] {what} ({done} of {total} done)", file=sys.stderr, flush=True)

    return report
