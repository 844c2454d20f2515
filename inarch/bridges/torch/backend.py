"""`torch.compile(model, backend="inarch")`: parts of the graph that Inarch takes are compiled by Inarch.

AOTAutograd gives graphs of core ATen, forward and backward. Each node that a converter of
`frontends/torch` takes is Inarch's; neighbouring ones are one part, compiled as a program. The rest stays
PyTorch's, and one warning says what and why; `explain` gives the whole list.
"""

from __future__ import annotations

import operator
import warnings
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from inarch.bridges.framework import framework
from inarch.bridges.torch.decomposed import decompositions
from inarch.bridges.torch.freeze import Frozen, frozen_of
from inarch.core.errors import InarchError, InarchWarning

_MOVES = (
    "aten.view.default",
    "aten.permute.default",
    "aten.expand.default",
    "aten.unsqueeze.default",
    "aten.squeeze.dims",
    "aten.clone.default",
    "aten.alias.default",
    "aten.slice.Tensor",
    "aten.select.int",
    "getitem",
)
"""What computes nothing: a part of such nodes alone, or at its border, is left to PyTorch, as views."""


@dataclass
class Captured:
    """What became of one graph of PyTorch's."""

    kind: str
    """`inference`, `forward` or `backward`."""
    parts: list[list[str]] = field(default_factory=list["list[str]"])
    """The operators of each part that Inarch compiled."""
    left: list[tuple[str, str]] = field(default_factory=list["tuple[str, str]"])
    """Operators that stay in PyTorch, each with the reason."""

    def __str__(self) -> str:
        taken = sum(map(len, self.parts))
        lines = [f"{self.kind}: {taken} of {taken + len(self.left)} ops in {len(self.parts)} parts"]
        for number, part in enumerate(self.parts):
            counts = Counter(part)
            said = ", ".join(f"{op} x{n}" if n > 1 else op for op, n in counts.items())
            lines.append(f"  part {number}: {said}")
        for (op, reason), count in Counter(self.left).items():
            lines.append(f"  torch: {op}{f' x{count}' if count > 1 else ''}: {reason}")
        return "\n".join(lines)


def inarch_backend(graph: Any, inputs: Sequence[Any], **kwargs: Any) -> Any:
    """What `torch.compile` calls for `backend="inarch"`; `options={...}` are those of `inarch.compile`.

    `freeze`: parameters and buffers are constants where no gradients are recorded (`freeze.py`).
    Found by the entry point `inarch` of `torch_dynamo_backends`.
    """
    options: dict[str, Any] = dict(kwargs.get("options") or {})
    frozen = frozen_of(graph, inputs) if options.pop("freeze", False) else None
    call = _backend(options, _warn, frozen)(graph, inputs)
    return call if frozen is None else frozen.checked(call)


def explain(model: Callable[..., Any], *args: Any, **kwargs: Any) -> list[Captured]:
    """The graphs that `torch.compile(model, backend="inarch")` makes of a call, and who gets each op.

    Runs the model on the arguments, and its way back where gradients are recorded; of a model that is
    evaluated (`model.eval()`) only where an input requires one. `print(*explain(model, x))`.
    """
    torch = framework("torch")
    leaves: Any = torch.utils._pytree.tree_leaves  # noqa: SLF001 - there is no public name
    given = [each for each in leaves((args, kwargs)) if isinstance(each, torch.Tensor)]
    is_trained = getattr(model, "training", True) or any(each.requires_grad for each in given)
    found: list[Captured] = []
    torch.compiler.reset()
    compiled = torch.compile(model, backend=_backend({}, found.append), dynamic=False)
    with torch.set_grad_enabled(torch.is_grad_enabled() and is_trained):
        results = leaves(compiled(*args, **kwargs))
    ends = [each for each in results if getattr(each, "grad_fn", None) is not None]
    if ends:
        ones = [torch.ones_like(each) for each in ends]
        torch.autograd.grad(ends, _wanting(ends), ones, allow_unused=True)
    torch.compiler.reset()
    return found


def _wanting(ends: Sequence[Any]) -> list[Any]:
    """The tensors whose gradients `ends` have recorded."""
    left, seen = [each.grad_fn for each in ends], set[Any]()
    found: list[Any] = []
    while left:
        node = left.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            found.append(node.variable)
        left += [following for following, _ in node.next_functions]
    return found


def _warn(captured: Captured) -> None:
    """One warning for a graph that stays in PyTorch in part."""
    if not captured.left:
        return
    counts = Counter(captured.left)
    shown = ", ".join(f"{op} ({reason})" for op, reason in list(counts)[:5])
    more = f" and {len(counts) - 5} more" if len(counts) > 5 else ""
    total = len(captured.left) + sum(map(len, captured.parts))
    warnings.warn(
        InarchWarning(
            f"{len(captured.left)} of {total} ops of the {captured.kind} graph stay in PyTorch: "
            f"{shown}{more}; inarch.bridges.torch.explain(model, ...) lists them",
            where="torch.compile",
        ),
        stacklevel=2,
    )


def _backend(
    options: Mapping[str, Any], tell: Callable[[Captured], None], frozen: Frozen | None = None
) -> Any:
    framework("torch")
    from importlib import import_module

    common: Any = import_module("torch._dynamo.backends.common")

    def compiler(kind: str) -> Callable[[Any, Sequence[Any]], Any]:
        return lambda graph, _inputs: _compiled(graph, Captured(kind), options, tell, frozen)

    return common.aot_autograd(
        fw_compiler=compiler("forward"),
        bw_compiler=compiler("backward"),
        inference_compiler=compiler("inference"),
        decompositions=decompositions(),
    )


def _compiled(
    graph: Any,
    captured: Captured,
    options: Mapping[str, Any],
    tell: Callable[[Captured], None],
    frozen: Frozen | None,
) -> Any:
    """The graph with its parts compiled, as AOTAutograd calls it."""
    from importlib import import_module

    from inarch.dialects import new_context
    from inarch.frontends.torch.graph import operator_name, reason_against

    partitioner: Any = import_module("torch.fx.passes.infra.partitioner")
    context = new_context()
    reasons: dict[Any, str | None] = {
        node: reason_against(node, context)
        for node in graph.graph.nodes
        if node.op == "call_function"
    }

    class _Support:
        """What the partitioner asks."""

        def is_node_supported(self, _modules: object, node: Any) -> bool:
            return node.op == "call_function" and reasons.get(node) is None

    made = partitioner.CapabilityBasedPartitioner(
        graph, _Support(), allows_single_node_partition=True
    )
    placeholders = [node for node in graph.graph.nodes if node.op == "placeholder"]
    known = {} if frozen is None else frozen.of(placeholders)
    proposed = made.propose_partitions()
    for part in proposed:
        _without_moves_at_the_border(part.nodes, known)
    kept = [part for part in proposed if len(part.nodes) > 0]
    inside = {node for part in kept for node in part.nodes}
    for node, reason in reasons.items():
        if node in inside or operator_name(node) == "getitem" or (reason is None and _moves(node)):
            continue
        captured.left.append((operator_name(node), reason or "a part of its own"))
    captured.parts += [
        [name for node in part.nodes if (name := operator_name(node)) != "getitem"] for part in kept
    ]
    positions = {node.name: at for node, at in known.items()}  # fusing makes other nodes
    fused = made.fuse_partitions(kept)
    for node in [each for each in fused.graph.nodes if each.op == "call_module"]:
        if not node.target.startswith("fused_"):
            continue
        part = getattr(fused, node.target)
        constants: dict[str, Any] = {}
        if frozen is not None:
            own = [each.name for each in part.graph.nodes if each.op == "placeholder"]
            given = [positions.get(each.name) for each in node.args]
            pairs = zip(own, given, strict=True)
            constants = {one: frozen.take(at) for one, at in pairs if at is not None}
            node.args = tuple(each for each in node.args if each.name not in positions)
        _place(fused, node.target, _program(part, node.target, options, constants))
    fused.recompile()
    tell(captured)
    return import_module("functorch.compile").make_boxed_func(fused.forward)


def _moves(node: Any) -> bool:
    from inarch.frontends.torch.graph import operator_name

    return operator_name(node) in _MOVES


def _without_moves_at_the_border(nodes: dict[Any, Any], known: Container[Any]) -> None:
    """Takes away nodes that move only, as long as one has no input, or no user, within the part.

    The first stay where the result has gaps, or another order of axes: PyTorch would copy it for the part.
    What is `known` is within: it will be a constant.
    """
    changed = True
    while changed:
        changed = False
        for node in list(nodes):
            if not _moves(node) or node.target is operator.getitem:
                continue
            inputs = node.all_input_nodes
            first = not any(each in nodes or each in known for each in inputs)
            last = not any(each in nodes for each in node.users)
            if last or (first and node.meta["val"].is_contiguous()):
                del nodes[node]
                changed = True


def _place(parent: Any, name: str, call: Callable[..., Any]) -> None:
    torch = framework("torch")

    class Part(torch.nn.Module):  # a module calls its children
        """One part, compiled."""

        def forward(self, *tensors: Any) -> Any:
            return call(*tensors)

    delattr(parent, name)
    parent.add_module(name, Part())


def _program(
    part: Any, name: str, options: Mapping[str, Any], constants: Mapping[str, Any]
) -> Callable[..., Any]:
    """The part compiled by Inarch: a function on tensors, of which `constants` are known."""
    torch = framework("torch")
    from inarch.dialects import new_context
    from inarch.driver.compile import compile as compile_program
    from inarch.frontends.torch.graph import import_graph

    context = new_context()
    module = compile_program(
        import_graph(part, context, name, constants), context=context, **options
    )
    function = module.get_function("main")
    (given,) = next(node for node in part.graph.nodes if node.op == "output").args
    is_single = not isinstance(given, list | tuple)
    nodes: list[Any] = [given] if is_single else list(cast("Sequence[Any]", given))
    metas: list[Any] = [node.meta["val"] for node in nodes]
    shapes: list[tuple[tuple[int, ...], Any]] = [(tuple(meta.shape), meta.dtype) for meta in metas]
    # PyTorch's own order of axes: others may have been compiled for it.
    strides: list[tuple[int, ...] | None] = [
        None if meta.is_contiguous() else tuple(meta.stride()) for meta in metas
    ]

    def call(*tensors: Any) -> Any:
        outputs = [torch.empty(shape, dtype=dtype) for shape, dtype in shapes]
        try:
            # The imaginary part of a conjugate has its sign in a flag.
            function(*(each.detach().resolve_neg().contiguous() for each in tensors), out=outputs)
        except InarchError as error:
            raise RuntimeError(str(error)) from None
        results = [
            each if stride is None else _laid_out(torch, each, stride)
            for each, stride in zip(outputs, strides, strict=True)
        ]
        return results[0] if is_single else tuple(results)

    return call


def _laid_out(torch: Any, tensor: Any, strides: Sequence[int]) -> Any:
    """The same numbers at other strides. An axis of stride 0, as of what was expanded, has one place."""
    made = torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype)
    once = tuple(slice(0, 1) if stride == 0 else slice(None) for stride in strides)
    made[once].copy_(tensor[once])
    return made
