"""What an artifact says of itself: functions and their signatures, imports, sizes and hashes.

`parse` makes a `Manifest` of a JSON object and refuses, with the field's path, whatever does not
have its type or its range; nothing after it needs to check. docs/artifact.md has an example.
"""

from __future__ import annotations

import os
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, cast

from inarch.core.dtypes import DTYPES, DType
from inarch.core.errors import InarchError

FORMAT = 2
"""The layout of the file; a reader refuses any other."""

ABI = 2
"""The C interface of the library; `<prefix>_abi_version()` returns it."""

_MAX_BYTES = 1 << 62
_MAX_ARRAY_BYTES = 1 << 47
"""What a process of 64 bits can address."""
_MAX_RANK = 32
"""NumPy's bound before version 2."""
_MAX_PATH = 4095
"""Linux's bound, in bytes."""

_REPR = reprlib.Repr()  # which does not follow values into any depth
_REPR.maxstring = _REPR.maxother = _REPR.maxlong = 1000
_REPR.maxlist = _REPR.maxdict = 60


@dataclass(frozen=True)
class Port:
    """An input or output of a function: name, element type, static shape."""

    name: str
    dtype: DType
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.name}: {self.type}"

    @property
    def type(self) -> str:
        """As messages print it: `f32[1, 3, 224, 224]`."""
        return f"{self.dtype.name}{list(self.shape)}"

    @property
    def nbytes(self) -> int:
        """Bytes of an array that fits."""
        return prod(self.shape) * self.dtype.nbytes


@dataclass(frozen=True)
class Signature:
    """What a compiled function takes and gives, in order."""

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    workspace_bytes: int = 0


def listing(signature: Signature) -> dict[str, Any]:
    """The signature as the manifest's JSON has it."""

    def ports(every: tuple[Port, ...]) -> list[dict[str, Any]]:
        return [{"name": p.name, "dtype": p.dtype.name, "shape": list(p.shape)} for p in every]

    return {
        "inputs": ports(signature.inputs),
        "outputs": ports(signature.outputs),
        "workspace_bytes": signature.workspace_bytes,
    }


@dataclass(frozen=True)
class Import:
    """A slot of the library's import table. `signature` is None where the manifest gives none."""

    name: str
    signature: Signature | None = None
    linked: str | None = None
    """The backend whose code in the library fills the slot; None for one that is filled at load."""
    reads: int = 0
    """Without a signature: how many of the first operands are only read."""


@dataclass(frozen=True)
class External:
    """A shared library that the program's library opens, by its path."""

    path: str
    backend: str
    """Whose code calls it; empty where only microkernels do."""
    package: str
    """What to install where it is missing; may be empty."""
    kernels: tuple[str, ...] = ()
    """The microkernels that call it."""
    symbols: tuple[str, ...] = ()
    """What they call."""
    sha256: str | None = None
    """Its content when the program was compiled."""

    @property
    def user(self) -> str:
        """Whose code calls it, in messages."""
        if not self.kernels:
            return f"backend '{self.backend}'"
        names = ", ".join(f"'{name}'" for name in self.kernels)
        return f"microkernel{'s' if len(self.kernels) > 1 else ''} {names}"

    @property
    def caller(self) -> str:
        """In messages: `microkernel 'a' calls`."""
        return f"{self.user} {'call' if len(self.kernels) > 1 else 'calls'}"

    @property
    def remedy(self) -> str:
        """What to do where it is missing."""
        return f"install {self.package}" if self.package else "restore it"


@dataclass(frozen=True)
class Content:
    """Size and hash of a part of the file."""

    nbytes: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """The manifest of one artifact, valid."""

    name: str
    prefix: str
    """What every symbol of the library starts with, without the `_` after it."""
    host: str
    """Who compiled it. Where a manifest does not say, it is of the time when `c` was the only one."""
    target: str
    features: tuple[str, ...]
    """CPU features that the library needs."""
    functions: Mapping[str, Signature]
    imports: tuple[Import, ...]
    """In the order of the table: those that are filled at load, then those that are linked."""
    loaders: tuple[str, ...]
    """The format of the program, then those of the submodules `modules/1`, `modules/2`, ..."""
    library: Content
    weights: Content
    weights_offset: int
    members: Mapping[str, Content]
    libraries: tuple[External, ...]
    data: Mapping[str, Any]
    """The JSON object, with whatever else its writer put there."""


def parse(data: object, where: str) -> Manifest:
    """The manifest that the JSON value `data` is. Raises InarchError, located at `where`."""
    top = Value(data, "", where)
    # The versions first: the rest of another format may look like anything.
    _check_version(top, "format", FORMAT)
    _check_version(top, "abi", ABI)
    loaders = tuple(item.text() for item in top["loaders"].items())
    if not loaders:
        raise top["loaders"].error("at least one")
    functions = {
        Value(name, f"functions.{name}", where).identifier(): _signature(value)
        for name, value in top["functions"].entries().items()
    }
    return Manifest(
        name=top["name"].text(),
        prefix=top["prefix"].identifier(),
        host=top["host"].text() if "host" in top.fields() else "c",
        target=top["target"].text(),
        features=tuple(item.text() for item in top["features"].items()),
        functions=functions,
        imports=tuple(_import(item) for item in top["imports"].items()),
        loaders=loaders,
        library=Content(top["library_bytes"].size(), top["library_sha256"].text()),
        weights=Content(top["weights_bytes"].size(), top["weights_sha256"].text()),
        weights_offset=top["weights_offset"].size(),
        members={
            name: Content(value["bytes"].size(), value["sha256"].text())
            for name, value in top["members"].entries().items()
        },
        libraries=tuple(
            _external(item)
            for item in (top["libraries"].items() if "libraries" in top.fields() else ())
        ),
        data=top.fields(),
    )


@dataclass(frozen=True)
class Value:
    """A JSON value and its path; each method checks what it gives."""

    value: object
    path: str
    where: str

    def __getitem__(self, key: str) -> Value:
        """A field of an object; one that is missing is found to be None when it is checked."""
        return self._at(self.fields().get(key), f".{key}")

    def error(self, expected: str) -> InarchError:
        path = f"manifest.json: {self.path}" if self.path else "manifest.json"
        found = _shown(self.value)
        return InarchError(f"{path}: expected {expected}, found {found}", where=self.where)

    def fields(self) -> dict[str, Any]:
        if not isinstance(self.value, dict):
            raise self.error("an object")
        return cast("dict[str, Any]", self.value)

    def entries(self) -> dict[str, Value]:
        return {self._at(name, "").text(): self[name] for name in self.fields()}

    def items(self) -> list[Value]:
        if not isinstance(self.value, list):
            raise self.error("a list")
        values = cast("list[object]", self.value)
        return [self._at(value, f"[{number}]") for number, value in enumerate(values)]

    def text(self) -> str:
        if not isinstance(self.value, str):
            raise self.error("a string")
        try:
            self.value.encode()
        except UnicodeEncodeError:  # JSON can spell halves of characters, which nothing can print
            raise self.error("a string of whole characters") from None
        return self.value

    def file(self) -> str:
        """A path that the system can look up."""
        text = self.text()
        if len(os.fsencode(text)) > _MAX_PATH or "\0" in text:
            raise self.error(f"a path of at most {_MAX_PATH} bytes")
        return text

    def identifier(self) -> str:
        """A C identifier: it becomes part of symbols that are looked up."""
        text = self.text()
        if not (text.isidentifier() and text.isascii()):
            raise self.error("a C identifier")
        return text

    def size(self) -> int:
        value = self.value
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _MAX_BYTES:
            raise self.error("a size")
        return value

    def _at(self, value: object, step: str) -> Value:
        return Value(value, (self.path + step).lstrip("."), self.where)


def _check_version(top: Value, key: str, expected: int) -> None:
    found = top.fields().get(key)
    if type(found) is not int or found != expected:
        writer = _shown(top.fields().get("inarch", "unknown"))
        raise InarchError(
            f"expected artifact {key} {expected}, found {_shown(found)} "
            f"(written by Inarch {writer}); compile the model again",
            where=top.where,
        )


def _signature(value: Value) -> Signature:
    workspace = value["workspace_bytes"].size() if "workspace_bytes" in value.fields() else 0
    return Signature(_ports(value["inputs"]), _ports(value["outputs"]), workspace)


def _ports(value: Value) -> tuple[Port, ...]:
    found = tuple(port_of(item) for item in value.items())
    if len({port.name for port in found}) != len(found):
        raise value.error("different names")
    return found


def port_of(value: Value) -> Port:
    """The port that `value` describes. Raises InarchError for what none can be."""
    dtype = value["dtype"].text()
    if dtype not in DTYPES:
        raise value["dtype"].error(f"one of {', '.join(DTYPES)}")
    sizes = value["shape"].items()
    if len(sizes) > _MAX_RANK:
        raise value["shape"].error(f"at most {_MAX_RANK} dimensions")
    # A size of 0 hides the others from the product, but not from NumPy.
    shape = tuple(size.size() for size in sizes)
    if prod(max(size, 1) for size in shape) * DTYPES[dtype].nbytes >= _MAX_ARRAY_BYTES:
        raise value["shape"].error("an array that fits in memory")
    return Port(value["name"].text(), DTYPES[dtype], shape)


def _external(value: Value) -> External:
    def texts(key: str) -> tuple[str, ...]:
        if key not in value.fields():
            return ()
        return tuple(item.text() for item in value[key].items())

    return External(
        value["path"].file(),
        value["backend"].text(),
        value["package"].text(),
        texts("kernels"),
        texts("symbols"),
        value["sha256"].text() if "sha256" in value.fields() else None,
    )


def _import(value: Value) -> Import:
    if isinstance(value.value, str):
        return Import(value.text())
    signature = _signature(value) if "inputs" in value.fields() else None
    linked = value["linked"].text() if "linked" in value.fields() else None
    reads = value["reads"].size() if "reads" in value.fields() else 0
    return Import(value["name"].text(), signature, linked, reads)


def _shown(value: object) -> str:
    """A JSON value in a message: short, and None as what it means."""
    text = "nothing" if value is None else _REPR.repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
