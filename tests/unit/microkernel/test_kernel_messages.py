"""What `inarch verify-kernel` says of kernels that are written wrong: one line, located, with what to do."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from inarch.machine.toolchain import find_compiler
from inarch.microkernel.table import MICROKERNELS
from inarch.tools import cli

TWICE = """/* inarch
computes = "for i in N: y[i] = 2 * x[i]"
dtypes = {x = "f32", y = "f32"}
params = {N = [4]}
layout = {x = [1], y = [1]}
*/
void twice(const float *x, float *y, int64_t x_0, int64_t y_0)
{
    for (int i = 0; i < N; i++) y[i] = 2 * x[i];
    (void)x_0, (void)y_0;
}
"""


def says(tmp_path: Path, name: str, text: str, code: int = 1) -> str:
    """The first line about the kernel in a file of that name."""
    path = tmp_path / name
    path.write_text(text)
    with MICROKERNELS.scope():
        done = cli.run(["verify-kernel", str(path), "--quick"])
    assert done.code == code, done.out + done.err
    line = (done.err or done.out).splitlines()[0]
    return line.replace(str(path), name).replace(str(tmp_path), "...")


def test_the_kernel_that_the_others_are_made_from_is_right(tmp_path: Path) -> None:
    assert "ok" in says(tmp_path, "twice.c", TWICE, code=0)


def test_a_function_of_other_arguments_is_told_its_prototype(tmp_path: Path) -> None:
    text = TWICE.replace(", int64_t y_0)", ")").replace(", (void)y_0", "")
    of_compiler = {
        "gcc": "too many arguments to function 'twice_N4'",
        "clang": "too many arguments to function call, expected 3, have 4",
    }[find_compiler().kind.replace("zig", "clang")]
    assert says(tmp_path, "twice.c", text) == (
        f"microkernel 'twice' (N=4): does-not-compile: {of_compiler}; "
        "expected void twice_N4(const float *x, float *y, int64_t x_0, int64_t y_0)"
    )


@pytest.mark.cpu("x86-64")
def test_the_assembler_is_quoted(tmp_path: Path) -> None:
    declaration = TWICE.partition("void twice")[0]
    line = says(
        tmp_path, "twice.S", f"{declaration}.globl twice\ntwice:\n  movx (%rdi), %eax\n  ret\n"
    )
    assert line.startswith("microkernel 'twice' (N=4): does-not-compile: assembler: "), line
    assert "movx" in line


@pytest.mark.parametrize(
    ("old", "new", "place", "message"),
    [
        ("N = [4]", 'N = "4..3"', "4:1", "expected integers of 1 or more for N, found range(4, 4)"),
        ("dtypes = {x", "dtypes = {z", "3:1", "expected dtypes of operands y, x, found z, y"),
        (
            "params =",
            'library = "libm.so"\nparams =',
            "4:1",
            "field 'library' is of kernels in Python: a .py file with a MICROKERNEL",
        ),
    ],
)
def test_a_declaration_is_wrong_at_a_field(
    tmp_path: Path, old: str, new: str, place: str, message: str
) -> None:
    found = says(tmp_path, "twice.c", TWICE.replace(old, new))
    assert found == f"twice.c:{place}: error: {message}"


def of_library(call: str, link: str = "reference") -> str:
    return f"""from pathlib import Path
from inarch.microkernel import Microkernel

MICROKERNEL = Microkernel(
    "for i in N: y[i] = 2 * x[i]",
    {{"x": "f32", "y": "f32"}},
    layout={{"x": (1,), "y": (1,)}},
    symbol="twice",
    {call}
    library=str(Path(__file__).with_name("libtwice.so")),
    link="{link}",
)
"""


@pytest.fixture
def library(tmp_path: Path) -> Path:
    source, path = tmp_path / "lib.c", tmp_path / "libtwice.so"
    source.write_text(
        "void twice(const float *x, float *y, int n) { while (n--) y[n] = 2 * x[n]; }\n"
    )
    subprocess.run(["cc", "-shared", "-fPIC", source, "-o", path], check=True)
    return path


@pytest.mark.usefixtures("library")
def test_a_call_needs_a_prototype(tmp_path: Path) -> None:
    call = 'call="twice({x}, {y}, (int){N})",'
    declared = f'{call}\n    declare="void twice(const float *, float *, int);",'
    assert "ok" in says(tmp_path, "twice.py", of_library(declared), code=0)
    line = says(tmp_path, "twice.py", of_library(call))
    assert line.endswith("; give its prototype, or an #include, as `declare`"), line
    assert "does-not-compile" in line


@pytest.mark.usefixtures("library")
def test_a_library_is_linked_as_models_link_it(tmp_path: Path) -> None:
    call = (
        'call="twice({x}, {y}, (int){N})",\n    declare="void twice(const float *, float *, int);",'
    )
    line = says(tmp_path, "twice.py", of_library(call, link="embed"))
    assert line.startswith(
        "microkernel 'twice': bad-declaration: expected an object or a static"
    ), line


@pytest.mark.parametrize("content", [b"text", None])
def test_a_library_that_is_none(tmp_path: Path, library: Path, content: bytes | None) -> None:
    whole = library.read_bytes()
    library.write_bytes(content if content is not None else whole[: len(whole) // 2])
    call = (
        'call="twice({x}, {y}, (int){N})",\n    declare="void twice(const float *, float *, int);",'
    )
    line = says(tmp_path, "twice.py", of_library(call))
    wanted = {
        b"text": "found another file; build it with `cc -shared -fPIC`, or correct `library`",
        None: f"do not lie within its {len(whole) // 2} bytes; build it again",
    }
    assert line.endswith(wanted[content]), line


def test_a_file_that_is_not_there() -> None:
    done = cli.run(["verify-kernel", "nothere.c"])
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "error: no such file: 'nothere.c'; name a kernel, or a file that defines one\n"
    )
