"""`inarch-opt` in process: messages, exit codes, files; and that a run leaves nothing behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import inarch
from inarch.core.errors import InarchError
from inarch.ir.context import store_of
from inarch.passes import PASSES
from inarch.tools import opt
from inarch.tools.opt import run
from inarch.tools.opt.diagnostics import Diagnostic, expectations, mismatches

EMPTY = "func.func @f() {\n  func.return\n}\n"
ADD = """\
func.func @f(%a: tensor<2xf32>) -> tensor<2xf32> {
  %b = graph.add %a, %a : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  func.return %b : tensor<2xf32>
}
"""
CRASH = '''
from dataclasses import dataclass
from xdsl.passes import ModulePass
from inarch.core.errors import InternalError

@dataclass(frozen=True)
class Crash(ModulePass):
    """Crashes."""
    name = "crash"
    how: str = "type"
    def apply(self, ctx, op):
        if self.how == "internal":
            raise InternalError("an invariant")
        if self.how == "silent":
            raise ValueError
        raise TypeError("bad\\nthing")

PASS = Crash
'''


@pytest.fixture
def crash(tmp_path: Path) -> Path:
    path = tmp_path / "crash.py"
    path.write_text(CRASH)
    return path


def test_prints_the_program() -> None:
    code, out, err = run([], EMPTY)
    assert (code, err) == (0, "")
    assert out == "builtin.module {\n  func.func @f() {\n    func.return\n  }\n}\n"


@pytest.mark.every_case(reason="each is a message of its own")
@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (
            ["--verify-eahc=end"],
            "error: no option '--verify-eahc'; did you mean '--verify-each'? Known: ",
        ),
        (
            ["--verify-each=often"],
            "error: argument --verify-each: invalid choice: 'often' (choose from 'none', 'end', "
            "'each'); see inarch-opt --help",
        ),
        (["a.mlir", "b.mlir"], "error: expected one input file, found 'a.mlir' and 'b.mlir'"),
        (
            ["no/such.mlir"],
            "error: expected an input file, found 'no/such.mlir': No such file or directory",
        ),
        (["-p", "canonicalise"], "error: no pass 'canonicalise'; did you mean 'canonicalize'? "),
        (["-t", "mlri"], "error: no target 'mlri'; did you mean 'mlir'? Known: "),
        (
            ["-p", "cse{"],
            "error: pipeline 'cse{', character 5: expected a closing bracket, found the end",
        ),
        (
            ["-p", "cse,dce}"],
            "error: pipeline 'cse,dce}', character 8: expected no '}' here",
        ),
        (
            ["-p", "mlir-opt{exectable=x}"],
            "error: no option 'exectable' in pass 'mlir-opt'; did you mean 'executable'? "
            "Known: arguments, executable, generic",
        ),
        (
            ["-p", "mlir-opt{generic=7}"],
            "error: option 'generic' of pass 'mlir-opt': expected bool, found 7",
        ),
        (
            ["-p", "mlir-opt{generic}"],
            "error: option 'generic' of pass 'mlir-opt': expected bool, found no value",
        ),
        (
            ["-p", "x86-set-arch"],
            "error: pass 'x86-set-arch' needs the option 'arch'",
        ),
        (
            ["-p", "cse", "--print-ir-after=dce"],
            "error: no pass 'dce' in -p; did you mean 'cse'? Known: cse",
        ),
        (["--print-ir-before=dce"], "error: expected 'dce' among the passes of -p, found none"),
        (["--load", "no.py"], "error: --load: expected a Python file, found 'no.py'"),
        (["--pass-help", "licmm"], "error: no pass 'licmm'; did you mean 'licm'? "),
        (
            ["--resources", "no.npz"],
            "no.npz: error: --resources: expected arrays in a .npy or .npz file: ",
        ),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(argv: list[str], message: str) -> None:
    code, out, err = run(argv, EMPTY)
    assert err.startswith(message)
    assert (code, out, err.count("\n")) == (2, "", 1)


def test_a_text_of_comments_is_an_empty_program() -> None:
    assert run([], "// nothing\n") == (0, "builtin.module {\n}\n", "")
    code, out, err = run(["--split-input-file"], f"// nothing\n// -----\n{EMPTY}")
    assert (code, err) == (0, "")
    assert out.startswith("builtin.module {\n}\n// -----\nbuiltin.module {\n  func.func @f")


def test_a_parse_error_has_a_place() -> None:
    assert run([], "func.func @f(") == (1, "", "<stdin>:1:14: error: Expected argument or type\n")


def test_an_attribute_that_does_not_verify_has_the_place_of_its_op() -> None:
    text = EMPTY.replace("func.return", "arith.constant 300 : i8")
    code, _, err = run([], text)
    assert (code, err) == (
        1,
        "<stdin>:2:3: error: Integer value 300 is out of range for type i8 which supports values in "
        "the range [-128, 256)\n",
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('// "fine\n  "' + "a" * 40 + "\n", "2:3: error: expected a closing quote"),
        (
            '"a.b"() {x = "ok \\" \\n \\\\ \\41 \\q"} : () -> ()',
            '1:31: error: expected \\n, \\t, \\", \\\\ or two hexadecimal digits after a \\ '
            "in a string",
        ),
        (
            "func.func @f(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x2x2xf32> {\n"
            "  %y = graph.max_pool %x window = [99999999999999999999, 2] strides = [2, 2] "
            ": tensor<1x1x4x4xf32> -> tensor<1x1x2x2xf32>\n}\n",
            "2:36: error: expected an integer of at most 64 bits, found '99999999999999999999'",
        ),
        (
            "func.func @f() -> f32 {\n  func.return %q : f32\n}\n",
            "2:15: error: value %q is used but not defined",
        ),
    ],
)
def test_what_no_lexer_takes_has_a_place(text: str, message: str) -> None:
    assert run([], text) == (1, "", f"<stdin>:{message}\n")


def test_a_full_disk_behind_the_output(tmp_path: Path) -> None:
    (tmp_path / "f.mlir").write_text(EMPTY)
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                "from inarch.tools.opt import main; raise SystemExit(main())",
                str(tmp_path / "f.mlir"),
            ],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            text=True,
        )
    assert (done.returncode, done.stderr) == (
        3,
        "error: cannot write the output: No space left on device\n",
    )


def test_a_loaded_file_that_leaves(tmp_path: Path) -> None:
    path = tmp_path / "leaves.py"
    path.write_text("import sys\nsys.exit(0)\n")
    assert run(["--load", str(path)], EMPTY) == (
        2,
        "",
        f"error: --load: {path}:2 fails: SystemExit: 0\n",
    )


def test_a_verifier_error_has_a_place(tmp_path: Path) -> None:
    path = tmp_path / "a.mlir"
    path.write_text(ADD.replace("%a: tensor<2xf32>", "%a: tensor<2xi1>").replace("f32", "i1"))
    code, out, err = run([str(path)])
    assert (code, out) == (1, "")
    assert err.startswith(f"{path}:2:3: error: 'graph.add' C3: ")


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"\xff\xfe\x00")
    code, _, err = run([str(path)])
    assert code == 1
    assert err.startswith(f"{path}: error: expected MLIR text in UTF-8, found other bytes")


def test_bytecode_is_refused_with_what_makes_it(tmp_path: Path) -> None:
    path = tmp_path / "model.mlirbc"
    path.write_bytes(b"ML\xefR\x06MLIR21\x00")
    assert run([str(path)]) == (
        1,
        "",
        f"{path}: error: expected MLIR text, found MLIR's bytecode; `mlir-opt {path} -o FILE.mlir` "
        "makes text of it\n",
    )
    assert run(["--emit-bytecode", "-"], EMPTY) == (
        2,
        "",
        "error: --emit-bytecode: MLIR's bytecode is neither written nor read, as xDSL has text only; "
        "--print-op-generic -o FILE writes text of which mlir-opt makes bytecode\n",
    )


def test_version_and_help() -> None:
    assert run(["--version"]) == (0, f"inarch-opt {inarch.__version__}\n", "")
    code, out, err = run(["--help"])
    assert (code, err) == (0, "")
    assert "example:\n  inarch-opt model.mlir -p " in out


# ------------------------------------------------------------------------------------ crashes


def test_a_crash_keeps_the_input(crash: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.mlir"
    argv = ["--load", str(crash), "-p", "dce,crash{how=type},cse", "--reproducer", str(kept)]
    code, out, err = run(argv, ADD)
    command = f"inarch-opt {kept} -p 'crash,cse' --load={crash}"
    assert (code, out) == (1, "")
    assert err == (
        f"error: pass 'crash' [{crash}] raises TypeError: bad thing (crash.py:16); "
        f"the input is in {kept}, run: {command}\n"
    )
    first, _, program = kept.read_text().partition("\n")
    assert first == f"// RUN-able: {command}"
    assert program == run([], ADD).out


def test_the_kept_command_runs(crash: Path, tmp_path: Path) -> None:
    import shlex

    kept = tmp_path / "it's kept.mlir"
    run(["--load", str(crash), "-p", 'crash{how="silent"}', "--reproducer", str(kept)], ADD)
    words = shlex.split(kept.read_text().partition("\n")[0].removeprefix("// RUN-able: "))
    code, _, err = run([*words[1:], "--reproducer", str(tmp_path / "again.mlir")])
    assert code == 1
    assert err.startswith(
        f"error: pass 'crash' [{crash}] raises ValueError (crash.py:15); the input is in "
    )


def test_a_crash_keeps_the_constants(crash: Path, tmp_path: Path) -> None:
    data = np.arange(20, dtype=np.float32)
    np.savez(tmp_path / "w.npz", w0=data)
    text = (
        "func.func @f() -> tensor<20xf32> {\n"
        "  %w = graph.constant dense_resource<w0> : tensor<20xf32>\n"
        "  func.return %w : tensor<20xf32>\n}\n"
    )
    kept = tmp_path / "kept.mlir"
    argv = ["--resources", str(tmp_path / "w.npz"), "--load", str(crash), "-p", "crash"]
    code, _, err = run([*argv, "--reproducer", str(kept)], text)
    assert code == 1
    assert err.endswith(f"--resources={tmp_path / 'kept.npz'}\n")
    with np.load(tmp_path / "kept.npz") as archive:
        np.testing.assert_array_equal(archive["w0"], data)


def test_a_broken_invariant_is_a_crash(crash: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.mlir"
    argv = ["--load", str(crash), "-p", "crash{how=internal}", "--reproducer", str(kept)]
    code, _, err = run(argv, ADD)
    assert code == 70
    assert err.startswith("error: internal error in pass 'crash': an invariant; the input is in ")


def test_a_crash_whose_input_cannot_be_kept(crash: Path, tmp_path: Path) -> None:
    kept = tmp_path / "no-such-folder" / "kept.mlir"
    code, _, err = run(["--load", str(crash), "-p", "crash", "--reproducer", str(kept)], ADD)
    assert (code, err) == (
        1,
        f"error: pass 'crash' [{crash}] raises TypeError: bad thing (crash.py:16); "
        "its input could not be kept: "
        f"cannot write '{kept}': No such file or directory\n",
    )


def test_the_traceback_is_for_debug_only(crash: Path, tmp_path: Path) -> None:
    argv = ["--load", str(crash), "-p", "crash", "--reproducer", str(tmp_path / "kept.mlir")]
    assert "Traceback" not in run(argv, ADD).err
    assert "Traceback" in run([*argv, "--debug"], ADD).err


def test_a_bug_of_the_driver_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: object) -> None:
        raise KeyError("oops")

    monkeypatch.setattr(opt, "parse_pipeline", fails)
    assert run([], ADD) == (
        70,
        "",
        "error: internal error: KeyError: 'oops'; --debug prints where\n",
    )


# ------------------------------------------------------------------------------------ files


def test_output_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "out.mlir"
    path.write_text("before")
    assert run(["-o", str(path)], "nonsense").code == 1
    assert path.read_text() == "before"
    assert run(["-o", str(path)], EMPTY) == (0, "", "")
    assert path.read_text() == run([], EMPTY).out
    assert [file.name for file in tmp_path.iterdir()] == ["out.mlir"]


def test_output_to_a_device_does_not_replace_it() -> None:
    if not Path("/dev/null").is_char_device():
        pytest.skip("there is no /dev/null")
    assert run(["-o", "/dev/null"], EMPTY) == (0, "", "")
    assert Path("/dev/null").is_char_device()


def test_output_goes_where_a_link_points(tmp_path: Path) -> None:
    path, link = tmp_path / "out.mlir", tmp_path / "link.mlir"
    path.write_text("before")
    link.symlink_to(path.name)
    assert run(["-o", str(link)], EMPTY) == (0, "", "")
    assert link.is_symlink()
    assert path.read_text() == run([], EMPTY).out


def test_output_may_have_as_long_a_name_as_a_file(tmp_path: Path) -> None:
    path = tmp_path / f"{'n' * 250}.mlir"
    assert run(["-o", str(path)], EMPTY) == (0, "", "")
    assert path.read_text() == run([], EMPTY).out


def test_output_that_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "no" / "out.mlir"
    code, _, err = run(["-o", str(path)], EMPTY)
    assert (code, err) == (3, f"error: cannot write '{path}': No such file or directory\n")


def test_resources_go_in_and_out(tmp_path: Path) -> None:
    data = np.arange(20, dtype=np.int64).reshape(4, 5)
    np.savez(tmp_path / "in.npz", w0=data, unused=np.zeros(3))
    text = (
        "func.func @f() -> tensor<4x5xi64> {\n"
        "  %w = graph.constant dense_resource<w0> : tensor<4x5xi64>\n"
        "  func.return %w : tensor<4x5xi64>\n}\n"
    )
    argv = ["--resources", str(tmp_path / "in.npz"), "--write-resources", str(tmp_path / "o.npz")]
    code, out, err = run(argv, text)
    assert (code, err) == (0, "")
    assert "dense_resource<w0>" in out
    with np.load(tmp_path / "o.npz") as archive:
        assert archive.files == ["w0"]
        np.testing.assert_array_equal(archive["w0"], data)
        assert archive["w0"].dtype == np.int64


def test_a_handle_without_data(tmp_path: Path) -> None:
    text = (
        "func.func @f() -> tensor<20xf32> {\n"
        "  %w = graph.constant dense_resource<w0> : tensor<20xf32>\n"
        "  func.return %w : tensor<20xf32>\n}\n"
    )
    code, _, err = run(["--write-resources", str(tmp_path / "o.npz")], text)
    assert code == 1
    assert err == (
        "error: constant 'w0' has no data: expected it in the store; "
        "read the text with its side file: FILE.npz beside FILE.mlir, or --resources\n"
    )


# ------------------------------------------------------------------------------------ isolation


def test_loaded_files_are_forgotten(crash: Path) -> None:
    assert "crash" in run(["--list-passes", "--load", str(crash)]).out
    assert "crash" not in PASSES
    assert run(["-p", "crash"], EMPTY).code == 2


def test_timing_does_not_book_the_import_of_dialects_under_parsing() -> None:
    rows = [line.split()[3:] for line in run(["-p", "cse", "--timing"], ADD).err.splitlines()]
    assert rows == [
        ["step"],
        ["import"],
        ["parse"],
        ["verify"],
        ["pass", "cse"],
        ["print"],
        ["total"],
    ]
    text = "import sys\nfrom inarch.ir import text\nfrom inarch.tools.opt import run\n"
    text += "parse = text.parse_module\n"
    text += "def spy(*a, **k):\n  before = set(sys.modules)\n  module = parse(*a, **k)\n"
    text += "  print(sorted(n for n in set(sys.modules) - before if '.dialects.' in n))\n  return module\n"
    text += "from inarch.tools.opt import driver\ndriver.parse_module = spy\n"
    text += f"run(['-p', 'cse'], {ADD!r})\n"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_run_touches_neither_streams_nor_arguments(capfd: pytest.CaptureFixture[str]) -> None:
    argv = list(sys.argv)
    run(["-p", "cse", "--print-ir-after-all", "--timing"], ADD)
    run(["--nonsense"], ADD)
    assert capfd.readouterr() == ("", "")
    assert sys.argv == argv


def test_a_broken_plugin_is_shown_as_broken(tmp_path: Path) -> None:
    path = tmp_path / "odd_thing.py"
    path.write_text("PASS = 7\n")
    code, out, _ = run(["--list-passes", "--load", str(path)])
    assert code == 0
    assert (
        f"broken: pass 'odd-thing' ({path}): expected PASS to be a ModulePass class whose name is "
        "'odd-thing', found an object of type int\n"
    ) in out


def test_no_pass_of_ours_has_the_name_of_one_of_xdsl() -> None:
    from xdsl.transforms import get_all_passes

    assert set(PASSES).isdisjoint(get_all_passes())


def test_the_tool_starts_without_numpy() -> None:
    import subprocess

    code = (
        "import sys; from inarch.tools.opt import run; "
        f"assert run([], {ADD!r}).code == 0; sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# ------------------------------------------------------------------------------------ diagnostics


def _check(text: str, *errors: tuple[int | None, str]) -> list[str]:
    found = [Diagnostic("error", m, None if n is None else f"f:{n}:1") for n, m in errors]
    return mismatches("f", expectations(text, "f"), found)


def test_places_of_expectations() -> None:
    assert _check("x // expected-error {{a}}", (1, "xax")) == []
    assert _check("x // expected-error @this-line {{a}}", (1, "a")) == []
    assert _check("// expected-error@below {{a}}\nx", (2, "a")) == []
    assert _check("x\n// expected-error @above {{a}}", (1, "a")) == []
    assert _check("// expected-error @+2 {{a}}\n\nx", (3, "a")) == []
    assert _check("x\n\n// expected-error @-2 {{a}}", (1, "a")) == []
    assert _check("// expected-error @unknown {{a}}", (None, "a")) == []
    two = "// expected-error @below {{a}}\n// expected-error @below {{b}}\nx"
    assert _check(two, (3, "b"), (3, "a")) == []


def test_a_kind_is_fulfilled_by_its_own() -> None:
    said = [Diagnostic("warning", "a", "f:1:1 + g:2:2"), Diagnostic("remark", "b", "f:1:1")]
    wanted = "x // expected-KIND {{a}}"
    warned = expectations(wanted.replace("KIND", "warning"), "f")
    assert mismatches("f", warned, said, ["remark"]) == []
    assert mismatches("f", warned, said) == ["f:1:1: error: unexpected remark: b"]
    assert mismatches("f", expectations(wanted.replace("KIND", "error"), "f"), said[:1]) == [
        "f:1:1 + g:2:2: error: unexpected warning: a",
        "f:1: error: expected an error on line 1, found none: a",
    ]


def test_regular_expressions_in_expectations() -> None:
    assert _check("// expected-error-re {{size {{[0-9]+}} (bytes)}}", (1, "size 12 (bytes)")) == []
    assert _check("// expected-error-re {{size {{[0-9]+}}}}", (1, "size x")) != []
    with pytest.raises(InarchError, match="expected a regular expression"):
        expectations("// expected-error-re {{{{(}}}}", "f")


def test_what_does_not_match_is_named() -> None:
    assert _check("", (3, "boo")) == ["f:3:1: error: unexpected error: boo"]
    assert _check("", (None, "boo")) == ["f (no line: @unknown): error: unexpected error: boo"]
    assert _check("// expected-error @below {{a}}\nx") == [
        "f:1: error: expected an error on line 2, found none: a"
    ]
    assert _check("// expected-error @unknown {{a}}") == [
        "f:1: error: expected an error without a line, found none: a"
    ]
    once = "// expected-error @below {{a}}\nx"
    assert _check(once, (2, "a"), (2, "a")) == ["f:2:1: error: unexpected error: a"]


def test_a_crash_is_never_expected(crash: Path, tmp_path: Path) -> None:
    """Neither one of ours nor one of a plugin."""
    kept = ["--reproducer", str(tmp_path / "kept.mlir")]
    for how, code, words in (("internal", 70, "internal error"), ("type", 1, "raises TypeError")):
        text = f"// expected-error-re @unknown {{{{{words}{{{{.*}}}}}}}}\n{EMPTY}"
        argv = ["--verify-diagnostics", "--load", str(crash), "-p", f"crash{{how={how}}}"]
        assert run([*argv, *kept], text).code == code


# ------------------------------------------------------------------------------------ xdsl-opt


def test_xdsl_opt_knows_our_passes_and_dialects() -> None:
    from xdsl.universe import Universe

    everything = Universe.get_multiverse()
    assert everything.all_passes["fold-constants"]().name == "fold-constants"
    assert everything.all_dialects["graph"]().name == "graph"


def test_our_passes_in_xdsl_opt_read_and_write_its_constants(tmp_path: Path) -> None:
    """Their store is xDSL's own, whose text has them."""
    ones = np.ones(24, np.float32).tobytes().hex()
    path = tmp_path / "m.mlir"
    path.write_text(f"""func.func @main(%x: tensor<24xf32>) -> tensor<24xf32> {{
  %w = graph.constant dense_resource<w> : tensor<24xf32>
  %v = graph.neg %w : tensor<24xf32> -> tensor<24xf32>
  %0 = graph.add %x, %v : tensor<24xf32>, tensor<24xf32> -> tensor<24xf32>
  func.return %0 : tensor<24xf32>
}}
{{-#
  dialect_resources: {{ builtin: {{ w: "0x40000000{ones}" }} }}
#-}}
""")
    tool = Path(sys.executable).parent / "xdsl-opt"
    command = [str(tool), str(path), "-p", "fold-constants,simplify-graph"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    minus = (-np.ones(24, np.float32)).tobytes().hex()
    assert (done.returncode, done.stderr) == (0, "")
    assert "%v = graph.constant dense_resource<v>" in done.stdout
    assert f'v: "0x40000000{minus}"' in done.stdout
    assert ones not in done.stdout


def test_a_constant_without_data_in_a_context_of_others() -> None:
    from xdsl.context import Context
    from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface
    from xdsl.ir import Dialect

    context = Context()
    with pytest.raises(InarchError, match="this xDSL context has no constant store; make it with "):
        store_of(context)
    theirs = OpAsmDialectInterface()
    context.load_dialect(Dialect("builtin", [], [], [theirs]))
    key = theirs.declare_resource("w")
    with pytest.raises(InarchError, match=r"^constant 'w' has no data: "):
        store_of(context).get(key)
    assert store_of(context).put("w", b"\x00") == "w_1"
    store_of(context).drop("w_1")
    assert store_of(context).keys() == ["w"]
