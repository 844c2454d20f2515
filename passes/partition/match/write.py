"""Owners as attributes of ops: how passes leave to each other who has what."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Operation

from inarch.passes.partition.common import BACKEND, MATCH, PATTERN, number_of
from inarch.passes.partition.match.claims import Claims


def write_claims(module: ModuleOp, claims: Claims) -> None:
    """Writes the owners; matches are numbered in the order of their last ops."""
    used = [number_of(op, MATCH) for op in module.walk()]
    count = max((number for number in used if number is not None), default=-1) + 1
    numbers: dict[Operation, IntegerAttr] = {}
    for op in claims.ops:
        claim = claims.owners.get(op)
        if claim is not None and claim.match is not None and claim.match.root is op:
            numbers[op] = IntegerAttr(count, 64)
            count += 1
    for op, claim in claims.owners.items():
        op.attributes[BACKEND] = StringAttr(claim.backend)
        if claim.match is not None and claim.pattern is not None:
            op.attributes[PATTERN] = StringAttr(claim.pattern)
            op.attributes[MATCH] = numbers[claim.match.root]
