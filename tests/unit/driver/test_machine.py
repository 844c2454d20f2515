"""Machines: their files, who is asked for, that a program keeps its own, and that choices follow it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import inarch
from inarch.artifact import Artifact
from inarch.benchmark.probe.machine import measure_machine
from inarch.core.errors import UsageError
from inarch.dialects import new_context
from inarch.driver.compiler import build, import_model, kernel_report
from inarch.ir.target import machine_of, set_machine
from inarch.ir.text import parse_module, print_module
from inarch.machine import find
from inarch.machine.find import find_machine, keep_measured, measured_machine
from inarch.machine.machine import Machine, Ports
from inarch.machine.machine_file import MACHINES, machine_of_text, machine_text
from inarch.machine.target import native, parse
from inarch.microkernel import instantiate
from inarch.microkernel.table import MICROKERNELS
from inarch.passes.tensorize.weigh.family import Family
from inarch.tools import cli
from inarch.tools.opt import run as opt

ZEN4 = MACHINES["zen4"]
TEXT = machine_text(ZEN4)
PRODUCT = """func.func @main(%a: tensor<96x64xf32>, %b: tensor<64x96xf32>) -> tensor<96x96xf32> {
  %0 = graph.matmul %a, %b : tensor<96x64xf32>, tensor<64x96xf32> -> tensor<96x96xf32>
  func.return %0 : tensor<96x96xf32>
}
"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    monkeypatch.setenv("INARCH_CACHE_DIR", str(tmp_path / "cache"))


@pytest.mark.every_case(reason="each file is its own")
@pytest.mark.parametrize("name", MACHINES)
def test_what_is_printed_is_read_again(name: str) -> None:
    machine = MACHINES[name]
    assert machine.name == name
    assert machine_of_text(machine_text(machine), "other", "x.toml") == machine


@pytest.mark.every_case(reason="each message is its own")
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "bytes = 32768",
            "bytes = -1",
            "m.toml:27: l1.bytes: expected a whole number > 0, found -1",
        ),
        (
            "ways = 8",
            "way = 8",
            "m.toml:28: no field 'way' in l1; did you mean 'ways'? Known: bandwidth, bytes, latency, ways",
        ),
        (
            "ghz = 3.7\n",
            "",
            "m.toml:1: ghz: expected a number > 0, found nothing; `inarch machine` prints a whole one",
        ),
        (
            "walk = 40\n",
            "",
            "m.toml:48: tlb.walk: expected a number > 0, found nothing; `inarch machine` prints a whole one",
        ),
        ("cores = 8", 'cores = "8"', "m.toml:3: cores: expected a whole number > 0, found '8'"),
        (
            "cores = 8",
            "cores = true",
            "m.toml:3: cores: expected a whole number > 0, found True",
        ),
        ("ghz = 3.7", "ghz = nan", "m.toml:2: ghz: expected a number > 0, found nan"),
        (
            "[fma]\n16",
            "[fma]\nwide",
            "m.toml:12: fma: expected bytes of a vector such as 32, found 'wide'",
        ),
        (
            "ways = 8",
            "ways = 1024",
            "m.toml:27: l1.bytes: expected a line of 64 for each of 1024 ways, found 32768",
        ),
        (
            "ghz = 3.7",
            "ghz 3.7",
            "m.toml:2: expected TOML: expected '=' after a key in a key/value pair",
        ),
        (
            "25: 16-31,",
            "25: 31-16,",
            "m.toml:9: cpus: expected CPUs such as 'AuthenticAMD 25: 0-15, 32-47' or '0x41: 0xd0c', "
            "found 'AuthenticAMD 25: 31-16, 96-127, 160-175'",
        ),
        ('cpus = "', 'cpus = ": 1" # ', "m.toml:9: cpus: expected CPUs such as"),
        ("[l1]", "[l9]", "m.toml:26: no field 'l9'. Known: branch_miss, "),
        ("[tlb]", "tlb = 5\n[other]", "tlb: expected an object, found 5"),
    ],
)
def test_a_wrong_file_is_one_line(old: str, new: str, message: str, tmp_path: Path) -> None:
    text = TEXT
    if new.startswith("tlb"):  # a key of the machine stands before its tables
        text = "tlb = 5\n" + TEXT[: TEXT.index("[tlb]")]
        message = f"m.toml:1: {message}"
    else:
        assert old in text
        text = text.replace(old, new, 1)
    path = tmp_path / "m.toml"
    path.write_text(text)
    done = cli.run(["machine", str(path)])
    where, _, rest = message.partition(": ")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"{tmp_path}/{where}: error: {rest}")
    assert done.err.count("\n") == 1


def test_a_machine_that_there_is_not(tmp_path: Path) -> None:
    known = "Known: generic, golden-cove, neoverse-n1, zen3, zen4, zen5\n"
    assert (
        cli.run(["machine", "zen6"]).err
        == f"error: no machine 'zen6'; did you mean 'zen5'? {known}"
    )
    path = tmp_path / "none.toml"
    done = cli.run(["machine", str(path)])
    assert (done.code, done.err) == (
        2,
        f"{path}: error: cannot be read: No such file or directory\n",
    )
    (tmp_path / "m.mlir").write_text(PRODUCT)
    for argv in (["compile", str(tmp_path / "m.mlir"), "--machine=zen6"], ["machine", "measured"]):
        assert cli.run(argv).code == 2
    done = opt(["--machine", "zen6"], PRODUCT)
    assert (done.code, done.err) == (2, f"error: no machine 'zen6'; did you mean 'zen5'? {known}")


def test_a_program_keeps_its_machine() -> None:
    """By name where it is ours; whole where it is a file's, so that a printed program can go on."""
    for machine in (ZEN4, replace(ZEN4, l3=None, name="mine", ghz=2.5)):
        context = new_context()
        module = parse_module(context, PRODUCT, "m.mlir")
        assert machine_of(module) == MACHINES["generic"]
        set_machine(module, machine)
        text = print_module(module)
        assert ('inarch.machine = "zen4"' in text) == (machine is ZEN4)
        assert machine_of(parse_module(new_context(), text, "m.mlir")) == machine


def test_a_wrong_machine_in_a_program_is_one_line() -> None:
    for value, message in (
        ("5 : i64", "expected a name or a dictionary for inarch.machine, found 5 : i64"),
        (
            '"zen6"',
            "no machine 'zen6'; did you mean 'zen5'? "
            "Known: generic, golden-cove, neoverse-n1, zen3, zen4, zen5",
        ),
        (
            '{ghz = "1", name = "m"}',
            "inarch.machine.ghz: ghz: expected a number > 0, found '1'",
        ),
    ):
        text = f"builtin.module attributes {{inarch.machine = {value}}} {{\n{PRODUCT}}}"
        with pytest.raises(UsageError) as caught:
            machine_of(parse_module(new_context(), text, "m.mlir"))
        assert str(caught.value) == message


def _taken(machine: Machine) -> object:
    context = new_context()
    module = parse_module(context, PRODUCT, "m.mlir")
    chosen = import_model(module, context, target="x86-64-v4", machine=machine)
    (nest,) = [n for n in kernel_report(context, chosen).nests if n.reduces]
    assert nest.taken is not None
    return nest.taken.kernel, nest.taken.params


def test_choices_follow_the_machine() -> None:
    """Where loads are dear, a tile of more rows and fewer columns is not what is taken."""
    few_loads = replace(ZEN4, loads=Ports(((16, 0.25), (64, 1.0))))
    long_sums = replace(ZEN4, fma_latency=24.0)
    assert _taken(ZEN4) == _taken(replace(ZEN4, name="again"))
    assert len({str(_taken(machine)) for machine in (ZEN4, few_loads, long_sums)}) > 1


def test_what_is_worked_out_is_that_of_the_machine() -> None:
    """One kernel in one process, for two machines in turn."""
    target, other = parse("x86-64-v4"), replace(ZEN4, loads=Ports(((16, 0.1),)))
    found = [
        Family.of("gemm-f32", MICROKERNELS["gemm-f32"], target, machine).best_cycles_a_point
        for machine in (ZEN4, other, ZEN4)
    ]
    assert found[0] == found[2] < found[1]


def test_a_kernel_is_asked_for_a_machine() -> None:
    kernel, params = MICROKERNELS["gemv-f32"], {"NV": 4, "VL": 16}
    target = parse("x86-64-v4")
    assert instantiate(kernel, "gemv-f32", params, target=target).machine == ZEN4
    slow = replace(ZEN4, loads=Ports(((16, 0.5),)))
    assert callable(kernel.cost)
    costs = [
        kernel.cost(instantiate(kernel, "gemv-f32", params, target=target, machine=machine))
        for machine in (ZEN4, slow)
    ]
    assert costs[1] > 4 * costs[0]


def test_native_is_what_was_measured(tmp_path: Path) -> None:
    assert measured_machine() is None
    mine = replace(ZEN4, name="measured", ghz=1.25)
    keep_measured(mine)
    assert find_machine("measured") == measured_machine() == mine
    (tmp_path / "m.mlir").write_text(PRODUCT)
    for settings, name in (
        ({}, "measured"),
        ({"target": "generic"}, "generic"),
        ({"machine": "neoverse-n1"}, "neoverse-n1"),
    ):
        path = tmp_path / "m.inarch"
        built = build(tmp_path / "m.mlir", path, **settings)  # pyright: ignore[reportArgumentType]
        assert built.machine == name
        with Artifact.open(path) as artifact:
            assert artifact.manifest.data["machine"] == name
    done = cli.run(["compile", str(tmp_path / "m.mlir"), "-o", str(tmp_path / "m.inarch")])
    assert f": m for {native()} on measured, " in done.out
    assert json.loads(cli.run(["machine", "--json"]).out)["ghz"] == 1.25


CPUINFO = """processor : 0
vendor_id : {vendor}
cpu family : {family}
model : {model}

processor : 1
vendor_id : nobody
"""


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (CPUINFO.format(vendor="AuthenticAMD", family=25, model=1), "zen3"),
        (CPUINFO.format(vendor="AuthenticAMD", family=25, model=17), "zen4"),
        (CPUINFO.format(vendor="GenuineIntel", family=6, model=143), "golden-cove"),
        (CPUINFO.format(vendor="GenuineIntel", family=25, model=1), None),
        (CPUINFO.format(vendor="AuthenticAMD", family=25, model=200), None),
        ("CPU implementer : 0x41\nCPU part : 0xd0c\n", "neoverse-n1"),
        ("model : what\n", None),
        ("", None),
    ],
)
def test_this_computer_is_the_machine_that_names_its_cpu(
    text: str, name: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it has other instructions than the target's own machine, or others of its caches' sizes."""
    (tmp_path / "cpuinfo").write_text(text)
    monkeypatch.setattr(find, "CPUINFO", tmp_path / "cpuinfo")
    monkeypatch.delenv("INARCH_NATIVE", raising=False)
    find.cpuinfo.cache_clear()
    try:
        found = find.this_machine()
        assert (None if found is None else found.name) == name
        mine = replace(ZEN4, name="measured")
        keep_measured(mine)
        assert find.this_machine() == mine
    finally:
        find.cpuinfo.cache_clear()


@pytest.mark.slow  # what it finds is of the computer, and not of a change
def test_this_computer_can_be_measured(capfd: pytest.CaptureFixture[str]) -> None:
    """What every computer has; numbers, and their order, depend on what else runs."""
    done = cli.run(["machine", "--measure"])
    capfd.readouterr()
    assert done.code == 0, done.err
    found = measured_machine()
    assert found is not None
    assert machine_of_text(done.out, "x", "x") == found
    assert 0 < found.ghz < 100, "GHz"
    for level in (found.l1, found.l2, found.dram):
        assert 0 < level.latency < 1e6, "cycles"
        assert 0 < level.bandwidth < 1e6, "bytes a cycle"
    assert 0 < found.fma_latency < 1e3, "cycles"
    assert 0 < found.fma.of(16) < 1e3, "a cycle"
    assert found.tlb.entries > 0
    assert found.tlb.second_entries > 0
    done = cli.run(["machine", "--measure", "zen4"])
    assert (done.code, done.err) == (
        2,
        "error: --measure: it is for this computer; expected no machine, found 'zen4'\n",
    )


def test_ports_of_widths_between() -> None:
    ports = Ports(((16, 2.0), (32, 2.0), (64, 1.0)))
    assert [ports.of(n) for n in (4, 16, 32, 48, 64, 128)] == [2.0, 2.0, 2.0, 2.0, 1.0, 0.5]
    assert ports.cycles(128) == 2.0


def test_behind_the_second_level() -> None:
    assert ZEN4.far.latency == (50 + 300) / 2
    assert ZEN4.far.bandwidth == pytest.approx(2 / (1 / 16 + 1 / 8))
    assert replace(ZEN4, l3=None).far == ZEN4.dram
    assert measure_machine.__doc__


def test_a_large_product_of_two_inputs_is_packed() -> None:
    """B where it is, 2048 rows 8 KiB apart, is nowhere found again; a copy is read in order."""
    context = new_context()
    text = PRODUCT.replace("96", "2048").replace("64x", "2048x").replace("x64", "x2048")
    chosen = import_model(parse_module(context, text, "m.mlir"), context, target="x86-64-v4")
    (nest,) = [n for n in kernel_report(context, chosen).nests if n.reduces]
    assert nest.taken is not None
    assert {copy.partition(":")[0] for copy in nest.taken.copies} == {"B"}


LAYERS = """func.func @main(%x: tensor<1x16x30x30xf32>, %k: tensor<32x16x3x3xf32>, %q: tensor<4x96x24xf32>) \
-> (tensor<1x32x28x28xf32>, tensor<4x96x96xf32>) {
  %c = graph.conv %x, %k strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1 \
: tensor<1x16x30x30xf32>, tensor<32x16x3x3xf32> -> tensor<1x32x28x28xf32>
  %y = graph.relu %c : tensor<1x32x28x28xf32> -> tensor<1x32x28x28xf32>
  %t = graph.transpose %q perm = [0, 2, 1] : tensor<4x96x24xf32> -> tensor<4x24x96xf32>
  %p = graph.matmul %q, %t : tensor<4x96x24xf32>, tensor<4x24x96xf32> -> tensor<4x96x96xf32>
  %z = graph.softmax %p axis = 2 : tensor<4x96x96xf32> -> tensor<4x96x96xf32>
  func.return %y, %z : tensor<1x32x28x28xf32>, tensor<4x96x96xf32>
}
"""


@pytest.mark.parametrize(
    "lies",
    [
        {"l1": 512, "l2": 1024, "l3": 1024, "cores": 1},
        {"l1": 1 << 40, "l2": 1 << 40, "l3": 1 << 40, "cores": 512},
    ],
    ids=["poor", "rich"],
)
def test_a_machine_file_that_lies_costs_time_and_no_digits(
    tmp_path: Path, lies: dict[str, int]
) -> None:
    """Of caches that hold nothing, or everything, and of one core or hundreds."""
    text = re.sub(r"(?m)^cores = \d+", f"cores = {lies['cores']}", TEXT)
    for cache in ("l1", "l2", "l3"):
        text = re.sub(rf"(\[{cache}\]\nbytes = )\d+", rf"\g<1>{lies[cache]}", text)
    (tmp_path / "liar.toml").write_text(text)
    rng = np.random.default_rng(3)
    x, k = (rng.standard_normal(size, np.float32) for size in ((1, 16, 30, 30), (32, 16, 3, 3)))
    q = rng.standard_normal((4, 96, 24), np.float32)
    (tmp_path / "m.mlir").write_text(LAYERS)
    call = inarch.compile(tmp_path / "m.mlir", machine=str(tmp_path / "liar.toml"))
    windows = np.lib.stride_tricks.sliding_window_view(x[0].astype(np.float64), (3, 3), (1, 2))
    y = np.maximum(np.einsum("chwrs,ocrs->ohw", windows, k), 0)
    scores = q.astype(np.float64) @ q.transpose(0, 2, 1)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    for threads in (1, 3, 2):
        found = call(x, k, q, threads=threads)
        np.testing.assert_allclose(np.asarray(found[0])[0], y, atol=1e-4)
        np.testing.assert_allclose(
            np.asarray(found[1]), weights / weights.sum(-1, keepdims=True), atol=1e-5
        )
