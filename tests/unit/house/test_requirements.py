"""docs/requirements.md: each founding requirement has a test that names it, or says "not yet"."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

ROOT = Path(__file__).parents[3]
HOUSE = runpy.run_path(str(ROOT / "tests" / "house.py"))
ROW: re.Pattern[str] = HOUSE["ROW"]
FOUNDING = {"N": 15, "B": 12, "T": 24, "K": 16}
"""How many requirements each letter has."""


def test_each_founding_requirement_has_a_test_or_says_not_yet() -> None:
    rows = ROW.findall(HOUSE["requirements"]())
    wanted = [f"{letter}{n + 1}" for letter, count in FOUNDING.items() for n in range(count)]
    assert [name for name, _ in rows] == wanted
    lost = [name for name, tests in rows if tests == HOUSE["NO_TEST"]]
    assert lost == [], (
        "no test names them any more: name each in the docstring of the test that shows it, "
        "or say 'not yet: why' in docs/requirements.md"
    )


def test_the_rows_are_those_that_tests_name() -> None:
    said = dict(ROW.findall((ROOT / "docs" / "requirements.md").read_text()))
    named = dict(ROW.findall(HOUSE["requirements"]()))
    stale = [name for name, tests in named.items() if said[name] != tests]
    assert stale == [], "docs/requirements.md says other tests; run `python tests/house.py`"
