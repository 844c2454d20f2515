"""Runs random calls with both libraries: `python -m inarch.testing.onnxruntime_calls --seed 3 --count 20`."""

# Onnx and onnxruntime are untyped:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false
from __future__ import annotations

import argparse
import json
import logging
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from inarch.testing.onnx_graphs.drawing import Refused
from inarch.testing.onnx_graphs.nodes import graph
from inarch.testing.onnxruntime_calls.compare import difference, outcome_of
from inarch.testing.onnxruntime_calls.steps import Drawing, State, Subject

CALLS = 60
"""Of a model, whose code is compiled once."""


def check(seed: int, folder: Path, calls: int = CALLS) -> list[str]:
    """What differs between the libraries, a line each."""
    import onnxruntime as theirs

    from inarch.compat import onnxruntime as ours

    rng = np.random.default_rng(seed)
    try:
        case = graph(seed)
    except Refused:
        return []
    path = folder / f"{seed}.onnx"
    defaults = _varied(rng, case.model)
    path.write_bytes(case.model.SerializeToString())
    subject = Subject(path, case.inputs, defaults, case.expected)
    drawing = Drawing(rng, subject)
    states = (State(ours), State(theirs))
    opened = [outcome_of(lambda at: _open(at, path), at) for at in states]
    first = [outcome_of(lambda at: at.session.run(None, case.inputs), at) for at in states]
    if any(one.error for one in opened) or difference(*first):
        return []  # `inarch.testing.onnx_graphs` compares numbers
    found: list[str] = []
    for number in range(calls):
        what, step = drawing.step()
        mine, real = (outcome_of(step, at) for at in states)
        if what.startswith("binding") and (mine.error or real.error):
            for (
                at
            ) in states:  # onnxruntime ends the process where a name is bound again after a fault
                at.binding, at.ran = None, False
        if said := difference(mine, real):
            found.append(f"{seed}, call {number}: {what}: {said}")
            for at in states:  # one fault is not told by each call after it
                _open(at, path)
    return found


def _varied(rng: np.random.Generator, model: Any) -> dict[str, Any]:
    """Gives a model names, an open size, and overridable initializers, which are given back."""
    from onnx import helper, numpy_helper

    graph_of = model.graph
    if rng.random() < 0.5:
        model.producer_name, model.doc_string, model.model_version = "p", "d", 3
        helper.set_model_props(model, {"key": "value", "": "nothing"})
    if rng.random() < 0.3 and graph_of.input:
        dims = graph_of.input[int(rng.integers(len(graph_of.input)))].type.tensor_type.shape.dim
        if dims:
            dims[int(rng.integers(len(dims)))].dim_param = "n"
    named = {info.name for info in graph_of.input}
    every = [proto for proto in graph_of.initializer if proto.name not in named]
    if rng.random() > 0.3 or not every:
        return {}
    proto = every[int(rng.integers(len(every)))]
    array = numpy_helper.to_array(proto)
    info = helper.make_tensor_value_info(proto.name, proto.data_type, array.shape)
    graph_of.input.append(info)
    return {proto.name: array}


def _open(at: State, path: Path) -> None:
    at.session, at.binding, at.values = at.library.InferenceSession(path), None, []
    at.ran = False


def main(words: Sequence[str] | None = None) -> int:
    """Prints each difference."""
    parser = argparse.ArgumentParser(
        prog="python -m inarch.testing.onnxruntime_calls", description=__doc__
    )
    add = parser.add_argument
    add("--seed", type=int, default=0, help="of the first model (0)")
    add("--run", type=int, default=0, help="skip as many runs (0)")
    add("--count", type=int, default=10, help="how many models (10)")
    add("--calls", type=int, default=CALLS, help=f"of each ({CALLS})")
    add("--seconds", type=float, default=float("inf"), help="stop after as many")
    add("--json", action="store_true", help="print the findings as JSON at the end")
    asked = parser.parse_args(words)
    begin, first = time.monotonic(), asked.seed + asked.run * asked.count
    findings: list[dict[str, Any]] = []
    tried = 0
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    logging.getLogger("inarch").setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory(prefix="inarch-calls-") as folder:
        for seed in range(first, first + asked.count):
            if time.monotonic() - begin > asked.seconds:
                break
            tried += 1
            for message in check(seed, Path(folder), asked.calls):
                findings.append({"seed": seed, "message": message})
                if not asked.json:
                    sys.stdout.write(f"{message}\n")
                    sys.stdout.flush()
    line = f"{tried} models, {len(findings)} calls differ"
    told = {"graphs": tried, "findings": findings}
    sys.stdout.write((json.dumps(told) if asked.json else line) + "\n")
    return int(bool(findings))


if __name__ == "__main__":
    sys.exit(main())
