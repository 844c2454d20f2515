"""What it is worth to run nests block by block, in cycles of bringing what they hand on and share."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeAlias

from inarch.machine.machine import Cache, Machine, Memory
from inarch.passes.loop.tiling.core import Core
from inarch.passes.loop.tiling.figures import Figures, Measure, Nest, Softmax
from inarch.passes.loop.tiling.group import Group
from inarch.passes.loop.tiling.keys import Keys, keys_of
from inarch.passes.loop.tiling.masks import Masks

_PARTS = (4, 2)
"""The scratch of a block may take such a part of the second-level cache, beside what all blocks read."""
_PARTS_ALONE = (8, 4, 2)
"""The same where they read nothing together: small ones lose nothing, and threads share more iterations."""


Along: TypeAlias = tuple[Keys, int] | None
"""The keys of a softmax, and how many are done at a time; None: all at once."""


@dataclass(frozen=True)
class Weighed:
    """A way to run a group, and what it is worth."""

    blocks: tuple[int, ...]
    """Points of each class an iteration."""
    gain: float
    """Cycles of one core."""
    again: int
    """Bytes that are read by more than one iteration from beyond the second cache, each time they are."""
    before: int
    """Bytes of the buffers that become scratch of an iteration."""
    after: int
    keys: int = 0
    """How many of a softmax are done at a time; 0: all."""


@dataclass(frozen=True)
class Plan:
    """How to run a group."""

    way: Weighed
    keys: Along


def least_bytes(machine: Machine) -> int:
    """What nests hand on in less is near already: blocks gain nothing."""
    return machine.l2.bytes // 2 + 1


def plan_of(
    group: Group,
    core: Core,
    measure: Measure,
    masks: Masks,
    rows: int,
    keys: int = 0,
) -> Plan:
    """The best of some sizes: one point an iteration of all classes but the last, and of it many, or `rows`.

    Of a softmax with all keys at once, or with blocks of half of them, a quarter, ..., or of `keys`. Those
    that a constant hides are left out.
    """
    found = keys_of(group)
    if found is not None:
        found = replace(found, window=masks.window_of(group, found))
    figures = measure.of(group, found)
    way = _weighed(figures, core, rows, keys)
    return Plan(way, (found, way.keys) if found is not None and way.keys else None)


@lru_cache(maxsize=4096)
def _weighed(group: Figures, core: Core, rows: int, keys: int) -> Weighed:
    ways = [0] if not keys else []
    if group.softmax is not None:
        ways += _key_counts(group, keys)
    plans = [plan for way in ways or [0] for plan in _plans(group, core, rows, way)]
    return max(plans, key=_of_sizes)


def _plans(group: Figures, core: Core, rows: int, keys: int) -> Iterator[Weighed]:
    machine = core.machine
    one = tuple(_fewest(group, which, machine) for which in range(len(group.sizes)))
    common = _common(group, (*one[:-1], 1))
    row = max(1, _scratch_bytes(group, (*one[:-1], 1), keys) + common)
    parts = _PARTS if _shares(group) else _PARTS_ALONE
    most = [rows] if rows else [max(1, machine.l2.bytes // (part * row)) for part in parts]
    if common and not rows:
        most.append(
            max(1, machine.l1.bytes // (2 * row))
        )  # what is only read comes from the first cache
    if keys and not rows and group.softmax is not None and not group.softmax.window.is_whole:
        most.append(keys)  # of the last block that they look at, rows then see half
    size = group.sizes[-1]
    most = most if rows else [max(one[-1], _even(size, each)) for each in most]
    for count in dict.fromkeys(min(size, each) for each in most):
        yield _way(group, core, (*one[:-1], count), keys)


def _fewest(group: Figures, which: int, machine: Machine) -> int:
    """The smallest block of a class: of one along which the largest buffer lies in order, a line of it.

    Fewer are less than a vector: kernels that take the channels of an image side by side find none.
    """
    scratch = [buffer for buffer in group.buffers if buffer.is_scratch]
    largest = max(scratch, key=lambda buffer: buffer.nbytes, default=None)
    if largest is None or not largest.is_cut_in_order[which]:
        return 1
    return min(group.sizes[which], machine.line_bytes // largest.element)


def _shares(group: Figures) -> bool:
    """Whether the blocks of the last class read something that all of them do."""
    return any(
        not touch.moves[-1] and not group.buffers[touch.buffer].is_scratch
        for nest in group.nests
        for touch in nest.touches
    )


def _key_counts(group: Figures, wanted: int) -> Iterator[int]:
    """Blocks of keys: at least as many as a product with them has columns, or else joining is most of it."""
    assert group.softmax is not None, "who asks has seen to it"
    size = group.softmax.size
    if wanted:
        if wanted < size:
            yield wanted
        return
    columns = max(group.nests[at].columns for at in group.softmax.products)
    parts = 2
    while (count := math.ceil(size / parts)) > columns:
        yield count
        parts *= 2


def _of_sizes(way: Weighed) -> tuple[float, int, int]:
    """What is greater of the better size: it gains more, reads less again, or takes less memory."""
    return way.gain, -way.again, -way.after


def _way(group: Figures, core: Core, blocks: tuple[int, ...], keys: int) -> Weighed:
    machine = core.machine
    before = group.scratch_bytes
    after = _scratch_bytes(group, blocks, keys)
    again, lost = _read_again(group, blocks, after, core)
    gain = -lost - _narrowed(group, blocks, core)
    if keys or blocks != group.sizes:  # a loop of one iteration brings nothing nearer
        gain -= _left_without(group, core)
        gain += _handed_on(group, before, after, core)
        gain += _loaded_once(group, blocks, after, core)
    if keys and group.softmax is not None:
        seen = _seen(group, group.softmax, blocks[-1], keys)
        gain -= seen * _joining(group, keys) / machine.l2.bandwidth
        gain += (1 - seen) * sum(
            _multiplying(group.nests[at], core)
            for at in group.softmax.along
            if group.nests[at].is_product
        )
    return Weighed(blocks, gain, again, before, after, keys)


def _joining(group: Figures, count: int) -> int:
    """Bytes moved to join blocks of keys: a part is written and read, the whole read and written."""
    assert group.softmax is not None, "there are keys"
    iterations = math.ceil(group.softmax.size / count)
    of_row = sum(group.nests[at].columns for at in group.softmax.products)
    return 4 * iterations * math.prod(group.sizes) * of_row * group.softmax.element


def _seen(group: Figures, softmax: Softmax, block: int, count: int) -> float:
    """The part of blocks of keys, of all, that blocks of so many rows look at."""
    if softmax.window.is_whole:
        return 1.0
    rows, total = group.sizes[-1], 0
    for start in range(0, rows, block):
        own = range(start, min(start + block, rows))
        seen = softmax.window.blocks(own, softmax.size, count)
        total += len(own) * min(softmax.size, seen * count)
    return total / (rows * softmax.size)


def _even(size: int, most: int) -> int:
    """The largest block of at most `most` points that divides the size, if it is not too small for that."""
    dividing = max(block for block in range(1, min(size, most) + 1) if size % block == 0)
    iterations = math.ceil(size / most)
    even = math.ceil(size / iterations)
    return dividing if 2 * dividing > even else even


def _scratch_bytes(group: Figures, blocks: tuple[int, ...], keys: int) -> int:
    """Of the scratch of an iteration: the most that is needed at once."""
    parts = [_part_bytes(group, at, blocks, keys) for at in range(len(group.buffers))]
    live: set[int] = set()
    most = 0
    for at, nest in enumerate(group.nests):
        if group.buffers[nest.out].is_scratch:
            live.add(nest.out)
        ending = {each for each in live if group.buffers[each].last == at}
        total = sum(parts[each] for each in live)
        in_place = any(each in ending for each in nest.replaced)
        most = max(most, total - in_place * parts[nest.out])
        live -= ending
    return most + (_running_bytes(group, blocks) if keys else 0)


def _running_bytes(group: Figures, blocks: tuple[int, ...]) -> int:
    """Of what is kept from block to block of keys, and joined with it: results, a maximum, a sum."""
    assert group.softmax is not None, "there are keys"
    of_row = sum(group.nests[at].columns for at in group.softmax.products) + 1
    return 2 * math.prod(blocks) * of_row * group.softmax.element


def _part_bytes(group: Figures, at: int, blocks: tuple[int, ...], keys: int) -> int:
    """Of an iteration's part of a scratch buffer."""
    buffer = group.buffers[at]
    points = buffer.points
    for size, block, is_cut in zip(group.sizes, blocks, buffer.is_cut, strict=True):
        if is_cut:
            points = points // size * block
    if keys and group.softmax is not None and group.softmax.axes[at]:
        points = points // group.softmax.size * keys
    return points * buffer.element


def _handed_on(group: Figures, before: int, after: int, core: Core) -> float:
    """Cycles saved of writing and reading what nests hand on: it comes from nearer.

    Products hide that behind their multiply-adds, wherever it is: two of them alone gain nothing.
    """
    saved = 0.0
    for nest in group.nests:
        if nest.is_product:
            continue
        element = group.buffers[nest.out].element
        buffers = [group.buffers[touch.buffer] for touch in nest.touches]
        moved = sum(min(b.nbytes, nest.points * element) for b in buffers if b.is_scratch)
        saved += _shown(nest, moved, before, core)
        saved -= _shown(nest, moved, after, core)
    return saved


def _later(group: Figures) -> Iterator[tuple[Nest, int]]:
    """Each nest that reads a buffer which an earlier nest of the group reads, and the buffer; no scratch.

    None in a group with products: these need more rows than the first-level cache holds.
    """
    if any(nest.is_product for nest in group.nests):
        return
    seen: set[int] = set()
    for nest in group.nests:
        own = {touch.buffer for touch in nest.touches} - {nest.out}
        own = {at for at in own if not group.buffers[at].is_scratch}
        yield from ((nest, at) for at in sorted(own & seen))
        seen |= own


def _common(group: Figures, blocks: tuple[int, ...]) -> int:
    """Bytes that several nests of a block read."""
    return sum(_part_bytes(group, at, blocks, 0) for at in {at for _, at in _later(group)})


def _loaded_once(group: Figures, blocks: tuple[int, ...], after: int, core: Core) -> float:
    """Cycles saved on buffers that several nests read: after the first, a block of them is in a cache."""
    part = after + _common(group, blocks)
    saved = 0.0
    for nest, at in _later(group):
        buffer = group.buffers[at]
        moved = min(buffer.nbytes, nest.points * buffer.element)
        saved += _shown(nest, moved, buffer.nbytes, core)
        saved -= _shown(nest, moved, part, core)
    return saved


def _read_again(
    group: Figures, blocks: tuple[int, ...], after: int, core: Core
) -> tuple[int, float]:
    """Bytes that several iterations read and the second cache does not hold, and cycles lost on them."""
    iterations = [math.ceil(size / block) for size, block in zip(group.sizes, blocks, strict=True)]
    parts: dict[int, int] = {}
    traffic: dict[int, int] = {}
    for position, nest in enumerate(group.nests):
        for touch in nest.touches:
            buffer = group.buffers[touch.buffer]
            if buffer.is_scratch:
                continue
            moving = list(zip(iterations, touch.moves, strict=True))
            again = math.prod(count for count, moves in moving if not moves)
            if again == 1:
                continue
            part = buffer.nbytes // math.prod(count for count, moves in moving if moves)
            parts[touch.buffer] = max(parts.get(touch.buffer, 0), part)
            traffic[position] = traffic.get(position, 0) + buffer.nbytes * (again - 1)
    kept = after + sum(parts.values())
    if kept <= core.machine.l2.bytes:
        return 0, 0.0
    lost = sum(
        _shown(group.nests[position], moved, kept, core) for position, moved in traffic.items()
    )
    return sum(traffic.values()), lost


def _multiplying(nest: Nest, core: Core) -> float:
    """Cycles of a product's multiply-adds, at their best: the more hides behind them, the less it matters."""
    return core.multiplying(nest.points, nest.factor)


def _narrowed(group: Figures, blocks: tuple[int, ...], core: Core) -> float:
    """Cycles that products take longer, of as few rows and columns as a block has."""
    lost = 0.0
    for nest in group.nests:
        if nest.sides is None:
            continue
        rows, columns = nest.sides
        element = group.buffers[nest.out].element
        whole, part = (
            core.slowness(rows.of(points), columns.of(points), element)
            for points in (group.sizes, blocks)
        )
        lost += (part - whole) * _multiplying(nest, core)
    return lost


def _left_without(group: Figures, core: Core) -> float:
    """Cycles that products take longer which lose their kernel in a loop."""
    return sum(nest.plain - _multiplying(nest, core) for nest in group.nests if nest.plain)


def _shown(nest: Nest, moved: int, held: int, core: Core) -> float:
    """Cycles that a nest takes longer for bringing bytes from where buffers of `held` bytes are.

    A product hides what its multiply-adds take longer than, but not the waiting at each page: no cache
    foresees the next one.
    """
    level = _level(held, core.machine)
    cycles = moved / level.bandwidth
    if not nest.is_product:
        return cycles
    waiting = (level.latency - core.machine.l2.latency) * moved / core.machine.tlb.page_bytes
    return max(cycles - _multiplying(nest, core), waiting)


def _level(held: int, machine: Machine) -> Cache | Memory:
    """Where buffers of so many bytes are: half a cache has what came last."""
    for cache in (machine.l2, machine.l3):
        if cache is not None and 2 * held <= cache.bytes:
            return cache
    return machine.dram
