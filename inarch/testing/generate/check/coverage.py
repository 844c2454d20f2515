"""What generated programs reach: ops, values of properties, and the code of the passes and of the emitter."""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    UnitAttr,
)
from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation, OptPropertyDef

import inarch
from inarch.core.errors import needing
from inarch.core.scratch import scratch
from inarch.dialects.graph import DIALECT as GRAPH
from inarch.dialects.kernel import DIALECT as KERNEL
from inarch.dialects.loop import DIALECT as LOOP
from inarch.ir.target import set_target
from inarch.testing.generate.program import LEVELS, GeneratedProgram
from inarch.testing.generate.public import programs

TARGETS = ("generic", "x86-64-v3", "x86-64-v4")
"""Programs are emitted for these; nothing is compiled, so any machine will do."""

FOLDERS = (
    "backends/c",
    "passes/graph",
    "passes/lower",
    "passes/loop",
    "passes/memory",
    "passes/tensorize",
)
"""Whose code is measured."""

ERROR_PATHS = (r"\braise\b", r"\bassert\b", r"case _:", r"return _error", r"pragma: no cover")
"""Lines that are not to be reached: what is refused there, generated programs never do."""

Progress = Callable[[str, int, int], None]


@dataclass
class Reached:
    """What a run has reached."""

    ops: Counter[str] = field(default_factory=Counter[str])
    values: dict[str, Counter[str]] = field(default_factory=dict[str, Counter[str]])
    """`graph.conv strides` -> how often each class of value."""
    refused: Counter[str] = field(default_factory=Counter[str])
    """What the compiler said of programs that it did not take."""
    programs: int = 0
    files: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    """File -> `lines`, `missing`, `branches`, `missing_branches`."""

    def note(self, program: GeneratedProgram) -> None:
        """Counts the ops of a program, and the classes of their properties."""
        self.programs += 1
        for op in program.parse()[1].walk():
            self.ops[op.name] += 1
            for name, text in _classes(op):
                self.values.setdefault(f"{op.name} {name}", Counter())[text] += 1

    def never(self) -> dict[str, list[str]]:
        """Ops that no program has, and classes of properties that are known and were not met."""
        known = [op for dialect in (GRAPH, LOOP, KERNEL) for op in dialect.operations]
        ops = sorted(op.name for op in known if op.name not in self.ops)
        missing: list[str] = []
        for op in known:
            for name, classes in _known_classes(op).items():
                seen = self.values.get(f"{op.name} {name}", Counter[str]())
                missing += [f"{op.name} {name}: {one}" for one in classes if one not in seen]
        return {"ops": ops, "properties": sorted(missing)}

    def totals(self, folder: str) -> tuple[int, int, int, int]:
        """Lines, those reached, branches, those reached, of the files in a folder."""
        files = [each for name, each in self.files.items() if name.startswith(folder)]
        lines = sum(each["lines"] for each in files)
        branches = sum(each["branches"] for each in files)
        return (
            lines,
            lines - sum(len(each["missing"]) for each in files),
            branches,
            branches - sum(len(each["missing_branches"]) for each in files),
        )


def _classes(op: Operation) -> Iterator[tuple[str, str]]:
    """For each property, and for the operands' element types, what class the value is of."""
    names = set(op.properties)
    if isinstance(op, IRDLOperation):
        names |= set(op.get_irdl_definition().properties)
    for name in names:
        yield name, _class(op.properties.get(name))
    for value in (*op.operands, *op.results):
        element = getattr(value.type, "element_type", None)
        if element is not None:
            yield "element type", str(element)


def _class(value: Any) -> str:
    match value:
        case None:
            return "absent"
        case IntegerAttr():
            number: int = value.value.data
            if str(value.type) == "i1":  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]
                return "true" if number else "false"
            return _sign(number)
        case FloatAttr():
            return (
                _sign(value.value.data)
                if math.isfinite(value.value.data)
                else str(value.value.data)
            )
        case StringAttr():
            return value.data if value.data.isidentifier() else "text"
        case DenseArrayBase():
            numbers: Any = value.get_values()  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType, reportAttributeAccessIssue]
            return " ".join(sorted({_sign(number) for number in numbers})) or "none"
        case ArrayAttr():
            return "some" if value.data else "none"  # pyright: ignore[reportUnknownMemberType]
        case _:
            return "present"


def _sign(number: float) -> str:
    if number in (0, 1):
        return str(int(number))
    return "< 0" if number < 0 else "> 1" if number > 1 else "< 1"


def _known_classes(op: type[Operation]) -> Mapping[str, tuple[str, ...]]:
    """The classes that can be told from the definition: flags are both, optional ones come and go."""
    if not issubclass(op, IRDLOperation):
        return {}
    found: dict[str, tuple[str, ...]] = {}
    for name, definition in op.get_irdl_definition().properties.items():
        default = definition.default_value
        if str(default) in ("true", "false"):
            found[name] = ("true", "false")
        elif isinstance(definition, OptPropertyDef):
            found[name] = ("absent",)
    return found


# ------------------------------------------------------------------------------------ code


@contextmanager
def measured(reached: Reached) -> Generator[None]:
    """The code that runs in the block is measured. Raises EnvironmentFault without `coverage`."""
    with needing(
        "measuring needs the package coverage, which is not installed: pip install coverage"
    ):
        from coverage import Coverage
    root = Path(inarch.__file__).resolve().parent.parent
    folders = [str(root / folder) for folder in FOLDERS]
    tracer = Coverage(
        data_file=None,
        branch=True,
        include=[f"{folder}/*" for folder in folders],
        config_file=False,
    )
    for line in ERROR_PATHS:
        tracer.exclude(line)
    tracer.start()
    try:
        yield
    finally:
        tracer.stop()
    with scratch("inarch-coverage-") as folder:
        path = folder / "coverage.json"
        tracer.json_report(outfile=str(path))
        report = json.loads(path.read_text())
    for name, each in report["files"].items():
        place = str(Path(name).resolve().relative_to(root))
        reached.files[place] = {
            "lines": each["summary"]["num_statements"],
            "missing": each["missing_lines"],
            "branches": each["summary"]["num_branches"],
            "missing_branches": each["missing_branches"],
        }


def emit_program_text(program: GeneratedProgram, target: str, backends: Sequence[str] = ()) -> str:
    """The C of a program: all passes and the emitter run, the C compiler does not.

    `backends` have what they take.
    """
    from inarch.driver.compiler import lower
    from inarch.driver.host import emit, find_host
    from inarch.driver.offload import Offload
    from inarch.driver.options import DEFAULT_HOST

    context, module = program.parse()
    set_target(module, target)
    module.attributes["inarch.name"] = StringAttr("generated")
    if backends:
        module.attributes["inarch.checked"] = UnitAttr()
    lower(context, module, "kernel", offload=Offload(backends))
    return emit(find_host(DEFAULT_HOST), context, module).text


def _ready_backends() -> list[str]:
    """Those that are found and work here."""
    from inarch.backends import BACKENDS

    return [name for name in BACKENDS if BACKENDS[name].status() == "ready"]


def measure(count: int, seed: int, progress: Progress = lambda _what, _n, _all: None) -> Reached:
    """Emits `count` programs of each level for each of `TARGETS`, and notes what that reaches.

    Programs of `graph` are also emitted with parts for all backends that work here.
    """
    reached = Reached()
    ways = [(target, ()) for target in TARGETS]
    with measured(reached), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a backend takes nothing
        backends = _ready_backends()  # within: their modules' own lines count
        for level in LEVELS:
            for number, program in enumerate(programs(level, seed, count)):
                progress(level, number, count)
                reached.note(program)
                offloaded = [(TARGETS[-1], backends)] if level == "graph" and backends else []
                for target, asked in (*ways, *offloaded):
                    try:
                        emit_program_text(program, target, asked)
                    except Exception as error:  # noqa: BLE001 - `--check` finds and reports those
                        reached.refused[f"{level}: {type(error).__name__}: {str(error)[:100]}"] += 1
    return reached


# ------------------------------------------------------------------------------------ command


def coverage_command(count: int, seed: int, *, as_json: bool) -> int:
    """Measures and prints."""
    reached = measure(count, seed, _progress)
    sys.stderr.write("\r" + " " * 60 + "\r")
    sys.stdout.write(json.dumps(_summary(reached), indent=1) + "\n" if as_json else _text(reached))
    return 0


def _progress(what: str, number: int, count: int) -> None:
    sys.stderr.write(f"\r{what}: {number} of {count} programs    ")
    sys.stderr.flush()


def _summary(reached: Reached) -> dict[str, Any]:
    return {
        "programs": reached.programs,
        "ops": dict(reached.ops),
        "properties": {name: dict(each) for name, each in sorted(reached.values.items())},
        "never": reached.never(),
        "refused": dict(reached.refused),
        "folders": {
            folder: dict(
                zip(
                    ("lines", "reached_lines", "branches", "reached_branches"),
                    reached.totals(folder),
                    strict=True,
                )
            )
            for folder in FOLDERS
        },
        "files": reached.files,
    }


def _text(reached: Reached) -> str:
    lines = [f"{reached.programs} programs, {len(reached.ops)} kinds of ops"]
    for folder in FOLDERS:
        every, found, branches, taken = reached.totals(folder)
        lines.append(
            f"{folder:16} {_percent(found, every)} of {every} lines, "
            f"{_percent(taken, branches)} of {branches} branches"
        )
    never = reached.never()
    lines.append(f"never: ops {', '.join(never['ops']) or 'none'}")
    lines += [f"never: {each}" for each in never["properties"]]
    for name, each in sorted(reached.files.items()):
        if each["missing"] or each["missing_branches"]:
            branches = ", ".join(f"{a}->{b}" for a, b in each["missing_branches"])
            lines.append(f"{name}: lines {_ranges(each['missing'])}; branches {branches or 'none'}")
    lines += [f"refused {count} times: {said}" for said, count in reached.refused.most_common()]
    return "\n".join(lines) + "\n"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole if whole else 100:5.1f} %"


def _ranges(numbers: list[int]) -> str:
    """`3-5, 9`."""
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][-1] + 1:
            found[-1].append(number)
        else:
            found.append([number])
    return ", ".join(str(r[0]) if len(r) == 1 else f"{r[0]}-{r[-1]}" for r in found) or "none"
