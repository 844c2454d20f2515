"""What a backend is: the patterns it takes, and how it emits what it was given.

A backend states data and one function. It tags ops; it never rewrites the host's graph. It is found by
name (`BACKENDS`): a folder or file `backends/<name>` that defines `BACKEND`, an entry point of the
group `inarch.backends`, or a file given by `--load`. No pass imports one.

    BACKEND = Backend(
        name="toy", description="Adds and multiplies with a toy.", ops=("add", "mul"), emit=emit
    )

What is asked in a compilation is an instance: a backend with a name and values of its options.
`docs/backends.md` walks through one; `docs/backends-reference.md` has all of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from inarch.core.errors import InarchError, UsageError, unknown
from inarch.core.lazy import Array, np
from inarch.core.plugins import API_VERSION, Extensions
from inarch.ir.context import store_of
from inarch.ir.payload.constants import constant_array, is_constant
from inarch.machine.machine import Machine
from inarch.offload.option import Option, Value
from inarch.offload.pattern import NamedPattern
from inarch.offload.region import Cost, Decide, Merge, Region, Shrink, Split, Veto
from inarch.offload.region_cache import cached

__all__ = [
    "BACKENDS",
    "Backend",
    "Emission",
    "EmitRequest",
    "Instance",
    "Merge",
    "Option",
    "Region",
    "Request",
    "Shrink",
    "Split",
    "Veto",
]


@dataclass(frozen=True, kw_only=True)
class Request:
    """What an instance of a backend is asked with, about any op: by `accepts`, `where` and `specialize`."""

    context: Context
    """Whose constant store (`inarch.ir.context.store_of`) has the bytes of constants."""
    target: str
    """The module's `inarch.target`."""
    machine: Machine | None = None
    """Who will run the host's part."""
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The instance's options, defaults filled in: int, float, bool or str, as they are declared."""
    instance: str = ""
    """The instance's name, with which its symbols begin; where none was given, the backend's."""

    def constant(self, of: SSAValue | Operation) -> Array | None:
        """The (read-only) array of a `graph.constant`, of any size; None of anything else."""
        op = of if isinstance(of, Operation) else of.owner
        value = op.properties.get("value") if isinstance(op, Operation) else None
        if not is_constant(value):
            return None
        return constant_array(value, store_of(self.context))


@dataclass(frozen=True, kw_only=True)
class EmitRequest(Request):
    """What a backend is asked to emit: its functions, together, so that they can share code."""

    functions: tuple[FuncOp, ...]
    """`func.func private @foo_0(...) attributes {compiler = "foo"}` on tensors, in program order.

    Bodies hold graph ops, `graph.constant`s, and `graph.composite`s of the backend's patterns."""

    backend: str = ""
    version: str = ""
    """The backend's own, of which `cached` is; empty: nothing is kept."""
    source: str = ""
    """Tells the files of the backend, where it has a `version`, from what they were before."""
    reused: list[str] = field(default_factory=list[str])
    """The symbols of which `cached` gave what was kept, for the report."""

    def cached(self, function: FuncOp, make: Callable[[], bytes], *more: str) -> bytes:
        """`make()`, or what it gave in an earlier compilation for a region that is equal to `function`.

        For what takes long. Kept where the backend states a `version`, by region (without its symbol, which
        `make` must not look at), options, target, machine, version, and the files of the backend
        (`inarch.core.code`); `more` is what else `make` looks at. The entry is in the user's cache.
        """
        return cached(self, function, make, *more)

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
    """The bytes of a format that is not text; `text` beside it is the source that people read."""
    include_dirs: Sequence[Path | str] = ()
    libraries: Sequence[Path | str] = ()
    """Shared libraries that C source calls, by path; found again at load time by their path."""
    package: str = ""
    """What to install where they, or the format's loader, are missing, for that error: `scipy-openblas32`."""
    cflags: tuple[str, ...] = ()
    license: str = ""
    """Of what becomes part of the artifact, as an SPDX expression (`BSD-3-Clause`); the manifest names it."""
    weights: Mapping[str, Array | bytes] = field(default_factory=dict[str, Any])
    """Arrays by name (bytes are of `ui8`) that are mapped from the artifact, which has equal ones once.

    A loader gets them beside the program (`Shipped.weights`, `bind_weights` in C). A function of C gets
    those that it uses in `args` between its inputs and its outputs, as arguments that do not change."""
    uses: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """By symbol, the names of the weights that it uses, in order; all, where it is not in here."""
    metadata: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    """By symbol, what is said of it, text by name: `{"npu_0": {"cycles": "1200"}}`; the manifest has it."""
    state: str = ""
    """Of C that has a state for each instance of the program: what its functions for that begin with.

    `int32_t NAME_init(void **state)` makes it, `void NAME_destroy(void *state)` ends it, and what it made is
    the `self` of all functions; `const char *NAME_last_error(void)` says why one of them failed."""
    version: str = ""
    """Of what made `data`, as the backend counts; `Loader.compatible` is asked about it."""
    machine: str = ""
    """The device that `data` is for; asked about, too."""

    @property
    def content(self) -> bytes:
        """The bytes of the submodule: `data`, else `text` in UTF-8. Of C, the source."""
        return self.data or self.text.encode()

    @property
    def arrays(self) -> Mapping[str, Array]:
        """The weights by name, row-major."""
        return cast("Mapping[str, Array]", self.weights)

    def used(self, symbol: str) -> tuple[str, ...]:
        """The names of the weights that a function uses, in order."""
        return tuple(self.uses.get(symbol, self.weights))

    def __post_init__(self) -> None:
        for name in ("symbols", "cflags", "include_dirs", "libraries"):
            value = getattr(self, name)
            if isinstance(value, str | Path):  # a string is a sequence of characters, too
                raise InarchError(f"expected a tuple in Emission.{name}, found '{value}'")
        for name in ("include_dirs", "libraries"):
            object.__setattr__(self, name, tuple(Path(each) for each in getattr(self, name)))
        bound = {name: _array(each) for name, each in self.weights.items()}
        object.__setattr__(self, "weights", bound)


def _array(weight: Array | bytes) -> Array:
    """A row-major array; its memory is kept, and must not change."""
    if isinstance(weight, bytes | bytearray | memoryview):
        return np.frombuffer(weight, np.uint8)
    return np.ascontiguousarray(weight).reshape(np.shape(weight))  # which are 1 for a number


Emit = Callable[[EmitRequest], Emission]
"""It may raise `inarch.offload.hand_back.HandBackError`: the host is to have that function."""


Accepts = Callable[[Operation], str | None] | Callable[[Operation, Request], str | None]


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
    accepts: Accepts = _accept_all
    """Asked for every op that a match would take: None, or the reason to refuse, with values.

    With a second parameter it also gets the `Request`: options, target, machine, constants."""
    requires: tuple[str, ...] = ()
    """Graph passes, with options as in pipelines, that run before this backend's patterns are matched.

    `$name` in their text is the value of the instance's option: `"quantize{scale=$scale}"`. What they change
    stays as they made it where this backend takes a part of it, and is undone elsewhere."""
    passes: tuple[str, ...] = ()
    """Passes, written as in `requires`, on a copy of its functions, before `emit` gets them."""
    options: Mapping[str, Option | str] = field(default_factory=dict[str, Option | str])
    """Option names, in kebab-case, with what they are; a string is an option of text with that default."""
    specialize: Callable[[Backend, Request], Backend] | None = None
    """The backend as one instance has it: `dataclasses.replace(backend, patterns=...)`, by `request.options`.

    Its name, its options and how it emits stay."""
    bind_constants: bool = True
    """Whether constants go into the offloaded functions; else they are passed as arguments."""
    cost: Cost | None = None
    """Seconds that a call of a region (`inarch.offload.region.Region`) takes, with what it moves.

    A region that the host would do faster goes back. With a second parameter it also gets the `Request`."""
    decide: Decide | None = None
    """Asked with all its regions, once they are formed: gives or yields `Veto`, `Shrink`, `Split`, `Merge`.

    With a second parameter it also gets the `Request`."""
    min_ops: int = 1
    """Regions with fewer ops (constants not counted) stay with the host."""
    max_regions: int | None = None
    """At most this many regions, the largest first."""
    tolerance: str = ""
    """How far its regions may be from their definition (`inarch verify`): `snr=20`, `steps=1,snr=30`.

    `steps` are of integers, the others (`offload/tolerance.py`) of floats. By default 1e-4 of a value's
    largest magnitude; integers are exact."""
    status: Callable[[], str] = _ready
    """`ready`, or what is missing on this machine; for `inarch list backends`."""
    emit_text: Callable[[Context, ModuleOp], str] | None = None
    """What `inarch-opt -t <name>` prints, where that is not the emissions' texts."""
    version: str = ""
    """Of what it emits: with another one, nothing that `EmitRequest.cached` kept is used. In the manifest."""
    api: int = API_VERSION

    def op_names(self) -> Sequence[str]:
        """`ops` with their prefix."""
        return [name if "." in name else f"graph.{name}" for name in self.ops]

    def declared(self) -> dict[str, Option]:
        """The options by name; one of which the default alone is given is text."""
        return {
            name: Option("text", option) if isinstance(option, str) else option
            for name, option in self.options.items()
        }

    def configure(self, name: str = "", /, **options: object) -> Instance:
        """An instance of this backend, called `name`, with values of `options` in Python or as text.

        Where an option's name has a hyphen, an underscore stands for it. Raises UsageError for a name
        that is none, an option that does not exist, and a value that the option does not have.
        """
        known = self.declared()
        given: dict[str, object] = {}
        for key, value in options.items():
            dashed = key.replace("_", "-")
            given[key if key in known or dashed not in known else dashed] = value
        return Instance.of(self, name or self.name, given)


@dataclass(frozen=True)
class Instance:
    """A backend with a name and values of its options: what `--backend big=npu:array=32` asks for."""

    name: str
    backend: Backend
    given: tuple[tuple[str, Value], ...] = ()
    """The options that are not at their defaults, in the order of their declaration."""

    @classmethod
    def of(cls, backend: Backend, name: str, given: Mapping[str, object]) -> Instance:
        """The instance with the options `given`, checked. Raises UsageError."""
        if name != backend.name:
            _check_name(name, backend)
        known = backend.declared()
        values: dict[str, Value] = {}
        for option, value in given.items():
            if option not in known:
                raise unknown("option", option, known, within=f"backend '{backend.name}'")
            values[option] = known[option].value(
                value, f"option '{option}' of backend '{backend.name}'"
            )
        return cls(
            name,
            backend,
            tuple(
                (option, values[option])
                for option in known
                if option in values and values[option] != known[option].default
            ),
        )

    @property
    def options(self) -> dict[str, Value]:
        """All options by name, defaults filled in."""
        return {name: each.default for name, each in self.backend.declared().items()} | dict(
            self.given
        )

    @property
    def texts(self) -> dict[str, str]:
        """All options as text: what artifacts and `inarch explain` say."""
        known = self.backend.declared()
        return {name: known[name].text(value) for name, value in self.options.items()}

    @property
    def is_plain(self) -> bool:
        """Whether the backend's name says all."""
        return self.name == self.backend.name and not self.given

    def __str__(self) -> str:
        """As `--backend` takes it: `big=npu:array=32`; equal instances have equal texts."""
        prefix = "" if self.name == self.backend.name else f"{self.name}="
        known = self.backend.declared()
        settings = [f"{name}={quoted(known[name].text(value))}" for name, value in self.given]
        return f"{prefix}{self.backend.name}{':' if settings else ''}{','.join(settings)}"


def quoted(text: str) -> str:
    """The value of an option as the text of an instance has it: in quotes where it could be misread."""
    return "'" + text.replace("'", "''") + "'" if not text or re.search(r"[,'\s]", text) else text


def _check_name(name: str, backend: Backend) -> None:
    if re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", name) is None:
        raise UsageError(
            f"expected a name of letters, digits, '-' and '_' for the instance of backend '{backend.name}', "
            f"found '{name}'"
        )
    if name in BACKENDS or name == "host":
        what = "the host's" if name == "host" else "that of a backend"
        raise UsageError(
            f"the name '{name}' is {what}; give the instance of backend '{backend.name}' another one"
        )


BACKENDS: Extensions[Backend] = Extensions("inarch.backends", "BACKEND", one_name=True)
"""Every backend by name; asking for one that does not exist raises with the nearest name."""
