"""Formulas of kernel files are arithmetic of integers, and nothing of Python else."""

from __future__ import annotations

import pytest

from inarch.core.errors import InarchError
from inarch.microkernel.formula import formula


@pytest.mark.parametrize(
    ("text", "value"),
    [("(2 and 3) * 4", 4), ("(0 or 3) + 1", 2), ("not M", 0), ("-M // 3", -3), ("1 < M < 8", 1)],
)
def test_and_or_and_comparisons_are_0_or_1(text: str, value: int) -> None:
    assert formula(text, {"M": 7}) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f(1)", "'f(1)': expected arithmetic of integers, found 'f(1)'"),
        ("2 ** 9", "'2 ** 9': expected arithmetic of integers, found '2 ** 9'"),
        ("__import__", "'__import__': unknown name '__import__'; known: M"),
        ("M // 0", "'M // 0' divides by 0"),
    ],
)
def test_nothing_else_is_run(text: str, message: str) -> None:
    with pytest.raises(InarchError) as caught:
        formula(text, {"M": 7})
    assert caught.value.message == message
