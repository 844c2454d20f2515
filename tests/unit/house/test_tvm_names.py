"""docs/backends-reference.md: what it names exists, each field is there, and each item of TVM's tutorial."""

from __future__ import annotations

import re
from pathlib import Path

import inarch
from inarch.offload import pattern
from inarch.offload.backend import Backend, Emission
from inarch.passes import PASSES
from inarch.runtime.function import Function
from inarch.runtime.loaders import Loader
from inarch.runtime.module import Module
from inarch.runtime.registry import register

PAGE = (Path(__file__).parents[3] / "docs" / "backends-reference.md").read_text()
TEXT = re.sub(r"^```.*?^```$", "", PAGE, flags=re.MULTILINE | re.DOTALL)
OURS = {
    "Module": Module,
    "Backend": Backend,
    "Loader": Loader,
    "Function": Function,
    "Emission": Emission,
}
TUTORIAL = (
    "codegen class",
    "`JIT`",
    "register the codegen",
    "C source module",
    "constructor",
    "`GetFunction`",
    "`Run`",
    "creation API",
    "`SaveToBinary`",
    "`LoadFromBinary`",
    "`Create`",
    "annotator",
)
"""What TVM's *Bring Your Own Codegen* has one write."""


def test_names_of_ours_exist() -> None:
    """T8: nothing in the tables is a wish: `Class.member`, and each keyword of `Class(..., keyword=`."""
    members = re.findall(rf"\b({'|'.join(OURS)})\.([a-z]\w*)", TEXT)
    calls = re.findall(rf"\b({'|'.join(OURS)})\(([^`]*)\)?`", TEXT)
    keywords = [(name, key) for name, text in calls for key in re.findall(r"(\w+)=", text)]
    found = {*members, *keywords}
    assert len(found) > 10
    for name, member in found:
        known = {*dir(OURS[name]), *getattr(OURS[name], "__dataclass_fields__", ())}
        assert member in known | set(vars(Module("k", "n", {}))), f"{name}.{member}"
    assert all(callable(each) for each in (register, inarch.compile, inarch.load))


def test_fields_of_the_reference_are_all_there() -> None:
    """Each field of a backend and of an emission has its place."""
    for kind in (Backend, Emission):
        missing = [name for name in kind.__dataclass_fields__ if f"`{name}" not in TEXT]
        assert set(missing) <= {"name", "description", "api", "symbols", "text", "data", "format"}


def test_passes_and_patterns_of_the_table_exist() -> None:
    for name in ("annotate", "merge-composites", "merge-regions", "partition"):
        assert f"`{name}" in TEXT
        assert name in PASSES
    for name in ("op", "any_", "constant", "optional", "named"):
        assert f"`{name}(" in TEXT
        assert callable(getattr(pattern, name))


def test_the_items_of_the_tutorial_have_a_place() -> None:
    """T18: `test_docs` runs the blocks, and checks that links go to headings."""
    rows = [line.split("|") for line in TEXT.splitlines() if line.startswith("|")]
    for item in TUTORIAL:
        ((_, _, answer, *_),) = [row for row in rows if item in row[1] and "](" in row[2]]
        assert "#" in answer
