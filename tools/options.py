"""Options that several commands share, and how their values are read."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from inarch.core.errors import InarchError, UsageError, unknown

if TYPE_CHECKING:
    from inarch.core.lazy import Array
    from inarch.driver.options import Options
    from inarch.machine.machine import Machine

T = TypeVar("T")


def add_model_options(parser: argparse.ArgumentParser) -> None:
    """How a model is compiled: `--dim`, `--shape`, `--host`, `--target`, `--machine`, `--microkernel` ..."""
    parser.add_argument(
        "--dim",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="bind a symbolic dimension (repeatable)",
    )
    parser.add_argument(
        "--shape",
        action="append",
        default=[],
        metavar="INPUT=1x3x224x224",
        help="give an input its shape (repeatable)",
    )
    parser.add_argument(
        "--value",
        action="append",
        default=[],
        metavar="INPUT=NUMBERS|FILE.npy",
        help="an input that is always the same: it becomes a constant, on which shapes may depend "
        "(axes=0,2; repeatable)",
    )
    add_host_option(parser)
    parser.add_argument(
        "--target",
        default="native",
        help="CPU to compile for: native (default), or a name such as x86-64-v3, "
        "x86-64-v4+avx512vnni, aarch64, generic; several with commas make one artifact with code for each",
    )
    add_machine_option(parser)
    parser.add_argument(
        "--microkernel",
        action="append",
        default=[],
        metavar="NAME",
        help="use this microkernel wherever it fits, or fail (repeatable); 'NAME{MR=6}': only members with "
        "these parameters; see `inarch list microkernels`",
    )
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        metavar="NAME",
        help="use this microkernel, or template, nowhere (repeatable)",
    )
    add_algorithm_options(parser)
    parser.add_argument(
        "--no-measure",
        action="store_true",
        help="estimate what calls of kernels take that state no cost (default: measure them, once on each "
        "machine, where the target runs here)",
    )
    add_records_option(parser)
    add_schedule_option(parser)
    parser.add_argument("--name", help="prefix of every symbol (default: the model's name)")
    add_threads_option(
        parser, "of a call, at most (default: whoever calls says; 1: compile none in)"
    )
    parser.add_argument(
        "--jobs",
        type=at_least_one,
        metavar="N",
        help="how many C compilers run at once (default: one a CPU)",
    )
    parser.add_argument(
        "--timeout",
        type=at_least_one,
        default=600,
        metavar="SECONDS",
        help="that a C compiler may take for one file (default: 600)",
    )
    parser.add_argument(
        "--load",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="add the microkernel (.c, .S, .py), pass, frontend or other thing that a file defines "
        "(repeatable)",
    )


def add_algorithm_options(parser: argparse.ArgumentParser) -> None:
    """`--algorithm`, `--numerics`."""
    parser.add_argument(
        "--algorithm",
        action="append",
        default=[],
        metavar="OP-OR-GLOB=NAME",
        help="compute these ops by this algorithm: conv=winograd-2x2, 'layer1/*=direct' (repeatable); see "
        "`inarch list algorithms`",
    )
    parser.add_argument(
        "--numerics",
        default="bounded",
        metavar="strict|bounded|fast",
        help="which algorithms the compiler may choose: strict, the ops' own; bounded (default), also those "
        "with a proved error bound that is no larger; fast, also those with a statistical bound",
    )


def add_records_option(parser: argparse.ArgumentParser) -> None:
    """`--records`."""
    parser.add_argument(
        "--records",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="do loop nests as `inarch tune` has measured to be the fastest, where this file has them "
        "(repeatable)",
    )


def add_schedule_option(parser: argparse.ArgumentParser) -> None:
    """`--schedule`."""
    parser.add_argument(
        "--schedule",
        type=Path,
        metavar="FILE",
        help="transform loops by hand, as this file says (docs/schedules.md)",
    )


def add_threads_option(parser: argparse.ArgumentParser, text: str) -> None:
    """`--threads`: how many."""
    parser.add_argument("--threads", type=at_least_one, metavar="N", help=f"threads {text}")


def add_host_option(parser: argparse.ArgumentParser) -> None:
    """`--host`: who compiles what no backend takes."""
    parser.add_argument(
        "--host",
        metavar="NAME",
        help="who compiles the program, but for what backends take (default: c); see `inarch list hosts`",
    )


def add_machine_option(parser: argparse.ArgumentParser) -> None:
    """`--machine`: whose caches and ports choices are made for."""
    parser.add_argument(
        "--machine",
        metavar="NAME|FILE",
        help="whose caches and ports to choose for: a name, or a file of `inarch machine` (default: the "
        "target's; for native this computer as `inarch machine --measure` found it)",
    )


def add_place_option(parser: argparse.ArgumentParser) -> None:
    """`--place`: where a pass runs in the pipeline of every compilation."""
    parser.add_argument(
        "--place",
        action="append",
        default=[],
        metavar="PASS=WHERE",
        help="run a pass 'before PLACE', 'after PLACE' or in its stead, 'replace PLACE': a phase, a pass, or "
        "phase/pass (repeatable); --dump-pass-pipeline shows them",
    )


def add_backend_options(parser: argparse.ArgumentParser) -> None:
    """`--backend`, `--backend-option`, `--give`, `--keep`: who gets which part."""
    parser.add_argument(
        "--backend",
        action="append",
        default=[],
        metavar="[NAME=]BACKEND[:OPTION=VALUE,...]",
        help="give these backends what they take, the first one first (repeatable; or with commas): npu, "
        "npu:array=16,memory=4MiB, big=npu:array=32; see `inarch list backends`",
    )
    parser.add_argument(
        "--backend-option",
        action="append",
        default=[],
        metavar="NAME:OPTION=VALUE",
        help="set an option of a backend, or of the instance of that name (repeatable)",
    )
    parser.add_argument(
        "--measure-regions",
        action="store_true",
        help="run what backends would get, there and on the host, and leave to the host what is faster there "
        "(default: by estimates; `inarch explain --regions` shows either)",
    )
    for option, text in (
        ("--give", "ops that the backend must take"),
        ("--keep", "ops that the backend must not get (*: no backend)"),
    ):
        parser.add_argument(
            option,
            action="append",
            default=[],
            metavar="OP-OR-GLOB=NAME",
            help=f"{text}, by the op's name or where it comes from (repeatable)",
        )


def add_offload_options(parser: argparse.ArgumentParser) -> None:
    """`--require-offload`, `--checked`, and those of `add_backend_options`: who gets which part."""
    add_backend_options(parser)
    parser.add_argument(
        "--require-offload",
        action="store_true",
        help="fail when a backend gets nothing, instead of a warning",
    )
    parser.add_argument(
        "--fallback",
        choices=["host"],
        help="keep the host's version of each part of a backend in the artifact, for when its device is "
        "missing or fails",
    )
    parser.add_argument(
        "--checked",
        action="store_true",
        help="fail when the code of a backend leaves one of its outputs unwritten (slower)",
    )


def compile_options(arguments: argparse.Namespace, *, load: bool = True) -> Options:
    """What the shared options, those that the command has, ask of a compilation.

    Loads the files of `--load`, unless the command has done so: a file runs once.
    """
    from inarch.driver.options import DEFAULT_HOST, Options

    if load:
        from inarch.tools.extensions import load_files

        load_files(arguments.load)
    options = Options(
        dims=dims_of(arguments.dim),
        shapes=shapes_of(arguments.shape),
        values=values_of(arguments.value),
        host=arguments.host or DEFAULT_HOST,
        target=arguments.target,
        machine=arguments.machine,
        name=arguments.name,
        microkernels=microkernel_names(arguments.microkernel, "--microkernel"),
        without=microkernel_names(arguments.without, "--without"),
        algorithms=tuple(arguments.algorithm),
        numerics=arguments.numerics,
        measure=not arguments.no_measure,
        records=tuple(arguments.records),
        schedule=arguments.schedule,
        threads=arguments.threads or 0,
        jobs=arguments.jobs,
        timeout=float(arguments.timeout),
    )
    if "pipeline" in arguments:
        options = replace(
            options,
            pipeline=",".join(arguments.pipeline) if arguments.pipeline else None,
            places=_once("--place", map(_place, arguments.place)),
        )
    if "require_offload" not in arguments:
        return options
    return replace(
        options,
        backends=backends_of(arguments.backend),
        backend_options=backend_options_of(arguments.backend_option),
        require_offload=arguments.require_offload,
        give=arguments.give,
        keep=arguments.keep,
        measure_regions=arguments.measure_regions,
        checked=arguments.checked,
        fallback=arguments.fallback or "",
    )


def chosen_machine(arguments: argparse.Namespace) -> Machine | None:
    """What `--machine` names; without it, for the target `native`, this computer as far as it is known."""
    from inarch.machine.find import find_machine, this_machine

    if arguments.machine is not None:
        return find_machine(arguments.machine)
    return this_machine() if arguments.target == "native" else None


def backends_of(texts: Sequence[str]) -> list[str]:
    """The instances that the texts of `--backend` ask for, one text each. Raises UsageError."""
    if not texts:
        return []
    from inarch.driver.offload import Offload  # it takes a while

    return list(map(str, Offload(texts).asked().values()))


def backend_options_of(texts: Iterable[str]) -> dict[str, dict[str, object]]:
    """The values of `--backend-option` by instance and option. Raises UsageError."""
    found: dict[str, dict[str, object]] = {}
    for text in texts:
        from inarch.driver.offload import parse_option  # it takes a while

        backend, option, value = parse_option(text, "--backend-option")
        found.setdefault(backend, {})[option] = value
    return found


def microkernel_names(texts: Iterable[str], option: str) -> list[str]:
    """What an option asks for, each once, all kernels known. Raises UsageError."""
    for text in texts:
        # It takes a while.
        from inarch.microkernel.demanded import demanded_of
        from inarch.microkernel.table import MICROKERNELS, TEMPLATES

        name = demanded_of(text).name
        known = [*MICROKERNELS, *(TEMPLATES if option == "--without" else ())]
        if name not in known:
            raise unknown("microkernel", name, known, within=option)
    return list(dict.fromkeys(texts))


def metadata_of(texts: Iterable[str]) -> dict[str, str]:
    """The texts of `--metadata KEY=VALUE` by name. Raises UsageError."""
    return _once("--metadata", map(_metadata, texts))


def _metadata(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise UsageError(f"--metadata: expected KEY=VALUE, found '{text}'")
    return key, value


def sets_of(texts: Sequence[str]) -> list[dict[str, int]]:
    """What `--specialize` says: sets of sizes.

    `batch=1,8` and `seq=128` are all combinations; `batch=1,seq=128` and `batch=8,seq=32` are these two.

    >>> sets_of(["batch=1,8", "seq=128"])
    [{'batch': 1, 'seq': 128}, {'batch': 8, 'seq': 128}]
    >>> sets_of(["batch=1,seq=128", "batch=8,seq=32"])
    [{'batch': 1, 'seq': 128}, {'batch': 8, 'seq': 32}]
    """
    groups: list[dict[str, list[int]]] = []
    for text in texts:
        sizes: dict[str, list[int]] = {}
        name = ""
        for part in text.split(","):
            head, equals, value = part.rpartition("=")
            name = head if equals else name
            if not name or not _is_whole(value):
                raise UsageError(
                    f"--specialize: expected NAME=SIZE,SIZE... with whole numbers, found '{text}'"
                )
            sizes.setdefault(name, []).append(int(value))
        groups.append(sizes)
    if all(len(group) == 1 for group in groups):
        merged: dict[str, list[int]] = {}
        for group in groups:
            for name, values in group.items():
                merged.setdefault(name, []).extend(values)
        groups = [merged] if merged else []
    return [
        dict(zip(group, values, strict=True))
        for group in groups
        for values in product(*group.values())
    ]


def dims_of(texts: Iterable[str]) -> dict[str, int]:
    """The values of `--dim NAME=VALUE` by name. Raises UsageError."""
    return _once("--dim", map(_dim, texts))


def shapes_of(texts: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """The shapes of `--shape INPUT=1x3x224x224` by name. Raises UsageError."""
    return _once("--shape", map(_shape, texts))


def values_of(texts: Iterable[str]) -> dict[str, Array]:
    """The arrays of `--value INPUT=0,2` or `INPUT=FILE.npy` by name. Raises UsageError."""
    found: dict[str, Array] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            raise UsageError(f"--value: expected INPUT=NUMBERS or INPUT=FILE.npy, found '{text}'")
        if name in found:
            raise UsageError(f"--value: '{name}' is given twice")
        found[name] = _array_of(text, value)
    return found


def _array_of(text: str, value: str) -> Array:
    from inarch.core.lazy import np

    if value.endswith(".npy"):
        array = arrays_of("--value", "INPUT=NUMBERS or INPUT=FILE.npy", text, value)
        if isinstance(array, dict):
            raise UsageError(f"--value: expected one array, found the archive '{value}'")
        return array
    try:
        numbers = [_number(part) for part in value.split(",")]
    except ValueError as error:
        raise UsageError(
            f"--value: expected INPUT=NUMBERS or INPUT=FILE.npy, found '{text}'"
        ) from error
    return np.array(numbers if "," in value else numbers[0])


def arrays_of(option: str, form: str, text: str, path: str = "") -> Array | dict[str, Array]:
    """What the file at `path` in the `text` of an option holds: an array, or several by name.

    `form`: how the option is written. Raises UsageError.
    """
    from inarch.core.npz import EXPECTED, read_arrays

    path = path or text
    try:
        return read_arrays(Path(path))
    except InarchError as error:
        place = "" if path == text else f"'{path}': "
        reason = error.message.removeprefix(f"{EXPECTED}: ")
        raise UsageError(
            f"{option}: expected {form} with arrays in a .npy or .npz file, found '{text}': {place}{reason}"
        ) from error


def _number(text: str) -> int | float | bool:
    if text in ("true", "false"):
        return text == "true"
    try:
        return int(text)
    except ValueError:
        return float(text)


def _once(option: str, pairs: Iterable[tuple[str, T]]) -> dict[str, T]:
    """The values by name. Raises UsageError when a name has two."""
    found: dict[str, T] = {}
    for name, value in pairs:
        if found.setdefault(name, value) != value:
            raise UsageError(f"{option}: '{name}' is given twice: {found[name]} and {value}")
    return found


def count(text: str) -> int:
    """For argparse: a whole number that is not negative."""
    if not _is_whole(text):
        raise argparse.ArgumentTypeError(f"expected a whole number >= 0, found '{text}'")
    return int(text)


def at_least_one(text: str) -> int:
    """For argparse: a whole number that is not 0, nor negative."""
    if not _is_whole(text) or int(text) == 0:
        raise argparse.ArgumentTypeError(f"expected a whole number >= 1, found '{text}'")
    return int(text)


def check_output(output: Path, model: Path) -> None:
    """Refuses an output that cannot be written, or is the model itself, before the work."""
    from inarch.core.cache import check_writable

    if str(output) == "-":
        raise UsageError("-o: expected a file, found '-'; only text goes to the terminal")
    check_writable(output)
    if output.exists() and model.exists() and output.samefile(model):
        raise UsageError(f"-o: expected another file than the model, found '{output}'")


def _is_whole(text: str) -> bool:
    """Whether `text` is a whole number that a size can be; other scripts have digits too."""
    return text.isascii() and text.isdecimal() and len(text) <= 18


def _dim(text: str) -> tuple[str, int]:
    name, equals, value = text.rpartition("=")
    if not equals or not _is_whole(value) or not name:
        raise UsageError(f"--dim: expected NAME=VALUE with a whole number, found '{text}'")
    return name, int(value)


def _place(text: str) -> tuple[str, str]:
    name, equals, where = text.partition("=")
    if not equals or not name or not where:
        raise UsageError(f"--place: expected PASS='after PLACE', found '{text}'")
    return name, where


def _shape(text: str) -> tuple[str, tuple[int, ...]]:
    name, equals, value = text.rpartition("=")
    sizes = value.split("x") if value not in ("", "scalar") else []
    if not equals or not name or not all(map(_is_whole, sizes)):
        raise UsageError(f"--shape: expected INPUT=1x3x224x224, found '{text}'")
    return name, tuple(int(size) for size in sizes)
