"""What is called: functions, modules, computations. Compiled calls take the place of its `__call__`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


class Called:
    """`__call__` tries the quick way that there is, and leaves all else, and every message, to `_general`."""

    _plan: Any = None
    """Of the extension, which reads it by this name; False: none can be made."""
    _quick: Callable[[Sequence[object]], bool] | None = None
    """Of calls that take cffi for good."""

    def __call__(
        self,
        /,
        *args: object,
        out: object = None,
        threads: object = None,
        **by_name: object,
    ) -> Any:
        """Inputs, by position or name; outputs behind them, in `out`, or made."""
        quick = self._quick
        if quick is not None and threads is None and not by_name:
            given = args if out is None else (*args, out)
            if quick(given):
                return given[-1]
        return self._general(*args, out=out, threads=threads, **by_name)

    def _general(
        self, /, *args: Any, out: Any = None, threads: object = None, **by_name: Any
    ) -> Any:
        """The call in Python: what the quick ways do not take."""
        raise NotImplementedError
