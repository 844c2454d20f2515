"""A detector on a backend of convolutions alone: its cost cuts what crosses boundaries and keeps the work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from inarch.backends import BACKENDS, Backend, Emission, EmitRequest
from inarch.dialects import new_context
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.elementwise.arithmetic import AddOp, MulOp
from inarch.dialects.graph.elementwise.unary import SigmoidOp
from inarch.dialects.graph.gather import GatherOp
from inarch.dialects.graph.op import shape_of
from inarch.dialects.graph.shape import ConcatOp, SliceOp
from inarch.dialects.graph.windows.conv import ConvOp
from inarch.dialects.graph.windows.pool import MaxPoolOp
from inarch.ir.context import store_of
from inarch.ir.payload.constants import constant_attribute
from inarch.ir.target import set_target
from inarch.ir.verify import verify_module
from inarch.offload.region import Region
from inarch.passes.partitioning import PartitionReport, explain


@dataclass
class Detector:
    """YOLOv8n at 320 x 320: C2f blocks of splits, convolutions and SiLU, a neck, three heads.

    After Ultralytics YOLOv8 (2023): widths 16 to 256, depths 1, 2, 2, 1. Weights are all alike.
    """

    context: Context
    block: Block
    weights: dict[tuple[int, ...], SSAValue] = field(
        default_factory=dict[tuple[int, ...], SSAValue]
    )

    def add(self, op: Operation) -> SSAValue:
        self.block.add_op(op)
        return op.results[0]

    def weight(self, *shape: int) -> SSAValue:
        array = np.full(shape, 0.01, np.float32)
        value = constant_attribute(array, store_of(self.context), "w")
        return self.add(ConstantOp.make(value=value))

    def conv(
        self, x: SSAValue, channels: int, size: int, stride: int = 1, *, silu: bool = True
    ) -> SSAValue:
        pad = size // 2
        y = self.add(
            ConvOp.make(
                x,
                self.weight(channels, shape_of(x)[1], size, size),
                strides=[stride, stride],
                pads=[pad] * 4,
                dilations=[1, 1],
                groups=1,
            )
        )
        return self.add(MulOp.make(y, self.add(SigmoidOp.make(y)))) if silu else y

    def concat(self, *parts: SSAValue) -> SSAValue:
        return self.add(ConcatOp.make(*parts, axis=1))

    def c2f(self, x: SSAValue, channels: int, depth: int, *, adds: bool = True) -> SSAValue:
        y, half = self.conv(x, channels, 1), channels // 2
        n, _, h, w = shape_of(y)
        cut: dict[str, Any] = {"sizes": [n, half, h, w], "steps": [1] * 4}
        parts = [self.add(SliceOp.make(y, starts=[0, start, 0, 0], **cut)) for start in (0, half)]
        for _ in range(depth):
            inner = self.conv(self.conv(parts[-1], half, 3), half, 3)
            parts.append(self.add(AddOp.make(parts[-1], inner)) if adds else inner)
        return self.conv(self.concat(*parts), channels, 1)

    def sppf(self, x: SSAValue) -> SSAValue:
        """Pools of 5, 9 and 13."""
        parts = [self.conv(x, shape_of(x)[1] // 2, 1)]
        for _ in range(3):
            one: dict[str, Any] = {"strides": [1, 1], "dilations": [1, 1]}
            parts.append(self.add(MaxPoolOp.make(parts[-1], window=[5, 5], pads=[2] * 4, **one)))
        return self.conv(self.concat(*parts), shape_of(x)[1], 1)

    def twice(self, x: SSAValue) -> SSAValue:
        """Nearest neighbours."""
        for axis in (2, 3):
            index = np.arange(2 * shape_of(x)[axis], dtype=np.int64) // 2
            value = constant_attribute(index, store_of(self.context), "i")
            x = self.add(GatherOp.make(x, self.add(ConstantOp.make(value=value)), axis=axis))
        return x

    def network(self, x: SSAValue) -> list[SSAValue]:
        x = self.c2f(self.conv(self.conv(x, 16, 3, 2), 32, 3, 2), 32, 1)
        third = self.c2f(self.conv(x, 64, 3, 2), 64, 2)
        fourth = self.c2f(self.conv(third, 128, 3, 2), 128, 2)
        fifth = self.sppf(self.c2f(self.conv(fourth, 256, 3, 2), 256, 1))
        up = self.c2f(self.concat(self.twice(fifth), fourth), 128, 1, adds=False)
        small = self.c2f(self.concat(self.twice(up), third), 64, 1, adds=False)
        middle = self.concat(self.conv(small, 64, 3, 2), up)
        middle = self.c2f(middle, 128, 1, adds=False)
        large = self.c2f(self.concat(self.conv(middle, 128, 3, 2), fifth), 256, 1, adds=False)
        return [self.head(each) for each in (small, middle, large)]

    def head(self, x: SSAValue) -> SSAValue:
        """Boxes and classes."""
        sides = [
            self.conv(self.conv(self.conv(x, width, 3), width, 3), out, 1, silu=False)
            for width, out in ((64, 64), (80, 18))
        ]
        return self.concat(*sides)


def detector() -> tuple[Context, ModuleOp]:
    context = new_context()
    image = TensorType(f32, [1, 3, 320, 320])
    function = FuncOp("main", ([image], []))
    made = Detector(context, function.body.block)
    outputs = made.network(function.body.block.args[0])
    function.body.block.add_op(ReturnOp(*outputs))
    function.update_function_type()
    module = ModuleOp([function])
    set_target(module, "x86-64-v3")
    verify_module(module)
    return context, module


def emit(request: EmitRequest) -> Emission:
    return Emission("c", request.names())


def behind_a_bus(region: Region) -> float:
    """20 us a call, 1.5 GB/s, 10^12 multiply-adds a second."""
    moved = region.bytes_in + region.bytes_out
    return 20e-6 + moved / 1.5e9 + region.multiply_adds / 1e12


@pytest.fixture(autouse=True)
def _registry() -> Iterator[None]:
    with BACKENDS.scope():
        BACKENDS.register(Backend("all", "takes all", emit, ops=("conv",)))
        BACKENDS.register(Backend("weighed", "", emit, ops=("conv",), cost=behind_a_bus))
        yield


def work(report: PartitionReport) -> int:
    return sum(one.multiply_adds for one in report.traffic)


def test_the_cost_of_a_backend_cuts_the_traffic_of_a_detector() -> None:
    """A third of the bytes at most, with a third of the multiply-adds at least; each region wins."""
    context, module = detector()
    reports: Sequence[PartitionReport] = [
        explain(context, module, (name,)) for name in ("all", "weighed")
    ]
    before, after = reports
    assert len(before.traffic) > 50
    assert 0.8e9 < work(before) < 1.3e9
    assert after.bytes_across <= before.bytes_across / 3
    assert work(after) >= work(before) / 3
    for one in after.traffic:
        assert one.seconds is not None
        assert one.host_seconds is not None
        assert one.seconds <= one.host_seconds
    gone = [op for op in after.ops if op.op == "graph.conv" and op.owner == "host"]
    assert len(gone) + len(after.owned_by("weighed")) == len(before.owned_by("all"))
    assert all(op.reasons["weighed"].startswith("its region takes ") for op in gone)
