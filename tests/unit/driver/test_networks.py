"""What makes networks fast, seen without a clock: lowered for three targets and not compiled.

What fails names the network, the target, and the nest or the pass.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from effort import SOAK, effort
from inarch.dialects import new_context
from inarch.dialects.loop.nest import nest_ops
from inarch.driver.compiler import import_model
from inarch.driver.options import Options
from inarch.ir.report.facts import facts_of
from inarch.ir.report.remarks import Remark
from inarch.ir.text import parse_module
from inarch.passes.tensorize.report import KernelReport
from inarch.passes.tensorize.unify.strided import strided_nest
from inarch.passes.tensorize.unsuitable import unsuitable
from inarch.passes.tensorize.weigh.plain import adds_numbers
from inarch.pipeline.default import default_pipeline
from inarch.pipeline.manager import Instrument, Step, run_pipeline
from inarch.pipeline.remarks import RemarkListener

TARGETS = ("x86-64-v3", "x86-64-v4", "aarch64")
LEAST_BY_KERNELS = 0.99
"""Of the multiply-adds."""
MOST_SCRATCH = 2
"""Times the bytes that are needed at once."""
EACH_PASS = ("resnet50", "nsnet2", "decoder", "squeezed")
"""Networks that each optional pass changes one of, which changes any: the gate leaves passes out of these."""
WORSE = 1.02
"""Without a pass the whole may take less by so much: costs are estimates."""
FUNCTIONS = ("math.exp", "math.log", "math.tanh", "math.erf", "math.expm1", "math.log1p")
MODELS = Path(__file__).parents[3] / "benchmarks" / "models"


def _generators() -> Any:
    """The module of networks, imported as Python runs a script beside it: its folder first on the path."""
    sys.path.insert(0, str(MODELS))
    try:
        return importlib.import_module("networks")
    finally:
        sys.path.remove(str(MODELS))


NETWORKS: dict[str, Any] = _generators().WHOLE if SOAK else _generators().FEW


class _Changes(Instrument):
    """The optional passes that change the program."""

    def __init__(self) -> None:
        self.found: list[ModulePass] = []
        self._before: ModuleOp | None = None

    def before(self, step: Step, module: ModuleOp) -> None:
        is_optional = getattr(type(step.one), "is_optional", False)
        self._before = module.clone() if is_optional else None

    def after(self, step: Step, module: ModuleOp) -> None:
        if self._before is not None and not module.is_structurally_equivalent(self._before):
            self.found.append(step.one)


class _Lowered:
    """A network on a target, by passes."""

    def __init__(
        self, target: str, path: Path, passes: Iterable[ModulePass], *, is_watched: bool = False
    ) -> None:
        context = new_context()
        module = import_model(path, context, Options(target=target))
        listener = RemarkListener(context, self._heard, "^plan-memory$")
        self.remarks: list[str] = []
        changes = _Changes()
        run_pipeline(context, module, passes, [listener, changes] if is_watched else [listener])
        self.changing = changes.found
        found = facts_of(context).get(KernelReport)
        assert found is not None, "tensorize is one of the passes"
        self.kernels, self.title = found, f"{path.stem} on {target}"
        self.slow = scalar_functions(module)

    def _heard(self, remark: Remark) -> None:
        self.remarks.append(remark.message)

    def dear(self) -> str:
        """The nests with the most multiply-adds that no kernel does."""
        left = [nest for nest in self.kernels.nests if nest.taken is None and nest.multiply_adds]
        left.sort(key=lambda nest: nest.iterations * nest.multiply_adds, reverse=True)
        return "; ".join(
            f"{nest.location} ({nest.iterators}) x {nest.iterations}" for nest in left[:3]
        )


def scalar_functions(module: ModuleOp) -> list[str]:
    """Nests that no kernel does, and that sum up functions of numbers one after the other."""
    nests = [nest for nest in nest_ops(module) if nest.has_reduction and unsuitable(nest) is None]
    found = [nest for nest in nests if any(op.name in FUNCTIONS for op in nest.body.block.ops)]
    strided = {str(nest): strided_nest(nest) for nest in found}
    return [text for text, n in strided.items() if adds_numbers(n)]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape", ["128x1000", "1x1048576", "1x3x1024x1024"])
def test_sums_of_functions_are_vector_code(shape: str, target: str) -> None:
    """A softmax's logarithm, and that of a sum of exponentials: whatever the shape, templates do them."""
    context = new_context()
    last, kind = shape.count("x"), f"tensor<{shape}xf32>"
    text = f"""func.func @main(%x: {kind}) -> {kind} {{
  %0 = graph.log_softmax %x axis = {last} : {kind} -> {kind}
  func.return %0 : {kind}
}}"""
    module = import_model(parse_module(context, text), context, Options(target=target))
    run_pipeline(context, module, default_pipeline(), [])
    found = facts_of(context).get(KernelReport)
    assert found is not None
    assert sum(nest.taken is not None for nest in found.nests) == 2, str(found)
    assert not scalar_functions(module)


@pytest.fixture(name="path", params=list(NETWORKS), scope="module")
def fixture_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of each network."""
    model = NETWORKS[request.param]()
    path = tmp_path_factory.mktemp("networks") / f"{request.param}.onnx"
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.sampled(effort(16, 99), reason="each network, and half of them on two targets")
@pytest.mark.parametrize("target", TARGETS)
def test_kernels_do_the_products_and_scratch_is_little(path: Path, target: str) -> None:
    lowered = _Lowered(target, path, default_pipeline())
    part = lowered.kernels.done_by_kernels()
    assert part >= LEAST_BY_KERNELS, (
        f"{lowered.title}: kernels do {part:.1%} of the multiply-adds, not {lowered.dear()}"
    )
    assert not lowered.slow, f"{lowered.title}: no vectors for {lowered.slow}"
    said = [re.findall(r"\d+", each.partition(":")[2]) for each in lowered.remarks]
    assert said, "every program has a function"
    for used, _, needed in said:
        assert int(used) <= MOST_SCRATCH * int(needed), f"{lowered.title}: {lowered.remarks}"


@pytest.mark.sampled(effort(len(EACH_PASS), 99), reason="each network once, on one of the targets")
@pytest.mark.parametrize("path", list(NETWORKS) if SOAK else EACH_PASS, indirect=True)
@pytest.mark.parametrize("target", TARGETS)
def test_no_pass_makes_the_whole_dearer(path: Path, target: str) -> None:
    """By the costs that chose the kernels: each optional pass that does something is left out in turn."""
    passes = tuple(default_pipeline().until("tensorize"))
    lowered = _Lowered(target, path, passes, is_watched=True)
    own, dearer = lowered.kernels.cycles, list[str]()
    assert passes[-1] in lowered.changing, "tensorize, whose costs these are, is optional and found"
    for one in lowered.changing[:-1]:
        others = [other for other in passes if other is not one]
        cycles = _Lowered(target, path, others).kernels.cycles
        if own > WORSE * cycles:
            dearer.append(f"{own:.0f} cycles, without {one.name} {cycles:.0f}")
    assert not dearer, lowered.title


@pytest.mark.parametrize("target", TARGETS if SOAK else TARGETS[:1])
def test_steps_of_a_recurrence_are_iterations_of_one_loop(target: str, tmp_path: Path) -> None:
    """How many kernels there are does not depend on how many steps; what they take in a call does."""
    found: list[int] = []
    cycles: list[float] = []
    for frames in (8, 24):
        model = _generators().nsnet2.build(frames=frames)
        path = tmp_path / f"nsnet2-{frames}.onnx"
        path.write_bytes(model.SerializeToString())
        lowered = _Lowered(target, path, default_pipeline())
        found.append(len(lowered.kernels.nests))
        steps = [nest for nest in lowered.kernels.nests if nest.function != "main"]
        assert {nest.iterations for nest in steps} == {frames}
        cycles.append(sum(nest.cycles for nest in steps))
    assert found[0] == found[1], f"nsnet2 on {target}: {found} nests of 8 and of 24 frames"
    assert cycles[1] == pytest.approx(3 * cycles[0], rel=0.05)
