"""`model.c`, where the C of backends has states: one for each state of the library, given to its slots.

What is the same for all models knows nothing of it: the table of the library names the functions below,
which do theirs before or after. The state of calls by `<prefix>_<function>` begins with `<prefix>_bind`.
"""

from __future__ import annotations

from collections.abc import Sequence

from inarch.artifact.manifest import Import
from inarch.backends.c.text import string
from inarch.backends.c.write.abi.library_text import abi_text


def has_states(imports: Sequence[Import]) -> bool:
    """Whether the C of some backend has a state."""
    return any(slot.state for slot in imports)


def hooks_text(imports: Sequence[Import]) -> str:
    """The functions that the C of backends has for its states."""
    return "".join(abi_text("model.c", "HOOKS", name=each) for each in _names(imports))


def linked_text(prefix: str, imports: Sequence[Import]) -> str:
    """What makes, gives and ends states; nothing where there are none."""
    names = _names(imports)
    if not names:
        return ""
    hooks = [
        f"{{{string(each)}, {each}_init, {each}_destroy, {each}_last_error}}" for each in names
    ]
    owners = [names.index(slot.state) if slot.state else -1 for slot in imports]
    return abi_text(
        "model.c",
        "LINKED_BEGIN",
        prefix=prefix,
        count=len(names),
        slots=len(imports),
        hooks=", ".join(hooks),
        owners=", ".join(map(str, owners)),
    )


def linked_bind_text(prefix: str, imports: Sequence[Import]) -> str:
    """What begins with `bind`, behind the state that it is of."""
    names = _names(imports)
    if not names:
        return ""
    return abi_text("model.c", "LINKED_BIND", prefix=prefix, count=len(names))


def explained_text(imports: Sequence[Import]) -> str:
    """The initializer of who says why a function failed."""
    if not has_states(imports):
        return ""
    rows = [
        f"{{{slot.name}, {slot.state}_last_error}}" if slot.state else "{NULL, NULL}"
        for slot in imports
    ]
    return f" = {{{', '.join(rows)}}}"


def _names(imports: Sequence[Import]) -> list[str]:
    return list(dict.fromkeys(slot.state for slot in imports if slot.state))
