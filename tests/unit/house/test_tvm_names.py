"""The documents for people who come from TVM: their names are in them, and ours in them exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import inarch
from inarch.passes import PASSES, pattern
from inarch.passes.backend import Backend, Emission
from inarch.runtime.function import Function
from inarch.runtime.loaders import Loader
from inarch.runtime.module import Module
from inarch.runtime.registry import register

pytestmark = pytest.mark.every_case(reason="each name is one to find")

WALK = (Path(__file__).parents[3] / "docs" / "backends.md").read_text()
TEXT = (Path(__file__).parents[3] / "docs" / "for-tvm-users.md").read_text()
OURS = {
    "Module": Module,
    "Backend": Backend,
    "Loader": Loader,
    "Function": Function,
    "Emission": Emission,
}

THEIRS = (
    "relay.ext.foo",
    "relax.ext.foo",
    "runtime.module.loadbinary_foo",
    "runtime.module.loadfile_foo",
    "GetFunction",
    "SaveToBinary",
    "GetSource",
    "AnnotateTarget",
    "MergeComposite",
    "MergeCompilerRegions",
    "PartitionGraph",
    "FuseOpsByPattern",
    "RunCodegen",
    "register_pattern_table",
    "is_op",
    "wildcard",
    "is_constant",
    "CSourceModuleCreate",
    "JSONRuntimeBase",
    "runtime::Registry",
)


@pytest.mark.parametrize("name", THEIRS)
def test_a_name_of_theirs_is_in_a_table(name: str) -> None:
    """T8: the names of the tutorial, Relay's and Relax's."""
    assert re.search(rf"^\|.*`[^`]*{re.escape(name)}", TEXT, re.MULTILINE)


def _ours() -> list[tuple[str, str]]:
    """`(class, member)` of each `Class.member`, and `(class, keyword)` of each `Class(..., keyword=`."""
    members = re.findall(rf"\b({'|'.join(OURS)})\.([a-z]\w*)", TEXT)
    calls = re.findall(rf"\b({'|'.join(OURS)})\(([^`]*)\)?`", TEXT)
    keywords = [(name, key) for name, text in calls for key in re.findall(r"(\w+)=", text)]
    return sorted({*members, *keywords})


@pytest.mark.parametrize(("name", "member"), _ours())
def test_a_name_of_ours_exists(name: str, member: str) -> None:
    """T8: nothing in the table is a wish."""
    kind = OURS[name]
    known = {*dir(kind), *getattr(kind, "__dataclass_fields__", ())}
    instance = vars(Module("k", "n", {})) if kind is Module else {}
    assert member in known | set(instance)


@pytest.mark.parametrize("name", ["annotate", "merge-composites", "merge-regions", "partition"])
def test_the_passes_of_the_table_exist(name: str) -> None:
    assert f"`{name}" in TEXT
    assert name in PASSES


@pytest.mark.parametrize("name", ["op", "any_", "constant", "optional", "named"])
def test_the_patterns_of_the_table_exist(name: str) -> None:
    assert f"`{name}(" in TEXT or f" {name}(" in TEXT
    assert callable(getattr(pattern, name))


def test_the_functions_of_the_table_exist() -> None:
    assert callable(register)
    assert callable(inarch.compile)
    assert callable(inarch.load)


ITEMS = (
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


@pytest.mark.parametrize("item", ITEMS)
def test_the_checklist_of_the_tutorial_is_in_the_walkthrough(item: str) -> None:
    """T18: each item has its row and a section; `test_docs` runs what the sections say."""
    (row,) = [
        line for line in WALK.splitlines() if line.startswith("|") and item in line.split("|")[1]
    ]
    assert re.search(r"\b[1-7]\b", row.split("|")[2])


def test_links_within_the_walkthrough_go_to_its_headings() -> None:
    """T18: as the anchors are made: small letters, dashes for blanks, no punctuation."""
    headings = re.findall(r"^#+ (.+)$", WALK, re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    links = set(re.findall(r"\]\(#([^)]+)\)", WALK))
    assert len(links) >= 6
    assert links - anchors == set()
