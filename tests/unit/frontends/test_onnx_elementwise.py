"""Every operator of ONNX that keeps a shape keeps rank 0 and sizes 0, in every version of it.

Which those are is asked of ONNX itself: operators whose inference gives the shape of the inputs, for a
matrix and for a scalar.
"""

# Schemas are untyped:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, defs, helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import RuntimeImplementationError

from inarch.core.errors import InarchError
from inarch.dialects import new_context
from inarch.frontends import Sizes
from inarch.frontends.onnx import import_onnx
from inarch.testing import execute

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]

KINDS = {
    "tensor(float)": TensorProto.FLOAT,
    "tensor(int32)": TensorProto.INT32,
    "tensor(bool)": TensorProto.BOOL,
}
ATTRIBUTES: dict[str, dict[str, Any]] = {"BitShift": {"direction": "LEFT"}}


KNOWN = (
    # One row of everything from the axis on: none where the axis has no elements.
    "Hardmax of opset 1 of shape (2, 0, 3)",
    # Their further inputs have shapes of their own.
    "BatchNormalization",
    "LayerNormalization",
    "QuantizeLinear",
)


def model(schema: Any, shape: Shape, kind: int) -> onnx.ModelProto:
    names = [f"x{index}" for index in range(max(1, schema.min_input))]
    node = helper.make_node(schema.name, names, ["y"], **ATTRIBUTES.get(schema.name, {}))
    inputs = [helper.make_tensor_value_info(name, kind, shape) for name in names]
    graph = helper.make_graph([node], "g", inputs, [onnx.ValueInfoProto(name="y")])
    opset = helper.make_opsetid("", max(schema.since_version, 7))
    return helper.make_model(graph, opset_imports=[opset], ir_version=9)


def kind_of(schema: Any) -> int | None:
    """A dtype that all inputs may have."""
    allowed = {one.type_param_str: set(one.allowed_type_strs) for one in schema.type_constraints}
    inputs = schema.inputs[: max(1, schema.min_input)]
    common = set[str].intersection(
        *(allowed.get(one.type_str, {one.type_str}) for one in inputs), set(KINDS)
    )
    return next((kind for name, kind in KINDS.items() if name in common), None)


def keeps(schema: Any, shape: Shape, kind: int) -> bool:
    """Whether ONNX says that the output has the shape of the inputs."""
    try:
        inferred = onnx.shape_inference.infer_shapes(model(schema, shape, kind), strict_mode=True)
    except (onnx.shape_inference.InferenceError, onnx.checker.ValidationError):
        return False
    found = inferred.graph.output[0].type.tensor_type
    return found.HasField("shape") and tuple(d.dim_value for d in found.shape.dim) == shape


def elementwise() -> Iterator[tuple[Any, int]]:
    """Each version from opset 7 on of each operator, with a dtype."""
    for schema in defs.get_all_schemas_with_history():
        if schema.domain or schema.deprecated or not schema.inputs:
            continue
        newest_of_7 = schema.since_version < 7 and (
            defs.get_schema(schema.name, 7, "").since_version == schema.since_version
        )
        kind = kind_of(schema)
        if kind is None or not (schema.since_version >= 7 or newest_of_7):
            continue
        required = {name for name, one in schema.attributes.items() if one.required}
        if required - set(ATTRIBUTES.get(schema.name, ())):
            continue
        if keeps(schema, (2, 3), kind) and keeps(schema, (), kind):
            yield schema, kind


def refused(text: str) -> bool:
    """What is no fault: an axis where there is none, or an operator that Inarch lacks."""
    return any(words in text for words in (" unsupported: ", "expected an axis"))


def run(schema: Any, shape: Shape, kind: int) -> tuple[Array, list[Array]]:
    rng = np.random.default_rng(0)
    proto = model(schema, shape, kind)
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    names = [info.name for info in proto.graph.input]
    high = 3.0 if kind == TensorProto.INT32 else 0.9
    inputs = [np.asarray(rng.uniform(0.2, high, shape)).astype(dtype) for _ in names]
    context = new_context()
    module = import_onnx(proto, context, Sizes(shapes=dict.fromkeys(names, shape)))
    (found,) = execute(module, inputs, context)
    return np.asarray(found), inputs


def wrong(schema: Any, shape: Shape, kind: int) -> str | None:
    """How the result differs from the reference evaluator's; None for not at all."""
    found, inputs = run(schema, shape, kind)
    if found.shape != shape:
        return f"has shape {found.shape}"
    try:
        evaluator: Any = ReferenceEvaluator(model(schema, shape, kind))
    except RuntimeImplementationError:  # of an operator that later versions know by another name
        return None
    with np.errstate(all="ignore"):
        try:
            (expected,) = evaluator.run(None, {f"x{i}": x for i, x in enumerate(inputs)})
        except (TypeError, ValueError):  # it refuses some scalars, and vectorizes nothing empty
            return None
    if np.allclose(found, np.asarray(expected).reshape(shape), 1e-5, 1e-6, equal_nan=True):
        return None
    return f"is {found}, not {expected}"


@pytest.mark.filterwarnings("ignore")  # of the reference evaluator
def test_ranks_and_sizes_of_0_stay() -> None:
    tried: set[str] = set()
    problems: list[str] = []
    for schema, kind in elementwise():
        for shape in ((), (0,), (2, 0, 3)):
            called = f"{schema.name} of opset {schema.since_version} of shape {shape}"
            try:
                problem = wrong(schema, shape, kind)
            except InarchError as error:
                problem = None if refused(error.line()) else f"is refused: {error.line()}"
            else:
                tried.add(schema.name)
            if problem is not None:
                problems.append(f"{called} {problem}")
    assert "\n".join(line for line in problems if not line.startswith(KNOWN)) == ""
    assert len(tried) > 70
    assert {"Celu", "Mish", "HardSwish", "PRelu", "Clip", "Where", "Not", "Pow"} <= tried
