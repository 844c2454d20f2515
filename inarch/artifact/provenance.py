"""Where a program is from: model, backends, compiler, what its user says, licences of what is in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from math import prod
from typing import Any

from inarch.core.dtypes import DTYPES
from inarch.core.outside.value import DTypeName, Identifier, Size, Value


@dataclass(frozen=True)
class Default:
    """An input of the model that has a value of its own, which is compiled in where none is given."""

    name: str
    dtype: str
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype}{list(self.shape)}"


@dataclass(frozen=True)
class Provenance:
    """What a manifest says of that; all of it may be missing."""

    format: str = ""
    """Of the model: `onnx`, `mlir`, or `module` where it was in memory."""
    sha256: str = ""
    """Of the model's file."""
    data_sha256: tuple[str, ...] = ()
    """Of the files that it names, in the order of their names."""
    producer: str = ""
    """Who wrote the model."""
    opsets: tuple[tuple[str, int], ...] = ()
    """Domain and version."""
    defaults: tuple[Default, ...] = ()
    """Inputs of the model whose own values are compiled in."""
    compiler: str = ""
    """Version of the C compiler, as that says it."""
    flags: tuple[str, ...] = ()
    numerics: str = ""
    """The policy by which algorithms were chosen."""
    precision: str = ""
    """The dtype to which factors may have been rounded; empty: none were."""
    algorithms: tuple[tuple[str, int], ...] = ()
    """The chosen algorithms other than direct, and the number of ops of each."""
    metadata: tuple[tuple[str, str], ...] = ()
    said: tuple[tuple[str, str], ...] = ()
    """Metadata of the model itself."""
    licenses: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """An SPDX expression, and what has it."""


@dataclass(frozen=True)
class Weight:
    """An array that a part brings along: a member of the artifact, which others may share."""

    member: str
    dtype: DTypeName
    shape: tuple[Size, ...]

    @property
    def nbytes(self) -> int:
        """Of the array."""
        return prod(self.shape) * DTYPES[self.dtype].nbytes

    def __str__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"


@dataclass(frozen=True)
class Part:
    """What an instance of a backend emitted of the program, and with which options."""

    name: str
    """Of the instance."""
    backend: str
    options: Mapping[str, str]
    """All of them, as text: for loaders, too."""
    part: str
    """`library`, which it is linked into, or the member of the submodule."""
    functions: tuple[Identifier, ...]
    version: str = ""
    """Of what made it, as that counts; empty where it does not say."""
    machine: str = ""
    """For which device it was made; empty where it does not say."""
    package: str = ""
    """What to install where there is no loader of it."""
    weights: Mapping[str, Weight] = field(default_factory=dict[str, Weight])
    uses: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Of `weights`, by function, those that it uses, where these are not all."""
    metadata: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    """What the backend says of a function, by name."""

    def __str__(self) -> str:
        """`big (npu) 2.1 for npu-v3: array=32, memory=4MiB`."""
        kind = "" if self.name == self.backend else f" ({self.backend})"
        made = f"{f' {self.version}' if self.version else ''}"
        made += f" for {self.machine}" if self.machine else ""
        settings = ", ".join(f"{name}={value}" for name, value in self.options.items())
        return f"{self.name}{kind}{made}{': ' if settings else ''}{settings}"


def part_listing(part: Part) -> dict[str, Any]:
    """The part as the manifest's JSON has it: what is not said is left out."""
    needed = [each.name for each in fields(Part) if each.default_factory is each.default is MISSING]
    return {name: said for name, said in asdict(part).items() if said or name in needed}


def part_of(value: Value) -> Part:
    """Of an item of `backends`. Raises InarchError for a field that is not of its type."""
    found = value.read(Part)
    for each in value["uses"].entries().values() if found.uses else ():
        for used in each.items():
            if used.value not in found.weights:
                raise used.error("the name of one of its weights")
    return found


@dataclass(frozen=True)
class _Array:
    dtype: DTypeName
    shape: tuple[Size, ...]


@dataclass(frozen=True)
class _Source:
    format: str = ""
    sha256: str = ""
    data_sha256: tuple[str, ...] = ()
    producer: str = ""
    opsets: Mapping[str, Size] = field(default_factory=dict[str, int])
    defaults: Mapping[str, _Array] = field(default_factory=dict[str, _Array])
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class _Compiler:
    version: str = ""
    flags: tuple[str, ...] = ()
    kernel_flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Numerics:
    policy: str = ""
    precision: str = ""
    algorithms: Mapping[str, Size] = field(default_factory=dict[str, int])


@dataclass(frozen=True)
class _Said:
    """A manifest, as far as it is of this."""

    source: _Source = _Source()
    compiler: _Compiler = _Compiler()
    numerics: _Numerics = _Numerics()
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])
    licenses: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])


def provenance(top: Value) -> Provenance:
    """Of a manifest. Raises InarchError for a field that is not of its type."""
    said = top.read(_Said)
    source, compiler = said.source, said.compiler
    return Provenance(
        format=source.format,
        sha256=source.sha256,
        data_sha256=source.data_sha256,
        producer=source.producer,
        opsets=tuple(source.opsets.items()),
        defaults=tuple([Default(name, a.dtype, a.shape) for name, a in source.defaults.items()]),
        compiler=compiler.version,
        flags=(*compiler.flags, *compiler.kernel_flags),
        numerics=said.numerics.policy,
        precision=said.numerics.precision,
        algorithms=tuple(said.numerics.algorithms.items()),
        metadata=tuple(said.metadata.items()),
        said=tuple(source.metadata.items()),
        licenses=tuple(said.licenses.items()),
    )
