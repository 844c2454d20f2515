"""Reductions that read a copy read its source: drawn programs mean what they meant; products keep no copy."""

from __future__ import annotations

import random

from xdsl.dialects.builtin import ModuleOp

from effort import seeds
from inarch.dialects import new_context
from inarch.dialects.loop.nest import NestOp
from inarch.ir.text import parse_module
from inarch.ir.verify import verify_module
from inarch.passes.loop.read_sources import ReadSourcesPass
from inarch.testing import check_semantics


def _type(shape: list[int]) -> str:
    return f"memref<{'x'.join(map(str, shape))}xf32>"


def _copy(choose: random.Random, given: list[int]) -> tuple[list[int], str, str]:
    """The shape of a copy, its index of the source, and the pad: mostly permuted, also cut and padded."""
    order = choose.sample(range(len(given)), len(given))
    copied = [given[axis] for axis in order]
    index = [f"i{order.index(axis)}" for axis in range(len(given))]
    pad = ""
    at = choose.randrange(len(given))
    match choose.randrange(8):
        case 0:  # from the last to the first
            index[at] = f"{index[at]} * -1 + {given[at] - 1}"
        case 1 | 4:  # one element fewer, the first or the last
            copied[order.index(at)] -= 1
            index[at] += choose.choice(("", " + 1"))
        case 2:  # the same row in each
            index[at] = "1"
        case 3:  # zeros, or ones, around it
            copied[order.index(at)] += 2
            index[at] += " - 1"
            pad = choose.choice((" pad 0.0", " pad 0.0", " pad 1.0"))
        case _:
            pass
    return copied, ", ".join(index), pad


def _reader(choose: random.Random, copied: list[int], number: int) -> tuple[list[str], str]:
    """A nest that sums up products of the copy and of `a` over some of its dimensions; its output's type."""
    names = [f"i{axis}" for axis in range(len(copied))]
    summed = choose.sample(names, choose.randrange(1, len(names) + 1))
    kept = [name for name in choose.sample(names, len(names)) if name not in summed]
    sizes = dict(zip(names, copied, strict=True)) | {"m": 3}
    a, c = ([sizes[name] for name in ("m", *order)] for order in (summed, kept))
    loops = [f"{name} = {n}{' reduction' * (name in summed)}" for name, n in sizes.items()]
    lines = [
        f"loop.nest ({', '.join(choose.sample(loops, len(loops)))})"
        f" ins(%a{number}[{', '.join(('m', *summed))}] : {_type(a)},"
        f" %t[{', '.join(names)}] : {_type(copied)})"
        f" outs(%c{number}[{', '.join(('m', *kept))}] init 0.0 : {_type(c)}) {{",
        "^bb0(%x: f32, %y: f32, %s: f32):",
        "  %p = arith.mulf %x, %y : f32",
        "  %r = arith.addf %s, %p : f32",
        "  loop.yield %r : f32",
        "}",
    ]
    return lines, f"%a{number}: {_type(a)}, %c{number}: {_type(c)} {{inarch.result}}"


def _program(choose: random.Random) -> str:
    """A copy of an argument, sums of products of it, and now and then an op that is in the way."""
    given = [choose.choice((2, 3, 4, 5)) for _ in range(choose.choice((1, 2, 2, 3, 3, 4)))]
    copied, index, pad = _copy(choose, given)
    source, copy = _type(given), _type(copied)
    names = [f"i{axis}" for axis in range(len(copied))]
    sizes = [f"{name} = {size}" for name, size in zip(names, copied, strict=True)]
    every = ", ".join(names)
    lines = [
        f"%t = loop.alloc : {copy}",
        f"loop.nest ({', '.join(choose.sample(sizes, len(sizes)))})"
        f" ins(%b[{index}]{pad} : {source}) outs(%t[{every}] : {copy}) {{",
        "^bb0(%x: f32, %o: f32):",
        "  loop.yield %x : f32",
        "}",
    ]
    arguments = [f"%b: {source} {{inarch.result}}"]
    all_given = ", ".join(f"{name} = {n}" for name, n in zip("uvwx", given, strict=False))
    write = [
        f"loop.nest ({all_given}) outs(%b[{', '.join('uvwx'[: len(given)])}] : {source}) {{",
        "^bb0(%o: f32):",
        "  %r = arith.negf %o : f32",
        "  loop.yield %r : f32",
        "}",
    ]
    if choose.random() < 0.1:
        lines += write
    for number in range(choose.choice((1, 1, 2))):
        reader, ports = _reader(choose, copied, number)
        arguments.append(ports)
        lines += reader
        if choose.random() < 0.2:  # nobody reads the copy any more, or a reduction does
            lines += write
    if choose.random() < 0.1:  # another reader
        arguments.append(f"%e: {copy} {{inarch.result}}")
        lines.append(f"kernel.pack %t[{every}] to %e[{every}] : {copy}, {copy}")
        if choose.random() < 0.5:
            lines[-1] = f"loop.for %i = 0 to 2 {{\n{lines[-1]}\nloop.yield\n}}"
    inner = "\n".join((*lines, "func.return"))
    return f"func.func @main({', '.join(arguments)}) {{\n{inner}\n}}"


def test_drawn_readers_of_copies_mean_what_they_meant() -> None:
    folded, chosen = 0, seeds(60, 600)
    for seed in chosen:
        context = new_context()
        module = parse_module(context, _program(random.Random(seed)))
        verify_module(module)
        after = module.clone()
        ReadSourcesPass(always=True).apply(context, after)
        verify_module(after)
        folded += _nests(after) < _nests(module)
        check_semantics(module, pipeline=[ReadSourcesPass(always=True)], ctx=context)
    assert 0.4 < folded / len(chosen) < 0.8


def _nests(module: ModuleOp) -> int:
    return sum(isinstance(op, NestOp) for op in module.walk())
