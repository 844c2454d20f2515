"""The operators of ONNX that Inarch reads: rooms of families, one file a family, one function an operator.

`frontends/onnx/ops/<room>/<family>.py` defines `CONVERTERS`, from the operator's name (`Conv`;
`com.microsoft.Gelu` outside the default domain) to a function from a `Node` to its outputs. To add an
operator, write a function and its test in `tests/unit/frontends/test_onnx_ops.py`; nothing else is
edited. A converter of an operator that the package onnx has no schema of is `under` a `Contract`, which
checks what it is given. Without a converter, an operator that ONNX defines by a function of others is
replaced by that.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from xdsl.ir import SSAValue

from inarch.core.errors import UsageError
from inarch.core.plugins import Extensions
from inarch.core.scalars.functions import OF_OTHERS, Function
from inarch.dialects.function import op_of
from inarch.frontends.onnx.node import Converter, Node

FAMILIES: Extensions[Mapping[str, Converter]] = Extensions(
    "inarch.frontends.onnx.ops", "CONVERTERS", in_rooms=True
)


def converters() -> Mapping[str, Converter]:
    """All converters by operator. Raises UsageError when two files define one operator.

    A family that cannot be imported is a warning: the operators of the others stay usable.
    """
    return _converters(FAMILIES.revision, OF_OTHERS.revision)


@lru_cache(maxsize=1)
def _converters(*revisions: int) -> Mapping[str, Converter]:
    del revisions  # by which it is kept
    found: dict[str, Converter] = {}
    homes: dict[str, str] = {}
    functions = {
        row.onnx: _function(row)
        for _, row in OF_OTHERS.working("its operator is unknown")
        if row.onnx
    }
    for family, of_family in [
        *FAMILIES.working("its operators are unknown"),
        ("functions", functions),
    ]:
        for op, converter in of_family.items():
            if op in found:
                raise UsageError(
                    f"operator '{op}' is converted twice: by '{homes[op]}' and by '{family}'; "
                    "remove one"
                )
            found[op], homes[op] = converter, family
    return found


def _function(row: Function) -> Converter:
    """Of the operator that is a scalar function of others."""

    def convert(node: Node) -> SSAValue:
        return node.emit(op_of(row), *(node.x(index) for index in range(row.arity)))

    return convert
