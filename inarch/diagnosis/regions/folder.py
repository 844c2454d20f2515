"""Regions as folders that `inarch verify` runs again: the program, its inputs, what it must give, a command.

DIR/npu_0/region.mlir, region.npz     @main, which calls the region; its larger constants
DIR/npu_0/inputs.npz, expected.npz    what enters it in the model, and what the definitions give
DIR/npu_0/region.json, README.md      whose it is, what it is made of, how to run it
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from inarch import __version__
from inarch.core.errors import InarchError
from inarch.core.lazy import Array
from inarch.core.npz import read_arrays, write_npz
from inarch.core.outside.value import Document, Value
from inarch.diagnosis.folders import copied, new_folder
from inarch.diagnosis.regions.found import Region, regions_of
from inarch.diagnosis.slices import main_block, value_names
from inarch.driver.compiler import import_model
from inarch.driver.options import Options
from inarch.frontends.mlir import resource_keys, write_resources
from inarch.ir.text import print_module
from inarch.testing import random_inputs

SCHEMA = "inarch.region/1"
_FILE = "region.json"


@dataclass(frozen=True)
class _Facts:
    """What is read of it, the version first."""

    schema: Literal["inarch.region/1"]
    region: str
    tolerance: str


def dump_regions(
    folder: Path,
    regions: Sequence[Region],
    context: Context,
    load: Sequence[Path] = (),
    *,
    shows_fault: bool = False,
) -> list[Path]:
    """Writes a folder for each region into `folder`, whole or not at all.

    `load` are files of `--load`, for the commands, which are copied. `folder` must not exist; with
    `shows_fault` it may be the reproducer of an earlier fault. Raises EnvironmentFault.
    """
    with new_folder(folder, shows_fault=shows_fault) as made:
        copies = copied(load, made / "load")
        for region in regions:
            _write(made / region.label, region, context, copies)
    return [folder / region.label for region in regions]


def _write(made: Path, region: Region, context: Context, load: Sequence[str]) -> None:
    made.mkdir()
    program = region.program()
    (made / "region.mlir").write_text(print_module(program, locations=True))
    if resource_keys(program):
        write_resources(made / "region.npz", program, context)
    write_npz(made / "inputs.npz", region.inputs)
    write_npz(made / "expected.npz", region.expected)
    loads = [word for name in load for word in ("--load", f"../{name}")]
    command = shlex.join(["inarch", "verify", ".", *loads])
    facts = {
        "schema": SCHEMA,
        "inarch": __version__,
        "region": region.label,
        "symbol": region.symbol,
        "backend": region.backend,
        "ops": list(region.ops),
        "tolerance": str(region.tolerances) if region.is_declared else "",
    }
    (made / _FILE).write_text(json.dumps(facts, indent=1) + "\n")
    ops = "".join(f"- {op}\n" for op in region.ops)
    (made / "README.md").write_text(
        f"# {region.label} of backend '{region.backend}'\n\nInarch {__version__}. What enters the region in "
        f"the model is `inputs.npz`, what the definitions of its ops give `expected.npz`.\n\n"
        f"    {command}\n\nin this folder compares what the backend makes of it. It is made of\n\n{ops}"
    )


def read_region(
    folder: Path, context: Context, options: Options, said: Mapping[str, str] | None = None
) -> Region:
    """The region of a folder; `said` takes the place of the tolerance in it, as in `regions_of`.

    Raises InarchError for a folder that is damaged.
    """
    where = folder / _FILE
    try:
        top = Value(json.loads(where.read_text()), "", Document(str(where)))
    except (OSError, ValueError, RecursionError) as error:
        raise InarchError(f"expected what a region is: {error}", where=str(where)) from error
    found = top.read(_Facts)
    module = import_model(folder / "region.mlir", context, options)
    inputs, expected = _arrays(folder / "inputs.npz"), _arrays(folder / "expected.npz")
    _check_like(folder / "inputs.npz", inputs, _inputs_like(module))
    tolerance = said or ({"": found.tolerance} if found.tolerance else {})
    regions = regions_of(module, context, inputs, tolerance)
    if len(regions) != 1:
        raise InarchError(
            f"expected a program that calls one region, found {len(regions)}",
            where=str(folder / "region.mlir"),
        )
    _check_like(folder / "expected.npz", expected, regions[0].expected)
    return replace(regions[0], label=found.region, expected=expected)


def _inputs_like(module: ModuleOp) -> dict[str, Array]:
    """Arrays such as @main takes, by name."""
    names = value_names(module)
    arguments = [names[argument] for argument in main_block(module).args]
    return dict(zip(arguments, random_inputs(module), strict=True))


def _check_like(path: Path, found: Mapping[str, Array], wanted: Mapping[str, Array]) -> None:
    """Raises InarchError for arrays of other names, shapes or dtypes."""
    for name, array in wanted.items():
        other = found.get(name)
        if other is None or (other.shape, other.dtype) != (array.shape, array.dtype):
            seen = "none" if other is None else f"{other.dtype}{list(other.shape)}"
            raise InarchError(
                f"expected '{name}' of {array.dtype}{list(array.shape)}, found {seen}",
                where=str(path),
            )


def _arrays(path: Path) -> dict[str, Array]:
    found = read_arrays(path)
    if not isinstance(found, dict):
        raise InarchError("expected arrays by name", where=str(path))
    return found
