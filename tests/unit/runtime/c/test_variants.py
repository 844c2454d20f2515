"""One artifact with code for several kinds of CPU: the best that this one can run is taken, also in C."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inarch
from inarch.artifact import Artifact
from inarch.artifact.manifest import parse
from inarch.artifact.variants import write_variants
from inarch.core.errors import EnvironmentFault, InarchError, UsageError
from inarch.driver.compiler import build
from inarch.machine.target import cpu, native
from inarch.machine.target import parse as target_of
from inarch.tools.cli import run

TARGETS = ("x86-64-v4", "x86-64-v3", "x86-64-v2")
"""The best first."""
HERE = [name for name in TARGETS if not target_of(name).missing_here()]

pytestmark = pytest.mark.cpu("x86-64-v3")

W = np.linspace(-1, 1, 24 * 40, dtype=np.float32).reshape(24, 40)
NUMBERS = ", ".join(f"[{', '.join(map(str, row))}]" for row in W.tolist())
MODEL = f"""
func.func @main(%x: tensor<5x24xf32> {{inarch.name = "x"}}) -> (tensor<5x40xf32> {{inarch.name = "y"}}) {{
  %w = graph.constant dense<[{NUMBERS}]> : tensor<24x40xf32>
  %0 = graph.matmul %x, %w : tensor<5x24xf32>, tensor<24x40xf32> -> tensor<5x40xf32>
  func.return %0 : tensor<5x40xf32>
}}
"""
X = np.random.default_rng(0).normal(size=(5, 24)).astype(np.float32)
Y = X @ W


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`all.inarch` for `TARGETS`; `two.inarch` for x86-64-v2 and v3, named in this order."""
    folder = tmp_path_factory.mktemp("variants")
    (folder / "m.mlir").write_text(MODEL)
    build(folder / "m.mlir", folder / "all.inarch", target="x86-64-v2,x86-64-v3,x86-64-v4")
    build(folder / "m.mlir", folder / "two.inarch", target="x86-64-v2, x86-64-v3")
    return folder


@pytest.mark.parametrize("name", ["all", "two"])
def test_the_best_that_runs_here_is_taken(
    files: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any may be asked for; results are NumPy's with each. Both may be open at once."""
    monkeypatch.delenv("INARCH_TARGET", raising=False)
    path = files / f"{name}.inarch"
    best = inarch.load(path)
    assert best.target == next(target for target in HERE if name == "all" or target != "x86-64-v4")
    np.testing.assert_allclose(best(X), Y, rtol=1e-5, atol=1e-5)
    monkeypatch.setenv("INARCH_TARGET", "x86-64-v2")
    other = inarch.load(path, verify=True)
    assert other.target == "x86-64-v2"
    np.testing.assert_allclose(other(X), Y, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(best(X), Y, rtol=1e-5, atol=1e-5)
    monkeypatch.setenv("INARCH_TARGET", "x86-64-v5")
    with pytest.raises(EnvironmentFault) as caught:
        inarch.load(path)
    known = ", ".join(TARGETS if name == "all" else TARGETS[1:])
    assert caught.value.line() == (
        f"{path}: error: INARCH_TARGET: expected one of {known}, found 'x86-64-v5'"
    )


def test_the_same_from_c(files: Path, runtime: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """C asks the CPU itself, which INARCH_NATIVE does not limit."""
    best = next(name for name in TARGETS if target_of(name).features <= cpu().features)
    for asked, taken in ((None, best), ("x86-64-v2", "x86-64-v2"), ("", best)):
        monkeypatch.delenv("INARCH_TARGET", raising=False)
        if asked is not None:
            monkeypatch.setenv("INARCH_TARGET", asked)
        module = runtime.opened(files / "all.inarch", 2)
        assert runtime.functions.inarch_module_target(module).decode() == taken
        instance, y = runtime.instance(module), np.empty_like(Y)
        for bind, name, array in (("input", b"x", X), ("output", b"y", y)):
            function = getattr(runtime.functions, f"inarch_bind_{bind}")
            assert function(instance, name, array.ctypes.data, array.nbytes) == 0
        assert runtime.functions.inarch_run(instance) == 0, runtime.message()
        np.testing.assert_allclose(y, Y, rtol=1e-5, atol=1e-5)
        runtime.functions.inarch_instance_free(instance)
        runtime.close(module)
    monkeypatch.setenv("INARCH_TARGET", "x86-64-v5")
    assert runtime.open(files / "two.inarch")[0] == 5
    assert runtime.message() == (
        f"{files}/two.inarch: error: INARCH_TARGET: expected one of x86-64-v3, x86-64-v2, found 'x86-64-v5'"
    )


def test_a_cpu_that_fits_none_is_told_what_each_needs(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that has less, or one of another kind; from a file with one program as ever."""
    monkeypatch.delenv("INARCH_TARGET", raising=False)

    def missing(names: Iterable[str]) -> list[str]:
        return sorted({*names} & {"ssse3", "avx2"})

    monkeypatch.setattr("inarch.runtime.variants.check_features", missing)
    with pytest.raises(EnvironmentFault) as caught:
        inarch.load(files / "two.inarch")
    assert caught.value.line() == (
        f"{files}/two.inarch: error: expected code for this CPU, found code for others (x86-64-v3 needs "
        f"avx2, ssse3; x86-64-v2 needs ssse3); recompile with --target {native().level}"
    )


def test_none_fits_in_c(files: Path, runtime: Any, tmp_path: Path) -> None:
    """The two variants are made to say that they are for another machine; their library does."""
    data = bytearray((files / "two.inarch").read_bytes())
    with Artifact.open(files / "two.inarch") as artifact:
        for program in artifact.manifest.programs:
            data[program.library_offset + 18] = 0x2A  # of ELF's header: e_machine
    path = tmp_path / "two.inarch"
    path.write_bytes(data)
    status, _ = runtime.open(path, 1)
    assert status == 5
    features = [", ".join(sorted(target_of(name).features)) for name in TARGETS[1:]]
    assert runtime.message() == (
        f"{path}: error: expected code for this CPU, found code for others (x86-64-v3 needs {features[0]}; "
        f"x86-64-v2 needs {features[1]}); compile the model for a --target that this CPU is"
    )


def test_v4_alone_is_refused_where_there_is_no_avx512(files: Path, tmp_path: Path) -> None:
    if "x86-64-v4" in HERE:
        pytest.skip("this CPU has AVX-512")
    with Artifact.open(files / "all.inarch") as artifact:
        write_variants(tmp_path / "v4.inarch", [artifact.program(0)])
    with pytest.raises(EnvironmentFault, match=r"needs avx512bw, .*; recompile with --target x86-"):
        inarch.load(tmp_path / "v4.inarch")


def test_what_is_equal_is_there_once(tmp_path: Path, files: Path) -> None:
    """Weights that no level packs in its own way, and members; the parts of a file do not overlap."""
    (tmp_path / "add.mlir").write_text(
        MODEL.replace("graph.matmul %x, %w", "graph.add %x, %w")
        .replace("5x24", "24x40")
        .replace("5x40", "24x40")
    )
    path = tmp_path / "add.inarch"
    build(tmp_path / "add.mlir", path, target="x86-64-v2,x86-64-v3", backends=["ccompiler"])
    with Artifact.open(path) as artifact:
        first, second = artifact.manifest.programs
        assert first.weights == second.weights
        assert first.weights_offset == second.weights_offset
        # C is of the level, that of a backend is not.
        assert first.members["source.ccompiler"] == second.members["source.ccompiler"]
        entries = {name for name, each in second.members.items() if each.entry}
        assert entries == {"source.c.z"}
    np.testing.assert_array_equal(inarch.load(path)(W), W + W)
    with Artifact.open(files / "all.inarch") as artifact:
        places = sorted(
            place
            for one in artifact.manifest.programs
            for place in (
                (one.library_offset, one.library.nbytes),
                (one.weights_offset, one.weights.nbytes),
            )
        )
        assert len({start for start, _ in places}) == 6
        assert all(start + size <= following for (start, size), (following, _) in pairwise(places))


def test_a_variant_is_the_artifact_of_its_target(tmp_path: Path, files: Path) -> None:
    """Library, weights and all that the manifest says, to the byte."""
    build(files / "m.mlir", tmp_path / "v2.inarch", target="x86-64-v2")
    with (
        Artifact.open(files / "all.inarch") as whole,
        Artifact.open(tmp_path / "v2.inarch") as alone,
    ):
        one = whole.program(2)
        assert bytes(one.library) == bytes(alone.library)
        assert bytes(one.weights) == bytes(alone.weights)
        for name in ("functions", "features", "loaders", "provenance", "libraries"):
            assert getattr(one.manifest, name) == getattr(alone.manifest, name)
        assert [*one.manifest.members] == [*alone.manifest.members] == ["source.c.z"]
        assert one.member("source.c.z") == alone.member("source.c.z")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("x86-64-v2,", "target: expected names with a comma between two, found 'x86-64-v2,'"),
        ("x86-64-v2,x86-64-v2", "target: 'x86-64-v2' is 'x86-64-v2', which is there already"),
    ],
)
def test_targets_that_are_refused(target: str, message: str, files: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        build(files / "m.mlir", tmp_path / "m.inarch", target=target)
    assert caught.value.message == message
    assert list(tmp_path.iterdir()) == []


def test_text_is_for_one_target(files: Path) -> None:
    outcome = run(["compile", str(files / "m.mlir"), "--emit=c", "--target", "x86-64-v2,generic"])
    assert (outcome.code, outcome.err) == (
        2,
        "error: target: expected one, found 'x86-64-v2,generic'; only an artifact holds code for several\n",
    )


def test_a_damaged_variant_is_refused(files: Path, tmp_path: Path, runtime: Any) -> None:
    """Hashes are compared of every variant, whichever would run; places are inside the file."""
    path = Path(shutil.copy(files / "two.inarch", tmp_path / "two.inarch"))
    with Artifact.open(path) as artifact:
        second = artifact.manifest.variants[0]
    data = bytearray(path.read_bytes())
    data[second.weights_offset + 5] ^= 1
    path.write_bytes(data)
    with pytest.raises(InarchError, match="expected the weights of the manifest, found others"):
        inarch.load(path, check=False, verify=True)
    assert runtime.open(path, 3)[0] == 7
    assert "expected weights of SHA-256" in runtime.message()


WHOLE: dict[str, Any] = {
    "inarch": "0.1.0",
    "name": "m",
    "prefix": "m",
    "target": "b",
    "features": [],
    "functions": {"f": {"inputs": [], "outputs": []}},
    "imports": [],
    "loaders": ["x"],
    "format": 3,
    "abi": 3,
    "library_bytes": 0,
    "library_sha256": "",
    "weights_offset": 0,
    "weights_bytes": 0,
    "weights_sha256": "",
    "members": {},
}
ONE: dict[str, Any] = {"target": "a", "workspace_bytes": {"f": 0}, "library_offset": 0}


STRANGE: list[tuple[list[Any], str]] = [
    ([ONE] * 16, "variants: expected at most 15, found [{"),
    ([ONE, ONE], "variants: expected different targets, found [{"),
    ([{**ONE, "target": 1}], "variants[0].target: expected a string, found 1"),
    ([{"target": "a", "workspace_bytes": {"f": 0}}], "variants[0].library_offset: expected a size"),
    ([{"target": "a"}], "variants[0].workspace_bytes: expected an object, found nothing"),
    ([5], "variants[0]: expected an object, found 5"),
]


@pytest.mark.every_case(reason="each is a message of its own")
@pytest.mark.parametrize(("variants", "message"), STRANGE)
def test_manifests_of_strangers(variants: list[Any], message: str) -> None:
    with pytest.raises(InarchError) as caught:
        parse({**WHOLE, "variants": variants}, "m")
    assert caught.value.line().startswith(f"m: error: manifest.json: {message}")


def test_compile_and_inspect_say_it(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = json.loads(
        run(["compile", str(files / "m.mlir"), "--json", "--target", "x86-64-v2,x86-64-v3"]).out
    )
    assert told["target"] == "x86-64-v3"
    assert [one["target"] for one in told["variants"]] == ["x86-64-v2"]
    shown = json.loads(run(["inspect", "m.inarch", "--json"]).out)
    assert [one["target"] for one in shown["variants"]] == ["x86-64-v2"]
    text = run(["inspect", "m.inarch"]).out
    assert "target     x86-64-v3 or x86-64-v2, the first that the CPU can run\n" in text
