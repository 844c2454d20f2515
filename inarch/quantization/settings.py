"""The quantizer of onnxruntime, with settings that run well here, each with its reason."""

# onnxruntime is untyped:
# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
from __future__ import annotations

import io
import logging
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from fnmatch import filter as matching
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inarch.backends.host import Progress
from inarch.core.errors import InarchError, UsageError, nearest, needing, reason
from inarch.quantization.samples import Samples

if TYPE_CHECKING:
    from onnx import ModelProto

METHODS = {"minmax": "MinMax", "entropy": "Entropy", "percentile": "Percentile"}
"""How the range of activations is found, and what onnxruntime calls it."""

PRODUCTS = ("Conv", "Gemm", "MatMul")
OPERATORS = (
    *PRODUCTS,
    "Add", "AveragePool", "Clip", "Concat", "Flatten", "Gather", "GlobalAveragePool", "LeakyRelu", "MaxPool",
    "Mul", "Pad", "Relu", "Reshape", "Resize", "Slice", "Split", "Squeeze", "Transpose", "Unsqueeze", "Where",
)  # fmt: skip
"""Products, whose integers are summed up as such, and what stands between them, so that bytes are handed on.

Not functions and norms (Softmax, Sigmoid, LayerNormalization ...): they are computed in floats in either
case, and bytes on both sides would only lose digits. Nor ConvTranspose, of which no integers are summed up.
"""
DYNAMIC = ("Attention", "Gather", "Gemm", "LSTM", "MatMul")
"""Of `--dynamic`. Not convolutions: onnxruntime has none of i8 weights whose ranges come at run time."""

_OPSET = 13
"""The first in which a weight has a scale for each output."""


@dataclass(frozen=True)
class Settings:
    """What is asked for, beside a model and its samples."""

    dynamic: bool = False
    """Whether ranges of activations are found at each call, and not by samples."""
    method: str = "minmax"
    """Of calibration: one of `METHODS`."""
    only: Sequence[str] = ()
    """Names of nodes, or patterns of them: no other is quantized."""
    exclude: Sequence[str] = ()
    """Names of nodes, or patterns: these are left in floats."""


@dataclass(frozen=True)
class Made:
    """A model as the quantizer took it, its nodes named and what is constant folded, and what it made."""

    plain: ModelProto
    quantized: ModelProto
    nodes: Sequence[str]
    """Those that compute with bytes now, of `plain`."""


def make(
    model: ModelProto,
    samples: Samples | None,
    settings: Settings,
    folder: Path,
    where: str,
    progress: Progress | None,
) -> Made:
    """Has onnxruntime quantize the model of a file `where`, in files of `folder`.

    Raises EnvironmentFault without onnxruntime, UsageError for a name that no node has, InarchError for what
    onnxruntime refuses.
    """
    import onnx

    with needing("the package onnxruntime is not installed; pip install 'inarch[quantize]'"):
        from onnxruntime import quantization
        from onnxruntime.quantization.shape_inference import quant_pre_process

    given, ready, named, output = (
        folder / f"{each}.onnx" for each in ("given", "ready", "named", "quantized")
    )
    onnx.save(_of_opset(model, where), str(given))  # a model in memory would be changed itself
    with _silent("prepare the model", where):
        # Constants fold, batch norms with them: their scales become the weights'. Shapes by symbols need a
        # package more, and say nothing that the quantizer asks for.
        quant_pre_process(str(given), str(ready), skip_symbolic_shape=True)
    plain = onnx.load(str(ready))
    names = _name(plain)
    onnx.save(plain, str(named))
    common: dict[str, Any] = {
        # A scale for each output is in the same factor as one of all: it costs nothing, and loses less.
        "per_channel": True,
        # s8 and symmetric: w less its zero point fits into i8, as kernels of u8 by s8 need it.
        "weight_type": quantization.QuantType.QInt8,
        # Seven bits would be for kernels that saturate sums of pairs; ours are exact on every CPU.
        "reduce_range": False,
    }
    only, left = (
        _chosen(names, patterns, option)
        for patterns, option in ((settings.only, "--only"), (settings.exclude, "--exclude"))
    )
    if (
        settings.dynamic
    ):  # it makes a MatMul and an Add of a Gemm, and asks for the name of the first
        common |= {
            "nodes_to_quantize": _with_products(only),
            "nodes_to_exclude": _with_products(left),
        }
    else:
        common |= {"nodes_to_quantize": only, "nodes_to_exclude": left}
    # A product of two activations has no constant weights, so it would run in floats between bytes.
    extra = {"MatMulConstBOnly": True, "WeightSymmetric": True}
    with _silent("quantize the model", where):
        if settings.dynamic:
            quantization.quantize_dynamic(
                str(named),
                str(output),
                op_types_to_quantize=list(DYNAMIC),
                extra_options=extra,
                **common,
            )
        else:
            assert samples is not None, "a static quantization is calibrated"
            quantization.quantize_static(
                str(named),
                str(output),
                _reader(samples, progress),
                # What any tool reads; the other format has operators of onnxruntime's own.
                quant_format=quantization.QuantFormat.QDQ,
                # u8 with a zero point: what kernels take as it is, and all 8 bits of what a Relu leaves.
                activation_type=quantization.QuantType.QUInt8,
                op_types_to_quantize=list(OPERATORS),
                calibrate_method=getattr(quantization.CalibrationMethod, METHODS[settings.method]),
                extra_options=extra | {"ActivationSymmetric": False},
                **common,
            )
    made = onnx.load(str(output))
    kinds = DYNAMIC if settings.dynamic else OPERATORS
    nodes = [name for name in _in_bytes(plain, made, kinds) if name not in left]
    if not nodes:
        told = ", ".join(DYNAMIC if settings.dynamic else PRODUCTS)
        raise InarchError(
            f"nothing was quantized: expected one of {told} with constant weights", where=where
        )
    return Made(plain, made, nodes)


def _in_bytes(plain: ModelProto, made: ModelProto, kinds: Sequence[str]) -> list[str]:
    """The nodes of these operators that are gone, or read what is dequantized: products, as their weights."""
    makers: dict[str, Any] = {name: node for node in made.graph.node for name in node.output}
    constant = {one.name for one in made.graph.initializer}

    def is_dequantized(name: str, *, is_weight: bool) -> bool:
        maker = makers.get(name)
        if maker is None or maker.op_type != "DequantizeLinear":
            return False
        return not is_weight or maker.input[0] in constant

    found: list[str] = []
    for node in plain.graph.node:
        own, is_product = makers.get(node.output[0]), node.op_type in PRODUCTS
        taken = own.input if own is not None and own.op_type == node.op_type else None
        is_in_bytes = taken is None or any(
            is_dequantized(name, is_weight=is_product) for name in taken
        )
        if node.op_type in kinds and is_in_bytes:
            found.append(node.name)
    return found


def _with_products(names: Sequence[str]) -> list[str]:
    return [*names, *(f"{name}_MatMul" for name in names)]


def _reader(samples: Samples, progress: Progress | None) -> Any:
    """Samples, one by one, as calibration takes them."""
    from onnxruntime.quantization import CalibrationDataReader

    class Reader(CalibrationDataReader):
        def __init__(self) -> None:
            self.rest, self.done = iter(samples), 0

        def get_next(self) -> Any:
            if progress is not None:
                progress("calibrate", self.done, len(samples))
            self.done += 1
            return next(self.rest, None)

    return Reader()


def _of_opset(model: ModelProto, where: str) -> ModelProto:
    """The model in an operator set that has a scale for each output. Raises InarchError."""
    own = [one.version for one in model.opset_import if one.domain in ("", "ai.onnx")]
    if not own or own[0] >= _OPSET:
        return model
    from onnx import version_converter

    try:
        return version_converter.convert_version(model, _OPSET)
    except Exception as error:
        raise InarchError(
            f"expected a model of operator set {_OPSET} or later, found {own[0]}, which onnx cannot convert: "
            f"{reason(error)}",
            where=where,
        ) from error


def _name(model: ModelProto) -> list[str]:
    """Names each node that has none, or another's, by its first output; all names, in order."""
    seen: set[str] = set()
    for node in model.graph.node:
        if not node.name or node.name in seen:
            node.name = next((each for each in node.output if each), node.op_type)
        seen.add(node.name)
    return [node.name for node in model.graph.node]


def _chosen(names: Sequence[str], patterns: Iterable[str], option: str) -> list[str]:
    """The nodes that have these names, or fit these patterns. Raises UsageError where none does."""
    found: dict[str, None] = {}
    for pattern in patterns:
        fits = [pattern] if pattern in names else matching(names, pattern)
        if not fits:
            near = nearest(pattern, names)
            hint = f"; did you mean '{near}'?" if near else ""
            raise UsageError(
                f"{option}: expected the name of a node, or a pattern, found '{pattern}'{hint}"
            )
        found |= dict.fromkeys(fits)
    return list(found)


@contextmanager
def _silent(what: str, where: str) -> Generator[None]:
    """Within, onnxruntime prints nothing, and what it raises is an InarchError of one line."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with redirect_stdout(io.StringIO()):
            yield
    except InarchError:
        raise
    except Exception as error:
        # Its exceptions have no common base.
        raise InarchError(f"onnxruntime cannot {what}: {reason(error)}", where=where) from error
    finally:
        logging.disable(before)
