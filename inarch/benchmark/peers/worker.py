"""A peer in a process of its own: commands as lines of JSON on the standard input, answers on the output.

    python -m inarch.benchmark.peers.worker onnxruntime

A peer that crashes, or that brings its own OpenMP, harms no other. File descriptor 1 becomes a file, so
that what libraries print there (oneDNN's log) is no answer.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

from inarch.benchmark.layers import from_json
from inarch.benchmark.peers import PEERS, Peer, Prepared
from inarch.benchmark.subject.arrays import arrays_of, sample
from inarch.core.errors import InarchError, InternalError, UsageError
from inarch.core.lazy import np


def main() -> int:
    """Serves the peer of the first argument until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    with tempfile.TemporaryFile() as log:
        os.dup2(log.fileno(), 1)
        peer = PEERS[sys.argv[1]]
        layers: list[Prepared] = []
        for line in sys.stdin:
            try:
                answer = _answer(json.loads(line), peer, layers)
            except InarchError as error:
                answer = {"error": error.message}
            except Exception as error:  # noqa: BLE001 - a peer may fail in any way; the parent says so
                answer = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
            print(json.dumps(answer), file=answers, flush=True)
    return 0


def _answer(command: dict[str, Any], peer: Peer, layers: list[Prepared]) -> dict[str, Any]:
    match command["do"]:
        case "version":
            return {"version": version(peer.package)}
        case "prepare":
            return _prepare(peer, command["layer"], layers)
        case "prepare_model":
            return _prepare_model(peer, command, layers)
        case "call":
            return {
                "ns": layers[int(command["index"])].call_ns(command["count"], command["threads"])
            }
        case "kernel":
            return _kernel(layers[int(command["index"])], command["count"])
        case other:
            raise InternalError(f"expected a command, found '{other}'")


def _prepare(peer: Peer, fields: dict[str, Any], layers: list[Prepared]) -> dict[str, Any]:
    layer = from_json(fields)
    return _added(peer.prepare(layer, arrays_of(layer)), layers)


def _prepare_model(peer: Peer, command: dict[str, Any], layers: list[Prepared]) -> dict[str, Any]:
    if peer.prepare_model is None:
        raise UsageError("it reads no ONNX models")
    with np.load(command["inputs"]) as arrays:
        model = Path(command["model"])
        return _added(peer.prepare_model(model, dict(arrays), command["threads"]), layers)


def _added(prepared: Prepared, layers: list[Prepared]) -> dict[str, Any]:
    layers.append(prepared)
    return {
        "index": len(layers) - 1,
        "variant": prepared.variant,
        "sample": sample(prepared.output()),
        "ns": prepared.call_ns(1),
    }


def _kernel(prepared: Prepared, count: int) -> dict[str, Any]:
    kernel = prepared.kernel(count)
    if kernel is None:
        return {"ns": None, "implementation": ""}
    return {"ns": kernel.nanoseconds, "implementation": kernel.implementation}


if __name__ == "__main__":
    sys.exit(main())
