"""Where a program is from: model, backends, compiler, what its user says, licences of what is in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

from inarch.artifact.value import Value
from inarch.core.dtypes import DTYPES


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
    metadata: tuple[tuple[str, str], ...] = ()
    said: tuple[tuple[str, str], ...] = ()
    """Metadata of the model itself."""
    licenses: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """An SPDX expression, and what has it."""


@dataclass(frozen=True)
class Weight:
    """An array that a part brings along: a member of the artifact, which others may share."""

    member: str
    dtype: str
    shape: tuple[int, ...]

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
    functions: tuple[str, ...]
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
    more = {
        "version": part.version,
        "machine": part.machine,
        "package": part.package,
        "weights": {
            name: {"member": each.member, "dtype": each.dtype, "shape": list(each.shape)}
            for name, each in part.weights.items()
        },
        "uses": {name: list(used) for name, used in part.uses.items()},
        "metadata": {name: dict(said) for name, said in part.metadata.items()},
    }
    return {
        "name": part.name,
        "backend": part.backend,
        "options": dict(part.options),
        "part": part.part,
        "functions": list(part.functions),
        **{key: value for key, value in more.items() if value},
    }


def part_of(value: Value) -> Part:
    """Of an item of `backends`. Raises InarchError for a field that is not of its type."""
    functions = tuple(each.identifier() for each in value["functions"].items())
    weights = {name: _weight(each) for name, each in _entries(value, "weights").items()}
    uses = {name: _used(each, weights) for name, each in _entries(value, "uses").items()}
    metadata = {
        name: {key: text.text() for key, text in each.entries().items()}
        for name, each in _entries(value, "metadata").items()
    }
    return Part(
        value["name"].text(),
        value["backend"].text(),
        {name: each.text() for name, each in value["options"].entries().items()},
        value["part"].text(),
        functions,
        _text(value, "version"),
        _text(value, "machine"),
        _text(value, "package"),
        weights,
        uses,
        metadata,
    )


def _weight(value: Value) -> Weight:
    return Weight(value["member"].text(), *_type(value))


def _default(name: str, value: Value) -> Default:
    return Default(name, *_type(value))


def _type(value: Value) -> tuple[str, tuple[int, ...]]:
    dtype = value["dtype"].text()
    if dtype not in DTYPES:
        raise value["dtype"].error(f"one of {', '.join(DTYPES)}")
    return dtype, tuple(each.size() for each in value["shape"].items())


def _used(value: Value, weights: Mapping[str, Weight]) -> tuple[str, ...]:
    for each in value.items():
        if each.text() not in weights:
            raise each.error("the name of one of its weights")
    return tuple(each.text() for each in value.items())


def provenance(top: Value) -> Provenance:
    """Of a manifest. Raises InarchError for a field that is not of its type."""
    source, compiler = _part(top, "source"), _part(top, "compiler")
    return Provenance(
        format=_text(source, "format"),
        sha256=_text(source, "sha256"),
        data_sha256=_texts(source, "data_sha256"),
        producer=_text(source, "producer"),
        opsets=tuple((name, each.size()) for name, each in _entries(source, "opsets").items()),
        defaults=tuple(_default(n, each) for n, each in _entries(source, "defaults").items()),
        compiler=_text(compiler, "version"),
        flags=(*_texts(compiler, "flags"), *_texts(compiler, "kernel_flags")),
        metadata=tuple((name, each.text()) for name, each in _entries(top, "metadata").items()),
        said=tuple((name, each.text()) for name, each in _entries(source, "metadata").items()),
        licenses=tuple(
            (name, tuple(item.text() for item in each.items()))
            for name, each in _entries(top, "licenses").items()
        ),
    )


def _part(value: Value, key: str) -> Value | None:
    return value[key] if key in value.fields() else None


def _text(value: Value | None, key: str) -> str:
    found = None if value is None else _part(value, key)
    return "" if found is None else found.text()


def _texts(value: Value | None, key: str) -> tuple[str, ...]:
    found = None if value is None else _part(value, key)
    return () if found is None else tuple(item.text() for item in found.items())


def _entries(value: Value | None, key: str) -> Mapping[str, Value]:
    found = None if value is None else _part(value, key)
    return {} if found is None else found.entries()
