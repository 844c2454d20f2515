"""Computations stated as text in Python, compiled when they are first called: `inarch.compute`.

    scale = inarch.compute("for i in N: C[i] = s * (A[i] + B[i])")
    c = scale(2.0, a, b)                    # arguments in the order of the text, outputs last
    scale(2.0, a, b, c)                     # or written into c, as by out=c

The text is in the language of microkernels' meanings (`inarch.meaning`), one meaning a line
(`inarch.meaning.program`). It becomes a program at loop level, and takes the way of every compilation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Unpack

from inarch.computation._function import (
    Computation,
    Described,
    Specialized,
    check_dtypes,
    check_order,
)
from inarch.core.errors import InarchError, UsageError, unknown
from inarch.meaning import free_sizes
from inarch.meaning.program import parse_program, pointing

if TYPE_CHECKING:
    from inarch.driver.options import Settings

__all__ = ["Computation", "Described", "Specialized", "compute"]


def compute(
    text: str,
    *,
    arguments: Sequence[str] | str | None = None,
    sizes: Mapping[str, int] | None = None,
    dtypes: Mapping[str, str] | str | None = None,
    **settings: Unpack[Settings],
) -> Computation:
    """The function that `text` states, one meaning a line: `for i in N: C[i] = s * (A[i] + B[i])`.

    A name without brackets is a scalar. Sizes are those of the arrays that it is called with, or in
    `sizes`; dtypes those of the arrays, or in `dtypes` (`"f32"` for all, or by operand). It is compiled at
    the first call of each combination, and kept. `arguments` is the order of the operands in a call, as
    names or `"x, y, z, s"`; by default what is read, in the order of the text, then what is written.
    `settings` are those of `inarch.compile`: `target`, `threads` ...

    Raises InarchError, `compute:1:23: ...`, for a text that is none, UsageError for unknown names.
    """
    from inarch.driver.options import Options

    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance] - a caller's
        raise UsageError(f"compute: expected a text, found a {type(text).__name__}")
    program = parse_program(text)
    if arguments is None:
        order = program.operands
    else:
        names = arguments.split(",") if isinstance(arguments, str) else arguments
        order = check_order(program, tuple(name.strip() for name in names))
    known = dict.fromkeys(name for meaning in program.meanings for name in free_sizes(meaning))
    for name, size in (sizes or {}).items():
        if name not in known:
            raise unknown("size", name, known, within="the text of compute")
        if type(size) is not int or size < 0:
            raise UsageError(
                f"compute: expected an integer of 0 or more for size {name}, found {size!r}"
            )
    for name, place in program.parameters.items():
        if name not in (sizes or {}):
            with pointing(text, "compute"):
                raise InarchError(
                    f"expected an iterator, a number or a size that is known, found '{name}', which no 'for' "
                    f"has and no shape says; give sizes={{'{name}': ...}} where it is a size",
                    where=place,
                )
    return Computation(
        text,
        order,
        sizes or {},
        check_dtypes(program, dtypes),
        Options.of(None, settings),
    )
