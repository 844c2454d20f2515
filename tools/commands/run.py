"""`inarch run`: an artifact (or a model, compiled on the fly) on given or random inputs."""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from inarch.artifact import is_artifact
from inarch.core.errors import UsageError
from inarch.core.npz import write_npz
from inarch.core.outside.printable import printable_name
from inarch.runtime.calls.fits import said
from inarch.tools.commands import Command
from inarch.tools.extensions import load_files
from inarch.tools.flags import CALLS, FLAGS, MODEL, OFFLOAD, add_options, compile_options
from inarch.tools.options import (
    arrays_of,
    check_output,
    count,
    dims_of,
    many,
)
from inarch.tools.progress import progress
from inarch.tools.reference import check, tolerance

if TYPE_CHECKING:
    import numpy as np

    from inarch.artifact.manifest import Port
    from inarch.core.dtypes import DType
    from inarch.frontends.open import OpenPort
    from inarch.runtime.module import Function, Module

    Arrays = dict[str, np.ndarray[Any, Any]]

SHOWN_VALUES = 8


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, help="an artifact (.inarch) or a model (.onnx, .mlir)")
    parser.add_argument(
        "--input",
        **many("[NAME=]FILE"),
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
        "--tolerance",
        metavar="METRIC=NUMBER",
        help="what --check allows each output, as a backend declares it: snr=20, relative=0.01, absolute, "
        "cosine, top1 (default: relative=1e-4, or what the network amplifies rounding to)",
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
    parser.add_argument("--loader", **many("FILE"), help=loaders)
    parser.add_argument("--repeat", type=count, metavar="N", help="also time N calls")
    add_options(parser, *MODEL, *OFFLOAD)
    parser.add_argument("--json", action="store_true", help="print the outputs' facts as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors")


def _execute(arguments: argparse.Namespace) -> int:
    if arguments.output is not None:
        check_output(arguments.output, arguments.model)
    tolerance(arguments)  # what is wrong is said before anything is compiled
    module = _module(arguments)
    names = [port.name for port in _ports(module, arguments)]
    given = _given(names, [port.name for port in module.defaults], arguments)
    function = _function(module, arguments, given)
    inputs, random = _inputs(function, given, arguments)
    results = function.run(inputs)
    if arguments.output is not None:
        write_npz(arguments.output, results)
    facts: dict[str, Any] = {"outputs": {name: _facts(array) for name, array in results.items()}}
    if arguments.repeat:
        facts |= _time(function, inputs, arguments.repeat)
    if arguments.check:
        facts["check"] = check(arguments, inputs, results)
    if random and not arguments.quiet:
        print(
            f"{printable_name(', '.join(random))}: random (seed {arguments.seed})", file=sys.stderr
        )
    if arguments.json:
        print(json.dumps(finite(facts), allow_nan=False))
    elif not arguments.quiet:
        _print(facts, results)
    return 0


def _module(arguments: argparse.Namespace) -> Module:
    from inarch.runtime.module import load

    if is_artifact(arguments.model):
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
    from inarch.driver.compile import compile as compile_model

    with progress(quiet=arguments.quiet) as report:
        return compile_model(arguments.model, compile_options(arguments), progress=report)


def _ports(module: Module, arguments: argparse.Namespace) -> Sequence[Port | OpenPort]:
    """The inputs of the function to call."""
    if arguments.function is None and not module.functions:  # its sizes are open
        return module.inputs
    return _named(module, arguments.function).signature.inputs


def _named(module: Module, name: str | None) -> Function:
    """The named function, or `main`."""
    if name is None and "main" not in module.functions and len(module.functions) == 1:
        only = next(iter(module.functions))
        raise UsageError(f"no function 'main' in module '{module.name}'; add --function {only}")
    return module.get_function(name or "main")


def _function(module: Module, arguments: argparse.Namespace, given: Arrays) -> Function:
    """The function to call, where there are several sizes for what is given."""
    if not module.functions:
        from inarch.driver.open_model import OpenModule

        assert isinstance(module, OpenModule), "others have functions"
        missing = [port for port in module.inputs if port.name not in given]
        if missing:
            raise UsageError(
                f"{arguments.model}: its sizes are open ({', '.join(map(str, module.inputs))}); give "
                "--dim NAME=SIZE for each, or all inputs with --input"
            )
        return module.at(**given).get_function("main")
    function = _named(module, arguments.function)
    if function.fits is None:
        if arguments.dim and is_artifact(arguments.model) and not arguments.check:
            raise _is_compiled("--dim", arguments)
        return function
    found = function.fits.given(
        dims_of(arguments.dim), {name: array.shape for name, array in given.items()}
    )
    if found is None:
        asked = [
            *arguments.dim,
            *(f"'{name}' {list(array.shape)}" for name, array in given.items()),
        ]
        raise UsageError(
            f"{arguments.model}: it has code for {'; '.join(map(said, function.sizes))}, not for "
            f"{', '.join(asked)}"
        )
    return found


def _refuse_model_options(arguments: argparse.Namespace) -> None:
    """Options that would do nothing: an artifact has its target, its name and its shapes."""
    is_imported = arguments.check and not arguments.check.endswith(".npz")
    useful = (*CALLS, "shapes", "values") if is_imported else CALLS
    for name, one in FLAGS.items():
        if name not in useful and one.is_given(arguments):
            raise _is_compiled(one.flag, arguments)


def _is_compiled(option: str, arguments: argparse.Namespace) -> UsageError:
    return UsageError(
        f"{option}: '{arguments.model}' is compiled already; give it to `inarch compile`"
    )


def _given(names: Sequence[str], defaults: Sequence[str], arguments: argparse.Namespace) -> Arrays:
    """The inputs that are given, by name. Raises UsageError for others, also for `defaults`: compiled in."""
    import numpy as np

    given: Arrays = {}
    for text in arguments.input:
        given |= _read(text, [name for name in names if name not in given])
    if stray := [name for name in given if name not in names]:
        if stray[0] in defaults:
            raise UsageError(
                f"--input: the value of '{stray[0]}' is compiled in; give another one when the model is "
                f"compiled, --value {stray[0]}=FILE.npy"
            )
        raise UsageError(f"--input: no input '{stray[0]}'; the inputs are: {', '.join(names)}")
    # A file may be in Fortran's order: its values are what was given, not its strides.
    # (ascontiguousarray makes a scalar an array of one element.)
    return {name: np.ascontiguousarray(array).reshape(array.shape) for name, array in given.items()}


def _inputs(
    function: Function, given: Arrays, arguments: argparse.Namespace
) -> tuple[Arrays, list[str]]:
    """The given inputs, and seeded random ones for those that are not given; and which those are."""
    import numpy as np

    ports = function.signature.inputs
    rng = np.random.default_rng(arguments.seed)
    random = {port.name: _random(rng, port.dtype, port.shape) for port in ports}
    return {port.name: given.get(port.name, random[port.name]) for port in ports}, [
        port.name for port in ports if port.name not in given
    ]


def _random(rng: np.random.Generator, kind: DType, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Floats: standard normal; integers: 0 or 1, indices of every table with two rows; bools: either."""
    if kind.is_float:
        return rng.standard_normal(shape).astype(kind.numpy)
    return rng.integers(0, 2, shape).astype(kind.numpy)


def _read(text: str, missing: list[str]) -> Arrays:
    """`NAME=file.npy`, `file.npy` (the next input), or `file.npz` (by name)."""
    name, equals, path = text.rpartition("=")
    if not path:
        raise UsageError(f"--input: expected a file, found '{text}'")
    loaded = arrays_of("--input", "[NAME=]FILE", text, path)
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


def _time(function: Function, inputs: Arrays, count: int) -> dict[str, Any]:
    """The median time of a call in microseconds, and its percentiles."""
    arrays = [inputs[spec.name] for spec in function.signature.inputs]
    times: list[float] = []
    for _ in range(count):
        start = time.perf_counter()
        function(*arrays)
        times.append((time.perf_counter() - start) * 1e6)
    times.sort()
    percentiles = {f"p{part}": times[min(count - 1, count * part // 100)] for part in (50, 90, 99)}
    return {
        "microseconds": times[count // 2],
        "percentiles": {**percentiles, "min": times[0], "max": times[-1]},
    }


def _print(facts: dict[str, Any], results: Arrays) -> None:
    import numpy as np

    for name, array in results.items():
        values = np.array2string(
            array.ravel()[:SHOWN_VALUES], max_line_width=1000, precision=4, separator=", "
        )
        more = " ..." if array.size > SHOWN_VALUES else ""
        print(f"{printable_name(name)}: {array.dtype.name}{list(array.shape)} {values}{more}")
    if "microseconds" in facts:
        parts = ", ".join(
            f"{name} {us:.1f}" for name, us in facts["percentiles"].items() if name != "p50"
        )
        print(f"median of calls: {facts['microseconds']:.1f} us ({parts})")
    for name, difference in facts.get("check", {}).items():
        print(
            f"check {printable_name(name)}: agrees, largest difference {difference:.1e} of the maximum"
        )


COMMAND = Command(
    description="Run an artifact or a model on .npy/.npz inputs, or on seeded random ones.",
    epilog="""examples:
  inarch run model.inarch --input image.npy
  inarch run model.onnx --dim batch=1 --check onnxruntime
""",
    add_arguments=_add_arguments,
    execute=_execute,
)
