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

from inarch.core.errors import UsageError
from inarch.core.plugins import Extensions
from inarch.frontends.onnx.node import Converter

FAMILIES: Extensions[Mapping[str, Converter]] = Extensions(
    "inarch.frontends.onnx.ops", "CONVERTERS", in_rooms=True
)


def converters() -> Mapping[str, Converter]:
    """All converters by operator. Raises UsageError when two files define one operator.

    A family that cannot be imported is a warning: the operators of the others stay usable.
    """
    return _converters(FAMILIES.revision)


@lru_cache(maxsize=1)
def _converters(revision: int) -> Mapping[str, Converter]:
    del revision  # by which it is kept
    found: dict[str, Converter] = {}
    homes: dict[str, str] = {}
    for family, of_family in FAMILIES.working("its operators are unknown"):
        for op, converter in of_family.items():
            if op in found:
                raise UsageError(
                    f"operator '{op}' is converted twice: by '{homes[op]}' and by '{family}'; "
                    "remove one"
                )
            found[op], homes[op] = converter, family
    return found
