"""The tile that a kernel is called with is the cheapest that there is, and knows in which lines B lies."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp

from inarch.benchmark.shapes import Product, Shape, draw, program_of
from inarch.benchmark.subject.blocked import lower_blocked
from inarch.dialects import new_context
from inarch.dialects.loop.nest import NestOp
from inarch.driver.compiler import import_model
from inarch.driver.host import find_host
from inarch.driver.options import Options
from inarch.machine.machine_file import MACHINES
from inarch.machine.target import parse
from inarch.microkernel.table import MICROKERNELS
from inarch.passes.tensorize.unify.strided import StridedNest, strided_nest
from inarch.passes.tensorize.weigh.candidates import Candidate
from inarch.passes.tensorize.weigh.family import Family
from inarch.passes.tensorize.weigh.search import candidates, sweep

TARGET, MACHINE = parse("x86-64-v3"), MACHINES["zen3"]


def _nest(shape: Shape) -> StridedNest:
    """The nest of a shape as `tensorize` sees it."""
    found: list[StridedNest] = []

    def note(module: ModuleOp) -> None:
        nests = [op for op in module.walk() if isinstance(op, NestOp) and op.has_reduction]
        found.extend(map(strided_nest, nests))

    context = new_context()
    options = Options(target=str(TARGET), machine=MACHINE)
    module = import_model(program_of(shape, context), context, options)
    lower_blocked(context, module, note, find_host("c").lower)
    return found[0]


def _ways(nest: StridedNest, name: str) -> tuple[Candidate, list[Candidate]]:
    """The way of a kernel that is chosen, and every other member with its axes."""
    family = Family.of(name, MICROKERNELS[name], TARGET, MACHINE)
    found = candidates(nest, family)
    assert isinstance(found, list)
    return found[0], sweep(nest, family, found[0], 40)


def test_rows_of_b_that_begin_anywhere_need_room_for_their_lines() -> None:
    """177 pieces of 128 bytes lie in 2.94 lines each, which the first-level cache does not hold; or in 2."""

    def of_four(columns: int) -> float:
        """What tiles of four vectors cost, in what the chosen ones do."""
        chosen, others = _ways(_nest(Product(40, columns, 177, is_given=True)), "gemm-f32")
        assert chosen.params["NV"] == 2
        return min(each.cost for each in others if each.params["NV"] == 4) / chosen.cost

    assert of_four(91) > 1.1 * of_four(96)


@pytest.mark.parametrize("shape", [Product(1320, 64, 8), *draw(7, 4)], ids=str)
def test_no_other_member_is_cheaper(shape: Shape) -> None:
    """By the same cost, with memory."""
    nest = _nest(shape)
    for name in ("gemm-f32", "conv-f32"):
        family = Family.of(name, MICROKERNELS[name], TARGET, MACHINE)
        if isinstance(candidates(nest, family), list):
            chosen, others = _ways(nest, name)
            assert all(chosen.cost <= other.cost * (1 + 1e-9) for other in others)
