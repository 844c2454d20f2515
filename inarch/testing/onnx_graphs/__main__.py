"""Random small ONNX models, and whether Inarch computes what the ONNX reference evaluator does."""

# Onnx is untyped:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from inarch.testing.onnx_graphs.compare import check
from inarch.testing.onnx_graphs.nodes import graph


def main(words: Sequence[str] | None = None) -> int:
    """Prints each difference, and writes its model."""
    parser = argparse.ArgumentParser(
        prog="python -m inarch.testing.onnx_graphs", description=__doc__
    )
    parser.add_argument("--seed", type=int, default=0, help="of the first model (0)")
    parser.add_argument("--count", type=int, default=100, help="how many models (100)")
    parser.add_argument("--run", type=int, default=0, help="begin behind as many runs (0)")
    parser.add_argument("--compiled", action="store_true", help="compile, instead of by definition")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after as many")
    parser.add_argument("--out", type=Path, default=Path("generated-failures"), help="for models")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON at the end")
    asked = parser.parse_args(words)
    begin, findings, tried = time.monotonic(), list[dict[str, Any]](), 0
    first = asked.seed + asked.run * asked.count
    for seed in range(first, first + asked.count):
        if time.monotonic() - begin > asked.seconds:
            break
        tried += 1
        case = graph(seed)
        said = check(case, is_compiled=asked.compiled)
        if not said:
            continue
        asked.out.mkdir(parents=True, exist_ok=True)
        path = asked.out / f"onnx-{seed}.onnx"
        path.write_bytes(case.model.SerializeToString())
        findings.append({"seed": seed, "message": said, "file": os.fspath(path)})
        if not asked.json:
            sys.stdout.write(f"{seed}: {said}\n")
            sys.stdout.flush()
    told = {"graphs": tried, "findings": findings}
    sys.stdout.write(
        json.dumps(told) + "\n" if asked.json else f"{tried} graphs, {len(findings)} differ\n"
    )
    return int(bool(findings))


if __name__ == "__main__":
    sys.exit(main())
