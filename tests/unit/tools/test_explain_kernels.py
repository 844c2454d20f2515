"""Microkernels in `inarch explain` and `inarch compile`: which does what and why; none is silently unused."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

import inarch
from inarch.core.plugins import load_file
from inarch.dialects import new_context
from inarch.driver.compiler import build
from inarch.ir.text import parse_module
from inarch.microkernel.table import MICROKERNELS
from inarch.passes.tensorize.report import Choice, KernelReport, NestReport
from inarch.passes.tensorize.tensorize import tensorize
from inarch.tools.cli import run
from inarch.tools.explain.kernels import cycles_text, everything, table, why

MATMUL = """func.func @main(%x: tensor<12x40xf32>, %w: tensor<40x32xf32>) -> tensor<12x32xf32> {
  %y = graph.matmul %x, %w : tensor<12x40xf32>, tensor<40x32xf32> -> tensor<12x32xf32>
  %z = graph.relu %y : tensor<12x32xf32> -> tensor<12x32xf32>
  func.return %z : tensor<12x32xf32>
}
"""
GEMM = """/* inarch
computes = "for m in 4, n in 8, k in K: C[m, n] += A[m, k] * B[k, n]"
dtypes = {A = "f32", B = "f32", C = "f32"}
layout = {A = ["*", 1], B = ["*", 1], C = ["*", 1]}
COST*/
void NAME(const float *A, const float *B, float *C, int64_t A_0, int64_t A_1, int64_t B_0, int64_t B_1,
          int64_t C_0, int64_t C_1, int64_t K)
{
    for (int m = 0; m < 4; m++)
        for (int64_t k = 0; k < K; k++)
            for (int n = 0; n < 8; n++)
                C[m * C_0 + n] += A[m * A_0 + k] * B[k * B_0 + n];
    (void)A_1, (void)B_1, (void)C_1;
}
"""
ROOTS = """/* inarch
computes = "for n in N: C[n] = sqrt(A[n])"
dtypes = {A = "f32", C = "f32"}
*/
void roots(const float *A, float *C, int64_t A_0, int64_t C_0, int64_t N)
{
    for (int64_t n = 0; n < N; n++)
        C[n * C_0] = __builtin_sqrtf(A[n * A_0]);
}
"""
PLACE = "model.mlir:2:3 + model.mlir:3:3"
MISS = "the nest reduces, the meaning C[n] = sqrt(A[n]) does not"
TARGET = ("--target", "generic")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder with a model and kernels: `mine`, which says that it is cheap, and `roots`."""
    monkeypatch.chdir(tmp_path)
    Path("model.mlir").write_text(MATMUL)
    Path("mine.c").write_text(GEMM.replace("NAME", "mine").replace("COST", "cost = 1\n"))
    Path("roots.c").write_text(ROOTS)
    return tmp_path


def _run(*argv: str) -> tuple[str, str]:
    code, out, err = run([*argv])
    assert code == 0, err
    return out, err


# ------------------------------------------------------------------------------------ a report as text


def _choice(kernel: str, cost: float, *, q: int = 7, **more: object) -> Choice:
    values: dict[str, object] = {"around": 0.0, "calls": 4, "copies": (), "iterators": "m <- oh"}
    return Choice(kernel, {"P": 1, "Q": q}, cost, **{**values, **more})  # pyright: ignore[reportArgumentType]


def _nest(*candidates: Choice, location: str = "conv1 + relu2", **misses: str) -> NestReport:
    return NestReport(
        location,
        "main",
        "m = 4, k = 8 reduction",
        candidates[0] if candidates else None,
        candidates,
        misses,
        dict.fromkeys(misses, 1),
        True,
        "out = out + in0 * in1",
    )


@pytest.mark.parametrize(
    ("candidates", "text"),
    [
        ((_choice("a", 1.97e6),), "the only candidate"),
        (
            (_choice("a", 1.97e6), _choice("a", 1.97e6), _choice("a", 2.0094e6, q=14)),
            "next a P1 Q14: 2.01M, 2.0 % more",
        ),
        (
            (_choice("a", 640.0), _choice("b", 640.0, scattered=1)),
            "next b P1 Q7: 640, as cheap, but more of its operands lie out of order",
        ),
        (
            (_choice("a", 640.0), _choice("b", 640.0, idle=2)),
            "next b P1 Q7: 640, as cheap, but its iterators fit less well",
        ),
        (
            (_choice("a", 640.0), _choice("b", 640.0)),
            "next b P1 Q7: 640, as cheap, and found later",
        ),
        (
            (_choice("a", 640.0, basis="measured"), _choice("b", 1280.0)),
            "measured; next b P1 Q7: 1.28k, 100 % more",
        ),
        (
            (_choice("a", 640.0), _choice("b", 600.0, basis="estimated")),
            "next b P1 Q7: 600 estimated, 40 less, which was not measured",
        ),
        ((_choice("named", 800.0), _choice("b", 640.0)), "next b P1 Q7: 640, named is demanded"),
    ],
)
def test_why_one_won(candidates: tuple[Choice, ...], text: str) -> None:
    """The next best is another kernel, or has other parameters, and what decided is said."""
    nest = _nest(*candidates)
    assert why(nest, KernelReport(("a", "b"), (nest,), {}, ("named",))) == text


def test_why_none_won() -> None:
    """The kernel that got furthest."""
    nest = NestReport("p", "main", "i = 4", None, (), {"a": "body", "b": "tiles"}, {"a": 1, "b": 3})
    assert why(nest, KernelReport(("a", "b"), (nest,))) == "b: tiles"
    assert why(_nest(), KernelReport((), ())) == "no kernels were tried"


@pytest.mark.parametrize(
    ("cycles", "text"),
    [
        (0.0, "0"),
        (999.4, "999"),
        (999.6, "1.00k"),
        (14976, "15.0k"),
        (896001, "896k"),
        (999_700, "1.00M"),
        (1_970_000, "1.97M"),
        (2.5e12, "2500G"),
    ],
)
def test_cycles(cycles: float, text: str) -> None:
    assert cycles_text(cycles) == text


def test_the_table() -> None:
    """A line a nest, with the cycles of all iterations; those that nothing came near are counted."""
    packed = _choice("conv", 3e6, copies=("A: stride 2", "B: stride 9"), packed=("B",))
    far = NestReport("relu3", "main", "i = 4", None, (), {"conv": "no"}, {"conv": 1})
    nests = (
        _nest(packed, _choice("gemm", 6e6)),
        replace(_nest(_choice("gemm", 2.5e5), _choice("conv", 5e5), location="fc4"), iterations=4),
        replace(
            _nest(location="pool5", conv="the body differs", gemm="the body differs"), plain=1e6
        ),
        far,
    )
    report = KernelReport(("conv", "gemm", "gone"), nests, {"gone": "gone.c: no such feature"})
    assert table(report, every=False) == (
        "location       kernel  parameters  copies  cycles   share  why\n"
        "conv1 + relu2  conv    P1 Q7       A        3.00M  60.0 %  next gemm P1 Q7: 6.00M, 100 % more\n"
        "fc4 x 4        gemm    P1 Q7       -        1.00M  20.0 %  next conv P1 Q7: 2.00M, 100 % more\n"
        "pool5          -                            1.00M  20.0 %  conv: the body differs\n"
        "\n"
        "conv: 1 of 4 nests, 60.0 % of the cycles\n"
        "gemm: 1 of 4 nests, 20.0 % of the cycles\n"
        "gone: unusable: gone.c: no such feature\n"
        "no kernel: 2 of 4 nests, 20.0 % of the cycles, 1 of them not shown (--all)\n"
    )
    full = table(report, every=True).splitlines()
    assert "    gemm P1 Q7: 6.00M" in full
    assert "    not gemm: the body differs" in full
    assert "    not conv: no" in full
    told = everything(nests[1], report).splitlines()
    assert "  kernel gemm P1 Q7: 1.00M cycles in 16 calls (4 iterations), 20.0 % of all" in told
    assert "  candidate conv P1 Q7: 2.00M cycles in 16 calls (4 iterations)" in told


def test_everything_about_a_nest() -> None:
    packed = _choice("conv", 3e6, around=6e5, copies=("A: stride 2", "B: stride 9"), packed=("B",))
    nest = _nest(packed, _choice("gemm", 33e6, calls=12), gemv="no iterators")
    assert everything(nest, KernelReport(("conv", "gemm", "gemv"), (nest,))) == (
        "conv1 + relu2 in @main: m = 4, k = 8 reduction\n"
        "  kernel conv P1 Q7: 3.00M cycles in 4 calls, 600k of them around the calls, 100.0 % of all\n"
        "    iterators: m <- oh\n"
        "    copies A: stride 2\n"
        "    packs B: stride 9\n"
        "    why: next gemm P1 Q7: 33.0M, 30.0M more\n"
        "  computes out = out + in0 * in1\n"
        "  candidate gemm P1 Q7: 33.0M cycles in 12 calls\n"
        "    iterators: m <- oh\n"
        "  not gemv: no iterators\n"
    )


# ------------------------------------------------------------------------------------ the command


def test_a_kernel_and_its_reasons() -> None:
    """Somebody's own kernel does the nest; every other kernel has a candidate or a reason."""
    out, err = _run("explain", "model.mlir", "--load", "mine.c", *TARGET)
    assert err == ""
    (row,) = [line for line in out.splitlines() if line.startswith("model.mlir:2:3")]
    assert row.split()[:5] == ["model.mlir:2:3", "+", "model.mlir:3:3", "mine", "-"]
    assert "mine: 1 of 1 nests, 100.0 % of the cycles\n" in out
    alone, _ = _run("explain", "model.mlir", "--load", "mine.c", *TARGET, "--why", "model.mlir:3:3")
    assert alone.startswith("model.mlir:2:3 + model.mlir:3:3 in @main: ")
    assert re.search(r"\n  kernel mine: \S+ cycles in \d+ calls", alone)
    for name in MICROKERNELS:
        assert re.search(rf"\n  (kernel|candidate|not) {name}\b", alone), name


def test_the_json_is_what_compile_does() -> None:
    """`kernels` has every nest with its choice, candidates, misses and why."""
    options = ("--load", "mine.c", "--load", "roots.c", *TARGET)
    out, err = _run("explain", "model.mlir", *options, "--json")
    assert err.startswith(f"{PLACE}: warning: microkernel 'roots' was loaded and is used nowhere; ")
    found = json.loads(out)
    assert found["schema"] == 1
    kernels = found["kernels"]
    assert set(kernels) == {"kernels", "nests", "unusable", "demanded", "between", "cycles"}
    assert {"mine", "roots"} < set(kernels["kernels"])
    (nest,) = kernels["nests"]
    assert nest["location"] == "model.mlir:2:3 + model.mlir:3:3"
    assert (nest["taken"]["kernel"], nest["taken"]["basis"]) == ("mine", "stated")
    assert nest["taken"] == nest["candidates"][0]
    assert nest["misses"]["roots"] == MISS
    tried = {one["kernel"] for one in nest["candidates"]} | set(nest["misses"])
    assert tried == set(kernels["kernels"])
    counts = Counter(one["taken"]["kernel"] for one in kernels["nests"] if one["taken"])
    made, _ = _run("compile", "model.mlir", *options, "--json")
    assert json.loads(made)["microkernels"] == counts == {"mine": 1}


def test_backends_leave_the_rest_to_kernels() -> None:
    """With a backend only the host's nests are there; without --kernels none are looked for."""
    options = ("explain", "model.mlir", "--load", "mine.c", *TARGET, "--backend", "examplejson")
    with_kernels, _ = _run(*options, "--kernels", "--keep", "matmul=examplejson")
    assert "host: 1 of 2 ops\n\nlocation " in with_kernels
    (row,) = re.findall(r"^model.mlir:2:3 +mine .*", with_kernels, re.MULTILINE)
    assert "model.mlir:3:3" not in row
    assert "kernel" not in _run(*options)[0]
    assert "kernels" not in json.loads(_run(*options, "--json")[0])
    nothing, err = _run(*options, "--kernels")
    assert "mine: 0 of 0 nests; there is no nest\n" in nothing
    assert err == ("warning: microkernel 'mine' was loaded and is used nowhere; there is no nest\n")


def test_a_place_where_nothing_is() -> None:
    code, out, err = run(["explain", "model.mlir", "--why", "model.mlir:2:4", *TARGET])
    assert (code, out) == (2, "")
    assert err == (
        "error: no nest 'model.mlir:2:4' in --why; did you mean 'model.mlir:2:3'? Known: "
        "model.mlir:2:3, model.mlir:2:3 + model.mlir:3:3, model.mlir:3:3\n"
    )


def test_choices_by_hand_are_of_a_backend() -> None:
    assert run(["explain", "model.mlir", "--keep", "matmul=examplejson"]) == (
        2,
        "",
        "error: --give, --keep: expected a backend to choose for, such as --backend examplejson\n",
    )


def test_the_page_has_them() -> None:
    _run("explain", "model.mlir", "--load", "mine.c", *TARGET, "--html", "model.html")
    text = Path("model.html").read_text()
    assert "model.mlir:2:3 \u00b7 mine</text>" in text
    data = re.search(r'id="data">(.*?)</script>', text, re.DOTALL)
    assert data is not None
    for box in json.loads(data[1]).values():
        assert box["kernels"][0].startswith("mine: ")
        assert any(line.startswith("not depthwise-f32: ") for line in box["kernels"])


CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: apt-get install chromium")
def test_an_op_that_is_chosen_shows_its_kernel(folder: Path) -> None:
    assert CHROMIUM is not None
    _run("explain", "model.mlir", "--load", "mine.c", *TARGET, "--html", "model.html")
    page = (folder / "model.html").as_uri() + "#2"
    quiet = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}"]
    done = subprocess.run(
        [CHROMIUM, *quiet, "--dump-dom", page],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    panel = done.stdout.partition('<aside id="panel">')[2].partition("</aside>")[0]
    assert "<dt>Microkernels</dt><dd>mine: " in panel


# ------------------------------------------------------------------------------------ never silent


def test_a_loaded_kernel_that_nothing_uses_is_a_warning() -> None:
    """With the first difference, in one line; compile goes on."""
    out, err = _run("compile", "model.mlir", "--load", "roots.c", *TARGET)
    assert "roots" not in out
    assert err == (
        f"{PLACE}: warning: microkernel 'roots' was loaded and is used nowhere; "
        "of the nest (m = 12, n = 32, k = 40 reduction): "
        f"{MISS}\n"
    )


def test_the_nest_that_is_named_is_the_one_that_looks_most_like_the_kernel(tmp_path: Path) -> None:
    """Of a GELU the one with an erf, of windows the one with such windows; not the first, or the furthest."""
    (tmp_path / "gelu.mlir").write_text(
        """func.func @main(%x: tensor<8x16xf32>, %w: tensor<16x32xf32>, %v: tensor<32x8xf32>)
    -> tensor<8x8xf32> {
  %0 = graph.add %x, %x : tensor<8x16xf32>, tensor<8x16xf32> -> tensor<8x16xf32>
  %1 = graph.matmul %0, %w : tensor<8x16xf32>, tensor<16x32xf32> -> tensor<8x32xf32>
  %2 = graph.erf %1 : tensor<8x32xf32> -> tensor<8x32xf32>
  %3 = graph.matmul %2, %v : tensor<8x32xf32>, tensor<32x8xf32> -> tensor<8x8xf32>
  func.return %3 : tensor<8x8xf32>
}
"""
    )
    Path("gelu.c").write_text(
        ROOTS.replace("sqrt(A[n])", "A[n] * (erf(A[n]) + 1)").replace("roots", "gelu")
    )
    _, err = _run("explain", "gelu.mlir", "--load", "gelu.c", *TARGET)
    assert re.match(
        r"gelu.mlir:4:3 \+ gelu.mlir:5:3: warning: microkernel 'gelu' was loaded and is", err
    )


def test_a_demanded_kernel_that_nothing_uses_is_an_error() -> None:
    command = ["compile", "model.mlir", "--load", "roots.c", "--microkernel", "roots", *TARGET]
    assert run(command) == (
        1,
        "",
        "model.mlir:2:3 + model.mlir:3:3: error: expected a nest that microkernel 'roots' does, found "
        f"none; of the nest (m = 12, n = 32, k = 40 reduction): {MISS}\n",
    )
    assert not Path("model.inarch").exists()


def test_a_loaded_kernel_that_another_beats_is_a_warning() -> None:
    shutil.copy("mine.c", "other.c")
    text = Path("other.c").read_text().replace("void mine", "void other")
    Path("other.c").write_text(text)
    loads = ("--load", "mine.c", "--load", "other.c", "--microkernel", "other")
    _, err = _run("compile", "model.mlir", *loads, *TARGET)
    start = f"{PLACE}: warning: microkernel 'mine' was loaded and is used nowhere; "
    end = r"other: (\d+) cycles is demanded, not mine: \1 cycles\n"
    assert re.fullmatch(re.escape(start) + end, err)


def test_a_kernel_that_is_used_is_no_warning_and_is_named(folder: Path) -> None:
    out, err = _run("compile", "model.mlir", "--load", "mine.c", *TARGET)
    assert err == ""
    assert re.search(r"model for generic, \d+ kernels \(microkernels: mine 1\), ", out)
    with MICROKERNELS.scope():
        load_file(folder / "mine.c", {"microkernel": MICROKERNELS})
        built = build(folder / "model.mlir", folder / "again.inarch", target="generic")
    assert built.microkernels == {"mine": 1}


def test_the_python_api_warns_too(folder: Path) -> None:
    with MICROKERNELS.scope(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        load_file(folder / "roots.c", {"microkernel": MICROKERNELS})
        inarch.compile(folder / "model.mlir", target="generic")
    (warning,) = caught
    said = re.escape("model.mlir:3:3: microkernel 'roots' was loaded and is used nowhere; ")
    assert re.search(said, str(warning.message))


LEFT_ALONE = """
func.func @main(%a: memref<8xf32>, %b: memref<8xf32> {inarch.result}, %c: memref<8xf32> {inarch.result},
                %d: memref<0xf32>, %e: memref<0xf32> {inarch.result}) {
  loop.nest (i = 8) ins(%a[i] : memref<8xf32>) outs(%b[i] : memref<8xf32>, %c[i] : memref<8xf32>) {
  ^bb0(%x: f32, %p: f32, %q: f32):
    loop.yield %x, %x : f32, f32
  }
  loop.nest (j = 0) ins(%d[j] : memref<0xf32>) outs(%e[j] : memref<0xf32>) {
  ^bb0(%x: f32, %p: f32):
    loop.yield %x : f32
  }
  func.return
}
"""


def test_nests_that_no_kernel_can_do_say_so() -> None:
    """Several outputs, and no points: a report with the reason for every kernel."""
    report = tensorize(parse_module(new_context(), LEFT_ALONE), ["gemm-f32", "gemv-f32"])
    several, empty = report.nests
    assert (several.iterators, several.taken, several.candidates) == ("i = 8", None, ())
    assert several.misses == dict.fromkeys(
        ["gemm-f32", "gemv-f32"], "the nest writes 2 outputs, a kernel writes one"
    )
    assert empty.iterators == "j = 0"
    assert set(empty.misses.values()) == {"the nest has no points: j = 0; there is nothing to do"}


def test_what_a_schedule_has_done_by_hand_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`use-kernel` says which kernel does the nest: its parameters and cycles are those of any other."""
    monkeypatch.chdir(tmp_path)
    Path("model.mlir").write_text(MATMUL)
    Path("s.schedule").write_text("at @main[1]: use-kernel gemv-rows-f32\n")
    target = ("--target", "x86-64-v3")
    done = run(["explain", "model.mlir", "--kernels", "--schedule", "s.schedule", *target])
    assert done.code == 0, done.err
    (line,) = [line for line in done.out.splitlines() if "by hand" in line]
    assert line.startswith("model.mlir:2:3")
    assert "gemv-rows-f32" in line
    assert line.endswith("by hand (use-kernel)")
    assert any(each.startswith("gemv-rows-f32: 1 of ") for each in done.out.splitlines())
