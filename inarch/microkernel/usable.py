"""Whether a microkernel can be built here: its C compiles, its library is there and has the symbol."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from inarch.core.errors import InarchError
from inarch.core.scratch import scratch
from inarch.machine.target import Target
from inarch.machine.toolchain import CompilerError, compile_library
from inarch.microkernel import Instance, instance_source
from inarch.microkernel.code import KernelCode, instance_code, link_libraries
from inarch.microkernel.errors import kernel_error
from inarch.microkernel.table import MICROKERNELS

_UNIT = "kernel.c"
_HEADERS = (("stdint",), ("math", "stdarg", "stddef", "stdint", "stdio", "stdlib"))
"""Before the kernel in its unit: the least, and all of the amalgamation, whose names it must not take."""

Usable = Callable[[Instance], str | None]
"""An instance -> None, or in one line why it cannot be built."""


def usable_for(target: Target) -> Usable:
    """The predicate for `target`; each instance is tried once, and successes are kept in the cache.

    Our own kernels are covered by the tests, and taken without a trial.
    """
    found: dict[tuple[str, str], str | None] = {}

    def usable(instance: Instance) -> str | None:
        key = (instance.name, instance.symbol)
        if key not in found:
            is_own = (origin(instance) or "").startswith(f"{MICROKERNELS.group}.")
            found[key] = None if is_own else reason(instance, target)
        return found[key]

    return usable


def reason(instance: Instance, target: Target) -> str | None:
    """Why `instance` cannot be built for `target`: one line, located at its kernel; None when it can.

    A compiler that is not there is not the kernel's fault: EnvironmentFault passes.
    """
    try:
        code = instance_code(instance, origin(instance))
        if missing := sorted(set(code.needs) - target.features):
            needed = ", ".join(missing)
            raise InarchError(f"needs {needed}, which target '{target}' has not", where=code.label)
        if instance.kernel.registered is None:
            _build(instance, code, target)
    except InarchError as error:
        return str(error)
    return None


def _build(instance: Instance, code: KernelCode, target: Target) -> None:
    linked = link_libraries([code], target)
    source = f"{line_directive(instance)}{instance_source(instance)}\n"
    for headers in _HEADERS:
        included = "".join(f"#include <{header}.h>\n" for header in headers)
        _compile_alone(included + source, code, linked.libraries, target)


def _compile_alone(source: str, code: KernelCode, libraries: Sequence[str], target: Target) -> None:
    with scratch("inarch-kernel-") as folder:
        try:
            compile_library(
                {_UNIT: source},
                folder / "kernel.so",
                target=target,
                unit_flags={_UNIT: code.flags},
                libraries=libraries,
            )
        except CompilerError as error:
            raise kernel_error(error, {_UNIT: [code]}) from error


def origin(instance: Instance) -> str | None:
    """The file or module that the kernel comes from; None for one that is not in the table."""
    if instance.name not in MICROKERNELS:
        return None
    return MICROKERNELS.origin(instance.name).source


def line_directive(instance: Instance) -> str:
    """A `#line` by which the compiler's complaints are about the kernel's file, if its C is in one."""
    source, text = origin(instance), instance.kernel.c
    if source is None or text is None or not Path(source).is_file():
        return ""
    content = Path(source).read_text(errors="replace")
    start = content.find(text)
    if (
        Path(source).suffix == ".c"
    ):  # the text is the file without its declaration, which comes first
        number = content.count("\n") - text.count("\n") + 1
    elif start >= 0:
        number = content.count("\n", 0, start) + 1
    else:  # the text was put together, or has escapes
        return ""
    return f'#line {number} "{Path(source).name}"\n'
