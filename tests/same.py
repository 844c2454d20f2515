"""Whether a change leaves what the compiler makes as it was: a revision against the working tree.

    python tests/same.py HEAD                     # 200 s of CPU a side; what BASE makes is kept in the cache
    python tests/same.py main --quick --jobs 2    # 30 s a side
    python tests/same.py main --only lenet --only verdict

Compared are the C of 200 generated programs for three targets and of eleven networks, with a digest of their
weights; which kernels are taken for the shapes of benchmarks/ranking.py, at which costs, and why not others;
and the fault that `verify` names for each broken kernel of tests/unit/microkernel. Each side runs its own
copy of this file and of its tests, on the programs and networks of the working tree. Prints a short diff of
the first items that differ; the exit code is then 1.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import importlib
import json
import os
import subprocess
import sys
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from inarch.core.cache import Cache, default_cache, key_of
from inarch.core.scratch import scratch

ROOT = Path(__file__).resolve().parents[1]
TARGETS = ("generic", "x86-64-v3", "x86-64-v4")
PROGRAMS = {"graph": 90, "loop": 70, "kernel": 40}
"""How many are generated at each level."""
QUICK = 7
"""With `--quick` one of so many items is compared: no multiple of the number of targets."""
SHOWN, LINES = 5, 24
"""Differences that are shown, and lines of each."""

Item = tuple[str, Callable[[], str]]
"""A name, and what makes the text that is compared."""


# ---------------------------------------------------------------------------------- one side


def _c_of(path: Path, target: str) -> str:
    """The C of a program or a network, and which bytes its constants have become."""
    from inarch.dialects import new_context
    from inarch.driver.compiler import import_model, lower
    from inarch.driver.host import emit, find_host
    from inarch.driver.options import Options

    context = new_context()
    module = import_model(path, context, Options(target=target))
    emitted = lower(context, module, "kernel")
    program = emit(find_host("c"), context, module)
    digest = hashlib.sha256()
    if program.weights is not None:
        with scratch("inarch-same-") as folder:
            (folder / "weights").touch()
            with (folder / "weights").open("r+b") as file:
                program.weights(file)
            digest.update((folder / "weights").read_bytes())
    return f"{program.joined(emitted)}\nweights {digest.hexdigest()}"


def _decisions_of(shape: Any, target: str) -> str:
    """What `tensorize` takes for each nest of a shape, and what it says of all other kernels."""
    from inarch.benchmark.shapes import program_of
    from inarch.dialects import new_context
    from inarch.driver.compiler import import_model, kernel_report
    from inarch.driver.options import Options

    context = new_context()
    module = import_model(program_of(shape, context), context, Options(target=target))
    return str(kernel_report(context, module))


def _verdict_on(change: Any) -> str:
    """What is said of a kernel with a fault: numbers in it are of one run, so its kind alone."""
    from inarch.machine.target import native
    from inarch.verification import verify

    return verify(change.instance(native()), quick=True).fault or "no fault"


def _items(inputs: Path) -> Iterator[Item]:
    """All that is compared, in an order that both sides have."""
    for path in sorted(inputs.glob("*.mlir")):
        for target in TARGETS:
            yield f"C of {path.stem} for {target}", partial(_c_of, path, target)
    for at, path in enumerate(sorted(inputs.glob("*.onnx"))):
        target = TARGETS[1 + at % 2]
        yield f"C of {path.stem} for {target}", partial(_c_of, path, target)
    ranking = _module("benchmarks", "ranking")
    for at, shape in enumerate([*ranking.LARGE, *ranking.draw(1, 204)]):
        target = TARGETS[1 + at % 2]
        yield f"decisions of {shape} for {target}", partial(_decisions_of, shape, target)
    faults = _module("tests/unit/microkernel", "test_verification_faults")
    for at, change in enumerate((*faults.POSSIBLE, *faults.HARMLESS)):
        name = f"verdict on {change.kernel} {at}, {change.name}"
        yield name, partial(_verdict_on, change)


def _module(folder: str, name: str) -> Any:
    sys.path.insert(0, str(ROOT / folder))
    return importlib.import_module(name)


def _chosen(inputs: Path, given: argparse.Namespace) -> list[Item]:
    every = [one for one in _items(inputs) if any(each in one[0] for each in given.only or [""])]
    return every[::QUICK] if given.quick and not given.only else every


def work(inputs: Path, given: argparse.Namespace) -> None:
    """Makes the items of one part, one a line of stdout; a crash is what an item has become."""
    warnings.simplefilter("ignore")
    import inarch

    assert Path(inarch.__file__).is_relative_to(ROOT), "not the other side's"
    part, parts = map(int, given.part.split("/"))
    for name, make in _chosen(inputs, given)[part::parts]:
        try:
            text = make()
        except Exception as error:  # noqa: BLE001 - equal errors are the same on both sides
            text = f"{type(error).__name__}: {error}"
        print(json.dumps([name, text]), flush=True)


# ---------------------------------------------------------------------------------- both sides


def write_inputs(folder: Path, only: Sequence[str]) -> str:
    """Writes programs and networks; their digest."""
    from inarch.testing.generate import programs

    for level, count in PROGRAMS.items():
        for program in programs(level, seed=50, count=count):
            if not only or any(each in f"C of {program.name} for" for each in only):
                program.save(folder / f"{program.name}.mlir")
    for name, build in _module("benchmarks/models", "networks").FEW.items():
        if not only or any(each in f"C of {name} for" for each in only):
            (folder / f"{name}.onnx").write_bytes(build().SerializeToString())
    return key_of(*(one.read_bytes() for one in sorted(folder.iterdir())))


def run(root: Path, given: argparse.Namespace, inputs: Path, part: int) -> dict[str, str]:
    """What the checkout at `root` makes of its part of the items."""
    script = root / "tests" / "same.py"
    command = [sys.executable, str(script), "-", "--inputs", str(inputs)]
    command += ["--part", f"{part}/{given.jobs}", *["--quick"][: given.quick]]
    command += [word for each in given.only for word in ("--only", each)]
    with scratch("inarch-same-cache-") as cache:
        paths = os.pathsep.join((str(root), str(root / "tests")))
        known = {"PYTHONPATH": paths, "PYTHONHASHSEED": "0", "INARCH_CACHE_DIR": str(cache)}
        child = subprocess.Popen(
            command, cwd=root, env={**os.environ, **known}, stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        found: dict[str, str] = {}
        for line in child.stdout:
            name, text = json.loads(line)
            found[name] = text
            if len(found) % 25 == 0:
                print(f"{root.name}, part {part}: {len(found)}, {name}", file=sys.stderr)
    if child.wait():
        raise SystemExit(f"error: {script} ended with code {child.returncode}; see above")
    return found


def made_by(root: Path, commit: str, given: argparse.Namespace, inputs: Path, digest: str) -> Any:
    """What `root` makes; of a `commit` it is kept."""
    from inarch.driver.keep.records import compiler_or_none
    from inarch.machine.find import cpu_name
    from inarch.machine.target import native

    cache: Cache = default_cache()
    here = (cpu_name(), str(native()), compiler_or_none())
    key = key_of("same", commit, digest, *here, repr((given.quick, given.only)))
    if commit and (kept := cache.get(key)) is not None:
        return json.loads(zlib.decompress(kept))
    with ThreadPoolExecutor(given.jobs) as pool:
        parts = pool.map(partial(run, root, given, inputs), range(given.jobs))
        found = {name: text for part in parts for name, text in part.items()}
    if commit:
        cache.put(key, zlib.compress(json.dumps(found).encode()))
    return found


def difference(name: str, before: str | None, after: str | None) -> str:
    """A short diff of an item."""
    if before is None or after is None:
        return f"{name}: only {'before' if after is None else 'after'}"
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), "before", "after", n=1, lineterm=""
    )
    return "\n".join([f"{name}:", *islice(lines, LINES)])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("base", help="a revision of this repository")
    parser.add_argument("--after", help="another revision (default: the working tree)")
    parser.add_argument("--quick", action="store_true", help=f"one of {QUICK} items")
    parser.add_argument(
        "--only", action="append", default=[], help="items whose name has this in it"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes at once (default 1)")
    parser.add_argument("--json", action="store_true", help="the names of what differs, as JSON")
    parser.add_argument("--inputs", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--part", default="0/1", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    """Compares, prints, and says by the exit code whether all is the same."""
    given = _arguments()
    if given.inputs is not None:
        work(given.inputs, given)
        return 0
    checkout = _module("benchmarks", "checkout")
    sides: list[dict[str, str]] = []
    with ExitStack() as stack:
        inputs = stack.enter_context(scratch("inarch-same-inputs-"))
        digest = write_inputs(inputs, given.only)
        for revision in (given.base, given.after):
            root, commit = ROOT, ""
            if revision is not None:
                root = stack.enter_context(checkout.checkout(revision))
                asked = ["git", "-C", str(root), "rev-parse", "HEAD"]
                commit = subprocess.run(asked, check=True, capture_output=True, text=True).stdout
            sides.append(made_by(root, commit, given, inputs, digest))
    return report(*sides, is_json=given.json)


def report(before: dict[str, str], after: dict[str, str], *, is_json: bool) -> int:
    """Prints what differs; the exit code."""
    names: Iterable[str] = {**before, **after}
    different = [name for name in names if before.get(name) != after.get(name)]
    if is_json:
        print(json.dumps({"compared": len(after), "different": different}))
        return int(bool(different))
    for name in different[:SHOWN]:
        print(difference(name, before.get(name), after.get(name)), end="\n\n")
    rest = f"; {len(different) - SHOWN} more not shown" if len(different) > SHOWN else ""
    print(f"{len(different)} of {len(after)} differ{rest}")
    return int(bool(different))


if __name__ == "__main__":
    sys.exit(main())
