"""The C of work sharing: the pool of `pool.c`, and how a model asks for one."""

from __future__ import annotations

from inarch.backends.c.write.abi.library_text import abi_text


def pool_includes() -> str:
    """Before all other headers: C11 alone has neither clocks nor threads of POSIX."""
    return abi_text("model.c", "POOL_INCLUDES")


def pool_text(linkage: str) -> str:
    """The pool, which follows `pool_includes` and `types_text`; `linkage` of the names for the model."""
    return "\n" + abi_text("pool.c", linkage=linkage)


def threads_text(*, shared: bool, pool: bool, most: int) -> str:
    """How the unchecked entries share iterations: among at most so many threads, 0: as many as are said.

    `shared`: the pool is in a unit of its own.
    """
    if not pool:
        return ""
    bound = abi_text("model.c", "MOST", most=most) if most else ""
    own = abi_text("model.c", "OWN_POOL") if shared else ""
    return own + abi_text("model.c", "SHARE", most=bound)
