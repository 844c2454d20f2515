"""Offloading: backends get their parts, what they emit is checked, and the whole model is right."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inarch
from compilers import command_of
from inarch.core.errors import EnvironmentFault, InarchError, UsageError
from inarch.core.plugins import load_file
from inarch.dialects import new_context
from inarch.driver.compiler import build, import_model, lower
from inarch.driver.offload import Offload, emit_offloaded, emit_text
from inarch.ir.text import parse_module
from inarch.machine.target import native
from inarch.machine.target import parse as parse_target
from inarch.machine.toolchain import compile_library
from inarch.offload.backend import BACKENDS
from inarch.runtime.module import load as load_module
from inarch.tools.cli import run as inarch_cli

Array = np.ndarray[Any, Any]
Load = Callable[..., str]

MODEL = """\
func.func @main(%x: tensor<2x3xf32> {inarch.name = "x"}) -> (tensor<2x3xf32> {inarch.name = "y"}) {
  %0 = graph.add %x, %x : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  %1 = graph.relu %0 : tensor<2x3xf32> -> tensor<2x3xf32> loc("act1")
  %2 = graph.exp %1 : tensor<2x3xf32> -> tensor<2x3xf32>
  %3 = graph.relu %2 : tensor<2x3xf32> -> tensor<2x3xf32> loc("act2")
  func.return %3 : tensor<2x3xf32>
}
"""
X = np.array([[1.5, -2, 0.25], [-0.5, 0, 3]], np.float32)

BACKEND = """\
from pathlib import Path
from inarch.offload.backend import Backend, Emission

CODE = r'''
{head}
int32_t @(void *self, DLTensor *args, int32_t n);
int32_t @(void *self, DLTensor *args, int32_t n)
{{
    const float *in = (const float *)((char *)args[0].data + args[0].byte_offset);
    float *out = (float *)((char *)args[1].data + args[1].byte_offset);
    for (int i = 0; i < 6; i++) {{
        out[i] = {value};
    }}
    (void)self;
    return n != 2;
}}
'''


def emit(request):
    text = '#include "inarch.h"\\n' + "".join(CODE.replace("@", name) for name in request.names())
    return {emission}


BACKEND = Backend(name="{name}", description="relu by hand.", emit=emit, ops=("relu",){extra})
"""
EMISSION = 'Emission("c", request.names(), text)'
IMPORTED = 900
"""Modules that one command imports, about."""
RELU = "in[i] > 0 ? in[i] : 0"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.mlir"
    path.write_text(MODEL)
    return path


@pytest.fixture
def toy(tmp_path: Path) -> Iterator[Load]:
    """`toy(value=..., emission=..., head=..., extra=..., name=...)` loads such a backend; its name."""

    def make(
        value: str = RELU,
        emission: str = EMISSION,
        *,
        head: str = "",
        extra: str = "",
        name: str = "toy",
    ) -> str:
        path = tmp_path / f"{name}.py"
        path.write_text(
            BACKEND.format(value=value, emission=emission, head=head, extra=extra, name=name)
        )
        load_file(path, {"backends": BACKENDS})  # pyright: ignore[reportArgumentType]
        return name

    with BACKENDS.scope():
        yield make


def _expected(x: Array = X) -> Array:
    return np.exp(np.maximum(x + x, 0))


def _refused(model: Path, *names: str, **keywords: Any) -> str:
    """The message of the error that compiling ends in; nothing is written."""
    output = model.with_suffix(".inarch")
    words: dict[str, Any] = {"backends": names, **keywords}
    with pytest.raises(InarchError) as caught:
        build(model, output, **words)
    assert not output.exists()
    line = caught.value.line()
    assert "\n" not in line
    return line


def _without_log(message: str) -> str:
    """The message without the folder that it points to, which exists."""
    place = re.search(r" (?:is|are) in (\S+)$| the log is (\S+)$", message)
    assert place is not None, message
    path = Path(place[1] or place[2])
    assert path.exists()
    return message[: place.start()]


# ---------------------------------------------------------------------------------- results


def test_a_model_with_a_part_offloaded_is_right(model: Path, toy: Load) -> None:
    """N12, N4: what is not offloaded runs on the host in the same call."""
    module = inarch.compile(model, backends=[toy()])
    np.testing.assert_allclose(module(X), _expected(), rtol=1e-6)
    assert module.get_source("toy").count("int32_t toy_1(void *self, DLTensor *args, int32_t n)\n")


def test_the_offloaded_code_is_what_runs(model: Path, toy: Load) -> None:
    """N12, N7: a wrong backend gives its own wrong numbers; nothing is recomputed behind its back."""
    module = inarch.compile(model, backends=[toy("in[i] + 1")])
    np.testing.assert_allclose(module(X), np.exp(X + X + 1) + 1, rtol=1e-6)


def test_code_may_print_and_leave_its_outputs(
    model: Path, toy: Load, capfd: pytest.CaptureFixture[str]
) -> None:
    """N6: side effects are allowed while one learns."""
    head = "#include <stdio.h>\n"
    value = 'out[i]; puts("here"); fflush(stdout)'
    inarch.compile(model, backends=[toy(value, head=head)])(X)
    assert capfd.readouterr().out == "here\n" * 12


UNWRITTEN = "error: main: toy_0: output 0 was never written (backend 'toy', from 'act1')"


def test_checked_mode_finds_an_output_that_is_never_written(model: Path, toy: Load) -> None:
    """N6: in a linked function; without it the same program runs."""
    name = toy("out[i]")
    module = inarch.compile(model, backends=[name], checked=True)
    for _ in range(2):
        with pytest.raises(InarchError) as caught:
            module(X)
        assert caught.value.line() == UNWRITTEN
    inarch.compile(model, backends=[name])(X)
    done = inarch_cli(["run", str(model), "--backend", name, "--checked", "-q"])
    assert (done.code, done.err) == (1, f"{UNWRITTEN}\n")
    done = inarch_cli(["compile", str(model), "--backend", name, "--checked", "--emit=c", "-q"])
    assert done.out.count("inarch_call_checked(") == 3
    done = inarch_cli(["compile", str(model), "--backend", name, "--emit=c", "-q"])
    assert "inarch_call_checked" not in done.out


def test_checked_mode_accepts_what_is_written(model: Path, toy: Load) -> None:
    """N6: linked and submodule; also one element of an output is enough."""
    module = inarch.compile(model, backends=[toy(), "examplejson"], checked=True)
    np.testing.assert_allclose(module(X), _expected(), rtol=1e-6)
    name = toy("out[i]; if (i == 5) out[i] = 0; continue")
    assert np.isnan(inarch.compile(model, backends=[name], checked=True)(X)).sum() == 5


def test_checked_mode_on_imports_of_any_kind(tmp_path: Path) -> None:
    """N6: a slot, of which the second of two outputs is left; values that are the pattern are right."""
    path = tmp_path / "model.mlir"
    path.write_text("""\
func.func private @f(%x: tensor<1xui8>) -> (tensor<1xui8>, tensor<1xui8>, tensor<0xf32>)
func.func @main(%x: tensor<1xui8>) -> (tensor<1xui8>, tensor<1xui8>, tensor<0xf32>) {
  %0, %1, %2 = graph.call @f(%x) : tensor<1xui8> -> tensor<1xui8>, tensor<1xui8>, tensor<0xf32>
  func.return %0, %1, %2 : tensor<1xui8>, tensor<1xui8>, tensor<0xf32>
}
""")
    build(path, tmp_path / "model.inarch", checked=True)

    def right(x: Array, *out: Array) -> None:
        out[0][...], out[1][...] = x, 255 - x

    module = load_module(tmp_path / "model.inarch", imports={"f": right})
    for value in (0, 0x5A, 0xA5, 0xFF):
        first, second, _ = module(np.array([value], np.uint8))
        assert (int(first[0]), int(second[0])) == (value, 255 - value)

    def wrong(x: Array, *out: Array) -> None:
        out[0][...] = x

    module = load_module(tmp_path / "model.inarch", imports={"f": wrong})
    for value in (0, 0x5A, 0xA5):
        with pytest.raises(InarchError, match=r"^main: import 'f' failed: output 1 was never"):
            module(np.array([value], np.uint8))


def test_backends_stand_side_by_side(model: Path, toy: Load) -> None:
    """T17, N10: two linked backends and one submodule in one library, switched on at run time."""
    names = [toy(), "ccompiler", "examplejson"]
    module = inarch.compile(model, backends=names)
    np.testing.assert_allclose(module(X), _expected(), rtol=1e-6)
    assert [part.type_key for part in module.imports] == ["examplejson"]
    assert "CSOURCE_BINARY_OP_2D(ccompiler_0_0, +, 2, 3, float);" in module.get_source("ccompiler")
    assert "toy_0" in module.get_source("toy")
    np.testing.assert_allclose(inarch.compile(model)(X), _expected(), rtol=1e-6)


SHARED = """
#include <stdio.h>
#define RATE {rate}
typedef struct {{ float by; }} scaling;
static const float table[] = {{RATE}};
static __attribute__((unused)) const char *unused(void) {{ return "static int table;"; }}
static float scaled(float x)
{{
    const scaling one = {{table[0]}};
    return x > 0 ? x * one.by : 0;
}}
"""
MAIN = """
int main(void)
{
    float x[6] = {1.5f, -2, 0.25f, -0.5f, 0, 3}, y[6];
    int64_t shape[2] = {2, 3};
    DLTensor args[2] = {{x, {1, 0}, 2, {2, 32, 1}, shape, NULL, 0},
                        {y, {1, 0}, 2, {2, 32, 1}, shape, NULL, 0}};
    if (model_bind(NULL, 0, NULL, 0) != 0 || model_main(args, 2) != 0) {
        puts(model_last_error());
        return 1;
    }
    for (int i = 0; i < 6; i++) {
        printf("%.9g ", y[i]);
    }
    return 0;
}
"""


@pytest.mark.parametrize("compiler", ["gcc", "clang", "g++"])
def test_one_file_has_the_c_of_all_backends(
    compiler: str, model: Path, toy: Load, tmp_path: Path
) -> None:
    """T16: `--emit=c` and `get_source("c")`; three parts, two of which call things of their own the same."""
    for name, rate in (("one", 2), ("two", 3)):
        toy("scaled(in[i])", head=SHARED.format(rate=rate), name=name)
    names, keep = ["ccompiler", "one", "two"], ["act1=two", "act2=one"]
    text = inarch.compile(model, backends=names, keep=keep).get_source("c")
    words = [word for name in names for word in ("--backend", name)]
    words += [word for each in keep for word in ("--keep", each)]
    done = inarch_cli(["compile", str(model), *words, "--emit=c"])
    assert (done.code, done.out) == (0, text)
    (tmp_path / "all.c").write_text(text + MAIN)
    language = ["-x", "c++"] if compiler == "g++" else ["-std=c11"]
    flags = [*native().cflags(), "-O1", "-Wall", "-Wextra", "-Werror", "all.c", "-o", "all", "-lm"]
    command = [command_of(compiler), *language, *flags]
    subprocess.run(command, cwd=tmp_path, check=True)
    said = subprocess.run([str(tmp_path / "all")], capture_output=True, text=True, check=True)
    expected = 3 * np.exp(2 * np.maximum(X + X, 0))
    np.testing.assert_allclose(
        np.array(said.stdout.split(), np.float32).reshape(2, 3), expected, rtol=1e-5
    )


def test_the_first_line_says_what_the_c_of_backends_needs(
    model: Path, toy: Load, tmp_path: Path
) -> None:
    (tmp_path / "mine").mkdir()
    emission = 'Emission("c", request.names(), text, include_dirs=["FOLDER"], cflags=("-DMINE=1",))'
    name = toy(emission=emission.replace("FOLDER", str(tmp_path / "mine")))
    head = inarch.compile(model, backends=[name]).get_source("c").partition("\n")[0]
    assert " -I.../mine -DMINE=1 -shared -fPIC FILE.c -o FILE.so -lm */" in head


def test_priority_is_the_order(model: Path, toy: Load) -> None:
    first, second = toy(name="one"), toy("1", name="two")
    np.testing.assert_allclose(
        inarch.compile(model, backends=[first, second], keep=["act2=one"])(X), np.ones((2, 3))
    )


def test_a_submodule_is_saved_with_the_program(model: Path, tmp_path: Path) -> None:
    """T15, T8."""
    module = inarch.compile(model, backends=["examplejson"])
    module.save(tmp_path / "saved.inarch")
    again = load_module(tmp_path / "saved.inarch", verify=True)
    np.testing.assert_allclose(again(X), _expected(), rtol=1e-6)
    assert [part.type_key for part in again.imports] == ["examplejson"]
    assert again.imports[0].get_source() == module.imports[0].get_source()


def test_linked_and_open_slots_in_one_library(tmp_path: Path, toy: Load) -> None:
    """T16: a slot of the library's own is no import for the loader."""
    path = tmp_path / "model.mlir"
    path.write_text(
        MODEL.replace(
            "  %2 = graph.exp %1 : tensor<2x3xf32> -> tensor<2x3xf32>",
            "  %2 = graph.call @twice(%1) : tensor<2x3xf32> -> tensor<2x3xf32>",
        )
        + "func.func private @twice(%x: tensor<2x3xf32>) -> tensor<2x3xf32>\n"
    )
    build(path, tmp_path / "model.inarch", backends=[toy()])
    with pytest.raises(InarchError, match="imports 'twice', which nothing provides"):
        load_module(tmp_path / "model.inarch")

    def twice(x: Array, out: Array) -> None:
        out[...] = 2 * x

    module = load_module(tmp_path / "model.inarch", imports={"twice": twice})
    np.testing.assert_array_equal(module(X), 2 * np.maximum(2 * X, 0))
    with pytest.raises(UsageError, match="no import 'toy_0'"):
        load_module(tmp_path / "model.inarch", imports={"toy_0": twice})


def test_what_is_linked_is_hidden(model: Path, tmp_path: Path, toy: Load) -> None:
    """T16: one library, whose symbols start with the model's name, but for what TVM FFI looks up."""
    if shutil.which("nm") is None:
        pytest.skip("no nm")
    path = tmp_path / "model.inarch"
    build(model, path, backends=[toy(), "ccompiler", "examplejson"])
    listing = ["nm", "-D", "--defined-only", "--format=posix", str(path)]
    done = subprocess.run(listing, capture_output=True, text=True, check=True)
    names = [line.split()[0] for line in done.stdout.splitlines()]
    assert "model_main" in names
    assert [name for name in names if not name.startswith(("model_", "__tvm_ffi_"))] == []
    shown = inarch_cli(["inspect", str(path)]).out
    assert "imports    examplejson_0, ccompiler_0 (ccompiler), toy_0 (toy), toy_1 (toy)\n" in shown
    assert "modules    examplejson\n" in shown


def test_a_code_that_is_not_0_fails_the_call(model: Path, toy: Load) -> None:
    """K8: the error names the function."""
    module = inarch.compile(model, backends=[toy("in[i]; return 7")])
    with pytest.raises(InarchError, match=re.escape("main: import 'toy_0' failed with code 7")):
        module(X)


def test_functions_marked_by_hand_need_no_option(tmp_path: Path) -> None:
    """T22: in the IR; also `partition.give`."""
    path = tmp_path / "model.mlir"
    path.write_text(MODEL.replace("%x, %x :", '%x, %x {partition.give = "ccompiler"} :'))
    module = inarch.compile(path)
    np.testing.assert_allclose(module(X), _expected(), rtol=1e-6)
    assert "ccompiler_0_0, +, 2, 3, float" in module.get_source("ccompiler")


# ---------------------------------------------------------------------------------- what C needs


def test_flags_folders_and_libraries_are_the_backends_own(
    model: Path, toy: Load, tmp_path: Path
) -> None:
    """K12: cflags, include_dirs and libraries; T16. The library is found again by its path."""
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "mine.h").write_text("float mine_relu(float x);\n")
    library = tmp_path / "libmine.so"
    source = "float mine_relu(float x);\nfloat mine_relu(float x) { return x > 0 ? x : 0; }\n"
    source = '__attribute__((visibility("default"))) ' + source
    compile_library({"mine.c": source}, library, target=parse_target("generic"))
    emission = (
        'Emission("c", request.names(), text, cflags=("-DZERO=0",), '
        f"include_dirs=(Path({str(tmp_path / 'include')!r}),), libraries=(Path({str(library)!r}),))"
    )
    name = toy("mine_relu(in[i]) + ZERO", emission, head='#include "mine.h"')
    build(model, tmp_path / "model.inarch", backends=[name])
    code = (
        "import inarch, numpy, sys; print(inarch.load(sys.argv[1])(numpy.ones((2, 3), 'f'))[0, 0])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "model.inarch")],
        cwd="/",
        env={"PATH": os.environ.get("PATH", "")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("7.38")


def test_what_changed_is_built_anew(model: Path, toy: Load, tmp_path: Path) -> None:
    """N11: caches are keyed by content: the C, a header, the flags, a library."""
    header = tmp_path / "shift.h"
    emission = f'Emission("c", request.names(), text, cflags=FLAGS, include_dirs=(Path({str(tmp_path)!r}),))'

    def first(value: str, shift: str, flags: str) -> float:
        header.write_text(f"#define SHIFT {shift}\n")
        head = '#include "shift.h"'
        name = toy(f"({value}) + SHIFT + FLAG", emission.replace("FLAGS", flags), head=head)
        module = inarch.compile(model, backends=[name], keep=["act2=toy", "exp=toy"])
        return float(np.log(np.asarray(module(X)).ravel()[0]))

    assert first("1", "0", '("-DFLAG=0",)') == pytest.approx(1)
    assert first("2", "0", '("-DFLAG=0",)') == pytest.approx(2)
    assert first("2", "1", '("-DFLAG=0",)') == pytest.approx(3)
    assert first("2", "1", '("-DFLAG=1",)') == pytest.approx(4)
    assert first("1", "0", '("-DFLAG=0",)') == pytest.approx(1)


def test_editing_a_backend_is_enough(model: Path, toy: Load, tmp_path: Path) -> None:
    """N1, N14: edit the file, run again, see it; nothing heavy is imported for it."""
    toy("in[i] + 1")
    path = tmp_path / "toy.py"
    inputs = tmp_path / "x.npy"
    np.save(inputs, np.zeros((2, 3), np.float32))
    words = ["run", str(model), "--load", str(path), "--backend", "toy", "--input", str(inputs)]
    words += ["--keep", "act2=toy"]

    def shown() -> tuple[str, list[str]]:
        """What it prints, and the modules that it imports."""
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        done = subprocess.run(
            ["inarch", *words],
            env={**os.environ, "PATH": path, "PYTHONPROFILEIMPORTTIME": "1"},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout, re.findall(r"^import time: .*\| +(\S+)$", done.stderr, re.MULTILINE)

    assert "2.7183" in inarch_cli(words).out
    path.write_text(path.read_text().replace("in[i] + 1", "in[i] + 2"))
    said, modules = shown()
    assert "7.3891" in said
    # Python lists the submodules of a package that `import_module` imports, not the package.
    assert "numpy" in {name.partition(".")[0] for name in modules}
    heavy = {"onnx", "onnxruntime", "torch", "jax", "hypothesis"}
    assert heavy & set(modules) == set()
    assert len(modules) < 2 * IMPORTED, "each command waits for them"


# ---------------------------------------------------------------------------------- names


def test_a_host_target_is_no_backend_and_the_reverse(model: Path) -> None:
    """N3."""
    assert _refused(model, "x86-64-v3") == (
        "error: 'x86-64-v3' is a host target, not a backend; write --target x86-64-v3 "
        "(in Python: target='x86-64-v3')"
    )
    assert _refused(model, "x86-64-v4+avx512vnni").startswith(
        "error: 'x86-64-v4+avx512vnni' is a host target, not a backend"
    )
    assert _refused(model, "c") == (
        "error: 'c' is a host, not a backend: it compiles whatever no backend takes; leave it out, "
        "or write --host c (in Python: host='c')"
    )
    assert _refused(model, target="ccompiler") == (
        "error: 'ccompiler' is a backend, not a host target; write --backend ccompiler "
        "(in Python: backends=['ccompiler'])"
    )


def test_a_list_is_no_string(model: Path) -> None:
    assert _refused(model, backends="ccompiler") == (
        "error: backends: expected a list, found 'ccompiler'; write ['ccompiler']"
    )
    assert _refused(model, "ccompiler", keep="act2=ccompiler") == (
        "error: keep: expected a list, found 'act2=ccompiler'; write ['act2=ccompiler']"
    )


def test_an_unknown_backend_says_how_to_register_one(model: Path) -> None:
    """N8: before anything is read or lowered; also of a function in the program."""
    register = (
        "To register one, give its file with --load FILE.py, put it into backends/, or install it "
        "with an entry point of the group inarch.backends"
    )
    message = _refused(model.with_name("missing.mlir"), "ccompilr")
    assert message.startswith(
        "error: no backend 'ccompilr'; did you mean 'ccompiler'? Known: cblas, "
    )
    assert message.endswith(register)
    text = 'func.func private @f(%x: tensor<2xf32>) -> tensor<2xf32> attributes {compiler = "nope"} {\n'
    text += "  func.return %x : tensor<2xf32>\n}\n"
    context = new_context()
    with pytest.raises(UsageError) as caught:
        emit_offloaded(context, parse_module(context, text, "a.mlir"))
    line = caught.value.line()
    assert line.startswith("a.mlir:1:1: error: no backend 'nope'. Known: cblas, ")
    assert line.endswith(register)


@pytest.mark.slow
def test_two_backends_of_one_name_harm_no_other(model: Path, tmp_path: Path) -> None:
    """N10: the error names both origins; a broken one and a clashing one break nothing else."""
    info = tmp_path / "acme-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    points = "[inarch.backends]\nccompiler = acme_toy\nabsent = acme_absent\n"
    (info / "entry_points.txt").write_text(points)

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "PYTHONPATH": str(tmp_path)}
        environment["INARCH_PLUGINS"] = "all"
        return subprocess.run(
            ["inarch", *words], env=environment, capture_output=True, text=True, check=False
        )

    done = run("run", str(model), "-q", "--backend", "ccompiler")
    assert (done.returncode, done.stderr) == (
        2,
        "error: backend 'ccompiler' is defined twice: by inarch.backends.ccompiler and by "
        "entry point of acme; remove or rename one\n",
    )
    done = run("run", str(model), "-q", "--backend", "absent")
    assert (done.returncode, done.stderr) == (
        1,
        "error: backend 'absent' (entry point of acme) cannot be imported: ModuleNotFoundError: "
        "No module named 'acme_absent'\n",
    )
    done = run("run", str(model), "-q", "--backend", "examplejson")
    assert (done.returncode, done.stderr) == (0, "")
    rows = {row["name"]: row for row in json.loads(run("list", "--json").stdout)["backends"]}
    assert rows["ccompiler"]["summary"].startswith("BROKEN: backend 'ccompiler' is defined twice")
    assert rows["examplejson"]["status"] == "ready"


def test_options_have_names(model: Path, toy: Load) -> None:
    assert _refused(model, "ccompiler", backend_options={"ccompiler": {"prefx": "gcc"}}) == (
        "error: no option 'prefx' in backend 'ccompiler'; did you mean 'prefix'? Known: prefix"
    )
    value = "RATE * in[i]"
    emission = (
        'Emission("c", request.names(), f"#define RATE {request.options[\'rate\']}\\n" + text)'
    )
    name = toy(value, emission, extra=', options={"rate": "2"}')
    keep = ["act2=toy"]
    found = inarch.compile(model, backends=[name], keep=keep)(X)
    np.testing.assert_allclose(found, np.exp(4 * X), rtol=1e-6)
    options = {"toy": {"rate": "3"}}
    found = inarch.compile(model, backends=[name], keep=keep, backend_options=options)(X)
    np.testing.assert_allclose(found, np.exp(6 * X), rtol=1e-6)


def test_the_prefix_of_symbols(model: Path) -> None:
    """T2."""
    module = inarch.compile(
        model, backends=["ccompiler"], backend_options={"ccompiler": {"prefix": "gcc"}}
    )
    np.testing.assert_allclose(module(X), _expected(), rtol=1e-6)
    assert "static int32_t gcc_0_wrapper_(" in module.get_source()
    options = {"ccompiler": {"prefix": "g-c"}}
    assert _refused(model, "ccompiler", backend_options=options) == (
        "error: option 'prefix': expected a C identifier, found 'g-c'"
    )


# ---------------------------------------------------------------------------------- unused


def test_a_backend_that_gets_nothing_is_a_warning(model: Path, toy: Load) -> None:
    """N7: with the reasons; the model is compiled all the same."""
    name = toy(extra=', accepts=lambda op: "it is Saturday"')
    message = re.escape("backend 'toy' was asked for and got nothing: relu (2 times): ")
    with pytest.warns(UserWarning, match=f"^{message}.*it is Saturday.*; add: .*; exp: ") as caught:
        module = inarch.compile(model, backends=[name, "ccompiler"])
    assert len(caught) == 1
    np.testing.assert_allclose(module(X), _expected(), rtol=1e-6)


def test_an_unused_backend_may_be_an_error(model: Path, toy: Load) -> None:
    """N7."""
    name = toy(extra=', accepts=lambda op: "it is Saturday"')
    line = _refused(model, name, require_offload=True)
    assert line.startswith("error: backend 'toy' was asked for and got nothing: relu (2 times): ")
    assert line.endswith("; give it something that it takes, or do not require it")
    inarch.compile(model, backends=["ccompiler"], require_offload=True)


# ---------------------------------------------------------------------------------- promises

ORIGIN = "backend 'toy' [{path}] on "
BOTH = "@toy_0 (from 'act1'), @toy_1 (from 'act2'): "


@pytest.mark.parametrize(
    ("emission", "message"),
    [
        ("None", BOTH + "expected emit to return an Emission, found NoneType"),
        (
            'Emission("c", request.names()[:1], text)',
            "@toy_1 (from 'act2'): expected the symbols toy_0, toy_1, found toy_0; "
            "name every function in Emission.symbols",
        ),
        (
            'Emission("c", (*request.names(), "toy_9"), text)',
            BOTH
            + "expected the symbols toy_0, toy_1, found toy_9 as well, which nothing asked for",
        ),
        (
            'Emission("examplejson", request.names(), text, cflags=("-g",))',
            BOTH
            + "expected cflags, include_dirs and libraries with format c only, found examplejson",
        ),
        (
            'Emission("c", request.names(), data=b"")',
            BOTH + "expected C source in Emission.text, found none",
        ),
        (
            'Emission("jsn", request.names(), text)',
            BOTH + "no loader 'jsn'. Known: c, examplejson, shared-library, so",
        ),
        (
            'Emission("c", request.names(), text, libraries=(Path("/no/libx.so"),))',
            BOTH + "expected the library or include folder '/no/libx.so', found none",
        ),
    ],
)
def test_a_wrong_emission(
    emission: str, message: str, model: Path, toy: Load, tmp_path: Path
) -> None:
    """N9: what a backend promised is verified at build time."""
    name = toy(emission=emission)
    start = ORIGIN.format(path=tmp_path / "toy.py")
    assert _refused(model, name) == f"error: {start}{message}"
    np.testing.assert_allclose(inarch.compile(model)(X), _expected(), rtol=1e-6)


@pytest.mark.parametrize(
    ("toys", "message"),
    [
        (
            {"emission": 'int("x")'},
            BOTH
            + "emit raises ValueError: invalid literal for int() with base 10: 'x' (toy.py:22); "
            "the traceback",
        ),
        (
            {"value": "missing_function(in[i])", "head": "float missing_function(float x);"},
            "@toy_[01] \\(from 'act[12]'\\): its C uses 'missing_function', which nothing defines; "
            "libraries searched: libm, libpthread; define it, or name its library in "
            "Emission.libraries;",
        ),
        (
            {"emission": 'Emission("c", request.names(), text.replace("toy_1", "toy_3"))'},
            "@toy_1 (from 'act2'): expected its C to define 'int32_t toy_1(void *self, "
            "DLTensor *args, int32_t n)', found none;",
        ),
    ],
)
def test_c_that_cannot_be_used(
    toys: dict[str, str], message: str, model: Path, toy: Load, tmp_path: Path
) -> None:
    """N9, K8: one line that names backend, function and node, and where the log is."""
    found = _without_log(_refused(model, toy(**toys)))
    start = "error: " + ORIGIN.format(path=tmp_path / "toy.py")
    assert found.startswith(start)
    rest = found.removeprefix(start)
    assert rest == message or re.fullmatch(message, rest), rest
    np.testing.assert_allclose(inarch.compile(model)(X), _expected(), rtol=1e-6)


def test_c_that_does_not_compile(model: Path, toy: Load, tmp_path: Path) -> None:
    """N9: the compiler's first error, and the folder with source and log."""
    found = _refused(model, toy("in[i] +"))
    start = "error: " + ORIGIN.format(path=tmp_path / "toy.py") + BOTH
    assert found.startswith(f"{start}its C does not compile: offload-toy.c:")
    folder = Path(found.rpartition(" are in ")[2])
    assert (folder / "offload-toy.c").exists()
    assert "offload-toy.c" in (folder / "log.txt").read_text()


def test_c_that_defines_what_another_defines(model: Path, toy: Load) -> None:
    head = "float helper(float x);\nfloat helper(float x) { return x; }"
    one, two = toy(head=head, name="one"), toy(head=head, name="two")
    found = _without_log(_refused(model, one, two, keep=["act2=one"]))
    assert "its C defines 'helper', which is defined elsewhere as well; make it static;" in found


def test_a_backends_own_error_keeps_its_place(model: Path, toy: Load) -> None:
    raising = 'from inarch import InarchError; raise InarchError("too much", where="a:1")'
    emission = f"exec({raising!r})"
    assert _refused(model, toy(emission=emission)) == "a:1: error: backend 'toy': too much"


JSON_OF_ONE = '''Emission("examplejson", request.names(), """{text}""")'''


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "subgraph_0\n input 0 2 3\n add 1 inputs: 0 0 shape: 2 3\n",
            "expected a function 'toy_0' in the examplejson module, found ",
        ),
        ("nonsense", "loader 'examplejson' refuses what was emitted: "),
    ],
)
def test_a_submodule_is_opened_when_it_is_built(
    text: str, message: str, model: Path, toy: Load
) -> None:
    """N9: also the functions of a loader's module."""
    name = toy(emission=JSON_OF_ONE.format(text=text))
    assert message in _refused(model, name)


# ---------------------------------------------------------------------------------- text


def test_text_without_building(model: Path, toy: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    """N5, N13: neither the text nor the partitioned IR needs a C compiler."""
    monkeypatch.setenv("CC", "/nowhere/cc")
    name = toy()
    with pytest.raises(EnvironmentFault):
        inarch.compile(model, backends=[name])
    context = new_context()
    module = import_model(model, context)
    lower(context, module, "graph", offload=Offload((name,)))
    assert str(module).count('compiler = "toy"') == 2
    assert emit_text(context, module, name).startswith('#include "inarch.h"\n')
    done = inarch_cli(["compile", str(model), "--emit=ccompiler"])
    assert done.code == 0
    assert "CSOURCE_BINARY_OP_2D(ccompiler_0_0, +, 2, 3, float);" in done.out


def test_no_text(model: Path, toy: Load) -> None:
    name = toy(emission='Emission("examplejson", request.names(), data=b"12")')
    context = new_context()
    module = import_model(model, context)
    with pytest.raises(InarchError, match="emits bytes of the format examplejson, not text"):
        emit_text(context, module, name)
    module = import_model(model, context)
    lower(context, module, "graph", offload=Offload(("ccompiler",)))
    with pytest.raises(InarchError) as caught:
        emit_text(context, module, name)
    assert caught.value.line() == (
        "error: expected a function for backend 'toy', found none: it got nothing"
    )


# ---------------------------------------------------------------------------------- commands


def test_the_commands_take_backends(model: Path, tmp_path: Path) -> None:
    """N13, T22."""
    out = tmp_path / "m.inarch"
    words = ["compile", str(model), "-o", str(out), "--backend", "examplejson,ccompiler"]
    done = inarch_cli([*words, "--keep", "exp=*", "--give", "add=ccompiler", "--json"])
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["offloaded"] == {
        "ccompiler": ["ccompiler_0"],
        "examplejson": ["examplejson_0", "examplejson_1"],
    }
    done = inarch_cli(["run", str(out), "--backend", "ccompiler"])
    assert done.code == 2
    assert done.err == (
        f"error: --backend: '{out}' is compiled already; give it to `inarch compile`\n"
    )
    assert (
        inarch_cli(["run", str(model), "--backend", "ccompiler", "--check", str(model)]).code == 0
    )


def test_a_warning_is_one_line(model: Path) -> None:
    """N7: on the terminal, every time."""
    words = ["run", str(model), "--backend", "ccompiler", "--keep", "add=ccompiler", "-q"]
    for _ in range(2):
        done = inarch_cli(words)
        assert (done.code, done.out) == (0, "")
        assert re.fullmatch(
            "warning: backend 'ccompiler' was asked for and got nothing: [^\n]*\n", done.err
        )
    done = inarch_cli([*words, "--require-offload"])
    assert done.code == 1
    assert done.err.startswith("error: backend 'ccompiler' was asked for and got nothing: ")


@pytest.mark.parametrize("text", ["ccompiler", "ccompiler:prefix", ":a=b", "ccompiler:=1"])
def test_an_option_has_a_backend_a_name_and_a_value(text: str, model: Path) -> None:
    done = inarch_cli(["run", str(model), "--backend", "ccompiler", "--backend-option", text])
    assert done.code == 2
    assert done.err == f"error: --backend-option: expected BACKEND:OPTION=VALUE, found '{text}'\n"


def test_list_says_what_backends_take(toy: Load, tmp_path: Path) -> None:
    """N2: name, origin, ops and patterns, options, status."""
    toy(extra=', options={"rate": "2"}, status=lambda: "no toy plugged in"')
    done = inarch_cli(["list", "backends", "--json"])
    rows = {row["name"]: row for row in json.loads(done.out)["backends"]}
    assert rows["toy"] == {
        "name": "toy",
        "summary": "relu by hand.",
        "origin": str(tmp_path / "toy.py"),
        "ops": ["relu"],
        "patterns": [],
        "options": {"rate": "2"},
        "declared": {"rate": {"kind": "text", "values": "text", "help": ""}},
        "status": "no toy plugged in",
    }
    assert rows["ccompiler"]["origin"] == "inarch.backends.ccompiler"
    text = inarch_cli(["list", "backends"]).out
    assert "    ops: add, sub, mul\n" in text
    assert "    options: rate=2\n" in text
    assert "    status: no toy plugged in\n" in text
    toy(extra=", status=lambda: 1 / 0")
    assert (
        "status: BROKEN: ZeroDivisionError: division by zero\n"
        in inarch_cli(["list", "backends"]).out
    )


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("ccompiler{prefix}", "-t: expected BACKEND{OPTION=VALUE ...}, found 'ccompiler{prefix}'"),
        ("mlir{a=b}", "-t: mlir has no options, found 'mlir{a=b}'"),
        ("ccompiler{a=b}", "no option 'a' in backend 'ccompiler'. Known: prefix"),
    ],
)
def test_options_of_inarch_opt(target: str, message: str, model: Path) -> None:
    from inarch.tools.opt import run

    done = run([str(model), "-t", target])
    assert (done.code, done.err) == (2, f"error: {message}\n")
