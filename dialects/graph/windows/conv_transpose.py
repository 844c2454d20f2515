"""`graph.conv_transpose`: transposed convolution of any spatial rank, one nest for each phase."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, opt_operand_def, prop_def, result_def

from inarch.core.lazy import np
from inarch.dialects.graph.op import (
    Array,
    GraphOp,
    Tensor,
    as_attribute,
    element_of,
    ints,
    shape_of,
    tensor_dtype,
)
from inarch.dialects.graph.windows import Window
from inarch.dialects.graph.windows.phase import Phase, Sizes, empty_nest, phases, sum_nest
from inarch.dialects.nest_spec import NestSpec
from inarch.ir.op import op_definition
from inarch.ir.require import require
from inarch.ir.types import i64, tensor

MAX_PHASES = 64
"""Each is a nest; strides of 8 in two dimensions, as segmentation networks have them, of 4 in three."""


@op_definition
class ConvTransposeOp(GraphOp):
    """`out[n, oc, o..] = bias[oc] + sum over c of group g, k.. of x[n, c, i..] * w[c, oc - g * OCg, k..]`.

    The sum is over the taps k for which `i = (o + begin - k * dilation) / stride` is whole in each spatial
    dimension, and x is 0 outside; there are `(size - 1) * stride + (k - 1) * dilation + 1 + output_padding -
    begin - end` outputs. x is [N, IC, S..], w is [IC, OCg, K..], bias is [OC] with `OC = groups * OCg`; `g =
    oc / OCg` is the group of an output, which has the IC / groups channels c from `g * IC / groups` on.
    `pads`, the begins, then the ends, cut the result. (As in ONNX: the gradient of graph.conv by its input.)
    Integers wrap.

    C1: operands have one dtype, not bool. C2: x and w have one rank, 3 or more. C3: every spatial
    dimension has one window size, stride and dilation >= 1, two pads and an output padding >= 0. C4: groups
    >= 1 divides IC, and w has IC input channels. C5: bias has shape [OC]. C6: pads leave an output. C7: x
    has an element. C8: the product of the strides, as far as there are outputs, is at most 64.
    """

    TAKES_LAYOUTS: ClassVar[bool] = True
    x = operand_def(TensorType)
    w = operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    strides = prop_def(DenseArrayBase.constr(i64))
    pads = prop_def(DenseArrayBase.constr(i64))
    output_padding = prop_def(DenseArrayBase.constr(i64))
    dilations = prop_def(DenseArrayBase.constr(i64))
    groups = prop_def(IntegerAttr.constr(type=i64))
    out = result_def(TensorType)

    def add_defaults(self) -> None:
        """In `make`: stride 1, no padding, dilation 1, one group."""
        rank = max(0, len(shape_of(self.x)) - 2)
        self.properties = {
            "strides": as_attribute([1] * rank),
            "pads": as_attribute([0] * 2 * rank),
            "output_padding": as_attribute([0] * rank),
            "dilations": as_attribute([1] * rank),
            "groups": as_attribute(1),
            **self.properties,
        }

    def check(self) -> None:
        dtypes = sorted({tensor_dtype(operand).name for operand in self.operands})
        one = len(dtypes) == 1 and dtypes != ["i1"]
        require(one, "C1", f"expected one dtype that is not bool, found {', '.join(dtypes)}")
        x, w = shape_of(self.x), shape_of(self.w)
        ranks = len(x) == len(w) >= 3
        require(ranks, "C2", f"expected one rank of 3 or more, found shapes {x} and {w}")
        extra = ints(self.output_padding)
        window = Window(w[2:], ints(self.strides), ints(self.pads), ints(self.dilations))
        window.check_numbers("C3", len(x) - 2)
        good = len(extra) == len(x) - 2 and 0 <= min(extra) <= max(extra) < 1 << 31
        message = f"expected {len(x) - 2} output paddings from 0 to 2**31 - 1, found {list(extra)}"
        require(good, "C3", message)
        groups = self._groups()
        fit = groups >= 1 and x[1] % groups == 0 and w[0] == x[1]
        message = f"{x[1]} channels and weights of shape {w} do not make {groups} groups"
        require(fit, "C4", message)
        if self.bias is not None:
            bias, wanted = shape_of(self.bias), (groups * w[1],)
            require(bias == wanted, "C5", f"expected a bias of shape {wanted}, found {bias}")
        outputs = self.outputs()
        left = min(outputs) >= 1
        require(left, "C6", f"expected pads that leave outputs, found {list(outputs)} outputs")
        require(min(x[2:]) >= 1, "C7", f"expected spatial sizes >= 1, found shape {x}")
        count = phase_count(ints(self.strides), outputs)
        message = f"expected at most {MAX_PHASES} phases of outputs, found {count}"
        require(count <= MAX_PHASES, "C8", message)

    def outputs(self) -> tuple[int, ...]:
        """How many outputs there are in each spatial dimension."""
        begins, ends = self._cuts()
        return tuple(
            full - begin - end for full, begin, end in zip(self._full(), begins, ends, strict=True)
        )

    def infer(self) -> Sequence[Tensor]:
        x, w = shape_of(self.x), shape_of(self.w)
        shape = (x[0], self._groups() * w[1], *self.outputs())
        return [tensor(element_of(self.x), shape)]

    def halo(self) -> list[int]:
        """How far the phases reach before each spatial dimension of x, then how far behind."""
        sizes = shape_of(self.x)[2:]
        reaches = [
            [phase.reach(size) for phase in along]
            for size, along in zip(sizes, self.phases(), strict=True)
        ]
        return [max(reach[side] for reach in along) for side in (0, 1) for along in reaches]

    def nests(self) -> Iterator[tuple[NestSpec, Sequence[SSAValue]]]:
        """Nests and their operands: each writes its phase of the result; together they write all."""
        x, w = shape_of(self.x), shape_of(self.w)
        sizes = Sizes(x[0], self._groups(), x[1] // self._groups(), w[1], x[2:])
        bias = [] if self.bias is None else [self.bias]
        for along in product(*self.phases()):
            if all(phase.taps for phase in along):
                yield sum_nest(sizes, along, is_biased=bool(bias)), [self.x, self.w, *bias]
            else:
                yield empty_nest(sizes, along, is_biased=bool(bias)), bias

    def reference_points(self) -> int:
        x, w = shape_of(self.x), shape_of(self.w)
        pairs = zip(x[2:], self._margins(), strict=True)
        padded = math.prod(size + 2 * margin for size, margin in pairs)
        spread = padded * math.prod(ints(self.strides)) + math.prod(self._full())
        return x[0] * w[1] * (w[0] * math.prod(w[2:]) * padded + self._groups() * spread)

    def reference(self, x: Array, w: Array, bias: Array | None = None) -> Array:
        # Each tap adds x, and the zeros around it, to every `stride`-th element of the result.
        groups, strides, dilations = self._groups(), ints(self.strides), ints(self.dilations)
        margins = self._margins()
        x = np.pad(x, [(0, 0), (0, 0), *((margin, margin) for margin in margins)])
        batch, channels, spatial = x.shape[0], x.shape[1] // groups, x.shape[2:]
        columns = x.reshape(batch, groups, channels, math.prod(spatial))
        spread = [(size - 1) * stride + 1 for size, stride in zip(spatial, strides, strict=True)]
        sizes = [size + extent - 1 for size, extent in zip(spread, self._extents(), strict=True)]
        total = np.zeros((batch, groups * w.shape[1], *sizes), x.dtype)
        for tap in product(*(range(size) for size in w.shape[2:])):
            part = w[(..., *tap)].reshape(groups, channels, w.shape[1]).swapaxes(1, 2) @ columns
            places = [
                slice(k * dilation, k * dilation + size, stride)
                for k, dilation, size, stride in zip(tap, dilations, spread, strides, strict=True)
            ]
            total[(..., *places)] += part.reshape(*total.shape[:2], *spatial)
        kept = [
            slice(margin * stride + begin, margin * stride + begin + count)
            for margin, stride, begin, count in zip(
                margins, strides, self._cuts()[0], self.outputs(), strict=True
            )
        ]
        result = total[(..., *kept)]
        if bias is not None:
            result = result + bias.reshape(-1, *[1] * len(spatial))
        return np.ascontiguousarray(result)

    def _groups(self) -> int:
        return self.groups.value.data

    def _cuts(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """What is cut off before, and behind, each spatial dimension."""
        pads = ints(self.pads)
        return pads[: len(pads) // 2], pads[len(pads) // 2 :]

    def _extents(self) -> tuple[int, ...]:
        pairs = zip(shape_of(self.w)[2:], ints(self.dilations), strict=True)
        return tuple((size - 1) * dilation + 1 for size, dilation in pairs)

    def _full(self) -> tuple[int, ...]:
        """The outputs of each spatial dimension where nothing is cut."""
        sizes, strides = shape_of(self.x)[2:], ints(self.strides)
        numbers = zip(sizes, strides, self._extents(), ints(self.output_padding), strict=True)
        return tuple((n - 1) * stride + extent + extra for n, stride, extent, extra in numbers)

    def _margins(self) -> list[int]:
        """How far any tap reaches over each spatial dimension of x, or farther."""
        numbers = zip(self._extents(), ints(self.output_padding), ints(self.strides), strict=True)
        return [-(-(extent + extra) // stride) for extent, extra, stride in numbers]

    def phases(self) -> list[list[Phase]]:
        """By spatial dimension."""
        numbers = zip(
            shape_of(self.w)[2:],
            ints(self.strides),
            ints(self.dilations),
            self._cuts()[0],
            self.outputs(),
            strict=True,
        )
        return [list(phases(*one)) for one in numbers]


def phase_count(strides: Sequence[int], outputs: Sequence[int]) -> int:
    """Into how many phases the strides divide the outputs."""
    return math.prod(min(pair) for pair in zip(strides, outputs, strict=True))
