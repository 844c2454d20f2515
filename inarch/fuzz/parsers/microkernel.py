"""Microkernels in C and assembly files, which declare themselves in a comment; nothing is compiled."""

from __future__ import annotations

from inarch.fuzz import Parser
from inarch.fuzz.files import texts, written
from inarch.machine.target import parse
from inarch.microkernel import members
from inarch.microkernel.file import read_kernel_file

_SEED = b"""/* inarch
computes = "for m in MR, n in NR, k in K: C[m, n] += A[m, k] * B[k, n]"
dtypes = {A = "f32", B = "f32", C = "f32"}
params = {MR = "1..8", NR = [4, 8, 16]}
where = ["4 * NR <= VECTOR_BYTES", "MR * NR // 4 < 2 * VECTOR_REGISTERS - 1"]
layout = {A = [">= K", 1], B = ["*", 1], C = ["NR * 2", 1]}
align = {A = 64}
needs = ["avx2"]
inits = ["accumulate", "zero"]
symbol = "my_gemm"
cost = 12.5
doc = "A product."
*/
void my_gemm(void) {}
"""


def _seeds() -> list[bytes]:
    return [
        _SEED,
        *texts("examples/microkernels/*.c", "tests/**/rows_gemm.c", "tests/plugin/**/*.c"),
    ]


def check(data: bytes) -> None:
    """Reads the file; of what is sound, tries the parameters on the constraints."""
    members(read_kernel_file(written("fuzz_kernel.c", data)), parse("generic"))


PARSER = Parser(
    _seeds,
    check,
    ".c",
    words=[b"9**9", b"<<", b"1..999999999", b"[[a]]", b"1979-05-27", b"'''", b'"""'],
)
