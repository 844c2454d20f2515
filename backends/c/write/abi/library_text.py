"""The C that is the same for all models: the types of inarch.h, checks, states, calls."""

from __future__ import annotations

import re
from functools import cache, partial

from inarch.artifact.manifest import ABI
from inarch.backends.c.offloaded import INCLUDE
from inarch.core.pieces import filled

abi_text = partial(filled, "inarch.backends.c.write.abi")
"""The C of a file, or of a piece of it, that is beside this one."""

_HIDDEN = '__attribute__((visibility("hidden"))) '
_COMMENT = re.compile(r"[ \t]*/\*.*?\*/", re.DOTALL)
_PARTS = ("arguments.c", "workspaces.c", "state.c", "run.c")


@cache
def types_text() -> str:
    """inarch.h without what it says to people: nothing where that comes first, or after."""
    text = (INCLUDE / "inarch.h").read_text().partition("\n#ifndef INARCH_SCALARS")[0]
    text = _COMMENT.sub("", text)
    text = re.sub(r"[ \t]+\n", "\n", text)
    text = re.sub(r"\n{3,}", "\n\n", text)
    return (
        f"\n/* inarch.h, where it does not come first. */\n{text.strip()}\n"
        f'#if INARCH_ABI_VERSION != {ABI}\n#error "made for inarch.h of ABI version {ABI}: compile the model '
        'again"\n#endif\n'
    )


def _whole(name: str, **values: str) -> str:
    return "\n" + abi_text(name, **values)


def environment_text() -> str:
    """What entries, and parts of loops, begin and end with: the thread's floating-point environment."""
    return _whole("environment.c")


def internal_text(*, shared: bool) -> str:
    """What the library is inside, for `model.c`. `shared`: its functions are in a unit of their own."""
    linkage = _HIDDEN if shared else "static "
    variable = f"{_HIDDEN}extern __thread" if shared else "static __thread"
    variable = f"{variable} inarch_thread inarch_here;"
    return abi_text("cpu.c", "BASELINE") + _whole("internal.h", linkage=linkage, variable=variable)


def library_text(cpu: str, *, shared: bool) -> str:
    """Those functions, behind `internal_text`; `cpu` is C of `inarch_check_cpu`, or empty."""
    linkage = "" if shared else "static "
    text = "\n__thread inarch_thread inarch_here;\n" if shared else ""
    text += "".join(_whole(name, linkage=linkage) for name in _PARTS)
    return text + (cpu or abi_text("cpu.c", "NO_CHECK", linkage=linkage))
