"""Manifests that a stranger wrote: each is read, or refused with one line; nothing else."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from effort import effort
from inarch.artifact import Artifact, write_artifact
from inarch.artifact.manifest import parse
from inarch.core.errors import EnvironmentFault, InarchError
from inarch.runtime.module import load

MakeProgram = Callable[..., Path]

PORT: dict[str, Any] = {"name": "x", "dtype": "f32", "shape": [2, 3]}
COMPLETE: dict[str, Any] = {
    "inarch": "0.1.0",
    "name": "m",
    "prefix": "m",
    "target": "x86-64-v2",
    "features": ["sse3"],
    "functions": {"main": {"inputs": [PORT], "outputs": [PORT], "workspace_bytes": 64}},
    "imports": [
        "f",
        {"name": "g", "inputs": [PORT], "outputs": []},
        {"name": "h", "reads": 1},
        {"name": "i", "linked": "b"},
    ],
    "loaders": ["shared-library", "examplejson"],
    "libraries": [
        {
            "path": "/usr/lib/libm.so",
            "backend": "b",
            "package": "p",
            "kernels": ["k"],
            "symbols": ["s"],
            "sha256": "0",
        }
    ],
    "format": 3,
    "abi": 3,
    "library_bytes": 0,
    "library_sha256": "",
    "weights_offset": 0,
    "weights_bytes": 0,
    "weights_sha256": "",
    "members": {"modules/1": {"bytes": 3, "sha256": ""}},
}


def of_shape(*shape: object) -> dict[str, Any]:
    return {"functions": {"main": {"inputs": [], "outputs": [{**PORT, "shape": list(shape)}]}}}


def of_library(path: str) -> dict[str, Any]:
    return {"libraries": [{"path": path, "backend": "b", "package": ""}]}


SHAPE = "m: error: manifest.json: functions.main.outputs[0].shape: expected"
LIBRARY = "m: error: manifest.json: libraries[0].path: expected a path of at most 4095 bytes, found"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            of_shape(*[1] * 100),
            f"{SHAPE} at most 32 dimensions, found [{'1, ' * 18}1,...",
        ),
        (of_shape(1 << 45, 1), f"{SHAPE} an array that fits in memory, found [35184372088832, 1]"),
        (
            of_shape(1 << 61, 0),
            f"{SHAPE} an array that fits in memory, found [2305843009213693952, 0]",
        ),
        (of_library("/" + "x" * 5000), f"{LIBRARY} '/{'x' * 55}..."),
        (of_library("a\0b"), f"{LIBRARY} 'a\\x00b'"),
        (
            {"name": "half \ud800"},
            "m: error: manifest.json: name: expected a string of whole characters, found 'half \\ud800'",
        ),
        (
            {"members": {"\udfff": {"bytes": 0, "sha256": ""}}},
            "m: error: manifest.json: members: expected a string of whole characters, found '\\udfff'",
        ),
        (
            {"imports": [{"name": "f", "reads": -1}]},
            "m: error: manifest.json: imports[0].reads: expected a size, found -1",
        ),
    ],
)
def test_what_no_machine_can_have(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InarchError) as caught:
        parse({**COMPLETE, **change}, "m")
    assert caught.value.line() == message


def test_the_largest_that_is_accepted() -> None:
    parse({**COMPLETE, **of_shape(*[1] * 32)}, "m")
    parse({**COMPLETE, **of_shape((1 << 45) - 1)}, "m")
    parse({**COMPLETE, **of_library("/" + "x" * 4094)}, "m")


@pytest.mark.parametrize("path", ["/" + "x" * 300, "/" + "x/" * 2000, "/dev/null/x"])
def test_a_library_whose_name_no_system_can_look_up_is_one_that_does_not_exist(
    make_program: MakeProgram, tmp_path: Path, path: str
) -> None:
    made = make_program(tmp_path / "a.inarch", **of_library(path))
    with pytest.raises(EnvironmentFault) as caught:
        load(made)
    assert caught.value.where == str(made)
    assert caught.value.message == (
        f"backend 'b' calls '{path}', which does not exist, nor does '{Path(path).name}' beside the artifact "
        "or in INARCH_LIBRARY_PATH; restore it, or recompile where it is"
    )


def test_an_output_for_which_there_is_no_memory(
    make_program: MakeProgram, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refused when it is called: a machine may have it."""
    path = make_program(tmp_path / "a.inarch")
    module = load(path)

    def none(*_arguments: object) -> None:
        raise MemoryError

    monkeypatch.setattr("inarch.runtime.tensor.np", _Without(np, "empty", none))
    x = np.zeros((2, 3), np.float32)
    with pytest.raises(EnvironmentFault) as caught:
        module(x, x)
    assert caught.value.line() == ("error: output 'sum': not enough memory for f32[2, 3], 24 bytes")


class _Without:
    """A module with one function replaced."""

    def __init__(self, module: object, name: str, function: object) -> None:
        self._module, self._name, self._function = module, name, function

    def __getattr__(self, name: str) -> object:
        return self._function if name == self._name else getattr(self._module, name)


# Anything


STRANGE: list[Any] = [
    *(None, True, -1, 0, 1, 3, 1 << 31, 1 << 46, 1 << 62, 10**400),
    *(1.5, float("nan"), float("inf")),
    *("", "main", "x86-64-v9", "native", "f32", "../../../etc", "/" * 3000, "x" * 300),
    *("\0", "\n", "\ud800"),
    *([], {}, [[]], [1] * 100, {"": {}}, [None]),
]


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """`(container, key)` of everything within a JSON value."""
    keys: list[Any] = list(value) if hasattr(value, "keys") else list(range(len(value)))
    for key in keys:
        inner: Any = value[key]
        yield value, key
        if hasattr(inner, "__getitem__") and not isinstance(inner, str):
            yield from places(inner)


def mutated(rng: random.Random, manifest: dict[str, Any]) -> dict[str, Any]:
    """`manifest` with one to three things replaced, removed, copied or nested."""
    result = copy.deepcopy(manifest)
    for _ in range(rng.randint(1, 3)):
        container, key = rng.choice(list(places(result)))
        kind = rng.randrange(5)
        if kind == 0:
            del container[key]
        elif kind == 1:
            other, where = rng.choice(list(places(result)))
            container[key] = copy.deepcopy(other[where])
        elif kind == 2:
            deep: Any = container[key]
            # pyrefly: ignore[non-convergent-recursion] - it holds itself
            for _ in range(rng.choice([1, 20, 100])):
                deep = [deep] if rng.random() < 0.5 else {"shape": deep}
            container[key] = deep
        else:
            container[key] = copy.deepcopy(rng.choice(STRANGE))
        if not result:
            return result
    return result


def check_line(error: InarchError) -> None:
    line = error.line()
    assert "\n" not in line
    assert len(line.encode()) < 20_000


MANY = pytest.mark.fuzz
COUNTS = [pytest.param(1000, id="some"), pytest.param(50_000, id="many", marks=MANY)]


@pytest.mark.parametrize("count", COUNTS)
def test_any_manifest_is_read_or_refused(count: int) -> None:
    rng = random.Random(7)
    accepted = 0
    for _ in range(count):
        try:
            parse(mutated(rng, COMPLETE), "m")
            accepted += 1
        except InarchError as error:
            check_line(error)
    assert 0 < accepted < count  # some of each


LOADS = [pytest.param(effort(40, 100), id="some"), pytest.param(1200, id="many", marks=MANY)]


@pytest.mark.parametrize("count", LOADS)
def test_any_manifest_in_a_real_file_is_loaded_or_refused(
    make_program: MakeProgram, tmp_path: Path, count: int
) -> None:
    """What is valid for itself may not be that of the library, of this machine, or of the file."""
    good = make_program(tmp_path / "good.inarch", imports=["twice"])
    with Artifact.open(good) as artifact:
        library, weights = bytes(artifact.library), bytes(artifact.weights)
        manifest = dict(artifact.manifest.data)
    rng = random.Random(8)
    tried = loaded = 0
    path = tmp_path / "a.inarch"
    while tried < count:
        try:
            write_artifact(path, library, mutated(rng, manifest), [(0, weights)], len(weights))
        except InarchError:
            continue
        tried += 1
        try:
            load(path, imports={"twice": print})
            loaded += 1
        except InarchError as error:
            check_line(error)
    assert 0 < loaded < tried
