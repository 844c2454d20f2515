"""Kernels that are functions of the registry: called in this process, on views as a program gives them.

They are Python, or C that another party has opened here, so that there are no guard pages and no
sanitizer: the values are checked, the gaps of outputs, and that inputs stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from inarch.core.errors import InarchError
from inarch.core.lazy import Array, np
from inarch.microkernel import Instance
from inarch.runtime.registry import lookup
from inarch.verification.cases.cases import Operand
from inarch.verification.judge import Finding, compare
from inarch.verification.run.script import Call


def registered_function(instance: Instance) -> Callable[..., object] | None:
    """The function of a registered kernel; None for other kernels. Raises UsageError for an unknown name."""
    name = instance.kernel.registered
    return None if name is None else lookup(name)


def run_registered(function: Callable[..., object], calls: Sequence[Call]) -> Finding | None:
    """Makes the calls, and gives the first fault."""
    for number, call in enumerate(calls):
        operands = call.case.operands
        images = [operand.image.copy() for operand in operands]
        views = [_view(o, image) for o, image in zip(operands, images, strict=True)]
        at = call.case.written
        inputs = [view for i, view in enumerate(views) if i != at]
        for view in inputs:
            view.flags.writeable = False
        try:
            with np.errstate(all="ignore"):  # NaN and infinities are among the numbers
                function(*inputs, views[at])
        except InarchError as error:
            return Finding("crash", f"raises {type(error).__name__}: {error.message}", number)
        except Exception as error:  # noqa: BLE001 - somebody's function raises anything
            return Finding("crash", f"raises {type(error).__name__}: {error}", number)
        for operand, image in zip(operands, images, strict=True):
            if operand.access == "read" and image.tobytes() != operand.image.tobytes():
                message = f"wrote to {operand.name}, which is only read"
                return Finding("writes-input", message, number, operand.name)
        found = compare(call.case, images[at], number)
        if found is not None:
            return found
    return None


def _view(operand: Operand, image: Array) -> Array:
    strides = [stride * image.itemsize for stride in operand.strides]
    return np.lib.stride_tricks.as_strided(image, operand.shape, strides)
