"""Modules of libraries that are no artifacts, with what is said of their functions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from inarch.artifact import write_artifact
from inarch.artifact.description import Described, Description
from inarch.artifact.manifest import listing
from inarch.core.errors import EnvironmentFault, InarchError
from inarch.core.scratch import scratch
from inarch.runtime.function import Function
from inarch.runtime.module import Module, load
from inarch.runtime.native import NativeFunction
from inarch.runtime.tensor import Array


def opened(
    type_key: str,
    name: str,
    library: Path,
    said: Description,
    *,
    sources: Mapping[str, Callable[[], str]] | None = None,
    content: bytes,
) -> Module:
    """The module of the library in the file `library`, which is needed no more afterwards.

    Raises EnvironmentFault for a library that cannot be opened or has not what is said, and else as `load`.
    """
    make = _program if said.prefix is not None else _functions
    functions = make(name, library, said)
    return Module(type_key, name, functions, sources=sources, content=content)


def _functions(name: str, library: Path, said: Description) -> dict[str, Function]:
    """Functions that stand by themselves."""
    return {
        key: Function(key, one.signature, _invoke(name, library, one))
        for key, one in said.functions.items()
    }


def _invoke(name: str, library: Path, one: Described) -> Callable[[Sequence[Array]], None]:
    try:
        native = NativeFunction.open(library, one.symbol)
    except EnvironmentFault as error:
        reason = error.message.removeprefix(f"library '{library}'").removeprefix(": ").strip()
        raise EnvironmentFault(reason.replace(f"{library}: ", ""), where=name) from error

    def invoke(arrays: Sequence[Array]) -> None:
        native(*arrays)

    return invoke


def _program(name: str, library: Path, said: Description) -> Mapping[str, Function]:
    """Those of a whole program, of which an artifact is made: it is checked, bound and shared as all are."""
    weights = _weights(name, said)
    manifest = {
        "inarch": "",
        "host": "c",
        "name": said.prefix,
        "prefix": said.prefix,
        "target": said.data.get("target", "generic"),
        "features": said.data.get("features", []),
        "functions": {key: listing(one.signature) for key, one in said.functions.items()},
        "imports": [],
        "weights_within": not weights,
        "loaders": ["shared-library"],
    }
    with scratch("inarch-program-") as folder:
        made = Path(folder, re.sub(r"\W", "_", Path(name).stem) or "module")
        pieces = [(0, weights)] if weights else []
        write_artifact(made, library, manifest, pieces, len(weights))
        try:
            return load(made).functions
        except InarchError as error:
            error.where = name
            raise


def _weights(name: str, said: Description) -> bytes:
    """The weights that are not in the library."""
    size = said.data.get("weights_bytes", 0)
    if not isinstance(size, int) or size <= 0:
        return b""
    beside = Path(name).with_suffix(".bin")
    try:
        found = beside.read_bytes()
    except OSError as error:
        raise EnvironmentFault(
            f"expected its weights, {size} bytes, in '{beside}': {error.strerror}", where=name
        ) from error
    if len(found) != size:
        raise InarchError(
            f"expected {size} bytes of weights, found {len(found)}; write both again with "
            "`inarch compile --emit=c`",
            where=str(beside),
        )
    return found
