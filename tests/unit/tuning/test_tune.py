"""`inarch tune` for real: jobs in processes of their own, here, by Dask and submitit (K9, K10, K11)."""

from __future__ import annotations

import json
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import inarch
from inarch.core.errors import InarchWarning
from inarch.driver.keep.records import read_records, write_records
from inarch.driver.options import Options
from inarch.machine.target import native
from inarch.machine.toolchain import compile_library
from inarch.microkernel.table import MICROKERNELS
from inarch.testing import execute
from inarch.tools.cli import run
from inarch.tuning.executor import EXECUTORS
from inarch.tuning.files import files_of
from inarch.tuning.job import Job, Result, Ways, fault_of, measure
from inarch.tuning.version import version

MODEL = """func.func @main(%x: tensor<96x128xf32>) -> tensor<96x64xf32> {
  %w = graph.constant dense<0.5> : tensor<128x64xf32>
  %y = graph.matmul %x, %w : tensor<96x128xf32>, tensor<128x64xf32> -> tensor<96x64xf32>
  %z = graph.relu %y : tensor<96x64xf32> -> tensor<96x64xf32>
  func.return %z : tensor<96x64xf32>
}
"""
GEMM = """/* inarch
computes = "for m in MR, n in 8, k in K: C[m, n] += A[m, k] * B[k, n]"
dtypes = {A = "f32", B = "f32", C = "f32"}
params = {MR = [2, 4]}
layout = {A = ["*", 1], B = ["*", 1], C = ["*", 1]}
cost = 1
*/
void mine(const float *A, const float *B, float *C, int64_t A_0, int64_t A_1, int64_t B_0, int64_t B_1,
          int64_t C_0, int64_t C_1, int64_t K)
{
    for (int m = 0; m < MR; m++)
        for (int64_t k = 0; k < K; k++)
            for (int n = 0; n < 8; n++)
                C[m * C_0 + n] += A[m * A_0 + k] * B[k * B_0 + n];
    (void)A_1, (void)B_1, (void)C_1;
}
"""
LIBRARY = """void twice(const float *x, float *y, long n) { for (long i = 0; i < n; i++) y[i] = 2 * x[i]; }
__attribute__((visibility("default"))) void twice(const float *, float *, long);"""
TWICE = """from inarch.microkernel import Microkernel

MICROKERNEL = Microkernel(
    "for i in N: Y[i] = X[i] * 2", {"X": "f32", "Y": "f32"}, layout={"X": (1,), "Y": (1,)}, cost=1,
    symbol="twice", declare="void twice(const float *, float *, long);", call="twice({X}, {Y}, (long){N});",
    library=__file__.removesuffix("twice.py") + "libtwice.so",
)
"""
DOUBLED = """func.func @main(%x: tensor<4096xf32>) -> tensor<4096xf32> {
  %two = graph.constant dense<2.0> : tensor<f32>
  %y = graph.mul %x, %two : tensor<4096xf32>, tensor<f32> -> tensor<4096xf32>
  func.return %y : tensor<4096xf32>
}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The working folder, with a model and a kernel."""
    monkeypatch.chdir(tmp_path)
    Path("model.mlir").write_text(MODEL)
    Path("mine.c").write_text(GEMM)
    with MICROKERNELS.scope():
        yield tmp_path


def _tune(*more: str) -> str:
    """With time for everything: how fast this computer is has no part in what is found."""
    code, out, err = run(["tune", "model.mlir", "-o", "r.json", "--budget", "10m", *more])
    assert (code, err) == (0, "")
    return out


def _steady(monkeypatch: pytest.MonkeyPatch, ratio: float) -> None:
    """Ways of nests take `ratio` of what they take without records, all else the same, under any load.

    Of the ways some are tried.
    """

    def measured(job: Job) -> Result:
        found = measure(job)
        steps = [0.001 * (ratio if _of_nests(ways) else 1.0) for ways in job.variants]
        pairs = zip(found.times, steps, strict=False)  # there are none where it failed
        return replace(
            found, times=tuple(each and dict.fromkeys(each, step) for each, step in pairs)
        )

    monkeypatch.setattr("inarch.tuning.queue.measure", measured)
    monkeypatch.setattr("inarch.tools.commands.tune.WAYS", 2)


def _of_nests(ways: Ways) -> bool:
    return any(one.choice is None for one in ways.values())


def test_tuned_here_and_compiled_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """K11: by the path of every compilation, which says what has a record; a second run has nothing to do."""
    _steady(monkeypatch, 0.8)
    out = _tune("--picture", "tune.svg")
    assert re.search(r"^r.json: \d+ records; .* \(1\.250 times as fast\), ", out, re.MULTILINE)
    assert Path("tune.svg").read_text().startswith("<svg ")
    records = read_records(Path("r.json"))
    assert {round(one.gain, 3) for one in records} <= {1.0, 1.25}
    made = run(["compile", "model.mlir", "--records", "r.json", "-o", "m.inarch"])
    assert re.search(r", 1 of 1 nests by records, ", made[1])
    x = np.random.default_rng(0).integers(-3, 4, (96, 128)).astype(np.float32)
    (wanted,) = execute(MODEL, [x])
    np.testing.assert_array_equal(inarch.load(folder / "m.inarch")(x), wanted)
    assert "  tuned; next " in run(["explain", "model.mlir", "--records", "r.json"])[1]
    said, time_said = _tune().splitlines()
    assert said == f"r.json: {len(records)} records; nothing was left to be tuned"
    assert time_said.endswith("; 0 choices measured, 0 left")


def test_a_budget_that_is_too_short_is_told_of(folder: Path) -> None:
    """And the model's folder is no matter."""
    code, out, _ = run(["tune", f"{folder}/model.mlir", "-o", "r.json", "--budget", "1s"])
    assert code == 0
    assert re.fullmatch(
        r"r.json: 0 records; nothing could be measured in 1 s; give it a longer --budget\n"
        r"\S+ s, more than the budget of 1 s: starting \S+, import \S+, lowering \S+, C compiler \S+, "
        r"measuring [^;]*; 1 job, a build of the model takes \S+ s; 0 choices measured, the others not "
        r"listed\n",
        out,
    )


def test_records_of_what_is_chosen_anyway_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a kernel that has changed, or is not there, they are not trusted; each in one line."""
    _steady(monkeypatch, 1.0)
    _tune("--load", "mine.c", "--microkernel", "mine")
    records = read_records(Path("r.json"))
    assert {(one.demanded, one.gain) for one in records} == {("mine", 1.0)}
    own = ["compile", "model.mlir", "--load", "mine.c"]
    plain = run([*own, "--microkernel", "mine", "--emit=kernel"])[1]
    assert (
        run([*own, "--records", "r.json", "--emit=kernel"])[1].count("@mine")
        == plain.count("@mine")
        > 0
    )
    again = run([*own, "--microkernel", "mine", "--records", "r.json", "--emit=kernel"])[1]
    assert again == plain
    command = ["compile", "model.mlir", "--records", "r.json", "-o", "m.inarch"]
    assert "1 of 1 nests by records" in run([*command, "--load", "mine.c"])[1]
    Path("mine.c").write_text(GEMM.replace("A_0 + k]", "A_0 + k] * 1.0f"))
    with MICROKERNELS.scope():
        code, out, err = run([*command, "--load", "mine.c"])
    assert code == 0
    assert "0 of 1 nests by records" in out
    assert err == (
        "r.json: warning: 1 of its records is not used: microkernel 'mine' has changed since; tune again\n"
    )


def _far(name: str, values: Any, location: str) -> Any:
    """A tensor whose data is in a file beside the model."""
    onnx: Any = import_module("onnx")
    Path(location).write_bytes(values.tobytes())
    tensor = onnx.TensorProto(name=name, data_type=1, dims=values.shape, data_location=1)
    tensor.external_data.add(key="location", value=location)
    return tensor


def test_what_a_job_is_made_of(folder: Path) -> None:
    """External data and libraries travel with it, and so does what options name; by names, not by paths.

    Data is that of weights, of attributes, and of what bodies have: all that the importer reads. None of it
    lies beside code that is loaded, which would find libraries there.
    """
    onnx: Any = import_module("onnx")
    helper, ones = onnx.helper, np.ones((4, 3), np.float32)
    (folder / "load0").mkdir()
    kinds = [
        helper.make_tensor_value_info(n, t, s)
        for n, t, s in (("x", 1, ["batch", 4]), ("c", 9, []), ("y", 1, ["batch", 3]))
    ]
    constant = helper.make_node("Constant", [], ["b"], value=_far("b", ones[0], "load0/x.so"))
    bodies = {
        f"{name}_branch": helper.make_graph(
            [helper.make_node(op, ["p", "d"], [f"{name}_y"])],
            name,
            [],
            [helper.make_tensor_value_info(f"{name}_y", 1, None)],
            [_far("d", ones[0], f"{name}.bin")],
        )
        for name, op in (("then", "Add"), ("else", "Sub"))
    }
    nodes = [
        constant,
        helper.make_node("MatMul", ["x", "w"], ["m"]),
        helper.make_node("Add", ["m", "b"], ["p"]),
        helper.make_node("If", ["c"], ["y"], **bodies),
    ]
    graph = helper.make_graph(nodes, "g", kinds[:2], kinds[2:], [_far("w", ones, "far.bin")])
    Path("m.onnx").write_bytes(helper.make_model(graph).SerializeToString())
    (folder / "kernels").mkdir()
    Path("mine.c").rename("kernels/mine.c")
    Path("kernels/libmine.so").write_bytes(b"library")
    Path("s.schedule").write_text("")
    given = Options(schedule=folder / "s.schedule", machine="zen4", dims={"batch": 1}, jobs=2)
    files, loads, settings = files_of(folder / "m.onnx", [Path("kernels/mine.c")], given)
    assert set(files) == {
        "m.onnx",
        "far.bin",
        "load0/x.so",
        "then.bin",
        "else.bin",
        "load0_/mine.c",
        "load0_/libmine.so",
        "schedule/s.schedule",
    }
    assert loads == ("load0_/mine.c",)
    assert settings == {"schedule": "schedule/s.schedule", "machine": "zen4", "dims": {"batch": 1}}


@pytest.mark.slow
def test_members_that_are_broken_on_a_worker_are_left_out(tmp_path: Path) -> None:
    """The kernel of two rows is wrong where the tuner's folder is not the working one."""
    wrong = f'if (MR == 2 && access("{tmp_path}/here", 0)) A_0 = 0;\n    for (int m'
    text = GEMM.replace("    for (int m", f"    {wrong}", 1).replace("MR = [2, 4]", "MR = [4, 2]")
    Path("mine.c").write_text(
        text.replace("void mine", "extern int access(const char *, int);\nvoid mine")
    )
    code, _, err = run(
        [
            "tune",
            "model.mlir",
            "-o",
            "r.json",
            "--budget",
            "10m",
            "--load",
            "mine.c",
            "--microkernel",
            "mine",
        ]
    )
    assert code == 0
    (record,) = [one for one in read_records(Path("r.json")) if "params" in one.way]
    assert record.way["params"] == {"MR": 4}
    assert "a way was left out: mine: " in err


def test_a_job_needs_nothing_of_where_it_runs(folder: Path) -> None:
    """K9: an empty environment, another folder, a library that no path leads to but its own."""
    (folder / "twice").mkdir()
    compile_library({"t.c": LIBRARY}, folder / "twice" / "libtwice.so", target=native())
    (folder / "twice" / "twice.py").write_text(TWICE)
    files = {"m.mlir": DOUBLED.encode()}
    for name in ("twice.py", "libtwice.so"):
        files[f"load0/{name}"] = (folder / "twice" / name).read_bytes()
        (folder / "twice" / name).unlink()
    settings = {"target": "native", "microkernels": ["twice"]}
    job = Job("m.mlir", files, ("load0/twice.py",), settings, ({},), 2, 60.0, version())
    Path("job").write_bytes(pickle.dumps(job))
    code = (
        "import pickle, sys; from inarch.tuning.job import measure; "
        "print(measure(pickle.load(open(sys.argv[1], 'rb'))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder / "job")],
        env={},
        cwd="/",
        capture_output=True,
        text=True,
        check=True,
    )
    assert "error=''" in done.stdout, done.stdout
    assert re.search(r"times=\(\{'m.mlir:3:3': [\d.e-]+", done.stdout), done.stdout


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"version": "0-none"}, "the worker has Inarch {version}, the tuner 0-none; install one"),
        ({"seconds": 0.1}, "it has not ended after 0.1 s"),
        ({"loads": ("none.py",)}, "--load: expected a Python file, found 'none.py'"),
        (
            {"files": {"../m.mlir": b""}},
            "expected files of the job in its folder, found '../m.mlir'",
        ),
    ],
    ids=["version", "time", "file", "place"],
)
def test_jobs_that_fail(change: dict[str, object], error: str) -> None:
    job = Job("m.mlir", {"m.mlir": MODEL.encode()}, (), {}, ({},), 1, 60.0, version())
    found = measure(replace(job, **change))  # pyright: ignore[reportArgumentType]
    assert error.format(version=version()) in found.error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--budget", "0"], "argument --budget: expected a time such as 90s, 10m or 1h, found '0'"),
        (
            ["--executor", "pol"],
            "no executor 'pol'; did you mean 'pool'? Known: dask, pool, submitit",
        ),
        (["--address", "x"], "--address: it is of executors elsewhere, pool is here; found 'x'"),
        (["--picture", "a.png"], "--picture: expected a file .svg or .html, found 'a.png'"),
        (
            ["--records", "r.json"],
            "--records: expected none; `tune` measures against what is chosen without",
        ),
    ],
)
def test_what_is_asked_for_wrongly(arguments: list[str], message: str) -> None:
    code, out, err = run(["tune", "model.mlir", "-o", "new.json", *arguments])
    assert (code, out) == (2, "")
    assert message in err
    assert not Path("new.json").exists()


_MEASURED_AT_ONCE = """
import random, sys, time
from pathlib import Path
from inarch.driver.keep import records
from inarch.driver.options import Options
from inarch.tools.cli import main
from inarch.tuning import queue
from inarch.tuning.job import Result
from inarch.tuning.space import spaces_of

places = [each for one in spaces_of(Path("model.mlir"), Options(), 3, {}) for each in one.places]
append = records.append_records

def told(path, found):
    append(path, found)
    print(*(one.seconds for one in found), flush=True)

def measure(job):
    time.sleep(0.05)
    times = tuple(dict.fromkeys(places, random.random()) for _ in job.variants)
    return Result(job.key, "", "cpu", "gcc", times, ("",) * len(times))

records.append_records, queue.measure = told, measure
sys.argv = ["inarch", "tune", "model.mlir", "-o", sys.argv[1], "--budget", "10m", "-q"]
main()
time.sleep(60)
"""


@pytest.mark.slow
def test_a_tuner_that_is_killed_has_lost_nothing(folder: Path) -> None:
    """Twenty times, at any moment: what it said that it has measured is in its file, which is read again."""
    rng, told = Random(0), 0
    for number in range(20):
        path = folder / f"r{number}.json"
        command = [sys.executable, "-c", _MEASURED_AT_ONCE, str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            said = [process.stdout.readline()]
            time.sleep(rng.random() / 4)
            process.kill()
            said += process.stdout
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InarchWarning)
            records = read_records(path)
        is_ended = all(one.is_sure for one in records)  # and the others were replaced by these
        measured = {float(each) for line in said if line.endswith("\n") for each in line.split()}
        assert records
        assert is_ended or measured <= {one.seconds for one in records}
        told += not is_ended
    assert told > 5, "they are killed before they end"


# ------------------------------------------------------------------------------------ elsewhere

needs_dask = pytest.mark.skipif(
    find_spec("distributed") is None, reason="pip install 'inarch[tune]'"
)
needs_submitit = pytest.mark.skipif(
    find_spec("submitit") is None, reason="pip install 'inarch[tune]'"
)
quiet = pytest.mark.filterwarnings("ignore")


executors = pytest.mark.parametrize(
    "executor",
    [pytest.param("dask", marks=needs_dask), pytest.param("submitit", marks=needs_submitit)],
)


@quiet
@executors
def test_a_job_is_done_elsewhere(executor: str, folder: Path) -> None:
    """K10: Dask's workers are processes; submitit has its local executor where there is no Slurm."""
    job = Job("m.mlir", {"m.mlir": MODEL.encode()}, (), {}, ({},), 1, 60.0, version())
    with EXECUTORS[executor].open(
        str(folder / "jobs") if executor == "submitit" else "", 1
    ) as pool:
        result = pool.submit(measure, job).result(120)
    assert fault_of(job, result) == ""
    assert result.error == ""
    assert [len(times) for times in result.times if times is not None] == [1]


@pytest.mark.slow
@quiet
@executors
def test_records_made_elsewhere_merge_with_ours(executor: str) -> None:
    """K10, K15: the whole command, of whose jobs one alone is done above."""
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "inarch",
        "tune",
        "model.mlir",
        "--budget",
        "60s",
    ]
    subprocess.run(
        [*command, "-o", "e.json", "--executor", executor, "-q"], check=True, timeout=120
    )
    elsewhere = read_records(Path("e.json"))
    write_records(Path("r.json"), [replace(one, address=f"my{one.address}") for one in elsewhere])
    out = run(["records", "merge", "r.json", "e.json", "-o", "r.json"])[1]
    assert out == f"r.json: {2 * len(elsewhere)} records\n"
    assert elsewhere


@needs_dask
@quiet
def test_a_scheduler_that_is_not_there() -> None:
    command = [
        "tune",
        "model.mlir",
        "-o",
        "r.json",
        "--executor",
        "dask",
        "--address",
        "tcp://127.0.0.1:9",
    ]
    code, _, err = run(command)
    assert code == 3
    assert err.startswith("error: executor 'dask': no scheduler at 'tcp://127.0.0.1:9': ")
    assert err.endswith("; start one with `dask scheduler`\n")
    assert err.count("\n") == 1


@pytest.mark.slow
@needs_dask
@quiet
def test_half_of_the_workers_die() -> None:
    """K9: nothing is lost."""
    dask: Any = import_module("distributed")
    with (
        dask.LocalCluster(n_workers=8, threads_per_worker=1, dashboard_address=":0") as cluster,
        dask.Client(cluster) as client,
    ):
        pids: dict[str, int] = dict(client.run(os.getpid))
        killed: list[float] = []

        def kill() -> None:
            while not (busy := {str(name) for name, tasks in client.processing().items() if tasks}):
                time.sleep(0.05)
            for name in [*busy, *(set(pids) - busy)][:4]:
                os.kill(pids[name], signal.SIGKILL)
            killed.append(time.monotonic())

        killer = threading.Thread(target=kill)
        killer.start()
        command = [
            sys.executable,
            "-W",
            "ignore",
            "-m",
            "inarch",
            "tune",
            "model.mlir",
            "--budget",
            "60s",
        ]
        address: str = cluster.scheduler_address
        where = ["--executor", "dask", "--address", address, "--workers", "8"]
        done = subprocess.run(
            [*command, "-o", "r.json", *where, "--json"], capture_output=True, text=True, check=True
        )
        ended = time.monotonic()
        killer.join()
    assert killed[0] < ended - 1
    found = json.loads(done.stdout)
    assert found["faults"] == {}
    assert [one["trials"] for one in found["records"] if "params" in one["way"]] == [11]
