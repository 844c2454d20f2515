"""`graph.relayout` means nothing but its operand: in any blocks, or refused at the op."""

from __future__ import annotations

from itertools import pairwise

import pytest

from inarch.core.errors import InarchError
from inarch.testing import check_semantics


def program(shape: str, *layouts: str) -> str:
    """A tensor of `shape` that goes through `layouts` and back."""
    plain = f"tensor<{shape}xf32>"
    kinds = [plain, *(f"tensor<{shape}xf32, #graph.layout<{each}>>" for each in layouts), plain]
    lines = [f"func.func @main(%v0: {plain}) -> {plain} {{"]
    for number, (before, after) in enumerate(pairwise(kinds)):
        lines.append(f"  %v{number + 1} = graph.relayout %v{number} : {before} -> {after}")
    return "\n".join([*lines, f"  func.return %v{len(kinds) - 1} : {plain}", "}"])


@pytest.mark.parametrize("block", ["0, 8, 0, 0", "8, 0, 0, 0", "0, 1, 0, 0", "8, 8, 0, 0"])
@pytest.mark.parametrize("halo", ["", "1, 1, 1, 1"])
def test_dimensions_of_size_1_are_blocked(block: str, halo: str) -> None:
    text = program("1x1x2x3", f"block = [{block}], halo = [{halo}]")
    check_semantics(text, pipeline="graph-to-loop")


@pytest.mark.parametrize(
    ("shape", "first", "second"),
    [
        ("1x12x2x1", "block = [0, 8, 0, 0], halo = []", "block = [0, 16, 0, 0], halo = []"),
        ("1x1x2x3", "block = [0, 8, 0, 0], halo = []", "block = [0, 4, 0, 0], halo = []"),
    ],
)
def test_blocks_that_are_filled_up_are_no_view_of_others(
    shape: str, first: str, second: str
) -> None:
    """The buffers may have as many elements: they are elsewhere."""
    text = program(shape, first, second)
    with pytest.raises(
        InarchError, match=r"'graph\.relayout' has .*; expected a layout that graph-to-loop"
    ):
        check_semantics(text, pipeline="graph-to-loop")


def test_a_slice_that_begins_within_a_block_is_no_block() -> None:
    """Where one element is left, too: its block would begin elsewhere."""
    blocked = "#graph.layout<block = [0, 8], halo = []>"
    text = f"""
    func.func @main(%x: tensor<2x8xf32>) -> tensor<2x1xf32> {{
      %b = graph.relayout %x : tensor<2x8xf32> -> tensor<2x8xf32, {blocked}>
      %s = graph.slice %b starts = [0, 5] sizes = [2, 1] steps = [1, 1] : tensor<2x8xf32, {blocked}> -> OUT
      RETURN
    }}"""
    plain = "func.return %s : tensor<2x1xf32>"
    check_semantics(
        text.replace("OUT", "tensor<2x1xf32>").replace("RETURN", plain), pipeline="graph-to-loop"
    )
    kind = f"tensor<2x1xf32, {blocked}>"
    back = f"%r = graph.relayout %s : {kind} -> tensor<2x1xf32>\n func.return %r : tensor<2x1xf32>"
    with pytest.raises(
        InarchError, match=r"'graph\.slice' has an index into blocks of 8 that begin"
    ):
        check_semantics(text.replace("OUT", kind).replace("RETURN", back), pipeline="graph-to-loop")
