"""The parent's end of a peer: its process is asked, and answers, one line each."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from inarch.benchmark.layers import Layer, to_json
from inarch.core.errors import EnvironmentFault

_ENVIRONMENT = {
    # Freed memory stays with the process, so that a call's output is no page fault: for the peers
    # that allocate one at each call.
    "MALLOC_MMAP_THRESHOLD_": str(1 << 30),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 31),
}


_LIMITS = ("OMP_NUM_THREADS", "INARCH_NUM_THREADS")
_LAST_SECONDS = 10
"""How long a peer may take to end when it is told to."""


class PeerProcess:
    """A peer that runs. Its methods raise EnvironmentFault with what the peer said."""

    def __init__(self, name: str, threads: int = 1) -> None:
        self.name = name
        self._threads = threads
        limits = dict.fromkeys(_LIMITS, str(threads))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "inarch.benchmark.peers.worker", name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, **_ENVIRONMENT, **limits},
        )

    def version(self) -> str:
        """Of the peer's package."""
        return str(self._ask({"do": "version"})["version"])

    def prepare(self, layer: Layer) -> dict[str, Any]:
        """`index` of the layer in the process, `variant`, `sample` of its output, `ns` of a call."""
        return self._ask({"do": "prepare", "layer": to_json(layer)})

    def prepare_model(self, model: Path, inputs: Path) -> dict[str, Any]:
        """As `prepare`, of an ONNX model with the inputs of a .npz file."""
        given = {"model": str(model), "inputs": str(inputs), "threads": self._threads}
        return self._ask({"do": "prepare_model", **given})

    def call_ns(self, index: int, count: int) -> float:
        """Nanoseconds a call: of CPU time, of several threads by the clock."""
        given = {"index": index, "count": count, "threads": self._threads}
        return float(self._ask({"do": "call", **given})["ns"])

    def kernel(self, index: int, count: int) -> tuple[float, str] | None:
        """Nanoseconds of the operator alone and what it is called; None: its profiler has no number."""
        answer = self._ask({"do": "kernel", "index": index, "count": count})
        return None if answer["ns"] is None else (float(answer["ns"]), answer["implementation"])

    def close(self) -> None:
        """Ends the process."""
        try:
            self._process.communicate(timeout=_LAST_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()

    def _ask(self, command: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        line = ""
        try:
            self._process.stdin.write(json.dumps(command) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            pass
        if not line:
            code = self._process.wait()
            raise self._fault(f"its process ended with exit code {code}")
        answer = json.loads(line)
        if "error" in answer:
            raise self._fault(answer["error"])
        return answer

    def _fault(self, message: str) -> EnvironmentFault:
        return EnvironmentFault(message, where=f"peer '{self.name}'")
