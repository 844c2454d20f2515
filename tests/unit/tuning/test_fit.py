"""`inarch machine --fit`: a machine whose costs are what records say was measured."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inarch.core.errors import UsageError
from inarch.driver.keep.records import Record, write_records
from inarch.machine.find import cpu_name
from inarch.machine.machine import Machine
from inarch.machine.machine_file import MACHINES, machine_of_text
from inarch.machine.target import parse
from inarch.passes.tensorize.choose import chooser_of
from inarch.tools.cli import run
from inarch.tuning.fit import fit

ZEN4 = MACHINES["zen4"]
WAY: Mapping[str, Any] = {
    "kernel": "gemm", "params": {}, "binding": 0, "assignment": [], "order": [], "cost": 1.0, "around": 0.0,
}  # fmt: skip


def records(calls: float, around: float, count: int = 20) -> list[Record]:
    """Of ops that take so many times what the costs say, but for 3 % of noise, and two that are strange."""
    rng = random.Random("records")
    found: list[Record] = []
    for number in range(count):
        own = rng.uniform(1e4, 1e6), rng.uniform(1e4, 1e6)
        cycles = (calls * own[0] + around * own[1]) * rng.uniform(0.97, 1.03)
        cycles *= 5 if number in (3, 7) else 1
        seconds = cycles / ZEN4.ghz * 1e-9
        one = Record(f"a{number}", cpu_name(), "gcc", "gemm", "", WAY, seconds, seconds, 1)
        found.append(
            replace(
                one,
                where=f"conv{number}",
                machine="zen4",
                ghz=ZEN4.ghz,
                calls=own[0],
                around=own[1],
            )
        )
    return found


def test_factors_are_found() -> None:
    """In spite of two ops that take five times as long."""
    found = fit(records(0.5, 1.5))
    assert found.calls == pytest.approx(0.5, rel=0.04)
    assert found.around == pytest.approx(1.5, rel=0.04)
    assert found.count == 20
    assert found.before > 0.15
    assert found.after < 0.03
    machine = found.machine
    assert machine.fma.of(64) == pytest.approx(2 * ZEN4.fma.of(64), rel=0.05)
    assert machine.dram.bandwidth == pytest.approx(ZEN4.dram.bandwidth / 1.5, rel=0.05)
    assert (machine.l1, machine.line_bytes, machine.cpus) == (ZEN4.l1, ZEN4.line_bytes, "")


def test_the_costs_of_the_machine_are_so_many_times_as_large() -> None:
    """Of each part: what the factors were found for is what they do."""
    from inarch.dialects import new_context
    from inarch.dialects.loop.nest import NestOp
    from inarch.driver.compiler import lower
    from inarch.ir.target import set_machine, set_target
    from inarch.ir.text import parse_module
    from inarch.passes.tensorize.unify.strided import strided_nest
    from inarch.passes.tensorize.weigh.candidates import Candidate

    def taken(machine: Machine) -> Candidate:
        context = new_context()
        module = parse_module(
            context,
            """func.func @main(%x: tensor<512x768xf32>, %w: tensor<768x640xf32>) -> tensor<512x640xf32> {
  %0 = graph.matmul %x, %w : tensor<512x768xf32>, tensor<768x640xf32> -> tensor<512x640xf32>
  func.return %0 : tensor<512x640xf32>
}""",
        )
        set_target(module, parse("x86-64-v4"))
        set_machine(module, machine)
        lower(context, module, "loop")
        (nest,) = [one for one in module.walk() if isinstance(one, NestOp) and one.has_reduction]
        found = chooser_of(module).decide(strided_nest(nest))[1]
        assert found is not None
        return found

    before, after = taken(ZEN4), taken(fit(records(0.5, 0.5)).machine)
    assert after.cost == pytest.approx(before.cost / 2, rel=0.1)
    assert after.around == pytest.approx(before.around / 2, rel=0.15)


def test_what_cannot_be_fitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = records(1.0, 1.0)
    others = [replace(one, cpu="another") for one in own]
    with pytest.raises(UsageError) as caught:
        fit([*own[:3], *others])
    assert caught.value.message == (
        f"--fit: expected records of at least 6 ops on this CPU ('{cpu_name()}'), found 3 (of 23); make "
        "them with `inarch tune`"
    )
    with pytest.raises(
        UsageError, match=r"^--fit: expected records of one machine, found zen3, zen4$"
    ):
        fit([*own, *(replace(one, machine="zen3", where=f"my{one.where}") for one in own)])
    monkeypatch.chdir(tmp_path)
    write_records(Path("r.json"), own)
    code, out, err = run(["machine", "--fit", "r.json"])
    assert code == 0
    assert machine_of_text(out, "mine", "mine.toml").cores == ZEN4.cores
    assert err.startswith("note: of 20 ops: calls take ")
    assert run(["machine", "--fit", "r.json", "--measure"]) == (
        2,
        "",
        "error: --measure, --fit: expected one of them, found both\n",
    )
