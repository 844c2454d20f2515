"""What differs between two artifacts: the manifest's fields, functions, code, weights, members."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, cast

from inarch.artifact import Artifact
from inarch.artifact.manifest import Signature
from inarch.artifact.signature import signer_of
from inarch.core.errors import InarchError
from inarch.machine.functions import function_code

_BLOCK = 4096
_MOST_RANGES = 16
"""Of weights, that are listed: what is more says nothing."""
_ELSEWHERE = (
    *("functions", "variants", "members", "workspace_bytes", "target"),
    *("library_offset", "library_bytes", "library_sha256"),
    *("weights_offset", "weights_bytes", "weights_sha256"),
)
"""Fields that follow from parts that are compared themselves."""


@dataclass(frozen=True)
class Difference:
    """Something that two artifacts do not share; None: one of them has none."""

    what: str
    a: str | None
    b: str | None

    def __str__(self) -> str:
        if self.a is None or self.b is None:
            return f"{self.what}: only in {'A' if self.b is None else 'B'}: {self.a or self.b}"
        return f"{self.what}: {self.a} | {self.b}"


def differences(a: Artifact, b: Artifact) -> list[Difference]:
    """All that differs, in the order of the file; variants are compared with those of their target."""
    has_variants = a.manifest.variants or b.manifest.variants
    found = _of_variants(a, b) if has_variants else _of_programs(a, b, "")
    signers = [{} if by is None else {"": f"key {by}"} for by in (signer_of(a), signer_of(b))]
    return [*found, *_entries("signature", *signers)]


def _of_variants(a: Artifact, b: Artifact) -> Generator[Difference]:
    programs = [
        {program.target: one.program(i) for i, program in enumerate(one.manifest.programs)}
        for one in (a, b)
    ]
    if list(programs[0]) != list(programs[1]):
        yield Difference("target", *(", ".join(each) for each in programs))
    for target in programs[0]:
        if target in programs[1]:
            yield from _of_programs(programs[0][target], programs[1][target], f"{target}: ")


def _of_programs(a: Artifact, b: Artifact, prefix: str) -> Generator[Difference]:
    if not prefix:
        yield from _entries("target", {"": a.manifest.target}, {"": b.manifest.target})
    flat = [
        dict(_flat({k: v for k, v in one.manifest.data.items() if k not in _ELSEWHERE}))
        for one in (a, b)
    ]
    yield from _entries(prefix + "manifest", *flat)
    signatures = [
        {name: _signature(each) for name, each in one.manifest.functions.items()} for one in (a, b)
    ]
    yield from _entries(prefix + "function", *signatures)
    yield from _entries(prefix + "kernel", *(_code(one) for one in (a, b)))
    yield from _weights(a, b, prefix)
    yield from _entries(prefix + "member", *(_members(one) for one in (a, b)))


def _entries(what: str, a: Mapping[str, str], b: Mapping[str, str]) -> Generator[Difference]:
    for name in dict.fromkeys([*a, *b]):
        if a.get(name) != b.get(name):
            yield Difference(f"{what} {name}".rstrip(), a.get(name), b.get(name))


def _flat(value: Any, path: str = "") -> Generator[tuple[str, str]]:
    """The leaves of JSON by their path; a list of texts is one."""
    if isinstance(value, dict):
        for key, each in cast("dict[str, Any]", value).items():
            yield from _flat(each, f"{path}.{key}".lstrip("."))
        return
    if not isinstance(value, list):
        yield path, str(value)
        return
    items = cast("list[Any]", value)
    if not any(isinstance(each, dict | list) for each in items):
        yield path, " ".join(map(str, items))
        return
    for number, each in enumerate(items):
        yield from _flat(each, f"{path}[{number}]")


def _signature(signature: Signature) -> str:
    inputs, outputs = (", ".join(map(str, p)) for p in (signature.inputs, signature.outputs))
    return f"({inputs}) -> ({outputs}), workspace {signature.workspace_bytes} bytes"


def _code(artifact: Artifact) -> dict[str, str]:
    """What each function of the library is; of a library without symbols, its hash."""
    known = function_code(artifact.library, artifact.where)
    prefix = f"{artifact.manifest.prefix}_"
    code = {name.removeprefix(prefix): f"{len(c)} bytes {_short(c)}" for name, c in known.items()}
    return code or {"": f"{artifact.manifest.library.nbytes} bytes {_short(artifact.library)}"}


def _members(artifact: Artifact) -> dict[str, str]:
    return {
        name: f"{each.nbytes} bytes {each.sha256[:12]}"
        for name, each in artifact.manifest.members.items()
    }


def _weights(a: Artifact, b: Artifact, prefix: str) -> Generator[Difference]:
    one, other = a.weights, b.weights
    if len(one) != len(other):
        yield Difference(f"{prefix}weights", f"{len(one)} bytes", f"{len(other)} bytes")
    found = list(_ranges(one, other))
    for start, end in found[:_MOST_RANGES]:
        hashes = (_short(each[start:end]) for each in (one, other))
        yield Difference(f"{prefix}weights {start}..{end}", *hashes)
    if len(found) > _MOST_RANGES:
        rest = sum(end - start for start, end in found[_MOST_RANGES:])
        said = f"{len(found) - _MOST_RANGES} ranges, {rest} bytes"
        yield Difference(f"{prefix}weights, further", said, said)


def _ranges(a: memoryview, b: memoryview) -> Generator[tuple[int, int]]:
    """Where the first bytes of both, as many as the shorter one has, differ: from, to behind the last."""
    least = min(len(a), len(b))
    start: int | None = None
    for at in range(0, least, _BLOCK):
        end = min(at + _BLOCK, least)
        if a[at:end] == b[at:end]:
            if start is not None:
                yield _trimmed(a, b, start, at)
            start = None
        elif start is None:
            start = at
    if start is not None:
        yield _trimmed(a, b, start, least)


def _trimmed(a: memoryview, b: memoryview, start: int, end: int) -> tuple[int, int]:
    """Without the equal bytes at both ends, which are fewer than a block each."""
    first = next(i for i in range(start, end) if a[i] != b[i])
    last = next(i for i in range(end - 1, first - 1, -1) if a[i] != b[i])
    return first, last + 1


def _short(data: bytes | memoryview) -> str:
    return sha256(data).hexdigest()[:12]


class NotComparedError(InarchError):
    """One of two files is no artifact: as `diff`, an exit code of its own."""

    exit_code = 2


def as_json(found: Iterable[Difference]) -> list[dict[str, str | None]]:
    """For scripts."""
    return [{"what": one.what, "a": one.a, "b": one.b} for one in found]
