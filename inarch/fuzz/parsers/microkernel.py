"""Microkernels in C and assembly files, which declare themselves in a comment; nothing is compiled."""

from __future__ import annotations

from inarch.fuzz import Parser
from inarch.fuzz.files import corpus, texts, written
from inarch.machine.target import parse
from inarch.microkernel import members
from inarch.microkernel.file import read_kernel_file

_KEPT = corpus("microkernel")


def _seeds() -> list[bytes]:
    return [
        *_KEPT.seeds,
        *texts("examples/microkernels/*.c", "tests/**/rows_gemm.c", "tests/plugin/**/*.c"),
    ]


def check(data: bytes) -> None:
    """Reads the file; of what is sound, tries the parameters on the constraints."""
    members(read_kernel_file(written("fuzz_kernel.c", data)), parse("generic"))


PARSER = Parser(
    _seeds,
    check,
    ".c",
    words=_KEPT.words,
)
