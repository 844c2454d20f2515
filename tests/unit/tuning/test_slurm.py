"""`inarch tune` as jobs of a real Slurm, on this computer, without accounting (K10)."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

import pytest

from inarch.driver.keep.records import read_records
from slurm import NoSlurmError, slurm

MODEL = """func.func @main(%x: tensor<96x128xf32>) -> tensor<96x64xf32> {
  %w = graph.constant dense<0.5> : tensor<128x64xf32>
  %y = graph.matmul %x, %w : tensor<96x128xf32>, tensor<128x64xf32> -> tensor<96x64xf32>
  func.return %y : tensor<96x64xf32>
}
"""
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("submitit") is None, reason="pip install 'inarch[tune]'"),
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """The environment of its commands."""
    opened = slurm(tmp_path_factory.mktemp("slurm"))
    try:
        environment = opened.__enter__()
    except NoSlurmError as error:
        pytest.skip(f"no Slurm: {error}")
    yield environment
    opened.__exit__(None, None, None)


def tune(
    folder: Path, environment: Mapping[str, str], *more: str
) -> subprocess.CompletedProcess[str]:
    (folder / "model.mlir").write_text(MODEL)
    command = [sys.executable, "-m", "inarch", "tune", "model.mlir", "-o", "r.json"]
    command += ["--executor", "submitit", "--address", str(folder / "jobs"), *more]
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_records_come_of_jobs_of_slurm(tmp_path: Path, cluster: Mapping[str, str]) -> None:
    """Two at a time; every job asks for less than the queue allows, or it would never run."""
    done = tune(tmp_path, cluster, "--budget", "40s", "--workers", "2")
    assert (done.returncode, done.stderr) == (0, "")
    assert read_records(tmp_path / "r.json")
    scripts = [path.read_text() for path in (tmp_path / "jobs").glob("*_submission.sh")]
    assert len(scripts) > 2
    for text in scripts:
        (minutes,) = re.findall(r"^#SBATCH --time=(\d+)$", text, re.MULTILINE)
        assert int(minutes) <= 2
    assert "srun" in scripts[0]


def test_a_queue_that_runs_nothing_ends_the_run(tmp_path: Path, cluster: Mapping[str, str]) -> None:
    """One line, and the job is taken from the queue; what is there is left as it was."""

    def say(*command: str) -> str:
        done = subprocess.run(command, env=cluster, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    node = f"NodeName={say('sinfo', '-h', '-o', '%N')}"
    say("scontrol", "update", node, "State=DRAIN", "Reason=test")
    try:
        done = tune(tmp_path, cluster, "--budget", "1s")
    finally:
        say("scontrol", "update", node, "State=RESUME")
    assert (done.returncode, done.stdout) == (3, "")
    assert re.fullmatch(
        r"error: the model cannot be measured: no worker has done it in \d+ s; look at its queue\n",
        done.stderr,
    )
    assert not (tmp_path / "r.json").exists()
    assert say("squeue", "-h") == ""
