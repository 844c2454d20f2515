"""constraints.txt: every package that a developer's environment and CI install has one version."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[3]
if not (ROOT / "Makefile").is_file():
    pytest.skip("a clone has pins; a wheel has ranges", allow_module_level=True)

LARGE = {"openvino", "torch"}
"""What only `inarch bench` measures against: its user chooses the version."""


def _pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [re.fullmatch(r"([\w.-]+)==([\w.]+)", line) for line in lines if line[:1] != "#"]
    return {canonicalize_name(pin[1]): pin[2] for pin in pins if pin is not None}


def _ranges() -> list[Requirement]:
    """Each package that pyproject.toml names, without our own extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    every = [Requirement(text) for group in groups for text in group]
    return [one for one in every if one.name != "inarch" and one.name not in LARGE]


def test_each_package_has_one_version_within_its_range() -> None:
    """onnx, onnxruntime and NumPy among them; whatever they need too (B9)."""
    pins, ranges = _pins(), _ranges()
    assert {"numpy", "onnx", "onnxruntime", "xdsl"} <= {one.name for one in ranges}
    assert [str(one) for one in ranges if canonicalize_name(one.name) not in pins] == []
    assert [
        str(one) for one in ranges if pins[canonicalize_name(one.name)] not in one.specifier
    ] == []


def test_what_they_need_has_one_version_too() -> None:
    """No package comes in a version that nobody wrote down (B9)."""
    pins = _pins()
    missing = {
        f"{name} needs {need}"
        for name in pins
        for need in _needs(name)
        if canonicalize_name(Requirement(need).name) not in pins
    }
    assert missing == set()


def _needs(name: str) -> list[str]:
    """What an installed package needs here, without its extras; nothing of one that is not installed."""
    try:
        needs = metadata.requires(name) or []
    except metadata.PackageNotFoundError:  # zig, where a C compiler was found
        return []
    return [
        need
        for need in needs
        if (marker := Requirement(need).marker) is None or marker.evaluate({"extra": ""})
    ]


def test_setup_and_the_clean_environment_obey_the_pins() -> None:
    make = (ROOT / "Makefile").read_text()
    installs = [line for line in make.splitlines() if "pip -qq install" in line]
    # setup, bridges, packages, and `make upgrade`, which is there to change them
    pinned = ("-c constraints.txt", "-r tests/unit/bridges/", "-r benchmarks/packages/", " -U ")
    assert len(installs) == len(pinned)
    assert [line for line in installs if not any(each in line for each in pinned)] == []
    assert (
        '"-c", str(ROOT / "constraints.txt")'
        in (ROOT / "tests/unit/house/test_wheel.py").read_text()
    )


@pytest.mark.parametrize(
    "file", sorted(ROOT.glob("tests/unit/bridges/*.txt")), ids=lambda file: file.stem
)
def test_the_environment_of_a_bridge_is_pinned(file: Path) -> None:
    """All that is in it, what frameworks and the tests need too (B9)."""
    lines = [line for line in file.read_text().splitlines() if not line.startswith("#")]
    assert [line for line in lines if re.fullmatch(r"[\w.-]+==[\w.]+", line) is None] == []
    names = {line.partition("==")[0] for line in lines}
    assert {"cffi", "numpy", "xdsl"} | _of_conftests() <= names
    assert (file.parent / f"test_{file.stem}.py").is_file()


def _of_conftests() -> set[str]:
    """The packages without which pytest does not begin with the tests of a bridge."""
    found: set[str] = set()
    for folder in ("", "unit", "unit/bridges"):
        path = ROOT / "tests" / folder / "conftest.py"
        lines = path.read_text().splitlines() if path.is_file() else []
        words = [line.split() for line in lines]
        found |= {word[1].partition(".")[0] for word in words if word[:1] in (["import"], ["from"])}
    packages = {name for names in metadata.packages_distributions().values() for name in names}
    return found & packages - {"inarch"}
