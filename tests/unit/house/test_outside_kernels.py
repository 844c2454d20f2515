"""What docs/microkernels.md measures: kernels from outside on one tiny layer, and what their calls cost."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "benchmarks" / "outside_kernels.py"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("benchmark_of_outside_kernels", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)  # where dataclasses look their module up
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["8x5x9->12k3s1", "9x20x17"], ids=["conv", "product"])
def test_every_way_computes_the_layer(
    script: ModuleType, capsys: pytest.CaptureFixture[str], shape: str
) -> None:
    """K5, K7: by symbol, rebuilt, embedded as C and through the registry; the script compares them."""
    assert script.main(["--shape", shape, "--rounds", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = [line.split(" | ") for line in lines[4:] if line]
    titles = [row[0].removeprefix("| ") for row in rows]
    wanted = ["Inarch without them", "(a)", "(b)", "(c)", "(c)", "(d)"]
    if importlib.util.find_spec("scipy_openblas32") is None:
        wanted.remove("(b)")
    assert len(titles) == len(wanted)
    assert all(title.startswith(begin) for title, begin in zip(titles, wanted, strict=True))
    assert all(float(row[2]) > 0 for row in rows)


def test_a_layer_that_is_not_there(script: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert script.main(["--layer", "l1.c9"]) == 2
    assert capsys.readouterr().err.startswith("error: no layer 'l1.c9'; did you mean 'l1.c")


@pytest.mark.slow
def test_what_calls_cost_is_measured() -> None:
    """K6: of each path, and the document has the command."""
    command = [sys.executable, str(ROOT / "benchmarks" / "kernel_calls.py")]
    command += ["--calls", "640", "--rounds", "3"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    cost = dict(re.findall(r"^(.+?) +([0-9.]+) ns a call$", done.stdout, re.MULTILINE))
    assert list(cost) == ["inlined", "symbol", "registry, C", "registry, Python"]
    assert float(cost["registry, Python"]) > float(cost["registry, C"]) > 0
    assert "`python benchmarks/kernel_calls.py`" in (ROOT / "docs" / "microkernels.md").read_text()
