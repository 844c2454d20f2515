"""What makes networks fast, seen without a clock: lowered for three targets and not compiled.

What fails names the network, the target, and the nest or the pass.
"""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from effort import SOAK
from inarch.dialects import new_context
from inarch.driver.compiler import import_model
from inarch.driver.options import Options
from inarch.ir.report.facts import facts_of
from inarch.ir.report.remarks import Remark
from inarch.passes.tensorize.report import KernelReport
from inarch.pipeline.default import default_pipeline
from inarch.pipeline.manager import run_pipeline
from inarch.pipeline.pipeline import Pipeline
from inarch.pipeline.remarks import RemarkListener

TARGETS = ("x86-64-v3", "x86-64-v4", "aarch64")
LEAST_BY_KERNELS = 0.99
"""Of the multiply-adds."""
MOST_SCRATCH = 2
"""Times the bytes that are needed at once."""
WORSE = 1.02
"""Without a pass the whole may take less by so much: costs are estimates."""
OF_COST = (
    "scale-last",
    "share-batches",
    "choose-layout",
    "rematerialize",
    "fuse-nests",
    "normalize-last",
    "tile-and-fuse",
    "split-padding",
    "drop-padding-taps",
    "join-rows",
)
"""Optional passes before `tensorize` that are there for speed."""
MODELS = Path(__file__).parents[3] / "benchmarks" / "models"


def _generators() -> Any:
    """The module of networks, imported as Python runs a script beside it: its folder first on the path."""
    sys.path.insert(0, str(MODELS))
    try:
        return importlib.import_module("networks")
    finally:
        sys.path.remove(str(MODELS))


NETWORKS: dict[str, Any] = _generators().WHOLE if SOAK else _generators().FEW
COSTS_ON = TARGETS if SOAK else TARGETS[:1]


class _Lowered:
    """A network on a target, by a pipeline."""

    def __init__(self, network: str, target: str, path: Path, pipeline: Pipeline) -> None:
        context = new_context()
        module = import_model(path, context, Options(target=target))
        listener = RemarkListener(context, self._heard, "^plan-memory$")
        self.remarks: list[str] = []
        run_pipeline(context, module, pipeline, [listener])
        found = facts_of(context).get(KernelReport)
        assert found is not None, "tensorize is one of the passes"
        self.kernels, self.title = found, f"{network} on {target}"

    def _heard(self, remark: Remark) -> None:
        self.remarks.append(remark.message)

    def dear(self) -> str:
        """The nests with the most multiply-adds that no kernel does."""
        left = [nest for nest in self.kernels.nests if nest.taken is None and nest.multiply_adds]
        left.sort(key=lambda nest: nest.turns * nest.multiply_adds, reverse=True)
        return "; ".join(f"{nest.location} ({nest.iterators}) x {nest.turns}" for nest in left[:3])


@pytest.fixture(name="path", params=list(NETWORKS), scope="module")
def fixture_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of each network."""
    model = NETWORKS[request.param]()
    path = tmp_path_factory.mktemp("networks") / f"{request.param}.onnx"
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.sampled(99, reason="all of them: a fault is often that of one network on one target")
@pytest.mark.parametrize("target", TARGETS)
def test_kernels_do_the_products_and_scratch_is_little(path: Path, target: str) -> None:
    lowered = _Lowered(path.stem, target, path, default_pipeline())
    part = lowered.kernels.done_by_kernels()
    assert part >= LEAST_BY_KERNELS, (
        f"{lowered.title}: kernels do {part:.1%} of the multiply-adds, not {lowered.dear()}"
    )
    said = [re.findall(r"\d+", each.partition(":")[2]) for each in lowered.remarks]
    assert said, "every program has a function"
    for used, _, needed in said:
        assert int(used) <= MOST_SCRATCH * int(needed), f"{lowered.title}: {lowered.remarks}"


@pytest.mark.sampled(99, reason="all of them, as above")
@pytest.mark.parametrize("target", COSTS_ON)
def test_no_pass_makes_the_whole_dearer(path: Path, target: str) -> None:
    """By the costs that chose the kernels: each optional pass is left out in turn."""
    pipeline = default_pipeline().until("tensorize")
    own = _Lowered(path.stem, target, path, pipeline).kernels.cycles
    dearer = [
        f"{own:.0f} cycles, without {name} {cycles:.0f}"
        for name in OF_COST
        if own > WORSE * (cycles := _without(path, target, pipeline, name))
    ]
    assert not dearer, f"{path.stem} on {target}"


def _without(path: Path, target: str, pipeline: Pipeline, name: str) -> float:
    return _Lowered(path.stem, target, path, pipeline.without(name)).kernels.cycles


@pytest.mark.parametrize("target", COSTS_ON)
def test_steps_of_a_recurrence_are_turns_of_one_loop(target: str, tmp_path: Path) -> None:
    """How many kernels there are does not depend on how many steps."""
    found: list[int] = []
    for frames in (8, 24):
        model = _generators().nsnet2.build(frames=frames)
        path = tmp_path / f"nsnet2-{frames}.onnx"
        path.write_bytes(model.SerializeToString())
        lowered = _Lowered(path.stem, target, path, default_pipeline())
        found.append(len(lowered.kernels.nests))
    assert found[0] == found[1], f"nsnet2 on {target}: {found} nests of 8 and of 24 frames"
