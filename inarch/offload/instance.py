"""Instances of backends: in text, in a program, and as one compilation asks them.

    npu                       the backend with its defaults
    npu:array=16,memory=4MiB  with options
    big=npu:array=32          under a name, by which it owns ops and its symbols begin

A program says in `partition.instances = ["big=npu:array=32"]` which instances it has that are more than the
name of a backend: so every pass, and who parses the text again, knows their options.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from inspect import Parameter, signature
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation

from inarch.core.blame import raised
from inarch.core.errors import InarchError, UsageError, unknown
from inarch.ir.location import location_text
from inarch.ir.target import GENERIC, machine_of, target_name
from inarch.offload.backend import BACKENDS, Backend, Instance, Request

INSTANCES = "partition.instances"
HOW_TO_REGISTER = "add one as backends/<name>.py or with --load FILE.py"
FORM = "expected [NAME=]BACKEND[:OPTION=VALUE,...]"

_SETTING = re.compile(r"([^=,:'\s]+)=('(?:[^']|'')*'|[^,']*)")


@dataclass(frozen=True)
class Written:
    """What the text of an instance says, which nothing was looked up of."""

    name: str
    backend: str
    options: Mapping[str, str]

    def configured(self, backend: Backend) -> Instance:
        """The instance of `backend`. Raises UsageError for an option that it does not have."""
        return Instance.of(backend, self.name, self.options)


# ---------------------------------------------------------------------------------- in text


def read_instances(text: str, what: str) -> list[Written]:
    """The instances that `text` lists: `big=npu:array=32,memory=1MiB` is one, `npu:array=16,cblas` are two.

    A value with a comma stands in single quotes. What follows a `:` and has a `=` is an option of the same
    instance: another one with a name begins a text of its own. Raises UsageError, which begins with `what`.
    """
    found: list[Written] = []
    options: dict[str, str] | None = None
    for part in _parts(text, what):
        head, colon, setting = part.partition(":")
        if options is not None and "=" in head:
            _set(options, part, what)
            continue
        name, equals, backend = head.rpartition("=")
        if not backend or (equals and not name) or "=" in name or (colon and not setting):
            raise UsageError(f"{what}: {FORM}, found '{part}'")
        own: dict[str, str] = {}
        if colon:
            _set(own, setting, what)
        options = own if colon else None
        found.append(Written(name or backend, backend, own))
    return found


def _parts(text: str, what: str) -> Iterator[str]:
    """The pieces between commas that are in no quotes."""
    start, inside = 0, False
    for index, char in enumerate(text):
        inside ^= char == "'"
        if char == "," and not inside:
            yield text[start:index].strip()
            start = index + 1
    if inside:
        raise UsageError(f"{what}: expected a ' at the end of a value, found {text[start:]}")
    if last := text[start:].strip():
        yield last


def _set(options: dict[str, str], setting: str, what: str) -> None:
    match = _SETTING.fullmatch(setting)
    if match is None:
        raise UsageError(f"{what}: expected OPTION=VALUE after ':', found '{setting}'")
    name, value = match[1], match[2]
    if value.startswith("'"):
        value = value[1:-1].replace("''", "'")
    if options.setdefault(name, value) != value:
        raise UsageError(
            f"{what}: option '{name}' is given twice: {options[name]} and {value}; for an instance called "
            f"'{name}' write another --backend"
        )


def instance_from(text: str, what: str) -> Instance:
    """The one instance that `text` says. Raises UsageError."""
    written = read_instances(text, what)
    if len(written) != 1:
        raise UsageError(f"{what}: {FORM}, found '{text}'")
    (one,) = written
    if one.backend not in BACKENDS:
        raise UsageError(
            f"{what}: {unknown('backend', one.backend, BACKENDS).message}; {HOW_TO_REGISTER}"
        )
    return one.configured(BACKENDS[one.backend])


# ---------------------------------------------------------------------------------- in a program


@dataclass(frozen=True)
class Asked:
    """An instance as one compilation asks it."""

    instance: Instance
    backend: Backend
    """As the instance has it: with its name, and what `specialize` made of it."""
    request: Request

    @property
    def name(self) -> str:
        """Of the instance: who owns what it takes."""
        return self.instance.name

    @property
    def origin(self) -> str:
        """Where the backend comes from."""
        return BACKENDS.origin(self.instance.backend.name).source


class Instances:
    """The instances of a program, by name; every backend is one with its defaults, by its own."""

    def __init__(self, context: Context, module: ModuleOp) -> None:
        """Raises InarchError for an attribute that says none."""
        self._context = context
        self._module = module
        self._asked: dict[str, Asked] = {}
        self._declared = {one.name: one for one in _declared(module)}

    def __contains__(self, name: object) -> bool:
        """Whether the program itself says of an instance `name`."""
        return name in self._declared

    def named(self, name: str, op: Operation | None = None) -> Instance:
        """The instance `name`, which `op` (if given) names. Raises with the nearest name."""
        if name in self._declared:
            return self._declared[name]
        if name in BACKENDS:
            return Instance(name, BACKENDS[name])
        known = [*BACKENDS, *self._declared]
        message = f"{unknown('backend', name, known).message}; {HOW_TO_REGISTER}"
        where = None if op is None else location_text(op)
        raise UsageError(message) if op is None else InarchError(message, where=where)

    def declare(self, instance: Instance) -> Instance:
        """The program has `instance` from here on. Raises UsageError where it has another of the name."""
        known = self._declared.get(instance.name)
        if known is not None and instance.is_plain and known.backend == instance.backend:
            return known  # by its name
        if known is not None and known != instance:
            raise clash(known, instance)
        if not instance.is_plain and known is None:
            self._declared[instance.name] = instance
            texts = [StringAttr(str(one)) for one in self._declared.values()]
            self._module.attributes[INSTANCES] = ArrayAttr(texts)
        return instance

    def override(self, name: str, options: Mapping[str, str]) -> None:
        """The instance `name` has `options` instead of those that the program says. Raises UsageError."""
        one = self.named(name)
        self._declared[name] = Instance.of(one.backend, name, {**dict(one.given), **options})

    def asked(self, name: str, op: Operation | None = None) -> Asked:
        """The instance `name`, as this compilation asks it. Raises InarchError when `specialize` fails."""
        if name not in self._asked:
            self._asked[name] = _asked(self.named(name, op), self._context, self._module)
        return self._asked[name]


def clash(one: Instance, other: Instance) -> UsageError:
    """The error for two instances of one name."""
    unnamed = replace(other, name=other.backend.name)
    return UsageError(
        f"backend '{one.name}' is asked for as {one} and as {other}; give one of them a name of its own, "
        f"such as other={unnamed}"
    )


def _declared(module: ModuleOp) -> Iterator[Instance]:
    found = module.attributes.get(INSTANCES)
    if found is None:
        return
    texts = list(cast("ArrayAttr[Attribute]", found)) if isinstance(found, ArrayAttr) else [found]
    for text in texts:
        if not isinstance(text, StringAttr):
            raise InarchError(
                f'expected {INSTANCES} = ["NAME=BACKEND:OPTION=VALUE", ...], found {found}',
                where=location_text(module),
            )
        yield instance_from(text.data, INSTANCES)


def _asked(instance: Instance, context: Context, module: ModuleOp) -> Asked:
    request = Request(
        context=context,
        target=target_name(module) or GENERIC,
        machine=machine_of(module),
        options=instance.options,
        instance=instance.name,
    )
    return Asked(instance, specialized(instance, request), request)


def specialized(instance: Instance, request: Request) -> Backend:
    """The backend as `instance` has it, with its name. Raises InarchError."""
    backend = instance.backend
    if backend.specialize is None:
        return replace(backend, name=instance.name)
    origin = BACKENDS.origin(backend.name)
    label = f"backend '{instance.name}' [{origin.source}]: specialize"
    try:
        found = backend.specialize(backend, request)
    except InarchError as error:
        error.message = f"{label}: {error.message}"
        raise
    except Exception as error:
        # A backend's code may fail in any way; the person who wrote it needs the place, not ours.
        raise InarchError(f"{label} {raised(error, origin)}") from error
    if not isinstance(found, Backend):  # pyright: ignore[reportUnnecessaryIsInstance] - a plugin's
        raise InarchError(f"{label}: expected a Backend, found {type(found).__name__}")
    for field in ("name", "options", "emit", "emit_text", "specialize"):
        if getattr(found, field) != getattr(backend, field):
            raise InarchError(f"{label}: expected the same {field} as before, found another one")
    return replace(found, name=instance.name)


# ---------------------------------------------------------------------------------- asking


def wants_request(function: Callable[..., Any]) -> bool:
    """Whether a backend's function has a second parameter, without a default, for the `Request`."""
    try:
        parameters: Iterable[Parameter] = signature(function).parameters.values()
    except (TypeError, ValueError):  # of a builtin
        return False
    plain = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    needed = [one for one in parameters if one.kind in plain and one.default is Parameter.empty]
    return len(needed) > 1
