"""Of which class that library's exception is, for a fault of an operator that a run finds."""

from __future__ import annotations

import re
from collections.abc import Mapping

from inarch.compat.onnxruntime.errors import Fail, InvalidArgument, RuntimeException
from inarch.core.errors import InarchError

_ARGUMENT = re.compile(r"\w+: argument \d+ \(")
"""How an error about the values of an argument begins: an index out of range."""

_OPERATOR = re.compile(r": node '.*' \((\w+)\)$", re.DOTALL)
"""How the place of an error ends: with the operator of the model."""

_AXIS = "expected an axis"

_INVALID: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "BatchNormalization", "ConvTranspose", "DepthToSpace", "Det", "Einsum", "Expand", "EyeLike",
            "Gemm", "GatherElements", "GatherND", "InstanceNormalization", "LayerNormalization", "OneHot",
            "Range", "RoiAlign", "ScatterElements", "ScatterND", "SpaceToDepth", "Tile",
            "Transpose", "Trilu",
        ),
        f"(?!{_AXIS})",
    ),
    **dict.fromkeys(("GRU", "LSTM", "RNN"), "(?!expected states)"),
    "Slice": "",
    "Conv": ".* in spatial dimension",
    "Resize": r"expected \d+ scales",
    "Unsqueeze": "expected different axes",
    "Upsample": r"expected \d+ scales",
}  # fmt: skip
"""Operators -> how our messages begin, as patterns, for which that library has `InvalidArgument`.

All other errors are `Fail` there: axes, sizes that do not broadcast, Reshape, errors of its macros.
"""


def kind_of_run(error: InarchError) -> type[Exception]:
    """The class of exception for a run that fails by its values or its sizes."""
    if _ARGUMENT.match(error.message):
        return InvalidArgument
    found = _OPERATOR.search(error.where or "")
    operator = found[1] if found else ""
    if operator in ("ArgMax", "ArgMin") and error.message.startswith("expected elements along"):
        return RuntimeException
    pattern = _INVALID.get(operator)
    return Fail if pattern is None or not re.match(pattern, error.message) else InvalidArgument
