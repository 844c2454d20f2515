"""Kernels of one C or assembly file, those of other distributions, damaged ones (K2, K13)."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import inarch
from inarch.core.errors import InarchError
from inarch.core.plugins import Extensions, load_file
from inarch.dialects import new_context
from inarch.dialects.kernel.instances import definition_of
from inarch.driver.compiler import build
from inarch.ir.text import parse_module, print_module
from inarch.ir.verify import verify_module
from inarch.machine.target import native
from inarch.machine.target import parse as parse_target
from inarch.microkernel import Microkernel, instance_source, instantiate, members
from inarch.microkernel.file import read_kernel_file
from inarch.microkernel.table import MICROKERNELS
from inarch.verification import verify_family

GENERIC = parse_target("generic")

AXPY = """\
// Copyright of somebody.
/* inarch
computes = "for i in N, k in K: C[i, k] += A[i] * B[k]"
dtypes = {A = "f32", B = "f32", C = "f32"}
params = {N = "1..4"}
layout = {C = ["*", 1]}
where = ["N != 3"]
needs = []
align = {B = 16}
cost = 12.5
doc = "An outer product."
include_dirs = ["include"]
*/
void axpy(const float *A, const float *B, float *C) { /* N rows */ }
"""

TRIPLE = """\
/* inarch
computes = '''
for i in N:
  C[i] += A[i] * 3
'''
dtypes = {A = "i32", C = "i32"}
[params]
N = [4, 9]
*/
triple: ret
"""


@pytest.fixture(autouse=True)
def _own_table() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction] - pytest's
    with MICROKERNELS.scope():
        yield


def load(path: Path) -> list[str]:
    return load_file(path, {"microkernels": cast("Extensions[object]", MICROKERNELS)})


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


# ------------------------------------------------------------------------------------ one file


def test_a_c_file_is_a_kernel(tmp_path: Path) -> None:
    """K2: meaning and code in one C file; K12: it states its own include_dirs."""
    assert load(write(tmp_path, "axpy.c", AXPY)) == ["microkernel axpy"]
    assert "axpy" in MICROKERNELS
    assert MICROKERNELS.origin("axpy").source == str(tmp_path / "axpy.c")
    kernel = MICROKERNELS["axpy"]
    assert kernel == Microkernel(
        computes="for i in N, k in K: C[i, k] += A[i] * B[k]",
        dtypes={"A": "f32", "B": "f32", "C": "f32"},
        params={"N": range(1, 5)},
        layout={"C": ("*", 1)},
        where=("N != 3",),
        align={"B": 16},
        cost=12.5,
        doc="An outer product.",
        include_dirs=[str(tmp_path / "include")],
        c="// Copyright of somebody.\n\n"
        "void axpy(const float *A, const float *B, float *C) { /* N rows */ }\n",
    )
    assert [member["N"] for member in members(kernel, GENERIC)] == [1, 2, 4]
    instance = instantiate(kernel, "axpy", {"N": 4}, target=GENERIC)
    assert "{ /* 4 rows */ }" in instance_source(instance)


@pytest.mark.parametrize("suffix", ["S", "s"])
def test_an_assembly_file_is_a_kernel(tmp_path: Path, suffix: str) -> None:
    """K2: an assembly source; tests/unit/microkernel/test_microkernel.py runs one."""
    load(write(tmp_path, f"triple.{suffix}", TRIPLE))
    kernel = MICROKERNELS["triple"]
    assert kernel.asm == "triple: ret\n"
    assert kernel.params == {"N": (4, 9)}
    source = instance_source(instantiate(kernel, "triple", {"N": 9}, target=GENERIC))
    assert '"triple_N9_asm: ret\\n"' in source


def test_a_python_file_is_a_kernel(tmp_path: Path) -> None:
    text = "from inarch.microkernel import Microkernel\n"
    text += (
        "MICROKERNEL = Microkernel('for i in 4: C[i] = 0', {'C': 'f32'}, c='void zero_it() {}')\n"
    )
    assert load(write(tmp_path, "zero_it.py", text)) == ["microkernel zero-it"]
    assert MICROKERNELS["zero-it"].c == "void zero_it() {}"


# ------------------------------------------------------------------------------------ damaged files


@pytest.mark.every_case(reason="each is a message of its own")
@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("/* inarch", "/*",
         "1:1: error: expected a declaration, a comment '/* inarch ... */' with computes and dtypes"),
        ("computes = ", "compute = ", "2:10: error: expected computes in the declaration"),
        ("layout = ", "layuot = ", "6:1: error: no field 'layuot'; did you mean 'layout'?"),
        ("\nwhere = [", "\nwhere = [[", "8:1: error: expected TOML: unclosed array"),
        ("align = {B = 16}", "align = {B = 16", "9:16: error: expected TOML: unclosed inline table"),
        ("\"for i in N,", "\"for i in N", "3:24: error: expected ':', found 'k'"),
        ("C[i, k] +=", "C[i, k] -=",
         "3:41: error: expected one of '=', '+=', '*=', 'max=', 'min=', found '-'"),
        ("\"1..4\"", "\"1-4\"",
         "5:1: error: expected params = {MR = [1, 2], NR = \"1..8\", ...}, found {'N': '1-4'}"),
        ("\"1..4\"", "\"4..1\"", "5:1: error: expected integers of 1 or more for N, found range(4, 2)"),
        ("cost = 12.5", "cost = true", "10:1: error: expected cost = a number of cycles, found True"),
        ("needs = []", "needs = [1]", "8:1: error: expected needs = [\"...\", ...], found [1]"),
        ("needs = []", "needs = [\"xy\"]", "8:1: error: needs: no feature 'xy'. Known: "),
        ("[\"*\", 1]", "[\"*\", 1.5]",
         "6:1: error: expected layout = {A = [\"*\", 1], ...}, found {'C': ['*', 1.5]}"),
        ("\"*\", 1", "1", "6:1: error: expected 2 strides of operand C in layout, found 1"),
        ("\"*\", 1", "\"*\", 0x1" + 5000 * "0",
         "6:1: error: expected integers of at most 64 bits in layout, found more than 2**20000"),
        ("needs = []", "needs = [[0x1" + 5000 * "0" + "]]",
         "8:1: error: expected integers of at most 64 bits in needs, found more than 2**20000"),
        ("\"*\", 1", "\"*\", \"0 - " + "*".join(9 * ["0x1" + 99 * "0"]) + "\"",
         "6:1: error: expected strides of 0 or more of operand C in layout, found less than -2**3564; "
         "what runs backwards is packed"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_where_it_is(
    tmp_path: Path, old: str, new: str, expected: str
) -> None:
    assert old in AXPY
    path = write(tmp_path, "axpy.c", AXPY.replace(old, new, 1))
    with pytest.raises(InarchError) as raised:
        read_kernel_file(path)
    found = raised.value.line()
    assert found.startswith(f"{path}:{expected}")
    assert found == f"{path}:{expected}" or expected.endswith(("Known: ", "?"))


def test_a_meaning_on_several_lines_is_located(tmp_path: Path) -> None:
    path = write(tmp_path, "triple.S", TRIPLE.replace("* 3", "* * 3"))
    with pytest.raises(InarchError) as raised:
        read_kernel_file(path)
    assert raised.value.line() == f"{path}:4:18: error: expected an expression, found '*'"


def test_files_that_are_not_there_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(InarchError) as raised:
        load(tmp_path / "none.c")
    assert raised.value.line() == f"error: --load: expected a file, found '{tmp_path / 'none.c'}'"
    (tmp_path / "bytes.c").write_bytes(b"\xff\xfe")
    load(tmp_path / "bytes.c")
    with pytest.raises(InarchError) as raised:
        MICROKERNELS["bytes"]
    assert raised.value.line() == f"{tmp_path / 'bytes.c'}: error: expected UTF-8 text"
    with pytest.raises(InarchError) as raised:
        read_kernel_file(tmp_path / "none.c")
    where = tmp_path / "none.c"
    assert raised.value.line() == f"{where}: error: cannot be read: No such file or directory"


def test_a_damaged_file_is_an_error_where_it_is_used(tmp_path: Path) -> None:
    """The model still compiles without it."""
    load(write(tmp_path, "axpy.c", AXPY.replace("C[i, k] +=", "C[i, k] -=")))
    assert "axpy" in MICROKERNELS
    for _ in range(2):
        with pytest.raises(InarchError, match=r"axpy\.c:3:41: expected one of"):
            MICROKERNELS["axpy"]
    load(write(tmp_path, "axpy.c", AXPY))
    assert MICROKERNELS["axpy"].cost == 12.5


def test_the_compilers_messages_are_of_lines_of_the_file(tmp_path: Path) -> None:
    """Not of the C without its declaration."""
    path = write(tmp_path, "axpy.c", AXPY.replace("{ /* N rows */ }", "{\n    C[0] = Z;\n}"))
    load(path)
    number = path.read_text().split("\n").index("    C[0] = Z;") + 1
    (verdict, *_) = verify_family(MICROKERNELS["axpy"], "axpy", native(), quick=True)
    assert verdict.fault == "does-not-compile"
    assert verdict.message.startswith(f"axpy.c:{number}:")


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_damage_is_one_located_error_or_none(data: st.DataObject) -> None:
    """Letters lost, doubled or exchanged anywhere in the declaration."""
    text = AXPY
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text) - 1))
        text = (
            text[:at]
            + data.draw(st.sampled_from(["", "=", '"', "[", "\0", "9", "N", "\n"]))
            + text[at + 1 :]
        )
    problem: InarchError | None = None
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder), "axpy.c", text)
        try:
            read_kernel_file(path)
        except InarchError as error:
            problem = error
        if problem is not None:
            assert re.fullmatch(rf"{re.escape(str(path))}:\d+:\d+: error: .*", problem.line())


# ------------------------------------------------------------------------------------ in an artifact

X86 = """\
/* inarch
computes = "for i in N: C[i] += A[i] * 3"
dtypes = {A = "i32", C = "i32"}
params = {N = [4, 9]}
*/
    .globl triple
triple:                         // rdi = A, rsi = C, rdx and rcx are their strides
    mov $N, %r9d
.Lnext:
    mov (%rdi), %eax
    lea (%rax,%rax,2), %eax
    add %eax, (%rsi)
    lea (%rdi,%rdx,4), %rdi
    lea (%rsi,%rcx,4), %rsi
    dec %r9d
    jnz .Lnext
    ret
"""

INLINE = """\
/* inarch
computes = "for i in N: C[i] += A[i] * 3"
dtypes = {A = "i32", C = "i32"}
params = {N = [4, 9]}
*/
void triple(const int32_t *A, int32_t *C, int64_t A_0, int64_t C_0) {
    for (int i = 0; i < N; i++) {
        int32_t sum = A[i * A_0];
        __asm__("lea (%0,%0,2), %k0" : "+r"(sum));
        C[i * C_0] += sum;
    }
}
"""


@pytest.mark.cpu("x86-64")
@pytest.mark.parametrize(("file", "text"), [("triple.S", X86), ("triple.c", INLINE)])
def test_assembly_becomes_part_of_an_artifact(tmp_path: Path, file: str, text: str) -> None:
    """K2: two members of one assembly file, or C with inline assembly, called with strides (K4)."""
    kernel = read_kernel_file(write(tmp_path, file, text))
    context = new_context()
    module = parse_module(
        context,
        """module attributes {inarch.name = "net"} {
func.func @main(%a: memref<18xi32>, %c: memref<32xi32> {inarch.result}) {
  kernel.call @fill(%c[0] strides [1]) sizes [32] : memref<32xi32>
  kernel.call @triple_N4(%a[1] strides [2], %c[3] strides [2]) sizes [] : memref<18xi32>, memref<32xi32>
  kernel.call @triple_N9(%a[0] strides [2], %c[20] strides [1]) sizes [] : memref<18xi32>, memref<32xi32>
  func.return
}
kernel.def @fill computes "for i in n: C[i] = 5" arguments [#kernel.operand<C : i32 write rank 1 align 4>]
  needs [] source "void fill(int32_t *C, int64_t s, int64_t n) { for (int i = 0; i < n; i++) C[i * s] = 5; }"
}""",
    )
    for n in (4, 9):
        definition = definition_of(instantiate(kernel, "triple", {"N": n}, target=GENERIC))
        module.body.block.add_op(definition)
    # As text and back: the source is a string of the IR.
    module = parse_module(context, print_module(module))
    verify_module(module)
    main = inarch.load(build(module, tmp_path / "net.inarch", context=context).path)
    a = np.arange(18, dtype=np.int32)
    wanted = np.full(32, 5, np.int32)
    wanted[3:11:2] += 3 * a[1:9:2]
    wanted[20:29] += 3 * a[::2]
    np.testing.assert_array_equal(main(a), wanted)


# ------------------------------------------------------------------------------------ distributions

PYTHON_KERNEL = """\
from inarch.microkernel import Microkernel
MICROKERNEL = Microkernel(
    computes="for i in N: C[i] = relu(A[i])",
    dtypes={"A": "f32", "C": "f32"},
    c="void clip(const float *A, float *C, int64_t A_0, int64_t C_0, int64_t N) {}",
)
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with an installed distribution of the documented layout, as pip leaves it."""
    package = tmp_path / "site" / "my_kernels"
    package.mkdir(parents=True)
    write(package, "__init__.py", "")
    write(package, "clip.py", PYTHON_KERNEL)
    write(package, "axpy.c", AXPY)
    write(package, "triple.S", TRIPLE)
    write(package, "broken.c", AXPY.replace("k in K", "k in"))
    write(package, "number.py", "MICROKERNEL = 5\n")
    info = tmp_path / "site" / "my_kernels-1.0.dist-info"
    info.mkdir()
    write(info, "METADATA", "Metadata-Version: 2.1\nName: my-kernels\nVersion: 1.0\n")
    names = ("clip", "axpy", "triple", "broken", "number", "gone")
    points = "\n".join(f"my-{name} = my_kernels.{name}" for name in names)
    write(info, "entry_points.txt", f"[inarch.microkernels]\n{points}\n")
    return tmp_path / "site"


def test_kernels_of_a_distribution_are_found(site: Path, tmp_path: Path) -> None:
    """K13: an entry point names a Python module, or a C or assembly file of the package."""
    done = subprocess.run(
        [sys.executable, "-m", "inarch.tools.cli", "list", "microkernels", "--json"],
        cwd=tmp_path,
        env={
            **os.environ,
            "INARCH_PLUGINS": "all",
            "PYTHONPATH": os.pathsep.join([str(site), str(Path(__file__).parents[3])]),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    rows = {row["name"]: row for row in json.loads(done.stdout)["microkernels"]}
    assert rows["my-clip"]["summary"] == "for i in N: C[i] = relu(A[i])"
    assert rows["my-clip"]["origin"] == "entry point of my-kernels"
    assert rows["my-axpy"]["summary"] == "for i in N, k in K: C[i, k] += A[i] * B[k]"
    assert rows["my-triple"]["summary"] == "for i in N: C[i] += A[i] * 3"
    broken = site / "my_kernels" / "broken.c"
    assert rows["my-broken"]["summary"] == (
        f"BROKEN: {broken}:3:29: expected a size (a number or a name), found ':'"
    )
    assert rows["my-number"]["summary"] == (
        "BROKEN: microkernel 'my-number': expected a Microkernel, found int"
    )
    assert rows["my-gone"]["summary"] == (
        "BROKEN: microkernel 'my-gone' (entry point of my-kernels) cannot be imported: "
        "ModuleNotFoundError: No module named 'my_kernels.gone'"
    )
    ours = [row for name, row in rows.items() if not name.startswith("my-")]
    assert ours
    assert not [row for row in ours if row["summary"].startswith("BROKEN")]


def test_our_own_kernels_are_sound() -> None:
    for name in ("gemm-f32", "conv-f32"):
        kernel = MICROKERNELS[name]
        assert members(kernel, parse_target("x86-64-v3")), name
