"""Pipelines in text: `prepare(inline-calls,dce),tile{sizes=4,16 mode=fast}`.

Names are those of `inarch.passes.PASSES` (ours and plugins'), then xDSL's own (`canonicalize`, `cse`, `dce`,
...). Options are the fields of the pass, a frozen dataclass; `-` stands for `_`. A phase has its passes in
parentheses; the name of a phase of every compilation alone stands for what it has there, and `compile` for
all of them. `builtin.module(...)` and `func.func(...)` may stand around passes, as for `mlir-opt`: every pass
sees the whole module.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, get_args, get_type_hints

from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec, ParameterListType
from xdsl.utils.arg_spec import parse_pipeline as _parse_specs
from xdsl.utils.exceptions import ArgSpecParseError
from xdsl.utils.hints import isa, type_repr

from inarch.core.errors import UsageError, reason, unknown
from inarch.passes import PASSES
from inarch.pipeline.default import PHASES, default_pipeline
from inarch.pipeline.pipeline import Phase, Pipeline
from inarch.pipeline.places import placed
from inarch.pipeline.registry import find_pass

ANCHORS = ("builtin.module", "func.func", "any")
"""What `mlir-opt` nests passes in; all of ours are of the module."""

WHOLE = "compile"
"""Stands for the pipeline of every compilation."""


def parse_pipeline(text: str) -> Pipeline:
    """The pipeline that `text` says. Raises UsageError for whatever is wrong in it, wherever it stands."""
    _check_depth(text)
    return Pipeline(tuple(_joined(_phases(text, 0, text, within=""))))


_MOST_BRACKETS = 10
"""Around a pass: a phase in `builtin.module(...)` needs two."""


def _check_depth(text: str) -> None:
    depth = 0
    for index, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth > _MOST_BRACKETS:
            raise _wrong(text, index, f"expected at most {_MOST_BRACKETS} brackets around a pass")


def _phases(text: str, offset: int, whole: str, *, within: str) -> Iterator[Phase]:
    """The phases of a piece of `whole`, in the phase `within`."""
    for begins, spaced in _elements(text, offset, whole):
        element = spaced.strip()
        start = begins + len(spaced) - len(spaced.lstrip())
        name, parenthesis, rest = element.partition("(")
        if parenthesis and "{" not in name and '"' not in name:
            if not rest.endswith(")"):
                raise _wrong(whole, start + len(element), "expected ',' or the end after ')'")
            inner, begin = rest[:-1], start + len(name) + 1
            name = name.strip()
            if name in ANCHORS or not name:
                yield from _phases(inner, begin, whole, within=within)
            elif within:
                raise _wrong(
                    whole, start, f"expected passes in phase '{within}', found phase '{name}'"
                )
            else:
                _check_phase(name, whole, start)
                passes = [
                    one
                    for phase in _phases(inner, begin, whole, within=name)
                    for one in phase.passes
                ]
                yield Phase(name, tuple(passes))
        elif element in (WHOLE, *PHASES) and element not in PASSES:
            yield from _named(element, within, whole, start)
        elif element:
            yield Phase(within, tuple(map(_make_pass, _specs(element, start, whole))))


def _named(name: str, within: str, whole: str, start: int) -> Iterator[Phase]:
    """The passes of a phase, or of all phases, of every compilation; those of others are in it."""
    if within:
        raise _wrong(whole, start, f"expected passes in phase '{within}', found phase '{name}'")
    yield from (p for p in placed(default_pipeline()).phases if name in (WHOLE, p.name))


def _check_phase(name: str, whole: str, start: int) -> None:
    if not name.replace("-", "_").isidentifier():
        raise _wrong(whole, start, f"expected the name of a phase before '(', found '{name}'")
    if name in PASSES:
        raise _wrong(whole, start, f"expected a phase before '(', found the pass '{name}'")


def _elements(text: str, offset: int, whole: str) -> Iterator[tuple[int, str]]:
    """`(position in the whole text, element)` of what commas separate outside of brackets and strings."""
    depth, start, quoted = 0, 0, False
    for index, char in enumerate(text):
        if char == '"' and (index == 0 or text[index - 1] != "\\"):
            quoted = not quoted
        elif quoted:
            continue
        elif char in "({[":
            depth += 1
        elif char in ")}]":
            depth -= 1
            if depth < 0:
                raise _wrong(whole, offset + index, f"expected no '{char}' here")
        elif char == "," and depth == 0:
            yield offset + start, text[start:index]
            start = index + 1
    if depth:
        raise _wrong(whole, offset + len(text), "expected a closing bracket, found the end")
    yield offset + start, text[start:]


def _joined(phases: Iterator[Phase]) -> Iterator[Phase]:
    """Passes that stand side by side without a phase are one."""
    last: Phase | None = None
    for phase in phases:
        if last is not None and not last.name and not phase.name:
            last = Phase("", (*last.passes, *phase.passes))
            continue
        if last is not None:
            yield last
        last = phase
    if last is not None:
        yield last


def _specs(text: str, offset: int, whole: str) -> Sequence[ArgSpec]:
    try:
        return list(_parse_specs(text))
    except ArgSpecParseError as error:  # derives from BaseException
        raise _syntax_error(whole, offset, error) from None
    except ValueError as error:  # thousands of digits
        raise UsageError(f"pipeline '{whole[:40]}...': expected shorter numbers") from error


def _make_pass(spec: ArgSpec) -> ModulePass:
    found = find_pass(spec.name, phases=(WHOLE, *PHASES))
    given = spec.normalize_parameter_names().parameters
    known = {f.name.replace("_", "-") for f in dataclasses.fields(found) if f.init}
    for option in given:
        if option.replace("_", "-") not in known:
            name = option.replace("_", "-")
            raise unknown("option", name, known, within=f"pass '{spec.name}'")
    for option in sorted(found.required_fields() - set(given)):
        raise UsageError(f"pass '{spec.name}' needs the option '{option.replace('_', '-')}'")
    hints = get_type_hints(found)
    for option, value in given.items():
        if not _fits(value, hints[option]):
            raise UsageError(
                f"option '{option.replace('_', '-')}' of pass '{spec.name}': expected "
                f"{type_repr(hints[option])}, found {_value_text(value)}"
            )
    try:
        return found.from_spec(spec)
    except (ValueError, TypeError) as error:  # a check of the pass's own, in its __post_init__
        raise UsageError(f"pass '{spec.name}': {reason(error)}") from error


def _fits(value: ParameterListType, hint: Any) -> bool:
    """Whether xDSL converts `value` to a field of type `hint`."""
    if not value:
        return type(None) in get_args(hint) or bool(isa(value, hint))
    return (len(value) == 1 and bool(isa(value[0], hint))) or bool(isa(value, hint))


def _value_text(value: ParameterListType) -> str:
    return ",".join(str(v).lower() if isinstance(v, bool) else str(v) for v in value) or "no value"


def _wrong(whole: str, position: int, message: str) -> UsageError:
    shown = whole if len(whole) <= 300 else f"{whole[:297]}..."
    return UsageError(f"pipeline '{shown}', character {position + 1}: {message}")


def _syntax_error(whole: str, offset: int, error: ArgSpecParseError) -> UsageError:
    """The message is a caret drawing: `..., file:line:column, text, caret, message`."""
    _, place, *_, message = [line.strip() for line in str(error).splitlines() if line.strip()]
    column = int(place.rpartition(":")[2])
    return _wrong(whole, offset + column - 1, message[:1].lower() + message[1:])
