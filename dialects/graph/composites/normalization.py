"""Composites that normalise: layer_norm, batch_norm."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import operand_def, opt_operand_def, prop_def, result_def

from inarch.core.lazy import np
from inarch.dialects.graph.composites import axes_from, normal_axis, number, rounded
from inarch.dialects.graph.elementwise import evaluate
from inarch.dialects.graph.elementwise.arithmetic import AddOp, DivOp, MulOp, SubOp
from inarch.dialects.graph.elementwise.unary import ReciprocalOp, SqrtOp
from inarch.dialects.graph.op import (
    Array,
    CompositeOp,
    GraphOp,
    Tensor,
    broadcast,
    element_of,
    shape_of,
    tensor_dtype,
    tensor_of,
)
from inarch.dialects.graph.reduce import ReduceMeanOp
from inarch.dialects.graph.shape import ReshapeOp
from inarch.ir.op import op_definition
from inarch.ir.require import require
from inarch.ir.types import f64, i64


def _check_dtypes(op: GraphOp) -> None:
    """C1: the operands have one float dtype."""
    names = [tensor_dtype(operand).name for operand in op.operands]
    fits = tensor_dtype(op.operands[0]).is_float and len(set(names)) == 1
    require(fits, "C1", f"expected one float dtype, found {', '.join(names)}")


def _check_epsilon(epsilon: float, label: str) -> None:
    require(
        0 <= epsilon < float("inf"), label, f"expected epsilon >= 0 and finite, found {epsilon}"
    )


@op_definition
class LayerNormOp(CompositeOp):
    """`out = (x - mean) / sqrt(var + epsilon) * scale + bias`: ONNX's LayerNormalization.

    epsilon is rounded to the dtype. mean and var (of the population) are over the dims of x from
    `axis` on, for each index before them. `scale` and `bias` broadcast to those dims; a
    negative axis counts from the end.
    C1: the operands have one float dtype. C2: -rank <= axis < rank (a scalar is taken as a row of
    one element). C3: scale and bias broadcast to the dims from axis on. C4: epsilon >= 0, finite.
    """

    x = operand_def(TensorType)
    scale = operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    axis = prop_def(IntegerAttr.constr(i64))
    epsilon = prop_def(FloatAttr.constr(f64))
    out = result_def(TensorType)
    assembly_format = (
        "$x `,` $scale (`,` $bias^)? `axis` `=` $axis `epsilon` `=` $epsilon attr-dict "
        "`:` type($x) `,` type($scale) (`,` type($bias)^)? `->` type($out)"
    )

    def check(self) -> None:
        _check_dtypes(self)
        shape, axis = shape_of(self.x), self.axis.value.data
        found = normal_axis(axis, len(shape))
        require(
            found is not None,
            "C2",
            f"expected an axis of a tensor of rank {len(shape)}, found {axis}",
        )
        inner = shape[found:]
        for value, what in ((self.scale, "scale"), (self.bias, "bias")):
            fits = value is None or broadcast(shape_of(value), inner) == inner
            text = f"expected a {what} that broadcasts to {inner}"
            require(fits, "C3", f"{text}, found {shape_of(value) if value is not None else None}")
        _check_epsilon(self.epsilon.value.data, "C4")

    def infer(self) -> Sequence[Tensor]:
        return [tensor_of(self.x)]

    def axes(self) -> tuple[int, ...]:
        """The dims that are normalised over, counted from the front."""
        shape = shape_of(self.x)
        axis = normal_axis(self.axis.value.data, len(shape))
        assert axis is not None  # `check` has seen to it
        return axes_from(axis, shape)

    def decompose(self) -> list[Operation]:
        axes = self.axes()
        epsilon = number(self.epsilon.value.data, element_of(self.x))
        mean = ReduceMeanOp.make(self.x, axes=axes, keepdims=True)
        centred = SubOp.make(self.x, mean)
        square = MulOp.make(centred, centred)
        variance = ReduceMeanOp.make(square, axes=axes, keepdims=True)
        positive = AddOp.make(variance, epsilon)
        deviation = SqrtOp.make(positive)
        factor = ReciprocalOp.make(deviation)  # one division a row, not one an element
        normal = MulOp.make(centred, factor)
        scaled = MulOp.make(normal, self.scale)
        last = [] if self.bias is None else [AddOp.make(scaled, self.bias)]
        moments = [epsilon, mean, centred, square, variance, positive, deviation, factor]
        return [*moments, normal, scaled, *last]

    def reference(self, x: Array, scale: Array, bias: Array | None = None) -> Array:
        axes, epsilon = self.axes(), rounded(self.epsilon.value.data, x)

        def normalise(x: Array) -> Array:
            if not x.size:  # NumPy has no mean of nothing
                return x
            spread = np.sqrt(np.var(x, axis=axes, keepdims=True) + epsilon)
            normal = (x - np.mean(x, axis=axes, keepdims=True)) / spread * scale
            return normal if bias is None else normal + bias

        return evaluate(normalise, x.astype(np.float64), dtype=x.dtype)


@op_definition
class BatchNormOp(CompositeOp):
    """`out[n, c, ...] = (x[n, c, ...] - mean[c]) / sqrt(var[c] + epsilon) * scale[c] + bias[c]`.

    With a factor scale / sqrt(var + epsilon) that is infinite: `x * factor + (bias - mean * factor)`.
    x: [N, C, ...]; scale, bias, mean, var: [C]; epsilon is rounded to the dtype; ONNX's
    BatchNormalization at inference.
    C1: the operands have one float dtype. C2: x has at least two dims. C3: the vectors have the
    shape [C]. C4: epsilon >= 0, finite.
    """

    x = operand_def(TensorType)
    scale = operand_def(TensorType)
    bias = operand_def(TensorType)
    mean = operand_def(TensorType)
    var = operand_def(TensorType)
    epsilon = prop_def(FloatAttr.constr(f64))
    out = result_def(TensorType)

    def check(self) -> None:
        _check_dtypes(self)
        shape = shape_of(self.x)
        require(len(shape) >= 2, "C2", f"expected x of rank 2 or more, found shape {shape}")
        vectors = {"scale": self.scale, "bias": self.bias, "mean": self.mean, "var": self.var}
        for name, value in vectors.items():
            found, wanted = shape_of(value), (shape[1],)
            require(found == wanted, "C3", f"expected {name} of shape {wanted}, found {found}")
        _check_epsilon(self.epsilon.value.data, "C4")

    def infer(self) -> Sequence[Tensor]:
        return [tensor_of(self.x)]

    def decompose(self) -> list[Operation]:
        """`x * factor + shift`: with constant vectors, all but the last two ops fold."""
        epsilon = number(self.epsilon.value.data, element_of(self.x))
        positive = AddOp.make(self.var, epsilon)
        deviation = SqrtOp.make(positive)
        factor = DivOp.make(self.scale, deviation)
        offset = MulOp.make(self.mean, factor)
        shift = SubOp.make(self.bias, offset)
        wide_factor, wide_shift = self._spread(factor.out), self._spread(shift.out)
        scaled = MulOp.make(self.x, wide_factor)
        vectors = [epsilon, positive, deviation, factor, offset, shift]
        return [*vectors, wide_factor, wide_shift, scaled, AddOp.make(scaled, wide_shift)]

    def _spread(self, vector: SSAValue) -> ReshapeOp:
        """[C] as [C, 1, ...], which broadcasts over x."""
        shape = shape_of(self.x)
        return ReshapeOp.make(vector, shape=[shape[1], *(1 for _ in shape[2:])])

    def reference(self, x: Array, scale: Array, bias: Array, mean: Array, var: Array) -> Array:
        column = (x.shape[1], *(1 for _ in x.shape[2:]))
        wide = [v.astype(np.float64).reshape(column) for v in (scale, bias, mean, var)]
        epsilon = rounded(self.epsilon.value.data, x)

        def normalise(x: Array, s: Array, b: Array, m: Array, v: Array) -> Array:
            deviation = np.sqrt(v + epsilon)
            factor = s / deviation
            centred = (x - m) / deviation * s + b
            return np.where(np.isinf(factor), x * factor + (b - m * factor), centred)

        return evaluate(normalise, x.astype(np.float64), *wide, dtype=x.dtype)
