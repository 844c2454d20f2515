"""Whatever the C compiler assumes by itself, on any machine."""

from inarch.machine.architecture import Architecture

TARGET = Architecture(
    family="generic",
    levels={"generic": frozenset()},
    vector_bytes=lambda _: 16,
    vector_registers=lambda _: 16,
    flags=lambda *_: [],
)
