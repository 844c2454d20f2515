"""Which operators of PyTorch are decomposed before Inarch sees them: core ATen's, but where gradients forbid.

An operator of several results makes some of them for its own way back. Where that is no decomposition but a
kernel of PyTorch's, it knows them as PyTorch's own kernel makes them; a decomposition need not: that of
attention gives its probabilities where the kernel of the way back reads a logsumexp.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def decompositions() -> Mapping[Any, Callable[..., Any]]:
    """From an operator's overload to what stands for it, as `aot_autograd` takes it."""
    core: Mapping[Any, Any] = import_module("torch._decomp").core_aten_decompositions()
    return {op: made for op, made in core.items() if not _has_kernel_of_the_way_back(op, core)}


def _has_kernel_of_the_way_back(op: Any, decomposed: Mapping[Any, Any]) -> bool:
    """Whether `op` has several results, and `<op>_backward` is there and stays as it is."""
    if len(op._schema.returns) < 2:  # noqa: SLF001 - no public name; it has been there since 1.5
        return False
    space, _, name = op._schema.name.partition("::")  # noqa: SLF001
    torch = import_module("torch")
    back = getattr(getattr(torch.ops, space), f"{name}_backward", None)
    return back is not None and not any(
        getattr(back, overload) in decomposed for overload in back.overloads()
    )
