"""The table of microkernels: ours, those of other distributions, and `--load`ed files.

A kernel is a Python module with `MICROKERNEL`, or a C or assembly file that declares itself
(`inarch.microkernel.file`). A distribution names each of its kernels as an entry point:

    [project.entry-points."inarch.microkernels"]
    my-gemm = "my_kernels.my_gemm"      # my_kernels/my_gemm.py, my_gemm.c or my_gemm.S
"""

from __future__ import annotations

from collections.abc import Iterator

from inarch.core.errors import InarchError
from inarch.core.plugins import Extensions
from inarch.machine.target import Target
from inarch.microkernel import Microkernel, check
from inarch.microkernel.file import SUFFIXES, read_kernel_file
from inarch.microkernel.template import Template


def _sound(thing: object, name: str) -> None:
    if not isinstance(thing, Microkernel):
        found = type(thing).__name__
        raise InarchError(f"expected a Microkernel, found {found}", where=f"microkernel '{name}'")
    check(thing, name)


MICROKERNELS: Extensions[Microkernel] = Extensions(
    "inarch.backends.c.microkernels",
    "MICROKERNEL",
    entry_group="inarch.microkernels",
    readers=dict.fromkeys(SUFFIXES, read_kernel_file),
    check=_sound,
)
"""Sound kernels by name. One that is not is an InarchError when its name is asked for."""

TEMPLATES: Extensions[Template] = Extensions(
    "inarch.backends.c.templates", "TEMPLATE", entry_group="inarch.templates"
)
"""What makes kernels for nests that no kernel of the table does, by name."""


def kernels_of(target: Target) -> Iterator[Microkernel]:
    """The sound kernels whose features a target has; `tensorize` says of the others why not."""
    for name in MICROKERNELS:
        try:
            kernel = MICROKERNELS[name]
        except InarchError:
            continue
        if set(kernel.needs) <= target.features:
            yield kernel
