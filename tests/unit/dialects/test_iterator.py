"""`#loop.iterator` C1, which no text can break: its parser takes known words and sizes only."""

from __future__ import annotations

import pytest
from xdsl.utils.exceptions import VerifyException

from inarch.dialects.loop.access import IteratorAttr


@pytest.mark.parametrize(
    ("size", "kind", "mode"),
    [(-1, "parallel", "serial"), (4, "sideways", "serial"), (4, "parallel", "backwards")],
)
def test_an_iterator_is_well_formed(size: int, kind: str, mode: str) -> None:
    with pytest.raises(
        VerifyException, match=rf"^C1: expected .* found {size}, '{kind}', '{mode}'$"
    ):
        IteratorAttr.get("i", size, kind, mode)
