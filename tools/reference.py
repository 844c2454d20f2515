"""What `inarch run --check` compares with: outputs in a file, or of a model by NumPy or onnxruntime."""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inarch.artifact import Artifact, is_artifact
from inarch.core.errors import InarchError, UsageError
from inarch.tools.flags import compile_options
from inarch.tools.options import arrays_of, values_of

if TYPE_CHECKING:
    import numpy as np
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp

    from inarch.driver.options import Options
    from inarch.offload.tolerance import Tolerance

    Arrays = dict[str, np.ndarray[Any, Any]]


def check(arguments: argparse.Namespace, inputs: Arrays, results: Arrays) -> dict[str, float]:
    """The difference of each output from the reference, relative to the reference's maximum.

    Raises InarchError for one beyond `--tolerance`, or else farther away than the rounding of a network
    explains (`inarch.diagnosis.network`), an output that is missing, or one of another shape.
    """
    import numpy as np

    from inarch.core.rounding import distance, largest, relative

    asked = tolerance(arguments)
    expected = _reference(arguments, inputs)
    differences: dict[str, float] = {}
    for name, array in results.items():
        if name not in expected:
            raise InarchError(f"--check: the reference has no output '{name}'")
        wanted = expected[name]
        if wanted.shape != array.shape:
            raise InarchError(
                f"--check: output '{name}': expected shape {wanted.shape}, found {array.shape}"
            )
        differences[name] = relative(wanted, array)
        if asked is not None and array.size:
            measured = asked.measure(wanted, array)
            if not asked.allows(measured):
                raise _differs(name, wanted, array, f": {asked.shown(measured)} (allowed: {asked})")
    if asked is None:
        wanted = {name: expected[name] for name in results}
        allowed = _allowed(arguments, inputs, wanted, results)
        for name, value in wanted.items():
            if (distance(value, results[name]) > allowed[name]).any():
                share = float(np.max(allowed[name])) / (largest(value) or 1.0)
                said = f" differs by {differences[name]:.2e} of its maximum (allowed: {share:.0e})"
                raise _differs(name, value, results[name], said)
    return differences


def _allowed(
    arguments: argparse.Namespace, inputs: Arrays, wanted: Arrays, results: Arrays
) -> Arrays:
    """How far each output may be away; the compiler is asked only where that is not plain."""
    import numpy as np

    from inarch.core.rounding import distance, whole

    near = {name: np.asarray(whole(value)) for name, value in wanted.items()}
    far = any((distance(value, results[name]) > near[name]).any() for name, value in wanted.items())
    is_known = not arguments.check.endswith(".npz") or not is_artifact(arguments.model)
    if not far or not is_known:
        return near
    from inarch.diagnosis.network import network_verdict

    seen = network_verdict(wanted, results, partial(_explained, arguments, inputs))
    return {name: each.bound for name, each in seen.expected.items()}


def _differs(
    name: str, wanted: np.ndarray[Any, Any], found: np.ndarray[Any, Any], said: str
) -> InarchError:
    import numpy as np

    from inarch.core.rounding import distance

    away = distance(wanted, found)
    place = tuple(int(i) for i in np.unravel_index(int(away.argmax()), away.shape))
    return InarchError(
        f"--check: output '{name}'{said}: element {list(place)} is {found[place]}, "
        f"expected {wanted[place]}"
    )


def tolerance(arguments: argparse.Namespace) -> Tolerance | None:
    """What `--tolerance` says; None: nothing. Raises UsageError."""
    if arguments.tolerance is None:
        return None
    if not arguments.check:
        raise UsageError("--tolerance: expected --check REFERENCE beside it, found none")
    from inarch.offload.tolerance import Tolerance

    return Tolerance.parse(arguments.tolerance, "--tolerance")


def _reference(arguments: argparse.Namespace, inputs: Arrays) -> Arrays:
    if arguments.check.endswith(".npz"):
        arrays = arrays_of("--check", "FILE.npz", arguments.check)
        if isinstance(arrays, dict):
            return arrays
        raise UsageError(f"--check: expected a .npz of outputs by name, found '{arguments.check}'")
    if arguments.check == "onnxruntime":
        return _onnxruntime(arguments.model, inputs | _values(arguments))
    return _by_numpy(Path(arguments.check), arguments, inputs)


def _by_numpy(model: Path, arguments: argparse.Namespace, inputs: Arrays) -> Arrays:
    from inarch.testing import execute
    from inarch.testing.results import results_by_name

    module, context = _imported(model, arguments, inputs)
    return results_by_name(module, execute(module, list(inputs.values()), ctx=context))


def _imported(
    model: Path, arguments: argparse.Namespace, inputs: Arrays
) -> tuple[ModuleOp, Context]:
    """The model for inputs of these shapes, with factors rounded as those of what is run."""
    from inarch.dialects import new_context
    from inarch.driver.compiler import import_model
    from inarch.pipeline.rounded import round_factors

    options = compile_options(arguments, load=False)
    if is_artifact(arguments.model):
        options = _rounding_as(arguments.model, options)
    if model.suffix != ".mlir":  # whose shapes are static
        given = {name: array.shape for name, array in inputs.items()}
        options = replace(options, shapes={**given, **(options.shapes or {})})
    context = new_context()
    module = import_model(model, context, options)
    round_factors(context, module)
    return module, context


def _rounding_as(artifact: Path, options: Options) -> Options:
    """With the precision of an artifact, and the target that decides which factors are rounded."""
    from inarch.machine.target import parse

    with Artifact.open(artifact) as found:
        programs = found.manifest.programs or (found.manifest,)
    here = [each for each in programs if not parse(each.target).missing_here()] or [*programs]
    precision = here[-1].provenance.precision
    return replace(options, precision=precision, target=here[-1].target) if precision else options


def _explained(arguments: argparse.Namespace, inputs: Arrays) -> Arrays:
    """How far rounding may take each output; of what is no network, or no model, nothing is known."""
    from inarch.diagnosis.network import explained
    from inarch.diagnosis.slices import cut, is_network, main_block, steps, value_names
    from inarch.testing.results import result_names

    model = Path(arguments.check)
    if model.suffix not in (".onnx", ".mlir"):
        model = arguments.model
        if is_artifact(model):
            return {}
    module, context = _imported(model, arguments, inputs)
    if not is_network(module):
        return {}
    names, block = value_names(module), main_block(module)
    given = {names[each]: array for each, array in zip(block.args, inputs.values(), strict=True)}
    bounds = explained(cut(module, steps(module)), context, given)
    returned = block.last_op
    assert returned is not None, "a function ends with a return"
    outputs = zip(result_names(module, len(returned.operands)), returned.operands, strict=True)
    return {name: bounds[names[value]] for name, value in outputs if names[value] in bounds}


def _values(arguments: argparse.Namespace) -> Arrays:
    """What `--value` gives, for those who take the model as it is: of the model's dtypes and ranks."""
    if not arguments.value:
        return {}
    from onnx import ModelProto, load_model  # pyright: ignore[reportUnknownVariableType]

    from inarch.frontends.onnx.tensors import element_dtype
    from inarch.frontends.values import fixed_value

    found: Arrays = {}
    values = values_of(arguments.value)
    model: ModelProto = load_model(str(arguments.model), load_external_data=False)
    for info in model.graph.input:
        kind = info.type.tensor_type
        if info.name in values:
            dtype = element_dtype(kind.elem_type)
            found[info.name] = fixed_value(info.name, values[info.name], dtype, len(kind.shape.dim))
    return found


def _onnxruntime(model: Path, inputs: Arrays) -> Arrays:
    if model.suffix != ".onnx":
        raise UsageError(f"--check onnxruntime: expected to run a model in .onnx, found '{model}'")
    from inarch.diagnosis.against import run_onnxruntime

    return run_onnxruntime(str(model), inputs, "--check onnxruntime")
