"""Sizes of one model share their weights: a pool in the cache, which every process maps."""

# Onnx is untyped:
# pyright: reportUnknownMemberType=false
from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import inarch
from effort import effort
from inarch.artifact import Artifact
from inarch.core.cache import Cache
from inarch.core.errors import EnvironmentFault, InarchError
from inarch.core.states import is_settled, state_of
from inarch.dialects import new_context
from inarch.dialects.kernel.pack import packed
from inarch.driver.compiler import build
from inarch.driver.keep import sources
from inarch.driver.keep.kept import Entry
from inarch.driver.keep.pool import BEGIN, Pool, Pools
from inarch.driver.open_model import OpenModule
from inarch.driver.options import Options
from inarch.ir.payload.shared import Places, SharedWeights
from inarch.ir.report.facts import facts_of
from inarch.passes.loop import fold_packs

WIDTH = 1024
WEIGHTS_BYTES = 4 * WIDTH * WIDTH
SIZES = ((4, 6), (5, 8), (6, 4))
"""Of which all multiply with weights that are packed alike."""
RNG = np.random.default_rng(3)
W = RNG.integers(-3, 4, (WIDTH, WIDTH)).astype(np.float32)
"""Whole numbers: any order of the sum gives the same."""


def _model(*, is_reshaped: bool = False) -> onnx.ModelProto:
    """max(x w, 0), or x w in a shape that is given."""
    last, more = ("Reshape(h, k)", ", int64[n] k") if is_reshaped else ("Relu(h)", "")
    text = (
        f'<ir_version: 8, opset_import: ["" : 17]> m (float[batch,seq,{WIDTH}] x{more}) => (float[r] y) '
        f"{{ h = MatMul(x, w) y = {last} }}"
    )
    model = onnx.parser.parse_model(text)
    model.graph.initializer.append(onnx.numpy_helper.from_array(W, "w"))
    model.graph.output[0].type.tensor_type.ClearField("shape")
    return model


def _x(batch: int, seq: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(batch).integers(-2, 3, (batch, seq, WIDTH)).astype(np.float32)


def check(module: Any, batch: int, seq: int) -> None:
    x = _x(batch, seq)
    np.testing.assert_array_equal(module(x), np.maximum(x @ W, 0))


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _pools(folder: Path) -> list[Path]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return [path for path in found if path.read_bytes()[:8] == b"INARCHWP"]


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model, `m.onnx`, and a cache in which one size of it was compiled."""
    home = tmp_path_factory.mktemp("warm")
    onnx.save(_model(), home / "m.onnx")
    time.sleep(0.06)  # one that was changed just now is not kept
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INARCH_CACHE_DIR", str(home / "cache"))
        patch.setattr(sources, "CHANGING_NS", -1)
        check(inarch.compile(home / "m.onnx"), *SIZES[0])
    return home


@pytest.fixture
def seen(warm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of this test, in which one size was compiled; the model is in the current folder."""
    folder = tmp_path / "cache"
    shutil.copytree(warm / "cache", folder)
    monkeypatch.setenv("INARCH_CACHE_DIR", str(folder))
    monkeypatch.setattr(sources, "CHANGING_NS", -1)
    monkeypatch.chdir(warm)
    return folder


@pytest.fixture
def folder(seen: Path) -> Path:
    """As `seen`; there is no pool."""
    for path in _pools(seen):
        path.unlink()
    return seen


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The artifacts that are compiled."""
    found: list[Path] = []

    def noted(source: Any, output: Path, *args: Any, **settings: Any) -> Any:
        found.append(output)
        return build(source, output, *args, **settings)

    monkeypatch.setattr("inarch.driver.compiler.build", noted)
    return found


def _forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has the next module look at the pool as another process does."""
    monkeypatch.setattr("inarch.driver.keep.sharing.POOLS", Pools())


@pytest.mark.parametrize("is_file", [True, False], ids=["file", "memory"])
def test_a_further_size_costs_its_code(
    folder: Path, compiled: list[Path], monkeypatch: pytest.MonkeyPatch, *, is_file: bool
) -> None:
    source = "m.onnx" if is_file else _model()
    module, sizes = inarch.compile(source), [_bytes(folder)]
    for batch, seq in SIZES:
        check(module, batch, seq)
        sizes.append(_bytes(folder))
    first, *others = np.diff(sizes)
    assert first < 1.5 * WEIGHTS_BYTES
    assert max(others) < 0.1 * WEIGHTS_BYTES
    again, count = inarch.compile(source), len(compiled)
    _forget(monkeypatch)
    for batch, seq in SIZES:
        check(again, batch, seq)
    assert len(compiled) == count
    assert _bytes(folder) - sizes[-1] < 0.01 * WEIGHTS_BYTES


SCRIPT = """
import logging, os, sys
import numpy as np
import inarch
from inarch.driver.keep import sources
sources.CHANGING_NS = -1
logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
module, w = inarch.compile(sys.argv[1]), np.load("w.npy")
def check(batch, seq):
    x = np.full((batch, seq, 1024), 2, np.float32)
    np.testing.assert_array_equal(module(x), np.maximum(x @ w, 0))
for text in sys.argv[2:]:
    check(*map(int, text.split(",")))
child = os.fork()
if child == 0:
    check(*map(int, sys.argv[2].split(",")))
    check(7, 7)  # of no other size
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""


def test_processes_share_one_pool(folder: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "w.npy", W)
    (tmp_path / "script.py").write_text(SCRIPT)
    sizes = [f"{batch},{seq}" for batch, seq in SIZES[:2]]
    before, model = _bytes(folder), Path("m.onnx").absolute()

    def start(*sizes: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "script.py", str(model), *sizes],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            text=True,
        )

    at_once = [start(*sizes), start(*reversed(sizes))]
    for process in at_once:
        process.communicate(timeout=300)
        assert process.returncode == 0
    assert len(_pools(folder)) == 1
    assert _bytes(folder) - before < 2 * WEIGHTS_BYTES
    said = start(*sizes).communicate(timeout=300)[0]
    assert said.count("from the cache") == len(sizes) + 1, said


DAMAGE: dict[str, Callable[[Path], object]] = {
    "a byte": lambda path: _set(path, BEGIN + 100_000, b"\xa5"),
    "head": lambda path: _set(path, 20, b"\xa5"),
    "list": lambda path: _set(path, path.stat().st_size - 64, b"\xa5"),
    "truncated": lambda path: os.truncate(path, 100_000),
    "empty": lambda path: os.truncate(path, 0),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"?" * 5000),
    "removed": lambda path: path.unlink(),
    "another": lambda path: path.write_bytes(b"\x7fELF" * 5000),
}


def _set(path: Path, place: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(place)
        assert file.read(1) != data
        file.seek(place)
        file.write(data)


@pytest.mark.sampled(effort(3, 8), reason="each costs two compilations of two sizes")
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_pool_that_is_not_as_it_was(
    seen: Path, compiled: list[Path], monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    (path,) = _pools(seen)
    DAMAGE[damage](path)
    for number in range(2):
        _forget(monkeypatch)
        compiled.clear()
        module = inarch.compile("m.onnx")
        compiled.clear()
        check(module, 4, 6)
        assert len(compiled) == (number == 0 and damage != "longer")
        check(module, 5, 8)
    assert len(_pools(seen)) == 1


@pytest.mark.usefixtures("folder")
def test_a_further_size_packs_nothing_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of its weights are laid out as those of a size before, which are of the same file."""
    while not is_settled(state_of("m.onnx")):
        time.sleep(0.01)
    packs: list[Any] = []

    def counted(*given: Any) -> Any:
        packs.append(given)
        return packed(*given)

    monkeypatch.setattr(fold_packs, "packed", counted)
    module, counts = inarch.compile("m.onnx"), list[int]()
    for batch, seq in SIZES:
        check(module, batch, seq)
        counts.append(len(packs))
    assert counts[0] > 0
    assert counts == [counts[0]] * len(SIZES)


def test_weights_of_one_shape_are_told_apart(tmp_path: Path) -> None:
    """Of one file, laid out in one way: what differs is where in the file they are."""
    path, n = tmp_path / "two.onnx", 32
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : 17]> m (float[rows,{n}] x) => (float[rows,{n}] y) '
        "{ h = MatMul(x, a) y = MatMul(h, b) }"
    )
    rng = np.random.default_rng(7)
    weights = {name: rng.integers(-3, 4, (n, n)).astype(np.float32) for name in "ab"}
    for name, array in weights.items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    onnx.save(model, path)
    while not is_settled(state_of(path)):
        time.sleep(0.01)
    module = inarch.compile(path)
    for rows in (6, 12, 18):
        x = rng.integers(-2, 3, (rows, n)).astype(np.float32)
        np.testing.assert_array_equal(module(x), x @ weights["a"] @ weights["b"])


def test_what_is_saved_needs_no_cache(folder: Path, tmp_path: Path) -> None:
    module = inarch.compile("m.onnx")
    for batch, seq in SIZES[:2]:
        check(module, batch, seq)
    assert isinstance(module, OpenModule)
    one, decided = module.at(_x(4, 6)), inarch.compile(_model(is_reshaped=True))
    reshaped = decided(_x(4, 6), np.array([-1, WIDTH]))
    one.save(tmp_path / "one.inarch")
    (tmp_path / "bytes.inarch").write_bytes(one.with_threads(1).save_to_bytes())
    module.save(tmp_path / "sizes.inarch")
    decided.save(tmp_path / "decided.inarch")
    pickled = pickle.dumps((one, one.get_function("main")))
    text = one.get_source("c")
    shutil.rmtree(folder)
    for name in ("one", "bytes", "sizes"):
        check(inarch.load(tmp_path / f"{name}.inarch", verify=True), 4, 6)
    for each in pickle.loads(pickled):
        check(each, 4, 6)
    loaded = inarch.load(tmp_path / "decided.inarch", verify=True)
    np.testing.assert_array_equal(loaded(_x(4, 6)), reshaped)
    closed = inarch.compile("m.onnx", shapes={"x": (4, 6, WIDTH)})
    assert (tmp_path / "one.inarch").read_bytes() == closed.save_to_bytes()
    assert text == closed.get_source("c")
    check(module, 4, 6)  # what is loaded stays


def test_artifacts_of_commands_are_kept_apart(seen: Path, tmp_path: Path) -> None:
    """What `inarch compile` finds in the cache is complete."""
    assert seen.is_dir()
    model, options = Path("m.onnx").absolute(), Options(shapes={"x": (*SIZES[0], WIDTH)})
    own, others = Entry.of(model, options, "sizes"), Entry.of(model, options)
    assert own is not None
    assert others is not None
    assert own.restore(tmp_path / "small.inarch") is not None
    assert others.restore(tmp_path / "m.inarch") is None


def _built(path: Path, own: Pool, **settings: Any) -> Places:
    context = new_context()
    facts_of(context).put(SharedWeights(own.place))
    build(_model(), path, Options(dims={"batch": 4, "seq": 6}), context=context, **settings)
    shared = facts_of(context).get(SharedWeights)
    assert shared is not None
    assert shared.places is not None
    return shared.places


def test_an_artifact_without_its_weights_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "small.inarch"
    _built(path, Pool(Cache(tmp_path / "cache"), "ab" * 32))
    assert path.stat().st_size < 0.1 * WEIGHTS_BYTES
    with pytest.raises(InarchError) as caught:
        inarch.load(path)
    assert caught.value.line() == (
        f"{path}: error: expected an artifact with its weights, found one of the cache, whose weights are in "
        "the pool abababababababab... there; write one with module.save, or `inarch compile`"
    )
    with Artifact.open(path) as artifact, pytest.raises(InarchError, match="with its weights"):
        artifact.verify()


@pytest.mark.usefixtures("seen")
def test_a_model_that_changes_while_it_is_compiled(tmp_path: Path) -> None:
    path = Path(shutil.copy("m.onnx", tmp_path))
    module = inarch.compile(path)

    def place(*given: Any) -> Any:
        path.touch()
        return _PLACE(*given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Pool, "place", place)
        with pytest.raises(EnvironmentFault, match="expected a file that stays as it is while"):
            check(module, 4, 6)


_PLACE = Pool.place


@pytest.mark.parametrize(
    "settings", [{"embed": True}, {"target": "x86-64-v2,x86-64-v3"}, {"backends": ["ccompiler"]}]
)
@pytest.mark.filterwarnings("ignore:backend 'ccompiler' was asked for and got nothing")
def test_what_is_not_shared(folder: Path, settings: Any) -> None:
    """What else may look at weights, or write artifacts, has its own."""
    module = inarch.compile("m.onnx", **settings)
    for batch, seq in SIZES[:2]:
        check(module, batch, seq)
    assert not _pools(folder)


@pytest.mark.usefixtures("folder")
def test_weights_that_are_garbage_of_a_cycle() -> None:
    """The collector clears a cycle in any order; the process died where the view of weights came first."""
    script = """
import gc
import numpy as np
import inarch
module = inarch.compile("m.onnx")
gc.disable()
for batch in (1, 2):
    library = module.at(np.ones((batch, 6, WIDTH), np.float32))["main"].c_entry.owner
    library.itself = library
del module, library
gc.collect()
""".replace("WIDTH", str(WIDTH))
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_what_is_too_large_is_not_shared(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INARCH_CACHE_BYTES", str(2 * WEIGHTS_BYTES - 5000))
    module = inarch.compile("m.onnx")
    for batch, seq in SIZES[:2]:
        check(module, batch, seq)
    assert not _pools(folder)
