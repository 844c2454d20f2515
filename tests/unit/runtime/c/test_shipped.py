"""What backends ship beside programs: weights mapped and shared, who made them, for which machine."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.ir import Operation

import inarch
from effort import SOAK, effort
from inarch.artifact import Artifact
from inarch.artifact.manifest import Port, Signature
from inarch.artifact.write import entry, write_artifact, write_crc
from inarch.backends import BACKENDS, Backend, Emission, EmitRequest, Option, Request
from inarch.core.dtypes import DTYPES
from inarch.core.errors import InarchError
from inarch.driver.compiler import build
from inarch.driver.options import Options
from inarch.machine.compilers import find_compiler
from inarch.machine.target import native
from inarch.runtime.c import INCLUDE
from inarch.runtime.function import Function
from inarch.runtime.loaders import LOADERS, Loader
from inarch.runtime.loaders.shipped import Shipped
from inarch.runtime.module import Module

HERE = Path(__file__).parent
OPS = {"mul": np.multiply, "add": np.add}
CODE = """
int32_t {symbol}(void *self, DLTensor *args, int32_t n)
{{
    const float *x = (const float *)args[0].data;
    float *y = (float *)args[n - 1].data;
    (void)self;
    for (int i = 0; i < {size}; i++) {{
        float value = x[i];
{lines}        y[i] = value;
    }}
    return 0;
}}
"""


def accepts(op: Operation, request: Request) -> str | None:
    return None if request.constant(op.operands[1]) is not None else "takes a constant"


def specialize(backend: Backend, request: Request) -> Backend:
    only = request.options["only"]
    return backend if only == "all" else replace(backend, ops=(only,))


@dataclass(frozen=True)
class Region:
    """A function as the tests emit it: steps with constants on one array."""

    symbol: str
    size: int
    steps: list[tuple[str, str]]
    weights: Mapping[str, Any]


def region_of(request: EmitRequest, function: Any) -> Region:
    steps: list[tuple[str, str]] = []
    weights: dict[str, Any] = {}
    for op in function.body.block.ops:
        word = op.name.removeprefix("graph.")
        if word in OPS:
            name = f"{function.sym_name.data}_{len(steps)}"
            steps.append((word, name))
            weights[name] = request.constant(op.operands[1])
    (kind,) = function.function_type.outputs.data
    return Region(function.sym_name.data, kind.get_shape()[0], steps, weights)


def emit(request: EmitRequest) -> Emission:
    """Weights under a name for each use, the same ones or not; of C, or for the loaders below."""
    regions = [region_of(request, function) for function in request.functions]
    weights = {name: each for one in regions for name, each in one.weights.items()}
    uses = {one.symbol: tuple(one.weights) for one in regions}
    if request.options["format"] == "c":
        parts = ['#include "inarch.h"']
        for one in regions:
            lines = [
                f"        value = value {'*' if word == 'mul' else '+'} ((const float *)args[{n}].data)[i];\n"
                for n, (word, _) in enumerate(one.steps, 1)
            ]
            parts.append(CODE.format(symbol=one.symbol, size=one.size, lines="".join(lines)))
        return Emission("c", request.names(), text="".join(parts), weights=weights, uses=uses)
    lines = [
        " ".join([one.symbol, str(one.size), *(word for step in one.steps for word in step)])
        for one in regions
    ]
    return Emission(
        "tables",
        request.names(),
        text="steps, as people read them",
        data="\n".join(lines).encode(),
        weights=weights,
        uses=uses,
        metadata={one.symbol: {"steps": str(len(one.steps))} for one in regions},
        version=request.options["version"],
        machine=f"tables-{request.options['machine']}",
        package="tables-driver",
    )


TABLES = Backend(
    name="tables",
    description="Products and sums with constants.",
    emit=emit,
    ops=("mul", "add"),
    accepts=accepts,
    specialize=specialize,
    options={
        "format": Option("text", "tables", range=["tables", "c"]),
        "only": Option("text", "all", range=["all", "mul", "add"]),
        "version": "2",
        "machine": "a",
    },
)


def load_part(part: Shipped) -> Module:
    functions: dict[str, Function] = {}
    for line in part.text().splitlines():
        symbol, size, *words = line.split()
        steps = [
            (OPS[word], part.weights[name])
            for word, name in zip(words[::2], words[1::2], strict=True)
        ]
        assert part.uses[symbol] == tuple(words[1::2])
        assert part.metadata[symbol] == {"steps": str(len(steps))}
        functions[symbol] = _function(symbol, int(size), steps)
    return Module("tables", part.where, functions, content=part.program)


def _function(symbol: str, size: int, steps: list[tuple[Any, Any]]) -> Function:
    def invoke(arrays: Any) -> None:
        value = arrays[0]
        for step, weight in steps:
            value = step(value, weight)
        arrays[1][...] = value

    port = DTYPES["f32"], (size,)
    return Function(symbol, Signature((Port("x", *port),), (Port("y", *port),)), invoke)


def compatible(part: Shipped) -> str | None:
    if part.machine != "tables-a":
        return "this is a tables-a; compile the model again with --backend tables:machine=a"
    return (
        None
        if part.version <= "2"
        else f"the driver is version 2; install tables-driver {part.version}"
    )


@pytest.fixture(autouse=True)
def tables() -> Iterator[None]:
    with BACKENDS.scope(), LOADERS.scope():
        BACKENDS.register(TABLES)
        LOADERS.register(Loader("tables", load_part=load_part, compatible=compatible))
        yield


Chain = tuple[int, list[tuple[str, int]]]
"""Size, steps: `mul` or `add` with the constant of that number, or `exp`, which no backend takes."""


def chains(seed: int) -> list[Chain]:
    draw = random.Random(seed)
    found: list[Chain] = []
    for size in (1, 24, 24, 1100):  # inline, small and page-sized constants
        steps = [
            (draw.choice(("mul", "add", "exp")), draw.randrange(3)) for _ in range(effort(4, 9))
        ]
        found.append((size, [("mul", 0), *steps, ("add", 1), ("mul", 0)]))
    return found


def constant_of(number: int, size: int) -> Any:
    return np.random.default_rng(100 * number + size).uniform(-1, 0.1, size).astype(np.float32)


def write_model(path: Path, seed: int) -> None:
    lines: list[str] = []
    for number, (size, steps) in enumerate(chains(seed)):
        kind = f"tensor<{size}xf32>"
        lines.append(f'func.func @f{number}(%v0: {kind} {{inarch.name = "x"}}) -> {kind} {{')
        for which in range(3):
            values = ", ".join(repr(float(each)) for each in constant_of(which, size))
            lines.append(f"  %c{which} = graph.constant dense<[{values}]> : {kind}")
        for at, (word, which) in enumerate(steps):
            operands = f"%v{at}" if word == "exp" else f"%v{at}, %c{which}"
            takes = kind if word == "exp" else f"{kind}, {kind}"
            lines.append(f"  %v{at + 1} = graph.{word} {operands} : {takes} -> {kind}")
        lines.append(f"  func.return %v{len(steps)} : {kind}\n}}")
    path.write_text("\n".join(lines))


def computed(chain: Chain, x: Any) -> Any:
    size, steps = chain
    for word, which in steps:
        x = np.exp(x) if word == "exp" else OPS[word](x, constant_of(which, size))
    return x


def x_of(chain: Chain) -> Any:
    return np.random.default_rng(chain[0]).uniform(-1, 0.1, chain[0]).astype(np.float32)


def same(found: Any, wanted: Any) -> None:
    """But for the last digits of what cancels out."""
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=1e-6 * np.abs(wanted).max())


def check(module: Any, seed: int) -> None:
    for number, chain in enumerate(chains(seed)):
        found = module[f"f{number}"](x_of(chain))
        same(found, computed(chain, x_of(chain)))


def compiled(folder: Path, *instances: str, seed: int = 5, **more: Any) -> Path:
    write_model(folder / "m.mlir", seed)
    options = Options(backends=instances, require_offload=True, **more)
    build(folder / "m.mlir", folder / "m.inarch", options=options)
    return folder / "m.inarch"


def built(folder: Path, *flags: str, name: str = "inarch-loader-tables.so") -> Path:
    command = [*find_compiler().command, "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror"]
    command += ["-fPIC", "-shared", f"-I{INCLUDE}", *flags, str(HERE / "tables.c")]
    subprocess.run([*command, "-o", str(folder / name)], check=True)
    return folder / name


def test_random_programs_with_weights(runtime: Any, tmp_path: Path) -> None:
    """T8: two instances, by a loader in Python, one in C, libinarch, and linked C, as NumPy computes them.

    Weights that are equal are in the file once, whoever uses them, each at a multiple of 64 bytes.
    """
    pair = ("a=tables:only=mul", "b=tables:only=add")
    path = compiled(tmp_path, *pair)
    check(inarch.load(path), 5)
    with Artifact.open(path) as artifact:
        artifact.verify()
        a, b = artifact.manifest.backends
        assert (a.name, b.name, a.version, a.machine) == ("a", "b", "2", "tables-a")
        uses = {each.member for part in (a, b) for each in part.weights.values()}
        assert len(a.weights) + len(b.weights) > len(uses)
        sizes = {size for size, _ in chains(5)}
        assert uses == {name for name in artifact.manifest.members if name.startswith("data/")}
        used = {
            (which, size) for size, steps in chains(5) for word, which in steps if word != "exp"
        }
        assert len(uses) == len(used) <= 3 * len(sizes)
        assert all(artifact.manifest.members[each].offset % 64 == 0 for each in uses)
        text = inarch.load(path).get_source("a")
        assert text == "steps, as people read them"
    loader = built(tmp_path)
    check(inarch.load(path), 5)  # by the one in C, which is beside it
    status, opened = runtime.open(path, flags=1)
    assert status == 0, runtime.message()
    for number, chain in enumerate(chains(5)):
        x, y = x_of(chain), np.empty(chain[0], np.float32)
        instance = runtime.instance(opened, f"f{number}")
        runtime.functions.inarch_bind_input(instance, b"x", x.ctypes.data, x.nbytes)
        runtime.functions.inarch_bind_output(instance, b"out0", y.ctypes.data, y.nbytes)
        assert runtime.functions.inarch_run(instance) == 0, runtime.message()
        same(y, computed(chain, x))
        runtime.functions.inarch_instance_free(instance)
    runtime.close(opened)
    loader.unlink()
    linked = compiled(
        tmp_path,
        *(f"{one},format=c" for one in pair),
        verify_semantics=1 if SOAK else None,
        checked=True,
    )
    module = inarch.load(linked)
    check(module, 5)
    assert "args[1]" in module.get_source("a")
    with Artifact.open(linked) as artifact:  # among the host's, once each
        held = sum({4 * size * 3: 4 * size * 3 for size, _ in chains(5)}.values())
        assert artifact.manifest.weights.nbytes <= held + 64 * 3 * len(chains(5))
        assert not any(name.startswith("data/") for name in artifact.manifest.members)


@pytest.mark.cpu("x86-64")
def test_weights_for_several_kinds_of_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """T8: variants of a program share what backends ship, and each has weights of linked C."""
    machine = native().level
    other = "x86-64-v2" if machine != "x86-64-v2" else "x86-64"
    pair = ("a=tables:only=mul,format=c", "b=tables:only=add")
    both = compiled(tmp_path, *pair, target=f"{other},{machine}")
    for target in (machine, other):
        monkeypatch.setenv("INARCH_TARGET", target)
        module = inarch.load(both, verify=True)
        assert module.target == target
        check(module, 5)
    with Artifact.open(both) as artifact:
        first, second = artifact.manifest.programs
        shared = [name for name in first.members if name.startswith("data/")]
        assert shared
        assert all(first.members[each] == second.members[each] for each in shared)


def refused(path: Path, runtime: Any, loaders: tuple[Path, ...] = ()) -> str:
    """The message of both runtimes, which is one."""
    with pytest.raises(InarchError) as error:
        inarch.load(path, loaders=loaders)
    status, _ = runtime.open(path, loaders=loaders)
    assert status != 0
    assert runtime.message() == error.value.line()
    return error.value.line().removeprefix(str(path))


def test_parts_that_do_not_run_here(runtime: Any, tmp_path: Path) -> None:
    """T8: another machine's, a driver a version behind, a loader without weights, none at all: what to do."""
    wrong, right = tmp_path / "wrong", tmp_path / "right"
    wrong.mkdir()
    right.mkdir()
    loader = (built(tmp_path),)
    another = "this is a tables-a; compile the model again with --backend tables:machine=a"
    path = compiled_there(wrong, "tables:machine=b")
    said = (
        f"[1]: error: loader 'tables' does not run what version '2' made for 'tables-b': {another}"
    )
    assert refused(path, runtime, loader) == said
    assert in_python(path) == said
    path = compiled_there(wrong, "tables:version=3")
    behind = "the driver is version 2; install tables-driver 3"
    said = (
        f"[1]: error: loader 'tables' does not run what version '3' made for 'tables-a': {behind}"
    )
    assert refused(path, runtime, loader) == said
    assert in_python(path) == said
    path = compiled(right, "tables")
    with Artifact.open(path) as artifact:
        (part,) = artifact.manifest.backends
    old = built(
        tmp_path, "-DSIZE=offsetof(inarch_loader, check)", "-include", "stddef.h", name="old.so"
    )
    count = len(part.weights)
    said = f"[1]: error: loader 'tables' takes no weights (it has no 'bind_weights'), found {count}"
    assert refused(path, runtime, (old,)) == said
    LOADERS.register(Loader("tables", load_from_bytes=lambda _, name: Module("tables", name, {})))
    said = f"[1]: error: loader 'tables' takes no weights (it has no 'load_part'), found {count}"
    assert in_python(path) == said
    LOADERS.register(
        Loader("tables", load_part=load_part, status=lambda: "no /dev/tables0; plug it in")
    )
    assert (
        in_python(path) == "[1]: error: loader 'tables' cannot run it: no /dev/tables0; plug it in"
    )
    status, _ = runtime.open(path)
    assert status != 0
    assert runtime.message() == (
        f"{path}: error: expected a loader in C of the format 'tables', found no 'inarch-loader-tables.so' "
        "beside the artifact or in INARCH_LIBRARY_PATH, and none that is given; install tables-driver, run "
        "it from Python, or compile the model without that backend"
    )


def compiled_there(folder: Path, *instances: str) -> Path:
    """Where the loader in Python would refuse it: there is no device."""
    LOADERS.register(Loader("tables", load_part=load_part, status=lambda: "no device"))
    path = compiled(folder, *instances)
    LOADERS.register(Loader("tables", load_part=load_part, compatible=compatible))
    return path


def in_python(path: Path) -> str:
    with pytest.raises(InarchError) as error:
        inarch.load(path)
    return error.value.line().removeprefix(str(path))


def changed(path: Path, change: Any) -> Path:
    """The file, its manifest and index changed as whoever writes artifacts could."""
    with Artifact.open(path) as artifact:
        data = json.loads(json.dumps(artifact.manifest.data))
        library, weights = bytes(artifact.library), bytes(artifact.weights)
        members = {name: artifact.member(name) for name in artifact.manifest.members}
    change(data, members)
    other = path.with_name("other.inarch")
    write_artifact(other, library, data, [(0, weights)], len(weights), members)
    return other


def with_another_copy(path: Path, member: str) -> Path:
    """The file with a number changed where it is mapped; its zip names a copy that is right, elsewhere."""
    with Artifact.open(path) as artifact:
        content, place = artifact.member(member), artifact.manifest.members[member].offset
    other = path.with_name("another.inarch")
    other.write_bytes(path.read_bytes())
    with other.open("r+b") as file:
        file.seek(place)
        file.write(bytes([content[0] ^ 1]))
        with zipfile.ZipFile(file, "a") as archive:
            archive.filelist.remove(archive.NameToInfo.pop(member))
            archive.writestr(entry(member), content)
        write_crc(file)
    return other


def test_damage_of_what_is_shipped(runtime: Any, tmp_path: Path) -> None:
    """A blob that is cut off, missing or changed is refused in one line, before anything of it runs."""
    path = compiled(tmp_path, "tables")
    loader = (built(tmp_path),)
    with Artifact.open(path) as artifact:
        (part,) = artifact.manifest.backends
        name, weight = max(part.weights.items(), key=lambda each: each[1].nbytes)
        place = artifact.manifest.members[weight.member].offset
        first = next(each for each, one in part.weights.items() if one.member == weight.member)

    def cut(_: Any, members: dict[str, bytes]) -> None:
        members[weight.member] = members[weight.member][:-4]

    def gone(_: Any, members: dict[str, bytes]) -> None:
        del members[weight.member]

    for change in (cut, gone):
        with pytest.raises(InarchError) as error:
            changed(path, change)
        found, _, _ = error.value.message.partition(", found ")
        assert found == (
            f"manifest.json: backends[0].weights.{first}: expected {weight.nbytes} bytes in a member "
            "with a place"
        )

    def renamed(data: Any, _: dict[str, bytes]) -> None:
        listed = data["backends"][0]["weights"]
        listed["other"] = listed.pop(name)
        del data["backends"][0]["uses"]

    symbol = name.rpartition("_")[0]
    assert refused(changed(path, renamed), runtime, loader) == (
        f"[1]: error: loader 'tables' does not bind its weights: {symbol}: no weight '{name}' of "
        f"{weight.nbytes} bytes"
    )
    another = with_another_copy(path, weight.member)
    with pytest.raises(InarchError) as error:
        inarch.load(another, verify=True, loaders=loader)
    assert error.value.line() == (
        f"{another}: error: expected the member '{weight.member}' at {place}, found others"
    )
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    flipped = tmp_path / "flipped.inarch"
    flipped.write_bytes(content)
    with pytest.raises(InarchError) as error:
        inarch.load(flipped, check=False, verify=True, loaders=loader)
    assert f"'{weight.member}'" in error.value.message
    assert runtime.open(flipped, flags=3, loaders=loader)[0] != 0
    assert f"expected a weight '{name}' of SHA-256 " in runtime.message()


LARGE = 4 << 20
"""Numbers of f32: 16 MiB."""
MEMORY = """
import re, sys
import numpy as np
import inarch

def memory():
    text = open("/proc/self/status").read()
    found = [re.search(f"Rss{name}:[ \\t]*([0-9]+)", text) for name in ("Anon", "File")]
    return dict(zip(("Anon", "File"), (int(one[1]) << 10 for one in found)))

path, loaders = sys.argv[1], sys.argv[2:]
x = np.ones(4, np.float32)
inarch.load(path, loaders=loaders, check=False)["g"](x)  # all that is imported
before = memory()
module = inarch.load(path, loaders=loaders, check=False)
loaded = memory()
x, y = np.ones(LARGE, np.float32), np.ones(LARGE, np.float32)
module["f"](x, out=y)
after = memory()
print(*(loaded[each] - before[each] for each in before), *(after[each] - loaded[each] for each in after))
""".replace("LARGE", str(LARGE))


@pytest.mark.slow
@pytest.mark.parametrize("form", ["tables", "c"])
def test_weights_of_16_mib_cost_nothing(form: str, tmp_path: Path) -> None:
    """T8: they add little to the build, are not read at load, and no process has a copy of its own."""
    size = f"tensor<{LARGE}xf32>"
    text = f"""
func.func @f(%x: {size} {{inarch.name = "x"}}) -> {size} {{
  %c = graph.constant dense_resource<w> : {size}
  %0 = graph.mul %x, %c : {size}, {size} -> {size}
  func.return %0 : {size}
}}
func.func @g(%x: tensor<4xf32> {{inarch.name = "x"}}) -> tensor<4xf32> {{
  %c = graph.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %0 = graph.mul %x, %c : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}}
"""
    seconds: dict[int, float] = {}
    for count in (LARGE, 64):
        (tmp_path / "m.mlir").write_text(text.replace(str(LARGE), str(count)))
        values = np.random.default_rng(0).uniform(1, 2, count).astype(np.float32)
        np.savez(tmp_path / "m.npz", w=values)
        for _ in range(2):
            start = time.process_time()
            options = Options(backends=(f"tables:format={form}",), require_offload=True)
            build(tmp_path / "m.mlir", tmp_path / f"{count}.inarch", options=options)
            seconds[count] = min(seconds.get(count, 9.0), time.process_time() - start)
    print(f"{form}: {seconds[LARGE] - seconds[64]:.3f} s")
    assert (
        seconds[LARGE] - seconds[64] < 0.5
    )  # `benchmarks/` says what it is when nothing else runs
    words = [str(tmp_path / f"{LARGE}.inarch")]
    words += [str(built(tmp_path))] if form == "tables" else []
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, *words], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    anon, file, run_anon, run_file = map(int, done.stdout.split())
    assert anon < 1 << 20
    assert file < 4 << 20  # the library, and pages around what was read
    assert 32 << 20 <= run_anon < 34 << 20  # x and the result
    assert 12 << 20 < run_file < 18 << 20


@pytest.mark.slow
def test_weights_under_sanitizers(build: Any, tmp_path: Path) -> None:
    """Nothing leaks of what is handed to loaders, whichever of them says no."""
    path = compiled(tmp_path, "tables")
    refusing = built(tmp_path, '-DDRIVER="1"', name="refusing.so")
    old = built(
        tmp_path, "-DSIZE=offsetof(inarch_loader, check)", "-include", "stddef.h", name="old.so"
    )
    checks = ("-fsanitize=address,undefined", "-fno-sanitize-recover", "-O1", "-g1", "-rdynamic")
    loader = built(tmp_path, "-fsanitize=address,undefined", "-fno-sanitize-recover")
    harness = build(HERE / "loaders.c", [*find_compiler().command, "-std=c11"], *checks)
    done = subprocess.run(
        [str(harness), str(path), str(refusing), str(old), str(loader)],
        capture_output=True,
        text=True,
        check=False,
        env={"ASAN_OPTIONS": "detect_leaks=1:color=never", "INARCH_NUM_THREADS": "2"},
    )
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr, lines[-2:]) == (0, "", ["0 ", "0 failures"])
    assert len(lines) == 4
