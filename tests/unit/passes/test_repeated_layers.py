"""Programs that repeat their layers: compiled, against their definition, and where nests are from."""

from __future__ import annotations

import random
from pathlib import Path
from struct import pack
from typing import Any

import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

from effort import effort, seeds
from inarch.dialects import new_context
from inarch.dialects.loop.control import CallOp
from inarch.dialects.loop.nest import NestOp
from inarch.driver.compiler import lower
from inarch.frontends.onnx import import_onnx
from inarch.ir.functions import LAYER
from inarch.ir.location import location_text
from inarch.ir.text import parse_module
from inarch.machine.target import native
from inarch.passes.lower.inlining import inline_functions
from inarch.pipeline.default import default_pipeline
from inarch.pipeline.manager import run_pipeline
from inarch.testing.generate.check.check import check_programs
from inarch.testing.generate.program import GeneratedProgram

MODELS = Path(__file__).parents[3] / "benchmarks" / "models"

_X, _W, _B = "tensor<5x24xf32>", "tensor<24x24xf32>", "tensor<24xf32>"
_UNARY = ("relu", "tanh", "sigmoid", "neg", "abs", "exp", "sqrt")


class _Writer:
    """A program of layers, each line with a location of its own."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def op(self, text: str) -> str:
        name = f"%v{len(self.lines)}"
        self.lines.append(f'    {name} = graph.{text} loc("v{len(self.lines)}")')
        return name

    def constant(self, rng: random.Random, kind: str, count: int) -> str:
        """As bytes: a list of 200,000 numbers takes longer to be parsed than all else here."""
        data = pack(f"<{count}f", *(round(rng.uniform(-0.3, 0.3), 3) for _ in range(count)))
        return self.op(f'constant dense<"0x{data.hex().upper()}"> : {kind}')

    def binary(self, name: str, a: str, b: str, right: str = _X) -> str:
        return self.op(f"{name} {a}, {b} : {_X}, {right} -> {_X}")

    def unary(self, name: str, a: str) -> str:
        return self.op(f"{name} {a} : {_X} -> {_X}")

    def matmul(self, a: str, w: str) -> str:
        return self.op(f"matmul {a}, {w} : {_X}, {_W} -> {_X}")


STEPS = ("unary", "bias", "matmul", "residual", "mask", "inner")


def layered(seed: int) -> GeneratedProgram:
    """Up to five layers of one kind; in some programs one of them reads, or gives, what the others do not."""
    rng, numbers = random.Random(f"layers {seed}"), random.Random(f"numbers {seed}")
    writer = _Writer()
    steps = [rng.choice(STEPS) for _ in range(rng.randint(6, 12))]
    if rng.random() < 0.25:
        steps[0] = "first"  # the input of all layers, which is that of the first one
    names, back = [rng.choice(_UNARY) for _ in steps], [rng.randrange(3) for _ in steps]
    shared = writer.constant(numbers, _B, 24)
    mask = writer.unary(rng.choice(_UNARY), "%m")
    count, has_shared = rng.randint(2, 5), rng.random() < 0.4
    other, gives = (rng.choice([None] * 5 + [*range(count)]) for _ in range(2))
    x, first = "%x", "%x"
    leaked: list[str] = []
    for number in range(count):
        value, begin, inner = x, x, [x]
        for step, name, at in zip(steps, names, back, strict=True):
            at += number == other  # noqa: PLW2901 - of one layer it is another value
            if step == "unary":
                value = writer.unary(name, value)
            elif step == "bias":
                bias = shared if has_shared else writer.constant(numbers, _B, 24)
                value = writer.binary("add", value, bias, _B)
            elif step == "matmul":
                value = writer.matmul(value, writer.constant(numbers, _W, 24 * 24))
            else:
                read = {"residual": begin, "mask": mask, "first": first}
                value = writer.binary("sub", value, read.get(step) or inner[-1 - at % len(inner)])
            inner.append(value)
        if number == gives:
            leaked.append(value)
        out = writer.matmul(value, writer.constant(numbers, _W, 24 * 24))
        x = writer.binary("add", out, begin)
    outs = [*leaked, x]
    kinds = ", ".join([_X] * len(outs))
    text = (
        f"builtin.module {{\n  func.func @main(%x: {_X}, %m: {_X}) -> ({kinds}) {{\n"
        + "\n".join(writer.lines)
        + f"\n    func.return {', '.join(outs)} : {kinds}\n  }}\n}}\n"
    )
    return GeneratedProgram("graph", text, seed=seed, index=seed)


def test_layers_keep_their_meaning() -> None:
    """What layers are is found before any target matters: of the second one only the search has programs."""
    targets = [str(native()), "generic"][: effort(1, 2)]
    found = check_programs([layered(seed) for seed in seeds(7, 80)], targets)
    assert not found, "\n".join(f"{one.index}, {one.target}: {one.message}" for one in found)


def run(text: str, until: str, without: str = "apply-schedule") -> ModuleOp:
    context = new_context()
    module = parse_module(context, text)
    module.attributes["inarch.target"] = StringAttr("x86-64-v3")
    run_pipeline(context, module, default_pipeline().without(without).until(until), [])
    return module


def functions_of_layers(module: ModuleOp) -> list[FuncOp]:
    return [op for op in module.body.ops if isinstance(op, FuncOp) and LAYER in op.attributes]


def test_some_of_them_are_functions() -> None:
    """Else the test above shows nothing."""
    found = [functions_of_layers(run(layered(seed).text, "outline-layers")) for seed in range(7)]
    assert 3 <= sum(map(bool, found)) < 7


def test_nests_are_where_their_own_layers_were() -> None:
    """What explain, errors and profiles name: as without the function."""

    def places(module: ModuleOp) -> list[str]:
        return sorted(str(location_text(op)) for op in module.walk() if isinstance(op, NestOp))

    seed = next(s for s in range(8) if functions_of_layers(run(layered(s).text, "outline-layers")))
    text = layered(seed).text
    inlined = run(text, "graph-to-loop")
    inline_functions(inlined, LAYER)
    assert not functions_of_layers(inlined)
    assert not [op for op in inlined.walk() if isinstance(op, CallOp)]
    plain = run(text, "graph-to-loop", without="outline-layers")
    assert places(inlined) == places(plain)
    assert len(set(places(inlined))) > 8


def test_what_is_cut_off_before_they_are_put_back_has_none() -> None:
    """`--emit=loop`, whose nests a schedule names, and hosts that take loops."""
    seed = next(s for s in range(8) if functions_of_layers(run(layered(s).text, "outline-layers")))
    for level in ("loop", "kernel"):
        context = new_context()
        module = parse_module(context, layered(seed).text)
        lower(context, module, level)
        assert not functions_of_layers(module)
    names = [one.name for one in default_pipeline().until("loop").closed()]
    assert "outline-layers" not in names
    assert default_pipeline().closed() == default_pipeline()


def test_work_of_passes_does_not_grow_with_the_layers() -> None:
    """Of a transformer, as exporters write it: further layers are further calls."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(MODELS))  # pyright: ignore[reportUnknownMemberType]
        bert: Any = __import__("bert_base")
    counts: list[int] = []
    for layers in (2, 5):
        model = bert.build(sequence=6, layers=layers, hidden=32, heads=2, inner=64, vocabulary=11)
        context = new_context()
        module = import_onnx(model, context)
        module.attributes["inarch.target"] = StringAttr("x86-64-v3")
        run_pipeline(context, module, default_pipeline().until("tile-and-fuse"), [])
        counts.append(sum(isinstance(op, NestOp) for op in module.walk()))
        calls = [op for op in module.walk() if isinstance(op, CallOp)]
        assert len(calls) == layers
    assert counts[0] == counts[1]
