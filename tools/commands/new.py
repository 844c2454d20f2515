"""`inarch new`: a folder with a working algorithm, backend, host, microkernel or pass and its tests."""

from __future__ import annotations

import argparse
import re
import sys
from importlib.util import find_spec
from pathlib import Path

from inarch.core.errors import EnvironmentFault, UsageError
from inarch.tools.commands import Command
from inarch.tools.extensions import kinds
from inarch.tools.templates import template

FILES = {
    "algorithm": {
        "{stem}.py": "algorithm_{own}.py.tmpl",
        "{stem}.mlir": "algorithm_{format}.mlir.tmpl",
        "test_{stem}.py": "algorithm_test.py.tmpl",
        "pyproject.toml": "emitter_pyproject.toml.tmpl",
        "README.md": "algorithm_readme.md.tmpl",
    },
    "backend": {
        "{stem}.py": "backend_{format}.py.tmpl",
        "{stem}.mlir": "backend.mlir.tmpl",
        "test_{stem}.py": "backend_test.py.tmpl",
        "lit.cfg.py": "lit.cfg.py.tmpl",
        "pyproject.toml": "emitter_pyproject.toml.tmpl",
        "README.md": "backend_readme.md.tmpl",
    },
    "host": {
        "{stem}.py": "host.py.tmpl",
        "{stem}.mlir": "host.mlir.tmpl",
        "test_{stem}.py": "host_test.py.tmpl",
        "pyproject.toml": "emitter_pyproject.toml.tmpl",
        "README.md": "host_readme.md.tmpl",
    },
    "microkernel": {
        "{stem}_kernels/{stem}.{format}": "microkernel.{format}.tmpl",
        "{stem}_kernels/__init__.py": "microkernel_init.py.tmpl",
        "{stem}.mlir": "microkernel.mlir.tmpl",
        "test_{stem}.py": "microkernel_test.py.tmpl",
        "pyproject.toml": "microkernel_pyproject.toml.tmpl",
        "README.md": "microkernel_readme.md.tmpl",
    },
    "pass": {
        "{stem}.py": "pass.py.tmpl",
        "{name}.mlir": "pass.mlir.tmpl",
        "lit.cfg.py": "lit.cfg.py.tmpl",
    },
}
"""What is written for each kind, and the template that it is made of."""

FORMATS = {
    "algorithm": ("conv", "matmul"),
    "backend": ("text", "c"),
    "host": ("py",),
    "microkernel": ("c", "py"),
    "pass": ("py",),
}
"""What `--format` may be; the first is what it is without. Of an algorithm the ops whose program is written:
of others it is drawn."""

TABLES = {
    "algorithm": ("algorithms",),
    "backend": ("backends", "loaders"),
    "host": ("hosts", "backends", "loaders"),
    "microkernel": ("microkernels",),
    "pass": ("passes",),
}
"""Where a name must be free."""

NEXT = {
    "algorithm": (
        "inarch explain {stem}.mlir --load {stem}.py",
        "inarch verify {stem}.mlir --load {stem}.py --algorithm {format}={name}",
        "python -m pytest .",
    ),
    "backend": (
        "inarch run {stem}.mlir --load {stem}.py --backend {name} --check {stem}.mlir",
        "inarch explain {stem}.mlir --load {stem}.py --backend {name}",
        "python -m pytest . && lit .",
    ),
    "host": (
        "inarch run {stem}.mlir --load {stem}.py --host {name} --check {stem}.mlir",
        "inarch verify {stem}.mlir --load {stem}.py --host {name}",
        "python -m pytest .",
    ),
    "microkernel": (
        "inarch verify-kernel --load {stem}_kernels/{stem}.{format} --quick",
        (
            "inarch run {stem}.mlir --load {stem}_kernels/{stem}.{format} --microkernel {name} "
            "--check {stem}.mlir"
        ),
        "python -m pytest .",
    ),
    "pass": ("inarch-opt {name}.mlir --load {stem}.py -p {name}", "lit ."),
}

LOADER_POINT = """
[project.entry-points."inarch.runtime.loaders"]
{name} = "{stem}"
"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", choices=sorted(FILES), help="what to begin")
    parser.add_argument("name", help="its name, such as my-npu")
    parser.add_argument(
        "--op",
        help="of which op an algorithm is: conv (default), matmul, conv-transpose, any that is lowered",
    )
    parser.add_argument(
        "--directory", type=Path, metavar="DIR", help="where to write (default: ./NAME)"
    )
    parser.add_argument(
        "--format",
        choices=("text", "c", "py"),
        help="what a backend emits: text of its own with a loader that runs it (default), or c; "
        "what a microkernel is: one file of c (default), or py that writes C",
    )


def _execute(arguments: argparse.Namespace) -> int:
    kind, form = str(arguments.kind), _format(arguments)
    name = str(arguments.name)
    if kind == "algorithm" and not name.startswith(f"{form}-"):
        name = f"{form}-{name}"
    stem = name.replace("-", "_")
    _check_name(kind, name, stem)
    folder = arguments.directory or Path(stem)
    words = {"kind": kind, "name": name, "stem": stem, "format": form}
    program = ""
    if kind == "algorithm":
        more, program = _of_op(form)
        words |= more
    texts = {
        folder / file.format(**words): program
        if program and file.endswith(".mlir")
        else _fill(template(source.format(**words)), words)
        for file, source in FILES[kind].items()
    }
    _write(folder, texts)
    for path in texts:
        print(path)
    print("\nIt works as it is:")
    if folder != Path():
        print(f"  cd {folder}")
    for command in NEXT[kind]:
        print(f"  {command.format(**words)}")
    return 0


def _of_op(name: str) -> tuple[dict[str, str], str]:
    """What templates say of an op; and a program of it, where none is written."""
    from inarch.dialects.graph.op import StructuredOp
    from inarch.tools.op_program import op_named, program_of

    kind = op_named(name)
    program, dtype = ("", "f32") if name in FORMATS["algorithm"] else program_of(kind)
    own = "nest" if issubclass(kind, StructuredOp) else "rule"
    words = {"module": kind.__module__, "class": kind.__name__, "op": kind.name}
    return {**words, "dtype": dtype, "own": own}, program


def _format(arguments: argparse.Namespace) -> str:
    kind, formats = str(arguments.kind), FORMATS[arguments.kind]
    is_algorithm = kind == "algorithm"
    option, other = ("op", "format") if is_algorithm else ("format", "op")
    if getattr(arguments, other) is not None:
        whose = "other kinds" if is_algorithm else "an algorithm"
        raise UsageError(f"--{other}: it is of {whose}, found {kind}")
    wanted = getattr(arguments, option)
    if is_algorithm:
        return str(wanted or formats[0]).replace("_", "-").removeprefix("graph.")
    if wanted is not None and wanted not in formats:
        known = " or ".join(formats)
        raise UsageError(f"--format: expected {known} for a {kind}, found {wanted}")
    return wanted or formats[0]


def _check_name(kind: str, name: str, stem: str) -> None:
    """Raises UsageError for a name that is malformed, taken, or that of a module of Python."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        suggestion = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-0123456789") or f"my-{kind}"
        raise UsageError(
            f"expected a name of small letters, digits and dashes, found '{name}'; "
            f"'{suggestion}' would do"
        )
    own = name.partition("-")[2] if kind == "algorithm" else name
    for table in TABLES[kind]:
        things = kinds()[table]
        if name in things:
            origin = things.origin(name).source
            raise UsageError(
                f"{things.kind} '{name}' exists ({origin}); choose another name, such as 'my-{own}'"
            )
    if stem in sys.builtin_module_names or find_spec(stem) is not None:
        raise UsageError(
            f"'{stem}' is a Python module, which {stem}.py would hide; "
            f"choose another name, such as 'my-{name}'"
        )


def _fill(text: str, words: dict[str, str]) -> str:
    has_loader = words["kind"] == "host" or words["format"] == "text"
    holes = {"KIND": words["kind"], "NAME": words["name"], "STEM": words["stem"]}
    holes["LOADER_POINT"] = LOADER_POINT.format(**words) if has_loader else ""
    holes["SUFFIX"] = holes["FORMAT"] = words["format"]
    holes |= {each.upper(): words.get(each, "") for each in ("module", "class", "op", "dtype")}
    is_algorithm = words["kind"] == "algorithm"
    holes["GROUP"] = "passes.lower.algorithms" if is_algorithm else f"{words['kind']}s"
    return re.sub(rf"@({'|'.join(holes)})@", lambda hole: holes[hole[1]], text)


def _write(folder: Path, texts: dict[Path, str]) -> None:
    """Writes all files or, when one of them exists, none."""
    from inarch.core.cache import replacing

    for path in texts:
        if path.exists() or path.is_symlink():
            raise UsageError(f"'{path}' exists; nothing was written. Give another --directory")
    try:
        for path in texts:
            path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EnvironmentFault(f"'{folder}' cannot be made: {error.strerror}") from error
    for path, text in texts.items():
        with replacing(path) as file:
            file.write(text.encode())


COMMAND = Command(
    description="Begin an algorithm, backend, host, microkernel or pass of your own: a folder that works, "
    "with tests.",
    epilog="""examples:
  inarch new algorithm conv-mine
  inarch new algorithm mine --op topk
  inarch new backend my-npu
  inarch new backend my-kernels --format c
  inarch new host my-machine
  inarch new microkernel my-gemm
  inarch new pass fold-twice
""",
    add_arguments=_add_arguments,
    execute=_execute,
)
