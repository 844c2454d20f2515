"""Attention as exporters write it: one loop over blocks of rows, whatever masks it, whoever shares heads.

NumPy in double precision says what it is. What is not made: scores of all rows, heads that others share.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import inarch
from effort import effort
from inarch.dialects import new_context
from inarch.dialects.loop.buffer import AllocOp
from inarch.dialects.loop.control import ForOp
from inarch.dialects.loop.memory import memref_of, nbytes
from inarch.driver.compiler import import_model
from inarch.driver.options import Options
from inarch.ir.text import parse_module
from inarch.pipeline.default import default_pipeline
from inarch.pipeline.text import parse_pipeline

HEADS, SHARED, ROWS, DEPTH = 6, 2, 301, 24
BLOCKS = effort(160, 301)
"""Rows where C is compiled: whole blocks of them in the gate, half of the C."""
FORMS = ("plain", "added", "lowest", "where", "trilu", "padded")


def model(form: str, heads: int, rows: int) -> Any:
    """A model with keys and values of so many heads, which exporters repeat where it is not all of them."""
    from onnx import TensorProto, helper, numpy_helper

    nodes: list[Any] = []
    constants: list[Any] = []

    def constant(array: Any) -> str:
        name = f"c{len(constants)}"
        constants.append(numpy_helper.from_array(array, name))
        return name

    def op(kind: str, *inputs: str, **attributes: Any) -> str:
        name = f"{kind}{len(nodes)}"
        nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def repeated(name: str) -> str:
        if heads == HEADS:
            return name
        wide = op("Unsqueeze", name, constant(np.array([2])))
        wide = op("Expand", wide, constant(np.array([1, 1, HEADS // heads, 1, 1])))
        return op("Reshape", wide, constant(np.array([1, HEADS, rows, DEPTH])))

    keys = op("Transpose", repeated("k"), perm=[0, 1, 3, 2])
    scores = op("MatMul", "q", keys)
    scores = op("Mul", scores, constant(np.array(DEPTH**-0.5, np.float32)))
    later = np.triu(np.ones((1, 1, rows, rows), bool), 1)
    lowest = -np.inf if form == "added" else np.finfo(np.float32).min
    if form in ("added", "lowest"):
        scores = op("Add", scores, constant(np.where(later, lowest, 0).astype(np.float32)))
    elif form == "where":
        scores = op("Where", constant(~later), scores, constant(np.array(-np.inf, np.float32)))
    elif form == "trilu":
        ones = constant(np.ones((rows, rows), np.float32))
        mask = op("Cast", op("Trilu", ones, constant(np.array(1)), upper=1), to=TensorProto.BOOL)
        scores = op("Where", mask, constant(np.array(-np.inf, np.float32)), scores)
    elif form == "padded":
        scores = op("Add", scores, "mask")
    op("MatMul", op("Softmax", scores, axis=-1), repeated("v"))
    kinds = {
        "q": (1, HEADS, rows, DEPTH),
        "k": (1, heads, rows, DEPTH),
        "v": (1, heads, rows, DEPTH),
    }
    if form == "padded":
        kinds["mask"] = (1, 1, 1, rows)

    def info(name: str, shape: tuple[int, ...]) -> Any:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    graph = helper.make_graph(
        nodes,
        "attention",
        [info(*pair) for pair in kinds.items()],
        [info(nodes[-1].output[0], kinds["q"])],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def operator(heads: int, rows: int) -> Any:
    """The operator Attention, causal."""
    from onnx import TensorProto, helper

    node = helper.make_node("Attention", ["q", "k", "v"], ["y"], name="attention", is_causal=1)

    def info(name: str, count: int) -> Any:
        shape = (1, count, rows, DEPTH)
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    inputs = [info("q", HEADS), info("k", heads), info("v", heads)]
    graph = helper.make_graph([node], "attention", inputs, [info("y", HEADS)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11)


def tiled(path: Any) -> ModuleOp:
    """The program after `tile-and-fuse`, for one machine whatever runs the test."""
    context = new_context()
    module = import_model(path, context, Options(target="x86-64-v4", machine="zen4"))
    for one in default_pipeline():
        one.apply(context, module)
        if one.name == "tile-and-fuse":
            break
    return module


def given(form: str, heads: int, rows: int) -> list[Any]:
    rng = np.random.default_rng(0)
    shapes = [(1, count, rows, DEPTH) for count in (HEADS, heads, heads)]
    values = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    if form == "padded":
        mask = np.zeros((1, 1, 1, rows), np.float32)
        mask[..., : rows // 2 + 20] = -np.inf
        values.append(mask)
    return values


def expected(form: str, heads: int, values: list[Any]) -> Any:
    q, k, v = (value.astype(np.float64) for value in values[:3])
    rows = q.shape[-2]
    k, v = (np.repeat(each, HEADS // heads, axis=1) for each in (k, v))
    scores = q @ k.transpose(0, 1, 3, 2) * DEPTH**-0.5
    if form == "padded":
        scores = scores + values[3]
    elif form != "plain":
        scores = np.where(np.triu(np.ones((rows, rows), bool), 1), -np.inf, scores)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights @ v / weights.sum(-1, keepdims=True)


def saved(form: str, heads: int, rows: int, folder: Any) -> Any:
    """The model's file."""
    onnx = pytest.importorskip("onnx")
    path = folder / "attention.onnx"
    made = operator(heads, rows) if form == "operator" else model(form, heads, rows)
    onnx.save(made, path)
    return path


@pytest.mark.parametrize("heads", [HEADS, SHARED, 1])
@pytest.mark.parametrize("form", [*FORMS, "operator"])
def test_attention_is_one_loop_that_makes_no_more_than_its_block(
    form: str, heads: int, tmp_path: Any
) -> None:
    module = tiled(saved(form, heads, ROWS, tmp_path))
    loops = [op for op in module.walk() if isinstance(op, ForOp) and not _is_within(op)]
    assert len(loops) == 1
    allocs = [op for op in module.walk() if isinstance(op, AllocOp)]
    assert all(_is_within(op) for op in allocs), "a copy of all heads"
    scores = HEADS * ROWS * ROWS * 4
    assert all(nbytes(memref_of(op.buffer)) < scores // 4 for op in allocs)


@pytest.mark.sampled(effort(1, 8), reason="a compiler's second each; any heads, any mask")
@pytest.mark.parametrize("heads", [SHARED, HEADS, 1])
@pytest.mark.parametrize("form", ["operator", *FORMS])
def test_compiled_attention_is_right(form: str, heads: int, tmp_path: Any) -> None:
    path, values = saved(form, heads, BLOCKS, tmp_path), given(form, heads, BLOCKS)
    found = np.asarray(inarch.compile(path, machine="zen4")(*values))
    wanted = expected(form, heads, values)
    assert np.abs(found - wanted).max() < 1e-5 * np.abs(wanted).max()


def _is_within(op: Any) -> bool:
    return isinstance(op.parent_op(), ForOp)


TEXT = """func.func @main(%q: {q}, %k: {k}, %v: {v}, %mask: {mask}) -> {out} {{
  %0 = graph.matmul %q, %k : {q}, {k} -> {scores}
  %1 = graph.add %0, %mask : {scores}, {mask} -> {scores}
  %2 = graph.softmax %1 axis = -1 : {scores} -> {scores}
  %3 = graph.matmul %2, %v : {scores}, {v} -> {out}
  func.return %3 : {out}
}}"""
BY_KEYS = (
    "prepare,graph,graph-to-loop,drop-unit-iterators,fold-scalars,rematerialize,fuse-nests,normalize-last,"
    "apply-schedule,tile-and-fuse{rows=ROWS keys=KEYS},padding,kernel,schedule,memory"
)


def by_keys(sizes: tuple[int, ...], rows: int, keys: int, dtype: str = "f32") -> Any:
    """Attention of `heads, rows, keys, depth, columns` with blocks of rows and of keys."""
    h, m, n, d, e = sizes
    shapes = {"q": (h, m, d), "k": (h, d, n), "v": (h, n, e), "mask": (m, n)}
    shapes |= {"scores": (h, m, n), "out": (h, m, e)}
    kinds = {name: f"tensor<{'x'.join(map(str, s))}x{dtype}>" for name, s in shapes.items()}
    module = parse_module(new_context(), TEXT.format(**kinds))
    pipeline = BY_KEYS.replace("ROWS", str(rows)).replace("KEYS", str(keys))
    loops, context = module.clone(), new_context()
    for one in parse_pipeline(pipeline.partition(",padding")[0]):
        one.apply(context, loops)
    names = [op.induction.name_hint for op in loops.walk() if isinstance(op, ForOp)]
    assert any(name is not None and name.startswith("n") for name in names), "no loop over keys"
    return inarch.compile(module, pipeline=pipeline)


def softmax_of(q: Any, k: Any, v: Any, mask: Any) -> Any:
    """In double precision, as it is defined."""
    with np.errstate(all="ignore"):
        scores = q.astype(np.float64) @ k.astype(np.float64) + mask
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        return (weights / weights.sum(-1, keepdims=True)) @ v.astype(np.float64)


@pytest.mark.parametrize("seed", range(effort(2, 6)))
def test_blocks_of_keys_of_any_size_with_any_mask(seed: int) -> None:
    """Rows whose first blocks are masked, whose last ones are, and all of whose keys are: not a number."""
    rng = np.random.default_rng(seed)
    h, m, n, d, e = (
        int(rng.integers(low, high)) for low, high in ((1, 4), (5, 40), (9, 90), (2, 40), (2, 9))
    )
    dtype = "f64" if seed == 0 else "f32"
    call = by_keys((h, m, n, d, e), int(rng.integers(1, m)), int(rng.integers(2, n)), dtype)
    kind = np.float64 if seed == 0 else np.float32
    q, k, v = (rng.standard_normal(s).astype(kind) for s in ((h, m, d), (h, d, n), (h, n, e)))
    mask = np.where(rng.random((m, n)) < 0.5, -np.inf, 3 * rng.standard_normal((m, n))).astype(kind)
    mask[0] = -np.inf
    mask[1, :-1], mask[1, -1] = -np.inf, 0
    mask[2, 1:], mask[2, 0] = -np.inf, 0
    mask[3] = np.finfo(kind).min
    mask[4] = np.linspace(-200, 200, n)
    found, wanted = np.asarray(call(q, k, v, mask)), softmax_of(q, k, v, mask)
    assert np.array_equal(np.isnan(found), np.isnan(wanted))
    assert np.isnan(wanted[:, 0]).all()
    assert not np.isnan(wanted[:, 1:4]).any()
    most = np.nanmax(np.abs(wanted))
    assert np.nanmax(np.abs(found - wanted)) < (1e-12 if seed == 0 else 1e-5) * most


def test_what_is_no_number_stays_where_it_is() -> None:
    """Infinite scores, and no numbers among scores and values, in the first block, between, in the last."""
    h, m, n, d, e = 1, 9, 23, 4, 5
    call = by_keys((h, m, n, d, e), 4, 7)
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal(s).astype(np.float32) for s in ((h, m, d), (h, d, n), (h, n, e)))
    mask = np.zeros((m, n), np.float32)
    for row, (key, value) in enumerate(
        (key, value) for key in (0, 10, 22) for value in (math.inf, math.nan, -math.inf)
    ):
        mask[row, key] = value
    found, wanted = np.asarray(call(q, k, v, mask)), softmax_of(q, k, v, mask)
    assert np.array_equal(np.isnan(found), np.isnan(wanted))
    assert np.isnan(wanted).any(axis=(0, 2)).tolist() == 3 * [True, True, False]
    assert np.nanmax(np.abs(found - wanted)) < 1e-5
    v[0, 10, 2], v[0, 22, 3] = math.nan, math.inf
    mask[:] = 0
    found, wanted = np.asarray(call(q, k, v, mask)), softmax_of(q, k, v, mask)
    assert np.array_equal(np.isfinite(found), np.isfinite(wanted))
    assert np.isposinf(found[..., 3]).all()


def test_keys_are_parted_where_a_block_of_rows_has_no_room_for_all() -> None:
    """A row of scores alone is larger than the second-level cache: by the machine's costs, not by hand."""
    heads, rows, keys, depth = 1, 8, 1 << 19, 8
    shapes = {"q": (heads, rows, depth), "k": (heads, depth, keys), "v": (heads, keys, depth)}
    shapes |= {"mask": (1, keys), "scores": (heads, rows, keys), "out": (heads, rows, depth)}
    kinds = {name: f"tensor<{'x'.join(map(str, s))}xf32>" for name, s in shapes.items()}
    context = new_context()
    module = parse_module(context, TEXT.format(**kinds))
    module = import_model(module, context, Options(target="x86-64-v4", machine="zen4"))
    for one in default_pipeline():
        one.apply(context, module)
        if one.name == "tile-and-fuse":
            break
    allocs = [op.buffer for op in module.walk() if isinstance(op, AllocOp)]
    assert max(nbytes(memref_of(buffer)) for buffer in allocs) <= 1 << 20
    assert any(buffer.name_hint == "M" for buffer in allocs)
