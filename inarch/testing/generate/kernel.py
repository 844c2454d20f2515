"""Programs of `kernel`: definitions of microkernels, calls with loops and strides, packs, and nests."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inarch.dialects import new_context
from inarch.testing.generate.choices import Choices
from inarch.testing.generate.loop.buffers import Buffer, RandomAccess
from inarch.testing.generate.loop.builder import LoopText
from inarch.testing.generate.loop.programs import STEPS, finished, function_text, steps
from inarch.testing.generate.program import GeneratedProgram


@dataclass(frozen=True)
class _Operand:
    name: str
    index: tuple[tuple[str, ...], ...]
    """For each dimension, the iterators whose sum it is."""
    access: str


@dataclass(frozen=True)
class _Template:
    """A family of microkernels: iterators, operands and one line of arithmetic, in both languages."""

    name: str
    iterators: tuple[str, ...]
    reductions: tuple[str, ...]
    operands: tuple[_Operand, ...]
    value: str
    """What is combined with the written element; `{X}` is the element of operand X."""
    operators: tuple[str, ...]


_TEMPLATES = (
    _Template(
        "gemm", ("m", "n"), ("k",),
        (_Operand("A", (("m",), ("k",)), "read"), _Operand("B", (("k",), ("n",)), "read"),
         _Operand("C", (("m",), ("n",)), "update")),
        "{A} * {B}", ("+=", "max=", "+="),
    ),
    _Template(
        "axpy", ("i",), (),
        (_Operand("X", (("i",),), "read"), _Operand("Y", (("i",),), "update")),
        "2 * {X}", ("+=", "=", "*=", "min="),
    ),
    _Template(
        "window", ("q",), ("s",),
        (_Operand("Y", (("q",),), "update"), _Operand("X", (("q", "s"),), "read"),
         _Operand("W", (("s",),), "read")),
        "{X} * {W}", ("+=", "max="),
    ),
    _Template(
        "scale", ("i", "j"), (),
        (_Operand("X", (("i",), ("j",)), "read"), _Operand("S", (), "read"),
         _Operand("Y", (("j",), ("i",)), "update")),
        "{X} * {S}", ("=", "+="),
    ),
    _Template(
        "largest", ("i",), ("r",),
        (_Operand("X", (("i",), ("r",)), "read"), _Operand("Y", (("i",),), "update")),
        "{X}", ("max=", "min=", "+="),
    ),
)  # fmt: skip

_C_TYPES = {"f32": "float", "f64": "double", "i32": "int32_t"}
_WIDTHS = {"f32": 4, "f64": 8, "i32": 4}


@dataclass(frozen=True)
class _Argument:
    """What a call gives for an operand."""

    text: str
    buffer: Buffer
    align: int
    """Bytes that its first element is at a multiple of, at each point."""


def kernel_program(choices: Choices, *, large: bool = False) -> GeneratedProgram:
    """A module of one public function on buffers that calls microkernels."""
    context = new_context()
    choices.enter("head")
    b = LoopText(choices, context, "main_")
    b.kind = choices.pick(("f32", "f32", "f64", "i32"))
    _call(b)
    steps(b, [(8, _call), (4, _pack), *STEPS[:2]], 20 if large else 6)
    text = function_text(b, "main")
    return finished("kernel", context, "\n".join([*b.callees, text]), choices)


# ------------------------------------------------------------------------------------ calls


def _call(b: LoopText) -> None:
    choices = b.choices
    template = choices.pick(_TEMPLATES)
    kind = b.kind if b.kind in _C_TYPES else "f32"
    names = (*template.iterators, *template.reductions)
    sizes = {name: choices.pick((4, 1, 2, 3, 8, 16, 7)) for name in names}
    free = [name for name in names if choices.chance(35)]
    operator = choices.pick(template.operators)
    starts = bool(template.reductions) and operator == "+=" and choices.chance(30)
    symbol = f"{template.name}{len(b.callees)}"
    loops = _loops(choices, accumulates=operator != "=" and not starts)
    found: dict[str, _Argument] = {}
    target = next(one for one in template.operands if one.access == "update")
    for operand in (target, *(one for one in template.operands if one is not target)):
        taken = found[target.name].buffer.root if found else None
        found[operand.name] = _operand(b, operand, kind, sizes, loops, taken)
    aligns = {name: one.align for name, one in found.items()}
    b.callees.append(
        _definition(template, symbol, kind, sizes, free, operator, aligns, starts=starts)
    )
    operands = [found[one.name].text for one in template.operands]
    types = [found[one.name].buffer.type for one in template.operands]
    around = ", ".join(f"{n} in {size}{' reduction' if red else ''}" for n, size, red in loops)
    order = _free_order(template, free, starts=starts)
    b.lines.append(
        f"kernel.call @{symbol} {f'for ({around}) ' if loops else ''}({', '.join(operands)}) "
        f"sizes {[sizes[name] for name in order]} : {', '.join(types)}"
    )


def _free_order(template: _Template, free: Sequence[str], *, starts: bool) -> list[str]:
    """The free sizes in the order in which the meaning first names them."""
    del starts
    return [name for name in (*template.iterators, *template.reductions) if name in free]


def _loops(choices: Choices, *, accumulates: bool) -> list[tuple[str, int, bool]]:
    found: list[tuple[str, int, bool]] = []
    for n in range(choices.integer(0, 3)):
        reduces = accumulates and choices.chance(35)
        found.append((f"o{n}", choices.pick((2, 3, 1, 4)), reduces))
    return found


def _operand(
    b: LoopText,
    operand: _Operand,
    kind: str,
    sizes: dict[str, int],
    loops: Sequence[tuple[str, int, bool]],
    taken: str | None,
) -> _Argument:
    """An argument of the call: strides with gaps, backwards, of 0, overlapping.

    `taken` is the memory that the call writes; None: the operand that is written.
    """
    choices, written = b.choices, taken is None
    extents = [sum(sizes[i] - 1 for i in index) + 1 for index in operand.index]
    strides = [0] * len(extents)
    reach, base = 1, 0
    for d in choices.shuffled(range(len(extents))):
        strides[d] = reach + choices.weighted([(6, 0), (2, 1), (1, 3)])
        reach += strides[d] * (extents[d] - 1)
        if not written and choices.chance(8):
            strides[d] = 0
        elif not written and choices.chance(8):
            base += strides[d] * (extents[d] - 1)
            strides[d] = -strides[d]
    terms = RandomAccess([{}], [base + choices.weighted([(4, 0), (1, 1), (1, 5)])])
    for position, (_, count, reduces) in enumerate(loops):
        if reduces and written:
            continue
        step = reach + choices.weighted([(5, 0), (1, 2)])
        if not written and choices.chance(25):
            step = choices.pick((0, 1, 2))
        if step:
            terms.terms[0][position] = step
        reach += step * max(count - 1, 0)
    total = reach + max(terms.constants[0] - base, 0) + choices.weighted([(3, 0), (1, 4)])
    names = [name for name, _, _ in loops]
    found = _memory(b, kind, max(total, 1), taken)
    text = f"%{found.name}[{terms.text(names)}] strides {strides}"
    return _Argument(text, found, _align(choices, found, _WIDTHS[kind], terms, loops))


def _memory(b: LoopText, kind: str, total: int, taken: str | None) -> Buffer:
    """A buffer of at least that many elements, which hold something; not `taken`, as that is written."""
    choices = b.choices
    if taken is None and choices.chance(30):
        scratch = b.output(kind, (total,), whole=False)
        if not scratch.mask.all():
            b.fill(scratch)
        return scratch
    if taken is None:
        found = b.argument(kind, (total,), filled=True, writable=True)
        if choices.chance(50):
            b.fill(found)
        return found
    old = [
        one
        for one in b.buffers
        if one.element == kind
        and one.is_dense
        and math.prod(one.shape) >= total
        and one.mask.all()
        and one.root != taken
    ]
    return choices.pick(old[::-1]) if old and choices.chance(40) else b.input(kind, (total,))


def _align(
    choices: Choices,
    found: Buffer,
    width: int,
    terms: RandomAccess,
    loops: Sequence[tuple[str, int, bool]],
) -> int:
    """What the kernel may rely on: of scratch memory and constants more than an element, at good places."""
    if not found.root.startswith(("t", "c")) or choices.chance(40):
        return width
    steps = [step for i, step in terms.terms[0].items() if loops[i][1] > 1]
    known = math.gcd(64, *(step * width for step in (terms.constants[0], *steps)))
    return known & -known


def _definition(
    template: _Template,
    symbol: str,
    kind: str,
    sizes: dict[str, int],
    free: Sequence[str],
    operator: str,
    aligns: Mapping[str, int],
    *,
    starts: bool,
) -> str:
    said = {name: (name.upper() + "0" if name in free else str(sizes[name])) for name in sizes}
    target = next(one for one in template.operands if one.access == "update")
    value = template.value.format(**{one.name: _element(one) for one in template.operands})
    outer = ", ".join(f"{name} in {said[name]}" for name in template.iterators)
    inner = ", ".join(f"{name} in {said[name]}" for name in template.reductions)
    step = f"{_element(target)} {operator} {value}"
    if starts:
        computes = f"for {outer}: {_element(target)} = 0; for {inner}: {step}"
    else:
        computes = f"for {', '.join(filter(None, (outer, inner)))}: {step}"
    access = "write" if starts or operator == "=" else "update"
    operands = ", ".join(
        f"#kernel.operand<{one.name} : {kind} {access if one is target else 'read'} "
        f"rank {len(one.index)} align {aligns[one.name]}>"
        for one in template.operands
    )
    source = _source(template, symbol, kind, said, free, operator, starts=starts)
    return (
        f'kernel.def @{symbol} computes "{computes}" arguments [{operands}] needs [] '
        f'source "{source}"'
    )


def _element(operand: _Operand) -> str:
    return f"{operand.name}[{', '.join(' + '.join(index) for index in operand.index)}]"


def _source(
    template: _Template,
    symbol: str,
    kind: str,
    said: dict[str, str],
    free: Sequence[str],
    operator: str,
    *,
    starts: bool,
) -> str:
    """The C of the kernel, in one line."""
    c = _C_TYPES[kind]
    places = {
        one.name: one.name
        + "["
        + (
            " + ".join(f"({' + '.join(i)}) * {one.name}_{d}" for d, i in enumerate(one.index))
            or "0"
        )
        + "]"
        for one in template.operands
    }
    target = next(one for one in template.operands if one.access == "update")
    formula = template.value
    if kind == "i32":  # wraps, as the meaning says
        formula = f"(int32_t)((uint32_t){formula.replace(' * ', ' * (uint32_t)')})"
    value = formula.format(**places)
    place = places[target.name]
    combined = {
        "+=": f"{place} + {value}",
        "=": value,
        "*=": f"{place} * {value}",
        "max=": _larger(place, value, ">", kind),
        "min=": _larger(place, value, "<", kind),
    }[operator]
    if kind == "i32" and operator in ("+=", "*="):
        sign = operator[0]
        combined = f"(int32_t)((uint32_t){place} {sign} (uint32_t){value})"

    def loops(names: Sequence[str]) -> str:
        return " ".join(f"for (int64_t {n} = 0; {n} < {said[n]}; {n}++)" for n in names)

    first = f"{place} = 0; " if starts else ""
    body = f"{{ {first}{loops(template.reductions)} {place} = {combined}; }}"
    parameters = [
        f"{'' if one is target else 'const '}{c} *{one.name}" for one in template.operands
    ]
    parameters += [
        f"int64_t {one.name}_{d}" for one in template.operands for d in range(len(one.index))
    ]
    names = (*template.iterators, *template.reductions)
    parameters += [f"int64_t {said[name]}" for name in names if name in free]
    return f"void {symbol}({', '.join(parameters)}) {{ {loops(template.iterators)} {body} }}"


def _larger(a: str, b: str, sign: str, kind: str) -> str:
    """NaN where either is, as the meaning's `max` has it."""
    if kind == "i32":
        return f"{a} {sign} {b} ? {a} : {b}"
    return f"({a} {sign} {b} || {a} != {a}) ? {a} : {b}"


# ------------------------------------------------------------------------------------ packs


def _pack(b: LoopText) -> None:
    """A copy into another layout; a tile that runs over the edge is filled with zeros."""
    choices = b.choices
    old = [one for one in b.buffers if one.mask.all() and len(one.shape) <= 3 and one.shape]
    if old and choices.chance(60):
        source = choices.pick(old[::-1])
    else:
        rank = choices.integer(1, 3)
        source = b.input(b.kind, tuple(choices.pick((5, 3, 8, 16, 1)) for _ in range(rank)))
    outer: list[int] = []
    inner: list[int] = []
    access = RandomAccess()
    for size in source.shape:
        form: dict[int, int] = {}
        if choices.chance(50):
            tile = choices.pick((4, 2, 16))
            form[len(outer)] = tile
            form[-1 - len(inner)] = 1
            outer.append(-(-size // tile))
            inner.append(tile)
        else:
            form[len(outer)] = choices.weighted([(8, 1), (1, 2)])
            outer.append(size)
        access.terms.append(form)
        access.constants.append(choices.weighted([(8, 0), (1, -1), (1, 1)]))
    last = len(outer)
    access.terms = [
        {(last - 1 - i if i < 0 else i): by for i, by in form.items()} for form in access.terms
    ]
    names = [f"d{n}" for n in range(len(outer) + len(inner))]
    target = b.output(source.element, (*outer, *inner), whole=choices.chance(50))
    b.lines.append(
        f"kernel.pack %{source.name}[{access.text(names)}] to %{target.name}"
        f"[{', '.join(names)}] : {source.type}, {target.type}"
    )
    target.mask[...] = True
