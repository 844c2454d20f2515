"""An artifact as `inarch inspect` prints it."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from inarch.artifact.manifest import External, Manifest
from inarch.artifact.provenance import Part
from inarch.runtime.calls.fits import said


def lines(manifest: Manifest) -> Generator[str]:
    """A line a fact, then the functions."""
    yield f"name       {manifest.name}"
    yield f"host       {manifest.host}"
    targets = [program.target for program in manifest.programs]
    choice = ", the first that the CPU can run" if len(targets) > 1 else ""
    yield f"target     {' or '.join(targets)}{choice}"
    yield f"machine    {manifest.data.get('machine', 'unknown')}"
    yield f"weights    {_weights(manifest)}"
    imports = [f"{i.name} ({i.linked})" if i.linked else i.name for i in manifest.imports]
    yield f"imports    {', '.join(imports) or 'none'}"
    parts = [each for one in manifest.programs for each in one.backends]
    for part in dict.fromkeys(line for each in parts for line in _part(each)):
        yield f"backend    {part}"
    if len(manifest.loaders) > 1:
        yield f"modules    {', '.join(manifest.loaders[1:])}"
    for library in dict.fromkeys(each for one in manifest.programs for each in one.libraries):
        yield f"library    {_library(library)}"
    yield from _provenance(manifest)
    for name, function in manifest.functions.items():
        inputs = ", ".join(map(str, function.inputs))
        outputs = ", ".join(map(str, function.outputs))
        sized = manifest.sizes.get(name)
        yield f"{name}({inputs}) -> ({outputs})" + (f" of {said(sized)}" if sized else "")
        sizes = dict.fromkeys(one.functions[name].workspace_bytes for one in manifest.programs)
        yield f"  workspace {' or '.join(map(str, sizes))} bytes"


_SHOWN = 5


def defaults_text(defaults: Sequence[object]) -> str:
    """The inputs whose own values are compiled in, the first of many, and how others are."""
    more = f" and {len(defaults) - _SHOWN} more" if len(defaults) > _SHOWN else ""
    names = ", ".join(map(str, defaults[:_SHOWN]))
    return f"{names}{more}, compiled in; --value NAME=FILE.npy compiles another value"


def _part(part: Part) -> Generator[str]:
    """Who emitted it, what it brings along, and what it says of its functions."""
    yield str(part)
    if part.weights:
        weights = [f"{name} {weight}" for name, weight in part.weights.items()]
        size = sum({each.member: each.nbytes for each in part.weights.values()}.values())
        yield f"{part.name}: {size} bytes of weights: {', '.join(weights)}"
    for function, entries in part.metadata.items():
        facts = [f"{name} = {value}" for name, value in entries.items()]
        yield f"{part.name}: {function}: {', '.join(facts)}"


def _weights(manifest: Manifest) -> str:
    """The sizes of the images; those that variants share are one."""
    images = {one.weights_offset: one.weights.nbytes for one in manifest.programs}
    return " and ".join(f"{size} bytes" for size in images.values())


def _library(library: External) -> str:
    symbols = f": {', '.join(library.symbols)}" if library.symbols else ""
    place = f"{library.name}, embedded" if library.member else library.path or library.name
    return f"{place}, called by {library.user}{symbols}"


def _provenance(manifest: Manifest) -> Generator[str]:
    found = manifest.provenance
    source = [found.format]
    source += [f"opset {version} of {domain}" for domain, version in found.opsets]
    source += [f"by {found.producer}"] if found.producer else []
    source += [f"SHA-256 {found.sha256}"] if found.sha256 else []
    source += [f"data of SHA-256 {digest}" for digest in found.data_sha256]
    if found.format:
        yield f"source     {', '.join(source)}"
    if found.defaults:
        yield f"defaults   {defaults_text(found.defaults)}"
    if found.compiler:
        yield f"compiler   {found.compiler}"
    if found.flags:
        yield f"flags      {' '.join(found.flags)}"
    yield from _numerics(manifest.programs)
    if found.licenses:
        listed = [f"{name} ({', '.join(whose)})" for name, whose in found.licenses]
        yield f"licenses   {'; '.join(listed)}"
    for key, value in found.said:
        yield f"model      {key} = {value}"
    for key, value in found.metadata:
        yield f"metadata   {key} = {value}"


def _numerics(programs: Sequence[Manifest]) -> Generator[str]:
    """The policy, the precision and the algorithms, of each target where they differ."""
    texts: dict[str, list[str]] = {}
    for program in programs:
        found = program.provenance
        taken = [f"{name} of {count} op{'s' * (count != 1)}" for name, count in found.algorithms]
        lower = [f"factors of {found.precision}"] if found.precision else []
        texts.setdefault(", ".join([found.numerics, *lower, *taken]), []).append(program.target)
    for text, targets in texts.items():
        whose = f" ({', '.join(targets)})" if len(texts) > 1 else ""
        if text:
            yield f"numerics   {text}{whose}"
