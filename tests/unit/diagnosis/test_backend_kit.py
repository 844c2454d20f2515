"""The test kit for backends: our own pass, and each kind of lie is found by the check that is for it."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine import MODEL, STEPS, Engine, installed

from inarch.core.errors import InarchError
from inarch.offload.backend import BACKENDS, Backend, Emission, Option
from inarch.offload.pattern import Match, any_, named, op
from inarch.runtime.loaders import LOADERS
from inarch.testing.backend import check_backend
from inarch.testing.backend.__main__ import main
from inarch.testing.backend.ends import at_their_ends
from inarch.testing.backend.faults import FAULTS
from inarch.testing.backend.samples import Sample, SkipCheck, samples
from inarch.testing.backend.uses import USES, right
from inarch.testing.generate.check.driver import Outcome
from tests.unit.backends.quantized import PATTERNS

EMIT = BACKENDS["examplejson"].emit
Rightly = Callable[[], None]


@pytest.fixture
def sample(tmp_path: Path) -> Iterator[tuple[Engine, Sample]]:
    """Four regions of the engine."""
    path = tmp_path / "model.mlir"
    path.write_text(MODEL)
    with installed() as engine:
        (found,) = samples(BACKENDS["npu"].configure(), 0, 0, [path])
        yield engine, found


def plus_forty(x: Any) -> Any:
    return x + np.float32(40)


def lies(engine: Engine) -> dict[str, tuple[Callable[[], None], str]]:
    """The check that finds it, what is done to the engine, and how the finding begins."""
    calls = count()
    scratch = np.zeros((2, 6), np.float32)
    lock = threading.Lock()

    def drifts(_: str, arrays: list[Any], rightly: Rightly) -> None:
        rightly()
        arrays[-1][...] += np.float32(next(calls) // 4)  # the first call of all four is right

    def shares(_: str, arrays: list[Any], rightly: Rightly) -> None:
        rightly()
        with lock:
            scratch[...] = arrays[-1] if arrays[-1].shape == scratch.shape else 0
            scratch[0, 0] = next(calls) if threading.active_count() > 2 else scratch[0, 0]
        time.sleep(0.0005)
        arrays[-1][...] = scratch

    def set_around(way: Any) -> Callable[[], None]:
        return lambda: setattr(engine, "around", way)

    return {
        "called again": (set_around(drifts), "output 0 is another one in the second call"),
        "threads": (set_around(shares), "output 0 is another one among 8 threads"),
        "program": (
            lambda: engine.faults.update(tanh=plus_forty),
            "@main, output 0, index (",
        ),
    }


def test_each_lie_is_found(sample: tuple[Engine, Sample]) -> None:
    """And nothing is where there is none."""
    engine, one = sample
    checks = {"program": right, **USES}
    for name, check in checks.items():
        check(one.instance, one)
        for lie, (put, message) in lies(engine).items():
            if lie != name:
                continue
            put()
            with pytest.raises(AssertionError) as caught:
                check(one.instance, one)
            assert str(caught.value).startswith(message), name
        engine.around = None
        engine.faults.clear()


def test_faults_are_put_in(sample: tuple[Engine, Sample], monkeypatch: pytest.MonkeyPatch) -> None:
    """A loader that raises what it likes on damaged bytes; one that hides that a call failed."""
    engine, one = sample
    assert FAULTS["faults in emit"](one.instance, one) == "5 faults"
    with pytest.raises(AssertionError) as caught:
        FAULTS["damaged parts"](one.instance, one)
    assert str(caught.value).startswith("loader 'npu' raises JSONDecodeError: Expecting value")
    own = engine.open

    def careful(data: bytes, name: str) -> Any:
        try:
            return own(data, name)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InarchError(str(error)) from error

    object.__setattr__(LOADERS["npu"], "load_from_bytes", careful)
    assert FAULTS["damaged parts"](one.instance, one).endswith(" damaged parts")
    assert FAULTS["faults in calls"](one.instance, one) == "4 calls"

    def swallows(self: Any, number: int, args: Any, given: int) -> int:
        with suppress(Exception):
            self.slots.call(number, args, given, self.library)
        return 0

    monkeypatch.setattr("inarch.runtime.loaders.imports._Running.call", swallows)
    with pytest.raises(AssertionError) as caught:
        FAULTS["faults in calls"](one.instance, one)
    assert str(caught.value) == "call 1 failed, and nobody said so"


def test_ends_of_options() -> None:
    """Both ends of ranges, all of lists; one at a time."""
    options: dict[str, Option | str] = {
        "array": Option("int", 16, range="1..256"),
        "memory": Option("bytes", "4MiB", range="64KiB.."),
        "mode": Option("text", "exact", range=["exact", "fast"]),
        "busy": Option("bool", False),
        "note": "free",
    }

    def emit(_: object) -> Emission:
        return Emission("c", ())

    backend = Backend("npu", "", emit, options=options)
    assert at_their_ends(backend.configure()) == [
        "npu:array=1",
        "npu:array=256",
        "npu:memory=64KiB",
        "npu:mode=fast",
        "npu:busy=true",
    ]
    assert at_their_ends(backend.configure("big", array=256))[0] == "big=npu:array=1"


NPU = '''
"""add as C, wrong with arrays of one row; it says how near it is."""
from math import prod
from inarch.offload.backend import Backend, Emission, Option

CODE = """
int32_t {symbol}(void *self, DLTensor *args, int32_t n) {{
  (void)self, (void)n;
  for (int64_t i = 0; i < {size}; i++)
    ((float *)args[2].data)[i] = (((float *)args[0].data)[i] + ((float *)args[1].data)[i]) * {off};
  return 0;
}}
"""

def accepts(op, request):
    types = [value.type for value in (*op.operands, *op.results)]
    return None if len({*map(str, types)}) == 1 and "xf32>" in str(types[0]) else "takes f32 of one shape"

def emit(request):
    parts = ['#include "inarch.h"']
    for function in request.functions:
        size = prod(function.function_type.outputs.data[0].get_shape())
        off = "1.5f" if request.options["array"] == 1 else "1.0001f"
        parts.append(CODE.format(symbol=function.sym_name.data, size=size, off=off))
    return Emission("c", request.names(), text="".join(parts))

BACKEND = Backend(
    "npu", "adds", emit, ops=("add",), accepts=accepts, tolerance="snr=40", max_regions=1,
    options={"array": Option("int", 4, range="1..8")},
)
'''
ADD = """func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = graph.add %x, %y : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  %1 = graph.floor %0 : tensor<2x3xf32> -> tensor<2x3xf32>
  %2 = graph.sub %0, %1 : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
"""


@pytest.mark.slow
def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An option at its end is wrong, which is said; what is declared is what is held to."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "npu.py").write_text(NPU)
    (tmp_path / "add.mlir").write_text(ADD)
    with BACKENDS.scope(), LOADERS.scope():
        code = main(["npu", "--load", "npu.py", "--program", "add.mlir", "--count", "1", "--json"])
    assert code == 1
    checks = json.loads(capsys.readouterr().out)["checks"]
    found = {(one["instance"], one["name"]): one for one in checks}
    assert found["npu", "program add.mlir"]["outcome"] == "passed"
    assert found["npu:array=8", "program add.mlir"]["outcome"] == "passed"
    wrong = found["npu:array=1", "program add.mlir"]
    assert wrong["outcome"] == "failed"
    assert wrong["message"].startswith(
        "@main, output 0: snr 6.02 dB (allowed: snr=40), index (0, 0)"
    )
    assert found["npu", "faults in calls"]["outcome"] == "not tried"
    assert main(["nobody"]) == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["examplejson", "ccompiler", "cblas"])
def test_our_own(name: str, tmp_path: Path) -> None:
    """No check fails of a backend that comes with Inarch."""
    if (status := BACKENDS[name].status()) != "ready":
        pytest.skip(status)
    check_backend(name, count=3, folder=tmp_path / "failures").require()


def test_what_was_not_tried_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """No program of its op, one of its patterns that nobody draws: lines, a count, and no success."""

    def taken_by_none(*_: object, **__: object) -> Outcome:
        return Outcome(done=2)

    monkeypatch.setattr("inarch.testing.backend.check.check_random", taken_by_none)
    odd = named("odd", op("softmax", any_()))
    with BACKENDS.scope():
        BACKENDS.register(Backend("never", "", EMIT, ("relu",), (odd,), lambda _: "never"))
        report = check_backend("never", count=2)
    assert (report.passed, report.failed) == (False, ())
    advice = "give programs that have, with --program"
    assert [one.text for one in report.checks] == [
        f"not tried never: random programs: none of 2 had a part for it; {advice}",
        f"not tried never: reached: no program had odd, graph.relu; {advice} (none can be drawn from "
        "pattern odd, for graph.softmax)",
        *(
            f"not tried never: {name}: no program has a part for it; {advice}"
            for name in ("called again", "saved, loaded, pickled", "threads", *FAULTS)
        ),
    ]
    assert report.summary == "0 of 8 checks failed, 8 not tried"
    with pytest.raises(AssertionError, match=r"not tried never: random programs"):
        report.require()


def test_programs_are_drawn_from_patterns() -> None:
    """Quantized layers, by scales and zero points of all and of an axis, which chance alone does not make."""
    axes: set[object] = set()
    matched: Counter[str] = Counter()

    def where(match: Match) -> None:
        first = next(each for each in match.ops if each.name == "graph.dequantize")
        axes.add(str(first.properties.get("axis")))

    with BACKENDS.scope():
        patterns = tuple(replace(one, where=where) for one in PATTERNS)
        BACKENDS.register(Backend("units", "", EMIT, patterns=patterns))
        for one in samples(BACKENDS["units"].configure(), 0, 24, []):
            matched.update(one.taken)
    assert set(matched) == {"conv", "matmul", "add", "pool"}
    assert sum(matched.values()) >= 24
    assert {"None", "0 : i64", "1 : i64"} <= axes


def test_a_backend_that_no_program_reaches(sample: tuple[Engine, Sample]) -> None:
    """It is no success."""
    _, one = sample
    own = samples(one.instance, 0, 0, [])
    assert own == []
    assert set(STEPS) >= {name.removeprefix("graph.") for name in one.taken}
    with pytest.raises(SkipCheck, match=r"^it emits C, which no loader of its own runs$"):
        FAULTS["damaged parts"](BACKENDS["ccompiler"].configure(), one)
