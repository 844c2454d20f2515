r"""Files as a stranger may make them, for every command: names, paths, pipes, links, sizes, depth.

    for path in hostile_files(folder):
        run([command, str(path)])       # one line and a small exit code, or as of any other file

`MARK` is in names of all kinds behind what would have a shell make it as a file, a terminal or a page act
on it, or a listing begin a line with it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inarch.artifact.write import write_artifact
from inarch.core.lazy import np

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, TensorProto

MARK = "OWNED"
NAMES = (
    "nul\0" + MARK,
    f"../../{MARK}",
    f"/tmp/{MARK}",
    f";touch {MARK};",
    f"$(touch {MARK})",
    f"`touch {MARK}`",
    f'"; touch {MARK}; "',
    f"'; touch {MARK}; '",
    f"*/ int {MARK}; /*",
    f'"); {MARK}(); ("',
    "ends in \\",
    f"\\\n#error {MARK}",
    f"line\n{MARK} begins another",
    f"line\r{MARK} writes over it",
    "%s%n%n%n%99999999s",
    f"\x1b]0;{MARK}\x07\x1b[2J\x9b31m\x08\x7f",
    f"</script><script>{MARK}()</script>",
    f"<!--{MARK}",
    f"\u202e{MARK}\u2066\u200f",
    f"??/\n{MARK}??=",
    "input:0",
    "0",
    "_0",
    " ",
    "\u00e9\u4e2d\U0001f600",
    "x" * 3000,
)
"""That values, nodes, weights, functions and files have."""
FILE_NAMES = (
    f"a;touch {MARK};.onnx",
    f"$(touch {MARK}).onnx",
    "line\nbreak.onnx",
    "%s%n'\"\\.onnx",
)
NESTED = 200
"""Bodies within bodies: more than Python's stack and ours take."""


def hostile_files(folder: Path) -> list[Path]:
    """Writes them into `folder`, and gives those that commands are run on; the first is sound."""
    folder.mkdir(parents=True, exist_ok=True)
    sound = _write(folder / FILE_NAMES[0], named_model())
    write_artifact(folder / "names.inarch", b"no library", _MANIFEST, [(0, b"weights")], 7)
    (folder / "names.npz").write_bytes(b"PK\x03\x04" + MARK.encode())
    (folder / "names.json").write_text(_RECORDS)
    (folder / "names.toml").write_text(f'name = "{NAMES[18]}"\n"\\u001b[2J{MARK}" = 1\n')
    (folder / "names.mlir").write_text(f'func.func @"\x1b[2J{MARK}"() {{ "{MARK}\u202e"() }}\n')
    (folder / "names.py").write_text(f"no python \x1b[2J {MARK}\n")
    texts = [folder / f"names.{end}" for end in ("inarch", "npz", "json", "toml", "mlir", "py")]
    named = [_write(folder / name, b"\x08\x08") for name in FILE_NAMES[1:]]
    return [sound, *texts, *named, *_places(folder), *_bombs(folder), *_strange(folder)]


def named_model(names: Sequence[str] = NAMES) -> ModelProto:
    """Adds weights to its input one after the other, with such names wherever a model has one."""
    from onnx import TensorProto, helper, numpy_helper

    nodes: list[Any] = []
    weights: list[TensorProto] = []
    value = names[0]
    for name, after in zip(names, [*names[1:], "y" + names[1]], strict=True):
        weights.append(numpy_helper.from_array(np.ones(4, np.float32), f"w{name}"))
        nodes.append(helper.make_node("Add", [value, f"w{name}"], [after], name=name))
        value = after
    port = [helper.make_tensor_value_info(one, TensorProto.FLOAT, [4]) for one in (names[0], value)]
    graph = helper.make_graph(nodes, names[2], port[:1], port[1:], weights, doc_string=names[3])
    model = _model(graph)
    model.producer_name, model.doc_string, model.domain = names[4], names[5], names[6]
    for name in names:
        model.metadata_props.add(key=name, value=name)
    return model


MANY = ("Concat", "Sum", "Split", "Sigmoid", "If")


def many(kind: str, count: int) -> ModelProto:
    """A model that means some `count` operations, in few bytes each.

    One node of as many operands or results (Concat, Sum, Split), a chain of Sigmoid, or If in both branches
    of If.
    """
    from onnx import TensorProto, helper

    def port(name: str, size: int, dtype: int = TensorProto.FLOAT) -> Any:
        return helper.make_tensor_value_info(name, dtype, [size] if size else [])

    ins, outs = [port("x", 2)], [port("y", 2)]
    if kind == "Concat":
        outs = [port("y", 2 * count)]
        nodes = [helper.make_node(kind, ["x"] * count, ["y"], axis=0, name="many")]
    elif kind == "Sum":
        ins = [port(f"x{number}", 2) for number in range(count)]
        nodes = [helper.make_node(kind, [each.name for each in ins], ["y"], name="many")]
    elif kind == "Split":
        ins, outs = [port("x", 2 * count)], [port(f"y{number}", 2) for number in range(count)]
        nodes = [helper.make_node(kind, ["x"], [one.name for one in outs], axis=0, name="many")]
    elif kind == "If":
        ins.append(port("c", 0, TensorProto.BOOL))
        nodes = [helper.make_node("Relu", ["x"], ["y"])]
        for _ in range(count.bit_length() - 1):
            body = helper.make_graph(nodes, "b", [], outs)
            nodes = [helper.make_node(kind, ["c"], ["y"], then_branch=body, else_branch=body)]
    else:
        values = ["x", *(f"r{number}" for number in range(1, count)), "y"]
        nodes = [helper.make_node(kind, [before], [after]) for before, after in pairwise(values)]
    return _model(helper.make_graph(nodes, "g", ins, outs))


def _model(graph: GraphProto) -> ModelProto:
    from onnx import helper

    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _write(path: Path, model: ModelProto | bytes) -> Path:
    path.write_bytes(model if isinstance(model, bytes) else model.SerializeToString())
    return path


def _places(folder: Path) -> list[Path]:
    """Models whose data is where it must not be."""
    from onnx import TensorProto, helper

    os.mkfifo(folder / "pipe")
    (folder / "loop").symlink_to("loop")
    (folder / "device").symlink_to("/dev/zero")
    (folder / "away").symlink_to("/etc/passwd")
    beside = ("pipe", "loop", "device", "away", "names.npz/x", ".")
    found: list[Path] = []
    for number, name in enumerate((*NAMES, *beside, "/dev/zero", "/proc/self/environ")):
        w = TensorProto(name="w", data_type=1, dims=[4], data_location=TensorProto.EXTERNAL)
        w.external_data.add(key="location", value=name)
        w.external_data.add(key="offset", value=NAMES[number % 3] if name == "0" else "0")
        ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [4]) for n in "xy"]
        graph = helper.make_graph(
            [helper.make_node("Add", ["x", "w"], ["y"])], "g", ports[:1], ports[1:], [w]
        )
        found.append(_write(folder / f"place{number}.onnx", _model(graph)))
    return found


def _bombs(folder: Path) -> list[Path]:
    """Small models that mean much: sizes, depth, cycles, and operators that there are not."""
    from onnx import TensorProto, helper

    def graph(nodes: Sequence[Any], shape: Sequence[Any], weights: Sequence[Any] = ()) -> Any:
        ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n in "xy"]
        return helper.make_graph(nodes, "g", ports[:1], ports[1:], weights)

    inner = helper.make_graph([helper.make_node("Relu", ["x"], ["r"])], "b", [], [])
    for _ in range(NESTED):
        node = helper.make_node("If", ["c"], ["r"], then_branch=inner, else_branch=inner)
        inner = helper.make_graph([node], "b", [], []) if inner.ByteSize() < 1 << 16 else inner
    huge = TensorProto(name="w", data_type=1, dims=[1 << 40], raw_data=b"1234")
    filled = helper.make_node(
        "ConstantOfShape", ["w"], ["y"], value=helper.make_tensor("v", 1, [1], [0.0])
    )
    shape = helper.make_tensor("w", TensorProto.INT64, [4], [1 << 20] * 4)
    bombs = {
        "cycle": graph([helper.make_node("Add", ["y", "x"], ["y"])], [4]),
        "deep": graph([*inner.node], [4]),
        "huge": graph([helper.make_node("Add", ["x", "w"], ["y"])], [4], [huge]),
        "filled": graph([filled], [4], [shape]),
        "rank": graph([helper.make_node("Relu", ["x"], ["y"])], [1] * 64),
        "large": graph([helper.make_node("Relu", ["x"], ["y"])], [1 << 40] * 3),
        "open": graph([helper.make_node("Relu", ["x"], ["y"])], list(NAMES)),
        "unknown": graph([helper.make_node(NAMES[15], ["x"], ["y"], name=NAMES[18])], [4]),
        "windows": graph([helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[1] * 9999)], [4]),
    }
    return [_write(folder / f"{name}.onnx", _model(each)) for name, each in bombs.items()]


def _strange(folder: Path) -> list[Path]:
    """What is called like a model and is no file of one."""
    os.mkfifo(folder / "pipe.onnx")
    (folder / "loop.onnx").symlink_to("loop.onnx")
    (folder / "device.onnx").symlink_to("/dev/zero")
    (folder / "folder.onnx").mkdir()
    (folder / "empty.onnx").touch()
    cut = folder / "cut.onnx"
    cut.write_bytes(named_model().SerializeToString()[:-100])
    names = ("pipe", "loop", "device", "folder", "empty")
    return [*(folder / f"{name}.onnx" for name in names), cut]


_PORT = {"dtype": "f32", "shape": [4]}
_MANIFEST: dict[str, Any] = {
    "inarch": "0.1.0",
    "name": "hostile",
    "prefix": "hostile",
    "target": "x86-64-v2",
    "features": [],
    "functions": {
        "main": {
            "inputs": [{"name": name, **_PORT} for name in NAMES],
            "outputs": [{"name": f"y{name}", **_PORT} for name in NAMES],
            "workspace_bytes": 64,
        }
    },
    "source": {
        "format": NAMES[15],
        "producer": NAMES[12],
        "metadata": dict(zip(NAMES, NAMES, strict=True)),
    },
    "metadata": dict(zip(NAMES, NAMES, strict=True)),
    "imports": [],
    "loaders": ["shared-library"],
    "libraries": [
        {
            "path": f"../{MARK}.so",
            "backend": NAMES[15],
            "package": NAMES[12],
            "symbols": ["f"],
            "kernels": ["k"],
        }
    ],
}
_RECORDS = f"""{{"inarch records": 3, "count": 1}}
{{"address": "\\u001b[2J{MARK}", "\\u001b[2J": 1}}
"""
