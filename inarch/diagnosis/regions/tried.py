"""A region as its backend makes it, alone in a process of its own: right, wrong, refused, or a crash."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any, Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from inarch.core.errors import InarchError, InternalError
from inarch.core.lazy import Array, np
from inarch.core.rounding import distance, largest
from inarch.core.scratch import scratch
from inarch.diagnosis.compare import Crash, Difference
from inarch.diagnosis.contained import CrashError, HangError, contained, shared_array
from inarch.diagnosis.fewest import failing_part
from inarch.diagnosis.locate import COMPILE_SECONDS, own_context
from inarch.diagnosis.regions.found import EMIT, Region, ops_of
from inarch.diagnosis.slices import Slice, cut, steps
from inarch.driver.compiler import build
from inarch.driver.options import Options
from inarch.offload.tolerance import Tolerance, Tolerances
from inarch.runtime.module import load
from inarch.testing import execute

Outcome = Literal["right", "wrong", "crash", "failed"]
Progress = Callable[[str, int, int], None]

_GARBAGE = 0xA5
"""Bytes of outputs before the call: no zeros, which many a value is full of."""


@dataclass(frozen=True)
class RegionVerdict:
    """What one region did."""

    region: str
    backend: str
    ops: tuple[str, ...]
    """What it is made of."""
    tolerance: Tolerance
    outcome: Outcome
    """`crash`: its code ended the process, or hangs; `failed`: backend, loader or the call says no."""
    measured: float = math.nan
    """By the tolerance's metric, of its worst output; NaN where there is none."""
    difference: Difference | Crash | None = None
    message: str = ""
    """Of what crashed or failed."""
    suspects: tuple[str, ...] = ()
    """The fewest of `ops` that do the same alone."""

    @property
    def is_right(self) -> bool:
        """Whether all outputs are as near as their tolerances want."""
        return self.outcome == "right"

    @property
    def text(self) -> str:
        """One line."""
        what = f"{self.region} of backend '{self.backend}'"
        if self.outcome in ("crash", "failed"):
            return f"{what}: {self.message}"
        measured = self.tolerance.shown(self.measured)
        return f"{what}: {self.outcome}, {measured} (allowed: {self.tolerance})"

    def as_json(self) -> dict[str, Any]:
        """For `--json`; what is not finite is text."""
        measured = self.measured if math.isfinite(self.measured) else str(self.measured)
        return {
            "region": self.region,
            "backend": self.backend,
            "ops": list(self.ops),
            "outcome": self.outcome,
            "tolerance": str(self.tolerance),
            "measured": measured,
            "difference": self.difference.as_json() if self.difference is not None else None,
            "message": self.message,
            "suspects": list(self.suspects),
        }


@dataclass(frozen=True)
class _Tried:
    outcome: Outcome
    tolerance: Tolerance | None = None
    measured: float = math.nan
    difference: Difference | Crash | None = None
    message: str = ""
    is_hang: bool = False


def check_region(
    region: Region,
    context: Context,
    options: Options,
    progress: Progress,
    seconds: float,
) -> RegionVerdict:
    """Compiles and runs a region as its backend does it, and compares; of one that is wrong the fewest ops.

    `seconds`: what its code may take, beside its compilation.
    """
    alone = _Alone(context, options, seconds)
    tried = alone.tried(region, region.part, region.inputs, region.expected)
    suspects = region.ops
    if not tried.is_hang and tried.outcome != "right":  # each part would hang as long
        suspects = _suspects(region, context, alone, tried.outcome, progress)
    return RegionVerdict(
        region.label,
        region.backend,
        region.ops,
        tried.tolerance or region.tolerances.floats,
        tried.outcome,
        tried.measured,
        tried.difference,
        tried.message,
        suspects,
    )


def _suspects(
    region: Region, context: Context, alone: _Alone, outcome: Outcome, progress: Progress
) -> tuple[str, ...]:
    """The fewest ops of a region that do alone, as a region, what the whole one does."""
    body = region.part.module
    every = steps(body)
    whole = cut(body, every, every_value=True)
    made = execute(whole.module, [region.inputs[name] for name in whole.takes], context)
    values = {**region.inputs, **dict(zip(whole.gives, made, strict=True))}

    def is_wrong(first: int, last: int) -> bool:
        progress(f"check {region.label}, ops {first} to {last}", 0, 1)
        part = cut(body, every[first:last])
        expected = {name: values[name] for name in part.gives}
        return alone.tried(region, part, values, expected).outcome == outcome

    count = len(every)
    first, last = failing_part(count, is_wrong) if count > 1 else (0, count)
    return ops_of(cut(body, every[first:last]).module)


@dataclass(frozen=True)
class _Alone:
    """How regions are compiled and run."""

    context: Context
    options: Options
    seconds: float

    def tried(
        self,
        region: Region,
        part: Slice,
        values: Mapping[str, Array],
        expected: Mapping[str, Array],
    ) -> _Tried:
        """What the backend makes of `part` of a region gives on the values that enter it."""
        # Nothing of a loader or a driver is trusted: memory of both sides comes back, and nothing else.
        given = [_shared(values[name]) for name in part.takes]
        found = [_shared(array, _GARBAGE) for array in expected.values()]
        program = region.program(part)
        try:
            with scratch("inarch-region-") as folder:
                path = folder / "region.inarch"
                contained(lambda: self._build(program, path), self.seconds + COMPILE_SECONDS)
                contained(lambda: _run(path, region.symbol, given, found), self.seconds)
        except CrashError as error:
            crash = Crash(str(error))
            is_hang = isinstance(error, HangError)
            return _Tried("crash", difference=crash, message=crash.text, is_hang=is_hang)
        except (InarchError, AssertionError) as error:
            kind = error.message if isinstance(error, InternalError) else str(error)
            return _Tried("failed", message=kind)
        return _compared(region.tolerances, expected, found)

    def _build(self, program: ModuleOp, path: Path) -> None:
        """In a fork: `emit` and loaders are anybody's code."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            own = own_context(Slice(program, (), ()), self.context)
            build(program, path, _alone(self.options), context=own)


def _run(path: Path, symbol: str, given: Sequence[Array], found: Sequence[Array]) -> None:
    """In a fork: loads and calls."""
    before = [array.copy() for array in given]
    load(path).get_function("main")(*given, out=list(found))
    for number, (array, kept) in enumerate(zip(given, before, strict=True)):
        if array.tobytes() != kept.tobytes():
            raise InarchError(f"'{symbol}' writes to its input {number}")


def _alone(options: Options) -> Options:
    """How a program is compiled that is partitioned already: its outputs are seen to be written."""
    return replace(
        options,
        pipeline=options.passes().since(EMIT),
        places={},
        backends=(),
        backend_options=None,
        require_offload=False,
        give=(),
        keep=(),
        microkernels=(),
        schedule=None,
        checked=True,
        verify_semantics=None,
        shapes=None,
        dims=None,
        values=None,
        name=None,
        target="native",
    )


def _shared(array: Array, fill: int | None = None) -> Array:
    """A copy of an array, or memory like it full of a byte, that a forked process shares."""
    from inarch.artifact.manifest import Port
    from inarch.core.dtypes import DTYPES

    (dtype,) = (one for one in DTYPES.values() if one.numpy == array.dtype)
    made = shared_array(Port("", dtype, array.shape))
    if fill is None:
        made[...] = array
    elif array.size and array.dtype.kind != "b":
        made.reshape(-1).view(np.uint8)[...] = fill
    return made


def _compared(
    tolerances: Tolerances, expected: Mapping[str, Array], found: Sequence[Array]
) -> _Tried:
    """By the tolerance of the first output that is wrong, or of the first one, what is worst by that."""
    measures: list[tuple[Tolerance, float]] = []
    first: Difference | None = None
    shown: Tolerance | None = None
    for (name, wanted), other in zip(expected.items(), found, strict=True):
        used = tolerances.of(wanted.dtype)
        measures.append((used, used.measure(wanted, other)))
        if not used.allows(measures[-1][1]) and first is None:
            first, shown = _farthest(name, wanted, other, used), used
    shown = shown or (measures[0][0] if measures else tolerances.floats)
    worst = reduce(shown.worse, (one for used, one in measures if used == shown))
    return _Tried("right" if first is None else "wrong", shown, worst, first)


def _farthest(name: str, expected: Array, found: Array, tolerance: Tolerance) -> Difference:
    """The element that is farthest away: a metric says nothing of one alone."""
    away = distance(expected, found)
    allowed = 0.0
    if tolerance.metric == "relative":
        allowed = tolerance.limit * largest(expected)
    elif tolerance.metric in ("absolute", "steps"):
        allowed = tolerance.limit
    at = np.unravel_index(int(away.argmax()), expected.shape)
    index = tuple(int(i) for i in at)
    pair = float(expected[index]), float(found[index])
    return Difference(name, index, *pair, allowed, int((away > allowed).sum()), expected.size)
