"""Outputs of a network that amplifies rounding: `inarch verify` and `inarch run --check` have one verdict."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inarch.core.lazy import Array
from inarch.core.rounding import WHOLE, relative
from inarch.diagnosis.locate import CompiledPart
from inarch.diagnosis.network import explained
from inarch.diagnosis.program import Program
from inarch.diagnosis.slices import cut, steps
from inarch.dialects import new_context
from inarch.driver.compiler import import_model
from inarch.ir.text import parse_module
from inarch.runtime.module import load
from inarch.tools.cli import run

ACTIVATIONS = ("Relu", "Tanh", "Sigmoid")
WRONG = ("a weight", "no relu", "begun at 1")


def write(path: Path, wrong: str = "") -> None:
    """Twelve convolutions, each of which makes differences several times as large; or one with a fault."""
    onnx = pytest.importorskip("onnx")
    helper, rng = onnx.helper, np.random.default_rng(0)
    ports = [helper.make_tensor_value_info(name, 1, [1, 8, 12, 12]) for name in ("x", "y")]
    nodes: list[Any] = []
    weights: list[Any] = []
    last = "x"
    for layer in range(12):
        weight = rng.standard_normal((8, 8, 3, 3)).astype(np.float32)
        bias = np.zeros(8, np.float32)
        if wrong == "a weight" and layer == 3:
            weight[4, 4, 1, 1] *= 1.01
        if wrong == "begun at 1" and layer == 6:
            bias[:] = 1
        named = {f"w{layer}": weight, f"b{layer}": bias}
        weights += [onnx.numpy_helper.from_array(array, name) for name, array in named.items()]
        kind = ACTIVATIONS[layer % 3]
        if wrong == "no relu" and layer == 9:
            kind = "Identity"
        own, out = f"c{layer}", "y" if layer == 11 else f"a{layer}"
        nodes += [
            helper.make_node("Conv", [last, *named], [own], pads=[1] * 4),
            helper.make_node(kind, [own], [out]),
        ]
        last = out
    graph = helper.make_graph(nodes, "g", ports[:1], ports[1:], weights)
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)


def quiet(what: str, done: int, total: int) -> None:
    """Nobody is looking."""


def test_a_network_that_amplifies_rounding_is_right_and_one_with_a_fault_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(Path("net.onnx"))
    for wrong in WRONG:
        write(Path(f"{wrong.replace(' ', '-')}.onnx"), wrong)
    assert run(["compile", "net.onnx", "-q", "-o", "net.inarch"]).code == 0
    x = np.random.default_rng(0).standard_normal((1, 8, 12, 12)).astype(np.float32)
    np.save("x.npy", x)
    module = load("net.inarch")
    found = np.asarray(module(x))
    context = new_context()
    program = Program(import_model(Path("net.onnx"), context), context, {}, quiet)
    values = program.evaluate({"x": x})
    assert relative(values["y"], found) > WHOLE, "else nothing is seen here"

    def verified(result: Array) -> bool:
        def ran(*_: object) -> Mapping[str, Array]:
            return {"y": result}

        monkeypatch.setattr(CompiledPart, "run", ran)
        return program.fault(program.steps, values, {}, of_network=True) is None

    def checked(artifact: str, reference: str) -> int:
        return run(["run", artifact, "--input", "x.npy", "-q", "--check", reference]).code

    assert verified(found)
    assert checked("net.inarch", "net.onnx") == 0
    for wrong in WRONG:
        name = f"{wrong.replace(' ', '-')}.onnx"
        other = new_context()
        changed = Program(import_model(Path(name), other), other, {}, quiet)
        assert not verified(changed.evaluate({"x": x})["y"]), wrong
        assert checked("net.inarch", name) == 1, wrong
    np.savez("near.npz", y=values["y"])
    assert checked("net.onnx", "near.npz") == 0, "the model that is run says how far it may be"
    assert checked("net.inarch", "near.npz") == 1, "an artifact alone does not"


def test_what_decides_is_bounded_not_measured() -> None:
    """0.5 rounded up or down: a few draws need not meet it, the bounds of all steps do."""
    text = """func.func @main(%x: tensor<1xf32>) -> tensor<1xf32> {
  %s = graph.exp %x : tensor<1xf32> -> tensor<1xf32>
  %r = graph.STEP %s : tensor<1xf32> -> tensor<1xf32>
  func.return %r : tensor<1xf32>
}
"""
    allowed: dict[str, float] = {}
    for step in ("round", "sqrt"):
        context = new_context()
        module = parse_module(context, text.replace("STEP", step))
        part = cut(module, steps(module))
        given = {name: np.array([np.log(0.5)], np.float32) for name in part.takes}
        ((bound,),) = explained(part, context, given).values()
        allowed[step] = float(bound)
    assert allowed["round"] >= 0.5
    assert 0 < allowed["sqrt"] < 1e-6
