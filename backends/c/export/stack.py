"""How much stack C takes: as gcc says of every chain of calls, or a bound of what clang says."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inarch.core.errors import EnvironmentFault
from inarch.core.scratch import scratch
from inarch.machine.compilers import Kind, compiler_for, run_compiler
from inarch.machine.target import Target, this_processor

_NODE = re.compile(r'node: \{ title: "([^"]*)" label: "[^"]*\\n(\d+) bytes \(([^)]*)\)')
_EDGE = re.compile(r'edge: \{ sourcename: "([^"]*)" targetname: "([^"]*)"')
_FRAME = re.compile(r"^.*:\d+:(\S+)\t(\d+)\t(\S+)$", re.MULTILINE)
_RETURN_BYTES = 16
"""Of a return address and its alignment, which clang does not count."""


_RED_ZONE_BYTES = {"x86-64": 128}
"""Below the stack pointer, which a function that calls none may use uncounted (System V ABI, 3.2.2)."""
_ALIGNED_BYTES = 16
"""Of every frame; vectors of more may make a function waste the rest, uncounted."""


@dataclass(frozen=True)
class Stack:
    """Bytes of the stack that a call takes, with padding and red zone, those of libm and memcpy aside."""

    nbytes: int
    is_bound: bool
    """Not the deepest chain of calls, but all functions together, each once."""
    compiler: str
    """Its version."""

    def __str__(self) -> str:
        if self.is_bound:
            return (
                f"at most {self.nbytes} bytes, the frames of all functions together, by -fstack-usage of "
                f"{self.compiler} at -O3"
            )
        return (
            f"{self.nbytes} bytes, the deepest chain of calls by -fcallgraph-info=su of {self.compiler} "
            "at -O3"
        )


def stack_of(
    text: str, functions: Sequence[str], target: Target, flags: Sequence[str], timeout: float
) -> Stack | None:
    """The most that one of `functions` takes of the C `text`. None: no compiler here can say it."""
    try:
        compiler = compiler_for(target)
    except EnvironmentFault:
        return None
    if compiler.kind == "zig":
        return None
    with scratch("inarch-stack-") as folder:
        (folder / "model.c").write_text(text)
        wanted = "-fcallgraph-info=su" if compiler.kind == "gcc" else "-fstack-usage"
        command = [*compiler.command, "-O3", *flags, wanted, "-c", "model.c", "-o", "model.o"]
        status, _ = run_compiler(command, folder, timeout)
        said = folder / ("model.ci" if compiler.kind == "gcc" else "model.su")
        if status != 0 or not said.exists():
            return None
        report = said.read_text(errors="replace")
    frames = _frames(report, compiler.kind)
    if frames is None:
        return None
    padding = max(0, target.vector_bytes - _ALIGNED_BYTES)
    frames = {name: nbytes + padding for name, nbytes in frames.items()}
    generic = target.architecture == "generic"
    family = this_processor().architecture if generic else target.architecture
    below = _RED_ZONE_BYTES.get(family, 0)
    deepest = _deepest(report, functions, frames)
    if deepest is not None:
        return Stack(deepest + below, is_bound=False, compiler=compiler.version)
    return Stack(sum(frames.values()) + below, is_bound=True, compiler=compiler.version)


def _frames(report: str, kind: Kind) -> dict[str, int] | None:
    """The frame of each function; None where one is of no fixed size."""
    found = (_NODE if kind == "gcc" else _FRAME).findall(report)
    if not found or any("dynamic" in how and "bounded" not in how for _, _, how in found):
        return None
    more = 0 if kind == "gcc" else _RETURN_BYTES
    return {name: int(nbytes) + more for name, nbytes, _ in found}


def _deepest(report: str, functions: Sequence[str], frames: Mapping[str, int]) -> int | None:
    """The bytes of the deepest chain of calls from `functions`; None where it cannot be told."""
    calls: dict[str, set[str]] = {}
    for caller, callee in _EDGE.findall(report):
        calls.setdefault(caller, set()).add(callee)
    if not calls or any("__indirect_call" in own for own in calls.values()):
        return None
    try:
        return max(_depth(name, frames, calls, {}) for name in functions)
    except (KeyError, RecursionError):
        return None


def _depth(
    name: str, frames: Mapping[str, int], calls: Mapping[str, set[str]], known: dict[str, int]
) -> int:
    if name not in known:
        below = (_depth(one, frames, calls, known) for one in calls.get(name, ()) if one in frames)
        known[name] = frames[name] + max(below, default=0)
    return known[name]
