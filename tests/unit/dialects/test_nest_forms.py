"""Every form that C gives a nest computes what the nest's definition says: tiles, arrays, guards, outputs."""

# ruff: noqa: E501 - a program reads better with its lines unbroken

from __future__ import annotations

import pytest

from effort import effort
from inarch.backends.c import emit
from inarch.core.errors import InarchError
from inarch.core.lazy import np
from inarch.dialects import new_context
from inarch.ir.text import parse_module
from inarch.ir.verify import verify_module
from inarch.testing import execute, execute_compiled, random_inputs
from targets import here

pytestmark = pytest.mark.every_case(reason="each is the only one that sees some fault")

TARGETS = here("native", "x86-64-v4")
BEGIN = "  loop.nest ({sizes}) ins({source} : {kind}) outs({target} : {kind}) {{\n  ^bb0(%e: f32, %o: f32):\n    loop.yield %e : f32\n  }}\n"


def begun(name: str, shape: str) -> str:
    """A nest that copies the input `%n_begin` to the output `%n`: what nests add to."""
    sizes = shape.split("x")
    index = ", ".join(f"i{axis}" for axis in range(len(sizes)))
    loops = ", ".join(f"i{axis} = {size}" for axis, size in enumerate(sizes))
    return BEGIN.format(
        sizes=loops,
        source=f"%{name}_begin[{index}]",
        target=f"%{name}[{index}]",
        kind=f"memref<{shape}xf32>",
    )


def program(ins: dict[str, str], outs: dict[str, str], nest: str) -> str:
    arguments = [f"%{n}: memref<{s}xf32>" for n, s in ins.items()]
    arguments += [f"%{n}_begin: memref<{s}xf32>" for n, s in outs.items()]
    arguments += [f"%{n}: memref<{s}xf32> {{inarch.result}}" for n, s in outs.items()]
    copies = "".join(begun(name, shape) for name, shape in outs.items())
    return f"func.func @main({', '.join(arguments)}) {{\n{copies}{nest}  func.return\n}}"


def body(elements: int, outputs: int, *lines: str, results: str = "") -> str:
    """A region; `results` are what it yields, `%r0`, `%r1` ... by default."""
    arguments = [f"%e{i}: f32" for i in range(elements)] + [f"%o{i}: f32" for i in range(outputs)]
    yielded = results or ", ".join(f"%r{i}" for i in range(outputs))
    kinds = ", ".join(["f32"] * outputs)
    inner = "".join(f"    {line}\n" for line in lines)
    return f"{{\n  ^bb0({', '.join(arguments)}):\n{inner}    loop.yield {yielded} : {kinds}\n  }}"


ADD = ("%p = arith.mulf %e0, %e1 : f32", "%r0 = arith.addf %o0, %p : f32")
COPY = ("%r0 = arith.addf %e0, %o0 : f32",)
XW = "%x[m, k] : memref<3x2xf32>, %w[k, no * 4 + ni] : memref<2x8xf32>"
TILE = "m = 3, no = 2, k = 2 reduction, ni = 4 vector"
IN = {"x": "3x2", "w": "2x8"}

FORMS = {
    "a clipped tile that adds": program(
        IN, {"y": "3x6"}, f"  loop.nest ({TILE}) ins({XW}) outs(%y[m, no * 4 + ni] clip : memref<3x6xf32>) {body(2, 1, *ADD)}\n"
    ),
    "a tile that is clipped in front": program(
        IN, {"y": "3x8"}, f"  loop.nest ({TILE}) ins({XW}) outs(%y[m - 1, no * 4 + ni] init 0.0 clip : memref<3x8xf32>) {body(2, 1, *ADD)}\n"
    ),
    "a tile in columns": program(
        IN, {"y": "8x3"}, f"  loop.nest ({TILE}) ins({XW}) outs(%y[no * 4 + ni, m] init 0.0 : memref<8x3xf32>) {body(2, 1, *ADD)}\n"
    ),
    "a tile in columns that adds": program(
        IN, {"y": "8x3"}, f"  loop.nest ({TILE}) ins({XW}) outs(%y[no * 4 + ni, m] : memref<8x3xf32>) {body(2, 1, *ADD)}\n"
    ),
    "rows and columns unrolled": program(
        IN, {"y": "3x8"},
        f"  loop.nest (k = 2 reduction, m = 3 unroll, no = 2 unroll, ni = 4 vector) ins({XW}) outs(%y[m, no * 4 + ni] : memref<3x8xf32>) {body(2, 1, *ADD)}\n",
    ),
    "rows and columns unrolled, in columns": program(
        IN, {"y": "8x3"},
        f"  loop.nest (k = 2 reduction, m = 3 unroll, no = 2 unroll, ni = 4 vector) ins({XW}) outs(%y[no * 4 + ni, m] init 0.0 : memref<8x3xf32>) {body(2, 1, *ADD)}\n",
    ),
    "a vector of several registers": program(
        {"x": "3x2", "w": "2x64"}, {"y": "3x64"},
        f"  loop.nest (m = 3, k = 2 reduction, n = 64 vector) ins(%x[m, k] : memref<3x2xf32>, %w[k, n] : memref<2x64xf32>) outs(%y[m, n] init 0.0 : memref<3x64xf32>) {body(2, 1, *ADD)}\n",
    ),
    "lanes that lie apart": program(
        {"x": "3x2", "w": "2x16"}, {"y": "3x8"},
        f"  loop.nest (m = 3, k = 2 reduction, n = 8 vector) ins(%x[m, k] : memref<3x2xf32>, %w[k, n * 2] : memref<2x16xf32>) outs(%y[m, n] init 0.0 : memref<3x8xf32>) {body(2, 1, *ADD)}\n",
    ),
    "lanes in the other order": program(
        {"x": "3x2", "w": "2x8"}, {"y": "3x8"},
        f"  loop.nest (m = 3, k = 2 reduction, n = 8 vector) ins(%x[m, k] : memref<3x2xf32>, %w[k, -n + 7] : memref<2x8xf32>) outs(%y[m, n] init 0.0 : memref<3x8xf32>) {body(2, 1, *ADD)}\n",
    ),
    "a reduction in copies": program(
        {"x": "3x4", "w": "4x8"}, {"y": "3x8"},
        f"  loop.nest (m = 3, k = 4 reduction unroll, n = 8 vector) ins(%x[m, k] : memref<3x4xf32>, %w[k, n] : memref<4x8xf32>) outs(%y[m, n] init 0.0 : memref<3x8xf32>) {body(2, 1, *ADD)}\n",
    ),
    "two outputs, the first clipped, that see each other": program(
        {"x": "4x6"}, {"y": "3x6", "z": "4x6"},
        f"  loop.nest (m = 4, n = 6) ins(%x[m, n] : memref<4x6xf32>) outs(%y[m, n] clip : memref<3x6xf32>, %z[m, n] : memref<4x6xf32>) "
        f"{body(1, 2, '%r0 = arith.addf %o1, %e0 : f32', '%r1 = arith.subf %o0, %e0 : f32')}\n".replace("%o0, %e0", "%o1, %e0"),
    ),
    "two sums that exchange": program(
        {"x": "4x6"}, {"y": "4", "z": "4"},
        f"  loop.nest (m = 4, n = 6 reduction) ins(%x[m, n] : memref<4x6xf32>) outs(%y[m] init 0.0 : memref<4xf32>, %z[m] init 1.0 : memref<4xf32>) "
        f"{body(1, 2, '%r0 = arith.addf %o1, %e0 : f32', '%r1 = arith.subf %o0, %e0 : f32')}\n",
    ),
    "two sums in a tile that exchange": program(
        {"x": "6x8"}, {"y": "8", "z": "8"},
        f"  loop.nest (k = 6 reduction, n = 8 vector) ins(%x[k, n] : memref<6x8xf32>) outs(%y[n] init 0.0 : memref<8xf32>, %z[n] init 1.0 : memref<8xf32>) "
        f"{body(1, 2, '%r0 = arith.addf %o1, %e0 : f32', '%r1 = arith.subf %o0, %e0 : f32')}\n",
    ),
    "two sums in an array, one clipped": program(
        {"x": "6x8"}, {"y": "6", "z": "8"},
        f"  loop.nest (k = 6 reduction, n = 8) ins(%x[k, n] : memref<6x8xf32>) outs(%y[n - 1] init 0.0 clip : memref<6xf32>, %z[n] init 1.0 : memref<8xf32>) "
        f"{body(1, 2, '%r0 = arith.addf %o1, %e0 : f32', '%r1 = arith.subf %o0, %e0 : f32')}\n",
    ),
    "an array of two dimensions": program(
        {"x": "3x2", "w": "2x8"}, {"y": "3x8"},
        f"  loop.nest (k = 2 reduction, m = 3, n = 8) ins(%x[m, k] : memref<3x2xf32>, %w[k, n] : memref<2x8xf32>) outs(%y[m, n] : memref<3x8xf32>) {body(2, 1, *ADD)}\n",
    ),
    "rows of a larger buffer": program(
        {"x": "4x8"}, {"y": "4x6"},
        f"  loop.nest (m = 4, n = 6) ins(%x[m, n + 1] : memref<4x8xf32>) outs(%y[m, n] : memref<4x6xf32>) {body(1, 1, *COPY)}\n",
    ),
    "the row below, padded": program(
        {"x": "4x8"}, {"y": "4x8"},
        f"  loop.nest (m = 4, n = 8) ins(%x[m + 1, n] pad 0.0 : memref<4x8xf32>) outs(%y[m, n] : memref<4x8xf32>) {body(1, 1, *COPY)}\n",
    ),
    "the row above, padded": program(
        {"x": "4x8"}, {"y": "4x8"},
        f"  loop.nest (m = 4, n = 8) ins(%x[m - 1, n] pad 0.5 : memref<4x8xf32>) outs(%y[m, n] : memref<4x8xf32>) {body(1, 1, *COPY)}\n",
    ),
    "two reads of one row, one of them padded more": program(
        {"x": "6", "w": "9"}, {"y": "8"},
        f"  loop.nest (m = 8) ins(%x[m] pad 0.5 : memref<6xf32>, %w[m] : memref<9xf32>) outs(%y[m - 1] clip : memref<8xf32>) {body(2, 1, *ADD)}\n",
    ),
    "minus one loop plus another": program(
        {"x": "16"}, {"y": "4x4"},
        f"  loop.nest (m = 4, n = 4) ins(%x[-m * 2 - n * 3 + 15] : memref<16xf32>) outs(%y[m, n] : memref<4x4xf32>) {body(1, 1, *COPY)}\n",
    ),
    "a padded bias in the finish of a tile": program(
        {"x": "3x2", "w": "2x8", "b": "6"}, {"y": "3x8"},
        f"  loop.nest ({TILE}) ins({XW}, %b[no * 4 + ni] pad 0.5 : memref<6xf32>) outs(%y[m, no * 4 + ni] init 0.0 : memref<3x8xf32>) "
        f"{body(3, 1, *ADD)} finish {body(3, 1, '%r0 = arith.addf %o0, %e2 : f32')}\n",
    ),
    "a clipped tile with a bias as long as the output": program(
        {"x": "3x2", "w": "2x8", "b": "6"}, {"y": "3x6"},
        f"  loop.nest ({TILE}) ins({XW}, %b[no * 4 + ni] pad 0.5 : memref<6xf32>) outs(%y[m, no * 4 + ni] init 0.0 clip : memref<3x6xf32>) "
        f"{body(3, 1, *ADD)} finish {body(3, 1, '%r0 = arith.addf %o0, %e2 : f32')}\n",
    ),
    "two outputs and a finish that reads padding": program(
        {"x": "3x8", "b": "6"}, {"y": "6", "z": "8"},
        f"  loop.nest (n = 8, k = 3 reduction) ins(%x[k, n] : memref<3x8xf32>, %b[n] pad 0.5 : memref<6xf32>) outs(%y[n] init 0.0 clip : memref<6xf32>, %z[n] init 1.0 : memref<8xf32>) "
        f"{body(2, 2, '%r0 = arith.addf %o0, %e0 : f32', '%r1 = arith.subf %o1, %e0 : f32')} "
        f"finish {body(2, 2, '%r0 = arith.mulf %o0, %e1 : f32', '%r1 = arith.mulf %o1, %e1 : f32')}\n",
    ),
}  # fmt: skip


@pytest.mark.sampled(effort(14, 99), reason="a program each; the search has all")
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", FORMS)
def test_c_computes_what_is_defined_for(name: str, target: str) -> None:
    context = new_context()
    module = parse_module(context, FORMS[name])
    verify_module(module)
    inputs = [np.round(array * 4) for array in random_inputs(module, 3)]  # sums of them are exact
    expected = execute(module, inputs, context)
    found = execute_compiled(module, inputs, context, target=target)
    for left, right in zip(found, expected, strict=True):
        np.testing.assert_array_equal(left, right)


def restricts(text: str) -> dict[str, bool]:
    """For each private function whether its definition in C promises that buffers do not overlap."""
    context = new_context()
    source = emit(context, parse_module(context, text)).text
    heads = [block for block in source.split("\n\n") if "(" in block]
    found: dict[str, bool] = {}
    for name in ("inner", "outer"):
        head = next(h for h in heads if f"{name}(" in h and "{" in h).partition("{")[0]
        found[name] = "restrict" in head.rpartition(f"{name}(")[2]
    return found


CALLS = """module attributes {inarch.name = "calls", inarch.weights_bytes = 0 : i64} {
func.func @main(%x: memref<8xf32>, %y: memref<8xf32> {inarch.result}) attributes {inarch.workspace_bytes = 64 : i64} {
  %t = loop.alloc at 0 : memref<16xf32>
  %a = memref.subview %t[0] [8] [1] : memref<16xf32> to memref<8xf32, strided<[1]>>
  %b = memref.subview %t[OFFSET] [8] [1] : memref<16xf32> to memref<8xf32, strided<[1], offset: OFFSET>>
  loop.call @outer(%a, %b) : memref<8xf32, strided<[1]>>, memref<8xf32, strided<[1], offset: OFFSET>>
  func.return
}
func.func private @outer(%a: memref<8xf32, strided<[1]>>, %b: memref<8xf32, strided<[1], offset: OFFSET>>) attributes {inarch.kernel} {
  loop.call @inner(%a, %b) : memref<8xf32, strided<[1]>>, memref<8xf32, strided<[1], offset: OFFSET>>
  func.return
}
func.func private @inner(%a: memref<8xf32, strided<[1]>>, %b: memref<8xf32, strided<[1], offset: OFFSET>>) attributes {inarch.kernel} {
  loop.nest (i = 8) ins(%a[i] : memref<8xf32, strided<[1]>>) outs(%b[i] : memref<8xf32, strided<[1], offset: OFFSET>>) {
  ^bb0(%e: f32, %o: f32):
    loop.yield %e : f32
  }
  func.return
}
}"""


@pytest.mark.parametrize(("offset", "promised"), [(0, False), (4, False), (7, False), (8, True)])
def test_what_may_overlap_is_not_promised_not_to(offset: int, *, promised: bool) -> None:
    """Also not by what such a function calls."""
    try:
        found = restricts(CALLS.replace("OFFSET", str(offset)).replace(", offset: 0", ""))
    except InarchError as error:
        pytest.fail(str(error))
    assert found == {"inner": promised, "outer": promised}


@pytest.mark.sampled(effort(6, 16), reason="each type, to signed and unsigned")
@pytest.mark.parametrize("kind", ["i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("op", ["fptosi", "fptoui"])
@pytest.mark.parametrize("source", ["f32", "f64"])
def test_casts_saturate_at_the_very_limits(source: str, op: str, kind: str) -> None:
    bits = int(kind[1:])
    powers = [2.0**n for n in (bits - 1, bits)]
    values = [
        *powers,
        *(-p for p in powers),
        np.inf,
        -np.inf,
        np.nan,
        0.5,
        -0.5,
        -1.0,
        127.5,
        -128.5,
    ]
    values += [float(np.nextafter(np.float32(p), np.float32(0))) for p in powers]
    text = f"""func.func @main(%x: memref<{len(values)}x{source}>, %y: memref<{len(values)}x{kind}> {{inarch.result}}) {{
  loop.nest (i = {len(values)}) ins(%x[i] : memref<{len(values)}x{source}>) outs(%y[i] : memref<{len(values)}x{kind}>) {{
  ^bb0(%e: {source}, %o: {kind}):
    %r = arith.{op} %e : {source} to {kind}
    loop.yield %r : {kind}
  }}
  func.return
}}"""
    inputs = [np.array(values, {"f32": np.float32, "f64": np.float64}[source])]
    (expected,), (found,) = execute(text, inputs), execute_compiled(text, inputs)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.sampled(effort(6, 12), reason="each op, each divisor")
@pytest.mark.parametrize("op", ["divsi", "divui", "remsi", "remui"])
@pytest.mark.parametrize("divisor", [0, -1, 3])
def test_integers_divided_by_a_number_that_is_known_never_trap(op: str, divisor: int) -> None:
    text = f"""func.func @main(%x: memref<5xi32>, %y: memref<5xi32> {{inarch.result}}) {{
  loop.nest (i = 5) ins(%x[i] : memref<5xi32>) outs(%y[i] : memref<5xi32>) {{
  ^bb0(%e: i32, %o: i32):
    %c = arith.constant {divisor} : i32
    %r = arith.{op} %e, %c : i32
    loop.yield %r : i32
  }}
  func.return
}}"""
    inputs = [np.array([7, -7, 0, -(1 << 31), (1 << 31) - 1], np.int32)]
    (expected,), (found,) = execute(text, inputs), execute_compiled(text, inputs)
    np.testing.assert_array_equal(found, expected)
