"""Models whose data is in other files, as `inarch tune` ships them: nothing but what lies in their folder."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from inarch.core.outside.regular import is_inside
from inarch.driver.options import Options
from inarch.fuzz import Parser
from inarch.fuzz.files import written
from inarch.fuzz.parsers.onnx import mutate
from inarch.testing.hostile import hostile_files
from inarch.tuning.files import files_of


@cache
def _folder() -> Path:
    """Where the models lie: beside pipes, devices, loops, and links that lead elsewhere."""
    folder = written("beside", b"").with_name("models")
    hostile_files(folder)
    (folder / "w.bin").write_bytes(bytes(16))
    return folder


def _seeds() -> list[bytes]:
    from onnx import ModelProto

    places = [path.read_bytes() for path in sorted(_folder().glob("place*.onnx"))]
    model = ModelProto.FromString(places[0])
    model.graph.initializer[0].external_data[0].value = "w.bin"
    return [*([model.SerializeToString()] * len(places)), *places]


def check(data: bytes) -> None:
    """Collects the files of a job; none of them lies elsewhere, neither here nor where it goes."""
    model = _folder() / "fuzz.onnx"
    model.write_bytes(data)
    files, _, _ = files_of(model, [], Options())
    for name in files:
        assert is_inside(name), f"{name!r} leaves the folder of a job"
        assert (_folder() / name).resolve().parent == _folder().resolve(), f"{name!r} is elsewhere"


PARSER = Parser(_seeds, check, ".onnx", located=False, mutate=mutate)
