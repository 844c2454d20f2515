"""LSTM, GRU and RNN of every form against onnxruntime; what they become does not depend on the steps."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import onnx
import onnxruntime  # pyright: ignore[reportMissingTypeStubs]
import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

import inarch
from effort import effort
from inarch.core.errors import UnsupportedError
from inarch.dialects import new_context
from inarch.dialects.graph.matmul import MatmulOp
from inarch.dialects.graph.regions.scan import ScanOp
from inarch.dialects.kernel.call import CallOp
from inarch.dialects.kernel.pack import PackOp
from inarch.dialects.loop.control import ForOp
from inarch.frontends.onnx import import_onnx
from inarch.ir.verify import verify_module
from inarch.pipeline.default import default_pipeline
from inarch.pipeline.manager import run_pipeline
from inarch.testing import execute

Array = np.ndarray[Any, Any]

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
FUNCTIONS = {"RNN": 1, "GRU": 2, "LSTM": 3}


def recurrent(
    kind: str, sizes: tuple[int, int, int, int], seed: int, **attributes: Any
) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """A model of one node of (steps, batch, width, hidden), and inputs; `seed` says which are given."""
    steps, batch, width, hidden = sizes
    directions = 2 if attributes.get("direction") == "bidirectional" else 1
    gates, generator, chance = GATES[kind], np.random.default_rng(seed), random.Random(seed)
    shapes: dict[str, tuple[int, ...]] = {
        "x": (steps, batch, width),
        "w": (directions, gates * hidden, width),
        "r": (directions, gates * hidden, hidden),
        "b": (directions, 2 * gates * hidden),
        "l": (batch,),
        "h": (directions, batch, hidden),
        "c": (directions, batch, hidden),
        "p": (directions, 3 * hidden),
    }
    names = list(shapes)[: 8 if kind == "LSTM" else 6]
    names = [n if n in "xwr" or chance.random() < 0.6 else "" for n in names]
    inputs = {n: generator.standard_normal(shapes[n]).astype("float32") * 0.5 for n in names if n}
    inputs["r"] /= np.sqrt(hidden)  # or a step makes errors larger
    if "l" in inputs:
        inputs["l"] = generator.integers(1, steps, batch, endpoint=True).astype("int32")
    outputs = ["y", "z", "a"][: 3 if kind == "LSTM" else 2]
    node = onnx.helper.make_node(kind, names, outputs, hidden_size=hidden, **attributes)
    infos = [
        onnx.helper.make_tensor_value_info(
            n, onnx.TensorProto.INT32 if n == "l" else onnx.TensorProto.FLOAT, shapes[n]
        )
        for n in inputs
    ]
    results = [onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, None) for n in outputs]
    # Weights are constants, as in models.
    held = [onnx.numpy_helper.from_array(inputs.pop(n), n) for n in "wrbp" if n in inputs]
    infos = [info for info in infos if info.name in inputs]
    graph = onnx.helper.make_graph([node], "g", infos, results, held)
    opset = [onnx.helper.make_opsetid("", 17)]
    return onnx.helper.make_model(graph, opset_imports=opset, ir_version=8), inputs


def any_recurrent(seed: int) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """Any kind, direction, sizes, functions and operands."""
    chance = random.Random(seed)
    kind = chance.choice(("LSTM", "GRU", "RNN"))
    direction = chance.choice(("forward", "reverse", "bidirectional"))
    attributes: dict[str, Any] = {"direction": direction}
    if chance.random() < 0.3:
        count = FUNCTIONS[kind] * (2 if direction == "bidirectional" else 1)
        attributes["activations"] = [
            chance.choice(("Tanh", "Sigmoid", "Relu")) for _ in range(count)
        ]
    if kind == "GRU":
        attributes["linear_before_reset"] = chance.randint(0, 1)
    if kind == "LSTM" and chance.random() < 0.3:
        attributes["input_forget"] = 1
    if chance.random() < 0.3:
        attributes["clip"] = 0.3
    sizes = (
        chance.choice((1, 2, 5)),
        chance.choice((1, 3)),
        chance.choice((1, 4)),
        chance.choice((1, 3, 8)),
    )
    return recurrent(kind, sizes, seed, **attributes)


def expected(model: onnx.ModelProto, inputs: dict[str, Array]) -> list[Array]:
    session: Any = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, inputs)


@pytest.mark.parametrize("seed", range(24))
def test_as_onnxruntime(seed: int) -> None:
    model, inputs = any_recurrent(seed)
    wanted = expected(model, inputs)
    context = new_context()
    module = import_onnx(model, context)
    verify_module(module)
    found = execute(module, list(inputs.values()), context)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.sampled(effort(1, 4), reason="each is a program of its own")
@pytest.mark.parametrize(
    ("kind", "attributes"),
    [
        ("LSTM", {"direction": "bidirectional"}),
        ("GRU", {"direction": "reverse"}),
        ("GRU", {"linear_before_reset": 1}),
        ("RNN", {}),
    ],
)
def test_compiled_as_onnxruntime(kind: str, attributes: dict[str, Any]) -> None:
    """More steps than were ever unrolled in reasonable time."""
    model, inputs = recurrent(kind, (130, 2, 6, 24), 5, **attributes)
    wanted = expected(model, inputs)
    found = inarch.compile(model)(*inputs.values())
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def planned(steps: int, kind: str = "LSTM", sizes: tuple[int, int, int] = (1, 64, 64)) -> ModuleOp:
    """What C is emitted from; weights are inputs."""
    model, _ = recurrent(kind, (steps, *sizes), 3)
    context = new_context()
    module = import_onnx(model, context)
    module.attributes["inarch.target"] = StringAttr("x86-64-v4")
    run_pipeline(context, module, default_pipeline(), [])
    return module


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_as_many_kernels_for_any_number_of_steps(kind: str) -> None:
    """Of steps that the tiles of the product with the inputs divide."""
    counts = {
        len([op for op in planned(steps, kind).body.ops if isinstance(op, FuncOp)])
        for steps in (12, 84, 1680)[effort(1, 0) :]
    }
    assert len(counts) == 1


def test_weights_are_packed_once_and_the_step_is_a_microkernel() -> None:
    (loop,) = [op for op in planned(50).walk() if isinstance(op, ForOp)]
    inside = list(loop.walk())
    assert not [op for op in inside if isinstance(op, PackOp)]
    assert [op for op in inside if isinstance(op, CallOp)]


def test_products_with_inputs_are_one_for_all_steps() -> None:
    model, _ = recurrent("LSTM", (9, 2, 5, 8), 1)
    module = import_onnx(model, new_context())
    (scan,) = [op for op in module.walk() if isinstance(op, ScanOp)]
    assert scan.count == 9
    inside = [op for op in scan.walk() if isinstance(op, MatmulOp)]
    every = [op for op in module.walk() if isinstance(op, MatmulOp)]
    assert (len(inside), len(every)) == (1, 2)


def test_no_steps() -> None:
    """A sequence of none of the rows of x."""
    model, _ = recurrent("GRU", (7, 2, 5, 8), 1)
    model.graph.node[0].input[0] = "s"
    number = onnx.numpy_helper.from_array(np.zeros(1, np.int64), "n")
    model.graph.initializer.append(number)
    model.graph.node.insert(0, onnx.helper.make_node("Slice", ["x", "n", "n"], ["s"]))
    with pytest.raises(UnsupportedError) as error:
        import_onnx(model, new_context())
    assert str(error.value) == "<model>: unsupported: GRU: a sequence of 0 steps ('y')"
