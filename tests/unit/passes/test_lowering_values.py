"""The lowering to `loop` keeps the values of programs that an index or an output too many would change."""

from __future__ import annotations

import pytest

from inarch.core.errors import InarchError
from inarch.core.lazy import np
from inarch.dialects import new_context
from inarch.ir.context import store_of
from inarch.ir.text import parse_module, print_module
from inarch.passes import PASSES
from inarch.testing import check_semantics, execute, run_pass

pytestmark = pytest.mark.every_case(reason="each is the only one that sees some fault")


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("shape", [(), (2,), (2, 2)])
def test_gather_takes_indices_of_any_rank_along_any_axis(axis: int, shape: tuple[int, ...]) -> None:
    """From the end where they are negative; the nearest element where they are outside."""
    data, sizes = (3, 4, 5), "x".join(map(str, shape))
    result = [*data[:axis], *shape, *data[axis + 1 :]]
    d, i = "tensor<3x4x5xf32>", f"tensor<{sizes}{'x' if shape else ''}i64>"
    y = f"tensor<{'x'.join(map(str, result))}xf32>"
    text = f"""func.func @main(%x: {d}, %i: {i}) -> {y} {{
  %0 = graph.gather %x, %i axis = {axis} : {d}, {i} -> {y}
  func.return %0 : {y}
}}"""
    x = np.arange(60, dtype=np.float32).reshape(data)
    last = data[axis] - 1
    choices = ([0, last, 1, -1], [-1, -last - 1, 2, last], [-2, 1, last, 0])
    for numbers in choices:
        index = np.resize(np.array(numbers), shape).astype(np.int64)
        check_semantics(text, pipeline="graph-to-loop", inputs=[x, index])
    for outside, nearest in ((last + 1, last), (10**6, last), (-last - 2, 0), (-(10**6), 0)):
        index = np.full(shape, outside, np.int64)
        (found,) = execute(run_pass(text, "graph-to-loop"), [x, index])
        np.testing.assert_array_equal(found, np.take(x, np.full(shape, nearest), axis))


POOL = "tensor<1x2x4x5xf32> -> tensor<1x2x3x3xf32>"


@pytest.mark.parametrize(
    "op",
    [
        f"avg_pool %x window = [2, 3] strides = [2, 2] pads = [1, 1, 1, 1] dilations = [1, 1] : {POOL}",
        f"max_pool %x window = [2, 3] strides = [2, 2] pads = [1, 1, 1, 1] dilations = [1, 1] : {POOL}",
    ],
)
def test_windows_over_the_edges_count_what_they_cover(op: str) -> None:
    text = f"""func.func @main(%x: tensor<1x2x4x5xf32>) -> tensor<1x2x3x3xf32> {{
  %0 = graph.{op}
  func.return %0 : tensor<1x2x3x3xf32>
}}"""
    generator = np.random.default_rng(1)
    x = -np.exp(generator.standard_normal((1, 2, 4, 5))).astype(np.float32)
    check_semantics(text, pipeline="graph-to-loop", inputs=[x])


X = "tensor<2x3xf32>"
RETURNED = {
    "a value twice": f"""func.func @main(%x: {X}) -> ({X}, {X}) {{
  %0 = graph.neg %x : {X} -> {X}
  func.return %0, %0 : {X}, {X}
}}""",
    "an argument, and what is made of it": f"""func.func @main(%x: {X}) -> ({X}, {X}, {X}) {{
  %0 = graph.neg %x : {X} -> {X}
  func.return %x, %0, %x : {X}, {X}, {X}
}}""",
    "a value and a reshape of it": f"""func.func @main(%x: {X}) -> (tensor<6xf32>, {X}) {{
  %0 = graph.neg %x : {X} -> {X}
  %1 = graph.reshape %0 shape = [6] : {X} -> tensor<6xf32>
  func.return %1, %0 : tensor<6xf32>, {X}
}}""",
    "a constant, and a reshape of the argument": f"""func.func @main(%x: {X}) -> ({X}, tensor<3x2xf32>) {{
  %0 = graph.constant dense<2.5> : {X}
  %1 = graph.reshape %x shape = [3, 2] : {X} -> tensor<3x2xf32>
  func.return %0, %1 : {X}, tensor<3x2xf32>
}}""",
    "a value that another output is made of": f"""func.func @main(%x: {X}) -> ({X}, {X}) {{
  %0 = graph.neg %x : {X} -> {X}
  %1 = graph.exp %0 : {X} -> {X}
  func.return %1, %0 : {X}, {X}
}}""",
}


@pytest.mark.parametrize("name", RETURNED)
def test_every_output_gets_its_value_when_returned_is(name: str) -> None:
    check_semantics(RETURNED[name], pipeline="graph-to-loop")


def test_unsigned_arguments_and_results_say_so() -> None:
    x = "tensor<2xui16>"
    text = f"""func.func @main(%x: {x}) -> {x} {{
  %0 = graph.add %x, %x : {x}, {x} -> {x}
  func.return %0 : {x}
}}"""
    assert run_pass(text, "graph-to-loop").count('inarch.dtype = "ui16"') == 2


def test_a_constant_filled_up_keeps_the_bytes_that_others_read() -> None:
    """Weights of 6 channels in blocks of 4 are filled up; the same bytes are returned as they are."""
    w = "tensor<6x6x1x1xf32>"
    x = "tensor<1x6x3x3xf32>"
    text = f"""builtin.module attributes {{inarch.target = "x86-64-v2"}} {{
func.func @main(%x: {x}) -> ({x}, {w}) {{
  %w = graph.constant dense_resource<w> : {w}
  %v = graph.constant dense_resource<w> : {w}
  %0 = graph.conv %x, %w strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : {x}, {w} -> {x}
  func.return %0, %v : {x}, {w}
}}
}}"""
    context = new_context()
    numbers = np.random.default_rng(2).standard_normal((6, 6, 1, 1)).astype(np.float32)
    store_of(context).set("w", numbers.tobytes())
    module = parse_module(context, text)
    image = np.random.default_rng(3).standard_normal((1, 6, 3, 3)).astype(np.float32)
    expected = execute(module, [image], context)
    for name in ("choose-layout", "graph-to-loop"):
        PASSES[name](**({"always": True} if name == "choose-layout" else {})).apply(context, module)
    assert "w_filled" in print_module(module)
    for found, wanted in zip(execute(module, [image], context), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def layout(block: int, halo: str) -> str:
    return f"#graph.layout<block = [0, {block}, 0, 0], halo = {halo}>"


def relaid(before: str, after: str, x: str = "tensor<1x8x3x2xf32>") -> str:
    one, two = f"{x[:-1]}, {before}>", f"{x[:-1]}, {after}>"
    return f"""func.func @main(%x: {x}) -> {x} {{
  %0 = graph.relayout %x : {x} -> {one}
  %1 = graph.relayout %0 : {one} -> {two}
  %2 = graph.relayout %1 : {two} -> {x}
  func.return %2 : {x}
}}"""


@pytest.mark.parametrize("shape", ["1x8x3x3", "1x8x3x2", "1x6x3x3", "1x8x1x1"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[1, 0, 0, 0]", "[0, 0, 1, 0]"),
        ("[1, 0, 0, 0]", "[0, 1, 0, 0]"),
        ("[]", "[0, 0, 0, 1]"),
        ("[1, 0, 1, 0]", "[1, 0, 1, 0]"),
        ("[1, 0, 0, 1, 0, 0]", "[0, 1, 0, 0, 1, 0]"),
        ("[0, 0]", "[]"),
    ],
)
def test_a_relayout_moves_the_image_where_the_room_is_elsewhere(
    before: str, after: str, shape: str
) -> None:
    """Room above and room below, or beside, make buffers of one size; channels may have room as well."""
    text = relaid(layout(4, before), layout(4, after), f"tensor<{shape}xf32>")
    check_semantics(text, pipeline="graph-to-loop")


@pytest.mark.parametrize(("one", "two"), [(4, 2), (2, 4)])
def test_a_relayout_into_other_blocks_is_no_view(one: int, two: int) -> None:
    """Both buffers have as many elements; a copy from block to block is not there yet."""
    with pytest.raises(InarchError) as caught:
        run_pass(relaid(layout(one, "[]"), layout(two, "[]")), "graph-to-loop")
    assert caught.value.message == (
        f"'graph.relayout' has iterator i1 in blocks of {one} and of {two}; "
        "expected a layout that graph-to-loop can split"
    )


def test_a_layout_in_which_a_slice_begins_within_a_block_is_refused() -> None:
    """choose-layout leaves such a slice row-major; a program may say otherwise."""
    x, y = (f"tensor<1x{n}x3x3xf32, {layout(4, '[]')}>" for n in (8, 4))
    text = f"""func.func @main(%x: tensor<1x8x3x3xf32>) -> tensor<1x4x3x3xf32> {{
  %0 = graph.relayout %x : tensor<1x8x3x3xf32> -> {x}
  %1 = graph.slice %0 starts = [0, 2, 0, 0] sizes = [1, 4, 3, 3] steps = [1, 1, 1, 1] : {x} -> {y}
  %2 = graph.relayout %1 : {y} -> tensor<1x4x3x3xf32>
  func.return %2 : tensor<1x4x3x3xf32>
}}"""
    with pytest.raises(InarchError) as caught:
        run_pass(text, "graph-to-loop")
    assert caught.value.message == (
        "'graph.slice' has an index into blocks of 4 that is not one iterator beside multiples of it; "
        "expected a layout that graph-to-loop can split"
    )


@pytest.mark.parametrize(
    ("op", "count"),
    [
        # The first 8 of 12 are read as they are; behind the eleventh is 0, and not 1.5.
        ("pad %0 low = [0, 0, 0, 0] high = [0, 1, 0, 0] value = 1.5", 12),
        ("pad %0 low = [0, 4, 0, 0] high = [0, 0, 0, 0] value = 1.5", 15),
        ("slice %0 starts = [0, 4, 0, 0] sizes = [1, 7, 2, 2] steps = [1, 1, 1, 1]", 7),
    ],
)
def test_what_is_behind_a_broken_block_is_no_element(op: str, count: int) -> None:
    """Of 11 channels in blocks of 4, an op that does not take each at its own place."""
    x, y = "tensor<1x11x2x2xf32>", f"tensor<1x{count}x2x2xf32>"
    blocked = f"{x[:-1]}, {layout(4, '[]')}>"
    text = f"""func.func @main(%x: {x}) -> {y} {{
  %0 = graph.relayout %x : {x} -> {blocked}
  %1 = graph.{op} : {blocked} -> {y}
  func.return %1 : {y}
}}"""
    with pytest.raises(InarchError) as caught:
        run_pass(text, "graph-to-loop")
    assert caught.value.message.endswith("expected a layout that graph-to-loop can split")


@pytest.mark.parametrize(("rows", "is_whole"), [(8, True), (6, False)])
def test_windows_of_steps_of_a_block_need_whole_blocks(rows: int, *, is_whole: bool) -> None:
    """A window over the last row would take the zeros of a broken block for elements."""
    x = f"tensor<1x1x{rows}x1xf32>"
    blocked = f"{x[:-1]}, #graph.layout<block = [0, 0, 4, 0], halo = []>>"
    text = f"""func.func @main(%x: {x}) -> {x} {{
  %0 = graph.relayout %x : {x} -> {blocked}
  %1 = graph.max_pool %0 window = [2, 1] strides = [1, 1] pads = [0, 0, 4, 0] dilations = [4, 1]
    : {blocked} -> {blocked}
  %2 = graph.relayout %1 : {blocked} -> {x}
  func.return %2 : {x}
}}"""
    if is_whole:
        check_semantics(text, pipeline="graph-to-loop")
        return
    with pytest.raises(InarchError, match="has 6 of 6 elements in blocks of 4"):
        run_pass(text, "graph-to-loop")


def test_a_constant_is_padded_with_what_the_op_says() -> None:
    """It is filled up with 0 where a block demands more elements, not where a window does."""
    x = "tensor<1x6x2x2xf32>"
    blocked = f"{x[:-1]}, {layout(4, '[]')}>"
    numbers = [[[[-1.0 - c, -2.0], [-3.0, -4.0]] for c in range(6)]]
    text = f"""func.func @main() -> {x} {{
  %k = graph.constant dense<{numbers}> : {x}
  %0 = graph.max_pool %k window = [2, 2] strides = [1, 1] pads = [0, 0, 1, 1] dilations = [1, 1]
    : {x} -> {blocked}
  %1 = graph.relayout %0 : {blocked} -> {x}
  func.return %1 : {x}
}}"""
    check_semantics(text, pipeline="graph-to-loop")


def test_a_constant_is_filled_up_to_each_size_that_is_read() -> None:
    x, k = "tensor<1x6x2x2xf32>", "tensor<6x1x1xf32>"
    four, eight = (f"{x[:-1]}, {layout(block, '[]')}>" for block in (4, 16))
    text = f"""func.func @main(%x: {x}) -> ({x}, {x}) {{
  %k = graph.constant dense<{[[[float(c)]] for c in range(6)]}> : {k}
  %0 = graph.relayout %x : {x} -> {four}
  %1 = graph.mul %0, %k : {four}, {k} -> {four}
  %2 = graph.relayout %x : {x} -> {eight}
  %3 = graph.mul %2, %k : {eight}, {k} -> {eight}
  %4 = graph.relayout %1 : {four} -> {x}
  %5 = graph.relayout %3 : {eight} -> {x}
  func.return %4, %5 : {x}, {x}
}}"""
    check_semantics(text, pipeline="graph-to-loop")


def test_room_around_blocks_is_stepped_over_by_all_who_read_them() -> None:
    """A maximum does not read the room, which holds 0: it takes a view of the blocks of rows alone."""
    x = "tensor<1x1x8x3xf32>"
    blocked = f"{x[:-1]}, #graph.layout<block = [0, 0, 4, 0], halo = [1, 0, 1, 0]>>"
    text = f"""func.func @main(%x: {x}) -> {x} {{
  %0 = graph.relayout %x : {x} -> {blocked}
  %1 = graph.max_pool %0 window = [1, 2] strides = [1, 1] pads = [0, 0, 0, 1] dilations = [1, 1]
    : {blocked} -> {x}
  func.return %1 : {x}
}}"""
    check_semantics(text, pipeline="graph-to-loop")
