"""Checks what a backend states, before it is asked: names of ops, roots of patterns."""

from __future__ import annotations

from fnmatch import fnmatchcase

from xdsl.context import Context

from inarch.core.errors import UsageError, unknown
from inarch.offload.backend import Backend
from inarch.offload.pattern import NamedPattern, Op, op_names, parts_of, roots_of


def check_patterns(ctx: Context, backend: Backend) -> None:
    """Raises UsageError, naming the backend and the pattern, for one that can never match."""
    for name in backend.op_names():
        _check_op(ctx, name, f"the ops of backend '{backend.name}'")
    seen: set[str] = set()
    for named in backend.patterns:
        what = f"pattern '{named.name}' of backend '{backend.name}'"
        if named.name in seen:
            raise UsageError(f"{what} is there twice; give each a name of its own")
        seen.add(named.name)
        _check_pattern(ctx, named, what)


def _check_pattern(ctx: Context, named: NamedPattern, what: str) -> None:
    if not roots_of(named.pattern):
        raise UsageError(
            f"{what} may end in something that is no op: {named.pattern}; expected an op at its root"
        )
    for name in sorted(op_names(named.pattern, *named.others)):
        _check_op(ctx, name, what)
    known = parts_of(named.pattern)
    for other in named.others:
        if not parts_of(other) & known:
            raise UsageError(
                f"{what}: expected a further root that shares a part (one Python object) with those "
                f"before, found {other}"
            )
        known |= parts_of(other)
    for part in known:
        if isinstance(part, Op) and part.commutative and len(part.operands) != 2:
            raise UsageError(
                f"{what}: expected 2 operands of a commutative op, found {len(part.operands)} "
                f"in {part}"
            )


def _check_op(ctx: Context, name: str, what: str) -> None:
    if "*" not in name:
        if ctx.get_optional_op(name) is None:  # which loads the dialect
            known = {op.name for op in ctx.loaded_ops if op.name.startswith("graph.")}
            raise unknown("op", name, known, within=what)
        return
    dialect = ctx.get_optional_dialect(name.partition(".")[0])
    if dialect is None or not any(fnmatchcase(op.name, name) for op in dialect.operations):
        raise UsageError(f"{what}: expected a glob that ops have, found '{name}'")
