"""Where a program is from, as its artifact says it: the model's format, hash, writer, and what the user adds.

Nothing of the machine: no path, no name of a user or host, no time. Equal compilations give equal files.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from inarch.core.cache import default_cache
from inarch.core.states import digest_of
from inarch.frontends import FilesRead, Origin
from inarch.ir.report.facts import facts_of


def provenance_of(source: Any, context: Context, metadata: Mapping[str, str]) -> dict[str, Any]:
    """Fields of the manifest for a model that was read into `context` just now.

    `source.format` is the frontend that read it (`module`: an xDSL module). `source.sha256` is of the file or
    bytes that were given, `data_sha256` of the files that it names, in the order of their names.
    """
    own = {"metadata": dict(sorted(metadata.items()))} if metadata else {}
    if isinstance(source, ModuleOp):
        return {"source": {"format": "module"}, **own}
    facts = facts_of(context)
    origin, read = facts.get(Origin), facts.get(FilesRead)
    assert origin is not None, "a frontend has read it"
    digest = _digest(source)
    data = [digest_of(path, default_cache()) for path in sorted(read.states)] if read else []
    found = {
        "format": origin.format,
        **({"sha256": digest} if digest else {}),
        **({"data_sha256": data} if data else {}),
        **origin.said,
    }
    return {"source": found, **own}


def _digest(source: Any) -> str | None:
    """None of what has no bytes of its own: a program that was built or changed in memory."""
    if isinstance(source, str | PathLike):
        return digest_of(Path(cast("str", source)), default_cache())
    if isinstance(source, bytes | bytearray | memoryview):
        return sha256(bytes(cast("bytes", source))).hexdigest()
    return None
