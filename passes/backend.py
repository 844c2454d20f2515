"""What a backend is: the patterns it takes, and how it emits what it was given.

A backend states data and one function. It tags ops; it never rewrites the host's graph. It is found by
name (`BACKENDS`): a folder or file `backends/<name>` that defines `BACKEND`, an entry point of the
group `inarch.backends`, or a file given by `--load`. No pass imports one.

    BACKEND = Backend(
        name="toy", description="Adds and multiplies with a toy.", ops=("add", "mul"), emit=emit
    )

`docs/backends.md` walks through one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from inarch.core.errors import InarchError
from inarch.core.plugins import API_VERSION, Extensions
from inarch.passes.pattern import NamedPattern


@dataclass(frozen=True)
class EmitRequest:
    """What a backend is asked to emit: its functions, together, so that they can share code."""

    functions: tuple[FuncOp, ...]
    """`func.func private @foo_0(...) attributes {compiler = "foo"}` on tensors, in program order.

    Bodies hold graph ops, `graph.constant`s, and `graph.composite`s of the backend's patterns."""
    context: Context
    """Whose constant store (`inarch.ir.context.store_of`) has the bytes of constants."""
    target: str
    """The module's `inarch.target`."""
    options: Mapping[str, str] = field(default_factory=dict[str, str])
    """The backend's options, defaults filled in."""

    def names(self) -> tuple[str, ...]:
        """The symbols of the functions, which the emission has to provide."""
        return tuple(function.sym_name.data for function in self.functions)


@dataclass(frozen=True)
class Emission:
    """What a backend made of its functions.

    `format` `"c"`: `text` is C source that is compiled and linked into the model's library; it defines
    each of `symbols` as `int32_t symbol(void *self, DLTensor *args, int32_t n)` (inputs, then outputs; 0
    is success), and may `#include "inarch.h"`. Any other format is the name of a loader
    (`inarch.runtime.loaders`): `text` or `data` becomes a submodule of the artifact whose functions
    are `symbols`.
    """

    format: str
    symbols: tuple[str, ...]
    text: str = ""
    data: bytes = b""
    """The bytes of a format that is not text, in place of `text`."""
    include_dirs: Sequence[Path | str] = ()
    libraries: Sequence[Path | str] = ()
    """Shared libraries that C source calls, by path; found again at load time by their path."""
    package: str = ""
    """What to install where they are missing, for that error: `scipy-openblas32`."""
    cflags: tuple[str, ...] = ()

    @property
    def content(self) -> bytes:
        """The bytes of the submodule: `data`, else `text` in UTF-8. Of C, the source."""
        return self.data or self.text.encode()

    def __post_init__(self) -> None:
        for name in ("symbols", "cflags", "include_dirs", "libraries"):
            value = getattr(self, name)
            if isinstance(value, str | Path):  # a string is a sequence of characters, too
                raise InarchError(f"expected a tuple in Emission.{name}, found '{value}'")
        for name in ("include_dirs", "libraries"):
            object.__setattr__(self, name, tuple(Path(each) for each in getattr(self, name)))


Emit = Callable[[EmitRequest], Emission]


def _accept_all(_: Operation) -> str | None:
    return None


def _ready() -> str:
    return "ready"


@dataclass(frozen=True)
class Backend:
    """A codegen, an engine, a library: what it takes, and how it emits.

    Patterns come before single ops, earlier patterns before later ones, and a larger match before a
    smaller one of the same pattern (an optional part that is there is taken).
    """

    name: str
    description: str
    """One line, for `inarch list backends`."""
    emit: Emit
    ops: tuple[str, ...] = ()
    """Single graph ops that it takes, with or without the prefix `graph.`."""
    patterns: tuple[NamedPattern, ...] = ()
    accepts: Callable[[Operation], str | None] = _accept_all
    """Asked for every op that a match would take: None, or the reason to refuse, with values."""
    requires: tuple[str, ...] = ()
    """Graph passes that run before this backend's patterns are matched.

    What they change stays as they made it where this backend takes a part of it, and is undone elsewhere."""
    options: Mapping[str, str] = field(default_factory=dict[str, str])
    """Option names with their defaults."""
    bind_constants: bool = True
    """Whether constants go into the offloaded functions; else they are passed as arguments."""
    min_ops: int = 1
    """Regions with fewer ops (constants not counted) stay with the host."""
    max_regions: int | None = None
    """At most this many regions, the largest first."""
    status: Callable[[], str] = _ready
    """`ready`, or what is missing on this machine; for `inarch list backends`."""
    emit_text: Callable[[Context, ModuleOp], str] | None = None
    """What `inarch-opt -t <name>` prints, where that is not the emissions' texts."""
    api: int = API_VERSION

    def op_names(self) -> Sequence[str]:
        """`ops` with their prefix."""
        return [name if "." in name else f"graph.{name}" for name in self.ops]


BACKENDS: Extensions[Backend] = Extensions("inarch.backends", "BACKEND", one_name=True)
"""Every backend by name; asking for one that does not exist raises with the nearest name."""
