"""Models that leave sizes open: artifacts for several sizes, and modules that compile for those of a call."""

# Onnx is untyped:
# pyright: reportUnknownMemberType=false
from __future__ import annotations

import logging
import os
import pickle
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import pytest

import inarch
from effort import effort
from inarch.artifact import Artifact
from inarch.core.errors import InarchError, InarchWarning, UnsupportedError, UsageError
from inarch.dialects import new_context
from inarch.driver.open_model import MOST_IN_MEMORY, OpenModule
from inarch.frontends import Sizes
from inarch.frontends.onnx import import_onnx
from inarch.ir.text import print_module
from inarch.testing import execute
from inarch.tools.cli import run

Array = np.ndarray[Any, Any]

MODELS = Path(__file__).parents[3] / "benchmarks" / "models"


def parse(nodes: str, inputs: str, outputs: str, opset: int = 17) -> onnx.ModelProto:
    text = (
        f'<ir_version: 8, opset_import: ["" : {opset}]> m ({inputs}) => ({outputs}) {{ {nodes} }}'
    )
    return onnx.parser.parse_model(text)


def expected(model: onnx.ModelProto, inputs: dict[str, Array], **values: Array) -> list[Array]:
    """What the definitions say, of the model that is imported for these sizes."""
    context, shapes = new_context(), {name: array.shape for name, array in inputs.items()}
    module = import_onnx(model, context, Sizes(shapes=shapes, values=values))
    return execute(module, list(inputs.values()), context)


LINEAR = parse(
    "h = MatMul(x, w) t = Add(h, b) y = Relu(t)",
    "float[batch,seq,24] x, float[batch,1,32] b",
    "float[batch,seq,32] y",
)
LINEAR.graph.initializer.append(
    onnx.numpy_helper.from_array(
        np.random.default_rng(1).standard_normal((24, 32), dtype=np.float32), "w"
    )
)


def arguments(batch: int, seq: int, seed: int = 0) -> dict[str, Array]:
    rng = np.random.default_rng(seed)
    shapes = {"x": (batch, seq, 24), "b": (batch, 1, 32)}
    return {name: rng.standard_normal(shape, dtype=np.float32) for name, shape in shapes.items()}


def check(module: Any, batch: int, seq: int) -> None:
    inputs = arguments(batch, seq)
    (wanted,) = expected(LINEAR, inputs)
    for _ in range(3):  # by Python, then compiled
        np.testing.assert_allclose(module(*inputs.values()), wanted, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(module(**inputs), wanted, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(module.run(inputs)["y"], wanted, rtol=1e-5, atol=1e-5)
    out = np.empty_like(wanted)
    assert module(*inputs.values(), out=out) is out
    np.testing.assert_allclose(out, wanted, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(module.bind(**inputs)(), wanted, rtol=1e-5, atol=1e-5)


# ------------------------------------------------------------------------------------ artifacts


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sizes") / "four.inarch"
    inarch.compile(LINEAR, specialize={"batch": [1, 3], "seq": [4, 7]}).save(path)
    return path


def test_an_artifact_takes_what_fits(four: Path) -> None:
    module = inarch.load(four)
    assert module.sizes == tuple({"batch": b, "seq": s} for b in (1, 3) for s in (4, 7))
    for batch, seq in ((3, 7), (1, 4), (3, 4), (1, 7), (1, 4)):
        check(module, batch, seq)
        check(module.with_threads(2), batch, seq)
        check(pickle.loads(pickle.dumps(module)), batch, seq)
    assert str(module.inputs) == "(<x: f32[1, 4, 24]>, <b: f32[1, 1, 32]>)"


def test_sizes_share_weights(four: Path, tmp_path: Path) -> None:
    inarch.compile(LINEAR, dims={"batch": 1, "seq": 4}).save(tmp_path / "one.inarch")
    with Artifact.open(four) as several, Artifact.open(tmp_path / "one.inarch") as one:
        # As they are, and packed: one row is multiplied by another kernel than many.
        assert several.manifest.weights.nbytes <= 2 * one.manifest.weights.nbytes
        assert one.manifest.sizes == {"main": {"batch": 1, "seq": 4}}


def test_a_size_that_is_not_there(four: Path) -> None:
    module = inarch.load(four)
    known = "batch=1, seq=4; batch=1, seq=7; batch=3, seq=4; batch=3, seq=7"
    with pytest.raises(inarch.ArgumentError) as caught:
        module(**arguments(2, 4))
    assert str(caught.value) == (
        "main: argument 'x': expected f32 of shape [1, 4, 24] or [1, 7, 24] or [3, 4, 24] or [3, 7, 24], "
        f"found [2, 4, 24]; the code is for {known}: compile the model for this size, too "
        "(--specialize, or --dim)"
    )
    with pytest.raises(inarch.ArgumentError) as caught:
        module(arguments(1, 4)["x"], arguments(3, 4)["b"])
    assert str(caught.value) == (
        f"main: expected sizes that go together ({known}), found 'x' of [1, 4, 24], 'b' of [3, 1, 32]; "
        "compile the model for these, too (--specialize, or --dim)"
    )
    with pytest.raises(inarch.ArgumentError, match=r"convert it with x\.astype\(np\.float32\)$"):
        module(*(array.astype(np.float64) for array in arguments(1, 4).values()))
    one = inarch.compile(LINEAR, dims={"batch": 1, "seq": 4})
    with pytest.raises(inarch.ArgumentError) as caught:
        one(**arguments(2, 4))
    assert "the code is for batch=1, seq=4: compile the model for this size, too" in str(
        caught.value
    )


def test_wrong_sets() -> None:
    with pytest.raises(
        UsageError, match=r"^no dimension 'bach' in <model>; did you mean 'batch'\?"
    ):
        inarch.compile(LINEAR, specialize=[{"bach": 1, "seq": 2}])
    with pytest.raises(
        UsageError, match=r"^specialize: expected at most 256 sets of sizes, found 400$"
    ):
        inarch.compile(LINEAR, specialize={"batch": range(1, 21), "seq": range(1, 21)})
    for bad in (3, [3]):
        with pytest.raises(
            UsageError,
            match=re.escape(
                "specialize: expected {'batch': [1, 8]} or [{'batch': 1}, {'batch': 8}], found "
                + repr(bad)
            ),
        ):
            inarch.compile(LINEAR, specialize=bad)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InarchError, match=r"dimension 'seq' of input 'x' is not bound"):
        inarch.compile(LINEAR, specialize={"batch": [1, 2]})
    for wrong, shown in ((3.5, "3.5 (a float)"), ("8", "'8'"), (True, "True")):
        with pytest.raises(UsageError, match=rf"^dims\['batch'\].*, found {re.escape(shown)}"):
            inarch.compile(LINEAR, specialize={"batch": wrong, "seq": [2]})  # pyright: ignore[reportArgumentType]


def test_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(LINEAR, "m.onnx")
    np.savez("in.npz", **arguments(3, 7))  # pyright: ignore[reportArgumentType]

    def said(line: str) -> tuple[int, str]:
        outcome = run(line.split())
        return outcome.code, outcome.out + outcome.err

    assert said("compile m.onnx") == (
        1,
        "m.onnx: error: dimension 'batch' of input 'x' is not bound; bind it with --dim batch=1, or make an "
        "artifact of several sizes with `inarch compile --specialize batch=1,8` (unbound: batch, seq)\n",
    )
    assert said("compile m.onnx -q --specialize batch=1,seq=4 --specialize batch=3,seq=7") == (
        0,
        "",
    )
    assert inarch.load("m.inarch").sizes == ({"batch": 1, "seq": 4}, {"batch": 3, "seq": 7})
    code, text = said(
        "compile m.onnx --emit graph --specialize batch=1,seq=4 --specialize batch=3,seq=7"
    )
    assert (code, text.count("func.func @main")) == (0, 2)
    found = said("run m.inarch --input in.npz")
    assert found[0] == 0
    assert found == said("run m.onnx --input in.npz")
    assert found == said("run m.onnx --input in.npz --dim batch=3 --dim seq=7")
    assert "float32[3, 7, 32]" in said("run m.inarch --dim batch=3")[1]
    assert said("run m.inarch --dim batch=2") == (
        2,
        "error: m.inarch: it has code for batch=1, seq=4; batch=3, seq=7, not for batch=2\n",
    )
    code, text = said("run m.onnx")
    assert (code, text) == (
        2,
        "error: m.onnx: its sizes are open (x: f32[batch, seq, 24], b: f32[batch, 1, 32]); give "
        "--dim NAME=SIZE for each, or all inputs with --input\n",
    )
    assert " of batch=3, seq=7\n" in said("inspect m.inarch")[1]
    assert said("compile m.onnx --specialize batch=1,")[1] == (
        "error: --specialize: expected NAME=SIZE,SIZE... with whole numbers, found 'batch=1,'\n"
    )


# ------------------------------------------------------------------------------------ at the call


def test_sizes_of_calls(caplog: pytest.LogCaptureFixture) -> None:
    module = inarch.compile(LINEAR)
    assert isinstance(module, OpenModule)
    assert str(module.inputs) == "(<x: f32[batch, seq, 24]>, <b: f32[batch, 1, 32]>)"
    assert str(module.outputs) == "(<y: f32[batch, seq, 32]>,)"
    assert module.sizes == ()
    for batch, seq in ((1, 4), (2, 5), (0, 3), (1, 4), (2, 5)):
        check(module, batch, seq)
    assert module.sizes == ({"batch": 1, "seq": 4}, {"batch": 2, "seq": 5}, {"batch": 0, "seq": 3})
    said = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(said) == 1
    assert "its sizes are open, so that it is compiled for those of each call" in said[0]
    check(module.with_threads(2), 2, 5)
    check(pickle.loads(pickle.dumps(module)), 2, 5)


def test_sizes_by_name() -> None:
    """What `at` compiles for is there when a call comes with it; expressions follow."""
    module = inarch.compile(LINEAR)
    assert isinstance(module, OpenModule)
    at = module.at(batch=2, seq=5)
    assert [port.shape for port in at.get_function("main").signature.inputs] == [
        (2, 5, 24),
        (2, 1, 32),
    ]
    check(module, 2, 5)
    assert module.sizes == ({"batch": 2, "seq": 5},)
    assert module.at(np.ones((2, 5, 24), np.float32), np.ones((2, 1, 32), np.float32)) is at
    for given, message in (
        ({"batch": 1, "sek": 2},
         "main: no input or size 'sek'; did you mean 'seq'? Inputs: x, b; sizes: batch, seq"),
        ({"batch": 1}, "main: argument 'x' (x: f32[batch, seq, 24]): expected a size 'seq', or an array, "
         "found batch = 1"),
        ({"batch": 1, "seq": 2.5}, "dims['seq']: expected a whole number, found 2.5 (a float)"),
        ({"batch": -1, "seq": 2}, "main: size 'batch': expected 0 or more, found -1"),
        ({"batch": 2**62, "seq": 1}, "main: argument 'x' (x: f32[batch, seq, 24]): expected tensors of less "
         "than 1 TiB, found one of shape (4611686018427387904, 1, 24); take smaller sizes"),
        ({"batch": 2**32, "seq": 2**32}, "main: argument 'x' (x: f32[batch, seq, 24]): expected tensors of "
         "less than 1 TiB, found one of shape (4294967296, 4294967296, 24); take smaller sizes"),
    ):  # fmt: skip
        with pytest.raises(InarchError) as caught:
            module.at(**given)
        assert str(caught.value) == message
    model = parse(
        "a = Concat<axis=0>(x, z) y = Reshape(a, r)",
        "float[s] x, float[t] z, int64[2] r",
        "float[u,v] y",
    )
    model.graph.input[1].type.tensor_type.shape.dim[0].dim_param = "2*s + 1"
    decided = inarch.compile(model)
    assert isinstance(decided, OpenModule)
    at = decided.at(s=1, r=np.array([2, 2]))
    assert at.get_function("main").signature.outputs[0].shape == (2, 2)
    with pytest.raises(InarchError) as caught:
        decided.at(s=3)
    assert str(caught.value) == (
        "main: expected the value of input 'r', which decides shapes, beside sizes"
    )


def test_saved_sizes(tmp_path: Path) -> None:
    module = inarch.compile(LINEAR)
    with pytest.raises(
        UsageError, match=r"has no code yet: its sizes are open; call it, or compile it with dims$"
    ):
        module.save(tmp_path / "m.inarch")
    for batch, seq in ((1, 4), (2, 5)):
        check(module, batch, seq)
    module.save(tmp_path / "m.inarch")
    saved = inarch.load(tmp_path / "m.inarch")
    assert saved.sizes == module.sizes
    check(saved, 2, 5)
    x, b = np.ones((2, 5, 24), np.float32), np.ones((2, 1, 32), np.float32)
    for one in (saved.at(batch=2, seq=5), saved.at(seq=5), saved.with_threads(2).at(x, b)):
        assert [port.shape for port in one.inputs] == [x.shape, b.shape]
        check(one, 2, 5)
    one = saved.at(b=b, batch=2)
    assert one.sizes == ()
    known = "batch=1, seq=4; batch=2, seq=5"
    for module, args, given, message in (
        (saved, (), {"batch": 1, "seq": 5}, f"main: expected sizes that there is code for ({known}), found "
         "batch=1, seq=5; compile the model for these, too (--specialize, or --dim)"),
        (saved, (), {"sek": 1}, f"main: no size 'sek'; the code is for {known}"),
        (saved, (), {"seq": "5"}, "dims['seq']: expected a whole number, found '5' (a str)"),
        (saved, (x,), {}, "main: input 'b' is missing; inputs: x, b"),
        (saved, (x.astype(float), b), {}, "main__2: argument 'x': expected f32[2, 5, 24], found "
         "f64[2, 5, 24]; convert it with x.astype(np.float32)"),
        (one, (x, b), {}, f"main__2: expected a function of open sizes, found {one['main']}, whose sizes "
         "are fixed; call it as it is"),
    ):  # fmt: skip
        with pytest.raises(InarchError) as caught:
            module.at(*args, **given)
        assert str(caught.value) == message
    module = inarch.compile(LINEAR, specialize=[{"batch": 1, "seq": 4}, {"batch": 1, "seq": 5}])
    with pytest.raises(InarchError) as caught:
        module.at(batch=1)
    assert str(caught.value) == (
        "main: expected the sizes of one function, found batch=1, which are those of several "
        "(batch=1, seq=4; batch=1, seq=5); give the others, too"
    )


def test_an_encoder_of_many_sizes() -> None:
    """As exporters write BERT: reshapes that keep dimensions, places sliced by the length."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(MODELS))  # pyright: ignore[reportUnknownMemberType]
        bert: Any = __import__("bert_base")
    model = bert.build(
        dynamic=True, layers=2, hidden=20, heads=2, inner=24, vocabulary=50, sequence=40
    )
    module, rng = inarch.compile(model), np.random.default_rng(5)
    pairs = [
        (1, 1),
        (1, 7),
        (2, 7),
        (3, 32),
        *((b, s) for b in (1, 4, 5, 8) for s in (3, 16, 33, 40)),
    ]
    pairs = pairs[: effort(4, 20)]
    for batch, length in (*pairs, *pairs):
        inputs = {port.name: rng.integers(0, 2, (batch, length)) for port in module.inputs}
        (wanted,) = expected(model, inputs)
        np.testing.assert_allclose(module(**inputs), wanted, rtol=1e-4, atol=1e-5)
    assert [tuple(each.values()) for each in module.sizes] == pairs


ANOTHER = """
import logging, sys
import numpy as np
import inarch
from inarch.driver.keep import sources
sources.CHANGING_NS = -1  # whoever edits Inarch tests it at once
logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
module = inarch.compile("m.onnx")
for batch, seq in ((1, 4), (2, 5)):
    module(np.ones((batch, seq, 24), np.float32), np.ones((batch, 1, 32), np.float32))
"""


def test_another_process_finds_what_was_compiled(tmp_path: Path) -> None:
    onnx.save(LINEAR, tmp_path / "m.onnx")
    os.utime(tmp_path / "m.onnx", (1, 1))  # one that may just be written is not kept
    (tmp_path / "script.py").write_text(ANOTHER)
    texts: list[str] = []
    for number in range(2):
        (tmp_path / f"another{number}").write_text("")  # beside the script, as outputs are
        done = subprocess.run(
            [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        texts.append(done.stdout)
    assert texts[0].count("compiled in") == 2
    assert texts[1].count("from the cache") == 2, texts[1]


def test_a_model_that_changes_later_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = parse("y = Neg(x)", "float[n] x", "float[n] y")
    monkeypatch.chdir(tmp_path)
    onnx.save(model, "m.onnx")
    here, there = inarch.compile(model), inarch.compile("m.onnx")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    model.graph.node[0].op_type = "Abs"
    for n in (1, 2):
        for module in (here, there):
            np.testing.assert_array_equal(module(np.ones(n, np.float32)), -np.ones(n))
    pickled = pickle.dumps(there)
    np.testing.assert_array_equal(pickle.loads(pickled)(np.ones(2, np.float32)), [-1, -1])
    onnx.save(model, tmp_path / "m.onnx")
    np.testing.assert_array_equal(there(np.ones(2, np.float32)), [-1, -1])
    for use in (
        lambda: there(np.ones(3, np.float32)),
        lambda: there.with_threads(2)(np.ones(4, np.float32)),
        lambda: pickle.dumps(there),
        lambda: pickle.loads(pickled),
        lambda: there.save(tmp_path / "two.inarch"),
    ):
        with pytest.raises(InarchError) as caught:
            use()
        assert caught.value.line() == (
            f"{tmp_path}/m.onnx: error: expected the model that was there at first, found another one, or "
            "none; compile it again"
        )


def test_threads_that_call_with_sizes_of_their_own() -> None:
    module = inarch.compile(LINEAR)
    failed: list[BaseException] = []

    def calls(batch: int) -> None:
        try:
            for seq in (2, 3):
                check(module, batch, seq)
        except BaseException as error:  # noqa: BLE001 - told below
            failed.append(error)

    threads = [threading.Thread(target=calls, args=(1 + number % 2,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert len(module.sizes) == 4


def test_many_sizes_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inarch.driver.open_model.MOST_IN_MEMORY", 3)
    assert MOST_IN_MEMORY > 3
    module = inarch.compile(parse("y = Neg(x)", "float[n] x", "float[n] y"))
    for n in (1, 2, 3, 4, 5, 1):
        np.testing.assert_array_equal(module(np.ones(n, np.float32)), -np.ones(n, np.float32))
    assert [each["n"] for each in module.sizes] == [4, 5, 1]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"x": (2, 4)}, "main: input 'x': expected 3 dimensions (batchxseqx24), found [2, 4]"),
        ({"x": (2, 4, 25)}, "main: input 'x': expected shape batchxseqx24, found [2, 4, 25]"),
    ],
)
def test_shapes_that_do_not_fit(given: dict[str, tuple[int, ...]], message: str) -> None:
    module = inarch.compile(LINEAR)
    shapes = {"x": (2, 4, 24), "b": (2, 1, 32), **given}
    with pytest.raises(inarch.ArgumentError) as caught:
        module(**{name: np.zeros(shape, np.float32) for name, shape in shapes.items()})
    assert str(caught.value) == message


def test_arguments_that_do_not_fit() -> None:
    module, good = inarch.compile(LINEAR), arguments(1, 4)
    takes = "(x: f32[batch, seq, 24], b: f32[batch, 1, 32])"
    for call, message in {
        lambda: module(good["x"]): f"main: expected 2 arguments {takes}, found 1; 'b' is missing",
        lambda: module(x=good["x"], y=1): "main: no input 'y'. Inputs: x, b",
        lambda: module(
            good["x"], x=good["x"]
        ): "main: input 'x' is given twice, by position and by name",
        lambda: module(good["x"].astype(np.float64), good["b"]): (
            "main: argument 'x': expected f32[1, 4, 24], found f64[1, 4, 24]; "
            "convert it with x.astype(np.float32)"
        ),
        lambda: cast("Any", module).run(None, good): (
            "run: expected one dict of inputs by name, found 2 arguments; onnxruntime's run(outputs, inputs) "
            "is run(inputs): it gives all outputs, by name"
        ),
    }.items():
        with pytest.raises(inarch.ArgumentError) as caught:
            call()
        assert str(caught.value) == message
    assert module.sizes == ()  # nothing was compiled for it


def test_what_no_size_helps_is_said_at_once() -> None:
    model = parse("a = Abs(x) b = Softmaks(a) y = Neg(b)", "float[n,n] x", "float[n] y")
    with pytest.raises(
        UnsupportedError, match=r"Softmaks \('b'; no operator of ai\.onnx that is known"
    ):
        inarch.compile(model)


# ------------------------------------------------------------------------------------ relations


def test_sizes_that_depend_on_each_other() -> None:
    model = parse("y = Concat<axis=0>(x, z)", 'float[s] x, float["2*s + 1"] z', "float[t] y")
    model.graph.input[1].type.tensor_type.shape.dim[0].dim_param = "2*s + 1"
    for given in (Sizes({"s": 3}), Sizes(shapes={"x": (3,)}), Sizes(shapes={"z": (7,)})):
        module = import_onnx(model, new_context(), given)
        assert '%x: tensor<3xf32> {inarch.name = "x"}, %z: tensor<7xf32>' in print_module(module)
    for shapes, message in {
        ((3,), (8,)): "input 'z': expected '2*s + 1' = 7, as s = 3, found 8",
    }.items():
        with pytest.raises(UsageError) as caught:
            import_onnx(model, new_context(), Sizes(shapes=dict(zip("xz", shapes, strict=True))))
        assert str(caught.value) == message
    with pytest.raises(
        UsageError, match=r"^input 'z': expected a size that is '2\*s \+ 1', found 8$"
    ):
        import_onnx(model, new_context(), Sizes(shapes={"z": (8,)}))


def test_what_has_no_name_is_no_relation() -> None:
    """Exporters write '?' for every size that they do not know."""
    model = parse("y = Concat<axis=0>(x, z)", "float[n] x, float[m] z", "float[t] y")
    for info in model.graph.input:
        info.type.tensor_type.shape.dim[0].dim_param = "?"
    module = inarch.compile(model)
    assert str(module.inputs) == "(<x: f32[x.0]>, <z: f32[z.0]>)"
    x, z = np.ones(2, np.float32), np.zeros(3, np.float32)
    np.testing.assert_array_equal(module(x, z), [1, 1, 0, 0, 0])


def test_one_name_for_two_sizes_is_a_warning() -> None:
    model = parse("y = Concat<axis=0>(x, z)", "float[n] x, float[n] z", "float[t] y")
    module, x, z = inarch.compile(model), np.ones(2, np.float32), np.zeros(3, np.float32)
    with pytest.warns(
        InarchWarning, match=r"^input 'z': expected 'n' = 2, found 3; both are taken"
    ):
        np.testing.assert_array_equal(module(x, z), [1, 1, 0, 0, 0])
    loaded = inarch.Module.load_from_bytes(module.save_to_bytes())
    np.testing.assert_array_equal(loaded(x, z), [1, 1, 0, 0, 0])
    with pytest.warns(InarchWarning, match="found 2; both are taken"):
        module(z, x)
    with pytest.raises(
        UsageError,
        match=r"found 2, which the names of dimensions do not tell: one stands for several sizes; save "
        r"module\.at\(\.\.\.\)$",
    ):
        module.save_to_bytes()


# ------------------------------------------------------------------------------------ values


DECIDED: dict[str, tuple[str, str, list[dict[str, Any]]]] = {
    "Reshape": (
        "y = Reshape(x, s)",
        "float[2,6] x, int64[k] s",
        [{"s": np.array([3, 4])}, {"s": np.array([-1])}, {"s": np.array([4, 3])}],
    ),
    "Expand": ("y = Expand(x, s)", "float[2,1] x, int64[2] s", [{"s": np.array([2, 3])}]),
    "Slice": (
        "y = Slice(x, a, b)",
        "float[9] x, int64[1] a, int64[1] b",
        [{"a": np.array([1]), "b": np.array([4])}, {"a": np.array([-3]), "b": np.array([9])}],
    ),
    "Pad": ("y = Pad(x, p)", "float[3] x, int64[2] p", [{"p": np.array([1, 2])}]),
    "Resize": (
        "y = Resize(x, , s)",
        "float[1,4] x, float[2] s",
        [{"s": np.array([1, 2.5], np.float32)}, {"s": np.array([1, 0.5], np.float32)}],
    ),
    "ReduceSum": ("y = ReduceSum(x, a)", "float[2,3] x, int64[1] a", [{"a": np.array([0])}]),
    "a computed shape": (
        "t = Neg(s) y = Reshape(x, t)",
        "float[2,6] x, int64[2] s",
        [{"s": np.array([-3, -4])}],
    ),
    "Range": (
        "r = Range(a, b, c) y = Add(r, x)",
        "int64 x, int64 a, int64 b, int64 c",
        [{"a": np.array(1), "b": np.array(9), "c": np.array(2)}],
    ),
}


@pytest.mark.parametrize("name", DECIDED)
def test_values_that_decide_shapes(name: str) -> None:
    """Each set of values is compiled for once; the same values with other data are not compiled for again."""
    nodes, inputs, sets = DECIDED[name]
    model = parse(nodes, inputs, f"{inputs.partition('[')[0].split()[0]}[r] y")
    module, rng = inarch.compile(model), np.random.default_rng(2)
    x_type = model.graph.input[0].type.tensor_type
    shape = tuple(dim.dim_value for dim in x_type.shape.dim)
    kind = onnx.helper.tensor_dtype_to_np_dtype(x_type.elem_type)
    for values in (*sets, *sets):
        x = np.asarray(rng.integers(0, 9, shape), kind)
        (wanted,) = expected(model, {"x": x}, **values)
        found = module(x, *values.values())
        np.testing.assert_allclose(found, wanted)
        np.testing.assert_allclose(module.run({"x": x, **values})["y"], wanted)
    assert len(module.sizes) == len(sets)
    assert all(set(values) <= set(each) for values, each in zip(sets, module.sizes, strict=True))


@pytest.mark.parametrize(
    ("nodes", "inputs"),
    [
        ("s = Cast<to=7>(x) y = Reshape(z, s)", "float[70] x, float[2] z"),
        (
            "m = ReduceMax<keepdims=0>(x) s = Cast<to=7>(m) y = Expand(z, s)",
            "float[2,2] x, float[2] z",
        ),
    ],
)
def test_data_decides_no_shape(nodes: str, inputs: str) -> None:
    with pytest.raises(UnsupportedError, match=r"shape is computed at run time \('y'\)$"):
        inarch.compile(parse(nodes, inputs, "float[r] y"))


def test_a_branch_that_no_size_can_have() -> None:
    """One branch of an If cannot be typed with these sizes; the flag that decides is read at the call."""
    nodes = (
        "c = Equal(rate, k) y = If (c) <then_branch = t () => (float[4] a) { a = MatMul(x, v) }, "
        "else_branch = e () => (float[4] b) { b = MatMul(x, w) }>"
    )
    model = parse(nodes, "float[n] x, int64 rate", "float[4] y")
    for name, value in {
        "v": np.ones((3, 4), np.float32),
        "w": np.ones((5, 4), np.float32),
        "k": np.array(16000),
    }.items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(value, name))
    module = inarch.compile(model)
    np.testing.assert_array_equal(module(np.ones(3, np.float32), np.array(16000)), [3, 3, 3, 3])
    np.testing.assert_array_equal(module(np.ones(5, np.float32), np.array(8000)), [5, 5, 5, 5])
    with pytest.raises(InarchError):
        module(np.ones(3, np.float32), np.array(8000))
