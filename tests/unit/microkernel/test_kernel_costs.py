"""What calls take of kernels that do not say: estimated by their meaning, measured where that is possible."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ArrayAttr, StringAttr

from inarch.core.cache import Cache
from inarch.core.errors import InarchError, UsageError
from inarch.core.plugins import load_file
from inarch.dialects import new_context
from inarch.driver.kernel_choice import meter_for
from inarch.ir.target import DEMANDED, set_target
from inarch.ir.text import parse_module
from inarch.machine.target import NATIVE, native, parse
from inarch.machine.toolchain import compile_library
from inarch.meaning import normal
from inarch.meaning import parse as meaning_of
from inarch.microkernel import Instance, Microkernel, instantiate
from inarch.microkernel.demanded import Demanded, demanded_of
from inarch.microkernel.estimate import estimated_cycles
from inarch.microkernel.table import MICROKERNELS
from inarch.passes import PASSES
from inarch.passes.tensorize.report import KernelReport
from inarch.passes.tensorize.tensorize import tensorize
from inarch.tools.cli import run
from inarch.verification.timing import call_cycles

GEMM = """/* inarch
computes = "for m in MR, n in N, k in K: C[m, n] += A[m, k] * B[k, n]"
dtypes = {A = "f32", B = "f32", C = "f32"}
params = {MR = [2, 12]}
layout = {A = ["*", 1], B = ["*", 1], C = ["*", 1]}
*/
void mine(const float *A, const float *B, float *C, int64_t A_0, int64_t A_1, int64_t B_0, int64_t B_1,
          int64_t C_0, int64_t C_1, int64_t N, int64_t K)
{
    for (int m = 0; m < MR; m++)
        for (int64_t k = 0; k < K; k++)
            for (int64_t n = 0; n < N; n++)
                C[m * C_0 + n] += A[m * A_0 + k] * B[k * B_0 + n];
    (void)A_1, (void)B_1, (void)C_1;
}
"""
PRODUCT = """func.func @main(%x: tensor<36x40xf32>, %w: tensor<40x32xf32>) -> tensor<36x32xf32> {
  %y = graph.matmul %x, %w : tensor<36x40xf32>, tensor<40x32xf32> -> tensor<36x32xf32>
  func.return %y : tensor<36x32xf32>
}
"""
V3 = parse("x86-64-v3")


@pytest.fixture(autouse=True)
def mine(tmp_path: Path) -> Iterator[None]:
    """The kernel `mine`, which states no cost."""
    path = tmp_path / "mine.c"
    path.write_text(GEMM)
    with MICROKERNELS.scope():
        load_file(path, {"microkernel": MICROKERNELS})
        yield


def _report(measure: object = None, demanded: tuple[str, ...] = ()) -> KernelReport:
    context = new_context()
    module = parse_module(context, PRODUCT)
    set_target(module, V3)
    if demanded:
        module.attributes[DEMANDED] = ArrayAttr(map(StringAttr, demanded))
    PASSES["graph-to-loop"]().apply(context, module)
    return tensorize(module, measure=measure)  # pyright: ignore[reportArgumentType]


class Meter:
    """Calls of `mine` take so many times what their meaning lets one expect; others what they state."""

    def __init__(self, factor: float | str | None) -> None:
        self.factor = factor
        self.asked: list[str] = []

    def __call__(self, instance: Instance, sizes: Mapping[str, int]) -> float | str | None:
        self.asked.append(instance.symbol)
        member = replace(instance, sizes=dict(sizes))
        cost = instance.kernel.cost
        if cost is not None:
            return cost(member) if callable(cost) else cost
        if self.factor is None or isinstance(self.factor, str):
            return self.factor
        shape = normal(meaning_of(instance.kernel.computes))
        known = {**sizes, **instance.params}
        least = estimated_cycles(instance.kernel, shape, known, instance.target, instance.machine)
        return self.factor * least


# ------------------------------------------------------------------------------------ estimates


@pytest.mark.parametrize(
    ("computes", "layout", "sizes", "cycles"),
    [
        # 6 x 16 x 32 multiply-adds in vectors of 8, two a cycle.
        (
            "for m in 6, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]",
            {"C": ("*", 1)},
            {"K": 32},
            192,
        ),
        # 4 x 32 numbers and 32 vectors are loaded, two a cycle.
        (
            "for m in 4, n in 8, k in K: C[m, n] += A[m, k] * B[k, n]",
            {"C": ("*", 1)},
            {"K": 32},
            80,
        ),
        # 64 stores of 8, one a cycle.
        ("for n in N: C[n] = A[n] + B[n]", {"C": (1,)}, {"N": 512}, 64),
        # 22 operations a vector.
        ("for n in N: C[n] = exp(A[n])", {"C": (1,)}, {"N": 64}, 88),
    ],
)
def test_an_estimate_is_what_the_ports_allow(
    computes: str, layout: dict[str, tuple[object, ...]], sizes: dict[str, int], cycles: float
) -> None:
    operands = re.findall(r"([A-C])\[", computes)
    dtypes = dict.fromkeys(sorted(operands), "f32")
    kernel = Microkernel(computes, dtypes, layout=layout)  # pyright: ignore[reportArgumentType]
    machine = V3.machine
    found = estimated_cycles(kernel, normal(meaning_of(computes)), sizes, V3, machine)
    assert found - machine.begin == cycles


# ------------------------------------------------------------------------------------ the choice


def test_a_kernel_that_is_faster_is_taken() -> None:
    """By what was measured, of its two members too; ours, which says what it takes, is measured beside it."""
    fast = Meter(1.0)
    (nest,) = _report(fast).nests
    assert nest.taken is not None
    assert (nest.taken.kernel, nest.taken.basis) == ("mine", "measured")
    assert set(nest.taken.call) == {"measured", "estimated"}
    assert any(not symbol.startswith("mine") for symbol in fast.asked)


def test_a_kernel_that_is_slower_is_not() -> None:
    slow = Meter(3.0)
    (nest,) = _report(slow).nests
    assert nest.taken is not None
    assert nest.taken.kernel != "mine"
    assert {"mine_MR2", "mine_MR12"} >= {one for one in slow.asked if one.startswith("mine")}
    own = [one for one in nest.candidates if one.kernel == "mine"]
    assert own
    assert all(one.cost > nest.taken.cost for one in own if one.basis == "measured")


def test_one_that_cannot_be_measured_is_passed_over_and_is_an_error_where_it_is_demanded() -> None:
    reason = (
        "microkernel 'mine' cannot be measured: the process that called it ended with signal 11"
    )
    broken = Meter(reason)
    (nest,) = _report(broken).nests
    assert nest.taken is not None
    assert nest.taken.kernel != "mine"
    assert nest.misses["mine"] == reason
    with pytest.raises(InarchError) as caught:
        _report(broken, ("mine",))
    assert caught.value.message == reason


def test_one_that_cannot_be_called_here_is_estimated() -> None:
    """As a function that is registered later: others are preferred, and it is used where it is demanded."""
    absent = Meter(None)
    (nest,) = _report(absent).nests
    assert nest.taken is not None
    assert nest.taken.kernel != "mine"
    (nest,) = _report(absent, ("mine",)).nests
    assert nest.taken is not None
    assert (nest.taken.kernel, nest.taken.basis) == ("mine", "estimated")


def test_without_a_meter_it_is_estimated() -> None:
    (nest,) = _report(demanded=("mine",)).nests
    assert nest.taken is not None
    assert (nest.taken.kernel, nest.taken.basis) == ("mine", "estimated")
    assert str(nest.taken).endswith(" cycles (estimated)")


# ------------------------------------------------------------------------------------ members, exclusions


def test_members_are_asked_for_by_their_parameters() -> None:
    for rows in (2, 12):
        (nest,) = _report(demanded=(f"mine{{MR={rows}}}",)).nests
        assert nest.taken is not None
        assert nest.taken.params == {"MR": rows}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mine{MR=3}", "'mine{MR=3}': expected MR of 2, 12 on target 'x86-64-v3', found 3"),
        ("mine{NR=3}", "no parameter 'NR' in mine{NR=3}. Known: MR"),
    ],
)
def test_members_that_there_are_not(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        _report(demanded=(text,))
    assert caught.value.message == message


def test_what_is_asked_for_as_text() -> None:
    assert demanded_of("my-gemm") == Demanded("my-gemm")
    assert demanded_of("g{MR=6, NR=16}") == Demanded("g", {"MR": 6, "NR": 16})
    assert str(demanded_of("g{MR=6,NR=16}")) == "g{MR=6, NR=16}"
    for text in ("g{MR=6", "g{MR}", "g{MR=6,MR=7}", "g{}"):
        with pytest.raises(UsageError) as caught:
            demanded_of(text)
        assert caught.value.message == (
            f"expected NAME or NAME{{PARAMETER=NUMBER, ...}}, found '{text}'"
        )


def test_exclusion_by_name(tmp_path: Path) -> None:
    model = tmp_path / "model.mlir"
    model.write_text(PRODUCT)
    own = ["explain", str(model), "--target", "x86-64-v3", "--no-measure"]
    first = run(own)[1].splitlines()[1].split()[1]
    code, out, _ = run([*own, "--without", first])
    assert code == 0
    assert out.splitlines()[1].split()[1] != first
    assert run([*own, "--without", "gemm-f33"])[2].startswith(
        "error: no microkernel 'gemm-f33' in --without; did you mean 'gemm-f32'?"
    )
    assert run([*own, "--without", "mine", "--microkernel", "mine"]) == (
        2,
        "",
        "error: microkernel 'mine' is demanded and excluded; take one of them back\n",
    )


# ------------------------------------------------------------------------------------ the clock


def _scale(body: str, **more: object) -> Instance:
    head = "void scale(const float *A, float *Y, int64_t A_0, int64_t Y_0, int64_t N)"
    text = f"{head} {{ {body} (void)A_0, (void)Y_0; }}"
    kernel = Microkernel(
        "for n in N: Y[n] = A[n] * 3",
        {"A": "f32", "Y": "f32"},
        layout={"A": (1,), "Y": (1,)},
        c=text,
        **more,  # pyright: ignore[reportArgumentType]
    )
    return instantiate(kernel, "scale", {}, target=native())


ONCE = "for (int64_t n = 0; n < N; n++) Y[n] = A[n] * 3;"
SLOWLY = f'for (int t = 0; t < 20; t++) {{ __asm__ volatile("" ::: "memory"); {ONCE} }}'


def test_twenty_times_the_work_takes_longer(tmp_path: Path) -> None:
    kept = Cache(tmp_path)
    once = call_cycles(_scale(ONCE), {"N": 4096}, cache=kept)
    slowly = call_cycles(_scale(SLOWLY), {"N": 4096}, cache=kept)
    assert isinstance(once, float)
    assert isinstance(slowly, float)
    assert slowly > 4 * once
    more = call_cycles(_scale(ONCE), {"N": 64 * 4096}, cache=kept)
    assert isinstance(more, float)
    assert more > 4 * once


def test_what_was_measured_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Cache(tmp_path)
    once = call_cycles(_scale(ONCE), {"N": 64}, cache=kept)
    monkeypatch.setattr("inarch.verification.timing._run", None)
    assert call_cycles(_scale(ONCE), {"N": 64}, cache=kept) == once


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("*(volatile int *)0 = 1;", "the process that called it ended with signal 11"),
        ("__builtin_abort();", "the process that called it ended with signal 6"),
        (
            "extern void _exit(int); _exit(0);",
            "the process that called it ended before it was done",
        ),
    ],
    ids=["crash", "abort", "exit"],
)
def test_a_kernel_that_ends_the_process(tmp_path: Path, body: str, reason: str) -> None:
    found = call_cycles(_scale(f"{body} {ONCE}"), {"N": 64}, cache=Cache(tmp_path))
    assert found == reason


def test_a_symbol_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """K8: library and remedy, as where nothing is measured, not what the linker says."""
    declare = "void tripled(const float *, float *, long)"
    body = "{ for (long n = 0; n < N; n++) Y[n] = A[n] * 3; }"
    seen = f'__attribute__((visibility("default"))) {declare};'
    text = f"{seen}\nvoid tripled(const float *A, float *Y, long N) {body}\n"
    compile_library({"t.c": text}, tmp_path / "libtripled.so", target=native())
    kernel = Microkernel(
        "for n in N: Y[n] = A[n] * 3",
        {"A": "f32", "Y": "f32"},
        layout={"A": (1,), "Y": (1,)},
        symbol="triple",
        declare=declare.replace("tripled", "triple") + ";",
        call="triple({A}, {Y}, (long){N});",
        library=str(tmp_path / "libtripled.so"),
    )
    monkeypatch.delenv(NATIVE, raising=False)
    meter = meter_for(parse_module(new_context(), PRODUCT), native())
    assert meter is not None
    found = meter(instantiate(kernel, "triple", {}, target=native()), {"N": 64})
    assert found == (
        f"microkernel 'triple_call': no symbol 'triple' in library '{tmp_path}/libtripled.so'; "
        "it has 'tripled': write symbol=\"tripled\""
    )


def test_one_that_does_not_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inarch.verification.timing._SECONDS", 0.5)
    body = "volatile int go = 1; while (go);"
    found = call_cycles(_scale(f"{body} {ONCE}"), {"N": 64}, cache=Cache(tmp_path))
    assert found == "a call has not ended after 0.5 s"


def test_operands_that_are_too_large_are_not_tried() -> None:
    found = call_cycles(_scale(ONCE), {"N": 1 << 40})
    assert found is None
