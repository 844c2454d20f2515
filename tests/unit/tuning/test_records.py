"""Records as a file: what is read, refused and merged, by whoever writes (K15)."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from effort import SEED, effort
from inarch.core.errors import InarchWarning, UsageError
from inarch.driver.keep.records import (
    Record,
    add_records,
    append_records,
    compiler_name,
    merged,
    read_records,
    tuned_of,
    ways_of,
    write_records,
)
from inarch.machine.find import cpu_name
from inarch.tools.cli import run
from inarch.tuning.outcome import COMPILING, LISTING, Outcome

WAY: dict[str, Any] = {
    "kernel": "gemm", "params": {"MR": 6}, "binding": 0, "assignment": [["m"], ["n", "l"], ["k"]],
    "order": [0, 1, 2], "cost": 90.5, "around": 3.0,
}  # fmt: skip
ONE = Record("a1", "cpu", "gcc", "gemm", "id", WAY, 1e-6, 2e-6, 3, where="conv1")
HEAD = '{"inarch records": 3, "count": 1}'


def test_records_are_read_as_they_were_written(tmp_path: Path) -> None:
    every = [ONE, replace(ONE, address="a2", nest="m = 4")]
    write_records(tmp_path / "r.json", every)
    assert read_records(tmp_path / "r.json") == every


def test_of_two_of_one_nest_the_faster_one_stays() -> None:
    """By the time of one run, whatever each of them gained."""
    better = replace(ONE, seconds=0.5e-6, untuned=0.5e-6)
    elsewhere = replace(ONE, cpu="other", seconds=0.1e-6)
    often = replace(ONE, seconds=2e-6, untuned=9e-6, runs=3.0)  # 0.67 us each
    assert merged([ONE], [better, elsewhere], [ONE, often]) == [better, elsewhere]
    assert merged([ONE], [often]) == [often]
    assert len(merged([ONE], [replace(ONE, threads=2), replace(ONE, threads=4)])) == 3


def test_a_demanded_kernel_beats_no_faster_one() -> None:
    """K15: it stays beside it, for compilations that demand it, and where the faster one cannot be had."""
    mine = replace(ONE, way=WAY | {"kernel": "mine"}, kernel="mine", seconds=1.1e-6, untuned=9e-6)
    mine = replace(mine, demanded="mine{MR=6}")
    both = merged([mine], [ONE])
    assert both == [mine, ONE]
    for demanded, kernels in (
        ([], ["gemm", "mine"]),
        (["mine{MR=6}"], ["mine", "gemm"]),
        (["other"], ["gemm", "mine"]),
    ):
        assert [one.kernel for one in ways_of(both, demanded)["a1"].chain] == kernels
    faster = replace(mine, seconds=0.9e-6)
    assert ways_of([ONE, faster])["a1"].kernel == "mine"
    choice = replace(ONE, way={"kernel": "fuse-nests", "choice": "apart"}, kernel="fuse-nests")
    joined = {"kernel": "fuse-nests", "choice": "joined"}
    beside = replace(choice, way=joined, demanded="mine", seconds=1e-9)
    assert [ways_of([beside, choice], one)["a1"].choice for one in ([], ["mine"])] == [
        "apart",
        "joined",
    ]


def _line(**changes: Any) -> str:
    said = asdict(ONE) | changes
    return json.dumps({name: value for name, value in said.items() if value is not None})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1: expected the head of a file of records, found what is none"),
        ("{}", '1: expected {"inarch records": 3, "count": NUMBER}, found another file'),
        (
            '{"inarch records": 4}',
            "1: expected records of version 3, found 4: they are of a later Inarch; use that one",
        ),
        (
            '{"inarch records": 2}',
            "1: expected records of version 3, found 2: they are of an earlier Inarch; tune into "
            "another file",
        ),
        (
            f"{HEAD}\n{_line()[:40]}",
            "2: expected a record, found what is no JSON object: the file is cut off or damaged; "
            "delete the line, and count it off in the first one",
        ),
        (
            f"{HEAD.replace('1', '10')}\n{_line()}\n{_line()}\n",
            "1: expected 10 records, as this line says, found 2: the file is cut off; take a whole one, or "
            "write here how many there are",
        ),
        (
            f"{HEAD.replace('1', chr(34) + '1' + chr(34))}\n{_line()}",
            "1: count: expected a whole number from 0 on, found '1'",
        ),
        ('{"inarch records": 3}', "1: count: expected a whole number from 0 on, found nothing"),
        (
            f"{HEAD}\n{_line(thread=2)}",
            f"2: no field 'thread'; did you mean 'threads'? Known: {', '.join(sorted(asdict(ONE)))}",
        ),
        (
            f"{HEAD}\n{_line(seconds=math.nan)}",
            "2: seconds: expected a number from 0 on, found nan",
        ),
        (
            f"{HEAD}\n{_line(untuned=0.0)}",
            "2: untuned: expected a number from 1e-30 on, found 0.0",
        ),
        (
            f"{HEAD}\n{_line()}\n{_line(seconds='1')}",
            "3: seconds: expected a number from 0 on, found '1'",
        ),
        (
            f"{HEAD}\n{_line(identity=None)}",
            "2: identity: expected a string, found nothing",
        ),
        (
            f"{HEAD}\n{_line(way=WAY | {'kernel': 'conv'})}",
            "2: way.kernel: expected kernel 'gemm', found 'conv'",
        ),
        (
            f"{HEAD}\n{_line(way={'kernel': 'gemm', 'params': {}})}",
            "2: way.binding: expected a whole number, found nothing",
        ),
        (
            f"{HEAD}\n{_line(way=WAY | {'assignment': [['m'], 3]})}",
            "2: way.assignment[1]: expected a list, found 3",
        ),
    ],
)
def test_files_that_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "r.json"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        read_records(path)
    assert str(caught.value) == f"{path}:{message}"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        read_records(tmp_path / "none.json")
    assert str(caught.value) == (
        f"{tmp_path}/none.json: cannot read records: No such file or directory"
    )


def test_those_of_other_machines_are_not_used(tmp_path: Path) -> None:
    own = replace(ONE, cpu=cpu_name(), compiler=compiler_name())
    path = tmp_path / "r.json"
    write_records(path, [own, ONE, replace(own, address="a2", compiler="cc 1")])
    tuned, said = tuned_of([path])
    assert list(tuned.ways) == ["a1"]
    assert [str(one) for one in said] == [
        f"{path}: 1 of 3 records are of another cpu ('cpu', here '{cpu_name()}') and not used",
        f"{path}: 2 of 3 records are of another compiler ('gcc', here '{compiler_name()}') and not used",
    ]


def test_two_who_add_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "r.json"

    def add(number: int) -> None:
        add_records(path, [replace(ONE, address=f"a{number}")])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(40)))
    assert {one.address for one in read_records(path)} == {f"a{n}" for n in range(40)}


def test_what_is_appended_is_there_however_the_process_ends(tmp_path: Path) -> None:
    """Of a line that was being written nothing is taken, with a warning; the next one begins behind it."""
    path = tmp_path / "r.json"
    every = [replace(ONE, address=f"a{number}") for number in range(3)]
    append_records(path, every[:1])
    append_records(path, every[1:2])
    assert read_records(path) == every[:2]
    whole = path.read_bytes()
    for cut in (b'{"address', b'{"address": "a9", "cpu": "z'):
        path.write_bytes(whole + cut)
        with pytest.warns(InarchWarning, match="r.json:4: the last record was cut off while"):
            assert read_records(path) == every[:2]
    with pytest.warns(InarchWarning, match="cut off"):
        append_records(path, every[2:])
    assert read_records(path) == every
    sure = replace(ONE, address="a0", seconds=9.0)
    assert add_records(path, [sure], instead=every[:2]) == [every[2], sure]
    path.write_bytes(path.read_bytes()[:-5])  # what was written at once is whole, or damaged
    with pytest.raises(UsageError, match="cut off or damaged"):
        read_records(path)
    assert [one.name for one in tmp_path.iterdir()] == ["r.json"]


def test_what_is_sure_stays() -> None:
    sure, fast = replace(ONE, seconds=2.0), replace(ONE, seconds=1.0, is_sure=False)
    assert merged([sure], [fast]) == merged([fast], [sure]) == [sure]
    assert merged([fast], [replace(fast, seconds=0.5)])[0].seconds == 0.5


_KILLED = """
import sys
from dataclasses import replace
from pathlib import Path
from random import Random
from inarch.driver.keep.records import Record, append_records
one = Record("a", "cpu", "gcc", "gemm", "i", {"kernel": "gemm"}, 1.0, 2.0, 1)
number = 0
while True:
    append_records(Path(sys.argv[1]), [replace(one, address=f"a{number + n}") for n in range(9)])
    number += 9
    print(number, flush=True)
"""


def test_killed_at_any_moment_no_record_is_lost(tmp_path: Path) -> None:
    rng = Random(SEED)
    for run_number in range(effort(4, 20)):
        path = tmp_path / f"r{run_number}.json"
        command = [sys.executable, "-c", _KILLED, str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            first = process.stdout.readline()
            time.sleep(rng.random() / 20)
            process.kill()
            said = [first, *process.stdout]
        told = max(int(line) for line in said if line.endswith("\n"))
        lines = path.read_text().removesuffix("\n").split("\n")
        whole = [line for line in lines[1:] if line.endswith("}")]
        assert {f"a{n}" for n in range(told)} <= {json.loads(line)["address"] for line in whole}
        assert len(lines) - 1 - len(whole) <= 1


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    own = replace(ONE, cpu=cpu_name(), compiler=compiler_name(), target="x86-64-v3", nest="m = 4")
    write_records(Path("a.json"), [ONE, own])
    write_records(Path("b.json"), [replace(own, address="a2", seconds=2e-6)])
    assert (
        run(["records", "merge", "a.json", "b.json", "-o", "all.json"])[1]
        == "all.json: 3 records\n"
    )
    assert run(["records", "prune", "all.json", "-o", "here.json"])[1] == "here.json: 1 records\n"
    out = run(["records", "list", "here.json"])[1].splitlines()
    assert out[1].split() == ["1.0", "2.000", "gemm", "x86-64-v3", "conv1", "m", "=", "4"]
    assert out[-1] == f"1 records of {cpu_name()}, {compiler_name()}"
    found = json.loads(run(["records", "best", "all.json", "--json"])[1])
    assert [one["gain"] for one in found] == [2.0, 2.0]
    assert run(["records", "merge", "a.json"]) == (
        2,
        "",
        "error: records merge: expected -o FILE, found none\n",
    )


@pytest.mark.parametrize(
    ("records", "left", "passed", "said"),
    [
        (
            (ONE,),
            5,
            59.9,
            "1 records; 1 ops faster: 1.000 ms, were 2.000 ms (2.000 times as fast), in 4 jobs\n"
            "59.9 s of the budget of 60 s: C compiler 50.0, listing choices 2.0, rest 7.9; ",
        ),
        (
            (),
            0,
            66.0,
            "0 records; nothing was left to be tuned\n66.0 s, more than the budget of 60 s: "
            "C compiler 50.0, listing choices 2.0, rest 14.0; ",
        ),
    ],
    ids=["kept", "late"],
)
def test_a_run_of_tune_says_where_its_time_went(
    records: tuple[Record, ...],
    left: int,
    passed: float,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And the choices that were not measured, however the run ends."""
    spent = {COMPILING: 50.0, LISTING: 2.0}
    outcome = Outcome(
        records,
        2e-3,
        1e-3,
        (),
        {},
        4,
        measured=7,
        left=left,
        build=7.2,
        spent=spent,
        passed=passed,
    )

    def ran(_: object) -> Outcome:
        return outcome

    monkeypatch.setattr("inarch.tuning.tuner.Tuner.run", ran)
    monkeypatch.chdir(tmp_path)
    Path("m.mlir").write_text(
        "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { func.return %x : tensor<2xf32> }"
    )
    code, out, err = run(["tune", "m.mlir", "-o", "r.json", "--budget", "60s"])
    assert (code, err) == (0, "")
    assert out.endswith(
        f"r.json: {said}4 jobs, a build of the model takes 7.2 s; 7 choices measured, {left} left\n"
    )
