"""Products of quantized tensors are summed up as integers, and scaled once.

    (x - zx) sx * (w - zw) sw    -->    float(sum of x * (w - zw)  -  zx * sum of (w - zw)) * (sx sw)

`quantize(relu?(that), sy)` is one product more: `float(sum) * (sx sw / sy)`, rounded to a whole number. So a
quantized convolution is exact but for its requantization, which is the same on every target.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue

from inarch.core.dtypes import DTYPES
from inarch.core.lazy import Array, np
from inarch.dialects.graph.composites.quantize import DequantizeOp, QuantizeOp
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.elementwise.arithmetic import AddOp, MulOp, SubOp
from inarch.dialects.graph.elementwise.bitwise import BitwiseXorOp
from inarch.dialects.graph.elementwise.cast import CastOp
from inarch.dialects.graph.elementwise.unary import ReluOp
from inarch.dialects.graph.matmul import MatmulOp
from inarch.dialects.graph.op import GraphOp, Property, ints, shape_of, tensor_dtype
from inarch.dialects.graph.shape import PadOp, ReshapeOp
from inarch.dialects.graph.windows.conv import ConvOp
from inarch.ir.context import ConstantStore, store_of
from inarch.ir.functions import entry_blocks
from inarch.ir.passes import OptionalPass
from inarch.ir.payload.constants import constant_attribute
from inarch.ir.report.remarks import Remarks, remarks_of
from inarch.ir.target import target_of
from inarch.ir.types import mlir_type
from inarch.machine.target import Target
from inarch.microkernel.table import kernels_of
from inarch.passes.graph._dead import erase_dead
from inarch.passes.graph.integers.factor import (
    Activations,
    Weights,
    activations_of,
    array_of,
    weights_of,
)
from inarch.passes.graph.integers.widened import Widened
from inarch.passes.lower.algorithm import ATTRIBUTE, DIRECT

_LANE = 4
"""Bytes of a lane of i32: kernels take as many terms at once as it holds."""
_WIDE = ("i16", "i16")
"""What holds all bytes less their zero points."""
_EXACT = 1 << 24
"""Integers up to it are f32."""
_BYTE = 255
"""The most that a byte less its zero point is."""


@dataclass(frozen=True)
class KeepIntegersPass(OptionalPass):
    """Convolutions and products of dequantized tensors become such of their integers, where that is exact.

    The activations are bytes with one scale and zero point, the weights constants that are i8 without
    theirs, with one scale for all or for each output. Sums are in i32, and proved to fit there (of ONNX's
    products of integers they wrap); the zero point of the activations is folded: into the bias, by sums of
    the weights, and into what pads. Where no kernel takes bytes (of terms that are no fours, on a target that
    has no such kernel), but one takes 16 bits, these are the bytes less their zero point. Where none takes
    either (of depthwise convolutions), and all sums are proved to be at most 2^24, the same integers are
    summed up in f32, which is exact, too.

    A relu and a quantization by one scale that follow have their scale in the same factor. It is rounded in
    f32 as `(sx * sw) / sy`; all else that rounds is `float(sum)`, above 2^24, its product, and the
    quantization itself: fewer roundings than the op's own definition has, in every numerics policy.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        store, remarks = store_of(ctx), remarks_of(ctx)
        found = [
            each
            for _, block in entry_blocks(op)
            for each in block.walk()
            if isinstance(each, ConvOp | MatmulOp) and each.to is None
        ]
        if not any(isinstance(each.operands[0].owner, DequantizeOp) for each in found):
            return
        kernels, widened = factors_of_kernels(target_of(op)), Widened(store)
        with np.errstate(all="ignore"):  # scales may be anything
            for each in found:
                _Product(each, store, kernels, widened).rewrite(remarks)
        widened.take_over()
        erase_dead(op, store)


def factors_of_kernels(target: Target) -> frozenset[tuple[str, str]]:
    """The dtypes of activations and weights of which some kernel sums products up in i32 there."""
    found = [sorted(kernel.dtypes.values()) for kernel in kernels_of(target)]
    forms = (("i8", "i8"), ("ui8", "i8"), _WIDE)
    return frozenset(form for form in forms if sorted(["i32", *form]) in found)


@dataclass
class _Product:
    op: ConvOp | MatmulOp
    store: ConstantStore
    kernels: frozenset[tuple[str, str]]
    """The dtypes of activations and weights that kernels take."""
    widened: Widened
    made: list[Operation] = field(default_factory=list[Operation])

    def rewrite(self, remarks: Remarks) -> None:
        x = activations_of(self.op.operands[0], self.store)
        if x is None:
            return
        is_conv = isinstance(self.op, ConvOp)
        rank = len(shape_of(self.op.operands[1]))
        w = weights_of(self.op.operands[1], 0 if is_conv else rank - 1, self.store)
        if w is None or (rank > 2 and not is_conv):
            remarks.missed(
                self.op, "its weights are no constants of i8 with a scale for each output"
            )
            return
        is_float = x.scale.dtype.kind == "f"
        is_one = not is_float and np.all(x.scale == 1) and np.all(w.scale == 1)
        if is_float != (w.scale.dtype.kind == "f") or not (is_float or is_one):
            return
        if isinstance(x.zero, SSAValue) and self._pads():
            remarks.missed(self.op, "what it pads with is known at run time only")
            return
        scale = x.scale * w.scale
        if is_float and not np.all(_is_normal(scale) | (x.scale == 0) | (w.scale == 0)):
            remarks.missed(self.op, "the product of its scales is no normal number of f32")
            return
        bias = self._whole_bias(scale)
        if (
            not is_float
            and bias is None
            and isinstance(self.op, ConvOp)
            and self.op.bias is not None
        ):
            remarks.missed(self.op, "its bias is known at run time only")
            return
        most = _BYTE * int(self._sums(np.abs(w.w)).max(initial=0))
        if bias is not None:
            most += int(np.abs(bias).max(initial=0))
        if is_float and most >= 1 << 31:
            remarks.missed(self.op, f"its sums may be up to {most}, which i32 does not hold")
            return
        out = self._summed(x, w, bias, most)
        self._replace(out, x, w, is_biased=bias is not None)
        remarks.done(self.op, "summed up as integers, and scaled once")

    def _summed(self, x: Activations, w: Weights, bias: Array | None, most: int) -> SSAValue:
        """The sums, of at most `most`, in i32 or f32."""
        forms = (((self._byte(x), "i8"), self._in_integers), (_WIDE, self._in_wide))
        ways = [
            (sums, _LANE // DTYPES[form[0]].nbytes) for form, sums in forms if form in self.kernels
        ]
        for sums, terms in ways:
            if self._takes(w, terms):
                return sums(x, self._filled(w, terms), bias)
        if most <= _EXACT and not isinstance(x.zero, SSAValue):
            return self._in_floats(x, w, bias)
        for sums, terms in ways:
            if not self._is_grouped():
                return sums(x, self._filled(w, terms), bias)
        return self._in_integers(x, w, bias)

    # -- what it is of

    def _pads(self) -> bool:
        return isinstance(self.op, ConvOp) and any(ints(self.op.pads))

    def _is_grouped(self) -> bool:
        return isinstance(self.op, ConvOp) and self.op.groups.value.data != 1

    @property
    def _terms(self) -> int:
        """The axis of the weights whose terms lie side by side."""
        return 1 if isinstance(self.op, ConvOp) else 0

    def _takes(self, w: Weights, terms: int) -> bool:
        """Whether kernels that take so many terms at once pay: channels of zeros may be a third more."""
        found = w.w.shape[self._terms]
        more = -found % terms
        is_few = 3 * more <= found if isinstance(self.op, ConvOp) else not more
        return is_few and not self._is_grouped()

    def _filled(self, w: Weights, terms: int) -> Weights:
        """The weights with zeros as some terms more, so that there are so many or multiples of that."""
        more = -w.w.shape[self._terms] % terms
        fill = [(0, more if axis == self._terms else 0) for axis in range(w.w.ndim)]
        return replace(w, w=np.pad(w.w, fill))

    def _sums(self, w: Array) -> Array:
        """The sum of the weights of each output."""
        return w.sum(axis=tuple(range(1, w.ndim)) if isinstance(self.op, ConvOp) else 0)

    def _whole_bias(self, scale: Array) -> Array | None:
        """The bias in units of the sums, where it is quantized so; int64."""
        bias = self.op.bias if isinstance(self.op, ConvOp) else None
        owner = bias.owner if bias is not None else None
        if bias is None:
            return None
        if scale.dtype.kind != "f":
            return array_of(bias, self.store)
        if not isinstance(owner, DequantizeOp):
            return None
        q, by = array_of(owner.x, self.store), array_of(owner.scale, self.store)
        zero = array_of(owner.zero, self.store)
        if q is None or by is None or (owner.zero is not None and (zero is None or zero.any())):
            return None
        own, wanted = (np.broadcast_to(each, q.shape) for each in (by, scale))
        return q.astype(np.int64) if np.array_equal(own, wanted) else None

    def _byte(self, x: Activations) -> str:
        """The dtype of bytes that the activations are multiplied as: ui8 where kernels take only that."""
        own = tensor_dtype(x.q).name
        is_flipped = (own, "i8") not in self.kernels and ("ui8", "i8") in self.kernels
        return "ui8" if is_flipped and not isinstance(x.zero, SSAValue) else own

    def _bytes(self, x: Activations) -> Activations:
        """The activations as `_byte`: those of i8 and their zero are 128 more."""
        if tensor_dtype(x.q).name == self._byte(x):
            return x
        assert not isinstance(x.zero, SSAValue)
        flipped = self._add(CastOp.make(x.q, to=mlir_type("ui8")))
        flipped = self._add(BitwiseXorOp.make(flipped, self._constant(np.array(128, np.uint8))))
        return Activations(flipped, x.scale, x.zero + 128)

    # -- what it becomes

    def _in_integers(self, x: Activations, w: Weights, bias: Array | None) -> SSAValue:
        """The sums in i32, as a tensor of i32."""
        x, sums = self._bytes(x), self._sums(w.w)
        known = np.zeros_like(sums) if bias is None else bias
        if not isinstance(x.zero, SSAValue):
            known = known - x.zero * sums
        factor = self._constant(w.w.astype(np.int8))
        added = self._constant(known.astype(np.int32)) if known.any() else None  # which wraps
        i32 = mlir_type("i32")
        if isinstance(self.op, ConvOp):
            image = x.q
            properties: dict[str, Property] = {**self.op.properties, "to": i32}
            if not isinstance(x.zero, SSAValue) and x.zero != 0 and self._pads():
                image = self._padded(x.q, w, ints(self.op.pads), x.zero)
                properties["pads"] = [0] * len(ints(self.op.pads))
            else:
                image = self._padded(image, w, (), 0)
            rest = [] if added is None else [added]
            out = self._add(ConvOp.make(image, factor, *rest, location=None, **properties))
        else:
            out = self._add(MatmulOp.make(self._padded(x.q, w, (), 0), factor, to=i32))
            if added is not None:
                out = self._add(AddOp.make(out, added))
        if isinstance(x.zero, SSAValue) and sums.any():
            zero = self._add(CastOp.make(x.zero, to=i32))
            column = self._constant(self._column(sums.astype(np.int32)))
            out = self._add(SubOp.make(out, self._add(MulOp.make(column, zero))))
        return out

    def _padded(self, image: SSAValue, w: Weights, pads: Sequence[int], value: int) -> SSAValue:
        """The activations with as many terms as the weights have, and with what stands for 0 around them."""
        shape = shape_of(image)
        half, rank = len(pads) // 2, len(shape)
        axis = 1 if isinstance(self.op, ConvOp) else rank - 1
        more = w.w.shape[self._terms] - shape[axis]
        low, high = [0] * rank, [more if each == axis else 0 for each in range(rank)]
        low[rank - half :], high[rank - half :] = pads[:half], pads[half:]
        if not any((*low, *high)):
            return image
        return self._add(PadOp.make(image, low=low, high=high, value=float(value)))

    def _in_wide(self, x: Activations, w: Weights, bias: Array | None) -> SSAValue:
        """The same sums in i32 of numbers of 16 bits without their zero point."""
        i32, image = mlir_type("i32"), self.widened.of(x) or self._without_zero(x, "i16")
        factor = self._constant(w.w.astype(np.int16))
        added = [] if bias is None else [self._constant(bias.astype(np.int32))]  # which wraps
        image = self._padded(image, w, (), 0)
        if isinstance(self.op, ConvOp):
            properties: dict[str, Property] = {**self.op.properties, "to": i32}
            return self._add(ConvOp.make(image, factor, *added, location=None, **properties))
        return self._add(MatmulOp.make(image, factor, to=i32))

    def _without_zero(self, x: Activations, name: str) -> SSAValue:
        """The activations less their zero point, in a dtype that holds that."""
        image = self._add(CastOp.make(x.q, to=mlir_type(name)))
        if isinstance(x.zero, SSAValue):
            zero = self._add(CastOp.make(x.zero, to=mlir_type(name)))
        elif x.zero != 0:
            zero = self._constant(np.array(x.zero, DTYPES[name].numpy))
        else:
            return image
        return self._add(SubOp.make(image, zero))

    def _in_floats(self, x: Activations, w: Weights, bias: Array | None) -> SSAValue:
        """The same sums in f32, none of which is rounded."""
        image = self._without_zero(x, "f32")
        factor = self._constant(w.w.astype(np.float32))
        if isinstance(self.op, MatmulOp):
            return self._add(MatmulOp.make(image, factor))
        rest = [] if bias is None else [self._constant(bias.astype(np.float32))]
        conv = ConvOp.make(image, factor, *rest, location=None, **self.op.properties)
        conv.attributes[ATTRIBUTE] = StringAttr(DIRECT)  # others round, even of integers
        return self._add(conv)

    def _replace(self, sums: SSAValue, x: Activations, w: Weights, *, is_biased: bool) -> None:
        """Puts the scaled sums in the place of the product, or of the quantization that follows it."""
        is_float = x.scale.dtype.kind == "f"
        if not is_float:
            own = tensor_dtype(sums).name
            out = sums if own == "i32" else self._add(CastOp.make(sums, to=mlir_type("i32")))
            self._finish(self.op, out)
            return
        scale = x.scale * w.scale
        relus, end = self._followers()
        by, is_late = array_of(end.scale, self.store) if end is not None else None, False
        bias = self.op.bias if isinstance(self.op, ConvOp) and not is_biased else None
        if by is not None and bias is None and not by.ndim and 0 < by < math.inf:
            factor = scale / by
            is_late = bool(np.all(_is_normal(factor) | (scale == 0)))
        if tensor_dtype(sums).name != "f32":
            sums = self._add(CastOp.make(sums, to=mlir_type("f32")))
        numbers = self._column(scale / by if is_late else scale)
        out = self._add(MulOp.make(sums, self._constant(numbers)))
        if bias is not None:
            self._finish_biased(out, bias)
            return
        if not is_late or end is None:
            self._finish(self.op, out)
            return
        for relu in relus:
            out = self._add(ReluOp.make(out), relu)
        rest = [] if end.zero is None else [end.zero]
        one = self._constant(np.array(1, np.float32))
        out = self._add(QuantizeOp.make(out, one, *rest, to=end.to), end)
        self._finish(end, out)

    def _finish_biased(self, out: SSAValue, bias: SSAValue) -> None:
        """With a bias of f32, which is added to what is scaled."""
        column = [1, shape_of(bias)[0], *[1] * (len(shape_of(out)) - 2)]
        spread = self._add(ReshapeOp.make(bias, shape=column))
        self._finish(self.op, self._add(AddOp.make(out, spread)))

    def _followers(self) -> tuple[list[ReluOp], QuantizeOp | None]:
        """The relus, and the quantization behind them, that alone read the result."""
        relus: list[ReluOp] = []
        value: SSAValue = self.op.out
        while value.has_one_use():
            (user,) = [use.operation for use in value.uses]
            if isinstance(user, QuantizeOp) and user.x is value:
                return relus, user
            if not isinstance(user, ReluOp):
                break
            relus.append(user)
            value = user.out
        return relus, None

    # -- building

    def _column(self, numbers: Array) -> Array:
        """Those of the outputs in a shape that broadcasts over the result."""
        if not numbers.ndim or not isinstance(self.op, ConvOp):
            return numbers
        return numbers.reshape(1, -1, *[1] * (len(shape_of(self.op.out)) - 2))

    def _constant(self, array: Array) -> SSAValue:
        value = constant_attribute(np.array(array, order="C"), self.store, "quantized")
        return self._add(ConstantOp.make(value=value))

    def _add(self, op: GraphOp, origin: Operation | None = None) -> SSAValue:
        op.location = (origin or self.op).location
        self.made.append(op)
        return op.results[0]

    def _finish(self, replaced: ConvOp | MatmulOp | QuantizeOp, out: SSAValue) -> None:
        parent = replaced.parent
        assert parent is not None
        for op in self.made:
            parent.insert_op_before(op, replaced)
        replaced.out.replace_all_uses_with(out)


def _is_normal(numbers: Array) -> Array:
    """Whether numbers have all the digits of f32."""
    least = float(np.finfo(np.float32).tiny)
    return np.isfinite(numbers) & (np.abs(numbers) >= least)
