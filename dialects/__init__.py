"""What programs are: the dialects, highest level first: `graph`, `loop`, `kernel`.

A dialect is a folder; each of its files is one family of ops. To add an op, write its class into a
file here and its lit test at the same path under `tests/lit/dialects/`; nothing else is edited.
Imports only the core (`inarch.*`) and xDSL. `inarch list dialects` shows them.
"""

from __future__ import annotations

from functools import partial

from xdsl.context import Context
from xdsl.ir import Dialect

from inarch.core.plugins import Extensions
from inarch.ir.context import make_context

DIALECTS: Extensions[Dialect] = Extensions("inarch.dialects", "DIALECT")

_XDSL = ("func", "arith", "math", "memref", "scf", "tensor")
"""The dialects of xDSL that Inarch's programs may use."""


def _xdsl_dialect(name: str) -> Dialect:
    from xdsl.dialects import get_all_dialects

    return get_all_dialects()[name]()


def new_context() -> Context:
    """A context with its own constant store, for Inarch's programs.

    It knows every dialect of Inarch and of plugins, and of xDSL those that Inarch uses.
    """
    ours = {name: partial(DIALECTS.__getitem__, name) for name in DIALECTS}
    theirs = {name: partial(_xdsl_dialect, name) for name in _XDSL}
    return make_context({**theirs, **ours})
