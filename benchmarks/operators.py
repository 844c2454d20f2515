"""Single operators against onnxruntime and OpenVINO: a model of each, measured as `inarch bench MODEL` does.

    python benchmarks/operators.py products attention [--threads 2] [--rounds 10] [--only 1024] [--json]

Sets: `products` of two run-time matrices; `attention` (both products, scale, softmax) of one image's heads;
`transposed` convolutions of stride 2 with constant weights. Least times are compared: `ratio` is the better
peer's by ours, above 1 ours is the faster. `GF/s` are of the operations of the definition, without those
with inserted zeros.
"""

# The models' neighbours are found when it runs:
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false
from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "models"))

from model_builder import ModelBuilder

from inarch.benchmark.model import measure_model
from inarch.driver.options import Options

PEERS = ("onnxruntime", "openvino")
PRODUCTS = (256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096)
ATTENTION = ((12, 128, 64), (12, 384, 64), (12, 1024, 64), (16, 2048, 128))
CHANNELS = ((64, 64), (128, 64), (128, 128), (256, 128), (256, 256))
IMAGES = (16, 32, 64)


@dataclass(frozen=True)
class Operator:
    """A model of one operator, or of a few that belong together."""

    name: str
    build: Callable[[ModelBuilder], str]
    """Writes it; the output's name."""
    shape: tuple[int, ...]
    """Of the output."""
    operations: int

    def save(self, path: Path) -> None:
        """As an ONNX file."""
        builder = ModelBuilder("operator", seed=0)
        builder.output(self.build(builder), self.shape)
        path.write_bytes(builder.model().SerializeToString())


def products() -> Iterator[Operator]:
    """Of two matrices that a call gives: cubes, and a flat one both ways."""
    shapes = [(size, size, size) for size in PRODUCTS]
    for m, n, k in [*shapes, (64, 4096, 4096), (4096, 64, 4096)]:

        def build(b: ModelBuilder, m: int = m, n: int = n, k: int = k) -> str:
            return b.op("MatMul", b.input("a", (m, k)), b.input("b", (k, n)))

        yield Operator(f"{m} x {n} x {k}", build, (m, n), 2 * m * n * k)


def attention() -> Iterator[Operator]:
    """softmax(Q K' / sqrt(d)) V of each head."""
    for heads, length, depth in ATTENTION:
        shape = (1, heads, length, depth)

        def build(b: ModelBuilder, shape: tuple[int, ...] = shape) -> str:
            q, k, v = (b.input(name, shape) for name in "qkv")
            scores = b.op("MatMul", q, b.op("Transpose", k, perm=[0, 1, 3, 2]))
            scaled = b.op("Mul", scores, b.weight(shape[-1] ** -0.5))
            return b.op("MatMul", b.op("Softmax", scaled, axis=-1), v)

        name = f"{heads} x {length} x {depth}"
        yield Operator(name, build, shape, 4 * heads * length * length * depth)


def transposed() -> Iterator[Operator]:
    """Convolutions that double an image, 3x3 and 4x4, with a bias."""
    for window in (3, 4):
        for channels, filters in CHANNELS:
            for size in IMAGES:
                yield _transposed(window, channels, filters, size)


def _transposed(window: int, channels: int, filters: int, size: int) -> Operator:
    def build(b: ModelBuilder) -> str:
        scale = 1 / math.sqrt(channels * window)
        weights = b.weight(b.normal(channels, filters, window, window, scale=scale))
        attributes = {"strides": [2, 2], "pads": [1] * 4, "output_padding": [4 - window] * 2}
        x = b.input("x", (1, channels, size, size))
        return b.op("ConvTranspose", x, weights, b.weight(b.normal(filters)), **attributes)

    name = f"{window}x{window} {channels}->{filters} {size}x{size}"
    operations = 2 * channels * filters * (window * size) ** 2
    return Operator(name, build, (1, filters, 2 * size, 2 * size), operations)


SETS: Mapping[str, Callable[[], Iterator[Operator]]] = {
    "products": products,
    "attention": attention,
    "transposed": transposed,
}


def measure(operator: Operator, folder: Path, threads: int, rounds: int) -> dict[str, Any]:
    """The least microseconds of each; a peer that cannot, or whose result is another one, has none."""
    path = folder / "operator.onnx"
    operator.save(path)
    found = measure_model(path, Options(), peers=PEERS, threads=threads, rounds=rounds)
    least = {name: peer.call.min / 1e3 for name, peer in found.peers.items() if not peer.error}
    ours = found.call.min / 1e3
    return {
        "operator": operator.name,
        "us": {"inarch": ours, **least},
        "errors": {name: peer.error for name, peer in found.peers.items() if peer.error},
        "gflops": operator.operations / ours / 1e3,
        "ratio": min(least.values()) / ours if least else None,
    }


def _row(row: Mapping[str, Any]) -> str:
    times = "".join(f"{row['us'].get(name, math.nan):>12.0f}" for name in ("inarch", *PEERS))
    ratio = math.nan if row["ratio"] is None else row["ratio"]
    errors = "".join(f"  {name}: {error}" for name, error in row["errors"].items())
    return f"{row['operator']:<24}{times}{row['gflops']:>8.0f}{ratio:>7.2f}{errors}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="+", choices=list(SETS), metavar="SET", help=", ".join(SETS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--only", default="", help="operators whose name contains this")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in given.sets:
            if not given.json:
                heads = "".join(f"{who:>12}" for who in ("inarch", *PEERS))
                print(f"{name + ', us':<24}{heads}{'GF/s':>8}{'ratio':>7}")
            for operator in SETS[name]():
                if given.only in operator.name:
                    rows.append(measure(operator, Path(folder), given.threads, given.rounds))
                    if not given.json:
                        print(_row(rows[-1]), flush=True)
    if given.json:
        print(json.dumps(rows, indent=1))
        return 0
    ratios = [row["ratio"] for row in rows if row["ratio"] is not None]
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"least ratio {min(ratios):.2f}, geometric mean {mean:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
