"""`inarch run`: an artifact (or a model, compiled on the fly) on given or random inputs."""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from inarch.core.errors import UsageError
from inarch.core.npz import write_npz
from inarch.tools.commands import Command
from inarch.tools.extensions import load_files
from inarch.tools.options import (
    add_model_options,
    add_offload_options,
    check_output,
    compile_options,
    count,
)
from inarch.tools.progress import progress
from inarch.tools.reference import check, read_arrays_of

if TYPE_CHECKING:
    import numpy as np

    from inarch.core.dtypes import DType
    from inarch.runtime.module import Function, Module

    Arrays = dict[str, np.ndarray[Any, Any]]

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
    parser.add_argument(
        "--verify-key",
        type=Path,
        metavar="PUBLIC",
        help="of an artifact: refuse what is not signed with this public Ed25519 key",
    )
    loaders = (
        "of an artifact: a library that runs parts in a backend's own format (inarch_loader.h)"
    )
    parser.add_argument("--loader", action="append", default=[], metavar="FILE", help=loaders)
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
        facts["check"] = check(arguments, inputs, results)
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
        checks: dict[str, Any] = {"verify": arguments.verify, "verify_key": arguments.verify_key}
        how = {"loaders": arguments.loader, "threads": arguments.threads}
        return load(arguments.model, **checks, **how)
    for option in ("verify", "verify_key", "loader"):
        if getattr(arguments, option):
            raise UsageError(
                f"--{option.replace('_', '-')}: expected an artifact, found the model '{arguments.model}', "
                "which is compiled now; leave it out"
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
    loaded = read_arrays_of("--input", path)
    if isinstance(loaded, dict):
        return loaded
    if equals:
        return {name: loaded}
    if not missing:
        raise UsageError(f"--input: '{path}' is one array more than there are inputs")
    return {missing[0]: loaded}


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
