"""What an artifact says of itself: functions and their signatures, imports, sizes and hashes.

`parse` makes a `Manifest` of a JSON object and refuses, with the field's path, whatever does not
have its type or its range; nothing after it needs to check. docs/artifact.md has an example.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import PurePath
from typing import Any

from inarch.artifact.provenance import Part, Provenance, part_of, provenance
from inarch.core.dtypes import DTYPES, DType
from inarch.core.errors import InarchError
from inarch.core.outside.value import Document, DTypeName, FileName, Identifier, Size, Value, shown
from inarch.core.shared import Shared

FORMAT = 3
"""The layout of the file; a reader refuses any other."""

ABI = 3
"""The C interface of the library; `<prefix>_abi_version()` returns it."""

SUBMODULE = "modules/"
"""Of members, before their number."""

BLOB = "data/"
"""Of members that are weights of backends, before their SHA-256."""

_MAX_ARRAY_BYTES = 1 << 47
"""What a process of 64 bits can address."""
_MAX_RANK = 32
"""NumPy's bound before version 2."""
_MAX_VARIANTS = 15
"""Each is read like a manifest."""

_SHARED = ("format", "abi", "name", "prefix", "host", "functions", "sizes", "variants")
"""Fields that are the program's, whoever runs it."""
_PLACED = ("workspace_bytes", "library_offset")
"""Fields of a variant that a program alone says otherwise, or has not."""


@dataclass(frozen=True, repr=False)
class Port:
    """An input or output of a function: name, element type, static shape."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    computed: tuple[tuple[int, int], ...] = ()
    """Of an output, axes whose size the data decide, each with the number of the output that says how much
    counts, an i64 of shape (): `shape` is the most."""

    def __str__(self) -> str:
        most = {axis for axis, _ in self.computed}
        sizes = (f"{'<=' * (axis in most)}{size}" for axis, size in enumerate(self.shape))
        return f"{self.name}: {self.dtype.name}[{', '.join(sizes)}]"

    def __repr__(self) -> str:
        return f"<{self}>"

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
        return [
            {
                "name": p.name,
                "dtype": p.dtype.name,
                "shape": list(p.shape),
                **({"computed": [list(pair) for pair in p.computed]} if p.computed else {}),
            }
            for p in every
        ]

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
    fallback: str = ""
    """The program's own function that does the same, where what fills the slot is missing or fails."""
    owner: str = ""
    """Whose it is, as the library's messages say; the manifest does not."""
    state: str = ""
    """What the C's functions that make its state begin with; nothing of it is in the file."""


@dataclass(frozen=True)
class External:
    """A shared library that the program's library calls: found by its name, opened by its path."""

    name: FileName
    """Of the file, by which it is looked for."""
    path: FileName
    """Where it was when the program was compiled, looked at last; empty where that is not said."""
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
    member: str = ""
    """The member of the artifact that is it; empty where it is a file of the machine."""

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
        """What to do where it is missing: one that is embedded is to whoever has the index only (C)."""
        if self.member:
            return f"it is embedded, which Python alone opens: put '{self.member}' of `inarch extract` there"
        return f"install {self.package}" if self.package else "restore it"


@dataclass(frozen=True)
class Content:
    """Size and hash of a part of the file."""

    nbytes: int
    sha256: str
    entry: str = ""
    """Of a member: its name in the zip, where that is another one."""
    offset: int = 0
    """Of a submodule or weights of a backend: where it is in the file; 0 where the writer did not say."""


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
    backends: tuple[Part, ...]
    """What backends emitted; of an artifact of before they were said, nothing."""
    provenance: Provenance
    data: Mapping[str, Any]
    """The JSON object, with whatever else its writer put there; of a variant, as if it were the only one."""
    sizes: Mapping[str, Mapping[str, int]] = field(default_factory=dict[str, Mapping[str, int]])
    """Of functions: what the model's open dimensions are, by name. `main__2` is `main` of other sizes."""
    shared: Shared | None = None
    """The weights, where they are not in the file; `weights` is empty then."""
    library_offset: int = 0
    variants: tuple[Manifest, ...] = ()
    """The same program for other CPUs, after this one, the best first; they have none of their own."""

    @property
    def programs(self) -> tuple[Manifest, ...]:
        """All variants, the best first."""
        return (self, *self.variants)

    @property
    def submodules(self) -> tuple[tuple[str, Content], ...]:
        """The format of each, and what is known of its bytes."""
        named = ((name, f"{SUBMODULE}{n}") for n, name in enumerate(self.loaders[1:], 1))
        return tuple((name, self.members[key]) for name, key in named if key in self.members)

    def part(self, number: int) -> Part | None:
        """What is said of the submodule of that number; None in an artifact of before parts were said."""
        name = f"{SUBMODULE}{number}"
        return next((each for each in self.backends if each.part == name), None)


def parse(data: object, where: str) -> Manifest:
    """The manifest that the JSON value `data` is. Raises InarchError, located at `where`."""
    document = Document(where, "manifest.json")
    top = Value(data, "", document)
    # The versions first: the rest of another format may look like anything.
    _check_version(top, "format", FORMAT, where)
    _check_version(top, "abi", ABI, where)
    functions = {
        Value(name, f"functions.{name}", document).identifier(): signature_of(value)
        for name, value in top["functions"].entries().items()
    }
    first = _program(top, functions)
    if "variants" not in top:
        return first
    found = top["variants"].items()
    if len(found) > _MAX_VARIANTS:
        raise top["variants"].error(f"at most {_MAX_VARIANTS}")
    variants = tuple(_variant(value, top, functions) for value in found)
    targets = [first.target, *(each.target for each in variants)]
    if len({*targets}) != len(targets):
        raise top["variants"].error("different targets")
    return replace(first, variants=variants)


def _variant(value: Value, top: Value, functions: Mapping[str, Signature]) -> Manifest:
    """What a variant says, and for the rest what the first program does."""
    sizes = value["workspace_bytes"]
    sized = {
        name: replace(signature, workspace_bytes=sizes[name].size())
        for name, signature in functions.items()
    }
    own = {key: each for key, each in value.fields().items() if key not in (*_SHARED, *_PLACED)}
    common = {key: each for key, each in top.fields().items() if key != "variants"}
    listings = {name: listing(signature) for name, signature in sized.items()}
    merged = Value({**common, **own, "functions": listings}, value.path, value.document)
    return replace(_program(merged, sized), library_offset=value["library_offset"].size())


def _program(top: Value, functions: Mapping[str, Signature]) -> Manifest:
    loaders = top["loaders"].of(tuple[str, ...])
    if not loaders:
        raise top["loaders"].error("at least one")
    members = {name: _member(value) for name, value in top["members"].entries().items()}
    libraries = _externals(top["libraries"], members) if "libraries" in top else ()
    return Manifest(
        name=top["name"].text(),
        prefix=top["prefix"].identifier(),
        host=top["host"].text() if "host" in top else "c",
        target=top["target"].text(),
        features=top["features"].of(tuple[str, ...]),
        functions=functions,
        imports=tuple(_import(item) for item in top["imports"].items()),
        loaders=loaders,
        library=Content(top["library_bytes"].size(), top["library_sha256"].text()),
        weights=Content(top["weights_bytes"].size(), top["weights_sha256"].text()),
        weights_offset=top["weights_offset"].size(),
        members=members,
        libraries=libraries,
        backends=_parts(top, members),
        provenance=provenance(top),
        data=top.fields(),
        sizes=_sizes(top, functions),
        shared=_shared(top["shared_weights"]) if "shared_weights" in top else None,
    )


def _shared(value: Value) -> Shared:
    pool, state = value["pool"].text(), value["state"].text()
    return Shared(pool, state, value["bytes"].size(), value["sha256"].text())


def _sizes(top: Value, functions: Mapping[str, Signature]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = (
        top["sizes"].of(Mapping[str, Mapping[str, Size]]) if "sizes" in top else {}
    )
    for name in found:
        if name not in functions:
            raise top["sizes"][name].error(f"one of the functions {', '.join(functions)}")
    return found


def _member(value: Value) -> Content:
    entry = value["entry"].text() if "entry" in value else ""
    offset = value["offset"].size() if "offset" in value else 0
    return Content(value["bytes"].size(), value["sha256"].text(), entry, offset)


def _parts(top: Value, members: Mapping[str, Content]) -> tuple[Part, ...]:
    """What backends shipped; weights are members of their sizes, whose places are known."""
    found = top["backends"].items() if "backends" in top else []
    for item in found:
        listed = item["weights"].entries() if "weights" in item else {}
        for name, weight in part_of(item).weights.items():
            content = members.get(weight.member)
            if content is None or content.nbytes != weight.nbytes or content.offset == 0:
                raise listed[name].error(f"{weight.nbytes} bytes in a member with a place")
    return tuple(map(part_of, found))


def _check_version(top: Value, key: str, expected: int, where: str) -> None:
    found = top.fields().get(key)
    if type(found) is not int or found != expected:
        writer = shown(top.fields().get("inarch", "unknown"))
        raise InarchError(
            f"expected artifact {key} {expected}, found {shown(found)} "
            f"(written by Inarch {writer}); compile the model again",
            where=where,
        )


def signature_of(value: Value) -> Signature:
    """The signature that `value` describes. Raises InarchError for what none can be."""
    workspace = value["workspace_bytes"].size() if "workspace_bytes" in value else 0
    inputs, outputs = _ports(value["inputs"]), _ports(value["outputs"])
    for item, port in zip(value["outputs"].items(), outputs, strict=True):
        for axis, number in port.computed:
            size = outputs[number] if number < len(outputs) else None
            if (
                axis >= len(port.shape)
                or size is None
                or (size.dtype.name, size.shape) != ("i64", ())
            ):
                raise item["computed"].error("axes, each with an output that is an i64 of shape ()")
    return Signature(inputs, outputs, workspace)


@dataclass(frozen=True)
class _Port:
    """A port as JSON has it."""

    name: str
    dtype: DTypeName
    shape: tuple[Size, ...]
    computed: tuple[tuple[Size, Size], ...] = ()


def _ports(value: Value) -> tuple[Port, ...]:
    found = tuple(port_of(item) for item in value.items())
    if len({port.name for port in found}) != len(found):
        raise value.error("different names")
    return found


def port_of(value: Value) -> Port:
    """The port that `value` describes. Raises InarchError for what none can be."""
    said = value.read(_Port)
    if len(said.shape) > _MAX_RANK:
        raise value["shape"].error(f"at most {_MAX_RANK} dimensions")
    # A size of 0 hides the others from the product, but not from NumPy.
    if prod(max(size, 1) for size in said.shape) * DTYPES[said.dtype].nbytes >= _MAX_ARRAY_BYTES:
        raise value["shape"].error("an array that fits in memory")
    return Port(said.name, DTYPES[said.dtype], said.shape, said.computed)


def _externals(value: Value, members: Mapping[str, Content]) -> tuple[External, ...]:
    """Each that is embedded is a member of the hash that it has."""
    found: list[External] = []
    for item in value.items():
        one = _external(item)
        if one.member and (one.member not in members or members[one.member].sha256 != one.sha256):
            raise item["member"].error("a member of the library's SHA-256")
        found.append(one)
    return tuple(found)


def _external(value: Value) -> External:
    path = value["path"].of(FileName) if "path" in value else ""
    said = {"path": "", "name": PurePath(path).name, **value.fields()}
    found = Value(said, value.path, value.document).read(External)
    if not found.name or "/" in found.name or found.name in (".", ".."):
        raise value["name"].error("the name of a file")
    return found


@dataclass(frozen=True)
class _Slot:
    """An import as JSON has it, beside its signature."""

    name: str
    linked: str | None = None
    reads: Size = 0
    fallback: Identifier = ""


def _import(value: Value) -> Import:
    if isinstance(value.value, str):
        return Import(value.text())
    said = value.read(_Slot)
    signature = signature_of(value) if "inputs" in value else None
    return Import(said.name, signature, said.linked, said.reads, said.fallback)
