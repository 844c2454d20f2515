"""Pipelines in text, `canonicalize,tile{sizes=4,16 mode=fast},dce`, and what passes there are.

Names are those of `inarch.passes.PASSES` (ours and plugins'), then xDSL's own (`canonicalize`,
`cse`, `dce`, ...). Options are the fields of the pass, a frozen dataclass; `-` stands for `_`.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, get_args, get_type_hints

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass, get_pass_option_infos
from xdsl.transforms import get_all_passes
from xdsl.utils.arg_spec import ArgSpec, ParameterListType
from xdsl.utils.arg_spec import parse_pipeline as _parse_specs
from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException, ParseError
from xdsl.utils.hints import isa, type_repr

from inarch.core.errors import InarchError, UsageError, reason, unknown
from inarch.ir.verify import verify_module
from inarch.passes import PASSES


@dataclass(frozen=True)
class Card:
    """What a list shows of one thing: its name, its docstring's first line, where it comes from."""

    name: str
    summary: str
    origin: str
    broken: bool = False


def find_pass(name: str) -> type[ModulePass]:
    """The pass called `name`. Raises UsageError if there is none, InarchError if it is broken."""
    theirs = get_all_passes()
    if name not in PASSES:
        if name not in theirs:
            near = get_close_matches(name, theirs, n=1)  # all 130 of xDSL's would hide the message
            raise unknown("pass", name, {*PASSES, *near})
        return theirs[name]()
    origin = PASSES.origin(name).source
    if name in theirs:
        raise UsageError(f"pass '{name}' ({origin}) has the name of a pass of xDSL; rename it")
    found = PASSES[name]
    if not _is_pass(found) or getattr(found, "name", None) != name:
        raise InarchError(
            f"pass '{name}' ({origin}): expected PASS to be a ModulePass class whose name is "
            f"'{name}', found {_describe(found)}"
        )
    return found


def _is_pass(thing: object) -> bool:
    return isinstance(thing, type) and issubclass(thing, ModulePass)


def _describe(thing: object) -> str:
    if isinstance(thing, type):
        return f"class {thing.__name__} with the name {getattr(thing, 'name', None)!r}"
    return f"an object of type {type(thing).__name__}"


def parse_pipeline(text: str) -> tuple[ModulePass, ...]:
    """The passes that `text` names, with their options. Raises UsageError for whatever is wrong."""
    try:
        specs = list(_parse_specs(text))
    except ArgSpecParseError as error:  # derives from BaseException
        raise _syntax_error(text, error) from None
    except ValueError as error:  # thousands of digits
        raise UsageError(f"pipeline '{text[:40]}...': expected shorter numbers") from error
    return tuple(_make_pass(spec) for spec in specs)


def pipeline_text(passes: Sequence[ModulePass]) -> str:
    """What `parse_pipeline` makes `passes` of."""
    return ",".join(str(one.spec()) for one in passes)


def apply_pipeline(context: Context, module: ModuleOp, passes: Sequence[ModulePass]) -> None:
    """Runs `passes` on `module` in place, and verifies it after each.

    Raises InarchError for what a pass reports and for a program that it left invalid; other
    exceptions of a pass are bugs of the pass and come through as they are.
    """
    for one in passes:
        apply_pass(context, module, one)
        verify_after(module, one)


def apply_pass(context: Context, module: ModuleOp, one: ModulePass) -> None:
    """Runs one pass; xDSL's diagnostics become InarchErrors that name the pass."""
    try:
        one.apply(context, module)
    except ParseError as error:  # of a file that the pass reads
        place = error.span.get_location()
        where = f"{error.span.input.name}:{place.line}:{place.col}"
        raise InarchError(f"pass '{one.name}': {error.msg.strip()}", where=where) from error
    except DiagnosticException as error:
        raise InarchError(f"pass '{one.name}': {reason(error)}") from error


def verify_after(module: ModuleOp, one: ModulePass) -> None:
    """Verifies what a pass left; the error names the pass."""
    try:
        verify_module(module)
    except InarchError as error:
        message = f"{error.message} (after pass '{one.name}')"
        raise InarchError(message, where=error.where) from error


def pass_cards() -> list[Card]:
    """A card for every pass: ours and plugins', then xDSL's. A broken one has its reason."""
    ours = [_card(name, lambda name=name: _origin(name)) for name in PASSES]
    theirs = [
        _card(name, lambda factory=factory: factory().__module__)
        for name, factory in sorted(get_all_passes().items())
        if name not in PASSES
    ]
    return [*ours, *theirs]


def _origin(name: str) -> str:
    return PASSES.origin(name).source


def _card(name: str, origin: Callable[[], str]) -> Card:
    try:
        return Card(name, first_line(find_pass(name)), origin())
    except Exception as error:  # noqa: BLE001 - one broken plugin must not hide the rest
        return Card(name, f"broken: {reason(error)}", "", broken=True)


def first_line(thing: object) -> str:
    """The first line of a docstring that is the thing's own; a dataclass's generated one is not."""
    document = inspect.cleandoc(getattr(thing, "__doc__", None) or "")
    name = getattr(thing, "__name__", "")
    return "" if document.startswith(f"{name}(") else document.split("\n")[0]


def pass_help(name: str) -> str:
    """The docstring of the pass `name`, and its options with their types and defaults."""
    found = find_pass(name)
    document = inspect.cleandoc(found.__doc__ or "") if first_line(found) else "(no description)"
    lines = [f"{name} ({found.__module__})", "", document, "", "Options:"]
    for option in get_pass_option_infos(found):
        default = "required" if option.default_value is None else f"default {option.default_value}"
        kind = option.expected_type.replace("typing.", "")
        lines.append(f"  {option.name.replace('_', '-')}: {kind}  ({default})")
    if len(lines) == 5:
        lines.append("  none")
    return "\n".join(lines) + "\n"


def _make_pass(spec: ArgSpec) -> ModulePass:
    found = find_pass(spec.name)
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


def _syntax_error(text: str, error: ArgSpecParseError) -> UsageError:
    """The message is a caret drawing: `..., file:line:column, text, caret, message`."""
    _, place, *_, message = [line.strip() for line in str(error).splitlines() if line.strip()]
    column = place.rpartition(":")[2]
    message = message[:1].lower() + message[1:]
    return UsageError(f"pipeline '{text}', character {column}: {message}")
