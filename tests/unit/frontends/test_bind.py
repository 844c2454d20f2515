"""What `bind` refuses, from C: weights of another size, and a CPU that lacks what the code needs."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

import inarch
from effort import effort
from inarch.backends.c import CProgram, emit, weights_image
from inarch.backends.c.write.abi.cpu import cpu_check
from inarch.backends.c.write.abi.library_text import abi_text
from inarch.dialects import new_context
from inarch.ir.text import parse_module
from inarch.ir.verify import verify_module
from inarch.machine.architecture import all_features, architectures
from inarch.machine.target import cpu, parse
from inarch.machine.targets.x86_64 import FEATURES
from inarch.machine.toolchain import find_compiler

X86 = pytest.mark.cpu("x86-64")

PROGRAM = """
module attributes {inarch.name = "net", inarch.target = "TARGET"} {
func.func @main(%x: memref<4xf32>, %y: memref<4xf32> {inarch.result}) {
  %w = loop.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32> at 0 : memref<4xf32>
  %t = loop.alloc at 0 : memref<4xf32>
  loop.call @k(%x, %w, %t) : memref<4xf32>, memref<4xf32>, memref<4xf32>
  loop.call @k(%t, %w, %y) : memref<4xf32>, memref<4xf32>, memref<4xf32>
  func.return
}
func.func private @k(%x: memref<4xf32>, %w: memref<4xf32>, %y: memref<4xf32>) {
  loop.nest (i = 4) ins(%x[i] : memref<4xf32>, %w[i] : memref<4xf32>) outs(%y[i] : memref<4xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %s = arith.addf %a, %b : f32
    loop.yield %s : f32
  }
  func.return
}
}
"""


def program(target: str = "generic") -> CProgram:
    context = new_context()
    module = parse_module(context, PROGRAM.replace("TARGET", target), "p.mlir")
    verify_module(module)
    assert bytes(weights_image(context, module)[:4]) == b"\0\0\x80\x3f"
    return emit(context, module)


def run(folder: Path, made: CProgram, main: str, flags: Sequence[str] = ()) -> str:
    """What a C program of the units of `made`, as an artifact has them, and `main` prints."""
    for name, text in made.units.items():
        (folder / name).write_text(text)
    (folder / "main.c").write_text('#include "inarch.h"\n#include <stdio.h>\n' + main)
    include = Path(inarch.__file__).parent / "runtime" / "include"
    command = [*find_compiler().command, "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror"]
    command += [*flags, f"-I{include}", *made.units, "main.c", "-o", "main", "-lm"]
    subprocess.run(command, check=True, cwd=folder)
    done = subprocess.run([str(folder / "main")], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


_SIZES = """
int32_t net_bind(const void *weights, int64_t nbytes, const inarch_import *imports, int32_t count);
int32_t net_main(DLTensor *args, int32_t n);
const char *net_last_error(void);
const char *net_weights_sha256(void);
static _Alignas(64) float weights[16] = {10, 20, 30, 40};

int main(void)
{
    float x[4] = {1, 2, 3, 4}, y[4];
    int64_t shape[] = {4};
    DLTensor args[] = {{x, {1, 0}, 1, {2, 32, 1}, shape, NULL, 0},
                       {y, {1, 0}, 1, {2, 32, 1}, shape, NULL, 0}};
    const int64_t sizes[] = {0, 63, 65, 128, -64};
    for (int i = 0; i < 5; i++) {
        printf("%d ", net_bind(weights, sizes[i], NULL, 0));
        puts(net_last_error());
    }
    printf("%d ", net_bind(NULL, 64, NULL, 0));
    puts(net_last_error());
    printf("%d ", net_main(args, 2));
    puts(net_last_error());
    printf("%d ", net_bind(weights, 64, NULL, 0));
    printf("%d ", net_main(args, 2));
    printf("%g %g\\n", y[0], y[3]);
    puts(net_weights_sha256());
    return 0;
}
"""


def test_bind_refuses_weights_of_another_size(tmp_path: Path) -> None:
    printed = run(tmp_path, program(), _SIZES).splitlines()
    sizes = [f"2 net_bind: expected 64 bytes of weights, found {n}" for n in (0, 63, 65, 128, -64)]
    assert printed[:5] == sizes
    assert printed[5:8] == [
        "2 net_bind: expected 64 bytes of weights, found a null pointer",
        "2 main: expected its weights in the artifact that it was loaded from, found a file that is no "
        f"artifact: '{tmp_path / 'main'}'; call net_bind first",
        "0 0 21 84",
    ]
    assert re.fullmatch("[0-9a-f]{64}", printed[8])


def test_the_hash_is_that_of_the_weights_in_the_artifact(tmp_path: Path) -> None:
    from inarch.artifact import Artifact
    from inarch.driver.compiler import build

    (tmp_path / "m.mlir").write_text("""
func.func @main(%x: tensor<20xf32>) -> tensor<20xf32> {
  %w = graph.constant dense<2.0> : tensor<20xf32>
  %v = graph.constant dense<[[3.0], [4.0]]> : tensor<2x1xf32>
  %0 = graph.add %x, %w : tensor<20xf32>, tensor<20xf32> -> tensor<20xf32>
  func.return %0 : tensor<20xf32>
}""")
    build(tmp_path / "m.mlir", tmp_path / "m.inarch", target="generic")
    with Artifact.open(tmp_path / "m.inarch") as artifact:
        artifact.verify()
        assert artifact.manifest.weights.nbytes > 0
        assert artifact.manifest.weights.sha256.encode() in bytes(artifact.library)


# The CPU


def test_every_feature_of_x86_can_be_asked_for() -> None:
    arm = {"neon", "dotprod", "fp16", "bf16", "i8mm", "sve", "sve2"}
    assert set(FEATURES) == all_features() - arm


_ASK = """
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
%s
INARCH_BASELINE static int32_t inarch_fail(int32_t code, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vprintf(format, values);
    va_end(values);
    return code;
}
%s
int main(void)
{
    return inarch_check_cpu() == 5 ? 0 : 1;
}
"""


@X86
def test_the_answers_are_those_of_the_system(tmp_path: Path) -> None:
    """Of all features at once: what Linux lists in /proc/cpuinfo, and what C finds, are the same."""
    (tmp_path / "ask.c").write_text(
        _ASK % (abi_text("cpu.c", "BASELINE"), cpu_check(FEATURES, "static "))
    )
    command = [*find_compiler().command, "-O2", "-Wall", "-Werror", "ask.c", "-o", "ask"]
    subprocess.run(command, check=True, cwd=tmp_path)
    done = subprocess.run([str(tmp_path / "ask")], capture_output=True, text=True, check=False)
    missing = ", ".join(sorted(set(FEATURES) - cpu().features))
    if not missing:
        pytest.skip("this CPU has every feature that there is")
    assert (done.stdout, done.returncode) == (f"needs {missing}, which this CPU lacks", 0)


_OTHER_CPU = """
/* The CPU of this machine, without one feature, or without the system's support of registers. */
#include_next <cpuid.h>
#undef __cpuid_count
#define __cpuid_count(leaf, sub, a, b, c, d) \\
    do { \\
        __asm__ volatile("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "0"(leaf), "2"(sub)); \\
        if ((leaf) == LEAF) { b &= ~(uint32_t)(EBX); c &= ~(uint32_t)(ECX); } \\
    } while (0)
"""

_BIND = """
const inarch_library *net_library(void);
int32_t net_bind(const void *weights, int64_t nbytes, const inarch_import *imports, int32_t count);
const char *net_last_error(void);
static _Alignas(64) float weights[16];

int main(void)
{
    const int32_t status = net_bind(weights, 64, NULL, 0);
    printf("%d %s\\n", status, net_last_error());
    return 0;
}
"""


@pytest.mark.cpu("x86-64-v3")
@pytest.mark.sampled(effort(2, 5), reason="half a second of the compiler each")
@pytest.mark.parametrize(
    ("leaf", "ebx", "ecx", "lacking"),
    [
        (7, 0, 0, None),
        (7, 1 << 5, 0, "avx2"),
        (7, 1 << 5 | 1 << 8, 0, "avx2, bmi2"),
        (1, 0, 1 << 12, "fma"),
        (1, 0, 1 << 27, "avx, avx2, f16c, fma"),  # the system does not keep the registers
    ],
)
def test_bind_names_what_the_cpu_lacks(
    tmp_path: Path, leaf: int, ebx: int, ecx: int, lacking: str | None
) -> None:
    """B6: so do `check` and `state_new`.

    The code is made for x86-64-v3 and compiled for any CPU, so that all but the answer is real.
    """
    fake = tmp_path / "fake"
    fake.mkdir()
    (fake / "cpuid.h").write_text(_OTHER_CPU)
    flags = [f"-isystem{fake}", f"-DLEAF={leaf}", f"-DEBX={ebx}", f"-DECX={ecx}", "-D__AVX2__"]
    printed = run(tmp_path, program("x86-64-v3"), _BIND, flags)
    expected = "0 " if lacking is None else f"5 needs {lacking}, which this CPU lacks"
    assert printed == f"{expected}\n"


def test_other_architectures_are_not_asked() -> None:
    assert all(cpu_check(architectures()[n].levels[n], "") == "" for n in ("generic", "aarch64"))
    for target in ("generic", "aarch64"):
        assert "cpuid" not in program(target).text


_BEFORE = ("abi_version", "bind", "last_error", "library", "weights_sha256")
_OF_THE_TABLE = ("inarch_check_cpu", "inarch_last_message", "inarch_state_new")
_AT_THE_END = ("inarch_free_workspaces",)
_NEW = re.compile(
    r"\t(v[a-z]\w+|andn|bextr|bls\w+|bzhi|mulx|pdep|pext|rorx|[ls]ar[xl]x|sh[lr]x|tzcnt|lzcnt|movbe"
    r"|popcnt|p(shufb|insr\w|extr\w|min[su][dw]|max[su][dw]|test|mov[sz]x\w+)|lddqu|movddup)\b"
    r"|%xmm(1[6-9]|[23]\d)|%[yz]mm|%k[0-7]"
)
"""Mnemonics and registers from SSE3 on."""


def disassembled(folder: Path, source: str, flags: Sequence[str]) -> dict[str, str]:
    """The instructions of each function that C is compiled to."""
    (folder / "model.c").write_text(source)
    command = [*find_compiler().command, "-O3", "-fPIC", *flags, "-c", "model.c", "-o", "model.o"]
    subprocess.run(command, check=True, cwd=folder)
    command = ["objdump", "-dr", "--no-show-raw-insn", "model.o"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return dict(re.findall(r"^[0-9a-f]+ <([\w.]+)>:\n((?:.+\n)*)", done.stdout, re.MULTILINE))


@X86
def test_what_runs_before_the_answer_needs_nothing(tmp_path: Path) -> None:
    """Compiled for a CPU with everything, none of it has an instruction that an old CPU lacks."""
    if shutil.which("objdump") is None:
        pytest.skip("objdump is not installed")
    target = parse("x86-64-v4+avx512vnni+avx512bf16")
    units = program(str(target)).units
    sources = [units[name] for name in ("model.c", "abi.c")]
    functions = {
        name: text
        for source in sources
        for name, text in disassembled(tmp_path, source, target.cflags()).items()
    }
    roots = {*(f"net_{name}" for name in _BEFORE), *_OF_THE_TABLE, *_AT_THE_END}
    early: dict[str, str] = {}
    pending = sorted(roots)
    while pending:
        name = pending.pop()
        early[name] = functions[name]
        called = re.findall(r"(?:call|jmp)\s.*<([\w.]+)>", functions[name])
        called += re.findall(r"R_X86_64_\w+\s+(\w+)", functions[name])
        pending += set(called) & set(functions) - set(early) - set(pending)
    assert {"inarch_fail", "inarch_bind_state"} <= set(early)
    for name, text in early.items():
        found = _NEW.search(re.sub(r".*: R_X86_64_.*", "", text))
        assert not found, (name, found)
    modern = disassembled(
        tmp_path, re.sub(r"__attribute__\(\(target\(.*", "", sources[1]), target.cflags()
    )
    assert _NEW.search("".join(modern[name] for name in early if name in modern))
