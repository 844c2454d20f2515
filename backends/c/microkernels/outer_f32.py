"""Few outer products in f32: all of B stays in registers, and rows of A and C pass by.

For reductions of at most eight terms, where a register tile of C is begun and stored more often than it is
added to. A row takes NV stores and NV * K multiply-adds, and C is written in the order in which it lies.
"""

from __future__ import annotations

from itertools import product

from inarch.backends.c.microkernels._epilogue import (
    EPILOGUE,
    Accumulator,
    Tile,
    address,
    finish_lines,
)
from inarch.backends.c.microkernels._function import function_text, multiply_add
from inarch.machine.work import body_cycles
from inarch.meaning import Expression, applied, elements, normal
from inarch.microkernel import Instance, Microkernel

_NOMINAL = 256
"""Of M, for the cost of an instance that does not know it."""


def _generate(instance: Instance) -> str:
    vectors, terms, lanes = (instance.params[name] for name in ("NV", "K", "VL"))
    written = normal(instance.meaning).target
    tile = Tile(
        [Accumulator(f"c{v}", {"v": v}) for v in range(vectors)],
        {"v": vectors},
        lanes,
        "l",
        written,
    )
    lines = [
        f"const vec b{k}_{v} = *(const mem *)(B + {k} * B_0 + {v} * B_1);"
        for k, v in product(range(terms), range(vectors))
    ]
    # Two scopes, as a name cannot begin from what it hides: what follows sees each row as the first one.
    row: list[str] = []
    here: list[str] = []
    moved = [("A", "A + m * A_0"), ("C", f"{address(written, {'m': 'm'})}")]
    for operand, place in [*moved, *_moved(instance.finish, written.operand)]:
        kind = "float" if operand == "C" else "const float"
        row.append(f"{kind} *{operand}_row = {place};")
        here.append(f"{kind} *{operand} = {operand}_row;")
    lines += [
        "for (int64_t m = 0; m < M; m++) {",
        *(f"    {line}" for line in [*row, "{", *here]),
        *(f"    vec {each.register} = {{0}};" for each in tile.accumulators),
    ]
    for k in range(terms):
        updates = " ".join(multiply_add(f"c{v}", "a", f"b{k}_{v}", lanes) for v in range(vectors))
        lines.append(f"    {{ const vec a = *(A + {k} * A_1) - (vec){{0}}; {updates} }}")
    body = [f"    {line}" for line in lines]
    ends = [f"    {line}" for line in finish_lines(instance, tile)]
    return function_text(instance, lanes, [*body, *ends, "        }", "    }"])


def _moved(finish: Expression | None, written: str) -> list[tuple[str, str]]:
    """The operands of an epilogue that have a row of their own for each of A."""
    found: dict[str, str] = {}
    for element in [] if finish is None else elements(finish):
        place = address(element, {"m": "m"})
        if element.operand not in (written, place):
            found[element.operand] = place
    return list(found.items())


def _cost(instance: Instance) -> float:
    """Cycles of a call whose operands are in L1: B once, then rows that the slowest port decides.

    Rows do not wait for each other.
    """
    machine, params = instance.machine, instance.params
    vectors, terms, nbytes = params["NV"], params["K"], params["VL"] * 4
    work = terms * vectors * machine.fma.cycles(nbytes)
    if instance.finish is not None:
        work += vectors * body_cycles(applied(instance.finish), nbytes, machine)
    row = max(
        work,
        vectors * machine.stores.cycles(nbytes),
        terms * machine.loads.cycles(4),
    )
    begin = machine.begin + terms * vectors * machine.loads.cycles(nbytes)
    return begin + instance.sizes.get("M", _NOMINAL) * row


MICROKERNEL = Microkernel(
    computes="for m in M, v in NV, l in VL, k in K: C[m, v, l] += A[m, k] * B[k, v, l]",
    dtypes={"A": "f32", "B": "f32", "C": "f32"},
    params={"NV": range(1, 5), "VL": (4, 8, 16), "K": range(2, 9)},
    where=("VL * 4 <= VECTOR_BYTES", "NV * K + NV + 1 < VECTOR_REGISTERS"),
    layout={"B": ("*", "*", 1), "C": ("*", "*", 1)},
    inits=("zero",),  # and so a reduction is never split: C is written once
    epilogue=EPILOGUE,
    contract=False,
    generate=_generate,
    cost=_cost,
    doc=__doc__ or "",
)
