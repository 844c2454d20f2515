"""What the package offers: programs by seed, and strategies of hypothesis."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from inarch.core.errors import needing, unknown
from inarch.offload.pattern import NamedPattern
from inarch.testing.generate.choices import Choices, Record, Recorded, Seeded
from inarch.testing.generate.graph.programs import graph_program
from inarch.testing.generate.kernel import kernel_program
from inarch.testing.generate.loop.programs import loop_program
from inarch.testing.generate.program import LEVELS, GeneratedProgram

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def make(
    level: str,
    choices: Choices,
    *,
    large: bool = False,
    full: bool = False,
    favour: Sequence[str] = (),
    patterns: Sequence[NamedPattern] = (),
) -> GeneratedProgram:
    """The program of `level` that `choices` decide."""
    if level == "graph":
        return graph_program(choices, large=large, full=full, favour=favour, patterns=patterns)
    if level == "loop":
        return loop_program(choices, large=large)
    if level == "kernel":
        return kernel_program(choices, large=large)
    raise unknown("level", level, LEVELS)


def programs(
    level: str,
    seed: int = 0,
    count: int | None = None,
    *,
    start: int = 0,
    large: bool = False,
    full: bool = False,
    favour: Sequence[str] = (),
    patterns: Sequence[NamedPattern] = (),
) -> Iterator[GeneratedProgram]:
    """`count` programs (no count: without end) of `graph`, `loop` or `kernel`, the same for each seed.

    The program `index` of a seed does not depend on those before it: `start` leaves some out. `large`:
    up to three times as many nodes. `full`: layers of networks have their full sizes. `favour`: names of
    ops of `graph` (`graph.matmul`) that many nodes are of, more of those that are named more than once.
    `patterns`: of a backend, that many parts are matches of (what its `where` asks for is not known).
    Raises UsageError for another level. Needs neither pytest nor hypothesis.
    """
    if level not in LEVELS:
        raise unknown("level", level, LEVELS)
    return _programs(
        level, seed, count, start, large=large, full=full, favour=favour, patterns=patterns
    )


def _programs(
    level: str, seed: int, count: int | None, start: int, **options: Any
) -> Iterator[GeneratedProgram]:
    index = start
    while count is None or index < start + count:
        made = make(level, Seeded(f"{level} {seed} {index}"), **options)
        yield GeneratedProgram(level, made.text, made.constants, made.record, seed, index)
        index += 1


def remake(program: GeneratedProgram, record: Record, **options: Any) -> GeneratedProgram:
    """The program that other decisions make: with a smaller record, a simpler one."""
    made = make(program.level, Recorded(record), **options)
    return GeneratedProgram(
        made.level, made.text, made.constants, made.record, program.seed, program.index
    )


def graph_programs(
    *, large: bool = False, full: bool = False, favour: Sequence[str] = ()
) -> SearchStrategy[GeneratedProgram]:
    """A strategy of hypothesis: programs on tensors, that shrink to small ones. Options as `programs`.

    Raises EnvironmentFault where hypothesis is not installed.
    """
    return _strategy("graph", large=large, full=full, favour=favour)


def loop_programs(*, large: bool = False) -> SearchStrategy[GeneratedProgram]:
    """A strategy of hypothesis: programs of nests on buffers. Raises as `graph_programs`."""
    return _strategy("loop", large=large)


def kernel_programs(*, large: bool = False) -> SearchStrategy[GeneratedProgram]:
    """A strategy of hypothesis: calls of microkernels. Raises as `graph_programs`."""
    return _strategy("kernel", large=large)


def _strategy(level: str, **options: Any) -> SearchStrategy[GeneratedProgram]:
    with needing("strategies need hypothesis, which is not installed: pip install 'inarch[test]'"):
        from hypothesis import strategies as st

    class Drawn(Choices):
        def __init__(self, draw: Callable[[Any], Any]) -> None:
            super().__init__()
            self._draw = draw

        def below(self, count: int) -> int:
            return self._draw(st.integers(0, count - 1))

        def more(self, percent: int) -> bool:
            return self._draw(st.integers(0, 99)) >= 100 - percent

    @st.composite
    def strategy(draw: st.DrawFn) -> GeneratedProgram:
        return make(level, Drawn(draw), **options)

    return strategy()
