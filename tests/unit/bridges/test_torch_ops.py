"""Operators of core ATen: what is imported means what PyTorch computes. Evaluated by NumPy, without C."""

# PyTorch is untyped where it is not installed:
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportMissingImports=false
from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from inarch.bridges.torch.decomposed import decompositions
from inarch.core.errors import UnsupportedError
from inarch.definitions.execute import execute
from inarch.dialects import new_context
from inarch.frontends.torch.graph import import_graph, reason_against
from inarch.ir.verify import verify_module
from tests.unit.frontends.torch_graphs import recorded

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed: make bridges")
nn: Any = torch.nn
F: Any = nn.functional
flash: Any = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
"""Attention as it is on CPUs; its second result is for the way back."""


def traced(function: Callable[..., Any], inputs: Sequence[Any]) -> Any:
    """The FX graph of core ATen of a call."""
    from torch.fx.experimental.proxy_tensor import make_fx

    def call(*tensors: Any) -> Any:  # some functions hide what they take
        return function(*tensors)

    with torch.no_grad():
        return make_fx(call, decomposition_table=decompositions())(*inputs)


def single(op: str, inputs: Sequence[Any], *settings: Any) -> tuple[Any, Any]:
    """The graph of one operator as it is, on tensors and then settings; and what it gives."""
    space, name, overload = op.split(".")
    called = getattr(getattr(getattr(torch.ops, space), name), overload)
    graph = torch.fx.Graph()
    nodes = [graph.placeholder(f"x{number}") for number in range(len(inputs))]
    made = graph.call_function(called, (*nodes, *settings))
    for node, value in zip((*nodes, made), (*inputs, called(*inputs, *settings)), strict=True):
        node.meta["val"] = value
    graph.output(made)
    return torch.fx.GraphModule(nn.Module(), graph), made.meta["val"]


def check(function: Callable[..., Any], inputs: Sequence[Any], *, atol: float = 1e-5) -> Any:
    """Imports it, evaluates it by definitions, and compares with PyTorch."""
    graph = traced(function, inputs)
    context = new_context()
    module = import_graph(graph, context, "test")
    verify_module(module)
    found = execute(module, [each.numpy() for each in inputs], context)
    with torch.no_grad():
        wanted = function(*inputs)
    wanted = wanted if isinstance(wanted, tuple | list) else [wanted]
    for a, b in zip(found, wanted, strict=True):
        assert a.shape == tuple(b.shape)
        assert str(b.dtype) == f"torch.{a.dtype.name}"
        np.testing.assert_allclose(a, b.numpy(), rtol=1e-5, atol=atol)
    return graph


def _special(*shape: int) -> Any:
    """Numbers of all kinds, NaN and infinities among them."""
    x = torch.randn(shape) * 3
    flat = x.view(-1)
    kinds = [0.0, -0.0, 0.5, 1.5, 2.5, -1.5, float("inf"), -float("inf"), float("nan")]
    flat[: len(kinds)] = torch.tensor(kinds)[: flat.numel()]
    return x


def _random(*shape: int) -> Any:
    return torch.randn(shape)


def X() -> Any:  # noqa: N802
    return _random(3, 4, 5)


UNARY = [
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "erf", "exp", "expm1",
    "floor", "log", "log1p", "neg", "reciprocal", "relu", "round", "rsqrt", "sigmoid", "sin", "sinh", "sqrt",
    "tan", "tanh",
]  # fmt: skip
BINARY = ["add", "sub", "mul", "div", "maximum", "minimum", "eq", "ge", "gt", "le", "lt", "ne"]
LOGICAL = ["logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor"]

CASES: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    **{name: (getattr(torch, name), [_special(4, 5)]) for name in UNARY},
    **{name: (getattr(torch, name), [_special(4, 5), _random(5)]) for name in BINARY},
    **{
        name: (getattr(torch, name), [_random(4, 5) > 0, _random(5) > 0])
        for name in LOGICAL
    },
    "add alpha": (lambda x, y: torch.add(x, y, alpha=3), [X(), X()]),
    "sub alpha": (lambda x, y: torch.sub(x, y, alpha=0.5), [X(), X()]),
    "number first": (lambda x: 1 - x, [X()]),
    "number": (lambda x: (x + 2) * 0.5 / 3 - 1, [X()]),
    "promotion": (lambda x, y: x + y, [X(), torch.arange(5)]),
    "integers divided": (lambda x: x / 2, [torch.arange(6)]),
    "sqrt of integers": (torch.sqrt, [torch.arange(6)]),
    "integers": (lambda x, y: x * y - 3 + (x & y) + (x | y) - (x ^ y) + ~x, [torch.arange(-6, 6)] * 2),
    "logical_not": (torch.logical_not, [_special(4, 5)]),
    "compare a number": (lambda x: (x > 0.5) | (x == -1), [X()]),
    "f64": (lambda x: torch.exp(x) + 1, [X().double()]),
    "pow 2": (lambda x: x**2, [_special(3, 4)]),
    "pow 0.5": (lambda x: x**0.5, [X()]),
    "pow 3": (lambda x: x**3, [X()]),
    "pow of tensors": (torch.pow, [X().abs(), X()]),
    "silu": (F.silu, [X()]),
    "gelu": (F.gelu, [X()]),
    "gelu tanh": (lambda x: F.gelu(x, approximate="tanh"), [X()]),
    "leaky_relu": (lambda x: F.leaky_relu(x, 0.1), [_special(4, 5)]),
    "clamp": (lambda x: torch.clamp(x, -0.5, 1), [_special(4, 5)]),
    "clamp low": (lambda x: torch.clamp(x, min=0.25), [X()]),
    "clamp high": (lambda x: torch.clamp(x, max=0.25), [X()]),
    "relu6": (F.relu6, [_special(4, 5)]),
    "hardswish": (F.hardswish, [X() * 3]),
    "where": (lambda x, y: torch.where(x > y, x, y), [X(), _random(5)]),
    "where number": (lambda x: torch.where(x > 0, x, 0.0), [X()]),
    "to int": (lambda x: x.to(torch.int32), [X() * 5]),
    "to bool": (lambda x: x.bool(), [torch.arange(4)]),
    "view": (lambda x: x.view(4, 15).view(-1), [X().view(4, 3, 5)]),
    "reshape of a transpose": (lambda x: x.transpose(0, 2).reshape(-1), [X()]),
    "permute": (lambda x: x.permute(2, 0, -2), [X()]),
    "squeeze": (lambda x: x.unsqueeze(1).unsqueeze(-1).squeeze(1).squeeze(), [X()]),
    "expand": (lambda x: x.expand(2, 3, -1), [_random(3, 5)]),
    "cat": (lambda x, y: torch.cat([x, y, x], -1), [X(), _random(3, 4, 2)]),
    "stack": (lambda x: torch.stack([x, x * 2], 1), [X()]),
    "slices": (lambda x: x[1:, -3:-1, ::2], [X()]),
    "select": (lambda x: x[:, 2] + x[:, -1], [X()]),
    "split": (lambda x: x.split([1, 3], 1), [X()]),
    "chunk, one used": (lambda x: x.chunk(2, 1)[1] + 1, [X()]),
    "pad": (lambda x: F.pad(x, (1, 2, 0, 3), value=1.5), [X()]),
    "full": (lambda x: x + torch.full((5,), 2.5) + torch.zeros_like(x) + torch.ones(4, 5), [X()]),
    "arange": (lambda x: x * torch.arange(0, 10, 2), [X()]),
    "embedding": (lambda w, i: F.embedding(i, w), [_random(7, 4), torch.tensor([[1, 6], [0, 3]])]),
    "mm": (torch.mm, [_random(3, 4), _random(4, 5)]),
    "bmm": (torch.bmm, [_random(2, 3, 4), _random(2, 4, 5)]),
    "matmul": (torch.matmul, [_random(2, 6, 3, 4), _random(4, 5)]),
    "addmm": (lambda b, x, y: torch.addmm(b, x, y, beta=0.5, alpha=2),
        [_random(5), _random(3, 4), _random(4, 5)]),
    "addmm without": (lambda b, x, y: torch.addmm(b, x, y, beta=0),
        [_random(5), _random(3, 4), _random(4, 5)]),
    "linear": (F.linear, [_random(2, 3, 4), _random(5, 4), _random(5)]),
    "conv2d": (lambda x, w, b: F.conv2d(x, w, b, 2, (1, 0), (1, 2)),
        [_random(2, 3, 9, 8), _random(4, 3, 3, 2), _random(4)]),
    "conv2d of groups": (lambda x, w: F.conv2d(x, w, None, 1, 1, 1, 2),
        [_random(1, 4, 6, 6), _random(6, 2, 3, 3)]),
    "conv1d": (lambda x, w: F.conv1d(x, w, padding=2), [_random(2, 3, 9), _random(4, 3, 3)]),
    "max_pool2d": (lambda x: F.max_pool2d(x, 3, 2, 1), [_random(2, 3, 9, 8)]),
    "max_pool2d ceil": (lambda x: F.max_pool2d(x, (2, 3), ceil_mode=True), [_random(1, 2, 7, 7)]),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 3, 2, 1), [_random(2, 3, 9, 8)]),
    "avg_pool2d ceil": (lambda x: F.avg_pool2d(x, 3, 2, 1, True, False), [_random(2, 3, 8, 8)]),
    "adaptive": (lambda x: F.adaptive_avg_pool2d(x, (2, 4)), [_random(2, 3, 6, 8)]),
    "adaptive one": (lambda x: F.adaptive_avg_pool2d(x, 1), [_random(2, 3, 6, 8)]),
    "mean": (lambda x: (x.mean(), x.mean(1), x.mean((0, -1), True)), [X()]),
    "sum": (lambda x: (x.sum(), x.sum(-1), x.sum((0, 1), True)), [X()]),
    "sum of bools": (lambda x: (x > 0).sum(1), [X()]),
    "amax, amin": (lambda x: (x.amax(1), x.amin((0, 2), True)), [_special(3, 4, 5)]),
    "any": (lambda x: (x > 1).any(1), [X()]),
    "softmax": (lambda x: x.softmax(1), [X()]),
    "log_softmax": (lambda x: x.log_softmax(-1), [X()]),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (4, 5), w, b, 1e-3), [X(), _random(4, 5), _random(4, 5)]),
    "layer_norm alone": (lambda x: F.layer_norm(x, (5,)), [X()]),
    "layer_norm moments": (lambda x: torch.native_layer_norm(x, (5,), None, None, 1e-2), [X()]),
    "batch_norm": (
        lambda x, m, v: torch.ops.aten._native_batch_norm_legit_no_training(
            x, m + 1, m, m, v.abs(), 0.1, 1e-2)[0],
        [_random(2, 3, 4, 4), _random(3), _random(3)]),
    "batch_norm without scale": (
        lambda x, m, v: torch.ops.aten._native_batch_norm_legit_no_training(
            x, None, None, m, v.abs(), 0.1, 1e-3)[0],
        [_random(2, 3, 4), _random(3), _random(3)]),
    "attention": (lambda q: flash(q, q, q + 1)[0], [_random(2, 2, 5, 8)]),
    "attention, causal": (lambda q, k: flash(q, k, k, 0.0, True), [_random(1, 2, 3, 4), _random(1, 2, 5, 4)]),
    "attention, grouped": (lambda q, k: flash(q, k, k), [_random(1, 4, 3, 4), _random(1, 2, 5, 4)]),
    "attention, masked": (lambda q, m: flash(q, q, q, attn_mask=m, scale=0.3),
        [_random(1, 2, 5, 8), torch.zeros(5, 5).masked_fill(torch.ones(5, 5).tril(-1) > 0, -math.inf)]),
    "attention, all of a row masked": (lambda q, m: flash(q, q, q, attn_mask=m),
        [_random(1, 2, 4, 3), torch.zeros(4, 4).masked_fill(torch.ones(4, 4).triu() > 0, -math.inf)]),
    "attention in the library": (lambda q, m: F.scaled_dot_product_attention(q, q, q, m > 0),
        [_random(2, 2, 5, 8), _random(5, 5)]),
}  # fmt: skip

DIRECT: dict[str, tuple[Any, ...]] = {
    "aten.linear.default": ([_random(2, 3), _random(4, 3), _random(4)],),
    "aten.matmul.default": ([_random(2, 3, 4), _random(4, 2)],),
    "aten.reshape.default": ([_random(2, 6)], [3, -1]),
    "aten._unsafe_view.default": ([_random(2, 6)], [3, 4]),
    "aten.t.default": ([_random(2, 3)],),
    "aten.transpose.int": ([_random(2, 3, 4)], 0, -1),
    "aten.squeeze.default": ([_random(1, 3, 1)],),
    "aten.squeeze.dim": ([_random(2, 1, 3)], -2),
    "aten.silu.default": ([_special(4, 5)],),
    "aten.hardtanh.default": ([_special(4, 5)], -0.5, 1.5),
    "aten.sum.default": ([_random(2, 3)],),
    "aten.alias.default": ([_random(3)],),
    "aten.detach.default": ([_random(3)],),
    "aten.lift_fresh_copy.default": ([_random(3)],),
    "aten.eq.Scalar": ([torch.arange(4)], 2),
    "aten.ne.Scalar": ([torch.arange(4)], 2),
    "aten.ge.Scalar": ([_special(12)], 0.5),
    "aten.gt.Scalar": ([_special(12)], 0.5),
    "aten.le.Scalar": ([_special(12)], 0.5),
    "aten.lt.Scalar": ([_special(12)], 0.5),
    "aten.add.Scalar": ([_random(4)], 2, 3),
    "aten.sub.Scalar": ([_random(4)], 2, 0.5),
    "aten.mul.Scalar": ([_random(4)], -1.5),
    "aten.div.Scalar": ([_random(4)], 3),
    "aten.pow.Tensor_Tensor": ([_random(4).abs(), _random(4)],),
}
"""Operators that no decomposition leaves, or that Python writes otherwise: tensors, then settings."""


@pytest.mark.every_case(reason="each is an operator of its own")
@pytest.mark.parametrize("name", CASES)
def test_an_operator_means_what_pytorch_computes(name: str) -> None:
    function, inputs = CASES[name]
    check(function, inputs)


def test_recorded_graphs_are_those_of_this_pytorch() -> None:
    """Of `tests/unit/frontends/test_torch.py`; `python -m tests.unit.bridges.record_torch` makes them."""
    from tests.unit.bridges.record_torch import recordings

    known = recorded()
    found = recordings(known)
    assert list(found) == list(known)
    for name, case in found.items():
        old = known[name]
        assert (name, case.lines, case.refused) == (name, old.lines, old.refused)
        for new, kept in zip(
            (*case.inputs, *case.outputs), (*old.inputs, *old.outputs), strict=True
        ):
            np.testing.assert_allclose(new, kept, rtol=1e-5, atol=1e-6, err_msg=name)


@pytest.mark.every_case(reason="other programs each")
@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed: int) -> None:
    """A dozen operators, each on what is there already, of one shape or its transpose."""
    rng = random.Random(seed)
    torch.manual_seed(seed)
    unary: list[Callable[[Any], Any]] = [
        torch.relu, torch.tanh, torch.sigmoid, lambda x: x.softmax(-1),
        lambda x: F.layer_norm(x, x.shape[-1:]),
        lambda x: x * 0.5 - 1, lambda x: x.mean(0, keepdim=True).expand(x.shape), F.gelu,
        lambda x: x.clamp(-1, 2),
        lambda x: torch.cat([x[:1], x[1:]], 0), lambda x: x.t().contiguous().t(),
        lambda x: x - x.amax(1, True),
        lambda x: x.reshape(-1).view(x.shape), lambda x: torch.where(x > 0, x, x.abs() + 1),
        lambda x: F.pad(x, (1, 0))[:, 1:], lambda x: torch.stack(x.unbind(0)),
    ]  # fmt: skip
    binary: list[Callable[[Any, Any], Any]] = [
        torch.add, torch.mul, torch.maximum, lambda x, y: x @ y.t() @ y, lambda x, y: x / (y.abs() + 1),
    ]  # fmt: skip
    steps: list[tuple[Any, float]] = [
        (rng.choice(unary), rng.random())
        if rng.random() < 0.65
        else (rng.choice(binary), rng.random())
        for _ in range(12)
    ]

    def program(x: Any, y: Any) -> Any:
        values = [x, y]
        for step, place in steps:
            first = values[int(place * len(values))]
            made = step(first) if step in unary else step(first, values[-1])
            values.append(made / (made.abs().amax() + 1))
        return tuple(values[-3:])

    check(program, [_random(3, 4), _random(3, 4)], atol=1e-4)


REFUSED: dict[str, tuple[str, Callable[..., Any], list[Any], str]] = {
    "no converter": ("aten.cumsum.default", lambda x: x.cumsum(0), [X()], "no converter"),
    "another dtype": ("aten.mul.Tensor", lambda x: x * 2, [X().half()], "dtype float16"),
    "where the largest are": (
        "aten.max_pool2d_with_indices.default",
        lambda x: F.max_pool2d_with_indices(x, 2),
        [_random(1, 1, 4, 4)],
        "result 1 of it",
    ),
    "transposed": (
        "aten.convolution.default",
        F.conv_transpose2d,
        [_random(1, 2, 4, 4), _random(2, 3, 3, 3)],
        "transposed",
    ),
}


@pytest.mark.every_case(reason="each is a reason of its own")
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_taken_says_why(name: str) -> None:
    op, function, inputs, reason = REFUSED[name]
    graph = traced(function, inputs)
    context = new_context()
    found = {
        str(node.target): reason_against(node, context)
        for node in graph.graph.nodes
        if node.op == "call_function"
    }
    assert found[op] == reason
    with pytest.raises(UnsupportedError):
        import_graph(graph, context, "test")


def test_the_message_of_an_import() -> None:
    graph = traced(lambda x: x.cumsum(0), [X()])
    with pytest.raises(UnsupportedError) as raised:
        import_graph(graph, new_context(), "test")
    assert str(raised.value) == "torch graph: node 'cumsum': aten.cumsum.default: no converter"
