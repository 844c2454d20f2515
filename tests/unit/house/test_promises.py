"""docs/abi.md: each promise names its tests, they are there, and each part of the page has some."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
TITLE = "\n## Which test holds which promise\n"
PLAIN = ("| |", "| waiting |", "| where threads run |", "| beside a busy process |")
"""Rows of the table that tell how long something takes, or when."""


def _page() -> tuple[str, dict[str, list[str]]]:
    """What the page says, and promise -> tests."""
    said, title, table = (ROOT / "docs" / "abi.md").read_text().partition(TITLE)
    assert title
    rows = [re.findall(r"^\| (.+?) \| (`.+`) \|$", line) for line in table.splitlines()]
    return said, {words: tests.split("` `") for ((words, tests),) in filter(None, rows)}


def _one_line(text: str) -> str:
    return " ".join(text.replace("**", "").split())


def test_the_words_are_on_the_page_and_the_tests_are_there() -> None:
    said, promises = _page()
    assert len(promises) > 30
    lost = [words for words in promises if words not in _one_line(said)]
    assert lost == [], "docs/abi.md does not say this any more, or in other words"
    for named in (one.strip("`") for tests in promises.values() for one in tests):
        path, _, name = named.partition("::")
        text = (ROOT / "tests" / "unit" / path).read_text()
        assert re.search(rf"^def {name}\(", text, re.MULTILINE), f"no {named}"


def test_each_part_of_the_page_has_a_promise() -> None:
    """Each item of a list, each row of the table of threads, each section."""
    said, promises = _page()
    parts = re.split(r"^## ", said, flags=re.MULTILINE)[1:]
    parts += re.findall(r"^- .+(?:\n  .+)*", said, re.MULTILINE)
    rows = re.findall(r"^\| .+ \|$", said.partition("\n## Threads\n")[2], re.MULTILINE)
    parts += [row for row in rows if not row.startswith(PLAIN)]
    bare = [each for each in parts if not any(words in _one_line(each) for words in promises)]
    assert bare == [], "name a test in the table at the end of docs/abi.md"
