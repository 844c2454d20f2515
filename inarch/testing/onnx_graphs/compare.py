"""Whether Inarch computes what was drawn."""

# Onnx is untyped:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

import numpy as np

import inarch
from inarch.core.errors import InarchError, UnsupportedError
from inarch.core.rounding import distance, drawn
from inarch.definitions.execute import execute
from inarch.dialects import new_context
from inarch.frontends import Sizes
from inarch.frontends.onnx import import_onnx
from inarch.testing.onnx_graphs.drawing import Array, Case
from inarch.testing.results import results_by_name


def difference(expected: Array, found: Array) -> str:
    """What is other than it should be; empty when all is right."""
    if found.dtype != expected.dtype or found.shape != expected.shape:
        return f"expected {expected.dtype}{expected.shape}, found {found.dtype}{found.shape}"
    bad = distance(expected, found) > drawn(expected)
    if not bad.any():
        return ""
    at = tuple(int(i) for i in np.argwhere(bad)[0])
    return f"at {at} expected {expected[at]}, found {found[at]} ({int(bad.sum())} of {bad.size})"


def check(case: Case, *, is_compiled: bool = False) -> str:
    """Where Inarch differs, in a line; `refused: ...` where it says that it lacks something."""
    try:
        found = _found(case, is_compiled)
    except UnsupportedError as error:
        return f"refused: {error.line()}"
    except InarchError as error:
        return f"error: {error.line()}"
    except Exception as error:  # noqa: BLE001
        return f"crash: {type(error).__name__}: {error}"
    maker = {name: node.op_type for node in case.model.graph.node for name in node.output}
    for name, array in case.expected.items():
        said = difference(array, found[name])
        if said:
            return f"wrong: {maker[name]} '{name}': {said}"
    return ""


def _found(case: Case, is_compiled: bool) -> dict[str, Array]:
    if is_compiled:
        module = inarch.compile(case.model, dims=sizes_of(case).dims)
        return dict(zip(case.expected, module.run(case.inputs).values(), strict=True))
    context = new_context()
    module = import_onnx(case.model, context, sizes_of(case))
    with np.errstate(all="ignore"):
        outputs = execute(module, list(case.inputs.values()), context)
    return dict(zip(case.expected, results_by_name(module, outputs).values(), strict=True))


def sizes_of(case: Case) -> Sizes:
    """Exporters write a size of 0 for one that they do not know, so it has to be said."""
    return Sizes(
        dims={
            f"{name}.{axis}": 0
            for name, value in case.inputs.items()
            for axis, size in enumerate(value.shape)
            if not size
        }
    )
