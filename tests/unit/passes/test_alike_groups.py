"""tile-and-fuse plans groups of nests that are alike once, and as if each were the only one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from effort import effort
from inarch.dialects import new_context
from inarch.ir.context import store_of
from inarch.ir.functions import entry_blocks
from inarch.ir.target import machine_of, target_of
from inarch.ir.text import parse_module
from inarch.passes.loop import tile_and_fuse
from inarch.passes.loop.tiling.core import Core
from inarch.passes.loop.tiling.figures import Measure
from inarch.passes.loop.tiling.group import Group, groups
from inarch.passes.loop.tiling.masks import Masks
from inarch.passes.loop.tiling.worth import Plan, plan_of
from inarch.pipeline.manager import apply_pass
from inarch.pipeline.text import parse_pipeline
from inarch.testing.generate import programs

LAYER = """
  %a{n} = graph.matmul %x{n}, %w : tensor<64x48xf32>, tensor<48x48xf32> -> tensor<64x48xf32>
  %b{n} = graph.{first} %a{n} : tensor<64x48xf32> -> tensor<64x48xf32>
  %c{n} = graph.add %b{n}, %{other} : tensor<64x48xf32>, tensor<64x48xf32> -> tensor<64x48xf32>
  %x{next} = graph.{last} %c{n} : tensor<64x48xf32> -> tensor<64x48xf32>
"""


def _network(layers: Sequence[tuple[str, str, str]]) -> str:
    """Layers by their functions, and what is added: `a` is the product itself, `x` what the layer reads."""
    text = "".join(
        LAYER.format(n=n, next=n + 1, first=first, last=last, other=f"{other}{n}")
        for n, (first, other, last) in enumerate(layers)
    )
    return (
        "func.func @main(%x0: tensor<64x48xf32>, %w: tensor<48x48xf32>) -> tensor<64x48xf32> {"
        f"{text}  func.return %x{len(layers)} : tensor<64x48xf32>\n}}"
    )


def _lowered(text: str) -> tuple[Context, ModuleOp]:
    """To nests, which are not fused: many groups."""
    context = new_context()
    module = parse_module(context, text)
    for one in parse_pipeline("decompose-composites,graph-to-loop"):
        apply_pass(context, module, one)
    return context, module


def _planned(context: Context, module: ModuleOp) -> Iterator[tuple[Group, Plan, Plan]]:
    """Each group with its plan as the pass has it, and as it is made for it alone."""
    core = Core.of(machine_of(module), target_of(module))

    def make(group: Group) -> Plan:
        return plan_of(
            group, core, Measure(target_of(module), machine_of(module)), Masks(store_of(context)), 0
        )

    alike = tile_and_fuse.Alike()
    for _, block in entry_blocks(module):
        for group in groups(block):
            yield group, alike.plan(group, make), make(group)


def test_every_plan_is_that_of_the_group_alone() -> None:
    compared, count = 0, effort(10, 40)
    for program in programs("graph", seed=3, count=count):
        context, module = program.parse()
        for one in parse_pipeline("outline-bodies,decompose-composites,graph-to-loop"):
            apply_pass(context, module, one)
        for _, found, alone in _planned(context, module):
            assert found == alone
            compared += 1
    assert compared > 2.5 * count


def test_layers_that_are_the_same_are_planned_once() -> None:
    count = effort(6, 12)
    layers = [("relu", "x", "tanh")] * count
    plans = [found for _, found, _ in _planned(*_lowered(_network(layers)))]
    assert len(plans) > 8 * count
    assert len({id(plan) for plan in plans}) < len(plans) / 3


def test_layers_that_differ_in_one_thing_have_plans_of_their_own() -> None:
    """What is added is the product or the layer's input: the same nests, of other buffers."""
    mixed = [("relu", "ax"[n % 2], ("tanh", "exp")[n // 2 % 2]) for n in range(8)]
    found = list(_planned(*_lowered(_network(mixed))))
    assert all(plan == alone for _, plan, alone in found)
    ways = {plan.way for _, plan, _ in found}
    assert len(ways) > 4
