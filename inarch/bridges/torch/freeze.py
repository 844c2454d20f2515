"""Parameters as constants of what is compiled where no gradients are recorded: `options={"freeze": True}`.

Weights are then packed once. A parameter that has changed since is refused at the call: another tensor in
its place, and one that was written to, which PyTorch counts. It does not count what is written by `.data`, or
by NumPy, to the same memory.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from inarch.bridges.framework import framework
from inarch.core.errors import InarchWarning
from inarch.frontends.torch.graph import reason_against_tensor


@dataclass
class Frozen:
    """The parameters and buffers of a graph of Dynamo's, by their position among its inputs."""

    count: int
    """Inputs of the graph."""
    tensors: dict[int, Any]
    names: dict[int, str]
    arrays: dict[int, Any]
    """What the tensors hold, as NumPy sees it: AOTAutograd runs where tensors have no numbers."""
    used: dict[int, int] = field(default_factory=dict[int, int])
    """Position of each that is in compiled code -> its version then."""

    def of(self, placeholders: Sequence[Any]) -> dict[Any, int]:
        """Those of AOTAutograd's graph that may be constants, with positions: all that it does not write to.

        Tensors that Dynamo's graph owns come before its inputs.
        """
        before = len(placeholders) - self.count
        context: Any = import_module("torch._guards").TracingContext.try_get()
        if before < 0 or context is None or context.fw_metadata is None:
            return {}
        infos = context.fw_metadata.input_info
        return {
            placeholders[before + at]: at
            for at, tensor in self.tensors.items()
            if tuple(placeholders[before + at].meta["val"].shape) == tuple(tensor.shape)
            and not (infos[before + at].mutates_data or infos[before + at].mutates_metadata)
        }

    def take(self, at: int) -> Any:
        """The numbers of the tensor at a position, which are constants from now on."""
        self.used[at] = self.tensors[at]._version  # noqa: SLF001 - the only counter of writes
        return self.arrays[at]

    def checked(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """`call` that raises RuntimeError where one has changed."""
        kept = [(at, self.tensors[at], version) for at, version in self.used.items()]

        def checking(*inputs: Any) -> Any:
            for at, tensor, version in kept:
                if inputs[at] is not tensor or tensor._version != version:  # noqa: SLF001
                    raise RuntimeError(
                        f"expected the frozen parameter {self.names[at]} as it was compiled, found it "
                        "changed; call torch.compiler.reset() to compile it anew, or leave out freeze"
                    )
            return call(*inputs)

        return checking


def frozen_of(graph: Any, inputs: Sequence[Any]) -> Frozen | None:
    """What of a graph of Dynamo's may be frozen now; None, and a warning, where gradients are recorded."""
    torch = framework("torch")
    if torch.is_grad_enabled() and any(getattr(each, "requires_grad", False) for each in inputs):
        _warn("nothing is frozen where gradients are recorded; call it under torch.no_grad()")
        return None
    placeholders = [node for node in graph.graph.nodes if node.op == "placeholder"]
    names = {
        at: str(node._dynamo_source.name)  # noqa: SLF001 - where the input is from, for messages
        for at, (node, given) in enumerate(zip(placeholders, inputs, strict=True))
        if "_dynamo_static_input_type" in node.meta.get("tensor_dict", {})
        and isinstance(given, torch.Tensor)
        and reason_against_tensor(given) is None
    }
    uncounted = [name for at, name in names.items() if inputs[at].is_inference()]
    if uncounted:
        _warn(
            f"{len(uncounted)} parameters are not frozen, such as {uncounted[0]}: PyTorch does not "
            "count what is written to tensors made under torch.inference_mode()"
        )
    kept = {at: name for at, name in names.items() if not inputs[at].is_inference()}
    tensors = {at: inputs[at] for at in kept}
    arrays = {at: each.detach().contiguous().numpy() for at, each in tensors.items()}
    return Frozen(len(inputs), tensors, kept, arrays)


def _warn(text: str) -> None:
    warnings.warn(InarchWarning(text, where="torch.compile"), stacklevel=2)
