"""Inarch over ONNX's own backend tests: scores per category, and the gate `expected.txt`.

    python tests/conformance/suite.py                      # all cases, against expected.txt
    python tests/conformance/suite.py resize '^test_cast'  # those whose name matches
    python tests/conformance/suite.py --update             # what passes becomes what is expected

Every case is compiled and run in this process: a crash would end it, which counts as a failure.
Outcomes: pass, wrong (it ran, and an output differs), unsupported (UnsupportedError), error (all
else). Leaves with 1 when a case of expected.txt does not pass, or anything is wrong or an error.
"""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.case.test_case import TestCase
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner

from inarch.errors import InarchError, UnsupportedError
from inarch.onnx_backend import InarchBackend

EXPECTED = Path(__file__).with_name("expected.txt")

KINDS = ("node", "simple", "pytorch-operator", "pytorch-converted")
"""What ONNX ships with its data. (`real` needs downloads.)"""

RANDOM = re.compile(r"^test_(bernoulli|training_dropout|random)")
"""Cases that expect the random numbers of NumPy: none passes but by chance."""


@dataclass(frozen=True)
class Case:
    """One model with its data: each set is the inputs and the outputs that they must give."""

    name: str
    category: str
    test: TestCase

    def model(self) -> onnx.ModelProto:
        if self.test.model is not None:
            return self.test.model
        data = (Path(self.test.model_dir or "") / "model.onnx").read_bytes()
        return onnx.ModelProto.FromString(data)

    def data(self) -> Iterator[tuple[list[Any], list[Any]]]:
        if self.test.data_sets is not None:
            for inputs, outputs in self.test.data_sets:
                yield [_array(value) for value in inputs], [_array(value) for value in outputs]
            return
        graph = self.model().graph
        for folder in sorted(Path(self.test.model_dir or "").glob("test_data_set_*")):
            yield _read(folder, "input", graph.input), _read(folder, "output", graph.output)


@dataclass(frozen=True)
class Outcome:
    """What became of a case, and why."""

    kind: str
    reason: str = ""


def cases() -> list[Case]:
    """All cases, by name; those that expect random numbers are left out."""
    found: list[Case] = []
    for kind in KINDS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the generators of cases
            tests = load_model_tests(kind=kind)
        for test in tests:
            category = "node-expanded" if "_expanded" in test.name else kind
            found.append(Case(test.name, category, test))
    return sorted((case for case in found if not RANDOM.match(case.name)), key=lambda c: c.name)


def run(case: Case) -> Outcome:
    """Compiles and runs one case and compares its outputs as ONNX's runner does."""
    try:
        rep = InarchBackend.prepare(case.model())
        results = [(rep.run(inputs), expected) for inputs, expected in case.data()]
    except UnsupportedError as error:
        return Outcome("unsupported", str(error))
    except InarchError as error:
        return Outcome("error", error.line())
    except Exception as error:  # noqa: BLE001 - any other is a bug that this is here to find
        return Outcome("error", f"{type(error).__name__}: {error}")
    for found, expected in results:
        try:
            Runner.assert_similar_outputs(expected, found, case.test.rtol, case.test.atol)
        except AssertionError as error:
            return Outcome("wrong", " ".join(str(error).split()))
    return Outcome("pass")


def expected() -> list[str]:
    """The names of the cases that must pass."""
    return EXPECTED.read_text().split()


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; see the module's docstring."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "patterns", nargs="*", help="regular expressions that names are searched for"
    )
    parser.add_argument("--update", action="store_true", help="rewrite expected.txt")
    options = parser.parse_args(arguments)
    chosen = [
        case
        for case in cases()
        if not options.patterns or any(re.search(p, case.name) for p in options.patterns)
    ]
    outcomes: dict[str, Outcome] = {}
    scores: dict[str, Counter[str]] = {}
    must = set(expected()) if EXPECTED.exists() else set[str]()
    bad = 0
    for case in chosen:
        outcome = outcomes[case.name] = run(case)
        scores.setdefault(case.category, Counter())[outcome.kind] += 1
        is_bad = outcome.kind in ("wrong", "error") or (
            outcome.kind != "pass" and case.name in must
        )
        bad += is_bad
        if is_bad or (options.patterns and outcome.kind != "pass"):
            print(f"{outcome.kind:12}{case.name}  {outcome.reason[:200]}", flush=True)
    for category, score in sorted(scores.items()):
        counts = ", ".join(f"{number} {kind}" for kind, number in sorted(score.items()))
        print(f"{category:18}{counts}")
    passed = {name for name, outcome in outcomes.items() if outcome.kind == "pass"}
    if options.update:
        kept = passed | {name for name in must if name not in outcomes}
        EXPECTED.write_text("".join(f"{name}\n" for name in sorted(kept)))
    print(
        f"{len(passed)} of {len(outcomes)} pass; {len(passed - must)} more than expected; {bad} bad"
    )
    return 1 if bad else 0


def _array(value: Any) -> Any:
    """Tensors as arrays, as deep as sequences go."""
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    if isinstance(value, list | tuple):
        return [_array(item) for item in cast("Sequence[Any]", value)]
    return np.asarray(cast("Any", value)) if isinstance(value, np.generic) else value


def _read(folder: Path, what: str, infos: Sequence[onnx.ValueInfoProto]) -> list[Any]:
    """The data of a case that is in files; there may be fewer inputs than the graph has."""
    found: list[Any] = []
    for index, info in enumerate(infos):
        path = folder / f"{what}_{index}.pb"
        if not path.exists():
            break
        found.append(_value(path.read_bytes(), info.type))
    return found


def _value(data: bytes, kind: onnx.TypeProto) -> Any:
    if kind.HasField("sequence_type"):
        return numpy_helper.to_list(onnx.SequenceProto.FromString(data))
    if kind.HasField("optional_type"):
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(data))
    return numpy_helper.to_array(onnx.TensorProto.FromString(data))


if __name__ == "__main__":
    sys.exit(main())
