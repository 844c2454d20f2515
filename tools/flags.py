"""The options that commands share, each a row: the field of `Options` it sets, and how a text gives it."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from inarch.tools.options import (
    at_least_one,
    backend_options_of,
    backends_of,
    dims_of,
    many,
    metadata_of,
    microkernel_names,
    places_of,
    sets_of,
    shapes_of,
    values_of,
)
from inarch.tools.semantics import SEMANTICS, SEMANTICS_HELP, seed

if TYPE_CHECKING:
    from inarch.driver.options import Options, Settings


@dataclass(frozen=True)
class Flag:
    """How commands take a field of `Options`: what argparse is told of it, and how its value is read."""

    flag: str
    help: str
    how: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """More for argparse."""
    read: Callable[[Any], object] = lambda given: given
    """From what argparse gives to the field. Raises UsageError."""

    @property
    def name(self) -> str:
        """Its name among the arguments."""
        return self.flag.removeprefix("--").replace("-", "_")

    def is_given(self, arguments: argparse.Namespace) -> bool:
        """Whether its value is not the one without it."""
        value = getattr(arguments, self.name, None)
        return value is not None and value is not False and value != self.how.get("default")


_SWITCH = {"action": "store_true"}
_COUNT = {"type": at_least_one, "metavar": "N"}
_FILE: dict[str, Any] = {"type": Path, "metavar": "FILE"}

FLAGS: Mapping[str, Flag] = {
    "dims": Flag("--dim", "bind a symbolic dimension (repeatable)", many("NAME=VALUE"), dims_of),
    "shapes": Flag(
        "--shape", "give an input its shape (repeatable)", many("INPUT=1x3x224x224"), shapes_of
    ),
    "values": Flag(
        "--value",
        "an input that is always the same: it becomes a constant, on which shapes may depend "
        "(axes=0,2; repeatable)",
        many("INPUT=NUMBERS|FILE.npy"),
        values_of,
    ),
    "host": Flag(
        "--host",
        "who compiles the program, but for what backends take (default: c); see `inarch list hosts`",
        {"metavar": "NAME"},
    ),
    "target": Flag(
        "--target",
        "CPU to compile for: native (default), or a name such as x86-64-v3, "
        "x86-64-v4+avx512vnni, aarch64, generic; several with commas make one artifact with code for each",
        {"default": "native"},
    ),
    "machine": Flag(
        "--machine",
        "whose caches and ports to choose for: a name, or a file of `inarch machine` (default: the "
        "target's; for native this computer as `inarch machine --measure` found it)",
        {"metavar": "NAME|FILE"},
    ),
    "microkernels": Flag(
        "--microkernel",
        "use this microkernel wherever it fits, or fail (repeatable); 'NAME{MR=6}': only members with "
        "these parameters; see `inarch list microkernels`",
        many("NAME"),
        partial(microkernel_names, option="--microkernel"),
    ),
    "without": Flag(
        "--without",
        "use this microkernel, or template, nowhere (repeatable)",
        many("NAME"),
        partial(microkernel_names, option="--without"),
    ),
    "algorithms": Flag(
        "--algorithm",
        "compute these ops by this algorithm: conv=winograd-2x2, 'layer1/*=direct' (repeatable); see "
        "`inarch list algorithms`",
        many("OP-OR-GLOB=NAME"),
        tuple,
    ),
    "numerics": Flag(
        "--numerics",
        "which algorithms the compiler may choose: strict, the ops' own; bounded (default), also those "
        "with a proved error bound that is no larger; fast, also those with a statistical bound",
        {"default": "bounded", "metavar": "strict|bounded|fast"},
    ),
    "precision": Flag(
        "--precision",
        "what products and convolutions of f32 may round their factors to: bf16 or f16, half of the weights; "
        "sums, and all else, are in f32 (default)",
        {"default": "f32", "metavar": "f32|bf16|f16"},
    ),
    "measure": Flag(
        "--no-measure",
        "estimate what calls of kernels take that state no cost (default: measure them, once on each "
        "machine, where the target runs here)",
        _SWITCH,
        lambda given: not given,
    ),
    "records": Flag(
        "--records",
        "do loop nests as `inarch tune` has measured to be the fastest, where this file has them "
        "(repeatable)",
        many(**_FILE),
        tuple,
    ),
    "schedule": Flag(
        "--schedule", "transform loops by hand, as this file says (docs/schedules.md)", _FILE
    ),
    "name": Flag("--name", "prefix of every symbol (default: the model's name)"),
    "threads": Flag(
        "--threads",
        "threads of a call, at most (default: whoever calls says; 1: compile none in)",
        _COUNT,
    ),
    "jobs": Flag("--jobs", "how many C compilers run at once (default: one a CPU)", _COUNT),
    "timeout": Flag(
        "--timeout",
        "that a C compiler may take for one file (default: 600)",
        {"type": at_least_one, "default": 600, "metavar": "SECONDS"},
        float,
    ),
    "load": Flag(
        "--load",
        "add the microkernel (.c, .S, .py), pass, frontend or other thing that a file defines "
        "(repeatable)",
        many(**_FILE),
    ),
    "places": Flag(
        "--place",
        "run a pass 'before PLACE', 'after PLACE' or in its stead, 'replace PLACE': a phase, a pass, or "
        "phase/pass (repeatable); --dump-pass-pipeline shows them",
        many("PASS=WHERE"),
        places_of,
    ),
    "backends": Flag(
        "--backend",
        "give these backends what they take, the first one first (repeatable; or with commas): npu, "
        "npu:array=16,memory=4MiB, big=npu:array=32; see `inarch list backends`",
        many("[NAME=]BACKEND[:OPTION=VALUE,...]"),
        backends_of,
    ),
    "backend_options": Flag(
        "--backend-option",
        "set an option of a backend, or of the instance of that name (repeatable)",
        many("NAME:OPTION=VALUE"),
        backend_options_of,
    ),
    "measure_regions": Flag(
        "--measure-regions",
        "run what backends would get, there and on the host, and leave to the host what is faster there "
        "(default: by estimates; `inarch explain --regions` shows either)",
        _SWITCH,
    ),
    "give": Flag(
        "--give",
        "ops that the backend must take, by the op's name or where it comes from (repeatable)",
        many("OP-OR-GLOB=NAME"),
    ),
    "keep": Flag(
        "--keep",
        "ops that the backend must not get (*: no backend), by the op's name or where it comes from "
        "(repeatable)",
        many("OP-OR-GLOB=NAME"),
    ),
    "require_offload": Flag(
        "--require-offload", "fail when a backend gets nothing, instead of a warning", _SWITCH
    ),
    "fallback": Flag(
        "--fallback",
        "keep the host's version of each part of a backend in the artifact, for when its device is "
        "missing or fails",
        {"choices": ["host"]},
    ),
    "checked": Flag(
        "--checked",
        "fail when the code of a backend leaves one of its outputs unwritten (slower)",
        _SWITCH,
    ),
    "verify_each": Flag(
        "--verify-each",
        "verify the program after every pass, not only after those of others and at the end",
        _SWITCH,
    ),
    "verify_semantics": Flag(SEMANTICS, SEMANTICS_HELP, {"type": seed, "metavar": "SEED"}),
    "metadata": Flag(
        "--metadata",
        "text that the artifact carries, as `inarch inspect` shows it (repeatable)",
        many("KEY=VALUE"),
        metadata_of,
    ),
    "relocatable": Flag(
        "--relocatable",
        "record no path of a library that the code calls: it is found by name, beside the artifact "
        "or in INARCH_LIBRARY_PATH",
        _SWITCH,
    ),
    "embed": Flag(
        "--embed",
        "store the libraries that the code calls in the artifact, so that it needs none beside it",
        _SWITCH,
    ),
    "specialize": Flag(
        "--specialize",
        "make code for several sizes of a symbolic dimension (batch=1,8), which share the weights: a "
        "call takes what fits its arrays; repeated, all combinations; batch=1,seq=64 is one set of sizes",
        many("NAME=SIZES"),
        sets_of,
    ),
}
"""By the field of `Options`; `load` has none: files are loaded before anything is asked."""

_NAMES = tuple(FLAGS)
MODEL = _NAMES[: _NAMES.index("load") + 1]
"""How a model is compiled."""
BACKENDS = ("backends", "backend_options", "measure_regions", "give", "keep")
"""Who gets which part."""
OFFLOAD = (*BACKENDS, "require_offload", "fallback", "checked")
"""All about backends."""
CALLS = ("dims", "threads", "load")
"""Those that mean something of an artifact, too."""


def add_options(parser: argparse.ArgumentParser, *fields: str) -> None:
    """Gives a command the options of these fields."""
    for one in map(FLAGS.__getitem__, fields):
        parser.add_argument(one.flag, help=one.help, **one.how)


def compile_options(
    arguments: argparse.Namespace, *, load: bool = True, without: Sequence[str] = ()
) -> Options:
    """What the shared options that a command has ask of a compilation, but for the fields `without`.

    Loads the files of `--load`, unless the command has done so: a file runs once.
    """
    from inarch.driver.options import Options

    if load:
        from inarch.tools.extensions import load_files

        load_files(arguments.load)
    given = {name: getattr(arguments, one.name, None) for name, one in FLAGS.items()}
    found = {
        name: FLAGS[name].read(value)
        for name, value in given.items()
        if value is not None and name not in ("load", *without)
    }
    if getattr(arguments, "pipeline", None):  # of `add_pipeline_options`
        found["pipeline"] = ",".join(arguments.pipeline)
    return Options.of(None, cast("Settings", found))
