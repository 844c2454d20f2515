"""One file and one entry point are enough: a package from outside adds a thing of each kind, and it is used.

The files are the examples of the guides (docs/extending.md, backends.md, microkernels.md), each in a
distribution of its own with one entry point, as `pip install` leaves it; a host has a second one, for the
loader in its file. All are used in one process, by their names.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"


@dataclass(frozen=True)
class Outside:
    """A distribution: its one file, an example of a guide, and its one entry point."""

    kind: str
    """As `inarch list` calls it."""
    name: str
    group: str
    file: str
    use: str
    """Python that uses the thing by its name; `cli` runs a command line."""
    wanted: str
    """What is in the text of its value."""
    guide: str = "extending.md"
    also: str = ""
    """The group of a second entry point: of a file that is of two kinds."""


EVERY = (
    Outside(
        "targets",
        "my-cpu",
        "inarch.machine.targets",
        "my_cpu.py",
        "cli('compile abs.mlir --emit=kernel --target=my-cpu+avx512vnni')",
        'inarch.target = "my-cpu+avx512vnni"',
    ),
    Outside(
        "machines",
        "small-core",
        "inarch.machine.machines",
        "small_core.toml",
        "cli('compile abs.mlir --emit=kernel --machine=small-core')",
        'name = "small-core"',
    ),
    Outside(
        "dialects",
        "square",
        "inarch.dialects",
        "square.py",
        "inarch.compile('square.mlir')(np.array([-1, 2, 3], 'f4')).tolist()",
        "[1.0, 4.0, 9.0]",
    ),
    Outside(
        "functions",
        "softsign",
        "inarch.functions",
        "softsign.py",
        "cli('run softsign.mlir --check softsign.mlir')",
        "check out0: agrees",
    ),
    Outside(
        "dtypes",
        "f8E3M4",
        "inarch.dtypes",
        "f8E3M4.py",
        "cli('run halves.mlir --check halves.mlir')",
        "check out0: agrees",
    ),
    Outside(
        "passes",
        "drop-abs-of-relu",
        "inarch.passes",
        "drop_abs_of_relu.py",
        "cli('compile abs.mlir')",
        ", pass drop-abs-of-relu, ",
    ),
    Outside(
        "algorithms",
        "matmul-halves",
        "inarch.passes.lower.algorithms",
        "matmul_halves.py",
        "cli('explain product.mlir --algorithm=dense=halves')",
        "dense: halves",
        guide="algorithms.md",
    ),
    Outside(
        "lowerings",
        "collapse",
        "inarch.passes.lower.rules",
        "collapse.py",
        "inarch.compile('collapse.mlir')(np.arange(6, dtype='f4').reshape(2, 3)).tolist()",
        "[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]",
    ),
    Outside(
        "definitions",
        "collapse-meaning",
        "inarch.definitions.ops",
        "collapse.py",
        "execute(Path('collapse.mlir').read_text(), [np.ones((2, 3), 'f4')])[0].shape",
        "(6,)",
    ),
    Outside(
        "steps",
        "halve",
        "inarch.passes.schedule",
        "halve.py",
        "cli('compile abs.mlir --schedule abs.schedule --emit=loop')",
        "loop.nest (i0o = 2, i0i = 3)",
    ),
    Outside(
        "frontends",
        "chain",
        "inarch.frontends",
        "chain.py",
        "cli('run model.chain --check model.chain')",
        "check out0: agrees",
    ),
    Outside(
        "onnx-operators",
        "swish",
        "inarch.frontends.onnx.ops",
        "swish.py",
        "cli('run swish.onnx --check swish.onnx')",
        "check y: agrees",
    ),
    Outside(
        "backends",
        "clamp",
        "inarch.backends",
        "clamp.py",
        "cli('run abs.mlir --backend clamp --require-offload --check abs.mlir')",
        "check out0: agrees",
        "backends.md",
    ),
    Outside(
        "hosts",
        "interpreter",
        "inarch.hosts",
        "interpreter.py",
        "cli('run abs.mlir --host interpreter --check abs.mlir')",
        "check out0: agrees",
        also="inarch.runtime.loaders",
    ),
    Outside(
        "loaders",
        "scale",
        "inarch.runtime.loaders",
        "scale.py",
        "inarch.Module.load_from_bytes(b'2 0.5', format='scale')(np.ones(2, 'f4')).tolist()",
        "[0.5, 0.5]",
    ),
    Outside(
        "microkernels",
        "my-gemm",
        "inarch.microkernels",
        "my_gemm.c",
        "cli('run matmul.mlir --microkernel my-gemm --check matmul.mlir')",
        "check out0: agrees",
        "microkernels.md",
    ),
    Outside(
        "templates",
        "my-sums",
        "inarch.templates",
        "my_sums.py",
        "cli('compile sums.mlir --emit=kernel -q')",
        "kernel.def @my_sums_",
        "microkernels.md",
    ),
    Outside(
        "commands",
        "op-names",
        "inarch.tools.commands",
        "op_names.py",
        "cli('op-names abs.mlir')",
        "graph.abs graph.relu",
    ),
    Outside(
        "layer-sets",
        "my-net",
        "inarch.benchmark.layer_sets",
        "my_net.py",
        "cli('bench layers my-net --list')",
        "my-net: my network",
    ),
    Outside(
        "executors",
        "my-threads",
        "inarch.executors",
        "my_threads.py",
        "cli('tune abs.mlir -o r.json --budget 60s --executor my-threads')",
        " records; ",
        "tuning.md",
    ),
)

ABS = """func.func @main(%x: tensor<6xf32>) -> tensor<6xf32> {
  %0 = graph.relu %x : tensor<6xf32> -> tensor<6xf32>
  %1 = graph.abs %0 : tensor<6xf32> -> tensor<6xf32>
  func.return %1 : tensor<6xf32>
}
"""
MATMUL = """func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x8xf32>) -> tensor<8x8xf32> {
  %0 = graph.matmul %a, %b : tensor<8x16xf32>, tensor<16x8xf32> -> tensor<8x8xf32>
  func.return %0 : tensor<8x8xf32>
}
"""

SCRIPT = """
import json, sys, traceback
from pathlib import Path
import numpy as np
import inarch
from inarch.testing import execute
from inarch.tools import cli as tool

def cli(line):
    done = tool.run(line.split())
    assert done.code == 0, done.err
    return done.out

found = {"list": json.loads(cli("list --json"))}
for kind, use in json.loads(sys.argv[1]):
    try:
        found[kind] = str(eval(use))
    except Exception:
        found[kind] = traceback.format_exc()
print(json.dumps(found))
"""


def example(guide: str, file: str) -> str:
    """The block of a guide that is the file."""
    text = (DOCS / guide).read_text()
    block = rf"^<!-- file: {re.escape(file)} -->\n```\w+\n(.*?)^```$"
    found = re.findall(block, text, re.MULTILINE | re.DOTALL)
    assert found, f"{guide} has no {file}"
    return found[0]


def install(site: Path, one: Outside) -> None:
    """What `pip install` leaves: a package with one file, and one entry point."""
    package = f"outside_{one.kind.replace('-', '_')}"
    (site / package).mkdir()
    (site / package / one.file).write_text(example(one.guide, one.file))
    info = site / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    module = f"{package}.{Path(one.file).stem}"
    groups = [one.group, *([one.also] if one.also else [])]
    points = "".join(f"[{group}]\n{one.name} = {module}\n" for group in groups)
    (info / "entry_points.txt").write_text(points)


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """What each use gave, by its kind, and what `inarch list` shows."""
    site, folder = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("work")
    for one in EVERY:
        install(site, one)
    for name in ("square.mlir", "softsign.mlir", "halves.mlir", "collapse.mlir"):
        (folder / name).write_text(example("extending.md", name))
    (folder / "product.mlir").write_text(example("algorithms.md", "product.mlir"))
    (folder / "sums.mlir").write_text(example("microkernels.md", "sums.mlir"))
    (folder / "abs.mlir").write_text(ABS)
    (folder / "abs.schedule").write_text("at @main[1]: halve i0\n")
    (folder / "matmul.mlir").write_text(MATMUL)
    (folder / "model.chain").write_text("6 exp relu\n")
    _write_swish(folder / "swish.onnx")
    uses = json.dumps([(one.kind, one.use) for one in EVERY])
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, uses],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(site), str(ROOT)]),
            "INARCH_PLUGINS": "all",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def _write_swish(path: Path) -> None:
    """A model with an operator of a domain of its own."""
    import onnx

    text = (
        '<ir_version: 8, opset_import: ["": 18, "com.example": 1]> '
        "g (float[3] x) => (float[3] y) { y = com.example.Swish(x) }"
    )
    path.write_bytes(onnx.parser.parse_model(text).SerializeToString())


@pytest.mark.every_case(reason="each kind is its own")
@pytest.mark.parametrize("one", EVERY, ids=lambda one: one.kind)
def test_one_file_and_one_entry_point_are_enough(one: Outside, used: dict[str, object]) -> None:
    assert "Traceback" not in str(used[one.kind])
    assert one.wanted in str(used[one.kind])


@pytest.mark.every_case(reason="each kind is its own")
@pytest.mark.parametrize("one", EVERY, ids=lambda one: one.kind)
def test_it_is_listed_with_whom_it_is_from(one: Outside, used: dict[str, object]) -> None:
    listed = cast("dict[str, list[dict[str, str]]]", used["list"])
    (row,) = [row for row in listed[one.kind] if row["name"] == one.name]
    assert row["origin"] == f"entry point of outside_{one.kind.replace('-', '_')}"
    assert not row["summary"].startswith("BROKEN")


def test_every_kind_has_its_file() -> None:
    """A kind that can be listed is one that the guide, and this file, has an example of."""
    from inarch.tools.extensions import kinds

    tables = kinds()
    assert set(tables) == {one.kind for one in EVERY}
    guide = (DOCS / "extending.md").read_text()
    for one in EVERY:
        assert f"| `{tables[one.kind].constant}` | `{one.group}` |" in guide
