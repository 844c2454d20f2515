"""Failures are of the class that onnxruntime has for them: of runs, and of bound runs."""

# Onnxruntime is untyped:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false
from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime as theirs
import pytest

import inarch.compat.onnxruntime as ours
from inarch.testing.onnxruntime_calls.compare import outcome_of
from inarch.testing.onnxruntime_calls.failures import FAILURES
from inarch.testing.onnxruntime_calls.steps import State

theirs.set_default_logger_severity(4)


@pytest.mark.sampled(20, reason="each is a check of another operator")
@pytest.mark.parametrize("name", FAILURES)
def test_a_run_fails_with_the_same_class(name: str) -> None:
    step = FAILURES[name].step()
    mine, real = (outcome_of(step, State(library)) for library in (ours, theirs))
    assert mine.error == real.error, f"{mine.text}; onnxruntime: {real.text}"
    assert bool(mine.error) == (name != "division by 0")


def test_a_bound_run_that_fails_is_told_as_there() -> None:
    """Also where it is one call, whose checks are in C."""
    case = FAILURES["an index"]
    for library in (ours, theirs):
        session: Any = library.InferenceSession(case.model, providers=["CPUExecutionProvider"])
        bound, y = session.io_binding(), np.zeros(2, np.float32)
        index = np.array([0, 1])
        bound.bind_cpu_input("a", case.inputs["a"])
        bound.bind_input("b", "cpu", 0, np.int64, [2], index.ctypes.data)
        bound.bind_output("y", "cpu", 0, np.float32, [2], y.ctypes.data)
        session.run_with_iobinding(bound)
        assert y.tolist() == [1, 1]
        index[1] = 7
        with pytest.raises(RuntimeError, match="Error in execution: "):
            session.run_with_iobinding(bound)
