"""One model in all its forms: on several targets, by one thread and several, of all its values and of few.

What is `sure` has one right answer, which each form must give bit by bit. Sums and functions have several:
each form must be within the stated error (`inarch.definitions`), which then explains where two of them differ
in a sign, in NaN or in the order of neighbours. Several models are one library, so that the C compiler runs
once for many, and optimizes little: more changes no nest and no line of C, and takes twice the time.
"""

# Onnx is untyped:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from inarch.core.errors import InarchError
from inarch.core.once import cached_property
from inarch.definitions.compare import difference_of
from inarch.definitions.expected import Expected, expected_of
from inarch.dialects import new_context
from inarch.frontends.onnx import import_onnx
from inarch.machine.target import parse
from inarch.testing.generate.check.compiled import Compiled, compile_programs
from inarch.testing.generate.inputs import has_specials
from inarch.testing.generate.program import GeneratedProgram, program_of
from inarch.testing.onnx_graphs.compare import sizes_of
from inarch.testing.onnx_graphs.drawing import Array, Case, model_of, taken_by

TARGETS = ("x86-64-v2", "native", "x86-64-v4-on-v3")
"""Vectors of 16 bytes, those of this machine, and of 64 bytes."""
FLAGS = ("-O1", "-fexpensive-optimizations")
"""The second one: there gcc makes one operation of a product and a sum (FMA), where it may."""
ULPS = 4
"""Of the evaluator's number: what is nearer is right, and what is not is asked of the definitions."""


@dataclass(frozen=True)
class Finding:
    """A model of which one form is wrong."""

    case: Case
    message: str


@dataclass
class Tally:
    """What was compared."""

    values: int = 0
    sure: int = 0
    asked: int = 0
    """Models whose bounds were computed."""
    explained: Counter[str] = field(default_factory=Counter[str])
    """Operators -> models in which their sign, NaN or order is another by target, within the stated error."""


@dataclass
class _Forms:
    """A model, with all of its values as outputs, and with few."""

    case: Case

    @cached_property
    def few(self) -> list[str]:
        """The value that most nodes are behind; of every second model those that no node takes."""
        nodes = self.case.model.graph.node
        behind: dict[str, set[int]] = {}
        for number, node in enumerate(_in_order(nodes)):
            own = {number}.union(*(behind.get(name, set()) for name in taken_by(node)))
            behind |= dict.fromkeys(node.output, own)
        taken = {name for node in nodes for name in taken_by(node)}
        ends = [name for name in self.case.expected if name not in taken]
        if self.case.seed % 2:
            return ends
        return [max(ends, key=lambda name: len(behind[name]))]

    def program(self, names: Sequence[str]) -> GeneratedProgram:
        """With these outputs. Raises InarchError where it is refused."""
        model = _with_outputs(self.case.model, names)
        context = new_context()
        module = import_onnx(model, context, sizes_of(self.case))
        made = replace(program_of("graph", context, module), index=self.case.seed // 2)
        return made.as_stated() if has_specials(self.case.inputs.values()) else made

    @cached_property
    def programs(self) -> tuple[GeneratedProgram, GeneratedProgram]:
        """Of all values, and of few."""
        return self.program(list(self.case.expected)), self.program(self.few)

    @cached_property
    def bounds(self) -> dict[str, Expected]:
        """What is right of each value, by definition. Raises AssertionError, InarchError."""
        context, module = self.programs[0].parse()
        with np.errstate(all="ignore"):
            found = expected_of(context, module, list(self.case.inputs.values()))
        return dict(zip(self.case.expected, found, strict=True))


def _in_order(nodes: Sequence[Any]) -> list[Any]:
    """By the numbers of their results, which count up: each behind what it takes."""
    return sorted(nodes, key=lambda node: int(node.output[0].removeprefix("v")))


def _with_outputs(model: Any, names: Sequence[str]) -> Any:
    from onnx import ModelProto

    made = ModelProto()
    made.CopyFrom(model)
    kept = [output for output in made.graph.output if output.name in names]
    del made.graph.output[:]
    made.graph.output.extend(kept)
    return made


def runnable() -> list[str]:
    """Those of `TARGETS` that this machine runs."""
    return [name for name in TARGETS if not parse(name).missing_here()]


def check_across(
    cases: Sequence[Case],
    targets: Sequence[str] | None = None,
    flags: Sequence[str] = FLAGS,
    tally: Tally | None = None,
) -> list[Finding]:
    """Compiles the models together for each target (None: `runnable`), and compares all their forms."""
    found: list[Finding] = []
    forms: list[_Forms] = []
    for case in cases:
        one = _Forms(case)
        try:
            _ = one.programs
        except Exception as error:  # noqa: BLE001 - whatever an importer raises is looked for
            found.append(Finding(case, f"import: {_said(error)}"))
            continue
        forms.append(one)
    results: dict[int, dict[str, dict[str, Array]]] = {}
    for target in targets or runnable():
        found += _run(forms, target, flags, results)
    for number, one in enumerate(forms):
        message = _compare(one, results.get(number, {}), tally or Tally())
        if message:
            found.append(Finding(one.case, message))
    return found


def _said(error: Exception) -> str:
    text = error.line() if isinstance(error, InarchError) else f"{type(error).__name__}: {error}"
    return " ".join(text.split())[:400]


def _run(
    forms: Sequence[_Forms],
    target: str,
    flags: Sequence[str],
    results: dict[int, dict[str, dict[str, Array]]],
    first: int = 0,
) -> list[Finding]:
    """Fills in the results by number of the model and by form: of halves, where all together fail."""
    if not forms:
        return []
    try:
        compiled = compile_programs([each for one in forms for each in one.programs], target, flags)
    except Exception as error:  # noqa: BLE001 - whatever a pass raises is looked for
        if len(forms) == 1:
            return [Finding(forms[0].case, f"compile: {target}: {_said(error)}")]
        half = len(forms) // 2
        return [
            *_run(forms[:half], target, flags, results, first),
            *_run(forms[half:], target, flags, results, first + half),
        ]
    found: list[Finding] = []
    for number, one in enumerate(forms):
        try:
            own = results.setdefault(first + number, {})
            own[f"{target}, all"] = _call(compiled, one, 2 * number, list(one.case.expected))
            own[f"{target}, few"] = _call(compiled, one, 2 * number + 1, one.few)
        except InarchError as error:  # written beyond an array; other bits by several threads
            found.append(Finding(one.case, f"run: {target}: {_said(error)}"))
    return found


def _call(compiled: Compiled, one: _Forms, number: int, names: Sequence[str]) -> dict[str, Array]:
    arrays = list(one.case.inputs.values())
    outputs = compiled.call(f"p{number}_main", arrays)
    expected = one.case.expected
    return {
        name: array.view(expected[name].dtype).reshape(expected[name].shape)
        for name, array in zip(names, outputs, strict=True)
    }


def _compare(one: _Forms, forms: Mapping[str, Mapping[str, Array]], tally: Tally) -> str:
    """What is wrong with some form, in a line: the first value, in the order of the nodes."""
    maker = {name: node.op_type for node in one.case.model.graph.node for name in node.output}
    asked = False
    for name, expected in one.case.expected.items():
        is_sure = name in one.case.sure
        tally.values += 1
        tally.sure += is_sure
        own = {form: values[name] for form, values in forms.items() if name in values}
        for form, array in own.items():
            if is_sure and (said := _other_bits(expected, array)):
                return f"{maker[name]} '{name}' on {form}: {said}"
            if is_sure or _is_near(expected, array):
                continue
            try:
                said = difference_of(one.bounds[name], array)
            except Exception as error:  # noqa: BLE001 - a definition that fails is a finding
                return f"definition: {_said(error)}"
            if said is not None:
                return f"{maker[name]} '{name}' on {form}{said}"
            asked = True
        if not is_sure and _is_other_in_kind(list(own.values())):
            tally.explained[maker[name]] += 1
    tally.asked += asked
    return ""


def _other_bits(expected: Array, found: Array) -> str:
    """Where a number is not the one that is right; NaN is NaN, and 0 is 0."""
    right = found == expected
    if expected.dtype.kind == "f":
        right |= np.isnan(found) & np.isnan(expected)
    if right.all():
        return ""
    at = tuple(int(i) for i in np.argwhere(~right)[0])
    count = f"{int((~right).sum())} of {right.size}"
    return f"at {at} expected exactly {expected[at]!r}, found {found[at]!r} ({count})"


def _is_near(expected: Array, found: Array) -> bool:
    if expected.dtype.kind != "f":
        return bool(np.array_equal(expected, found))
    with np.errstate(all="ignore"):
        near = np.abs(found - expected) <= ULPS * np.finfo(expected.dtype).eps * np.abs(expected)
        return bool((near | (found == expected) | (np.isnan(found) & np.isnan(expected))).all())


def _is_other_in_kind(arrays: Sequence[Array]) -> bool:
    """Whether two differ in a sign, in NaN, or in which of two neighbours is the greater one."""
    first, *others = arrays or [np.zeros(0)]
    if first.dtype.kind != "f":
        return any(not np.array_equal(first, each) for each in others)
    with np.errstate(all="ignore"):
        kinds = [
            np.concatenate([np.sign(flat), np.sign(np.diff(flat))])
            for flat in (each.ravel() for each in arrays)
        ]
    return any(not np.array_equal(kinds[0], each, equal_nan=True) for each in kinds[1:])


# ------------------------------------------------------------------------------------ made smaller


def smaller(
    finding: Finding, targets: Sequence[str] | None, flags: Sequence[str], seconds: float
) -> Finding:
    """The finding with a smaller model, found within `seconds`."""
    end, best = time.monotonic() + seconds, finding
    changed = True
    while changed:
        changed = False
        for candidate in _smaller_ones(best.case):
            if time.monotonic() > end:
                return best
            found = check_across([candidate], targets, flags)
            if found:
                best, changed = found[0], True
                break
    return best


def _smaller_ones(case: Case) -> Iterator[Case]:
    """With the first nodes only; and without one of them, whose results become inputs."""
    nodes = list(case.model.graph.node)
    has_bodies = any(part.HasField("g") for node in nodes for part in node.attribute)
    cuts = [nodes[:end] for end in range(1, len(nodes))]
    if not has_bodies:  # what a body takes from around it is in no list of inputs
        cuts += [[*nodes[:at], *nodes[at + 1 :]] for at in range(len(nodes))]
    for kept in cuts:
        if kept and (made := _of_nodes(case, kept)) is not None:
            yield made


def _of_nodes(case: Case, nodes: Sequence[Any]) -> Case | None:
    """The model of some of the nodes; None where one takes what nobody knows."""
    from onnx import numpy_helper

    graph = case.model.graph
    constants = {one.name: np.asarray(numpy_helper.to_array(one)) for one in graph.initializer}
    known = {**constants, **case.inputs, **case.expected}
    made = [name for node in nodes for name in node.output if name in case.expected]
    used = {name for node in nodes for name in taken_by(node)}
    if not made or not used <= {*known}:
        return None
    fixed = {name: value for name, value in constants.items() if name in used}
    free = {name: known[name] for name in known if name in used - {*made, *fixed}}
    expected = {name: case.expected[name] for name in made}
    model = model_of(nodes, free, made, fixed, case.model.opset_import[0].version, known)
    return replace(case, model=model, inputs=free, expected=expected, sure=case.sure & {*made})
