"""ExampleJSON modules: files by hand, calls, several subgraphs, threads, artifacts (T8, T9, T11 to T15)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest

import inarch
from inarch.core.errors import ArgumentError, InarchError, UsageError
from inarch.runtime import load_module
from inarch.runtime.function import Function
from inarch.runtime.loaders import LOADERS
from inarch.runtime.module import Module, load
from inarch.runtime.tensor import Array

TUTORIAL = """subgraph_0
  input 0 10 10
  input 1 10 10
  input 2 10 10
  input 3 10 10
  add 4 inputs: 0 1 shape: 10 10
  sub 5 inputs: 4 2 shape: 10 10
  mul 6 inputs: 5 3 shape: 10 10
"""
"""The graph of TVM's tutorial, byte for byte."""

TWO = """subgraph_0
  input 0 2 3
  input 1 2 3
  add 2 inputs: 0 1 shape: 2 3
  mul 3 inputs: 2 2 shape: 2 3
  mul 4 inputs: 3 3 shape: 2 3
subgraph_1
  input 0 4
  sub 1 inputs: 0 0 shape: 4
"""
"""Two subgraphs whose equal ids have unlike shapes; the first has the higher ids."""


def make(text: str, name: str = "t") -> Module:
    create = LOADERS["examplejson"].create
    assert create is not None
    return create(text, name)


def message(run: Callable[[], object], kind: type[InarchError] = InarchError) -> str:
    with pytest.raises(kind) as caught:
        run()
    return caught.value.line()


def arrays(count: int, *shape: int, seed: int = 0) -> list[Array]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype("float32") for _ in range(count)]


# ------------------------------------------------------------------------------------ one module


def test_the_tutorials_graph_round_trips() -> None:
    """T9: the listing comes back byte for byte, from the text as given and from the parsed graph."""
    module = make(TUTORIAL)
    assert module.get_source() == module.get_source("examplejson") == TUTORIAL
    assert module.get_source("canonical") == TUTORIAL
    assert module.save_to_bytes() == TUTORIAL.encode()


@pytest.mark.parametrize(
    "text",
    [
        TUTORIAL.replace("\n  ", "\n").rstrip("\n"),  # as TVM's own test writes it
        TUTORIAL.replace("\n", "\r\n"),
        "\n\n" + TUTORIAL.replace(" ", " \t ").replace("\n", "  \n\n"),
    ],
)
def test_blanks_and_line_ends_are_free(text: str) -> None:
    """T9: indentation, blank lines, CR LF and a missing last newline mean nothing, and are kept."""
    module = make(text)
    assert module.save_to_bytes() == text.encode()
    assert module.get_source("canonical") == TUTORIAL


def test_a_file_by_hand_loads_and_runs(tmp_path: Path) -> None:
    """T8, T11: `load_module("mysubgraph.examplejson", "examplejson")`."""
    path = tmp_path / "mysubgraph.examplejson"
    path.write_text(TUTORIAL)
    a, b, c, d = arrays(4, 10, 10)
    for module in (load_module(path, "examplejson"), load_module(str(path))):
        assert module.type_key == "examplejson"
        np.testing.assert_array_equal(module["subgraph_0"](a, b, c, d), (a + b - c) * d)
        assert module["examplejson_0"].signature == module["subgraph_0"].signature
    assert message(lambda: load_module(path, "examplejsom"), UsageError) == (
        "error: no loader 'examplejsom'; did you mean 'examplejson'? "
        f"Known: {', '.join(sorted(LOADERS))}"
    )


def test_load_module_opens_artifacts_too(tmp_path: Path) -> None:
    """T11: without a format, a file whose suffix names no loader is an artifact."""
    path = tmp_path / "a.inarch"
    path.write_text(TUTORIAL)
    assert message(lambda: load_module(path)) == (
        f"{path}: error: expected an Inarch artifact, found a file that starts with b'subg'"
    )


def test_bytes_round_trip() -> None:
    """T12: what `save_to_bytes` gives loads as an equal module."""
    module = make(TWO)
    again = Module.load_from_bytes(module.save_to_bytes(), format="examplejson")
    assert again.save_to_bytes() == module.save_to_bytes()
    assert again.get_source() == module.get_source()
    assert list(again.functions) == list(module.functions)
    (x,) = arrays(1, 4)
    np.testing.assert_array_equal(again["subgraph_1"](x), module["subgraph_1"](x))


def test_save_writes_the_text(tmp_path: Path) -> None:
    """T12: a saved module is the file it was made of."""
    make(TWO).save(tmp_path / "two.examplejson")
    assert (tmp_path / "two.examplejson").read_bytes() == TWO.encode()


def test_an_unknown_function_lists_the_known_ones() -> None:
    """T12: `get_function` of an unknown name."""
    assert message(lambda: make(TWO, "two").get_function("subgraph_7"), UsageError) == (
        "error: no function 'subgraph_7' in module 'two'; did you mean 'subgraph_1'? "
        "Known: examplejson_0, examplejson_1, subgraph_0, subgraph_1"
    )


def test_a_header_names_its_function() -> None:
    """T12: `name:` is the function's name beside `subgraph_<n>`."""
    text = "subgraph_3 name: fused.relu\n  input 0 2\n  relu 1 inputs: 0 shape: 2\n"
    module = make(text)
    assert list(module.functions) == ["subgraph_3", "fused.relu"]
    assert module.get_source("canonical") == text
    result = module["fused.relu"](np.array([-1, 2], "float32"))
    np.testing.assert_array_equal(result, [0, 2])


# ------------------------------------------------------------------------------------ calls


def test_outputs_come_last() -> None:
    """T13: inputs, then outputs, which are written in place."""
    a, b = arrays(2, 2, 3)
    out = np.empty((2, 3), "float32")
    assert make(TWO)["subgraph_0"](a, b, out=out) is out
    np.testing.assert_array_equal(out, ((a + b) * (a + b)) * ((a + b) * (a + b)))


CALLS: list[tuple[Callable[[Function, Array], object], str]] = [
    (
        lambda f, a: f(a),
        "subgraph_0: expected 2 arguments (input0: f32[2, 3], input1: f32[2, 3]), found 1",
    ),
    (
        lambda f, a: f(a, a.reshape(3, 2)),
        "subgraph_0: argument 'input1': expected f32[2, 3], found f32[3, 2]; "
        "where its axes are in another order: np.ascontiguousarray(x.transpose(1, 0))",
    ),
    (
        lambda f, a: f(a.astype("float64"), a),
        "subgraph_0: argument 'input0': expected f32[2, 3], found f64[2, 3]; "
        "convert it with x.astype(np.float32)",
    ),
    (
        lambda f, a: f(np.asfortranarray(a), a),
        "subgraph_0: argument 'input0': expected f32[2, 3] in row-major order, "
        "found strides (4, 8); use np.ascontiguousarray(x)",
    ),
    (
        lambda f, a: f(a, a, out=np.empty((2, 4), "float32")),
        "subgraph_0: output 'output0': expected f32[2, 3], found f32[2, 4]; "
        "pass a row-major float32 array of shape (2, 3)",
    ),
]


@pytest.mark.parametrize(("call", "expected"), CALLS)
def test_arguments_are_checked(call: Callable[[Function, Array], object], expected: str) -> None:
    """T13: arity, shape, dtype and layout, each with a message."""
    function, (a,) = make(TWO)["subgraph_0"], arrays(1, 2, 3)
    assert message(lambda: call(function, a), ArgumentError) == f"error: {expected}"


def test_several_outputs_and_constants() -> None:
    """T9: the extension: dtypes, constants, attributes, `outputs:`; an input may be an output."""
    text = """subgraph_0
  input 0 2 2 dtype: f64
  constant 1 shape: 2 dtype: f64 data: 0x1.8p+1 -0.5
  mul 2 inputs: 0 1 shape: 2 2 dtype: f64
  reduce_sum 3 inputs: 2 shape: 2 dtype: f64 attrs: axes=1
  outputs: 3 0 2 3
"""
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    module = make(text)
    total, same, product, again = module["subgraph_0"](x)
    np.testing.assert_array_equal(product, [[3, -1], [9, -2]])
    np.testing.assert_array_equal(total, [2, 7])
    np.testing.assert_array_equal(again, [2, 7])
    np.testing.assert_array_equal(same, x)
    assert not np.shares_memory(same, x)
    assert module.get_source("canonical") == text.replace("0x1.8p+1", "3.0")


def test_no_output_shares_memory_with_the_module() -> None:
    """T14: writing into a result does not change what later calls give."""
    text = "subgraph_0\n  constant 0 shape: 2 data: 1 2\n  reshape 1 inputs: 0 shape: 2 1\n"
    function = make(text)["subgraph_0"]
    first = function()
    assert isinstance(first, np.ndarray)
    first[:] = 7
    np.testing.assert_array_equal(function(), [[1], [2]])


def test_a_tensor_that_does_not_fit_is_an_error() -> None:
    """T13: no MemoryError escapes; nothing is computed that no output needs."""
    large = "subgraph_0\n  input 0\n  broadcast_to 1 inputs: 0 shape: 1000000000 1000000000\n"
    chain = f"{large}  neg 2 inputs: 1 shape: 1000000000 1000000000\n"
    text = f"{chain}  reduce_max 3 inputs: 2 shape: attrs: axes=0,1\n"
    one = np.float32(1)
    assert message(lambda: make(text)["subgraph_0"](one)) == (
        "error: subgraph_0: node 2 'neg' makes f32[1000000000, 1000000000], "
        "for which there is not enough memory"
    )
    np.testing.assert_array_equal(make(f"{text}  outputs: 0\n")["subgraph_0"](one), one)


# ------------------------------------------------------------------------------------ several subgraphs


def test_a_function_runs_its_own_subgraph() -> None:
    """T14: the tutorial's `curr_subgraph_` is set by the last GetFunction, and every call runs it."""
    module = make(TWO)
    first = module.get_function("subgraph_0")
    second = module.get_function("subgraph_1")
    a, b = arrays(2, 2, 3)
    (x,) = arrays(1, 4)
    np.testing.assert_array_equal(first(a, b), ((a + b) * (a + b)) * ((a + b) * (a + b)))
    np.testing.assert_array_equal(second(x), np.zeros(4))


def test_subgraphs_do_not_share_entries() -> None:
    """T14: the tutorial's `data_entry_` is one pool: ids of a later subgraph replace earlier shapes."""
    module = make(TWO)
    ports = [port.type for port in module["subgraph_0"].signature.inputs]
    assert ports == ["f32[2, 3]", "f32[2, 3]"]
    assert [port.type for port in module["subgraph_1"].signature.inputs] == ["f32[4]"]


def test_the_result_is_the_subgraphs_output() -> None:
    """T14: the tutorial returns `data_entry_.back()`, the highest id of all subgraphs."""
    module = make(TWO)
    (x,) = arrays(1, 4)
    module["subgraph_0"](*arrays(2, 2, 3))
    result: Array = module["subgraph_1"](x)
    assert isinstance(result, np.ndarray)  # pyright: ignore[reportUnnecessaryIsInstance]
    assert result.shape == (4,)
    inner = make(f"{TUTORIAL}  outputs: 4\n")["subgraph_0"]
    a, b, c, d = arrays(4, 10, 10)
    np.testing.assert_array_equal(inner(a, b, c, d), a + b)


def test_the_output_is_not_read() -> None:
    """T14: the tutorial copies all arguments in, so also the output, over the first computed entry."""
    text = """subgraph_0
  input 0 2 3
  reduce_sum 1 inputs: 0 shape: 3 attrs: axes=0
  add 2 inputs: 0 1 shape: 2 3
"""
    (x,) = arrays(1, 2, 3)
    out = np.full((2, 3), np.nan, "float32")
    make(text)["subgraph_0"](x, out=out)
    np.testing.assert_allclose(out, x + x.sum(0), rtol=1e-6)


@pytest.fixture
def contention() -> Iterator[None]:
    """Threads are switched as often as the interpreter can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("contention")
def test_concurrent_calls_are_independent() -> None:
    """T14: eight threads, each with its own arguments, on both functions of one module."""
    module = make(f"{TUTORIAL}{TWO.replace('graph_1', 'graph_2').replace('graph_0', 'graph_1')}")
    barrier = Barrier(8)

    def work(seed: int) -> int:
        a, b, c, d = arrays(4, 10, 10, seed=seed)
        x, y = arrays(2, 2, 3, seed=seed)
        expected = (a + b - c) * d, ((x + y) * (x + y)) * ((x + y) * (x + y))
        barrier.wait()
        wrong = 0
        for _ in range(100):
            wrong += not np.array_equal(module["subgraph_0"](a, b, c, d), expected[0])
            wrong += not np.array_equal(module["subgraph_1"](x, y), expected[1])
        return wrong

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(8))) == [0] * 8


# ------------------------------------------------------------------------------------ artifacts

SQUARE = "subgraph_0\n  input 0 4\n  mul 1 inputs: 0 0 shape: 4\n"
Y = np.array([1, 2, 3, 4], "float32")


def _artifact(make_program: Callable[..., Path], path: Path, **manifest: object) -> Path:
    """A program whose function `through` calls its import, the square in a submodule."""
    options = {
        "imports": ["examplejson_0"],
        "loaders": ["shared-library", "examplejson"],
        "members": {"modules/1": SQUARE.encode()},
    }
    return make_program(path, **{**options, **manifest})


def test_an_artifact_keeps_its_submodules(
    make_program: Callable[..., Path], tmp_path: Path
) -> None:
    """T15: saving and loading keep the tree of imported modules; its functions fill the imports."""
    path = _artifact(make_program, tmp_path / "a.inarch")
    for _ in range(2):
        module = load(path)
        assert [part.type_key for part in module.imports] == ["examplejson"]
        assert module.imports[0].get_source() == SQUARE
        np.testing.assert_array_equal(module["through"](Y), Y * Y)
        path = tmp_path / "again.inarch"
        module.save(path)
    again = Module.load_from_bytes(load(path).save_to_bytes())
    np.testing.assert_array_equal(again["through"](Y), Y * Y)


def test_several_submodules_fill_their_imports(
    make_program: Callable[..., Path], tmp_path: Path
) -> None:
    """T15: submodules in their order, each found by the name in its header."""
    path = _artifact(
        make_program,
        tmp_path / "a.inarch",
        imports=["cube"],
        loaders=["shared-library", "examplejson", "examplejson"],
        members={
            "modules/1": SQUARE.encode(),
            "modules/2": (
                b"subgraph_0 name: cube\n  input 0 4\n"
                b"  mul 1 inputs: 0 0 shape: 4\n  mul 2 inputs: 1 0 shape: 4\n"
            ),
        },
    )
    module = load(path)
    assert [list(part.functions) for part in module.imports] == [
        ["subgraph_0", "examplejson_0"],
        ["subgraph_0", "cube"],
    ]
    np.testing.assert_array_equal(module["through"](Y), Y * Y * Y)


def test_a_missing_loader_lists_those_available(
    make_program: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T15: where the loader of a submodule is not installed."""
    path = _artifact(make_program, tmp_path / "a.inarch")
    others = sorted(name for name in LOADERS if name != "examplejson")
    known = {**LOADERS._known, "examplejson": []}  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setitem(LOADERS.__dict__, "_known", known)
    assert message(lambda: load(path)) == (
        f"{path}: error: expected formats of the loaders {', '.join(others)}, found 'examplejson'"
    )


def test_a_damaged_submodule_is_located(make_program: Callable[..., Path], tmp_path: Path) -> None:
    """T15, T10: the file, the submodule's index, line and column."""
    path = _artifact(make_program, tmp_path / "a.inarch", members={"modules/1": b"subgraph_0\n x"})
    assert message(lambda: load(path)).startswith(f"{path}[1]:2:2: error: no op 'x'")


MODEL = """
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %k = graph.constant dense<1.5> : tensor<8xf32>
  %0 = graph.matmul %x, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %1 = graph.add %0, %k : tensor<4x8xf32>, tensor<8xf32> -> tensor<4x8xf32>
  %2 = graph.erf %1 : tensor<4x8xf32> -> tensor<4x8xf32>
  %3 = graph.softmax %2 axis = 1 : tensor<4x8xf32> -> tensor<4x8xf32>
  func.return %3 : tensor<4x8xf32>
}
"""


def test_a_model_is_split_saved_and_loaded(tmp_path: Path) -> None:
    """T15, T19: what the engine lacks (erf) stays with the host; the exported file has both parts."""
    path = tmp_path / "model.mlir"
    path.write_text(MODEL)
    inarch.compile(path, backends=("examplejson",)).save(tmp_path / "model.inarch")
    module = inarch.load(tmp_path / "model.inarch")
    assert [part.type_key for part in module.imports] == ["examplejson"]
    assert module.imports[0].get_source() == (
        "subgraph_0\n  input 0 4 8\n  input 1 8 8\n"
        "  constant 2 shape: 8 data: 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5\n"
        "  matmul 3 inputs: 0 1 shape: 4 8\n  add 4 inputs: 3 2 shape: 4 8\n"
        "subgraph_1\n  input 0 4 8\n  softmax 1 inputs: 0 shape: 4 8 attrs: axis=1\n"
    )
    (x,), (w,) = arrays(1, 4, 8), arrays(1, 8, 8, seed=1)
    whole = inarch.compile(path)
    np.testing.assert_allclose(module(x, w), whole(x, w), rtol=1e-5)
