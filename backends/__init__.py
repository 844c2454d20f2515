"""What programs become: the backends, one package each.

A backend is a module or package here that defines `BACKEND`, an object with `name`, `api` and
`emit_text(ctx, module) -> str`: what `inarch-opt -t <name>` prints for a lowered module. Its lit tests are
in `tests/lit/backends/<name>/`; nothing else is edited. Imports only the core, dialects and passes.
`inarch list backends` shows them; other distributions add theirs in the entry-point group
`inarch.backends`. Example: `inarch-opt model.mlir -t c`.
"""

from __future__ import annotations

from typing import Protocol

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from inarch.plugins import Extensions


class Backend(Protocol):
    """What every backend has."""

    @property
    def name(self) -> str:
        """How `-t` calls it."""
        ...

    @property
    def api(self) -> int:
        """The version of this interface, 1."""
        ...

    def emit_text(self, ctx: Context, module: ModuleOp) -> str:
        """The program as text. Raises InarchError at the op that it cannot express."""
        ...


BACKENDS: Extensions[Backend] = Extensions("inarch.backends", "BACKEND")
