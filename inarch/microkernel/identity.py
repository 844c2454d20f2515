"""What tells one state of a kernel's code from another: measurements of one are none of the other."""

from __future__ import annotations

from inarch.core.cache import key_of
from inarch.core.errors import InarchError
from inarch.machine.libraries import library_path
from inarch.meaning import text
from inarch.microkernel._data import Instance
from inarch.microkernel._source import instance_source


def identity_of(instance: Instance) -> str:
    """A name for the member's code: its source, how it is called and compiled, and its library's bytes."""
    kernel = instance.kernel
    try:
        library = library_path(kernel.library).read_bytes() if kernel.library is not None else b""
    except (InarchError, OSError):  # it is not there: no state of it is this one
        library = b"missing"
    return key_of(
        text(instance.meaning),
        "" if kernel.registered is not None else instance_source(instance),
        repr((kernel.symbol, kernel.declare, kernel.call, kernel.registered)),
        repr(
            (
                tuple(kernel.libraries),
                tuple(kernel.cflags),
                kernel.contract,
                kernel.flushes,
                sorted(kernel.align.items()),
            )
        ),
        repr(sorted((name, tuple(each)) for name, each in kernel.layout.items())),
        library,
    )[:32]
