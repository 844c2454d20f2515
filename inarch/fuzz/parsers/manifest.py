"""Artifacts of strangers, as `inarch inspect` shows them: with another manifest, or other bytes."""

from __future__ import annotations

import contextlib
import json
from argparse import Namespace
from functools import cache
from io import BytesIO, StringIO
from zipfile import ZipFile

from inarch.artifact import Artifact, write_artifact
from inarch.fuzz import Parser
from inarch.fuzz.files import corpus, written
from inarch.tools.commands.artifacts.inspect import COMMAND

_KEPT = corpus("manifest")
_MANIFEST = json.loads(_KEPT.seeds[0])


@cache
def _artifact() -> bytes:
    path = written("seed.inarch", b"")
    members = {"modules/1": b"subgraph_0"}
    write_artifact(path, b"library", _MANIFEST, [(0, b"weights")], 7, members)
    return path.read_bytes()


def _seeds() -> list[bytes]:
    artifact = _artifact()
    with ZipFile(BytesIO(artifact)) as archive:
        manifest = archive.read("manifest.json")
    return [manifest, json.dumps(json.loads(manifest)).encode(), artifact]


def check(data: bytes) -> None:
    """Inspects `data`, or the artifact with `data` as its manifest where that is what it looks like."""
    path = written("fuzz.inarch", data if not data.lstrip().startswith(b"{") else _with(data))
    for as_json in (False, True):
        with contextlib.redirect_stdout(StringIO()):
            COMMAND.execute(
                Namespace(artifact=path, json=as_json, check=True, key=None, verify=False)
            )
    Artifact.open(path)


def _with(manifest: bytes) -> bytes:
    """The artifact with another manifest."""
    stream = BytesIO(_artifact())
    with ZipFile(stream) as archive:
        place = archive.getinfo("manifest.json").header_offset
        names = [name for name in archive.namelist() if name != "manifest.json"]
        others = {name: archive.read(name) for name in names}
    result = BytesIO(_artifact()[:place])
    result.seek(0, 2)
    with ZipFile(result, "w") as archive:
        offsets = {name: ZipFile(BytesIO(_artifact())).getinfo(name) for name in others}
        for name, entry in offsets.items():
            archive.filelist.append(entry)
            archive.NameToInfo[name] = entry
        archive.writestr("manifest.json", manifest)
    return result.getvalue()


PARSER = Parser(
    _seeds,
    check,
    ".inarch",
    words=_KEPT.words,
)
