"""Depthwise convolution in f32: a tile of P x Q pixels of one block of VL channels, in registers.

Activations are blocked, `[channels / VL][rows][columns][VL]`, and padded already. A pixel of the output is
one register; an element of the input is loaded once and used by all taps that need it. Two forms:

- `resident`: all weights of the window stay in registers beside the accumulators. Loads: the tile's window of
  the input once, and the weights once a call.
- `by row`: where they do not fit (5x5, or 16 registers), one row of the window at a time. Input rows are
  loaded again for each row of the window; the columns' reuse remains.

At stride 1 the multiplications bind, at stride 2 the caches: an output of a 3x3 window reads four new
vectors for its nine multiplications.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from inarch.backends.c.microkernels._epilogue import (
    EPILOGUE,
    Accumulator,
    Tile,
    address,
    finish_lines,
)
from inarch.backends.c.microkernels._function import function_text, keep, multiply_add
from inarch.meaning import normal
from inarch.microkernel import Instance, Microkernel

_BARRIER = '__asm__ volatile("" : : : "memory");'
"""No instruction, and no load moves across it: else those of the next row are made early, and accumulators
go to the stack to make room."""
_UNROLLED = 3
"""Rows of a window up to which `by row` writes them all out. gcc 12 reads an input anew for each of its
uses in a loop of three rows (it fits the registers too easily), and does not in loops of longer rows."""


@dataclass(frozen=True)
class _Window:
    """The parameters of an instance by name."""

    p: int
    q: int
    lanes: int
    rows: int
    columns: int
    step_p: int
    step_q: int
    registers: int

    @staticmethod
    def of(instance: Instance) -> _Window:
        p, q, lanes, rows, columns, step_p, step_q = (
            instance.params[name] for name in ("P", "Q", "VL", "R", "S", "SH", "SW")
        )
        registers = instance.target.vector_registers
        return _Window(p, q, lanes, rows, columns, step_p, step_q, registers)

    @property
    def accumulators(self) -> int:
        return self.p * self.q

    @property
    def taps(self) -> int:
        return self.rows * self.columns

    @property
    def is_resident(self) -> bool:
        """Whether accumulators, the window's weights and one input fit the registers."""
        return self.accumulators + self.taps + 1 <= self.registers

    @property
    def input_rows(self) -> range:
        return range((self.p - 1) * self.step_p + self.rows)

    @property
    def input_columns(self) -> range:
        return range((self.q - 1) * self.step_q + self.columns)

    def columns_of(self, x: int) -> list[tuple[int, int]]:
        """The (q, s) that read column `x` of the input."""
        pairs = ((q, x - q * self.step_q) for q in range(self.q))
        return [(q, s) for q, s in pairs if 0 <= s < self.columns]


def _generate(instance: Instance) -> str:
    window = _Window.of(instance)
    tile = Tile(
        [
            Accumulator(f"c_{p}_{q}", {"p": p, "q": q})
            for p, q in product(range(window.p), range(window.q))
        ],
        {"p": window.p, "q": window.q},
        window.lanes,
        "l",
        normal(instance.meaning).target,
    )
    reduction = _resident(window) if window.is_resident else _by_row(window)
    body = [f"    {line}" for line in [*_begin(instance, tile), *reduction]]
    return function_text(instance, window.lanes, [*body, *finish_lines(instance, tile)])


def _begin(instance: Instance, tile: Tile) -> list[str]:
    starts = (
        f"*(const mem *)({address(tile.written, each.values)})"
        if instance.init == "accumulate"
        else "{0}"
        for each in tile.accumulators
    )
    return [
        f"vec {each.register} = {start};"
        for each, start in zip(tile.accumulators, starts, strict=True)
    ]


def _resident(window: _Window) -> list[str]:
    lines = [
        f"const vec w_{r}_{s} = *(const mem *)(B + {r} * B_0 + {s} * B_1);"
        for r, s in product(range(window.rows), range(window.columns))
    ]
    for y, x in product(window.input_rows, window.input_columns):
        updates = [
            multiply_add(f"c_{p}_{q}", "x", f"w_{y - p * window.step_p}_{s}", window.lanes)
            for p in range(window.p)
            if 0 <= y - p * window.step_p < window.rows
            for q, s in window.columns_of(x)
        ]
        lines += _products(str(y), x, updates, window.lanes)
    return lines


def _by_row(window: _Window) -> list[str]:
    if window.rows <= _UNROLLED:
        return [line for r in range(window.rows) for line in ["{", *_row(window, str(r)), "}"]]
    return [f"for (int64_t r = 0; r < {window.rows}; r++) {{", *_row(window, "r"), "}"]


def _row(window: _Window, r: str) -> list[str]:
    """All products with row `r` of the window."""
    lines = [
        _BARRIER,
        *(
            f"const vec w_{s} = *(const mem *)(B + {r} * B_0 + {s} * B_1);"
            for s in range(window.columns)
        ),
    ]
    for p in range(window.p):
        lines += [_BARRIER] if p else []
        for x in window.input_columns:
            updates = [
                multiply_add(f"c_{p}_{q}", "x", f"w_{s}", window.lanes)
                for q, s in window.columns_of(x)
            ]
            lines += _products(f"({p * window.step_p} + {r})", x, updates, window.lanes)
    return [f"    {line}" for line in lines]


def _products(y: str, x: int, updates: Sequence[str], lanes: int) -> list[str]:
    """One element of the input, and all that is done with it."""
    if not updates:  # a stride larger than the window skips some
        return []
    kept = f"{keep('x', lanes)} " if len(updates) > 1 else ""
    load = f"vec x = *(const mem *)(A + {y} * A_0 + {x} * A_1);"
    return [f"{{ {load} {kept}{' '.join(updates)} }}"]


def _cost(instance: Instance) -> float:
    """Cycles of a call whose operands are in L1: max(m, l) + min(m, l) / 4, and a latency where sums wait.

    m are those of the multiplications and l of the loads. The quarter is measured: how little the two
    disturb each other. Stores and additions of the epilogue have units of their own beside nine
    multiplications.
    """
    window = _Window.of(instance)
    rows = len(window.input_rows) if window.is_resident else window.p * window.rows
    loads = rows * len(window.input_columns) + window.taps
    if instance.init == "accumulate":
        loads += window.accumulators
    machine, nbytes = instance.machine, window.lanes * 4
    products, load = machine.fma.cycles(nbytes), machine.loads.cycles(nbytes)
    latency = machine.fma_latency
    waits = latency if window.accumulators * products < latency else 0
    both = (window.accumulators * window.taps * products, loads * load)
    return max(both) + min(both) / 4 + waits


MICROKERNEL = Microkernel(
    computes="for p in P, q in Q, l in VL, r in R, s in S: "
    "C[p, q, l] += A[p * SH + r, q * SW + s, l] * B[r, s, l]",
    dtypes={"A": "f32", "B": "f32", "C": "f32"},
    params={
        "P": range(1, 9),
        "Q": range(1, 15),
        "VL": (4, 8, 16),
        "R": (3, 5, 7),
        "S": (3, 5, 7),
        "SH": (1, 2),
        "SW": (1, 2),
    },
    where=(
        "VL * 4 == VECTOR_BYTES",
        "R == S",
        "SH == SW",
        # One more than is needed: with none to spare gcc 12 takes turns with a weight's (1.4 times as slow).
        "P * Q + S + 2 <= VECTOR_REGISTERS",
        "P * Q * 3 <= VECTOR_REGISTERS * 2",
    ),
    layout={"A": ("*", "*", 1), "B": ("*", "*", 1), "C": ("*", "*", 1)},
    contract=False,
    generate=_generate,
    epilogue=EPILOGUE,
    inits=("accumulate", "zero"),
    cost=_cost,
    doc="Depthwise convolution of blocked channels; inputs with their padding.",
)
