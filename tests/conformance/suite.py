"""Inarch over ONNX's own backend tests: scores per category, and the gate `expected.txt`.

    python tests/conformance/suite.py --all                # all cases, against expected.txt
    python tests/conformance/suite.py --families           # few that hold each family of operators: the gate
    python tests/conformance/suite.py --part 7             # the seventh twentieth of all (0 to 19)
    python tests/conformance/suite.py resize '^test_cast'  # those whose name matches
    python tests/conformance/suite.py --all --update       # what passes becomes what is expected

Each case is compiled and run in a process of its own kind: one that crashes or hangs costs itself only.
Outcomes:

- pass: the compiled model does it, with whatever values its inputs have;
- sized: it does, where values of some inputs decide shapes: sizes, read at the call and compiled for;
- wrong: it ran, and an output differs;
- unsupported (UnsupportedError), error (all else), crash, timeout.

Leaves with 1 when a case is not what expected.txt says, or is wrong, an error, a crash or a timeout. One that
does more than it should is to be written down (--update), so that it is held.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import re
import sys
import time
import warnings
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
from cover import cover, families, family_of_operator, features
from onnx import numpy_helper
from onnx.backend.test.case.test_case import TestCase
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner
from pool import Lost, run_all

from inarch.core.errors import InarchError, UnsupportedError
from inarch.frontends.onnx.graph import FIRST_OPSET
from inarch.onnx_backend import InarchBackend

EXPECTED = Path(__file__).with_name("expected.txt")

KINDS = ("node", "simple", "pytorch-operator", "pytorch-converted", "real")
"""What ONNX ships with its data; of the real networks those with light weights (`real-light`)."""

PARTS = 20
LIMIT_S = 900.0

LIGHT = "onnx/backend/test/data/light/"

_DONE = ("pass", "sized")

RANDOM = re.compile(r"^test_(bernoulli|training_dropout|random)")
"""Cases that expect the random numbers of NumPy: none passes but by chance."""


CORRECTED = re.compile(
    r"^test_(averagepool_3d_dilations_large_count_include_pad_is_1_ceil_mode_is_True"
    r"|qlinearmatmul_[23]D_int8_float32)$"
)
"""Cases whose data are right in onnx 1.23 and wrong in 1.16: left out below 1.23."""


NOISE = re.compile(r"^test_(dft_inverse(_opset19)?|attention_4d_causal_fp16(_expanded)?)$")
"""Cases that expect the rounding errors of another algorithm: 1.9e-7 for what is 0, to within 1e-7; sums in
f16, which are 1.4 ulps off, ours 1.1."""


@dataclass(frozen=True)
class Case:
    """One model with its data: each set is the inputs and the outputs that they must give."""

    name: str
    category: str
    test: TestCase

    def model(self) -> onnx.ModelProto:
        if self.test.model is not None:
            return self.test.model
        return onnx.ModelProto.FromString(self.file().read_bytes())

    def file(self) -> Path:
        """Where the model is, of those that are in files."""
        if self.category == "real-light":
            return Path(onnx.__file__).parents[1] / str(self.test.url)
        return Path(self.test.model_dir or "") / "model.onnx"

    def opset(self) -> int:
        """The version of ONNX's operators that the model imports; of none the first that is read."""
        sets = [one.version for one in self.model().opset_import if one.domain in ("", "ai.onnx")]
        return max(sets, default=FIRST_OPSET)

    def data(self) -> Iterator[tuple[list[Any], list[Any]]]:
        if self.category == "real-light":
            yield _light_data(self.model(), self.file())
            return
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
    """All cases, by name; those that expect random numbers, noise, or wrong ones, are left out."""
    is_old = tuple(int(part) for part in onnx.__version__.split(".")[:2]) < (1, 23)
    found: list[Case] = []
    for kind in KINDS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the generators of cases
            tests = load_model_tests(kind=kind)
        for test in tests:
            if kind == "real" and not (test.url or "").startswith(LIGHT):
                continue  # it would be downloaded
            if (
                RANDOM.match(test.name)
                or NOISE.match(test.name)
                or (is_old and CORRECTED.match(test.name))
            ):
                continue
            category = "node-expanded" if "_expanded" in test.name else kind
            found.append(Case(test.name, "real-light" if kind == "real" else category, test))
    return sorted(found, key=lambda case: case.name)


def run(case: Case) -> Outcome:
    """Compiles and runs one case and compares its outputs as ONNX's runner does."""
    logging.getLogger("inarch").setLevel(logging.ERROR)  # that sizes are open is no news here
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
    if rep.deciding:
        return Outcome("sized", f"by the values of {', '.join(rep.deciding)}")
    return Outcome("pass")


def expected() -> dict[str, str]:
    """What each case of the gate must give: `pass` or `sized`."""
    lines = [line.split() for line in EXPECTED.read_text().splitlines()]
    return {name: kind[0] if kind else "pass" for name, *kind in lines}


def part_of(case: Case) -> int:
    """The part that a case is in, whatever other cases there are."""
    return zlib.crc32(case.name.encode()) % PARTS


def of_each_family(known: Sequence[Case], must: Mapping[str, str]) -> tuple[list[Case], set[str]]:
    """Few of the expected cases that together hold each family of operators, and the families of none.

    The same on each machine: they follow from the version of onnx and from expected.txt alone. Of cases that
    add equally many families it is one that passes, then the one with most attributes.
    """
    able = {
        case.name: case
        for case in known
        if case.name in must and case.category != "real-light" and case.opset() >= FIRST_OPSET
    }
    models = {name: case.model() for name, case in able.items()}

    def rank(name: str) -> tuple[bool, int]:
        return must[name] == "pass", len(features(models[name]))

    chosen = cover(models, families, rank)
    held = set[str]().union(*(families(models[name]) for name in chosen))
    return [able[name] for name in chosen], set(family_of_operator().values()) - held


def is_bad(case: Case, outcome: Outcome, must: Mapping[str, str]) -> bool:
    """Whether the gate is shut by it."""
    if outcome.kind not in (*_DONE, "unsupported"):
        return True
    is_other = outcome.kind != must.get(case.name, "unsupported")
    # Older releases of onnx have some cases in operator sets that nobody reads any more.
    return is_other and (case.opset() >= FIRST_OPSET or outcome.kind != "unsupported")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; see the module's docstring."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "patterns", nargs="*", help="regular expressions that names are searched for"
    )
    parser.add_argument("--all", action="store_true", help="all cases")
    parser.add_argument("--families", action="store_true", help="few that hold each family")
    parser.add_argument("--part", type=int, choices=range(PARTS), help="a twentieth of the cases")
    parser.add_argument("--update", action="store_true", help="rewrite expected.txt")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--report", type=Path, metavar="FILE", help="a JSON line for each case")
    options = parser.parse_args(arguments)
    if bool(options.patterns) + options.all + options.families + (options.part is not None) != 1:
        parser.error("expected one of --all, --families, --part or patterns")
    chosen = cases()
    if options.families:
        chosen, without = of_each_family(chosen, expected())
        print(f"{len(chosen)} cases; no case is expected of: {', '.join(sorted(without)) or '-'}")
        if not chosen:
            raise SystemExit(f"error: expected cases of onnx {onnx.__version__}, found none")
    elif options.part is not None:
        chosen = [case for case in chosen if part_of(case) == options.part]
    elif options.patterns:
        chosen = [c for c in chosen if any(re.search(p, c.name) for p in options.patterns)]
    told = options.report
    return report(
        chosen, options.jobs, update=options.update, verbose=bool(options.patterns), told=told
    )


def report(
    chosen: Sequence[Case], jobs: int, *, update: bool, verbose: bool, told: Path | None = None
) -> int:
    """Runs cases, prints what is bad and the scores, says with what to leave; `told` is read by the gate."""
    start = time.monotonic()
    outcomes: dict[str, Outcome] = {}
    scores: dict[str, Counter[str]] = {}
    must = expected() if EXPECTED.exists() else dict[str, str]()
    bad: list[str] = []
    for case, result in run_all(run, chosen, jobs, LIMIT_S):
        outcome = Outcome(result.kind, result.reason) if isinstance(result, Lost) else result
        outcomes[case.name] = outcome
        scores.setdefault(case.category, Counter())[outcome.kind] += 1
        if is_bad(case, outcome, must) and not (update and outcome.kind in _DONE):
            bad.append(case.name)
        if told is not None:
            verdict = "failed" if case.name in bad else "passed"
            text = f"{outcome.kind}: {outcome.reason}" if case.name in bad else ""
            with told.open("a") as file:
                line = {"name": case.name, "outcome": verdict, "cpu": 0.0, "text": text}
                file.write(json.dumps(line) + "\n")
        if case.name in bad or outcome.kind == "wrong" or (verbose and outcome.kind != "pass"):
            print(f"{outcome.kind:12}{case.name}  {outcome.reason[:200]}", flush=True)
    for category, score in sorted(scores.items()):
        counts = ", ".join(f"{number} {kind}" for kind, number in sorted(score.items()))
        print(f"{category:18}{counts}")
    kinds = Counter(outcome.kind for outcome in outcomes.values())
    done = {name: one.kind for name, one in outcomes.items() if one.kind in _DONE}
    if update:
        kept = {**{name: kind for name, kind in must.items() if name not in outcomes}, **done}
        lines = (name if kind == "pass" else f"{name} {kind}" for name, kind in kept.items())
        EXPECTED.write_text("".join(f"{line}\n" for line in sorted(lines)))
    better = [name for name in done if name not in must]
    advice = f", of which {len(better)} do more than expected.txt says (--update)" if better else ""
    share = 100 * len(done) / max(1, len(outcomes))
    print(
        f"onnx {onnx.__version__}: {len(done)} of {len(outcomes)} ({share:.1f} %): {kinds['pass']} pass, "
        f"{kinds['sized']} sized; {kinds['wrong']} wrong; {len(bad)} bad{advice}; "
        f"{time.monotonic() - start:.0f} s"
    )
    return 1 if bad else 0


def _light_data(model: onnx.ModelProto, file: Path) -> tuple[list[Any], list[Any]]:
    """As ONNX's runner makes it: rising numbers below 1 as inputs; the outputs are beside the model."""
    constants = {proto.name for proto in model.graph.initializer}
    inputs: list[Any] = []
    for info in model.graph.input:
        if info.name not in constants:
            shape = [dim.dim_value or 1 for dim in info.type.tensor_type.shape.dim]
            count = int(np.prod(shape))
            inputs.append((np.arange(count).reshape(shape) / count).astype(np.float32))
    paths = [file.with_name(f"{file.stem}_output_{i}.pb") for i in range(len(model.graph.output))]
    return inputs, [_array(onnx.TensorProto.FromString(path.read_bytes())) for path in paths]


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
