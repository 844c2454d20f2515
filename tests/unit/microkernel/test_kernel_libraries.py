"""Microkernels from outside: libraries found at load time or made part of the artifact, and what fails."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import StringAttr

import inarch
from compilers import command_of
from effort import effort
from inarch.artifact import Artifact
from inarch.backends.c import emit, run_function
from inarch.core.errors import EnvironmentFault, InarchError
from inarch.core.plugins import load_file
from inarch.dialects import new_context
from inarch.dialects.kernel.instances import definition_of
from inarch.driver.compiler import build
from inarch.ir.text import parse_module, print_module
from inarch.ir.verify import verify_module
from inarch.machine import target as targets
from inarch.machine.compilers import find_compiler
from inarch.machine.target import Target, native
from inarch.machine.toolchain import compile_library
from inarch.microkernel import Instance, Microkernel, instantiate, members
from inarch.microkernel.table import MICROKERNELS
from inarch.microkernel.usable import usable_for

Array = np.ndarray[Any, Any]

LIT = Path(__file__).parents[2] / "lit" / "backends" / "c"
EXAMPLES = Path(__file__).parents[3] / "examples" / "microkernels"
SCALE = """
__attribute__((visibility("default")))
void scale(const float *x, float *y, int n) { for (int i = 0; i < n; i++) y[i] = FACTOR * x[i]; }
"""
OPENBLAS = "python:scipy_openblas32/lib/libscipy_openblas*"


def program(code: str, needs: str = "") -> str:
    """Main scales 8 floats by the kernel @twice, whose implementation is `code`."""
    return f"""module attributes {{inarch.name = "net"}} {{
kernel.def @twice computes "for i in n: Y[i] = 2 * X[i]" arguments [
    #kernel.operand<X : f32 read rank 1 align 4>,
    #kernel.operand<Y : f32 write rank 1 align 4>] needs [{needs}] {code}
func.func @main(%x: memref<8xf32>, %y: memref<8xf32> {{inarch.result}}) {{
  kernel.call @twice(%x[0] strides [1], %y[0] strides [1]) sizes [8] : memref<8xf32>, memref<8xf32>
  func.return
}}
}}"""


def symbol(library: Path | str, name: str = "scale", link: str = "reference") -> str:
    """The implementation of @twice by a library's function."""
    declare = f"void {name}(const float *, float *, int);"
    call = f"{name}({{X}}, {{Y}}, (int){{n}})"
    return f'symbol "{name}" call "{call}" declare "{declare}" library "{library}" link "{link}"'


def built(text: str, path: Path) -> Path:
    """The artifact of a module in text."""
    context = new_context()
    module = parse_module(context, text, "p.mlir")
    verify_module(module)
    return build(module, path, context=context).path


def shared(folder: Path, factor: str = "2.0f", name: str = "scale") -> Path:
    """A library with `scale`, or the function of another name."""
    path = folder / "libscale.so"
    source = SCALE.replace("FACTOR", factor).replace("scale", name)
    compile_library({"scale.c": source}, path, target=native())
    return path


def compiled(folder: Path, *flags: str) -> Path:
    """The object of `scale`."""
    source, path = folder / "scale.c", folder / "scale.o"
    source.write_text(SCALE.replace("FACTOR", "2.0f"))
    command = find_compiler().command
    subprocess.run([*command, "-O1", *flags, "-c", source.name, "-o", path], cwd=folder, check=True)
    return path


WORKER = """
import json, sys, warnings
import numpy as np
import inarch
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    module = inarch.load(sys.argv[1])
y = np.asarray(module(np.arange(8, dtype=np.float32)))
print(json.dumps([y.tolist(), [f"{w.category.__name__}: {w.message}" for w in caught]]))
"""


def worker(path: Path) -> tuple[list[float], list[str]]:
    """What another process computes, with an empty environment, in another folder; its warnings."""
    process = subprocess.run(
        [sys.executable, "-c", WORKER, str(path)],
        env={},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    values, caught = json.loads(process.stdout)
    return values, caught


def error_of(text: str, path: Path) -> InarchError:
    """What building says; nothing is written."""
    with pytest.raises(InarchError) as raised:
        built(text, path)
    assert not path.exists()
    assert "\n" not in str(raised.value)
    return raised.value


# ---------------------------------------------------------------------------------- reference


def test_a_rebuilt_library_is_used_with_one_warning(tmp_path: Path) -> None:
    """K7, K8: in another process, without LD_PRELOAD, RTLD_GLOBAL or an environment."""
    library = shared(tmp_path)
    path = built(program(symbol(library)), tmp_path / "net.inarch")
    assert worker(path) == ([2.0 * i for i in range(8)], [])
    shared(tmp_path, "3.0f")
    values, caught = worker(path)
    assert values == [3.0 * i for i in range(8)]
    assert caught == [
        f"UserWarning: {path}: library '{library}' changed since microkernel 'twice' was compiled "
        "and checked with it; its present build is used unchecked; compile again to have it "
        "checked"
    ]


def test_the_manifest_says_what_is_called(tmp_path: Path) -> None:
    library = shared(tmp_path)
    path = built(program(symbol(library)), tmp_path / "net.inarch")
    (entry,) = Artifact.open(path).manifest.libraries
    assert (entry.path, entry.kernels, entry.symbols) == (str(library), ("twice",), ("scale",))
    assert entry.sha256 is not None


def test_the_warning_is_at_the_load(tmp_path: Path) -> None:
    library = shared(tmp_path)
    path = built(program(symbol(library)), tmp_path / "net.inarch")
    library.write_bytes(library.read_bytes() + b"\0")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        inarch.load(path)
    (warning,) = caught
    assert warning.filename == __file__


def test_a_process_says_when_it_keeps_an_older_build(tmp_path: Path) -> None:
    """K7: the dynamic loader opens a path once; the next process uses what is there then."""
    library = shared(tmp_path)
    path = built(program(symbol(library)), tmp_path / "net.inarch")
    inarch.load(path)
    shared(tmp_path, "3.0f")
    with pytest.warns(UserWarning, match="changed since") as caught:
        module = inarch.load(path)
    (warning,) = caught
    assert str(warning.message).endswith(
        "; this process uses the build that it opened first; start it again for the present one"
    )
    assert np.asarray(module(np.ones(8, np.float32))).tolist() == [2.0] * 8
    with pytest.warns(UserWarning, match="the build that it opened first"):
        inarch.load(path)
    assert worker(path)[0] == [3.0 * i for i in range(8)]


def test_a_library_that_is_gone_is_an_error_at_load(tmp_path: Path) -> None:
    """K8"""
    library = shared(tmp_path)
    path = built(program(symbol(library)), tmp_path / "net.inarch")
    library.unlink()
    with pytest.raises(EnvironmentFault) as raised:
        inarch.load(path)
    assert str(raised.value) == (
        f"{path}: microkernel 'twice' calls '{library}', which does not exist, nor does 'libscale.so' beside "
        "the artifact or in INARCH_LIBRARY_PATH; restore it, or recompile where it is"
    )


def test_a_symbol_that_is_gone_is_an_error_at_load(tmp_path: Path) -> None:
    """K8: never at a call; the kernel, the libraries searched, the nearest symbol, the remedy."""
    library = shared(tmp_path)
    path = built(program(symbol(library)), tmp_path / "net.inarch")
    shared(tmp_path, name="scale2")
    with (
        pytest.raises(EnvironmentFault) as raised,
        pytest.warns(UserWarning, match="changed since"),
    ):
        inarch.load(path)
    assert str(raised.value) == (
        f"{path}: microkernel 'twice' calls 'scale', which none of the libraries searched defines: "
        f"{library}; the nearest is 'scale2'; restore the symbol, or compile the model again"
    )


def test_a_missing_symbol_is_an_error_at_build(tmp_path: Path) -> None:
    """K8: it says what the library has instead."""
    library = shared(tmp_path, name="my_scale")
    assert str(error_of(program(symbol(library)), tmp_path / "net.inarch")) == (
        f"microkernel 'twice' (p.mlir:2:1): no symbol 'scale' in library '{library}'; it has "
        "'my_scale': write symbol=\"my_scale\""
    )


def test_openblas_says_what_its_sgemm_is_called(tmp_path: Path) -> None:
    """K8: asked for cblas_sgemm."""
    message = str(error_of(program(symbol(OPENBLAS, "cblas_sgemm")), tmp_path / "net.inarch"))
    assert message.startswith(
        "microkernel 'twice' (p.mlir:2:1): no symbol 'cblas_sgemm' in library "
    )
    assert message.endswith("; it has 'scipy_cblas_sgemm': write symbol=\"scipy_cblas_sgemm\"")


def test_a_symbol_without_a_library_is_an_error_at_build(tmp_path: Path) -> None:
    """K8: the linker's complaint, as that of the kernel."""
    text = program('symbol "nobody_has_it"')
    message = str(error_of(text, tmp_path / "net.inarch"))
    assert message.startswith(
        "microkernel 'twice' (p.mlir:2:1): no symbol 'nobody_has_it' in the libraries searched: libm, "
        "libpthread, libc; define it, or name its library; the log is "
    )


def test_a_helper_that_is_not_defined_is_the_kernels_error(tmp_path: Path) -> None:
    """K8: what its own C calls."""
    source = "void helper(float *); void twice(const float *X, float *Y, int64_t X_0, int64_t Y_0, int64_t n)"
    text = program(f'source "{source} {{ helper(Y); }}"')
    message = str(error_of(text, tmp_path / "net.inarch"))
    assert message.startswith(
        "microkernel 'twice' (p.mlir:2:1): no symbol 'helper' in the libraries"
    )


def test_a_library_for_another_machine(tmp_path: Path) -> None:
    library = shared(tmp_path)
    content = bytearray(library.read_bytes())
    other = {"x86-64": (183, "aarch64")}.get(native().architecture, (62, "x86-64"))
    content[18:20] = other[0].to_bytes(2, "little")
    library.write_bytes(content)
    message = str(error_of(program(symbol(library)), tmp_path / "net.inarch"))
    assert message.startswith(
        f"microkernel 'twice' (p.mlir:2:1): library '{library}' is for {other[1]}, and the target "
    )
    library.write_text("no library")
    message = str(error_of(program(symbol(library)), tmp_path / "net.inarch"))
    assert message.startswith(f"microkernel 'twice' (p.mlir:2:1): library '{library}': expected ")


# ---------------------------------------------------------------------------------- embed


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["object", "archive", "source"])
def test_what_is_embedded_leaves_no_trace(tmp_path: Path, kind: str) -> None:
    """K7, K14: the artifact runs when the library is gone, and nothing in it names the library."""
    nm, readelf, ar = shutil.which("nm"), shutil.which("readelf"), shutil.which("ar")
    if nm is None or readelf is None or ar is None:
        pytest.skip("nm, readelf and ar are not installed")
    home = tmp_path / "kernels"
    home.mkdir()
    library = compiled(home, "-fPIC")
    if kind == "archive":
        archive = home / "libscale.a"
        subprocess.run([ar, "rcs", archive, library], check=True)
        library = archive
    code = symbol(library, link="embed")
    if kind == "source":
        own = "void twice(const float *X, float *Y, int64_t X_0, int64_t Y_0, int64_t n)"
        code = f'source "{own} {{ for (int64_t i = 0; i < n; i++) Y[i * Y_0] = 2 * X[i * X_0]; }}"'
    path = built(program(code), tmp_path / "net.inarch")
    shutil.rmtree(home)
    assert worker(path) == ([2.0 * i for i in range(8)], [])
    undefined = subprocess.check_output(
        [nm, "-D", "-u", path], text=True, stderr=subprocess.DEVNULL
    )
    exported = subprocess.check_output(
        [nm, "-D", "--defined-only", path], text=True, stderr=subprocess.DEVNULL
    )
    assert "scale" not in undefined + exported
    assert all(
        line.split()[-1].startswith(("net_", "__tvm_ffi_")) for line in exported.splitlines()
    )
    dynamic = subprocess.check_output([readelf, "-d", path], text=True)
    assert "scale" not in dynamic
    assert str(home) not in dynamic
    assert "RUNPATH" not in dynamic
    with Artifact.open(path) as artifact:
        assert artifact.manifest.libraries == ()
        licenses = dict(artifact.manifest.provenance.licenses)
    copied = {} if kind == "source" else {"NOASSERTION": (f"library '{library.name}'",)}
    assert licenses == {"Apache-2.0": ("Inarch",), **copied}


def test_links_are_of_the_librarys_kind(tmp_path: Path) -> None:
    """K7"""
    path = tmp_path / "net.inarch"
    library = shared(tmp_path)
    assert str(error_of(program(symbol(library, link="embed")), path)) == (
        "microkernel 'twice' (p.mlir:2:1): expected an object or a static library for link 'embed', "
        f"found the shared '{library}'; write link='reference', or name its .a"
    )
    static = compiled(tmp_path, "-fPIC")
    assert str(error_of(program(symbol(static)), path)) == (
        "microkernel 'twice' (p.mlir:2:1): expected a shared library for link 'reference', found the "
        f"static '{static}'; write link='embed'"
    )


# ---------------------------------------------------------------------------------- needs


def test_a_kernel_states_its_own_flags_folders_and_libraries(tmp_path: Path) -> None:
    """K12: nothing central is edited; the flags are those of its own unit."""
    (tmp_path / "factor.h").write_text("#define FACTOR OTHER\n")
    library = shared(tmp_path)
    own = "void twice(const float *X, float *Y, int64_t X_0, int64_t Y_0, int64_t n)"
    source = (
        r"#include <factor.h>\0Avoid scale(const float *, float *, int); "
        f"{own} {{ scale(X, Y, (int)n); for (int64_t i = 0; i < n; i++) Y[i * Y_0] *= FACTOR; }}"
    )
    lists = f'libraries ["{library}"] include_dirs ["{tmp_path}"] cflags ["-DOTHER=4"]'
    path = built(program(f'source "{source}" {lists}'), tmp_path / "net.inarch")
    assert worker(path) == ([8.0 * i for i in range(8)], [])
    (entry,) = Artifact.open(path).manifest.libraries
    assert (entry.path, entry.kernels, entry.symbols) == (str(library), ("twice",), ())


def test_an_artifact_needs_what_its_kernels_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An artifact refuses to load on a CPU that lacks a feature of its kernels."""
    own = "void twice(const float *X, float *Y, int64_t X_0, int64_t Y_0, int64_t n)"
    code = f'source "{own} {{ for (int64_t i = 0; i < n; i++) Y[i * Y_0] = 2 * X[i * X_0]; }}"'
    path = built(program(code, '"not-a-feature"'), tmp_path / "net.inarch")
    assert "not-a-feature" in Artifact.open(path).manifest.features
    with pytest.raises(EnvironmentFault) as raised:
        inarch.load(path)
    assert str(raised.value).startswith(f"{path}: needs not-a-feature, which this CPU lacks; ")
    found = targets.this_processor()
    more = targets.Processor(found.architecture, found.features | {"not-a-feature"})
    monkeypatch.setattr(targets, "this_processor", lambda: more)
    assert np.asarray(inarch.load(path)(np.ones(8, np.float32))).tolist() == [2.0] * 8


# ---------------------------------------------------------------------------------- usable


SUM = "for i in N: Y[i] += X[i]"
TYPES = {"X": "f32", "Y": "f32"}


def instance(kernel: Microkernel, name: str = "mine", target: Target | None = None) -> Instance:
    return instantiate(kernel, name, {}, target=target or native())


def test_a_kernel_that_can_be_built_is_usable(tmp_path: Path) -> None:
    usable = usable_for(native())
    own = "void mine(const float *X, float *Y, int64_t X_0, int64_t Y_0, int64_t N)"
    assert (
        usable(instance(Microkernel(SUM, TYPES, c=f"{own} {{ Y[0] += X[0]; (void)N; }}"))) is None
    )
    call = "scale({X}, {Y}, (int){N})"
    declare = "void scale(const float *, float *, int);"
    kernel = Microkernel(
        SUM, TYPES, symbol="scale", call=call, declare=declare, library=str(shared(tmp_path))
    )
    assert usable(instance(kernel)) is None
    assert usable(instance(Microkernel(SUM, TYPES, registered="anything"))) is None


def test_why_a_kernel_cannot_be_built(tmp_path: Path) -> None:
    """One line each, for the report of what was chosen; the model takes another path."""
    usable = usable_for(native())
    library = shared(tmp_path)
    wrong = Microkernel(SUM, TYPES, symbol="scal", library=str(library))
    assert usable(instance(wrong)) == (
        f"microkernel 'mine': no symbol 'scal' in library '{library}'; it has 'scale': write "
        'symbol="scale"'
    )
    gone = Microkernel(SUM, TYPES, symbol="scale", library=str(tmp_path / "none.so"))
    assert usable(instance(gone, "gone")) == (
        f"microkernel 'gone': library '{tmp_path / 'none.so'}': no such file; build it, or correct "
        "`library`"
    )
    object_code = compiled(tmp_path, "-fno-pic", "-mcmodel=large") if _is_x86() else None
    if object_code is not None:
        kernel = Microkernel(SUM, TYPES, symbol="missing", library=str(object_code), link="embed")
        found = usable(instance(kernel, "embedded"))
        assert found is not None
        assert found.startswith(
            "microkernel 'embedded': no symbol 'missing' in the libraries searched"
        )
    embedded = [compiled(tmp_path, "-fPIC")]
    if (ar := shutil.which("ar")) is not None:
        embedded.append(tmp_path / "libscale.a")
        subprocess.run([ar, "rcs", embedded[1], embedded[0]], check=True)
    for path in embedded:
        kernel = Microkernel(SUM, TYPES, symbol="scal", library=str(path), link="embed")
        found = usable(instance(kernel, path.stem))
        assert found is not None
        assert f"libraries searched: {path}, libm, libpthread, libc; there is 'scale'; " in found


def _is_x86() -> bool:
    return native().architecture == "x86-64"


@contextmanager
def kernel_file(path: Path, text: str) -> Generator[Microkernel]:
    """The kernel of a file, loaded for the block."""
    path.write_text(text)
    with MICROKERNELS.scope():
        load_file(path, {"microkernel": MICROKERNELS})
        yield MICROKERNELS[path.stem]


def test_c_that_does_not_compile_is_located_in_its_file(tmp_path: Path) -> None:
    """The kernel's file and line, whether it is C or C in Python."""
    own = "void bad(const float *X, float *Y, int64_t X_0, int64_t Y_0, int64_t N)"
    declared = f'/* inarch\ncomputes = "{SUM}"\ndtypes = {{X = "f32", Y = "f32"}}\n*/'
    c = f"{declared}\n{own}\n{{\n    Y[0] = Z;\n}}\n"
    python = (
        f"from inarch.microkernel import Microkernel\nMICROKERNEL = Microkernel(\n    '{SUM}', {TYPES},\n"
        f'    c=r"""\n{own}\n{{\n    Y[0] = Z;\n}}\n""")\n'
    )
    for name, text in (("bad.c", c), ("bad.py", python)):
        path = tmp_path / name
        with kernel_file(path, text) as kernel:
            found = usable_for(native())(instance(kernel, "bad"))
        assert found is not None
        assert "\n" not in found
        assert found.startswith(f"microkernel 'bad' ({path}): its C does not compile: {name}:7:")


def test_a_feature_that_the_target_lacks() -> None:
    own = "void mine(const float *X, float *Y, int64_t X_0, int64_t Y_0, int64_t N) { (void)X; }"
    kernel = Microkernel(SUM, TYPES, c=own, needs=("avx2",))
    wide = instance(kernel, target=targets.parse("x86-64-v3"))
    assert usable_for(targets.parse("x86-64-v2"))(wide) == (
        "microkernel 'mine': needs avx2, which target 'x86-64-v2' has not"
    )


# ---------------------------------------------------------------------------------- C


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["gcc", "clang", "g++"])
def test_calls_compile_without_a_warning(tmp_path: Path, compiler: str) -> None:
    """Symbols, wrappers and slots, in units and in one file."""
    text = (LIT / "kernel-library.mlir").read_text() + (LIT / "kernel-call.mlir").read_text()
    for part in text.split("module attributes")[1:]:
        context = new_context()
        emitted = emit(context, parse_module(context, f"module attributes{part}", "p.mlir"))
        for name, source in {**emitted.units, "all.c": emitted.text}.items():
            (tmp_path / name).write_text(source)
            mode = ["-x", "c++", "-fsyntax-only"] if compiler == "g++" else ["-std=c11", "-c"]
            command = [
                command_of(compiler),
                *mode,
                "-Wall",
                "-Wextra",
                "-Werror",
                "-o",
                "/dev/null",
                name,
            ]
            subprocess.run(command, check=True, cwd=tmp_path)


# ---------------------------------------------------------------------------------- examples


@pytest.mark.sampled(effort(1, 4), reason="each file, each level")
@pytest.mark.parametrize("file", ["sgemm_openblas.py", "gemm_tile.c"])
@pytest.mark.parametrize("level", ["native", "generic"])
def test_the_examples_multiply_matrices(file: str, level: str) -> None:
    """K4, K8, K12: a library's symbol and a C file, on tiles of larger matrices."""
    target = native() if level == "native" else targets.parse(level)
    with MICROKERNELS.scope():
        load_file(EXAMPLES / file, {"microkernel": MICROKERNELS})
        name = file.partition(".")[0].replace("_", "-")
        kernel = MICROKERNELS[name]
        assert usable_for(target)(_largest(kernel, name, target)) is None
        found = _largest(kernel, name, target)
    rows, columns = found.params.get("MR", 5), found.params.get("NR", 16)
    definition = definition_of(found)
    sizes = [9] if found.params else [rows, columns, 9]
    text = f"""
func.func @main(%a: memref<{2 * rows}x20xf32>, %b: memref<2x9x{columns}xf32>,
    %c: memref<{2 * rows}x40xf32>) {{
  kernel.call @{definition.sym_name.data} for (i in 2, k in 2 reduction)
      (%a[i * {20 * rows} + k * 9 + 1] strides [20, 1], %b[k * {9 * columns}] strides [{columns}, 1],
       %c[i * {40 * rows} + 3] strides [40, 1]) sizes {sizes}
      : memref<{2 * rows}x20xf32>, memref<2x9x{columns}xf32>, memref<{2 * rows}x40xf32>
  func.return
}}"""
    context = new_context()
    module = parse_module(context, f"{print_module(definition)}\n{text}", "p.mlir")
    module.attributes["inarch.target"] = StringAttr(str(target))
    verify_module(module)
    rng = np.random.default_rng(1)
    shapes = ((2 * rows, 20), (2, 9, columns), (2 * rows, 40))
    a, b, c = (rng.integers(-3, 4, shape).astype(np.float32) for shape in shapes)
    wanted = c.copy()
    wanted[:, 3 : 3 + columns] += a[:, 1:10] @ b[0] + a[:, 10:19] @ b[1]
    run_function(context, module, "main", [a, b, c])
    np.testing.assert_array_equal(c, wanted)


def _largest(kernel: Microkernel, name: str, target: Target) -> Instance:
    return instantiate(kernel, name, members(kernel, target)[-1], target=target)
