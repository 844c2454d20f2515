"""Arm's 64-bit architecture (A64), from Armv8-A on."""

from inarch.machine.architecture import Architecture

TARGET = Architecture(
    family="aarch64",
    levels={"aarch64": frozenset({"neon"})},
    vector_bytes=lambda _: 16,
    vector_registers=lambda _: 32,
    flags=lambda _, extras, __: ["-march=" + "+".join(("armv8-a", *extras))],
    machines=("aarch64", "arm64"),
    machine="neoverse-n1",
    features=frozenset({"dotprod", "fp16", "bf16", "i8mm", "sve", "sve2"}),
    extras=("dotprod", "fp16", "bf16", "i8mm", "sve", "sve2"),
    cpuinfo="Features",
    linux_names={"asimd": "neon", "asimddp": "dotprod", "asimdhp": "fp16"},
    always=frozenset({"neon"}),
    cross=("aarch64-linux-gnu-gcc",),
)
