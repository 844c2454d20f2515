"""docs/tables/requirements.md: each founding requirement has a test that names it, or says "not yet"."""

from __future__ import annotations

import runpy
from pathlib import Path

HOUSE = runpy.run_path(str(Path(__file__).parents[3] / "tests" / "house.py"))


def test_each_founding_requirement_has_a_test_or_says_not_yet() -> None:
    rows = HOUSE["ROW"].findall(HOUSE["requirements"]())
    assert len(rows) == 67
    lost = [name for name, tests in rows if tests == HOUSE["NO_TEST"]]
    assert lost == [], (
        "no test names them any more: name each in the docstring of the test that shows it, "
        "or say why in NOT_YET of tests/house.py"
    )
    assert HOUSE["NOT_YET"].keys() & HOUSE["shown"]().keys() == set(), "a test shows it: say so"


def test_the_page_is_what_tests_name() -> None:
    said = HOUSE["REQUIREMENTS"].read_text()
    stale = said != HOUSE["requirements"]()
    assert not stale, "docs/tables/requirements.md says other tests; run `python tests/house.py`"
