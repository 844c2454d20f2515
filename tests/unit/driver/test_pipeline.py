"""Pipelines: data with places, text that parses back, passes of others at their place, who watches."""

from __future__ import annotations

import shlex
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import IntAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

import inarch
from effort import effort
from inarch.core.errors import InarchError, UsageError
from inarch.core.plugins import load_file
from inarch.dialects import new_context
from inarch.dialects.graph.elementwise.unary import ReluOp
from inarch.driver.compiler import build
from inarch.driver.options import Options, Settings
from inarch.ir.text import parse_module, print_module
from inarch.ir.verify import MOST_ERRORS, Verified, verify_module
from inarch.passes import PASSES
from inarch.passes.lower.trial import trial_passes
from inarch.pipeline.default import PHASES, default_pipeline
from inarch.pipeline.instruments import Bisect
from inarch.pipeline.manager import Instrument, Step, run_pipeline
from inarch.pipeline.pipeline import Pipeline
from inarch.pipeline.places import placed
from inarch.pipeline.text import parse_pipeline
from inarch.tools import cli
from inarch.tools.opt import run

TEXT = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.relu %x : tensor<4xf32> -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
"""
T = ("tensor<2xf32>", "tensor<3xf32>")
PASS = '''"""A pass of someone else."""
from dataclasses import dataclass
from xdsl.dialects.builtin import UnitAttr
from xdsl.passes import ModulePass

@dataclass(frozen=True)
class Mark(ModulePass):
    """Marks the module."""
    name = "NAME"
    RUNS
    def apply(self, ctx, op):
        op.attributes["seen.NAME"] = UnitAttr()

PASS = Mark
'''


@dataclass(frozen=True)
class Count(ModulePass):
    """Does nothing."""

    name = "count"
    step: int = 1

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pass


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.mlir").write_text(TEXT)
    return tmp_path


def pass_file(folder: Path, name: str, runs: str = "") -> Path:
    path = folder / f"{name.replace('-', '_')}.py"
    path.write_text(PASS.replace("NAME", name).replace("RUNS", f'runs = "{runs}"' if runs else ""))
    return path


@pytest.fixture
def scope() -> Iterator[None]:
    with PASSES.scope():
        yield


def load(path: Path) -> None:
    load_file(path, {"pass": PASSES})  # pyright: ignore[reportArgumentType]


def names(pipeline: Pipeline) -> list[str]:
    return [one.name for one in pipeline]


# ------------------------------------------------------------------------------------ the object


def test_the_document_has_every_phase_with_its_passes() -> None:
    document = (Path(__file__).parents[3] / "docs" / "architecture.md").read_text()
    rows = "\n".join(f"| {phase} | {', '.join(names)} |" for phase, names in PHASES.items())
    assert f"| phase | passes |\n|---|---|\n{rows}\n" in document


def test_the_text_of_a_pipeline_parses_to_the_same() -> None:
    pipeline = default_pipeline().after("prepare", Count(3))
    assert "fold-batch-norm,count{step=3})" in str(pipeline)
    whole = default_pipeline()
    assert parse_pipeline(str(whole)) == whole
    assert [phase.name for phase in whole.phases] == list(PHASES)


@pytest.mark.parametrize(
    ("anchor", "before", "after"),
    [
        ("kernel", "pad-planes,count,tensorize", "tensorize,count,schedule-nests"),
        ("tensorize", "pad-planes,count,tensorize", "tensorize,count,schedule-nests"),
        (
            "graph/simplify-graph",
            "gather-first,count,simplify-graph,choose-layout",
            "simplify-graph,count,choose-layout",
        ),
    ],
)
def test_passes_go_before_and_after_phases_and_passes(anchor: str, before: str, after: str) -> None:
    assert before in ",".join(names(default_pipeline().before(anchor, Count())))
    assert after in ",".join(names(default_pipeline().after(anchor, Count())))


def test_a_pass_or_all_of_a_phase_is_replaced_or_left_out() -> None:
    whole = default_pipeline()
    assert "tensorize" not in names(whole.without("tensorize"))
    assert names(whole.replace("padding", Count())).count("count") == 1
    assert "split-padding" not in names(whole.without("padding"))
    assert names(whole.until("prepare/simplify-graph")) == [
        "inline-calls",
        "unroll-scans",
        "fold-constants",
        "simplify-graph",
    ]
    assert names(whole.since("memory")) == [
        "update-in-place",
        "inline-bodies",
        "hoist-invariants",
        "outline-nests",
        "plan-memory",
    ]
    assert names(whole.since("plan-memory")) == ["plan-memory"]


@pytest.mark.parametrize(
    ("anchor", "message"),
    [
        ("prepair", "no phase or pass 'prepair'; did you mean 'prepare'? Nearest of "),
        ("nonsense", "no phase or pass 'nonsense'. Nearest of "),
        (
            "fold-constants",
            "'fold-constants' stands 2 times in the pipeline: write one of prepare/fold-constants, "
            "graph/fold-constants",
        ),
        ("loop/tensorize", "no phase or pass 'loop/tensorize'"),
    ],
)
def test_a_place_that_is_not_there_or_not_alone(anchor: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        default_pipeline().before(anchor, Count())
    assert str(caught.value).startswith(message)


# ------------------------------------------------------------------------------------ text


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("builtin.module(cse,func.func(dce),canonicalize)", "cse,dce,canonicalize"),
        (
            "prepare",
            "prepare(inline-calls,unroll-scans,fold-constants,simplify-graph,fold-batch-norm)",
        ),
        ("dce,kernel,cse", "dce,kernel(tensorize),cse"),
        (" cse , dce ", "cse,dce"),
        ("mine(cse,dce)", "mine(cse,dce)"),
        ("", ""),
    ],
)
def test_what_a_pipeline_may_be_written_as(text: str, same: str) -> None:
    assert str(parse_pipeline(text)) == same


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mine(cse", "pipeline 'mine(cse', character 9: expected a closing bracket, found the end"),
        ("cse)", "pipeline 'cse)', character 4: expected no ')' here"),
        (
            "mine(cse)dce",
            "pipeline 'mine(cse)dce', character 13: expected ',' or the end after ')'",
        ),
        (
            "a(b(cse))",
            "pipeline 'a(b(cse))', character 3: expected passes in phase 'a', found phase 'b'",
        ),
        (
            "a(prepare)",
            "pipeline 'a(prepare)', character 3: expected passes in phase 'a', found phase 'prepare'",
        ),
        (
            "tensorize(cse)",
            "pipeline 'tensorize(cse)', character 1: expected a phase before '(', "
            "found the pass 'tensorize'",
        ),
        ("(" * 11 + "cse", f"pipeline '{'(' * 11}cse', character 11: expected at most 10 brackets"),
        ("(" * 5000, f"pipeline '{'(' * 297}...', character 11: expected at most 10 brackets"),
        ("prepare,fold-constnats", "no pass 'fold-constnats'; did you mean 'fold-constants'?"),
        ("graph(cse,cs)", "no pass 'cs'; did you mean 'cse'?"),
        ("prepare,offlod,graph", "no pass 'offlod'; did you mean 'offload'?"),
        ("cse,graph(dce{,})", "pipeline 'cse,graph(dce{,})', character 15: expected"),
    ],
)
def test_a_wrong_text_is_one_line_that_says_where(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_pipeline(text)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


# ------------------------------------------------------------------------------------ both tools


def test_both_tools_run_the_same_passes(folder: Path) -> None:
    """What `compile` shows as its pipeline, `inarch-opt` runs to the same program."""
    module = 'module attributes {inarch.name = "m", inarch.target = "x86-64-v2"} {\n' + TEXT + "}\n"
    (folder / "m.mlir").write_text(module)
    compiled = cli.run(["compile", "m.mlir", "--emit=kernel", "-q"])
    dumped = cli.run(["compile", "m.mlir", "-o", "m.inarch", "-q", "--dump-pass-pipeline"])
    text = dumped.err.strip()
    assert parse_pipeline(text) == default_pipeline()
    by_opt = run(["m.mlir", "-p", text])
    assert (compiled.code, by_opt.code, by_opt.err) == (0, 0, "")
    assert compiled.out == by_opt.out == run(["m.mlir", "-p", "compile"]).out


@pytest.mark.usefixtures("folder")
def test_pipelines_that_are_given_twice_run_one_after_the_other() -> None:
    done = run(
        ["m.mlir", "-p", "cse", "--pass-pipeline=builtin.module(dce)", "--dump-pass-pipeline"]
    )
    assert (done.code, done.err) == (0, "cse,dce\n")
    assert run(["m.mlir", "-p", "nosuch", "-p", "dce"]).code == 2


@pytest.mark.usefixtures("folder")
def test_the_name_of_a_pass_is_an_option() -> None:
    """As of mlir-opt, in the order in which they stand; with the options of the pass."""
    words = ["--cse", "-p", "dce", "--tensorize=kernels=gemm-f32", "--canonicalize"]
    done = run(["m.mlir", *words, "--dump-pass-pipeline"])
    assert (done.code, done.err) == (0, 'cse,dce,tensorize{kernels="gemm-f32"},canonicalize\n')
    done = run(["m.mlir", "--canonicalise"])
    assert (done.code, done.err.startswith("error: no option '--canonicalise'")) == (2, True)


def test_every_wrong_op_of_a_program_is_told(folder: Path) -> None:
    lines = [f"  %{i} = graph.add %x, %y : {T[0]}, {T[1]} -> {T[1]}" for i in range(30)]
    text = "func.func @main(%x: tensor<2xf32>, %y: tensor<3xf32>) {\n" + "\n".join(lines)
    (folder / "wrong.mlir").write_text(f"{text}\n  func.return\n}}\n")
    done = run(["wrong.mlir"])
    told = done.err.splitlines()
    assert done.code == 1
    assert len(told) == MOST_ERRORS
    assert [line.split(": ")[0] for line in told] == [
        f"wrong.mlir:{n + 2}:3" for n in range(MOST_ERRORS)
    ]
    expected = [line + " // expected-error {{do not broadcast}}" for line in lines[:MOST_ERRORS]]
    text = "func.func @main(%x: tensor<2xf32>, %y: tensor<3xf32>) {\n" + "\n".join(expected)
    assert run(["--verify-diagnostics"], f"{text}\n  func.return\n}}\n").code == 0


def test_python_runs_the_package_as_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "inarch", "--version"], check=True, capture_output=True, text=True
    )
    assert done.stdout == f"inarch {inarch.__version__}\n"


def test_compile_runs_a_pipeline_of_ones_own(folder: Path) -> None:
    pipeline = default_pipeline().without("kernel")
    built = build("m.mlir", folder / "m.inarch", pipeline=pipeline)
    assert built.microkernels == {}
    assert inarch.compile("m.mlir", pipeline=str(pipeline)) is not None
    done = cli.run(["compile", "m.mlir", "-q", "-p", "prepare,graph,loop,memory"])
    assert (done.code, done.err) == (0, "")
    done = cli.run(["compile", "m.mlir", "-p", "graph,nosuch"])
    assert (done.code, done.err.startswith("error: no pass 'nosuch'")) == (2, True)
    assert not (folder / "nosuch.inarch").exists()


def test_backends_need_the_passes_that_ask_them(folder: Path) -> None:
    with pytest.raises(UsageError) as caught:
        build("m.mlir", folder / "m.inarch", pipeline="prepare,loop", backends=["ccompiler"])
    assert str(caught.value).startswith(
        "expected the pass 'annotate' in the pipeline, where backends are asked for, found prepare("
    )


# ------------------------------------------------------------------------------------ of others


def test_a_loaded_pass_runs_where_it_says(folder: Path) -> None:
    pass_file(folder, "mark", "after prepare")
    done = cli.run(["compile", "m.mlir", "--load=mark.py", "--dump-pass-pipeline"])
    assert "fold-batch-norm,mark)" in done.err
    assert "pass mark, " in done.out
    shown = cli.run(["compile", "m.mlir", "--load=mark.py", "--emit=loop", "-q"])
    assert "seen.mark" in shown.out
    listed = cli.run(["list", "passes", "--load=mark.py"])
    assert "runs after prepare" in listed.out
    assert "mark" not in PASSES


def test_a_loaded_pass_that_never_ran_is_a_warning(folder: Path) -> None:
    pass_file(folder, "mark")
    done = cli.run(["compile", "m.mlir", "-q", "--load=mark.py"])
    assert (done.code, done.err) == (
        0,
        "warning: pass 'mark' (mark.py) was loaded and never ran; say where: runs = 'after prepare' in its "
        "class, --place mark='after prepare', or a pipeline (-p)\n",
    )
    done = cli.run(["compile", "m.mlir", "-q", "--load=mark.py", "--place", "mark=before loop"])
    assert (done.code, done.err) == (0, "")


@pytest.mark.usefixtures("scope")
def test_a_pass_may_stand_behind_another_one_of_others(folder: Path) -> None:
    load(pass_file(folder, "second", "after first"))
    load(pass_file(folder, "first", "replace graph/simplify-graph"))
    assert "gather-first,first,second,choose-layout" in ",".join(names(placed(default_pipeline())))


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        (
            "after prepair",
            "mark.py: error: pass 'mark' wants to run after prepair: no phase or pass 'prepair'; "
            "did you mean 'prepare'?",
        ),
        (
            "later",
            "mark.py: error: pass 'mark': expected runs = 'before PLACE', 'after PLACE' or "
            "'replace PLACE', found 'later'",
        ),
        (
            "after fold-constants",
            "mark.py: error: pass 'mark' wants to run after fold-constants: 'fold-constants' stands 2 times",
        ),
    ],
)
def test_a_place_that_is_wrong_ends_it_before_any_work(
    folder: Path, runs: str, message: str
) -> None:
    pass_file(folder, "mark", runs)
    done = cli.run(["compile", "m.mlir", "-o", "m.inarch", "--load=mark.py"])
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(message)
    assert done.err.count("\n") == 1
    assert not (folder / "m.inarch").exists()


def test_two_passes_that_want_one_place_are_an_error(folder: Path) -> None:
    pass_file(folder, "mark", "after prepare")
    pass_file(folder, "other", "after prepare")
    command = ["compile", "m.mlir", "-q", "--load=mark.py", "--load=other.py"]
    assert cli.run(command).err == (
        "error: passes 'mark' (mark.py) and 'other' (other.py) want the same place, after prepare: expected "
        "an order; write --place other='after mark'\n"
    )
    assert cli.run([*command, "--place", "other=after mark"]).code == 0


def test_a_pass_that_leaves_a_wrong_program_is_named(folder: Path) -> None:
    path = pass_file(folder, "mark", "after loop")
    text = path.read_text().replace(
        'op.attributes["seen.mark"] = UnitAttr()',
        "next(o for o in op.walk() if o.name == 'func.return').detach()",
    )
    path.write_text(text)
    done = cli.run(["compile", "m.mlir", "-o", "m.inarch", "--load=mark.py"])
    assert done.code == 1
    assert "(after pass 'mark')" in done.err
    assert not (folder / "m.inarch").exists()


# ------------------------------------------------------------------------------------ instruments


class Log(Instrument):
    """What it saw."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def before(self, step: Step, module: ModuleOp) -> None:
        self.lines.append(f"before {step.name} {step.index}/{step.count}")

    def after(self, step: Step, module: ModuleOp) -> None:
        self.lines.append(f"after {step.name}")

    def failed(self, step: Step, module: ModuleOp, error: Exception) -> None:
        self.lines.append(f"failed {step.name}: {error}")


@dataclass(frozen=True)
class Fail(ModulePass):
    """Fails."""

    name = "fail"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise InarchError("no")


def test_instruments_see_every_pass_and_its_failure() -> None:
    context = new_context()
    log = Log()
    with pytest.raises(InarchError, match="no"):
        run_pipeline(context, parse_module(context, TEXT), [Count(), Fail(), Count()], [log])
    assert log.lines == ["before count 0/3", "after count", "before fail 1/3", "failed fail: no"]


@pytest.mark.usefixtures("folder")
def test_bisection_runs_the_first_of_the_passes_that_are_not_needed() -> None:
    whole = [one for one in default_pipeline() if getattr(one, "is_optional", False)]
    assert len(whole) >= 12
    for limit in (0, 3, len(whole)):
        context, stream = new_context(), StringIO()
        module = parse_module(context, TEXT)
        run_pipeline(context, module, default_pipeline(), [Bisect(limit, stream)])
        lines = stream.getvalue().splitlines()
        assert [line.startswith("BISECT: running") for line in lines] == [
            index < limit for index in range(len(whole))
        ]
        assert "loop.nest" in print_module(module) or "kernel.call" in print_module(module)
    done = cli.run(["compile", "m.mlir", "-q", "--opt-bisect-limit=0"])
    assert done.code == 0
    assert "BISECT: NOT running pass (1) unroll-scans\n" in done.err


def test_every_stage_resumes_from_its_file(folder: Path) -> None:
    """A tree of dumps: each file, with its constants, goes on to the same end."""
    values = ", ".join(str(float(i)) for i in range(20))
    (folder / "c.mlir").write_text(
        f"""func.func @main(%x: tensor<20xf32>) -> tensor<20xf32> {{
  %c = graph.constant dense<[{values}]> : tensor<20xf32>
  %0 = graph.add %x, %c : tensor<20xf32>, tensor<20xf32> -> tensor<20xf32>
  func.return %0 : tensor<20xf32>
}}
"""
    )
    command = ["c.mlir", "-p", "compile", "--print-ir-tree-dir=tree"]
    done = run(command)
    assert (done.code, done.err) == (0, "")
    files = sorted((folder / "tree").glob("*.mlir"))
    assert len(files) == len(default_pipeline()) + 1
    for file in files[:: effort(4, 1)]:
        first = file.read_text().splitlines()[0]
        rest = first.partition(" -p '")[2].partition("'")[0]
        again = run([str(file), *(["-p", rest] if rest else [])])
        assert (again.code, again.err) == (0, ""), file.name
        assert again.out == done.out, file.name


@pytest.mark.parametrize("is_first", [True, False])
def test_a_stage_resumes_with_the_files_that_were_loaded(folder: Path, *, is_first: bool) -> None:
    pass_file(folder, "mark", "after graph")
    load, command = ["--load", "mark.py"], ["compile", "m.mlir", "--print-ir-tree-dir=tree"]
    done = cli.run([*load, *command] if is_first else [*command, *load])
    assert done.code == 0, done.err
    first = (folder / "tree" / "01-inline-calls.mlir").read_text().splitlines()[0]
    assert first.endswith(f" --load {folder / 'mark.py'}")
    argv = shlex.split(first.removeprefix("// resume: inarch-opt "))
    again = run([f"tree/{argv[0]}", *argv[1:]])
    assert (again.code, again.err) == (0, "")
    assert "seen.mark" in again.out


@pytest.mark.usefixtures("folder")
def test_dumps_after_what_changed_and_what_failed() -> None:
    done = run(
        ["m.mlir", "-p", "cse,dce,decompose-composites,graph-to-loop", "--print-ir-after-change"]
    )
    assert [line for line in done.err.splitlines() if "IR Dump" in line] == [
        "// -----// IR Dump After graph-to-loop //----- //"
    ]
    done = run(["m.mlir", "-p", "annotate{backends=nope}", "--print-ir-after-failure"])
    assert "// -----// IR Dump After failed annotate //----- //\nbuiltin.module {" in done.err
    done = run(["m.mlir", "-p", "graph-to-loop", "--pass-statistics"])
    assert done.err.splitlines()[0].split() == ["ops", "after", "change", "pass"]
    assert done.err.splitlines()[1].split()[3] == "graph-to-loop"


# ------------------------------------------------------------------------------------ options


def test_options_are_one_value_with_the_fields_that_settings_have() -> None:
    assert list(Settings.__annotations__) == list(Options.__annotations__)
    options = Options(target="generic")
    assert Options.of(options, {"name": "a"}) == Options(target="generic", name="a")
    assert options.given() == {"target": "generic"}


@pytest.mark.usefixtures("folder")
def test_an_option_that_does_not_exist() -> None:
    with pytest.raises(UsageError) as caught:
        inarch.compile("m.mlir", traget="generic")  # pyright: ignore[reportCallIssue]
    assert str(caught.value).startswith("no option 'traget'; did you mean 'target'? Known: ")


@pytest.mark.usefixtures("folder")
def test_places_go_with_the_pipeline_of_every_compilation() -> None:
    with pytest.raises(UsageError) as caught:
        build("m.mlir", "m.inarch", pipeline="compile", places={"cse": "after prepare"})
    assert str(caught.value) == (
        "places: expected no pipeline beside it; put the pass into the pipeline"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        build("m.mlir", "m.inarch", places={"cse": "after prepare"})


# ------------------------------------------------------------------------------------ verification


@pytest.mark.usefixtures("scope")
def test_what_a_pass_of_others_leaves_is_verified_at_once(folder: Path) -> None:
    """Of a module, which cannot be read again, too."""
    path = pass_file(folder, "mark", "after loop")
    action = 'op.attributes["seen.mark"] = UnitAttr()'
    detach = "next(o for o in op.walk() if o.name == 'func.return').detach()"
    path.write_text(path.read_text().replace(action, detach))
    load(path)
    context = new_context()
    with pytest.raises(InarchError) as caught:
        build(parse_module(context, TEXT), folder / "m.inarch", context=context)
    assert "(after pass 'mark')" in str(caught.value)


def test_a_pass_of_ours_that_leaves_a_wrong_program_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though the program is verified at the end only: what failed runs again, verified after each pass."""

    def broken(*given: object) -> None:
        module = given[-1]
        assert isinstance(module, ModuleOp)
        for one in list(module.walk()):
            if one.name == "graph.relu":
                one.properties["extra"] = one.properties.get("extra", IntAttr(1))

    monkeypatch.setattr(PASSES["fold-batch-norm"], "apply", broken)
    monkeypatch.setattr(PASSES["decompose-composites"], "apply", _crash)
    with pytest.raises(InarchError) as caught:
        build("m.mlir", folder / "m.inarch")
    assert "(after pass 'fold-batch-norm')" in str(caught.value)


def _crash(*_: object) -> None:
    raise AssertionError("met what it did not expect")


def test_a_verified_program_is_verified_again_where_it_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    context = new_context()
    module = parse_module(context, TEXT + TEXT.replace("@main", "@other"))
    seen: list[str] = []
    whole = ReluOp.verify_

    def verify(self: ReluOp) -> None:
        function = self.parent_op()
        assert isinstance(function, FuncOp)
        seen.append(function.sym_name.data)
        whole(self)

    monkeypatch.setattr(ReluOp, "verify_", verify)
    verified = Verified()
    verify_module(module, verified)
    verify_module(module, verified)
    assert seen == ["main", "other"]
    relu = next(op for op in module.walk() if isinstance(op, ReluOp))
    relu.attributes["mark"] = IntAttr(1)
    verify_module(module, verified)
    assert seen == ["main", "other", "main"]
    relu.results[0].name_hint = "y"  # says nothing
    verify_module(module, verified)
    assert len(seen) == 3


def test_an_op_whose_view_changed_is_verified_again() -> None:
    """A nest that now writes through a view what it reads: the nest itself is as it was."""
    text = """func.func @main(%a: memref<8xf32>, %b: memref<8xf32> {inarch.result}) {
  %v = loop.reshape %b : memref<8xf32> to memref<2x4xf32>
  loop.nest (i = 2, j = 4) ins(%a[7 - i - j] : memref<8xf32>) outs(%v[i, j] : memref<2x4xf32>) {
  ^bb0(%x: f32, %o: f32):
    loop.yield %x : f32
  }
  func.return
}
"""
    module = parse_module(new_context(), text)
    verified = Verified()
    verify_module(module, verified)
    view = next(op for op in module.walk() if op.name == "loop.reshape")
    function = next(op for op in module.walk() if isinstance(op, FuncOp))
    view.operands[0] = function.body.block.args[0]
    with pytest.raises(InarchError):
        verify_module(module)
    with pytest.raises(InarchError):
        verify_module(module, verified)


def test_what_a_pass_says_of_a_sound_program_is_said_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model is not compiled again to find out who made it wrong: nobody did."""
    count: list[object] = []

    def refuse(*given: object) -> None:
        count.append(given)
        raise InarchError("not this model")

    monkeypatch.setattr(PASSES["fold-batch-norm"], "apply", refuse)
    with pytest.raises(InarchError, match="not this model"):
        build("m.mlir", folder / "m.inarch")
    assert len(count) == 1


@pytest.mark.usefixtures("folder")
def test_text_of_a_level_obeys_the_same_options() -> None:
    words = ["compile", "m.mlir", "--emit=loop", "-q", "--print-ir-after=cse", "--timing"]
    done = cli.run([*words, "--place", "cse=after prepare", "--dump-pass-pipeline"])
    assert (done.code, "fold-batch-norm,cse)" in done.err) == (0, True)
    assert "IR Dump After cse" in done.err
    assert "pass graph-to-loop" in done.err
    assert "pass tensorize" not in done.err
    wrong = cli.run(["compile", "m.mlir", "--emit=loop", "--print-ir-after=tensorise"])
    assert (wrong.code, "did you mean" in wrong.err or "no pass" in wrong.err) == (2, True)


def test_ops_are_tried_by_the_pipeline_that_runs() -> None:
    """What layouts and algorithms are chosen by is lowered by the passes that the program will have."""
    context = new_context()
    run_pipeline(context, ModuleOp([]), [*default_pipeline().without("join-rows").until("kernel")])
    assert [one.name for one in trial_passes(context)] == [
        *(name for name in PHASES["loop"] if name not in ("apply-schedule", "tile-and-fuse")),
        *(name for name in PHASES["padding"] if name != "join-rows"),
    ]
