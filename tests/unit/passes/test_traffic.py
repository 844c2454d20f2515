"""What `tensorize` thinks of memory: the order of loops, and the cycles that it adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from inarch.machine.machine_file import MACHINES
from inarch.passes.tensorize.weigh.cost import Costs, Traffic
from inarch.passes.tensorize.weigh.traffic import CallLoop, Run, Stream, traffic

ZEN4 = MACHINES["zen4"]
COSTS = Costs(ZEN4)
WIDTH, DEPTH = 512, 1024


def weighed(
    streams: Sequence[Stream],
    sizes: Sequence[int],
    blocks: Sequence[int],
    loops: Sequence[CallLoop],
    costs: Costs,
) -> tuple[tuple[CallLoop, ...], float]:
    """The order, and what memory adds to kernels that take longer than it."""
    order, found = traffic(streams, sizes, blocks, loops, costs)
    assert costs.added(1e12, found) == pytest.approx(
        costs.exposed(found.transfer, found.stalls), rel=1e-3
    )
    return order, costs.exposed(found.transfer, found.stalls)


def _gemm(rows: int, columns: int, tile: int, panel: int) -> tuple[tuple[int, ...], float]:
    """The order (0: rows, 1: columns) and the cycles of `C[m, n] += A[m, k] * B[k, n]`, B packed."""
    a = Stream((DEPTH, 0, 1), (((0, 1),), ((2, 1),)), 4, False, False)
    b = Stream((0, 1, columns), (((2, 1),), ((1, 1),)), 4, True, False)
    c = Stream((columns, 1, 0), (((0, 1),), ((1, 1),)), 4, False, False)
    sizes, blocks = (rows, columns, DEPTH), (tile, panel, DEPTH)
    counts = [size // block for size, block in zip(sizes, blocks, strict=True)]
    loops = [CallLoop(axis, count, axis == 2) for axis, count in enumerate(counts) if count > 1]
    order, cycles = weighed([a, b, c], sizes, blocks, loops, COSTS)
    assert weighed([a, b, c], sizes, blocks, loops[::-1], COSTS)[1] == cycles
    return tuple(loop.axis for loop in order), cycles


def test_the_larger_operand_is_read_once() -> None:
    """What does not fit the second-level cache is read by the outer loop."""
    assert _gemm(64, 16 * 1024, 8, 64)[0] == (1, 0)
    assert _gemm(16 * 1024, 192, 16, 16)[0] == (0, 1)


def test_few_rows_a_tile_bring_b_more_often() -> None:
    """A tile of 2 x 4 vectors has as many accumulators as one of 8, and brings B four times."""
    assert _gemm(512, 512, 8, 16)[1] < _gemm(512, 512, 2, 64)[1]


def test_a_window_is_counted_once() -> None:
    """Three taps of a row of 14 pixels are 16 pixels."""
    image = Stream((16, 16, 1), (((0, 1), (1, 1)), ((2, 1),)), 4, False, False)
    assert image.touched((14, 3, 16)) == 16 * 16 * 4
    assert image.run((14, 3, 16), 64) == Run(1024, 1024, 16)
    strided = replace(image, strides=(1024, 16, 1))
    assert strided.run((14, 3, 16), 64) == Run(3 * 16 * 4, 3 * 16 * 4, 3)


def test_lines_that_are_jumped_over_are_not_touched_and_the_others_are() -> None:
    """One of 25 numbers is a line each; every second line; rows of four lines with half a line between."""
    assert Stream((25,), (((0, 1),),), 4, False, False).run((224,), 64) == Run(22304, 896, 224)
    assert Stream((2,), (((0, 1),),), 4, False, False).run((64,), 64) == Run(508, 256, 8)
    two = ((0, 1),), ((1, 1),)
    assert Stream((32, 1), two, 4, False, False).run((8, 16), 64) == Run(960, 512, 8)
    assert Stream((72, 1), two, 4, False, False).run((8, 64), 64) == Run(2272, 2048, 36)


def test_pieces_begin_anywhere_in_a_line_unless_all_that_moves_them_is_whole_lines() -> None:
    """Two vectors of 8 in rows of 47 numbers touch two lines but where they begin one; in rows of 48 one."""
    two = ((1, 1),), ((0, 1),)
    rows = Stream((47, 1), two, 4, False, False)
    assert rows.run((100, 16), 64).lines == pytest.approx(100 * (64 + 60) / 64)
    assert replace(rows, strides=(48, 1)).run((100, 16), 64).lines == 100


def test_another_pass_over_the_same_lines_brings_them_again() -> None:
    """Rows of 24 numbers, 8 of them a pass: lines three times, but where the first level holds all rows."""

    def lines(calls: int) -> float:
        out = Stream((24, 1, 0, 0, 0), (((0, 1),), ((1, 1),)), 4, False, False)
        once = [CallLoop(axis, 1, False) for axis in (2, 3, 4)]  # so many loops keep their order
        loops = [*once, CallLoop(1, 3, False), CallLoop(0, calls, False)]
        sizes, blocks = (16 * calls, 24, 1, 1, 1), (16, 8, 1, 1, 1)
        order, found = traffic([out], sizes, blocks, loops, COSTS)
        assert order == tuple(loops)
        return found.transfer / COSTS.origin(out.touched(sizes)).line / (16 * calls)

    assert lines(2000) == pytest.approx(3)
    assert lines(20) == pytest.approx(24 * 4 / 64, rel=2e-3)


def test_calls_within_the_same_lines_bring_them_again_from_near() -> None:
    """Of windows of 5 taps that lie side by side, a call of one tap each touches what all five touch."""
    taps = Stream((0, 5, 1), (((1, 5), (2, 1)),), 4, False, False)
    sizes, blocks = (1, 4096, 5), (1, 4096, 1)
    once = traffic([taps], sizes, sizes, [], COSTS)[1].transfer
    again = traffic([taps], sizes, blocks, [CallLoop(2, 5, True)], COSTS)[1].transfer
    assert again - once == pytest.approx(4 * (4096 * 5 * 4 / 64) * COSTS.l2.line, rel=2e-3)


@pytest.mark.parametrize("is_late", [False, True])
def test_an_operand_that_is_read_in_order_costs_less(is_late: bool) -> None:
    """The loop along which rows go on is the inner one."""
    out = Stream((200 * 1024, 16, 1), (((0, 1),), ((1, 1),), ((2, 1),)), 4, False, is_late)
    sizes, blocks = (16, 3136, 16), (1, 28, 16)
    order, cycles = weighed(
        [out], sizes, blocks, [CallLoop(1, 112, False), CallLoop(0, 16, False)], COSTS
    )
    assert [loop.axis for loop in order] == [0, 1]
    assert (
        cycles
        < weighed(
            [out], sizes, (2, 14, 16), [CallLoop(1, 224, False), CallLoop(0, 8, False)], COSTS
        )[1]
    )


def test_rows_of_a_page_crowd_the_cache() -> None:
    """More rows than ways, a multiple or half of 4 KiB apart, push each other out."""
    a = Stream((1024, 1), (((0, 1),), ((1, 1),)), 4, False, False)
    assert a.is_crowded((12, 1), ZEN4)
    assert not a.is_crowded((8, 1), ZEN4)
    assert not replace(a, strides=(1040, 1)).is_crowded((12, 1), ZEN4)
    assert replace(a, strides=(512, 1)).is_crowded((17, 1), ZEN4)
    assert not replace(a, strides=(512, 1)).is_crowded((16, 1), ZEN4)
    assert not replace(a, is_constant=True).is_crowded((12, 1), ZEN4)


def test_rows_that_share_sets_come_from_far_in_every_call() -> None:
    """B of a product of 2048^3 where it is: rows 8 KiB apart are lost, 64 bytes more are not."""

    def cycles(stride: int) -> float:
        b = Stream((0, 1, stride), (((2, 1),), ((1, 1),)), 4, False, False)
        sizes, blocks = (2048, 2048, 2048), (8, 64, 2048)
        return weighed(
            [b], sizes, blocks, [CallLoop(1, 32, False), CallLoop(0, 256, False)], COSTS
        )[1]

    assert cycles(2048) > 1.5 * cycles(2064)


def test_rows_that_share_sets_of_the_first_level_come_from_the_second() -> None:
    """16 columns of B of a product of 256^3 where it is: rows 1 KiB apart are lost, 64 bytes more are not."""

    def cycles(stride: int) -> float:
        b = Stream((0, 1, stride), (((2, 1),), ((1, 1),)), 4, False, False)
        return weighed([b], (258, 16, 256), (6, 16, 256), [CallLoop(0, 43, False)], COSTS)[1]

    again, level = 42 * 256, COSTS.l2
    assert cycles(256) == pytest.approx(
        cycles(272) + COSTS.exposed(again * level.line, again * level.run)
    )


def test_more_pages_than_the_tlb_holds_are_translated_in_each_call() -> None:
    """A row of 256 bytes in each page; rows of one page are one, and what is packed is read in order."""
    rows = Stream((4096, 1), (((0, 1),), ((1, 1),)), 4, False, False)
    assert rows.translations((72, 64), ZEN4) == 72
    assert replace(rows, strides=(64, 1)).translations((72, 64), ZEN4) == 1
    assert replace(rows, strides=(256, 1)).translations((72, 64), ZEN4) == 18
    assert (COSTS.translated(3072), COSTS.translated(4000)) == (0.0, 4000 * ZEN4.tlb.walk)

    def cycles(stream: Stream) -> float:
        return weighed([stream], (800, 64), (80, 64), [CallLoop(0, 10, False)], COSTS)[1]

    few = replace(ZEN4, tlb=replace(ZEN4.tlb, second_entries=79))
    sizes, blocks, loops = (800, 64), (80, 64), [CallLoop(0, 10, False)]
    walked = weighed([rows], sizes, blocks, loops, Costs(few))[1] - cycles(rows)
    assert walked == pytest.approx(10 * 80 * ZEN4.tlb.walk)
    packed = replace(rows, is_packed=True)
    assert cycles(packed) == weighed([packed], sizes, blocks, loops, Costs(few))[1]


def test_the_longer_of_kernels_and_transfers_hides_most_of_the_other() -> None:
    """max + min / 4, and stalls."""
    assert COSTS.added(1000, Traffic(100, 7)) == 100 / 4 + 7
    assert COSTS.added(100, Traffic(1000, 7)) == 1000 + 100 / 4 + 7 - 100
    assert Traffic(100, 7, 4).times(3) == Traffic(300, 21, 12)


def test_transfers_do_not_hide_behind_loads() -> None:
    """A kernel that does nothing but load takes the sum of both."""
    assert COSTS.added(1000, Traffic(800, 0, 1000)) == 800
    assert COSTS.added(1000, Traffic(800, 0, 500)) == 300 + 500 / 4
    assert COSTS.added(1000, Traffic(800, 0, 2000)) == 800
