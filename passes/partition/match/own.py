"""Passes of a backend's own: their text, running them blamed and verified, and the constants afterwards.

What a backend `requires` runs on a copy of the program before it is asked (`required.py`); its `passes` run
on a copy of the functions that it got, before it emits them. Either way the text of a pass may use the
instance's options: `"quantize{scale=$scale}"`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import DenseResourceAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import parse_pipeline
from xdsl.utils.exceptions import ArgSpecParseError

from inarch.core.blame import raised
from inarch.core.errors import InarchError, UsageError, reason, unknown
from inarch.ir.context import store_of
from inarch.ir.report.facts import facts_of
from inarch.ir.verify import verify_module
from inarch.offload.instance import Asked
from inarch.passes import PASSES


@dataclass
class OwnPasses:
    """A fact: the names of the passes that backends have, which therefore are in no pipeline."""

    names: set[str] = field(default_factory=set[str])


def passes_of_backends(ctx: Context) -> set[str]:
    """The names of the passes that the backends which were asked have."""
    return (facts_of(ctx).get(OwnPasses) or OwnPasses()).names


_OPTION = re.compile(r"\$([A-Za-z][A-Za-z0-9_-]*)")


def own_passes(asked: Asked, texts: Sequence[str], verb: str) -> tuple[ModulePass, ...]:
    """The passes that a backend names, with their options and its own. Raises UsageError for what is none."""
    found: list[ModulePass] = []
    facts = facts_of(asked.request.context)
    known = facts.get(OwnPasses) or OwnPasses()
    facts.put(known)
    for text in texts:
        filled = _OPTION.sub(lambda match, text=text: _value(asked, match[1], text, verb), text)
        try:
            (spec,) = parse_pipeline(filled)
            if spec.name not in PASSES:
                raise unknown("pass", spec.name, PASSES)
            found.append(PASSES[spec.name].from_spec(spec.normalize_parameter_names()))
            known.names.add(spec.name)
        except InarchError as error:
            raise UsageError(f"backend '{asked.name}' {verb}: {error.message}") from error
        except ArgSpecParseError:  # derives from BaseException
            what = "expected PASS or PASS{OPTION=VALUE ...}"
            raise _not_a_pass(asked, filled, what, verb) from None
        except (ValueError, TypeError) as error:  # an option that it has not, or not so
            raise _not_a_pass(asked, filled, reason(error), verb) from error
    return tuple(found)


def _value(asked: Asked, option: str, text: str, verb: str) -> str:
    """An option of the instance as an option of a pass: a number as it is, text in quotes."""
    texts, values = asked.instance.texts, asked.request.options
    if option not in texts:
        error = unknown("option", option, texts, within=f"backend '{asked.name}'")
        raise _not_a_pass(asked, text, error.message, verb)
    value = values[option]
    if isinstance(value, bool | int | float):
        return str(value).lower()
    return f'"{texts[option]}"'


def _not_a_pass(asked: Asked, text: str, what: str, verb: str) -> UsageError:
    return UsageError(f"backend '{asked.name}' {verb} '{text}': {what}")


@contextmanager
def on_functions(
    asked: Asked, module: ModuleOp, functions: Sequence[FuncOp]
) -> Generator[Sequence[FuncOp]]:
    """What the backend's `passes` make of copies of its `functions` of `module`, while they are emitted.

    The copies are in a module of their own, so that nothing else is there to be changed; afterwards the
    store has the constants that it had. Raises as `run_own`.
    """
    passes, ctx = own_passes(asked, asked.backend.passes, "has the pass"), asked.request.context
    if not passes:
        yield functions
        return
    copies = [function.clone() for function in functions]
    alone = ModuleOp(list(copies), dict(module.attributes))
    with store_kept(ctx, module):
        run_own(ctx, alone, passes, asked, set(alone.walk()), "has")
        found = {each.sym_name.data: each for each in alone.body.ops if isinstance(each, FuncOp)}
        yield [found[function.sym_name.data] for function in functions]


def run_own(
    ctx: Context,
    module: ModuleOp,
    passes: Iterable[ModulePass],
    asked: Asked,
    copies: Collection[Operation],
    verb: str,
) -> None:
    """Runs passes on `module`, a copy; `copies` are its ops that stand for ops of the program.

    Raises InarchError, naming pass and backend, for one that raises, leaves an invalid program, changes a
    function's signature or the bytes of a constant of the program.
    """
    functions = _signatures(module)
    for each in passes:
        name = each.name

        def error(what: str, name: str = name) -> InarchError:
            return InarchError(
                f"pass '{name}' [{PASSES.origin(name).source}], which backend '{asked.name}' "
                f"[{asked.origin}] {verb}: {what}"
            )

        constants = constants_of(ctx)
        with _blamed(name, error):
            each.apply(ctx, module)
        _check_constants(ctx, module, constants, copies, error)
        try:
            verify_module(module)
        except InarchError as found:
            raise error(f"leaves an invalid program: {found}") from found
        for symbol, kind in functions.items():
            now = _signatures(module).get(symbol)
            if now != kind:
                what = "removes" if now is None else "changes the signature of"
                raise error(f"{what} @{symbol}; it may change bodies only")


def _check_constants(
    ctx: Context,
    module: ModuleOp,
    before: Mapping[str, memoryview],
    copies: Collection[Operation],
    error: Callable[[str], InarchError],
) -> None:
    """New bytes under the key of a constant that the pass dropped get a key of their own."""
    store = store_of(ctx)
    for key, data in constants_of(ctx).items():
        if key not in before or data is before[key]:
            continue
        users = [op for op in module.walk() if key in _keys(op)]
        if any(op in copies for op in users):
            raise error(f"changes the bytes of constant '{key}'; it may put new ones in the store")
        store.set(key, before[key])
        handle = DenseResourceAttr.from_params
        fresh = store.put(key, data)
        for op in users:
            op.properties |= {
                each: handle(fresh, value.type)
                for each, value in op.properties.items()
                if isinstance(value, DenseResourceAttr)
            }


@contextmanager
def _blamed(name: str, error: Callable[[str], InarchError]) -> Generator[None]:
    """Whatever the pass raises is its own, in one line."""
    try:
        yield
    except InarchError as found:
        raise error(str(found)) from found
    except Exception as found:
        raise error(raised(found, PASSES.origin(name))) from found


def _signatures(module: ModuleOp) -> Mapping[str, object]:
    return {f.sym_name.data: f.function_type for f in module.body.ops if isinstance(f, FuncOp)}


# ---------------------------------------------------------------------------------- constants


@contextmanager
def store_kept(ctx: Context, module: ModuleOp) -> Generator[Callable[[], None]]:
    """Afterwards the store has what `module` uses, and nothing of what was tried; yields how to begin anew.

    Passes put new constants there, and drop what they replace: also where that comes to nothing.
    """
    store, before, used_before = store_of(ctx), constants_of(ctx), _used(module)

    def restore() -> None:
        for key in set(before) - set(store.keys()):
            store.set(key, before[key])

    try:
        yield restore
    finally:
        used, now = _used(module), set(store.keys())
        for key in (now - set(before) | used_before) - used:
            store.drop(key)
        for key in (set(before) - now) & used:
            store.set(key, before[key])


def constants_of(ctx: Context) -> dict[str, memoryview]:
    """The bytes of all constants of the store, by key."""
    store = store_of(ctx)
    return {key: store.get(key) for key in store.keys()}  # noqa: SIM118 - not a mapping


def _used(module: ModuleOp) -> set[str]:
    return {key for op in module.walk() for key in _keys(op)}


def _keys(op: Operation) -> set[str]:
    """The constants of the store that an op has."""
    values = op.properties.values()
    return {v.resource_handle.data for v in values if isinstance(v, DenseResourceAttr)}
