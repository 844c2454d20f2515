"""Random `loop.nest`s: iterators, every form of access map, reductions, scans, outputs that clip."""

from __future__ import annotations

import math
from collections.abc import Sequence

from inarch.testing.generate.choices import SIZES, Choices
from inarch.testing.generate.loop.buffers import Buffer, RandomAccess, readable, write
from inarch.testing.generate.loop.builder import LoopText
from inarch.testing.generate.loop.gathers import INDICES, Read, gathered
from inarch.testing.generate.loop.nest_text import Loops, Write, nest_text
from inarch.testing.generate.loop.scalars import is_float

_SIZES = (*SIZES, 200)
MOST_POINTS = 20_000
MOST_REDUCED = 300
"""Points of a reduction, or of a scan: definitions run many of them one after the other."""
MOST_ELEMENTS = 200_000
"""Of an argument."""
MOST_TILE = 4096
"""Of points of parallel iterators inside a reduction or a scan: what the emitter has accumulators for."""


def nest(b: LoopText) -> None:
    """Adds a nest."""
    choices = b.choices
    is_tile = choices.chance(15)
    loops = _tile(choices) if is_tile else _loops(choices)
    count = choices.weighted([(14, 1), (4, 2), (1, 3)])
    writes: list[Write] = []
    for _ in range(count):
        found = _output(b, loops, [one.buffer for one in writes])
        writes.append(found)
    outputs = [one.buffer for one in writes]
    reads: list[Read] = []
    is_plain = loops.scan is not None and choices.chance(50)
    if is_plain:  # a cumulative sum: what is written at a point is read at that index
        reads.append(_plain(b, writes[0]))
    for _ in range(0 if is_plain else choices.integer(0 if choices.chance(10) else 1, 4)):
        inner = choices.chance(75)
        reads.append(read(b, loops, outputs, everywhere=inner or not loops.reduction))
    if not is_plain and choices.chance(20):
        reads += gathered(
            b,
            loops,
            outputs,
            len(reads),
            lambda: read(b, loops, outputs, everywhere=choices.chance(60), kinds=INDICES),
        )
    reads += _in_place(b, loops, writes, reads)
    if not is_tile:
        _modes(choices, loops, reads)
    elif any(pad is not None for _, _, pad in reads):
        loops.modes[:] = ["serial"] * len(loops.modes)
    if not _are_obeyed(loops):
        loops.modes[:] = ["serial"] * len(loops.modes)
    b.lines += nest_text(b, loops, reads, writes)
    for one in writes:
        write(one.buffer, one.access, loops.only(loops.parallel))


# ---------------------------------------------------------------------------------- iterators


def _loops(choices: Choices) -> Loops:
    parallel = choices.integer(0, 4)
    reduction = choices.weighted([(10, 0), (6, 1), (3, 2), (1, 3)])
    kinds = [False] * parallel + [True] * reduction
    if choices.chance(60):
        kinds = choices.shuffled(kinds)
    sizes: list[int] = []
    reduced = 1
    for reduces in kinds:
        size = 0 if choices.chance(1) else choices.pick(_SIZES)
        while size > 1 and (
            math.prod([*sizes, size]) > MOST_POINTS or (reduces and reduced * size > MOST_REDUCED)
        ):
            size = (size + 1) // 2
        reduced *= size if reduces else 1
        sizes.append(size)
    names = [f"{'r' if reduces else 'i'}{n}" for n, reduces in enumerate(kinds)]
    loops = Loops(names, sizes, kinds, ["serial"] * len(kinds))
    if parallel and not reduction and choices.chance(30):
        loops.scan = choices.integer(0, parallel - 1)
        names[loops.scan] = f"s{loops.scan}"
    inside = [i for i in loops.parallel if i > loops.first and i != loops.scan]
    if math.prod(sizes[i] for i in inside) > MOST_TILE:  # all that is parallel outside
        last = [*loops.reduction, *([] if loops.scan is None else [loops.scan])]
        order = [*(i for i in loops.parallel if i != loops.scan), *last]
        scan = None if loops.scan is None else len(order) - 1
        loops = Loops(
            [names[i] for i in order],
            [sizes[i] for i in order],
            [kinds[i] for i in order],
            loops.modes,
            scan,
        )
    return loops


def _tile(choices: Choices) -> Loops:
    """A sum over registers, as the scheduler tiles it: what is parallel inside is a vector or unrolled."""
    kinds = [("i", False, "serial")] * choices.pick((0, 1))
    if choices.chance(70):
        kinds.append(("r", True, "serial"))
    else:
        kinds.append(("r", True, "unroll"))
    if choices.chance(50):
        kinds.append(("i", False, "unroll"))
    if choices.chance(60):
        kinds.append(("i", False, "vector"))
    if choices.chance(40):
        kinds.append(("r", True, "unroll"))
    named = {"vector": (4, 2, 8, 16, 64), "unroll": (2, 1, 3, 4), "serial": (3, 1, 5, 17)}
    sizes = [choices.pick(named[mode]) for _, _, mode in kinds]
    names = [f"{letter}{n}" for n, (letter, _, _) in enumerate(kinds)]
    reduces = [reduces for _, reduces, _ in kinds]
    return Loops(names, sizes, reduces, [mode for _, _, mode in kinds])


def _modes(choices: Choices, loops: Loops, reads: list[Read]) -> None:
    """Modes that are obeyed: of all that is parallel inside what carries, or of the innermost loops."""
    if choices.chance(60) or any(pad is not None for _, _, pad in reads):
        return
    inner = [i for i in loops.parallel if i > loops.first]
    if loops.scan is not None:
        if math.prod(loops.sizes[i] for i in inner) <= 32:
            _set(loops, dict.fromkeys(inner, "unroll"))
        return
    found, copies = _tiled(choices, loops, inner if loops.reduction else loops.parallel)
    if len(found) < len(inner):
        return
    _set(loops, found)
    last = len(loops.sizes) - 1
    if loops.reduction and loops.reduction[-1] == last and copies * loops.sizes[last] <= 64:
        loops.modes[last] = choices.pick(("serial", "unroll"))


def _are_obeyed(loops: Loops) -> bool:
    """Whether no mode stands outside of a loop without one: those of a single point are no loops."""
    kept = [i for i, size in enumerate(loops.sizes) if size != 1]
    carried = [i for i in kept if loops.reduces[i] or i == loops.scan]
    modes = [loops.modes[i] for i in kept if not carried or i < carried[0]]
    if carried:
        return not {*modes} - {"serial"}
    return modes == sorted(modes, key=lambda mode: mode != "serial")


def _tiled(choices: Choices, loops: Loops, inner: list[int]) -> tuple[dict[int, str], int]:
    """Modes from the innermost loop on, and how many copies that makes; it ends where one stays serial."""
    found: dict[int, str] = {}
    copies = 1
    for i in reversed(inner):
        size = loops.sizes[i]
        if "vector" not in found.values() and size in (2, 4, 8, 16, 64) and choices.chance(70):
            found[i] = "vector"
        elif size * copies <= 32 and choices.chance(80):
            found[i] = "unroll"
            copies *= size
        else:
            break
    return found, copies


def _set(loops: Loops, found: dict[int, str]) -> None:
    for i, mode in found.items():
        loops.modes[i] = mode


# ---------------------------------------------------------------------------------- outputs


def _output(b: LoopText, loops: Loops, taken: list[Buffer]) -> Write:
    choices = b.choices
    roots = {one.root for one in taken}
    access = _write_access(choices, loops)
    sizes = loops.only(loops.parallel)
    spans = [access.span(d, sizes) for d in range(len(access.terms))]
    shape = tuple(high + 1 for _, high in spans)
    reuse = [
        one
        for one in b.buffers
        if one.writable
        and one.root not in roots
        and len(one.shape) == len(shape)
        and all(size > high for size, (_, high) in zip(one.shape, spans, strict=True))
    ]
    clip = False
    if reuse and choices.chance(35):
        found = choices.pick(reuse[::-1])
    else:
        if choices.chance(20) and shape and loops.scan is None:
            clip = True
            cut = [choices.integer(0, max(0, size - 1) // 2) for size in shape]
            shift = [choices.pick((0, 0, 1, 2)) for _ in shape]
            shape = tuple(
                max(1, size - less - back)
                for size, less, back in zip(shape, cut, shift, strict=True)
            )
            access.constants = [c - back for c, back in zip(access.constants, shift, strict=True)]
        elif choices.chance(20):
            shape = tuple(size + choices.integer(0, 2) for size in shape)
        if 0 in loops.only(loops.parallel):
            shape = tuple(max(0, size) for size in shape)
        found = b.output(b.element(), shape, whole=choices.chance(50))
    init = _init(b, found, access, loops, clip=clip)
    return Write(found, access, found.element, clip, init)


def _write_access(choices: Choices, loops: Loops) -> RandomAccess:
    """A map that uses each parallel iterator once: alone, collapsed with another, strided, reversed."""
    left = choices.shuffled(loops.parallel) if choices.chance(40) else list(loops.parallel)
    access = RandomAccess()
    while left:
        taken = [left.pop(0)]
        if left and choices.chance(12):
            taken.append(left.pop(0))
        form: dict[int, int] = {}
        step = choices.weighted([(9, 1), (1, 2), (1, 3)])
        constant = choices.weighted([(9, 0), (1, 1), (1, 3)])
        for iterator in reversed(taken):
            sign = -1 if choices.chance(12) else 1
            form[iterator] = sign * step
            reach = step * max(loops.sizes[iterator] - 1, 0)
            constant += reach if sign < 0 else 0
            step = step * max(loops.sizes[iterator], 1)
        access.terms.append(dict(reversed(form.items())))
        access.constants.append(constant)
    if choices.chance(8):
        access.terms.insert(0, {})
        access.constants.insert(0, choices.integer(0, 2))
    return access


def _init(
    b: LoopText, found: Buffer, access: RandomAccess, loops: Loops, *, clip: bool
) -> str | None:
    """Where the accumulator starts: a number, unless what is there may be read."""
    sizes = loops.only(loops.parallel)
    known = readable(found, access, sizes, padded=clip)
    if loops.scan is None and known and b.choices.chance(60):
        return None
    if not loops.carries and b.choices.chance(70):
        return None  # `nest_text` will not use the accumulator
    if is_float(found.element):
        return b.choices.pick(("0.0", "1.0", "-inf", "0.5"))
    if found.element == "i1":
        return b.choices.pick(("0", "1"))
    return b.choices.pick(("0", "1", "-1"))


# ---------------------------------------------------------------------------------- inputs


def read(
    b: LoopText,
    loops: Loops,
    outputs: list[Buffer],
    *,
    everywhere: bool,
    kinds: Sequence[str] = (),
) -> Read:
    """A read that varies with all iterators, or with parallel ones only (`finish` may use it).

    Of elements of these `kinds`, if any are given.
    """
    choices = b.choices
    wanted = list(range(len(loops.sizes))) if everywhere else loops.parallel
    roots = {one.root for one in outputs}
    old = [
        one
        for one in b.buffers
        if one.root not in roots and one.mask.any() and (not kinds or one.element in kinds)
    ]
    for _ in range(2):
        if not old or choices.chance(35):
            break
        found = choices.pick(old[::-1][:6])
        access, padded = _fitted(choices, loops, wanted, found)
        if readable(found, access, loops.sizes, padded=padded):
            return found, access, _pad(choices, found.element) if padded else None
    return _new_read(b, loops, wanted, choices.pick(kinds) if kinds else b.element())


def _plain(b: LoopText, write: Write) -> Read:
    """What a scan reads where it writes, or at the neighbours: then outside of the buffer, too."""
    element, access = b.element(), write.access
    found = b.input(element, write.buffer.shape)
    if not b.choices.chance(25):
        return found, access, None
    moved = [constant + b.choices.pick((0, -1, 1)) for constant in access.constants]
    return found, RandomAccess(access.terms, moved), _pad(b.choices, element)


def _pad(choices: Choices, element: str) -> str:
    if is_float(element):
        return choices.pick(("0.0", "1.5", "-inf", "nan", "inf", "-0.0", "1.0e-40"))
    return choices.pick(("0", "1") if element == "i1" else ("0", "1", "-1", "100"))


def _fitted(
    choices: Choices, loops: Loops, wanted: list[int], found: Buffer
) -> tuple[RandomAccess, bool]:
    """A map into a buffer that is there: mostly in bounds, sometimes with a pad."""
    padded = choices.chance(20)
    access = RandomAccess()
    left = choices.shuffled(wanted) if choices.chance(30) else list(wanted)
    for size in found.shape:
        room = [i for i in left if loops.sizes[i] <= size or padded]
        if not room or choices.chance(10):
            access.terms.append({})
            access.constants.append(choices.integer(0, max(size - 1, 0)))
            continue
        iterator = room[0]
        left.remove(iterator)
        trips = loops.sizes[iterator]
        step = 2 if trips > 1 and (trips - 1) * 2 < size and choices.chance(15) else 1
        slack = size - 1 - (trips - 1) * step
        if padded and choices.chance(60):
            constant = choices.pick((-1, 0, 1, -2, slack))
        else:
            constant = choices.integer(0, max(slack, 0))
        form = {iterator: step}
        if choices.chance(12):
            form, constant = {iterator: -step}, constant + (trips - 1) * step
        more = [i for i in left if (loops.sizes[i] - 1) <= slack - constant]
        if more and not padded and choices.chance(40) and form[iterator] > 0:
            form[more[0]] = 1
            left.remove(more[0])
        access.terms.append(form)
        access.constants.append(constant)
    return access, padded


def _new_read(b: LoopText, loops: Loops, wanted: list[int], element: str) -> Read:
    """A map that comes first, and an argument (or a constant) of the shape that it reaches."""
    choices = b.choices
    left = choices.shuffled(wanted) if choices.chance(40) else list(wanted)
    access = RandomAccess()
    while left and len(access.terms) < 5:
        taken = [left.pop(0)]
        if choices.chance(10):
            continue  # broadcast along it
        if left and choices.chance(30):
            taken.append(left.pop(0))
        form: dict[int, int] = {}
        for iterator in taken:
            form[iterator] = choices.weighted([(12, 1), (3, 2), (2, -1), (1, 3), (1, -2)])
        if len(taken) == 2 and choices.chance(20):
            form[taken[0]] = max(loops.sizes[taken[1]], 1)
        access.terms.append(form)
        access.constants.append(0)
    if choices.chance(8):
        access.terms.append({})
        access.constants.append(0)
    padded = choices.chance(20)
    shape = _shape(choices, loops, access, padded=padded)
    if math.prod(shape) > MOST_ELEMENTS:  # of a product of iterators, squared
        return b.input(element, ()), RandomAccess(), None
    return b.input(element, shape), access, _pad(choices, element) if padded else None


def _shape(
    choices: Choices, loops: Loops, access: RandomAccess, *, padded: bool
) -> tuple[int, ...]:
    """A shape for what the access reaches, which is moved into it; `padded`: not all of it."""
    shape: list[int] = []
    for d in range(len(access.terms)):
        low, high = access.span(d, loops.sizes)
        access.constants[d] -= low
        size = max(high - low + 1, 1 if 0 in loops.sizes else 0)
        if padded:
            access.constants[d] -= choices.integer(0, 2)
            size = max(1, size - choices.integer(0, 2))
        elif choices.chance(20):
            size += choices.integer(0, 2)
        shape.append(size)
    return tuple(shape)


def _in_place(
    b: LoopText,
    loops: Loops,
    writes: list[Write],
    reads: list[Read],
) -> list[Read]:
    """What is there already, read where it is written: an update in place."""
    found: list[Read] = []
    for one in writes:
        sizes = loops.only(loops.parallel)
        known = not one.clip and readable(one.buffer, one.access, sizes, padded=False)
        if known and len(reads) + len(found) < 5 and b.choices.chance(60):
            found.append((one.buffer, one.access, None))
    return found
