"""Runs random calls with both libraries: `python -m inarch.testing.onnxruntime_calls --seed 3 --count 20`."""

# Onnx and onnxruntime are untyped:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false
from __future__ import annotations

import argparse
import logging
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from inarch.core.scratch import scratch
from inarch.testing.onnx_graphs.drawing import Refused
from inarch.testing.onnx_graphs.nodes import graph
from inarch.testing.onnxruntime_calls.compare import difference, outcome_of
from inarch.testing.onnxruntime_calls.given import Subject
from inarch.testing.onnxruntime_calls.steps import Drawing, State
from inarch.testing.seeds import Search, add_seeds

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
            # onnxruntime ends the process where a name is bound again after a fault
            for at in states:
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
    add_seeds(parser, count=10)
    parser.add_argument("--calls", type=int, default=CALLS, help=f"of each ({CALLS})")
    asked = parser.parse_args(words)
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    logging.getLogger("inarch").setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    search = Search(asked)
    with scratch("inarch-calls-") as folder:
        for (seed,) in search.seeds():
            for message in check(seed, folder, asked.calls):
                search.found(message, seed=seed, message=message)
    return search.end(f"{search.tried} models, {len(search.findings)} calls differ")


if __name__ == "__main__":
    sys.exit(main())
