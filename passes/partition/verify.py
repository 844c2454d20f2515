"""The invariants of partitioning, checked after each pass: a violation is a bug of ours."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation

from inarch.core.errors import InarchError, InternalError
from inarch.dialects.graph.call import CallOp
from inarch.dialects.graph.composite import CompositeRegionOp
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.op import GraphOp
from inarch.ir.location import location_text
from inarch.passes.partition.common import (
    BACKEND,
    COMPILER,
    MATCH,
    PATTERN,
    REGION,
    check_registered,
    is_claimable,
    number_of,
    tensor_blocks,
    text_of,
)


def check_partition(module: ModuleOp) -> None:
    """Raises InternalError, at the op, where an invariant of partitioning does not hold.

    I1: an owner is on a graph op that is no constant and no call. I2: the ops of one match have one
    owner and one pattern, values of theirs are used outside, and no path leaves them and enters again.
    I3: the ops of one region have one owner, and regions, as single ops, make no cycle (so each is
    convex). I4: the function of a backend holds graph ops and its own composites only: nothing of
    another, no calls. I5: a composite elsewhere has the owner that its name says.
    """
    _check(module, InternalError)


def check_annotations(module: ModuleOp) -> None:
    """The same of what a pass is given, which a person may have written: raises InarchError.

    Also for a backend that does not exist.
    """
    check_registered(module)
    _check(module, InarchError)


def _check(module: ModuleOp, error: type[InarchError]) -> None:
    try:
        _check_all(module)
    except _Violation as violation:
        op, message = violation.args
        raise error(message, where=location_text(op)) from None


class _Violation(Exception):  # noqa: N818 - never leaves this file
    """An op and what is wrong with it."""


def _check_all(module: ModuleOp) -> None:
    for _, block in tensor_blocks(module):
        for op in block.ops:
            _check_owner(op)
        leaving = [_check_match(ops) for ops in _groups(block, MATCH)]
        if max(leaving, default=0) > 1:
            _check_acyclic(block, MATCH, "I2", "no cycle through matches")
        regions = _groups(block, REGION)
        for ops in regions:
            owners = {text_of(op, BACKEND) for op in ops}
            _require(len(owners) == 1, "I3", ops[0], f"one owner a region, found {_list(owners)}")
        if regions:
            _check_acyclic(block, REGION, "I3", "no cycle through regions")
    for function in module.body.ops:
        if isinstance(function, FuncOp) and (backend := text_of(function, COMPILER)):
            _check_function(function, backend)


def _require(condition: bool, label: str, op: Operation, message: str) -> None:
    if not condition:
        raise _Violation(op, f"partitioning {label}: '{op.name}': expected {message}")


def _list(names: Iterable[str | None]) -> str:
    return ", ".join(sorted(str(name) for name in names))


def _groups(block: Block, attribute: str) -> list[list[Operation]]:
    groups: dict[int, list[Operation]] = {}
    for op in block.ops:
        if (number := number_of(op, attribute)) is not None:
            groups.setdefault(number, []).append(op)
    return list(groups.values())


def _check_owner(op: Operation) -> None:
    owner = text_of(op, BACKEND)
    marks = any(name in op.attributes for name in (PATTERN, MATCH, REGION))
    _require(owner is not None or not marks, "I1", op, "an owner beside other partition attributes")
    _require(owner is None or is_claimable(op), "I1", op, "an owner on claimable ops only")
    if isinstance(op, CompositeRegionOp):
        _require(owner == op.backend, "I5", op, f"owner {op.backend} of a composite, found {owner}")


def _check_match(ops: list[Operation]) -> int:
    """How many of its ops have users outside."""
    owners = {(text_of(op, BACKEND), text_of(op, PATTERN)) for op in ops}
    _require(len(owners) == 1, "I2", ops[0], "one owner and one pattern a match")
    inside = set(ops)
    leaving = [op for op in ops if _users(op) - inside]
    _require(len(leaving) > 0, "I2", ops[0], "an op of a match with users outside, found none")
    return len(leaving)


def _users(op: Operation) -> set[Operation]:
    return {use.operation for result in op.results for use in result.uses}


def _check_acyclic(block: Block, attribute: str, label: str, expected: str) -> None:
    """Kahn's algorithm on the quotient: those of one number, and single ops by themselves."""
    unit = {op: number_of(op, attribute) for op in block.ops}
    node: dict[Operation, int] = {op: -1 - index for index, op in enumerate(unit)}
    node |= {op: number for op, number in unit.items() if number is not None}
    after: dict[int, set[int]] = {n: set() for n in node.values()}
    for op in unit:
        for user in _users(op):
            if user in node and node[user] != node[op]:
                after[node[op]].add(node[user])
    waiting = dict.fromkeys(after, 0)
    for users in after.values():
        for user in users:
            waiting[user] += 1
    ready = [n for n, count in waiting.items() if count == 0]
    while ready:
        current = ready.pop()
        del waiting[current]
        for user in after[current]:
            waiting[user] -= 1
            if waiting[user] == 0:
                ready.append(user)
    for op in unit:
        _require(node[op] not in waiting, label, op, expected)


def _check_function(function: FuncOp, backend: str) -> None:
    for op in function.body.ops if function.body.blocks else ():
        plain = isinstance(op, GraphOp | ReturnOp) and not isinstance(op, CallOp)
        _require(plain, "I4", op, f"graph ops that are no calls in a function of {backend}")
        owner = op.backend if isinstance(op, CompositeRegionOp) else backend
        _require(owner == backend, "I4", op, f"no composite of {owner} in a function of {backend}")
        constant = isinstance(op, ConstantOp)
        _require(constant or BACKEND not in op.attributes, "I4", op, "no owner in a function")
