"""What `benchmarks/reductions` has: each sum by a kernel made for it, and the result by definition."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from inarch.dialects import new_context
from inarch.driver.compiler import import_model
from inarch.driver.options import Options
from inarch.ir.report.facts import facts_of
from inarch.ir.text import parse_module
from inarch.machine.target import native
from inarch.passes.tensorize.report import KernelReport
from inarch.pipeline.default import default_pipeline
from inarch.testing import execute, execute_compiled, random_inputs

FILES = [
    path
    for path in sorted((Path(__file__).parents[3] / "benchmarks" / "reductions").glob("*.mlir"))
    if not path.stem.startswith("argmax")  # two outputs: `test_arg_reduce.py`
]


def test_there_are_some() -> None:
    """Softmax and layer norm of BERT, and reductions along the last axis."""
    assert {"softmax_bert", "layer_norm_bert", "sum", "max"} <= {path.stem for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_is_done_by_kernels_and_is_right(path: Path) -> None:
    """Every nest that reduces is taken by a template."""
    context = new_context()
    module = parse_module(context, path.read_text())
    inputs = random_inputs(module, seed=0)
    (expected,) = execute(module, inputs, context)
    context = new_context()
    lowered = import_model(parse_module(context, path.read_text()), context, Options())
    for one in default_pipeline():
        one.apply(context, lowered)
        if one.name == "tensorize":
            break
    report = facts_of(context).take(KernelReport)
    assert report is not None
    reductions = [nest for nest in report.nests if nest.reduces]
    assert reductions
    if native().vector_bytes:
        assert all(nest.taken is not None for nest in reductions), str(report)
    (found,) = execute_compiled(lowered, inputs, context)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=2e-5)
