"""`inarch run`: an artifact (or a model, compiled on the fly) on given or random inputs."""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from inarch.core.errors import EnvironmentFault, InarchError, UsageError
from inarch.core.npz import write_npz
from inarch.tools.commands import Command
from inarch.tools.extensions import load_files
from inarch.tools.options import (
    add_model_options,
    add_offload_options,
    check_output,
    compile_options,
    count,
    values_of,
)
from inarch.tools.progress import progress

if TYPE_CHECKING:
    import numpy as np
    from xdsl.dialects.builtin import ModuleOp

    from inarch.core.dtypes import DType
    from inarch.runtime.module import Function, Module

    Arrays = dict[str, np.ndarray[Any, Any]]

TOLERANCE = 1e-4
"""Largest difference that `--check` allows, relative to the largest magnitude of an output."""

SHOWN_VALUES = 8


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, help="an artifact (.inarch) or a model (.onnx, .mlir)")
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="[NAME=]FILE",
        help="an input from a .npy file (by name, or in order), or all of them from one .npz",
    )
    parser.add_argument("--seed", type=count, default=0, help="seed of inputs that are not given")
    parser.add_argument("--function", help="the function to call (default: main)")
    parser.add_argument("-o", "--output", type=Path, help="write the outputs to this .npz")
    parser.add_argument(
        "--check",
        metavar="REFERENCE",
        help="compare with a reference and leave with 1 on a difference: a .npz of outputs, a model "
        "(.onnx, .mlir) evaluated by NumPy, or 'onnxruntime' for the model that is run",
    )
    parser.add_argument(
        "--verify",
        action="store_true",
        help="of an artifact: compare the SHA-256 of library, weights and submodules with the manifest "
        "(without it a checksum finds accidents)",
    )
    parser.add_argument("--repeat", type=count, metavar="N", help="also time N calls")
    add_model_options(parser)
    add_offload_options(parser)
    parser.add_argument("--json", action="store_true", help="print the outputs' facts as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors")


def _execute(arguments: argparse.Namespace) -> int:
    if arguments.output is not None:
        check_output(arguments.output, arguments.model)
    module = _module(arguments)
    function = _function(module, arguments.function)
    inputs, random = _inputs(function, arguments)
    results = function.run(inputs)
    if arguments.output is not None:
        write_npz(arguments.output, results)
    facts: dict[str, Any] = {"outputs": {name: _facts(array) for name, array in results.items()}}
    if arguments.repeat:
        facts["microseconds"] = _time(function, inputs, arguments.repeat)
    if arguments.check:
        facts["check"] = _check(arguments, inputs, results)
    if random and not arguments.quiet:
        print(f"{', '.join(random)}: random (seed {arguments.seed})", file=sys.stderr)
    if arguments.json:
        print(json.dumps(finite(facts), allow_nan=False))
    elif not arguments.quiet:
        _print(facts, results)
    return 0


def _module(arguments: argparse.Namespace) -> Module:
    from inarch.runtime.module import load

    if _is_artifact(arguments.model):
        _refuse_model_options(arguments)
        load_files(arguments.load)  # the loaders of its submodules
        return load(arguments.model, verify=arguments.verify, threads=arguments.threads)
    if arguments.verify:
        raise UsageError(
            f"--verify: expected an artifact, found the model '{arguments.model}', which is compiled now; "
            "leave it out"
        )
    from inarch.driver.compiler import compile as compile_model

    with progress(quiet=arguments.quiet) as report:
        return compile_model(arguments.model, compile_options(arguments), progress=report)


def _function(module: Module, name: str | None) -> Function:
    """The function to call: the named one, or `main`."""
    if name is None and "main" not in module.functions and len(module.functions) == 1:
        only = next(iter(module.functions))
        raise UsageError(f"no function 'main' in module '{module.name}'; add --function {only}")
    return module.get_function(name or "main")


def _is_artifact(path: Path) -> bool:
    """Whether `path` is a compiled program, of any name, or is called like one."""
    if path.suffix == ".inarch" or not path.suffix:
        return True
    try:
        with path.open("rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False  # the reader of models says so better


def _refuse_model_options(arguments: argparse.Namespace) -> None:
    """Options that would do nothing: an artifact has its target, its name and its shapes."""
    given = {
        "--host": arguments.host is not None,
        "--target": arguments.target != "native",
        "--name": arguments.name is not None,
        "--jobs": arguments.jobs is not None,
    }
    for option in ("backend", "backend_option", "give", "keep", "require_offload", "checked"):
        given[f"--{option.replace('_', '-')}"] = bool(getattr(arguments, option))
    if not arguments.check or arguments.check.endswith(".npz"):
        given |= {
            "--dim": bool(arguments.dim),
            "--shape": bool(arguments.shape),
            "--value": bool(arguments.value),
        }
    for option, is_given in given.items():
        if is_given:
            raise UsageError(
                f"{option}: '{arguments.model}' is compiled already; give it to `inarch compile`"
            )


def _inputs(function: Function, arguments: argparse.Namespace) -> tuple[Arrays, list[str]]:
    """The given inputs, and seeded random ones for those that are not given; and which those are."""
    import numpy as np

    names = [spec.name for spec in function.signature.inputs]
    given: Arrays = {}
    for text in arguments.input:
        given |= _read(text, [name for name in names if name not in given])
    if stray := [name for name in given if name not in names]:
        raise UsageError(f"--input: no input '{stray[0]}'; the inputs are: {', '.join(names)}")
    rng = np.random.default_rng(arguments.seed)
    random = {spec.name: _random(rng, spec.dtype, spec.shape) for spec in function.signature.inputs}
    # A file may be in Fortran's order: its values are what was given, not its strides.
    # (ascontiguousarray makes a scalar an array of one element.)
    rows = {name: np.ascontiguousarray(array).reshape(array.shape) for name, array in given.items()}
    return {name: rows.get(name, random[name]) for name in names}, [
        name for name in names if name not in given
    ]


def _random(rng: np.random.Generator, kind: DType, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Floats: standard normal; integers: 0 to 9, which are also good indices; bools: either."""
    if kind.is_float:
        return rng.standard_normal(shape).astype(kind.numpy)
    return rng.integers(0, 2 if kind.name == "i1" else 10, shape).astype(kind.numpy)


def _read(text: str, missing: list[str]) -> Arrays:
    """`NAME=file.npy`, `file.npy` (the next input), or `file.npz` (by name)."""
    name, equals, path = text.rpartition("=")
    if not path:
        raise UsageError(f"--input: expected a file, found '{text}'")
    loaded = _read_file("--input", path)
    if isinstance(loaded, dict):
        return loaded
    if equals:
        return {name: loaded}
    if not missing:
        raise UsageError(f"--input: '{path}' is one array more than there are inputs")
    return {missing[0]: loaded}


def _read_file(option: str, path: str) -> np.ndarray[Any, Any] | Arrays:
    from inarch.core.npz import read_arrays

    try:
        return read_arrays(Path(path))
    except InarchError as error:
        raise UsageError(f"{option}: {error.message}", where=error.where) from error


def _facts(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    import numpy as np

    facts: dict[str, Any] = {"dtype": array.dtype.name, "shape": list(array.shape)}
    if array.size:
        values = array.astype(np.float64)
        facts |= {
            "min": float(values.min()),
            "max": float(values.max()),
            "mean": float(values.mean()),
        }
        facts["argmax"] = int(array.argmax())
    return facts


def finite(facts: Any) -> Any:
    """`facts` for JSON, which has neither NaN nor infinity: null in their place."""
    if isinstance(facts, dict):
        return {key: finite(value) for key, value in cast("dict[str, Any]", facts).items()}
    if isinstance(facts, float) and not math.isfinite(facts):
        return None
    return facts


def _time(function: Function, inputs: Arrays, count: int) -> float:
    """The median time of a call, in microseconds."""
    arrays = [inputs[spec.name] for spec in function.signature.inputs]
    times: list[float] = []
    for _ in range(count):
        start = time.perf_counter()
        function(*arrays)
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2] * 1e6


def _check(arguments: argparse.Namespace, inputs: Arrays, results: Arrays) -> dict[str, float]:
    """The difference of each output from the reference, relative to the reference's maximum."""
    import numpy as np

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
        if array.size == 0:
            differences[name] = 0.0
            continue
        gap, scale = _gap(array.astype(np.float64), wanted.astype(np.float64))
        differences[name] = float(gap.max()) / scale
        if not differences[name] <= TOLERANCE:
            place = tuple(int(i) for i in np.unravel_index(int(gap.argmax()), gap.shape))
            raise InarchError(
                f"--check: output '{name}' differs by {differences[name]:.2e} of its maximum "
                f"(allowed: {TOLERANCE:.0e}): element {list(place)} is {array[place]}, "
                f"expected {wanted[place]}"
            )
    return differences


def _gap(
    found: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any]
) -> tuple[np.ndarray[Any, Any], float]:
    """The difference of each element, infinite where only one is finite, and the largest magnitude."""
    import numpy as np

    same = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
    with np.errstate(invalid="ignore", over="ignore"):
        gap = np.where(same, 0.0, np.abs(found - wanted))
    gap[np.isnan(gap)] = np.inf
    finite = np.abs(wanted[np.isfinite(wanted)])
    return gap, float(finite.max(initial=0.0)) or 1.0


def _reference(arguments: argparse.Namespace, inputs: Arrays) -> Arrays:
    if arguments.check.endswith(".npz"):
        arrays = _read_file("--check", arguments.check)
        if isinstance(arrays, dict):
            return arrays
        raise UsageError(f"--check: expected a .npz of outputs by name, found '{arguments.check}'")
    if arguments.check == "onnxruntime":
        return _onnxruntime(arguments.model, inputs | _values(arguments))
    return _by_numpy(Path(arguments.check), arguments, inputs)


def _by_numpy(model: Path, arguments: argparse.Namespace, inputs: Arrays) -> Arrays:
    from inarch.dialects import new_context
    from inarch.driver.compiler import import_model
    from inarch.testing import execute

    options = compile_options(arguments, load=False)
    if model.suffix != ".mlir":  # whose shapes are static
        given = {name: array.shape for name, array in inputs.items()}
        options = replace(options, shapes={**given, **(options.shapes or {})})
    context = new_context()
    module = import_model(model, context, options)
    results = execute(module, list(inputs.values()), ctx=context)
    return dict(zip(_output_names(module), results, strict=True))


def _output_names(module: ModuleOp) -> list[str]:
    """The model's names of the outputs of @main: attributes of results, or of trailing arguments."""
    from xdsl.dialects.builtin import StringAttr
    from xdsl.dialects.func import FuncOp

    main = next(
        op for op in module.body.ops if isinstance(op, FuncOp) and op.sym_name.data == "main"
    )
    results = list(main.res_attrs or ())
    arguments = [one for one in main.arg_attrs or () if "inarch.result" in one.data]
    names = [one.data.get("inarch.name") for one in (*results, *arguments)]
    names = names or [None] * len(main.function_type.outputs)
    return [
        name.data if isinstance(name, StringAttr) else f"out{index}"
        for index, name in enumerate(names)
    ]


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
    try:
        import onnxruntime  # pyright: ignore[reportMissingTypeStubs]
    except ImportError as error:
        raise EnvironmentFault(
            "--check onnxruntime: the package onnxruntime is not installed; pip install onnxruntime"
        ) from error
    try:
        session: Any = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
        names = [output.name for output in session.get_outputs()]
        return dict(zip(names, session.run(names, inputs), strict=True))
    except Exception as error:
        # Its exceptions have no common base; their first line says what it cannot do.
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InarchError(f"--check onnxruntime: it cannot run the model: {reason}") from error


def _print(facts: dict[str, Any], results: Arrays) -> None:
    import numpy as np

    for name, array in results.items():
        values = np.array2string(
            array.ravel()[:SHOWN_VALUES], max_line_width=1000, precision=4, separator=", "
        )
        more = " ..." if array.size > SHOWN_VALUES else ""
        print(f"{name}: {array.dtype.name}{list(array.shape)} {values}{more}")
    if "microseconds" in facts:
        print(f"median of calls: {facts['microseconds']:.1f} us")
    for name, difference in facts.get("check", {}).items():
        print(f"check {name}: agrees, largest difference {difference:.1e} of the maximum")


COMMAND = Command(
    description="Run an artifact or a model on .npy/.npz inputs, or on seeded random ones.",
    epilog="""examples:
  inarch run model.inarch --input image.npy
  inarch run model.onnx --dim batch=1 --check onnxruntime
""",
    add_arguments=_add_arguments,
    execute=_execute,
)
