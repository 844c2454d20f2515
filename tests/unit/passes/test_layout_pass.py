"""Blocked channels: random networks compute what they did before, and read nothing unwritten."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

import inarch
from effort import effort
from inarch.dialects import new_context
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.elementwise.arithmetic import AddOp, MaximumOp, MulOp, SubOp
from inarch.dialects.graph.elementwise.cast import CastOp
from inarch.dialects.graph.elementwise.clip import ClipOp
from inarch.dialects.graph.elementwise.unary import ExpOp, ReluOp, SigmoidOp
from inarch.dialects.graph.layout import layout_of
from inarch.dialects.graph.op import GraphOp, shape_of
from inarch.dialects.graph.reduce import ReduceMaxOp, ReduceMeanOp
from inarch.dialects.graph.relayout import RelayoutOp
from inarch.dialects.graph.shape import ConcatOp, PadOp, SliceOp, TransposeOp
from inarch.dialects.graph.windows.conv import ConvOp
from inarch.dialects.graph.windows.pool import AvgPoolOp, MaxPoolOp
from inarch.dialects.loop.nest import NestOp
from inarch.driver.compiler import import_model
from inarch.ir.context import store_of
from inarch.ir.payload.constants import constant_attribute
from inarch.ir.types import f32, mlir_type, tensor
from inarch.passes.graph.choose_layout import ChooseLayoutPass
from inarch.passes.graph.layout.cost import LayoutPrices
from inarch.pipeline.default import default_pipeline
from inarch.testing import check_semantics, execute
from targets import here

PIPELINE = (
    "choose-layout{always=true},graph-to-loop,drop-unit-iterators,fuse-nests,materialize-padding,"
    "split-padding,schedule-nests,drop-unit-iterators,fold-packs"
)
CHANNELS = (1, 3, 8, 12, 15, 16, 24, 30, 32)
TARGETS = here("x86-64-v2", "x86-64-v3", "x86-64-v4")


@dataclass
class Net:
    """A network under construction; `values` are what later ops can use."""

    choose: random.Random
    context: Context
    block: Block
    values: list[SSAValue] = field(default_factory=list[SSAValue])

    def add(self, op: GraphOp) -> SSAValue:
        self.block.add_op(op)
        return op.results[0]

    def constant(self, *shape: int) -> SSAValue:
        generator = np.random.default_rng(self.choose.randrange(1 << 30))
        array = generator.standard_normal(shape) / np.sqrt(max(1, np.prod(shape[1:])))
        store = store_of(self.context)
        return self.add(
            ConstantOp.make(value=constant_attribute(array.astype(np.float32), store, "c"))
        )

    def channels(self) -> int:
        return self.choose.choice(CHANNELS)


Step = Callable[[Net, SSAValue], SSAValue]


def _conv(net: Net, x: SSAValue, groups: int = 1, outputs: int = 0) -> SSAValue:
    _, channels, height, width = shape_of(x)
    size = net.choose.choice([k for k in (1, 2, 3) if k <= min(height, width)])
    pads = [net.choose.randrange(2) for _ in range(4)]
    outputs = outputs or net.channels()
    w = net.constant(outputs, channels // groups, size, size)
    bias = [net.constant(outputs)] if net.choose.random() < 0.5 else []
    strides = [net.choose.choice((1, 1, 2)) for _ in range(2)]
    return net.add(ConvOp.make(x, w, *bias, strides=strides, pads=pads, groups=groups))


def _depthwise(net: Net, x: SSAValue) -> SSAValue:
    return _conv(net, x, shape_of(x)[1], shape_of(x)[1])


def _grouped(net: Net, x: SSAValue) -> SSAValue:
    groups = 2 if shape_of(x)[1] % 2 == 0 else 1
    return _conv(net, x, groups, 16)


def _pool(net: Net, x: SSAValue) -> SSAValue:
    kind = net.choose.choice((MaxPoolOp, AvgPoolOp))
    size = min(2, *shape_of(x)[2:])
    stride = net.choose.choice((1, 2))
    pads = [net.choose.randrange(2) if size == 2 else 0 for _ in range(4)]
    ceil = net.choose.random() < 0.3
    window = [size, size]
    return net.add(kind.make(x, window=window, strides=[stride] * 2, pads=pads, ceil_mode=ceil))


def _unary(net: Net, x: SSAValue) -> SSAValue:
    made = net.choose.choice(
        [
            ReluOp.make(x),
            SigmoidOp.make(x),
            ClipOp.make(x, low=0.0, high=6.0),
            ClipOp.make(x, low=0.5),
            ExpOp.make(x),
        ]
    )
    return net.add(made)


def _quantized(net: Net, x: SSAValue) -> SSAValue:
    """There and back: what is between has the blocks, too."""
    whole = net.add(CastOp.make(x, to=mlir_type(net.choose.choice(("i8", "ui8", "i32")))))
    return net.add(CastOp.make(whole, to=f32))


def _per_channel(net: Net, x: SSAValue) -> SSAValue:
    """With a constant of each channel, of one number, or of a row."""
    _, channels, _, width = shape_of(x)
    shape = net.choose.choice([(1, channels, 1, 1), (channels, 1, 1), (1,), (width,)])
    kind = net.choose.choice((AddOp, MulOp, SubOp, MaximumOp))
    return net.add(kind.make(x, net.constant(*shape)))


def _with_another(net: Net, x: SSAValue) -> SSAValue:
    same = [value for value in net.values if shape_of(value) == shape_of(x)]
    return net.add(net.choose.choice((AddOp, MulOp)).make(x, net.choose.choice(same)))


def _gate(net: Net, x: SSAValue) -> SSAValue:
    """Squeeze and excite, without the middle."""
    mean = net.add(ReduceMeanOp.make(x, axes=[2, 3], keepdims=True))
    return net.add(MulOp.make(x, net.add(SigmoidOp.make(mean))))


def _concat(net: Net, x: SSAValue) -> SSAValue:
    size = (shape_of(x)[0], *shape_of(x)[2:])
    same = [v for v in net.values if (shape_of(v)[0], *shape_of(v)[2:]) == size]
    if shape_of(x)[1] > max(CHANNELS):
        return x
    return net.add(ConcatOp.make(x, net.choose.choice(same), axis=1))


def _pad(net: Net, x: SSAValue) -> SSAValue:
    low = [0, net.choose.choice((0, 16)), *(net.choose.randrange(2) for _ in range(2))]
    if shape_of(x)[1] > max(CHANNELS):
        low[1] = 0
    value = net.choose.choice((0.0, 1.5))
    return net.add(PadOp.make(x, low=low, high=[0, 0, 1, 0], value=value))


def _slice(net: Net, x: SSAValue) -> SSAValue:
    _, channels, height, width = shape_of(x)
    first = net.choose.choice([c for c in (0, 1, 16) if c < channels])
    sizes = [shape_of(x)[0], channels - first, height, (width + 1) // 2]
    return net.add(SliceOp.make(x, starts=[0, first, 0, 0], sizes=sizes, steps=[1, 1, 1, 2]))


def _transpose(net: Net, x: SSAValue) -> SSAValue:
    return net.add(TransposeOp.make(x, perm=[0, 1, 3, 2]))


STEPS: tuple[Step, ...] = (
    *(_conv,) * 4,
    *(_unary,) * 2,
    *(
        _quantized,
        _depthwise,
        _grouped,
        _pool,
        _per_channel,
        _with_another,
        _gate,
        _concat,
        _pad,
        _slice,
    ),
    _transpose,
)


def network(choose: random.Random, target: str, steps: int) -> tuple[Context, ModuleOp]:
    """A random network of convolutions and what stands around them, on a small image."""
    context = new_context()
    shape = (
        choose.choice((1, 1, 2)),
        choose.choice(CHANNELS),
        choose.randint(3, 7),
        choose.randint(3, 7),
    )
    block = Block(arg_types=[tensor(f32, shape)])
    net = Net(choose, context, block, [block.args[0]])
    x: SSAValue = block.args[0]
    for _ in range(steps):
        x = choose.choice(STEPS)(net, x)
        net.values.append(x)
    outputs = [x, choose.choice(net.values)]
    if choose.random() < 0.5:
        outputs[0] = net.add(choose.choice((ReduceMeanOp, ReduceMaxOp)).make(x, axes=[2, 3]))
    block.add_op(ReturnOp(*outputs))
    kind = FunctionType.from_lists([block.args[0].type], [value.type for value in outputs])
    module = ModuleOp([FuncOp("main", kind, Region(block))])
    module.attributes["inarch.target"] = StringAttr(target)
    return context, module


def _check(choose: random.Random, target: str, steps: int) -> None:
    context, module = network(choose, target, steps)
    check_semantics(module, pipeline=PIPELINE, ctx=context, compiled=True)


@settings(max_examples=effort(3, 8), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.randoms(use_true_random=False), st.sampled_from(TARGETS), st.integers(2, 8))
def test_networks(choose: random.Random, target: str, steps: int) -> None:
    """Blocked channels change nothing but how tensors lie in memory."""
    _check(choose, target, steps)


@pytest.mark.fuzz
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.randoms(use_true_random=False), st.sampled_from(TARGETS), st.integers(1, 14))
def test_many_networks(choose: random.Random, target: str, steps: int) -> None:
    _check(choose, target, steps)


@settings(max_examples=effort(12, 40), deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 14))
def test_relayouts_are_not_undone_or_repeated(choose: random.Random, steps: int) -> None:
    context, module = network(choose, "x86-64-v2", steps)
    before = [value.type for value in _return(module).operands]
    ChooseLayoutPass(always=True).apply(context, module)
    module.verify()
    relayouts = [op for op in module.walk() if isinstance(op, RelayoutOp)]
    assert all(layout_of(op.x) != layout_of(op.out) for op in relayouts)
    assert not any(isinstance(op.x.owner, RelayoutOp | ConstantOp) for op in relayouts)
    assert len({(op.x, layout_of(op.out)) for op in relayouts}) == len(relayouts)
    assert [value.type for value in _return(module).operands] == before


def _return(module: ModuleOp) -> ReturnOp:
    return next(op for op in module.walk() if isinstance(op, ReturnOp))


def test_memory_is_shared_and_rewritten(monkeypatch: pytest.MonkeyPatch) -> None:
    """A whole program, whose buffers share memory: a run after one full of NaN is as the first.

    Channels are filled up and images have halos, which must be zero again in the second run.
    """
    monkeypatch.setattr(LayoutPrices, "_pays", lambda *_: True)
    target = here("x86-64-v2", "x86-64-v3")[-1]
    x = np.random.default_rng(3).standard_normal((1, 30, 9, 9)).astype(np.float32)
    context, module = _padded_network(target)
    (expected,) = execute(module, [x], context)
    main = inarch.compile(module, context=context, target=target)["main"]
    main(np.full_like(x, np.nan))
    np.testing.assert_allclose(main(x), expected, rtol=1e-4, atol=1e-4)


def _padded_network(target: str) -> tuple[Context, ModuleOp]:
    """Padded windows over channels that no vector divides."""
    context, block = new_context(), Block(arg_types=[tensor(f32, (1, 30, 9, 9))])
    net = Net(random.Random(5), context, block)
    pads, same = [1, 1, 1, 1], [3, 3]
    x = block.args[0]
    first = net.add(ReluOp.make(net.add(ConvOp.make(x, net.constant(15, 30, 3, 3), pads=pads))))
    pooled = net.add(MaxPoolOp.make(first, window=same, strides=[2, 2], pads=pads))
    deep = net.add(ConvOp.make(pooled, net.constant(15, 1, 3, 3), pads=pads, groups=15))
    summed = net.add(AddOp.make(deep, pooled))
    mean = net.add(AvgPoolOp.make(summed, window=same, pads=pads))
    last = net.add(ConvOp.make(mean, net.constant(12, 15, 5, 3), pads=[2, 1, 2, 1]))
    block.add_op(ReturnOp(net.add(ReduceMeanOp.make(last, axes=[2, 3]))))
    kind = FunctionType.from_lists([x.type], [tensor(f32, (1, 12))])
    module = ModuleOp([FuncOp("main", kind, Region(block))])
    module.attributes["inarch.target"] = StringAttr(target)
    return context, module


@pytest.mark.slow
@pytest.mark.sampled(3, reason="each target and model once; whole networks take 10 s each")
@pytest.mark.parametrize("name", ["resnet50", "mobilenetv2"])
@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4", "aarch64"])
def test_image_models_have_no_relayout(name: str, target: str, tmp_path: Path) -> None:
    """From the first convolution to the last pool all is blocked, and as much is fused as before."""
    path = tmp_path / "model.onnx"
    script = Path(__file__).parents[3] / "benchmarks" / "models" / f"{name}.py"
    subprocess.run([sys.executable, str(script), str(path)], check=True)
    counts: list[int] = []
    blocked = default_pipeline().until("loop").without("choose-algorithm")
    for passes in (blocked, blocked.without("choose-layout")):
        context = new_context()
        module = import_model(str(path), context, target=target)
        for step in passes:
            step.apply(context, module)
            assert not any(isinstance(op, RelayoutOp) for op in module.walk())
        counts.append(sum(1 for op in module.walk() if isinstance(op, NestOp) and op.ins))
    assert counts[0] <= counts[1]
