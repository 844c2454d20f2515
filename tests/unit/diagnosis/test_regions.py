"""`inarch verify --backend`: one wrong region of four is named, with its ops, whatever goes wrong in it."""

from __future__ import annotations

import ctypes
import json
import os
import random
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from math import inf, isnan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine import MODEL, STEPS, Arrays, Engine, installed

from inarch.core.errors import InarchError, UsageError
from inarch.diagnosis import VerifyOptions, verify_model, verify_region, write_regions
from inarch.diagnosis import verify as of_models
from inarch.driver.options import Options
from inarch.offload.backend import EmitRequest
from inarch.offload.tolerance import METRICS, Tolerance, network_tolerance, tolerance_of
from inarch.tools.cli import run

TANH = "graph.tanh at model.mlir:5:3"
OPS = ("graph.sub at model.mlir:4:3", TANH, "graph.add at model.mlir:6:3")


@pytest.fixture
def engine() -> Iterator[Engine]:
    with installed() as one:
        yield one


@pytest.fixture(autouse=True)
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = Path("model.mlir")
    path.write_text(MODEL)
    return path


def off_by_a_quarter(x: Any) -> Any:
    return np.tanh(x) + np.float32(0.25)


def test_one_wrong_region_of_four(engine: Engine) -> None:
    """The others are right, the whole command says which, of what, and what to run; that fails, too."""
    engine.faults["tanh"] = off_by_a_quarter
    code, out, err = run(["verify", "model.mlir", "--backend", "npu"])
    measured = out.splitlines()[1].partition("relative ")[2].partition(" ")[0]
    assert (code, err) == (1, "")
    assert out == (
        "npu_0 of backend 'npu': right, relative 0 (allowed: relative=0.0001)\n"
        f"npu_1 of backend 'npu': wrong, relative {measured} (allowed: relative=0.0001)\n"
        "npu_2 of backend 'npu': right, relative 0 (allowed: relative=0.0001)\n"
        "npu_3 of backend 'npu': right, relative 0 (allowed: relative=0.0001)\n"
        "wrong: 1 of 4 regions\n"
        f"  npu_1: {out.splitlines()[5].partition('npu_1: ')[2]}\n"
        f"    made of {', '.join(OPS)}\n"
        f"    wrong by itself: {TANH}\n"
        "    reproduce: inarch verify model-reproducer/npu_1\n"
    )
    assert float(measured) > 0.05
    again = run(["verify", "model-reproducer/npu_1", "--json"])
    facts = json.loads(again.out)
    assert again.code == 1
    assert facts["place"]["stage"] == "region"
    assert facts["place"]["backend"] == "npu"
    assert facts["place"]["ops"] == [TANH]
    (one,) = facts["regions"]
    assert one["region"] == "npu_1"
    assert one["ops"] == list(OPS)
    assert one["suspects"] == [TANH]
    engine.faults.clear()
    assert run(["verify", "model-reproducer/npu_1"]) == (
        0,
        "npu_1 of backend 'npu': right, relative 0 (allowed: relative=0.0001)\nright: the region alone\n",
        "",
    )


def test_what_enters_a_region_is_what_the_definitions_give(model: Path, engine: Engine) -> None:
    """Not what the wrong region before it gives; by NumPy."""
    engine.faults["exp"] = np.zeros_like
    folders = write_regions(model, Path("regions"), Options(backends=["npu"]), seed=3)
    assert [folder.name for folder in folders] == ["npu_0", "npu_1", "npu_2", "npu_3"]
    x = dict(np.load("regions/npu_0/inputs.npz"))["x"]
    a = np.exp(x)
    entering = dict(np.load("regions/npu_1/inputs.npz"))
    np.testing.assert_allclose(entering["a"], a, rtol=1e-6)
    np.testing.assert_array_equal(entering["b"], np.floor(entering["a"]))
    leaving = dict(np.load("regions/npu_1/expected.npz"))
    np.testing.assert_allclose(leaving["d"], np.tanh(a - np.floor(a)), rtol=1e-5)
    with pytest.raises(
        InarchError, match=r"^regions: exists already; name another folder, or remove it$"
    ):
        write_regions(model, Path("regions"), Options(backends=["npu"]))


def fill_with_nan(_: str, arrays: Arrays, rightly: Callable[[], None]) -> None:
    rightly()
    arrays[-1][0, 3] = np.nan


def write_nothing(_: str, arrays: Arrays, rightly: Callable[[], None]) -> None:
    del arrays, rightly


def write_an_input(_: str, arrays: Arrays, rightly: Callable[[], None]) -> None:
    rightly()
    ctypes.memset(arrays[0].ctypes.data, 0, 4)


def raise_error(*_: object) -> None:
    raise RuntimeError("boom")


def coarse(x: Any) -> Any:
    return (STEPS["tanh"](x) * 64).round() / np.float32(64)


@pytest.mark.slow
def test_the_model_is_held_to_what_its_backend_declares(model: Path) -> None:
    """Its steps by the host to rounding, its outputs to the backend's tolerance."""

    def verified(tolerance: str) -> tuple[bool, str]:
        with installed(tolerance) as engine:
            engine.faults["tanh"] = coarse
            verdict = verify_model(model, VerifyOptions(keywords={"backends": ["npu"]}))
            return verdict.is_right, " ".join(one.outcome for one in verdict.regions)

    assert verified("snr=20") == (True, "right right right right")
    assert verified("") == (False, "right wrong right right")


def hang(*_: object) -> None:
    time.sleep(99)


def leave(*_: object) -> None:
    os._exit(3)


def die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


OWNER = "(backend 'npu', from 'model.mlir:4:3', 'model.mlir:5:3', 'model.mlir:6:3')"
FAILED: dict[str, tuple[Callable[..., None], str, str]] = {
    "raises": (raise_error, "failed", f"main: import 'npu_1' failed: RuntimeError: boom {OWNER}"),
    "hangs": (
        hang,
        "crash",
        "the compiled code did not end within 2 s",
    ),
    "leaves": (
        leave,
        "crash",
        "the compiled code ended the process with status 3",
    ),
    "dies": (
        die,
        "crash",
        "the compiled code was ended by SIGSEGV",
    ),
    "writes nothing": (
        write_nothing,
        "failed",
        "main: import 'npu_1' failed: output 0 was never written; write it in place, as out[:] = ... "
        + OWNER,
    ),
    "writes an input": (write_an_input, "failed", "'npu_1' writes to its input 0"),
    "gives NaN": (fill_with_nan, "wrong", ""),
}


def test_every_way_to_fail(model: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is found by the region alone, and nothing of it harms the process that asks."""
    (_, folder, *_) = write_regions(model, Path("regions"), Options(backends=["npu"]))
    monkeypatch.setattr(of_models, "LEAST_SECONDS", 2.0)
    for name, (around, outcome, message) in FAILED.items():
        engine.around = around
        verdict = verify_region(folder)
        (one,) = verdict.regions
        assert not verdict.is_right, name
        assert (one.outcome, one.message) == (outcome, message), name
        if outcome == "wrong":
            assert isnan(one.measured)
            assert one.difference is not None
        if name == "hangs":
            assert one.suspects == one.ops  # each part would take as long
    engine.around = None
    engine.opens = raise_error
    (one,) = verify_region(folder).regions
    assert one.message.startswith("backend 'npu' [")
    assert "RuntimeError: boom" in one.message
    engine.opens = None
    engine.symbols = lambda names: [f"{name}x" for name in names]
    (one,) = verify_region(folder).regions
    assert one.message.endswith(
        "on @npu_1 (from 'model.mlir:4:3', 'model.mlir:5:3', 'model.mlir:6:3'): expected the symbols npu_1, "
        "found npu_1x; name every function in Emission.symbols"
    )

    def refuse(request: EmitRequest) -> None:
        if any("tanh" in str(function) for function in request.functions):
            raise KeyError("tanh")

    engine.symbols, engine.emits = tuple, refuse
    (one,) = verify_region(folder).regions
    assert one.outcome == "failed"
    assert "emit raises KeyError: 'tanh'" in one.message
    assert one.suspects == (TANH,)
    engine.emits = None
    assert verify_region(folder).is_right


def test_tolerances(model: Path) -> None:
    """A backend's own, one of the command, one that lies."""
    with installed():
        (_, folder, *_) = write_regions(model, Path("regions"), Options(backends=["npu"]))

    def verified(tolerance: str, said: dict[str, str] | None = None) -> str:
        with installed(tolerance) as engine:
            engine.faults["tanh"] = coarse
            return verify_region(folder, VerifyOptions(tolerances=said or {})).regions[0].outcome

    assert verified("") == "wrong"
    assert verified("snr=20") == "right"
    assert verified("snr=90") == "wrong"
    assert verified("snr=90", {"npu": "cosine=0.99"}) == "right"
    assert verified("snr=20", {"other": "snr=1", "": "snr=90"}) == "wrong"
    with pytest.raises(UsageError, match=r"^tolerance of backend 'npu': expected snr above 0"):
        verified("snr=-3")
    for said, message in {
        "snr": "expected METRIC=NUMBER such as snr=20, found 'snr'",
        "snr=0": "expected snr above 0, up to 1000, found '0'",
        "snr=nan": "expected snr above 0, up to 1000, found 'nan'",
        "relative=1": "expected relative from 0 to below 1, found '1'",
        "cosine=2": "expected cosine above 0, up to 1, found '2'",
    }.items():
        with pytest.raises(UsageError) as caught:
            tolerance_of(said, "npu")
        assert str(caught.value) == f"tolerance of backend 'npu': {message}"
    outcome = run(["verify", "model.mlir", "--backend", "cblas", "--tolerance", "npu:psnr=3"])
    assert outcome.code == 2
    assert "no metric 'psnr' in --tolerance" in outcome.err
    assert run(["verify", "model.mlir", "--tolerance", "steps=1"]) == (
        2,
        "",
        "error: --tolerance: expected a backend, whose regions it is of; name one with --backend\n",
    )
    outcome = run(["verify", "model.mlir", "--backend", "cblas", "--tolerance", "npu:snr=3"])
    assert outcome.code == 2
    assert outcome.err.endswith("error: no backend 'npu' in --tolerance. Known: cblas\n")


WHOLE = '''"""A backend of int8 that declares one step, and is 0 where a model has two regions."""
from math import prod
from inarch.offload.backend import Backend, Emission

C = """int32_t {s}(void *self, DLTensor *a, int32_t n) {{ for (long i = 0; i < {k}; i++) {{
  signed char x = ((signed char *)a[0].data)[i]; ((signed char *)a[1].data)[i] = {b}; }} return 0; }}
"""

def emit(request):
    parts = []
    for number, function in enumerate(request.functions):
        size = prod(function.function_type.inputs.data[0].get_shape())
        body = "0" if number == 1 else "x < 0 ? 0 : x"
        parts.append(C.format(s=function.sym_name.data, k=size, b=body))
    return Emission("c", request.names(), text='#include "inarch.h"\\n' + "".join(parts))

def accepts(op):
    return None if str(op.results[0].type.element_type) == "i8" else "not i8"

BACKEND = Backend("whole", "", emit, ops=["relu"], tolerance="absolute=1", accepts=accepts)
'''

TWO_REGIONS = """func.func @main(%x: tensor<4x8xi8>) -> tensor<4x8xf32> {
  %s = graph.constant dense<1.0e-3> : tensor<f32>
  %a = graph.relu %x : tensor<4x8xi8> -> tensor<4x8xi8>
  %b = graph.dequantize %a scale %s : tensor<4x8xi8>, tensor<f32> -> tensor<4x8xf32>
  %c = graph.exp %b : tensor<4x8xf32> -> tensor<4x8xf32>
  %d = graph.quantize %c scale %s to i8 : tensor<4x8xf32>, tensor<f32> -> tensor<4x8xi8>
  %e = graph.relu %d : tensor<4x8xi8> -> tensor<4x8xi8>
  %f = graph.dequantize %e scale %s : tensor<4x8xi8>, tensor<f32> -> tensor<4x8xf32>
  func.return %f : tensor<4x8xf32>
}
"""


def test_a_step_of_integers_is_nothing_of_a_float() -> None:
    """A model is not right that is 0 everywhere, less than one step of its int8 regions."""
    Path("two.mlir").write_text(TWO_REGIONS)
    Path("whole.py").write_text(WHOLE)
    code, out, err = run(["verify", "two.mlir", "--load", "whole.py", "--backend", "whole"])
    assert (code, err) == (1, "")
    first, second, wrong, place, *_ = out.splitlines()
    assert first == "whole_0 of backend 'whole': right, steps 0 (allowed: steps=1)"
    assert second == "whole_1 of backend 'whole': right, steps 0 (allowed: steps=1)"
    assert "expected 127, found 0, allowed 0" in wrong
    assert place.endswith(": backend 'whole', whose regions are right alone")


def test_tolerances_by_kind_of_dtype() -> None:
    floats, whole, flags = np.dtype("float32"), np.dtype("int8"), np.dtype("bool")
    for said, of_floats, of_integers in (
        ("", "relative=0.0001", "steps=0"),
        ("snr=20", "snr=20", "snr=20"),
        ("steps=1", "relative=0.0001", "steps=1"),
        ("steps=1,snr=30", "snr=30", "steps=1"),
        ("absolute=1", "absolute=1", "absolute=1"),
    ):
        one = tolerance_of(said, "npu")
        assert (str(one.of(floats)), str(one.of(whole))) == (of_floats, of_integers)
        assert str(one.of(flags)) == "steps=0"
        assert tolerance_of(str(one), "npu") == one
    one = tolerance_of("absolute=1", "npu").in_steps()
    assert (str(one.of(floats)), str(one.of(whole))) == ("relative=0.0001", "steps=1")
    with pytest.raises(UsageError, match="expected one metric of integers and one of floats"):
        tolerance_of("snr=20,cosine=0.9", "npu")
    values = [np.array([100, -127], np.int8)]
    assert network_tolerance(Tolerance("steps", 1), values) == Tolerance("relative", 1 / 127)
    assert network_tolerance(Tolerance("steps", 64), values) is None
    assert network_tolerance(Tolerance("snr", 20), values) == Tolerance("snr", 20)


def test_metrics_by_their_equations() -> None:
    """Against NumPy; equal infinities are no difference, other ones are no number."""
    generator = np.random.default_rng(0)
    for iteration in range(50):
        shape = [(7,), (3, 4), (2, 1, 5)][iteration % 3]
        e = generator.standard_normal(shape).astype(np.float32)
        f = e + generator.standard_normal(shape).astype(np.float32) * np.float32(
            10.0 ** -(iteration % 5)
        )
        d = (f.astype(np.float64) - e).ravel()
        wide = e.astype(np.float64).ravel()
        found = {metric: Tolerance(metric, 0.5).measure(e, f) for metric in METRICS}
        assert found["absolute"] == np.abs(d).max()
        assert found["relative"] == pytest.approx(np.abs(d).max() / np.abs(wide).max())
        assert found["snr"] == pytest.approx(10 * np.log10(wide @ wide / (d @ d)))
        other = f.astype(np.float64).ravel()
        cosine = wide @ other / np.linalg.norm(wide) / np.linalg.norm(other)
        assert found["cosine"] == pytest.approx(cosine)
        assert found["top1"] == (e.argmax(-1) == f.argmax(-1)).mean()
    pair = np.array([inf, 1, np.nan]), np.array([inf, 1, np.nan])
    assert Tolerance("snr", 3).measure(*pair) == inf
    assert isnan(Tolerance("relative", 0.5).measure(pair[0], np.array([-inf, 1, np.nan])))
    zeros = np.zeros((2, 3))
    for metric, limit in {"relative": 0.99, "snr": 1e-9, "cosine": 1e-9}.items():
        one = Tolerance(metric, limit)
        assert not one.allows(one.measure(np.arange(6.0).reshape(2, 3), zeros)), metric
    ties = np.array([[2.0, 2.0, 1.0]])
    assert Tolerance("top1", 1).measure(ties, np.array([[0.0, 5.0, 1.0]])) == 1
    assert isnan(Tolerance("top1", 1).measure(ties, np.array([[0.0, np.nan, 1.0]])))


def test_damaged_folders(model: Path) -> None:
    """Each file of a region says what is wrong with it."""
    with installed():
        damage(model)


def damage(model: Path) -> None:
    (folder, *_) = write_regions(model, Path("regions"), Options(backends=["npu"]))
    facts = (folder / "region.json").read_text()
    np.savez(folder / "expected.npz", a=np.zeros((2, 5), np.float32))
    with pytest.raises(InarchError) as caught:
        verify_region(folder)
    assert str(caught.value) == (
        "regions/npu_0/expected.npz: expected 'a' of float32[2, 6], found float32[2, 5]"
    )
    np.savez(folder / "inputs.npz", z=np.zeros(1))
    with pytest.raises(InarchError) as caught:
        verify_region(folder)
    assert str(caught.value) == (
        "regions/npu_0/inputs.npz: expected 'x' of float32[2, 6], found none"
    )
    (folder / "region.json").write_text(facts.replace("region/1", "region/2"))
    with pytest.raises(InarchError) as caught:
        verify_region(folder)
    assert str(caught.value) == (
        "regions/npu_0/region.json: schema: expected 'inarch.region/1', found 'inarch.region/2'"
    )
    outcome = run(["compile", "model.mlir", "--dump-regions", "new"])
    assert outcome == (
        2,
        "",
        "error: --dump-regions: expected a backend; name one with --backend\n",
    )
    assert not Path("new").exists()


def plus_seven(step: Callable[..., Any], *operands: Any) -> Any:
    return step(*operands) + np.float32(7)


@pytest.mark.slow
def test_random_programs_with_a_random_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever op is wrong, each region that has it is wrong, no other is, and the op is what is named."""
    monkeypatch.chdir(tmp_path)
    kind = "tensor<3x4xf32>"
    for seed in range(6):
        chance = random.Random(seed)
        lines: list[str] = []
        values = ["%x"]
        for number in range(chance.randint(4, 12)):
            op = chance.choice([*STEPS, "floor"])
            operands = [
                chance.choice(values[-3:]) for _ in range(2 if op in ("add", "sub", "mul") else 1)
            ]
            lines.append(
                f"  %v{number} = graph.{op} {', '.join(operands)} : "
                f"{', '.join([kind] * len(operands))} -> {kind}\n"
            )
            values.append(f"%v{number}")
        text = f'func.func @main(%x: {kind} {{inarch.name = "x"}}) -> {kind} {{\n{"".join(lines)}'
        Path("random.mlir").write_text(f"{text}  func.return {values[-1]} : {kind}\n}}\n")
        used = sorted({line.split("graph.")[1].split()[0] for line in lines} & set(STEPS))
        if not used:
            continue
        wrong = chance.choice(used)
        with installed() as engine:
            engine.faults[wrong] = partial(plus_seven, STEPS[wrong])
            wish = VerifyOptions(keywords={"backends": ["npu"]}, seed=seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that the engine gets nothing
                verdict = verify_model("random.mlir", wish)
        for one in verdict.regions:
            has = [op for op in one.ops if op.startswith(f"graph.{wrong} ")]
            if one.is_right:
                continue
            assert has, (seed, wrong, one)
            assert set(one.suspects) & set(has), (seed, wrong, one)
        if any(f"graph.{wrong} " in op for one in verdict.regions for op in one.ops):
            # A later op may hide what is wrong (relu, floor of infinity): most are seen.
            assert not verdict.is_right or wrong in ("exp", "relu"), (seed, wrong)
