"""Verification of whole programs in linear time, with one-line errors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping

from xdsl.dialects.builtin import (
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
)
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.irdl.dominance import DominanceInfo
from xdsl.traits import IsTerminator, NoTerminator
from xdsl.utils.exceptions import VerifyException

from inarch.core.errors import InarchError, reason
from inarch.ir.index.inside import check_inside
from inarch.ir.location import location_text
from inarch.ir.report.fingerprint import Fingerprint
from inarch.ir.text import ESCAPES

MOST_ERRORS = 20
"""Of one program: what is behind them is seen when these are mended."""


class SymbolUser(ABC):
    """An op whose meaning depends on the symbols that it names: checked once a module."""

    @abstractmethod
    def verify_symbols(self, symbols: Mapping[str, Operation]) -> None:
        """Raises VerifyException when what a symbol stands for does not fit; all of them exist."""


class Verified:
    """What was verified before: of a program that a pass has changed, the rest is not verified again.

    An op in a function's body counts with all that is nested in it.
    """

    def __init__(self) -> None:
        self._known: dict[Operation, Fingerprint] = {}
        self._found: dict[Operation, Fingerprint] = {}

    def is_known(self, op: Operation) -> bool:
        """Whether `op` is as it was when all was verified last."""
        made = self._found[op] = Fingerprint(op)
        known = self._known.get(op)
        return known is not None and known.is_same(made)

    def keep(self) -> None:
        """All of the program has been verified."""
        self._known, self._found = self._found, {}


def verify_module(module: ModuleOp, verified: Verified | None = None) -> None:
    """Checks every op, SSA dominance, symbol uses and static accesses in one linear pass.

    xDSL's own `verify` checks no dominance, looks symbols up by linear scan, and attaches the text of
    the whole module to its errors. With `verified`, ops that it knows are not looked into again: only what
    depends on other ops is. Raises InarchError at the op's location; `more` of it are those of other ops.
    """
    order = {op: index for index, op in enumerate(module.walk())}
    symbols = _symbols(module)
    dominance: dict[int, DominanceInfo] = {}
    known = _known_ops(module, verified) if verified is not None else set[Operation]()
    errors: list[InarchError] = []
    for op in order:
        try:
            if op not in known:
                _check_op(op)
            _check_operands(op, order, dominance)
            _check_symbols(op, symbols)
        except InarchError as error:
            errors.append(error)
            if len(errors) == MOST_ERRORS:
                break
    if errors:
        errors[0].more = errors[1:]
        raise errors[0]
    # Last: the ops that symbols stand for have been verified by now.
    for op in order:
        verify_symbol_user(op, symbols)
    if verified is not None:
        verified.keep()


def _check_op(op: Operation) -> None:
    try:
        _check_terminator(op)
        op.verify_()
        check_inside(op)
    except VerifyException as error:
        raise _at(op, f"'{op.name}' {reason(error)}") from error
    except RecursionError as error:
        message = f"'{op.name}' expected less nesting of what it is made of"
        raise _at(op, message) from error
    except ESCAPES as error:
        if type(op).__module__.startswith("inarch."):
            raise  # a fault of ours
        detail = f"{type(error).__name__}: {reason(error)}"
        raise _at(op, f"'{op.name}' is not sound; its check failed with {detail}") from error


def _check_symbols(op: Operation, symbols: Mapping[str, Operation]) -> None:
    for name, reference in _symbol_uses(op):
        if reference not in symbols:
            known = ", ".join(f"@{s}" for s in sorted(symbols)) or "none"
            raise _at(op, f"'{op.name}' {name} refers to no symbol @{reference}; known: {known}")


def _known_ops(module: ModuleOp, verified: Verified) -> set[Operation]:
    """The ops that need no look: those in the bodies of functions that are as they were."""
    found: set[Operation] = set()
    for function in module.body.ops:
        for region in function.regions:
            for block in region.blocks:
                for op in block.ops:
                    if verified.is_known(op):
                        found.update(op.walk())
    return found


def verify_symbol_user(op: Operation, symbols: Mapping[str, Operation]) -> None:
    """`op.verify_symbols`, if it has any, with InarchError at the op's location."""
    if not isinstance(op, SymbolUser):
        return
    try:
        op.verify_symbols(symbols)
    except VerifyException as error:
        raise _at(op, f"'{op.name}' {reason(error)}") from error


def _at(op: Operation, message: str) -> InarchError:
    return InarchError(message, where=location_text(op))


def _check_terminator(op: Operation) -> None:
    for region in op.regions:
        for block in region.blocks:
            last = block.last_op
            if op.has_trait(NoTerminator, value_if_unregistered=True):
                continue
            if last is None or not last.has_trait(IsTerminator, value_if_unregistered=True):
                found = "an empty block" if last is None else f"'{last.name}'"
                raise VerifyException(f"expected a region that ends in a terminator, found {found}")


def _symbols(module: ModuleOp) -> dict[str, Operation]:
    found: dict[str, Operation] = {}
    for op in module.body.ops:
        name = op.properties.get("sym_name", op.attributes.get("sym_name"))
        if isinstance(name, StringAttr):
            if name.data in found:
                raise _at(op, f"'{op.name}' redefines symbol @{name.data}")
            found[name.data] = op
    return found


def _symbol_uses(op: Operation) -> Iterator[tuple[str, str]]:
    for table in (op.properties, op.attributes):
        for name, attribute in table.items():
            if isinstance(attribute, SymbolRefAttr):
                yield name, attribute.root_reference.data


def _check_operands(
    op: Operation, order: Mapping[Operation, int], dominance: dict[int, DominanceInfo]
) -> None:
    for index, operand in enumerate(op.operands):
        if not _dominates(operand, op, order, dominance):
            name = operand.name_hint
            which = f"%{name}" if name else f"number {index}"
            inner = _body_of(operand, op)
            if inner is not None:
                raise _at(
                    op,
                    f"'{op.name}' expected operand {which} to be defined around it, found it in a body of "
                    f"'{inner.name}'; carry it in what is from outside of that",
                )
            raise _at(op, f"'{op.name}' operand {which} is used before it is defined")


def _body_of(value: SSAValue, user: Operation) -> Operation | None:
    """The op in a body of which a value is defined, where that body is not around its user."""
    home = value.owner if isinstance(value.owner, Block) else value.owner.parent
    region = home.parent if home is not None else None
    around: Operation | None = user
    while around is not None:
        if around.parent_region() is region:
            return None
        around = around.parent_op()
    return region.parent_op() if region is not None else None


def _dominates(
    value: SSAValue,
    user: Operation,
    order: Mapping[Operation, int],
    dominance: dict[int, DominanceInfo],
) -> bool:
    home = value.owner if isinstance(value.owner, Block) else value.owner.parent
    if home is None or home.parent is None:
        return False
    region = home.parent
    inside: Operation | None = user
    while inside is not None and (inside.parent is None or inside.parent.parent is not region):
        inside = inside.parent_op()
    if inside is None or inside.parent is None:
        return False
    if inside.parent is home:
        if not isinstance(value, OpResult):
            return True
        # `walk` visits an op before those nested in it, so its order within one block is the block's.
        return value.op in order and order[value.op] < order[inside]
    if id(region) not in dominance:
        dominance[id(region)] = DominanceInfo(region)
    return dominance[id(region)].strictly_dominates(home, inside.parent)
