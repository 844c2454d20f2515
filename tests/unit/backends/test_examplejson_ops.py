"""The emitter and the engine agree with the references of the graph ops (T9); what is refused."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pytest
from xdsl.dialects.builtin import FunctionType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from inarch.backends import BACKENDS, Emission, EmitRequest
from inarch.backends.examplejson.ops import OPS as EMITTED
from inarch.core.dtypes import DTYPES
from inarch.core.errors import InarchError
from inarch.dialects import new_context
from inarch.dialects.graph import DIALECT
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.op import GraphOp
from inarch.ir.context import store_of
from inarch.ir.payload.constants import constant_attribute
from inarch.ir.text import parse_module
from inarch.ir.types import mlir_type, tensor
from inarch.ir.verify import verify_module
from inarch.runtime.loaders import LOADERS, examplejson
from inarch.runtime.loaders.examplejson.ops import OPS
from inarch.runtime.module import Module
from inarch.runtime.tensor import Array

BACKEND = BACKENDS["examplejson"]
ACCEPTS: Any = BACKEND.accepts
"""Takes one parameter."""
FLOATS = ("f32", "f64")
NUMBERS = (*FLOATS, "i8", "i32", "i64", "ui8", "ui32")
ALL = (*NUMBERS, "i1")

Shapes = list[tuple[int, ...]]
PAIRS: list[Shapes] = [
    [(2, 3), (2, 3)],
    [(2, 1, 3), (4, 1)],
    [(3,), ()],
    [(), ()],
    [(0, 3), (1, 3)],
]
SINGLES: list[Shapes] = [[(2, 3)], [()], [(0, 2)]]

CASES: list[tuple[str, Sequence[str], list[Shapes], list[dict[str, Any]]]] = [
    *((name, NUMBERS, PAIRS, [{}]) for name in ("add", "sub", "mul", "div", "maximum", "minimum")),
    ("pow", FLOATS, PAIRS, [{}]),
    *((name, NUMBERS, SINGLES, [{}]) for name in ("neg", "abs", "relu")),
    *((name, FLOATS, SINGLES, [{}]) for name in ("exp", "log", "sqrt", "tanh", "sigmoid")),
    ("clip", NUMBERS, SINGLES, [{}, {"low": 1.0}, {"high": 2.0}, {"low": 3.0, "high": 1.0}]),
    (
        "matmul",
        NUMBERS,
        [[(2, 3), (3, 4)], [(5, 1, 2, 3), (2, 3, 1)], [(2, 0), (0, 2)], [(1, 1), (1, 1)]],
        [{}],
    ),
    ("softmax", FLOATS, [[(2, 3)], [(1, 3)], [(0, 3)]], [{"axis": 1}, {"axis": -2}]),
    *(
        (
            name,
            FLOATS if name == "reduce_mean" else NUMBERS,
            [[(2, 3, 2)], [(2, 0, 3)]],
            [
                {"axes": [1]},
                {"axes": [0, 2], "keepdims": True},
                {"axes": []},
                {"axes": [0, 1, 2]},
            ],
        )
        for name in ("reduce_sum", "reduce_mean", "reduce_max", "reduce_min")
    ),
    ("reshape", ALL, [[(2, 3)], [(6, 1)]], [{"shape": [3, 2]}, {"shape": [6]}]),
    ("reshape", ALL, [[(1,)]], [{"shape": []}]),
    ("broadcast_to", ALL, [[(2, 1)], [()]], [{"shape": [3, 2, 4]}]),
    ("transpose", ALL, [[(2, 3, 4)]], [{"perm": [2, 0, 1]}, {"perm": [0, 1, 2]}]),
    ("transpose", ALL, [[()]], [{"perm": []}]),
    ("concat", ALL, [[(2, 3)], [(2, 3), (2, 0), (2, 2)]], [{"axis": 1}]),
    (
        "slice",
        ALL,
        [[(5, 4)]],
        [
            {"starts": [1, 0], "sizes": [2, 4], "steps": [2, 1]},
            {"starts": [4, 3], "sizes": [5, 2], "steps": [-1, -3]},
            {"starts": [0, 9], "sizes": [3, 0], "steps": [1, 1]},
        ],
    ),
]


def emit(function: FuncOp, context: Any = None) -> Emission:
    assert BACKEND.emit is not None
    return BACKEND.emit(
        EmitRequest(functions=(function,), context=context or new_context(), target="generic")
    )


def load(emission: Emission) -> Module:
    """The module of an emission, whose text is canonical."""
    module = LOADERS[emission.format].from_bytes(emission.content, "emitted")
    assert module.get_source("canonical") == emission.text
    return module


def wrap(block: Block, name: str = "examplejson_0") -> FuncOp:
    last = block.last_op
    assert last is not None
    results = [value.type for value in last.operands]
    kind = FunctionType.from_lists([value.type for value in block.args], results)
    return FuncOp(name, kind, Region(block), visibility="private")


KINDS = {op.name: cast("type[GraphOp]", op) for op in DIALECT.operations}


def test_the_tables_have_the_same_ops() -> None:
    """T9: what is emitted is what the engine runs, under the names of the graph ops."""
    assert set(EMITTED) == set(OPS)
    assert list(BACKEND.op_names()) == [f"graph.{name}" for name in EMITTED]
    assert {f"graph.{name}" for name in OPS} <= set(KINDS)
    assert {name for name, *_ in CASES} == set(OPS)
    table = (examplejson.__doc__ or "").partition("| ops |")[2].partition("\n\n")[0]
    rows = re.findall(r"^ *\| `([a-z_ ]+)` \|", table, re.MULTILINE)
    assert " ".join(rows).split() == list(OPS)


def values(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> Array:
    """Random elements; where there is room, also those at the ends of the dtype's range."""
    kind = np.dtype(DTYPES[dtype].numpy)
    array: Array = np.asarray(rng.normal(0, 3, shape)).astype("i4" if kind.kind in "iub" else kind)
    array = array % 2 == 1 if kind.kind == "b" else array.astype(kind)
    special = {
        "f": (np.nan, np.inf, -np.inf, -0.0),
        "b": (),
        "i": (0, np.iinfo(kind).min, -1) if kind.kind == "i" else (),
        "u": (0, np.iinfo(kind).max) if kind.kind == "u" else (),
    }[kind.kind]
    if array.size >= 6:
        places = rng.choice(array.size, len(special), replace=False)
        np.put(array, places, np.array(special, kind))
    return array


@pytest.mark.sampled(100, reason="each op and each dtype once")
@pytest.mark.parametrize(
    ("name", "dtype", "shapes", "properties"),
    [
        pytest.param(name, dtype, shapes, properties, id=f"{name}-{dtype}-{shapes}-{properties}")
        for name, dtypes, many, all_properties in CASES
        for dtype in dtypes
        for shapes in many
        for properties in all_properties
    ],
)
def test_the_engine_gives_what_the_reference_gives(
    name: str, dtype: str, shapes: Shapes, properties: dict[str, Any]
) -> None:
    """T9: emitted, parsed and run, each op on each dtype, on broadcast, scalar and empty shapes."""
    block = Block(arg_types=[tensor(mlir_type(dtype), shape) for shape in shapes])
    op = KINDS[f"graph.{name}"].make(*block.args, **properties)
    block.add_ops([op, ReturnOp(*op.results)])
    assert ACCEPTS(op) is None
    function = load(emit(wrap(block)))["examplejson_0"]
    rng = np.random.default_rng(0)
    inputs = [values(shape, dtype, rng) for shape in shapes]
    found: Array = function(*inputs)
    with np.errstate(all="ignore"):
        expected = op.reference(*inputs)
    assert isinstance(found, np.ndarray)  # pyright: ignore[reportUnnecessaryIsInstance]
    assert isinstance(expected, np.ndarray | np.generic)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    rtol = {"f32": 2e-6, "f64": 1e-14}.get(dtype, 0)
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol)


# ------------------------------------------------------------------------------------ emission


def test_the_emission_of_several_functions() -> None:
    """T9: one text; `examplejson_<n>` is `subgraph_<n>`, other names take a free number."""
    names = ("other", "examplejson_1", "examplejson_0", "examplejson_01")
    functions: list[FuncOp] = []
    for name in names:
        block = Block(arg_types=[tensor(mlir_type("f32"), (2,))])
        block.add_op(ReturnOp(block.args[0], block.args[0]))
        functions.append(wrap(block, name))
    assert BACKEND.emit is not None
    emission = BACKEND.emit(
        EmitRequest(functions=tuple(functions), context=new_context(), target="generic")
    )
    assert emission.symbols == names
    assert [line for line in emission.text.splitlines() if line.startswith("subgraph")] == [
        "subgraph_2 name: other",
        "subgraph_1",
        "subgraph_0",
        "subgraph_3 name: examplejson_01",
    ]
    assert set(names) <= set(load(emission).functions)


def test_names_that_the_format_cannot_spell() -> None:
    """T9: refused where the text is made."""
    for name in ("a b", "subgraph_0", "\u00e9"):
        block = Block(arg_types=[tensor(mlir_type("f32"), (2,))])
        block.add_op(ReturnOp(block.args[0]))
        with pytest.raises(InarchError) as caught:
            emit(wrap(block, name))
        assert caught.value.line() == (
            "error: expected a function name of letters, digits and '_$.-' that does not start "
            f"with 'subgraph_', found '{name}'; rename the function"
        )


@pytest.mark.every_case(reason="each is a way to write a number")
@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("shape", [(), (0, 2), (2, 3), (5, 7)])
def test_constants_are_exact(dtype: str, shape: tuple[int, ...]) -> None:
    """T9: inline and through the store, as numbers and in base64, down to the bits of a NaN."""
    context = new_context()
    rng = np.random.default_rng(1)
    array = values(shape, dtype, rng)
    if array.dtype.kind == "f":
        array = np.asarray(array * array.dtype.type(np.pi))
    block = Block()
    op = ConstantOp.make(value=constant_attribute(array, store_of(context)))
    block.add_ops([op, ReturnOp(*op.results)])
    emission = emit(wrap(block), context)
    found: Array = load(emission)["examplejson_0"]()
    assert isinstance(found, np.ndarray)  # pyright: ignore[reportUnnecessaryIsInstance]
    assert found.tobytes() == array.tobytes()
    assert found.shape == array.shape
    is_number = array.size <= 16 and not np.isnan(array).any()
    assert (" data:" in emission.text) == is_number


def test_a_splat_is_written_out() -> None:
    """T9: a `dense` of one value for many elements."""
    text = """
func.func private @examplejson_0() -> tensor<3xf32> {
  %0 = graph.constant dense<2.5> : tensor<3xf32>
  func.return %0 : tensor<3xf32>
}"""
    context = new_context()
    module = parse_module(context, text)
    verify_module(module)
    function = module.body.block.first_op
    assert isinstance(function, FuncOp)
    emission = emit(function, context)
    assert emission.text == "subgraph_0\n  constant 0 shape: 3 data: 2.5 2.5 2.5\n"


def made(name: str, element: str, shape: str, **properties: Any) -> Operation:
    kind = parse_module(new_context(), f"func.func private @f(tensor<{shape}{element}>)")
    function = kind.body.block.first_op
    assert isinstance(function, FuncOp)
    block = Block(arg_types=list(function.function_type.inputs))
    values_of: list[SSAValue] = list(block.args)
    return KINDS[f"graph.{name}"].make(*values_of, **properties)


@pytest.mark.parametrize(
    ("op", "reason"),
    [
        (made("relu", "f32", "1x" * 33), "expected a rank of at most 32, found 33"),
        (
            made("relu", "f32, #graph.layout<block = [4], halo = []>", "8x"),
            "expected a row-major tensor, found the layout #graph.layout<block = [4], halo = []>",
        ),
        (
            made("softmax", "f32", "", axis=0),
            "expected a softmax of rank 1 or more, found a scalar",
        ),
        (made("reduce_mean", "i32", "4x", axes=[0]), "expected a mean of floats, found i32"),
        (made("relu", "f32", "4x"), None),
        (made("reduce_mean", "f64", "4x", axes=[0]), None),
    ],
)
def test_what_is_not_accepted(op: Operation, reason: str | None) -> None:
    """T19: what the engine lacks stays with the host, with the reason."""
    assert ACCEPTS(op) == reason
