"""`graph.conv`: convolution of any spatial rank."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, TensorType
from xdsl.ir import Attribute
from xdsl.irdl import operand_def, opt_operand_def, opt_prop_def, prop_def, result_def

from inarch.core.lazy import np
from inarch.dialects.graph.factors import check_factors, factors
from inarch.dialects.graph.op import (
    Array,
    StructuredOp,
    Tensor,
    as_attribute,
    element_of,
    ints,
    shape_of,
)
from inarch.dialects.graph.windows import Window
from inarch.dialects.nest_spec import (
    NestBuilder,
    NestSpec,
    add_bias,
    multiply_add,
    multiply_add_biased,
)
from inarch.ir.op import op_definition
from inarch.ir.require import require
from inarch.ir.types import i64, tensor


@op_definition
class ConvOp(StructuredOp):
    """`out[n, oc, o..] = bias[oc] + sum over ic, k.. of x[n, g * ICg + ic, p..] * w[oc, ic, k..]`.

    `p = o * stride + k * dilation - begin` in each spatial dimension, and x is 0 outside; there are
    `floor((size + begin + end - (k - 1) * dilation - 1) / stride) + 1` outputs. x is [N, IC, S..],
    w is [OC, ICg, K..] with `ICg = IC / groups`, bias is [OC]; `g = oc / (OC / groups)` is its
    group. `pads` are the begins, then the ends. (Like ONNX, this correlates: the kernel is not
    flipped.) Integers wrap. With `to`, x and w are narrow numbers, whose products are summed up in it.

    C1: operands have one dtype, not bool; with `to` = i32 x and w are each i8, ui8, i16 or ui16, with `to` =
    f32 each f32 or computed with in it, and bias is of `to`. C2: x and w have one rank, 3 or more. C3: every
    spatial dimension has one window size, stride and dilation >= 1 and two pads >= 0. C4: groups >= 1
    divides IC and OC, and w has IC / groups input channels. C5: bias has shape [OC]. C6: the (dilated) kernel
    fits into the padded input.
    """

    x = operand_def(TensorType)
    w = operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    strides = prop_def(DenseArrayBase.constr(i64))
    pads = prop_def(DenseArrayBase.constr(i64))
    dilations = prop_def(DenseArrayBase.constr(i64))
    groups = prop_def(IntegerAttr.constr(type=i64))
    to = opt_prop_def(Attribute)
    out = result_def(TensorType)

    def add_defaults(self) -> None:
        """In `make`: stride 1, no padding, dilation 1, one group."""
        rank = max(0, len(shape_of(self.x)) - 2)
        self.properties = {
            "strides": as_attribute([1] * rank),
            "pads": as_attribute([0] * 2 * rank),
            "dilations": as_attribute([1] * rank),
            "groups": as_attribute(1),
            **self.properties,
        }

    def window(self) -> Window:
        """The kernel as a sliding window."""
        return Window(
            shape_of(self.w)[2:], ints(self.strides), ints(self.pads), ints(self.dilations)
        )

    def takes_stored(self) -> bool:
        return self.to is not None

    def check(self) -> None:
        check_factors("C1", self.x, self.w, [] if self.bias is None else [self.bias], self.to)
        x, w = shape_of(self.x), shape_of(self.w)
        ranks = len(x) == len(w) >= 3
        require(ranks, "C2", f"expected one rank of 3 or more, found shapes {x} and {w}")
        self.window().check(x[2:], "C3", "C6")
        groups = self.groups.value.data
        fit = groups >= 1 and w[0] % groups == 0 and x[1] == groups * w[1]
        message = f"{x[1]} channels and weights of shape {w} do not make {groups} groups"
        require(fit, "C4", message)
        if self.bias is not None:
            bias = shape_of(self.bias)
            require(bias == (w[0],), "C5", f"expected a bias of shape ({w[0]},), found {bias}")

    def reference_points(self) -> int:
        x, w, window = shape_of(self.x), shape_of(self.w), self.window()
        return x[0] * w[0] * w[1] * window.points(x[2:], window.outputs(x[2:]))

    def infer(self) -> Sequence[Tensor]:
        x, w = shape_of(self.x), shape_of(self.w)
        shape = (x[0], w[0], *self.window().outputs(x[2:]))
        return [tensor(self.to or element_of(self.x), shape)]

    def nest(self) -> NestSpec:
        x, w, window, groups = shape_of(self.x), shape_of(self.w), self.window(), self._groups()
        builder = NestBuilder()
        n = builder.parallel("n", x[0])
        g = builder.parallel("g", groups) if groups > 1 else None
        oc = builder.parallel("oc", w[0] // groups)
        outputs = window.outputs(x[2:])
        o, tap_names = window.iterators(builder, outputs)
        ic = builder.reduction("ic", w[1])
        k = [builder.reduction(*tap) for tap in zip(tap_names, window.sizes, strict=True)]
        channel = ic if g is None else g * w[1] + ic
        out_channel = oc if g is None else g * (w[0] // groups) + oc
        reads = [(n, channel, *window.positions(o, k)), (out_channel, ic, *k)]
        pads = [0 if window.overruns(x[2:], outputs) else None, None]
        write = (n, out_channel, *o)
        if self.bias is None:
            return builder.spec(reads, write, multiply_add, init=0, pads=pads)
        return builder.spec(
            [*reads, (out_channel,)],
            write,
            multiply_add_biased,
            init=0,
            pads=[*pads, None],
            finish=add_bias,
        )

    def reference(self, x: Array, w: Array, bias: Array | None = None) -> Array:
        groups, window = self._groups(), self.window()
        x, w = factors(self.to, x, w)
        outputs = window.outputs(x.shape[2:])
        batch, per_group = x.shape[0], w.shape[0] // groups
        count = math.prod(outputs)
        total = np.zeros((batch, groups, per_group, count), x.dtype)
        for tap, elements in window.views(x, outputs, 0):
            columns = elements.reshape(batch, groups, w.shape[1], count)
            total += w[(..., *tap)].reshape(groups, per_group, w.shape[1]) @ columns
        if bias is not None:
            total += bias.reshape(groups, per_group, 1)
        return total.reshape(batch, w.shape[0], *outputs)

    def _groups(self) -> int:
        return self.groups.value.data
