"""Whatever the C compiler assumes by itself, on any machine."""

from inarch.machine.architecture import Architecture, Features


def _no_flags(march: str, extras: tuple[str, ...], features: Features) -> list[str]:
    del march, extras, features
    return []


TARGET = Architecture(
    family="generic",
    levels={"generic": frozenset()},
    vector_bytes=lambda _: 16,
    vector_registers=lambda _: 16,
    flags=_no_flags,
)
