"""What `emit` raises about one of its functions: the host is to have it, or it cannot be emitted."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp


class HandBackError(Exception):
    """The host is to have a function; the others are emitted: `HandBackError(function, "needs 5 KiB")`."""

    def __init__(self, function: FuncOp | str | None, reason: str) -> None:
        """`function` None: all of them."""
        super().__init__(reason)
        self.symbol = function.sym_name.data if isinstance(function, FuncOp) else function
        self.reason = reason


class EmitError(Exception):
    """A function cannot be emitted, and the compilation fails: `raise EmitError(function, "axis 4 > 3")`."""

    def __init__(self, function: FuncOp | str, message: str) -> None:
        super().__init__(message)
        self.symbol = function if isinstance(function, str) else function.sym_name.data
        self.message = message
