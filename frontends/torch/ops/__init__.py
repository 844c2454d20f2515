"""The operators of PyTorch that Inarch reads, of core ATen: one file a family, one function an operator.

`frontends/torch/ops/<family>.py` defines `CONVERTERS`, from the operator's overload (`aten.add.Tensor`) to a
function from a `Node` to its results. To add one, write a function and a row in the table of
`tests/unit/bridges/test_torch_ops.py`, and record its graph (`tests/unit/bridges/record_torch.py`), by
which it is tested where there is no PyTorch; nothing else is edited.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from inarch.core.errors import UsageError
from inarch.core.plugins import Extensions
from inarch.frontends.torch.node import Converter

FAMILIES: Extensions[Mapping[str, Converter]] = Extensions(
    "inarch.frontends.torch.ops", "CONVERTERS"
)


def converters() -> Mapping[str, Converter]:
    """All converters by operator. Raises UsageError when two files define one operator."""
    return _converters(FAMILIES.revision)


@lru_cache(maxsize=1)
def _converters(revision: int) -> Mapping[str, Converter]:
    del revision  # by which it is kept
    found: dict[str, Converter] = {}
    for family, of_family in FAMILIES.working("its operators are unknown"):
        if twice := sorted(found.keys() & of_family.keys()):
            raise UsageError(
                f"operator '{twice[0]}' is converted twice, by '{family}' too; remove one"
            )
        found.update(of_family)
    return found
