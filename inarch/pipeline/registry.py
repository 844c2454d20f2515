"""What passes there are: ours and plugins' (`inarch.passes.PASSES`), then xDSL's own."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from xdsl.passes import ModulePass, get_pass_option_infos
from xdsl.transforms import get_all_passes

from inarch.core.errors import InarchError, UsageError, reason, unknown
from inarch.passes import PASSES


@dataclass(frozen=True)
class Card:
    """What a list shows of one thing: its name, its docstring's first line, where it comes from."""

    name: str
    summary: str
    origin: str
    broken: bool = False


def is_pass(name: str) -> bool:
    """Whether a pass is called so, of whomever."""
    return name in PASSES or name in get_all_passes()


def find_pass(name: str, *, phases: Iterable[str] = ()) -> type[ModulePass]:
    """The pass called `name`. Raises UsageError if there is none, InarchError if it is broken.

    `phases`: what else may stand where the name does, and may be what was meant.
    """
    theirs = get_all_passes()
    if name not in PASSES:
        if name not in theirs:
            from difflib import get_close_matches

            near = get_close_matches(name, theirs, n=1)  # of 130, most of which cannot run here
            raise unknown("pass", name, {*PASSES, *near, *phases})
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


def pass_cards(dialects: Collection[str]) -> list[Card]:
    """A card for every pass: ours and plugins', then those of xDSL that need no others than `dialects`.

    A broken one has its reason.
    """
    ours = [_card(name, lambda name=name: PASSES.origin(name).source) for name in PASSES]
    known = {*dialects, "builtin", "utils"}
    theirs = [
        _card(name, lambda found=found: found.__module__)
        for name, factory in sorted(get_all_passes().items())
        if name not in PASSES and not name.startswith("test-")
        if known.issuperset(_dialects_of(found := factory()))
    ]
    return [*ours, *theirs]


def _dialects_of(found: type[ModulePass]) -> Iterator[str]:
    """What the module of a pass of xDSL imports of `xdsl.dialects` and `xdsl.backend` (`riscv`, `x86`).

    There is no other word of what a pass reads and makes.
    """
    module = inspect.getmodule(found)
    assert module is not None
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if not isinstance(node, ast.ImportFrom) or node.module is None:
            continue
        package, *inner = node.module.removeprefix("xdsl.").split(".")
        if package in ("dialects", "backend"):
            yield from inner[:1] or (each.name for each in node.names)


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
