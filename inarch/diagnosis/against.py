"""What onnxruntime computes for every value of a model: the import is compared with it."""

# onnxruntime is untyped:
# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from inarch.core.errors import EnvironmentFault, InarchError, UsageError
from inarch.core.lazy import Array, np
from inarch.ir.names import printed_name

PEERS = ("onnxruntime",)


def peer_values(model: Path, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Every tensor that a node of the model's graph computes, under the name that our import gives it.

    Optimizations are off, so that no node is fused away. Names that two values would share are left out.
    Raises UsageError for what is no ONNX file, EnvironmentFault without onnxruntime.
    """
    if model.suffix != ".onnx":
        raise UsageError(f"--against onnxruntime: expected a model in .onnx, found '{model}'")
    try:
        import onnxruntime
    except ImportError as error:
        raise EnvironmentFault(
            "--against onnxruntime: the package onnxruntime is not installed; "
            "pip install onnxruntime"
        ) from error
    import onnx

    proto = onnx.load(str(model))
    outputs = [output for node in proto.graph.node for output in node.output if output]
    known = {output.name for output in proto.graph.output}
    for name in outputs:
        if name not in known:
            proto.graph.output.add().name = name
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    try:
        session: Any = onnxruntime.InferenceSession(
            _with_data(proto, model), options, providers=["CPUExecutionProvider"]
        )
        names = [output.name for output in session.get_outputs()]
        values = dict(zip(names, session.run(names, dict(inputs)), strict=True))
    except Exception as error:
        # Its exceptions have no common base; their first line says what it cannot do.
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InarchError(
            f"--against onnxruntime: it cannot run the model: {reason}", where=str(model)
        ) from error
    printed = {name: printed_name(name) for name in values}
    count = Counter(printed.values())
    return {
        text: values[name]
        for name, text in printed.items()
        if text is not None and count[text] == 1 and isinstance(values[name], np.ndarray)
    }


def _with_data(proto: Any, model: Path) -> bytes:
    """The changed model; its external data has been read into it."""
    from onnx.external_data_helper import load_external_data_for_model

    load_external_data_for_model(proto, str(model.parent))
    return proto.SerializeToString()
