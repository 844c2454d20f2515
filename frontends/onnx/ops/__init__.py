"""The operators of ONNX that Inarch reads: one file a family, one function an operator.

A file defines `CONVERTERS`, from the operator's name (`Conv`; `com.microsoft.Gelu` outside the default
domain) to a function from a `Node` to its outputs. To add an operator, write a function and its test
in `tests/unit/test_onnx_ops.py`; nothing else is edited. Without a converter, an operator that ONNX
defines by a function of others is replaced by that.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import cache

from inarch.core.errors import InarchError, UsageError
from inarch.core.plugins import Extensions
from inarch.frontends.onnx.node import Converter

FAMILIES: Extensions[Mapping[str, Converter]] = Extensions(
    "inarch.frontends.onnx.ops", "CONVERTERS"
)


@cache
def converters() -> Mapping[str, Converter]:
    """All converters by operator. Raises UsageError when two files define one operator.

    A family that cannot be imported is a warning: the operators of the others stay usable.
    """
    found: dict[str, Converter] = {}
    homes: dict[str, str] = {}
    for family in FAMILIES:
        try:
            of_family = FAMILIES[family]
        except InarchError as error:
            warnings.warn(f"{error.message}; its operators are unknown", stacklevel=2)
            continue
        for op, converter in of_family.items():
            if op in found:
                raise UsageError(
                    f"operator '{op}' is converted twice: by '{homes[op]}' and by '{family}'; "
                    "remove one"
                )
            found[op], homes[op] = converter, family
    return found
