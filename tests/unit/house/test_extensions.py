"""Things are found by their file: ours keep their promises, and a plugin harms no other."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from inarch.core.errors import InarchError, UsageError
from inarch.core.plugins import Extensions, load_file
from inarch.dialects import DIALECTS, new_context
from inarch.offload.backend import BACKENDS
from inarch.passes import PASSES
from inarch.pipeline.registry import first_line
from inarch.tools.cli import run

ROOT = Path(__file__).parents[3]
LIT = ROOT / "tests" / "lit"

# ------------------------------------------------------------------------------------ the tree


@pytest.mark.every_case(reason="a rule of the house holds for each")
@pytest.mark.parametrize("name", list(PASSES))
def test_a_pass_is_called_like_its_file(name: str) -> None:
    found = PASSES[name]
    assert issubclass(found, ModulePass)
    assert found.name == name
    assert first_line(found), "expected a docstring of the pass's own"


@pytest.mark.every_case(reason="a rule of the house holds for each")
@pytest.mark.parametrize("name", list(PASSES))
def test_a_pass_has_its_lit_test(name: str) -> None:
    origin = PASSES.origin(name)
    *_, above, level, _ = origin.module.split(".")
    level = above if level == "passes" else level  # of the driver
    assert (LIT / "passes" / level / f"{name}.mlir").is_file()


@pytest.mark.parametrize("name", list(DIALECTS))
def test_a_dialect_is_called_like_its_folder(name: str) -> None:
    dialect = DIALECTS[name]
    assert all(Operation in op.mro() for op in dialect.operations)
    assert all(Attribute in one.mro() for one in dialect.attributes)
    assert dialect.name == name
    assert list(dialect.operations) or name == "function", "whose ops are the functions of others"


def _families() -> list[tuple[str, str]]:
    """`(dialect, file)` of each family of ops."""
    return [
        (name, path.stem)
        for name in DIALECTS
        for path in sorted((ROOT / "dialects" / name).rglob("*.py"))
        if re.search(rf'^    name = "{name}\.', path.read_text(), re.MULTILINE)
    ]


@pytest.mark.every_case(reason="a rule of the house holds for each")
@pytest.mark.parametrize(("dialect", "family"), _families())
def test_a_family_of_ops_has_its_lit_tests(dialect: str, family: str) -> None:
    """What is right round-trips; what is wrong has a located message, one for each constraint."""
    folder = LIT / "dialects" / dialect
    wanted = {f"{family}.mlir", f"{family}-invalid.mlir"}
    assert wanted - {path.name for path in folder.glob("*.mlir")} == set()


def _operations() -> list[type[Operation]]:
    return [op for name in DIALECTS for op in DIALECTS[name].operations]


@pytest.mark.every_case(reason="a rule of the house holds for each")
@pytest.mark.parametrize("op", _operations(), ids=lambda op: str(op.name))
def test_an_op_has_a_docstring_of_its_own(op: type[Operation]) -> None:
    assert "__doc__" in vars(op)
    assert first_line(op)


# ------------------------------------------------------------------------------------ plugins

Table = Extensions[type[ModulePass]]

PASS_TEXT = '''"""A pass of someone else."""
from dataclasses import dataclass
from xdsl.passes import ModulePass

@dataclass(frozen=True)
class ThePass(ModulePass):
    """Does nothing."""
    name = "{name}"
    def apply(self, ctx, op):
        pass

PASS = ThePass
'''


def _distribution(folder: Path, name: str, points: dict[str, str]) -> None:
    """What `pip install` leaves of a distribution that offers entry points."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [f"{key} = {module}" for key, module in points.items()]
    (info / "entry_points.txt").write_text("\n".join(["[acme.passes]", *lines, ""]))


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Table:
    """A table over a package of two levels, and three distributions with entry points."""
    package = tmp_path / "acme" / "passes"
    for level in ("high", "low"):
        (package / level).mkdir(parents=True)
        (package / level / "__init__.py").write_text("")
        (package / level / f"help_{level}.py").write_text(
            "raise RuntimeError('helpers are not asked for')"
        )
    for init in (package.parent, package):
        (init / "__init__.py").write_text("")
    (package / "high" / "fold_relu.py").write_text(PASS_TEXT.format(name="fold-relu"))
    (package / "low" / "tile.py").write_text(PASS_TEXT.format(name="tile"))
    (package / "low" / "broken.py").write_text("import absent\nPASS = absent.Pass\n")
    (package / "low" / "new_api.py").write_text("class PASS:\n    api = 99\n")

    (tmp_path / "theirs_one.py").write_text(PASS_TEXT.format(name="stretch"))
    (tmp_path / "theirs_two.py").write_text("raise ValueError('bad day')")
    _distribution(tmp_path, "one", {"stretch": "theirs_one", "tile": "theirs_one"})
    _distribution(tmp_path, "two", {"explode": "theirs_two", "named": "theirs_one:ThePass"})
    _distribution(tmp_path, "three", {"gone": "theirs_three"})

    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setenv("INARCH_PLUGINS", "all")
    for name in [name for name in sys.modules if name.split(".")[0] in {"acme", "theirs_one"}]:
        monkeypatch.delitem(sys.modules, name)
    return Extensions("acme.passes", "PASS", in_rooms=True)


def test_files_come_first_then_entry_points(table: Table) -> None:
    assert list(table)[:4] == ["fold-relu", "broken", "new-api", "tile"]
    assert set(list(table)[4:]) == {"stretch", "explode", "named", "gone"}
    assert len(table) == 8
    assert "fold-relu" in table
    assert "helper" not in table


def test_the_environment_hides_what_others_add(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INARCH_PLUGINS", "none")
    assert list(table) == ["fold-relu", "broken", "new-api", "tile"]
    assert table["tile"].name == "tile"  # it clashes with nothing now
    again = Extensions[object]("acme.passes", "PASS", in_rooms=True)
    monkeypatch.setenv("INARCH_PLUGINS", "nome")
    with pytest.raises(UsageError) as caught:
        list(again)
    assert str(caught.value) == "INARCH_PLUGINS: expected 'all' or 'none', found 'nome'"


def test_listing_imports_nothing(table: Table) -> None:
    assert list(table)
    assert "acme.passes.high.fold_relu" not in sys.modules
    assert table["fold-relu"].name == "fold-relu"
    assert "acme.passes.high.fold_relu" in sys.modules


def test_an_entry_point_names_a_module_or_a_thing(table: Table) -> None:
    assert table["stretch"].name == "stretch"
    assert table["named"] is table["stretch"]
    assert table.origin("stretch").source == "entry point of one"
    assert table.origin("fold-relu").source == "acme.passes.high.fold_relu"


def test_an_unknown_name_gives_the_nearest(table: Table) -> None:
    known = "broken, explode, fold-relu, gone, named, new-api, stretch, tile"
    with pytest.raises(UsageError) as caught:
        table["fold-rulu"]
    expected = f"no pass 'fold-rulu'; did you mean 'fold-relu'? Known: {known}"
    assert str(caught.value) == expected
    with pytest.raises(UsageError, match=r"^no pass 'quux'\. Known: broken, "):
        table["quux"]


def test_two_origins_of_one_name_are_an_error_that_names_both(table: Table) -> None:
    """N10."""
    with pytest.raises(UsageError) as caught:
        table["tile"]
    assert str(caught.value) == (
        "pass 'tile' is defined twice: by acme.passes.low.tile and by entry point of one; "
        "remove or rename one"
    )


ABSENT = "ModuleNotFoundError: No module named"


@pytest.mark.parametrize(
    ("name", "origin", "reason"),
    [
        ("broken", "acme.passes.low.broken", f"cannot be imported: {ABSENT} 'absent'"),
        ("explode", "entry point of two", "cannot be imported: ValueError: bad day"),
        ("gone", "entry point of three", f"cannot be imported: {ABSENT} 'theirs_three'"),
        ("new-api", "acme.passes.low.new_api", "has api = 99; this Inarch knows api = 1"),
    ],
)
def test_a_broken_thing_raises_only_when_it_is_asked_for(
    table: Table, name: str, origin: str, reason: str
) -> None:
    """N10: removing one thing, or breaking it, breaks no other."""
    assert table["fold-relu"].name == "fold-relu"
    with pytest.raises(InarchError) as caught:
        table[name]
    assert str(caught.value) == f"pass '{name}' ({origin}) {reason}"
    assert table["stretch"].name == "stretch"


def test_a_backend_is_called_like_its_file(tmp_path: Path) -> None:
    """A file that was copied and not edited: two names for one thing would confuse every message."""
    path = tmp_path / "my_copy.py"
    path.write_text(
        "from inarch.offload.backend import Backend\nBACKEND = Backend('my-own', '', print)\n"
    )
    with BACKENDS.scope(), pytest.raises(UsageError) as caught:
        load_file(path, {"backends": BACKENDS})
    assert str(caught.value) == (
        f"--load: backend 'my-copy' ({path}) calls itself 'my-own'; expected the name of its file or entry "
        "point"
    )
    assert "my-copy" not in BACKENDS


@pytest.mark.parametrize("command", ["list backends", "run model.mlir --backend cblas"])
def test_a_loaded_backend_with_a_name_that_is_taken_is_refused(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By each command alike: the one of the tree would run in its place."""
    monkeypatch.chdir(tmp_path)
    Path("other.py").write_text(
        "from inarch.offload.backend import Backend\nBACKEND = Backend('cblas', '', print)\n"
    )
    outcome = run([*command.split(), "--load", "other.py"])
    assert outcome.code == 2
    assert outcome.err.splitlines()[0] == (
        "error: --load: backend 'other' (other.py) calls itself 'cblas'; expected the name of its file or "
        "entry point"
    )


# ------------------------------------------------------------------------------------ --load


def test_a_loaded_file_is_called_like_the_file(table: Table, tmp_path: Path) -> None:
    """N14."""
    path = tmp_path / "my_pass.py"
    path.write_text(PASS_TEXT.format(name="my-pass"))
    assert load_file(path, {"passes": table}) == ["pass my-pass"]
    table["my-pass"]().apply(new_context(), ModuleOp([]))
    assert table.origin("my-pass").source == str(path)


def test_a_file_with_nothing_in_it_is_refused(table: Table, tmp_path: Path) -> None:
    path = tmp_path / "empty.py"
    path.write_text("")
    with pytest.raises(UsageError) as caught:
        load_file(path, {"passes": table})
    assert str(caught.value) == f"--load: {path} defines none of PASS"


def test_a_file_that_fails_says_how(table: Table, tmp_path: Path) -> None:
    path = tmp_path / "fails.py"
    path.write_text("1 / 0")
    with pytest.raises(UsageError) as caught:
        load_file(path, {"passes": table})
    assert str(caught.value) == f"--load: {path}:1 fails: ZeroDivisionError: division by zero"


def test_a_missing_file_is_refused(table: Table, tmp_path: Path) -> None:
    path = tmp_path / "missing.py"
    with pytest.raises(UsageError) as caught:
        load_file(path, {"passes": table})
    assert str(caught.value) == f"--load: expected a Python file, found '{path}'"


def test_two_loaded_files_of_one_name_are_refused(table: Table, tmp_path: Path) -> None:
    """N11: neither is silently ignored; the same file may be given twice."""
    first, second = tmp_path / "a" / "my_pass.py", tmp_path / "b" / "my_pass.py"
    for path in (first, second):
        path.parent.mkdir()
        path.write_text(PASS_TEXT.format(name="my-pass"))
    load_file(first, {"passes": table})
    load_file(first, {"passes": table})
    with pytest.raises(UsageError) as caught:
        load_file(second, {"passes": table})
    assert str(caught.value) == (
        f"--load: pass 'my-pass' is defined twice: by {first} and by {second}; rename one of the files"
    )
    assert table.origin("my-pass").source == str(first)


def test_a_loaded_file_replaces_nothing(table: Table, tmp_path: Path) -> None:
    """N10: neither one of ours nor one of a package; the file that is found anyway may be given, too."""
    found = tmp_path / "acme" / "passes" / "high" / "fold_relu.py"
    load_file(found, {"passes": table})
    assert table["fold-relu"].name == "fold-relu"
    for name, source in (("tile", "acme.passes.low.tile"), ("stretch", "entry point of one")):
        path = tmp_path / f"{name}.py"
        path.write_text(PASS_TEXT.format(name=name))
        with pytest.raises(UsageError) as caught:
            load_file(path, {"passes": table})
        assert str(caught.value) == (
            f"--load: pass '{name}' is defined twice: by {source} and by {path}; rename the file"
        )
        assert name not in table.loaded


def test_files_of_one_name_that_define_different_things_both_stay(tmp_path: Path) -> None:
    """A backend and its loader, say, in folders of their own."""
    things: dict[str, Extensions[object]] = {
        name: Extensions("inarch.passes.graph", name.upper()) for name in ("thing", "part")
    }
    for number, name in enumerate(things):
        path = tmp_path / name / "one.py"
        path.parent.mkdir()
        path.write_text(f"{name.upper()} = {number}")
        load_file(path, things)
    assert [table["one"] for table in things.values()] == [0, 1]


def test_two_files_that_are_no_python_of_one_name_are_refused(tmp_path: Path) -> None:
    """N11: as `.c` beside `.py`."""
    table: Extensions[object] = Extensions(
        "inarch.passes.graph", "THING", readers={".txt": Path.read_text}
    )
    text, module = tmp_path / "one.txt", tmp_path / "one.py"
    text.write_text("text")
    module.write_text("THING = 1")
    load_file(module, {"things": table})
    with pytest.raises(UsageError) as caught:
        load_file(text, {"things": table})
    assert str(caught.value) == (
        f"--load: thing 'one' is defined twice: by {module} and by {text}; rename one of the files"
    )
    assert table["one"] == 1


def test_a_loaded_file_is_run_as_it_is_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """N1, N11: an edit that keeps the size, within the second in which the file was first run."""
    # Where bytecode is not written (an environment variable) nothing could be stale.
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    path = tmp_path / "quick.py"
    table: Extensions[object] = Extensions("inarch.passes.graph", "THING")
    for value in ("1", "2", "3"):
        path.write_text(f"THING = {value}\n")
        os.utime(path, (1_000_000_000, 1_000_000_000))  # all within one second, on any machine
        with table.scope():
            load_file(path, {"things": table})
            assert table["quick"] == int(value)


def test_another_revision_says_that_other_things_are_there(tmp_path: Path) -> None:
    path = tmp_path / "quick.py"
    path.write_text("THING = 1\n")
    table: Extensions[object] = Extensions("inarch.passes.graph", "THING")
    seen = [table.revision]
    with table.scope():
        load_file(path, {"things": table})
        seen.append(table.revision)
    assert table.revision == seen[0]
    with table.scope():  # the file may have changed
        load_file(path, {"things": table})
        seen.append(table.revision)
    assert len(set(seen)) == 3


def test_what_works_is_given_and_what_does_not_is_a_warning(table: Table) -> None:
    with pytest.warns(UserWarning, match="; its passes are gone$") as caught:
        names = [name for name, _ in table.working("its passes are gone")]
    assert {"fold-relu", "stretch", "named"} <= set(names)
    assert sorted(re.findall(r"'([a-z-]+)'", str(one.message))[0] for one in caught) == sorted(
        set(table) - set(names)
    )
