"""Generated programs, compiled, against their definition: one finding a program that differs."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from inarch.core.errors import InarchError
from inarch.core.lazy import np
from inarch.definitions.expected import Expected, expected_of
from inarch.definitions.functions import Array, public_functions
from inarch.offload.tolerance import Tolerances
from inarch.testing.generate.check.compiled import Compiled, compile_programs
from inarch.testing.generate.check.offloaded import Offloaded, compile_offloaded
from inarch.testing.generate.check.tolerances import told_apart, tolerances_of
from inarch.testing.generate.inputs import has_specials, inputs
from inarch.testing.generate.program import GeneratedProgram

Say = Callable[[str, int, str], None]
"""Called with what begins (`make`, `define`, `compile`, `run`), the program's index, and the target.

`taken`: a backend has a part of the program.
"""


@dataclass(frozen=True)
class Finding:
    """A program that does not do what it should."""

    kind: str
    """`differs`, `refused` (by the compiler), `definition` (it has none, or two), `crash`, `timeout`."""
    level: str
    seed: int
    index: int
    target: str
    message: str

    def json(self) -> dict[str, Any]:
        """The fields."""
        return asdict(self)


@dataclass(frozen=True)
class Case:
    """A program, its inputs and what it must give, by function."""

    program: GeneratedProgram
    arrays: dict[str, list[Array]]
    expected: dict[str, list[Expected]]


def case_of(program: GeneratedProgram) -> Case:
    """The inputs are those of the program's index. Raises as `expected_of`.

    With special values among them ops are computed as they state, as `expected_of` bounds them.
    """
    context, module = program.parse()
    arrays: dict[str, list[Array]] = {}
    expected: dict[str, list[Expected]] = {}
    for name in public_functions(module):
        arrays[name] = inputs(module, program.index, function=name)
        with np.errstate(all="ignore"):
            expected[name] = expected_of(context, module, arrays[name], name)
    if has_specials(array for each in arrays.values() for array in each):
        program = program.as_stated()
    return Case(program, arrays, expected)


def _describe(error: BaseException) -> str:
    if isinstance(error, InarchError | AssertionError):
        return " ".join(str(error).split())[:600]
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(last.filename).name}:{last.lineno}"
    return f"{type(error).__name__} at {where}: {' '.join(str(error).split())[:400]}"


def _finding(kind: str, program: GeneratedProgram, target: str, message: str) -> Finding:
    seed = program.seed if program.seed is not None else 0
    return Finding(kind, program.level, seed, program.index, target, message)


@dataclass(frozen=True)
class How:
    """How programs are compiled."""

    flags: tuple[str, ...] = ("-O1",)
    """Of the C compiler."""
    backends: tuple[str, ...] = ()
    """They have what they take, the first one first; without any, the host has all."""

    def compile(self, programs: Sequence[GeneratedProgram], target: str) -> Compiled | Offloaded:
        """All programs in one library. Raises whatever a pass, the emitter or a backend raises."""
        if self.backends:
            return compile_offloaded(programs, target, self.backends, self.flags)
        return compile_programs(programs, target, self.flags)


def check_cases(cases: Sequence[Case], target: str, how: How, say: Say) -> list[Finding]:
    """Compiles all cases together, or one by one where that fails, and compares each."""
    if not cases:
        return []
    say("compile", cases[0].program.index, target)
    try:
        compiled = how.compile([case.program for case in cases], target)
    except Exception as error:  # noqa: BLE001 - whatever a pass raises is what is looked for
        if len(cases) == 1:
            return [_finding("refused", cases[0].program, target, _describe(error))]
        half = len(cases) // 2
        return [
            *check_cases(cases[:half], target, how, say),
            *check_cases(cases[half:], target, how, say),
        ]
    found: list[Finding] = []
    tolerances = tolerances_of(how.backends)
    for number, case in enumerate(cases):
        if isinstance(compiled, Offloaded) and number in compiled.taken:
            say("taken", case.program.index, target)
        say("run", case.program.index, target)
        message = _difference(compiled, f"p{number}_", case, tolerances)
        if message is not None:
            found.append(_finding("differs", case.program, target, message))
    return found


def _difference(
    compiled: Compiled | Offloaded, prefix: str, case: Case, tolerances: Sequence[Tolerances]
) -> str | None:
    for name, arrays in case.arrays.items():
        try:
            results = compiled.call(prefix + name, arrays)
        except InarchError as error:
            return str(error)
        for number, (expected, found) in enumerate(zip(case.expected[name], results, strict=True)):
            said = told_apart(expected, found, tolerances)
            if said is not None:
                return f"@{name}, output {number}{said}"
    return None


def check_programs(
    programs: Sequence[GeneratedProgram],
    targets: Sequence[str],
    *,
    how: How = How(),
    say: Say = lambda _what, _index, _target: None,
) -> list[Finding]:
    """Compares each program, compiled for each target, with its definition."""
    cases: list[Case] = []
    found: list[Finding] = []
    for program in programs:
        say("define", program.index, "")
        try:
            cases.append(case_of(program))
        except Exception as error:  # noqa: BLE001 - a definition that fails is a finding
            found.append(_finding("definition", program, "", _describe(error)))
    for target in targets:
        found += check_cases(cases, target, how, say)
    return found


def smaller(
    program: GeneratedProgram, finding: Finding, seconds: float, how: How, **options: Any
) -> GeneratedProgram:
    """The smallest program found in that time that has a finding of the same kind."""
    from inarch.testing.generate.shrink import shrink

    targets = [finding.target] if finding.target else []

    def fails(candidate: GeneratedProgram) -> bool:
        found = check_programs([candidate], targets, how=how)
        return any(one.kind == finding.kind for one in found)

    return shrink(program, fails, seconds=seconds, **options) if seconds > 0 else program


def write_case(folder: Path, program: GeneratedProgram, finding: Finding) -> Path:
    """Writes the program, and its inputs where it parses; returns the path of the `.mlir`."""
    from inarch.core.npz import write_npz

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{program.name}-{finding.target or 'definition'}.mlir"
    program.save(path)
    try:
        arrays = {
            name: inputs(program, program.index, function=name) for name in program.functions()
        }
    except Exception:  # noqa: BLE001 - a program that has none; the finding says why
        return path
    for name, values in arrays.items():
        named = {f"{number}": array for number, array in enumerate(values)}
        write_npz(path.with_suffix(f".{name}.inputs.npz"), named)
    return path


def elapsed(start: float) -> float:
    """Seconds since `start` of `time.monotonic`."""
    return time.monotonic() - start
