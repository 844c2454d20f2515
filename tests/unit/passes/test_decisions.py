"""What was decided for a nest serves again: the same program comes out."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import pytest

import inarch
from effort import effort
from inarch.core.cache import default_cache
from inarch.core.plugins import Extensions, load_file
from inarch.dialects import new_context
from inarch.driver.keep import decisions as kept
from inarch.driver.keep import sources
from inarch.driver.keep.decisions import Decisions, decisions
from inarch.ir.context import store_of
from inarch.ir.report import structure
from inarch.ir.report.facts import facts_of
from inarch.ir.target import set_machine, set_target
from inarch.ir.text import parse_module, print_module
from inarch.machine.find import find_machine
from inarch.machine.target import parse
from inarch.microkernel import Instance
from inarch.microkernel.table import MICROKERNELS
from inarch.passes import PASSES
from inarch.passes.tensorize import choose
from inarch.passes.tensorize.decide import Deciding
from inarch.passes.tensorize.keep.memo import Decision
from inarch.passes.tensorize.report import KernelReport
from inarch.passes.tensorize.tensorize import tensorize
from inarch.passes.tensorize.weigh.family import Family
from inarch.passes.tuned import Tuned
from inarch.passes.tuned import choose as choose_by
from inarch.testing.generate import GeneratedProgram, programs

TOYS = Path(__file__).parents[2] / "lit" / "passes" / "tensorize" / "Inputs"

LOWER = (
    "outline-bodies",
    "decompose-composites",
    "graph-to-loop",
    "drop-unit-iterators",
    "fuse-nests",
)

PRODUCT = """func.func @main(%a: tensor<13x40xf32>, %b: tensor<40x50xf32>) -> tensor<13x50xf32> {
  %0 = graph.matmul %a, %b : tensor<13x40xf32>, tensor<40x50xf32> -> tensor<13x50xf32>
  func.return %0 : tensor<13x50xf32>
}"""


@dataclass
class Kept:
    """A store in memory, which counts what it is asked for in vain."""

    records: dict[str, str] = field(default_factory=dict[str, str])
    missed: int = 0

    def get(self, key: str) -> str | None:
        found = self.records.get(key)
        self.missed += found is None
        return found

    def put(self, key: str, record: str) -> None:
        self.records[key] = record


def decided(
    text: str,
    store: Kept,
    target: str = "x86-64-v3",
    machine: str | None = None,
    constants: dict[str, bytes] | None = None,
) -> tuple[KernelReport, str]:
    """The report of `tensorize` on a program, and what it makes of it."""
    context = new_context()
    for key, data in (constants or {}).items():
        store_of(context).set(key, data)
    module = parse_module(context, text)
    set_target(module, parse(target))
    if machine is not None:
        set_machine(module, find_machine(machine))
    for name in LOWER:
        PASSES[name]().apply(context, module)
    report = tensorize(module, kept=store)
    return report, print_module(module)


@pytest.mark.parametrize("level", ["graph", "loop"])
def test_what_is_restored_is_what_was_decided(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store, taken = Kept(), 0
    known: list[tuple[GeneratedProgram, KernelReport, str]] = []
    seed = {"graph": 1, "loop": 2}[level]  # of which kernels do something
    for program in programs(level, seed=seed, count=effort(4, 12)):
        report, text = decided(program.text, store, constants=dict(program.constants))
        taken += sum(nest.taken is not None for nest in report.nests)
        known.append((program, report, text))
    assert taken
    monkeypatch.setattr(choose, "Deciding", None)  # nothing is searched for
    store.missed = 0
    for program, report, text in known:
        again = decided(program.text, store, constants=dict(program.constants))
        assert again == (report, text)
    assert not store.missed


def test_names_of_classes_are_in_no_address() -> None:
    """Of records of `inarch tune`, of nests and of choices of passes, nor in keys of kept decisions."""

    def addresses() -> tuple[set[str], list[str], list[str]]:
        store, tuned, context = Kept(), Tuned({}), new_context()
        report, _ = decided(PRODUCT, store)
        structure.printed.cache_clear()  # of an equal attribute the text that it had
        facts_of(context).put(tuned)
        module = parse_module(context, PRODUCT)
        set_target(module, parse("x86-64-v3"))
        (op,) = [op for op in module.walk() if op.name == "graph.matmul"]
        choose_by(context, module, "test", [op], "a", ["b"])
        return set(store.records), [nest.address for nest in report.nests], list(tuned.points)

    before = addresses()
    assert [len(one) for one in before] == [1, 1, 1]
    classes = {
        each
        for name, module in sys.modules.items()
        if name.partition(".")[0] in ("inarch", "xdsl")
        for each in vars(module).values()
        if isinstance(each, type) and each.__module__.partition(".")[0] in ("inarch", "xdsl")
    }
    names = {each: each.__qualname__ for each in classes}
    try:
        for each in classes:
            each.__qualname__ = f"Renamed{each.__name__}"
        assert "RenamedMachine(" in repr(find_machine("zen4"))
        assert addresses() == before
    finally:
        for each, name in names.items():
            each.__qualname__ = name


def test_operands_that_change_places_are_restored_as_they_were(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Six columns: vectors lie along the rows of A, which is the kernel's B then."""
    text = PRODUCT.replace("13x", "1657x").replace("40x50", "40x6").replace("x50x", "x6x")
    text = text.replace("1657x50", "1657x6")
    store = Kept()
    found = decided(text, store, "x86-64-v4", "zen4")
    monkeypatch.setattr(choose, "Deciding", None)  # nothing is searched for
    assert decided(text, store, "x86-64-v4", "zen4") == found
    assert any('"binding": 1' in record for record in store.records.values())


def test_what_a_decision_depends_on_is_in_its_key() -> None:
    store = Kept()
    decided(PRODUCT, store)
    decided(PRODUCT.replace("%0", "%1"), store)
    assert store.missed == 1
    decided(PRODUCT.replace("40", "41"), store)
    assert store.missed == 2
    decided(PRODUCT, store, target="x86-64-v4")
    assert store.missed == 3
    decided(PRODUCT, store, machine="golden-cove")
    assert store.missed == 4


def test_other_kernels_are_other_decisions() -> None:
    store = Kept()
    for kernels in (None, ["gemm-f32"], ["gemv-f32", "gemm-f32"]):
        context = new_context()
        module = parse_module(context, PRODUCT)
        for name in LOWER:
            PASSES[name]().apply(context, module)
        tensorize(module, kernels, kept=store)
    assert store.missed == len(store.records) == 3


def test_other_files_of_inarch_are_other_decisions() -> None:
    one = Decisions(default_cache(), "as they are")
    one.put("nest", "record")
    assert one.get("nest") == "record"
    assert one.get("another nest") is None
    assert replace(one, sources="after an edit").get("nest") is None


C_KERNEL = """/* inarch
computes = "for m in 4, n in 8, k in K: C[m, n] += A[m, k] * B[k, n]"
dtypes = {A = "f32", B = "f32", C = "f32"}
layout = {A = ["*", 1], B = ["*", 1], C = ["*", 1]}
cost = 1
*/
void mine(const float *A, const float *B, float *C, int64_t A_0, int64_t A_1, int64_t B_0, int64_t B_1,
          int64_t C_0, int64_t C_1, int64_t K)
{
    for (int m = 0; m < 4; m++)
        for (int64_t k = 0; k < K; k++)
            for (int n = 0; n < 8; n++)
                C[m * C_0 + n] += A[m * A_0 + k] * B[k * B_0 + n];
    (void)A_1, (void)B_1, (void)C_1;
}
"""


def loaded(path: Path, text: str) -> None:
    path.write_text(text)
    load_file(path, {"microkernel": cast("Extensions[object]", MICROKERNELS)})


def test_kernels_of_others_in_c_count_by_their_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And by the computer, where calls may be measured."""
    monkeypatch.setattr(kept, "running", lambda: "as they are")
    found = [decisions()]
    for text in (C_KERNEL, C_KERNEL.replace("cost = 1", "cost = 2")):
        with MICROKERNELS.scope():
            loaded(tmp_path / "mine.c", text)
            found += [decisions(), decisions(is_measuring=True)]
            assert decisions() == found[-2]
    keys = {one.sources for one in found if one is not None}
    assert len(keys) == 5


def test_what_is_kept_of_a_kernel_of_others_is_checked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not searched for a second time, and not taken where it cannot be built any more."""
    searched: list[object] = []
    search = choose.Deciding.decide

    def counted(deciding: Deciding, families: Sequence[Family]) -> Decision:
        searched.append(deciding.nest)
        return search(deciding, families)

    monkeypatch.setattr(choose.Deciding, "decide", counted)
    store = Kept()

    def taken(reason: str | None) -> str:
        context = new_context()
        module = parse_module(context, PRODUCT)
        set_target(module, parse("x86-64-v3"))
        for name in LOWER:
            PASSES[name]().apply(context, module)

        def usable(instance: Instance) -> str | None:
            return reason if instance.name == "mine" else None

        (nest,) = tensorize(module, usable=usable, kept=store).nests
        assert nest.taken is not None
        return nest.taken.kernel

    with MICROKERNELS.scope():
        loaded(
            tmp_path / "mine.c", C_KERNEL.replace("in 4, n", "in 1, n").replace("m < 4", "m < 1")
        )
        assert [taken(None), taken(None)] == ["mine", "mine"]
        assert len(searched) == 1
        records = dict(store.records)
        assert taken("it does not compile") != "mine"
        assert len(searched) == 2
        assert store.records == records  # a kernel that failed may be right again


def test_with_kernels_of_others_in_python_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "running", lambda: "as they are")
    assert decisions() is not None
    with MICROKERNELS.scope():
        load_file(TOYS / "tile_gemm.py", {"microkernel": cast("Extensions[object]", MICROKERNELS)})
        assert decisions() is None


def test_a_process_that_may_run_older_files_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    hour = 3600 * 10**9
    edited = time.time_ns() - hour
    monkeypatch.setattr(sources, "_state", lambda: ("as they are", edited))
    monkeypatch.setattr(inarch, "BEGAN_NS", edited + hour // 2)
    assert decisions() is not None
    monkeypatch.setattr(inarch, "BEGAN_NS", edited - 1)
    assert decisions() is None
