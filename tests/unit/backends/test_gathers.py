"""Nests that read their indices: the definition and the C of each form against NumPy, point by point."""

from __future__ import annotations

import itertools
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compilers import command_of
from effort import effort
from inarch.backends.c import run_function
from inarch.core.errors import InarchError
from inarch.definitions.execute import execute
from inarch.dialects import new_context
from inarch.ir.text import parse_module
from inarch.ir.verify import verify_module
from inarch.tools.cli import run as inarch_cli

Array = np.ndarray[Any, Any]


def place(index: int, size: int) -> int:
    """The element that an index names."""
    return range(size)[max(index, -size) if index < 0 else min(index, size - 1)]


def numbers(dtype: str, shape: Sequence[int], size: int, rng: np.random.Generator) -> Array:
    """Indices into `size`: most of them in range, the extremes among them."""
    kind = np.dtype(dtype)
    found = rng.integers(-size - 2, size + 2, shape).astype(kind)
    if found.size > 3:
        limits = np.iinfo(kind)
        found.reshape(-1)[:4] = [limits.min, limits.max, -size, size - 1]
    return rng.permutation(found.reshape(-1)).reshape(shape)


@dataclass(frozen=True)
class Form:
    """Iterators of a nest, `i`, `r` and `j`, and how the accumulator of an output element goes on."""

    loops: str
    """With the sizes for {i}, {r} and {j}; what it has no name for is 0."""
    write: str
    init: str
    steps: str

    @property
    def names(self) -> str:
        """In order."""
        return "".join(re.findall(r"(\w) =", self.loops))


ADD = "%s = arith.addf %acc, %x : f32\n    loop.yield %s : f32"
FORMS = {
    "elementwise": Form("i = {i}, j = {j}", "i, j", "", "loop.yield %x : f32"),
    "unrolled": Form("i = {i}, j = {j} unroll", "i, j", "", "loop.yield %x : f32"),
    "scalar": Form("i = {i}, j = {j}, r = {r} reduction", "i, j", " init 0.0", ADD),
    "array": Form("i = {i}, r = {r} reduction, j = {j}", "i, j", " init 0.0", ADD),
    "arrays": Form("r = {r} reduction, i = {i}, j = {j}", "i, j", " init 0.0", ADD),
    "vector": Form("i = {i}, r = {r} reduction, j = 8 vector", "i, j", " init 0.0", ADD),
    "tile": Form("r = {r} reduction, i = 2 unroll, j = 8 vector", "i, j", " init 0.0", ADD),
    "copies": Form("i = {i}, r = 3 reduction unroll, j = 4 vector", "i, j", " init 0.0", ADD),
    "scan": Form("i = {i}, r = {r} scan, j = {j}", "i, r, j", " init 0.0", ADD),
    "chains": Form("r = {r} scan, i = 2 unroll, j = 3 unroll", "i, r, j", " init 0.0", ADD),
}


@dataclass
class Nest:
    """A nest of a form that reads `data` at indices; what it is to compute, point by point."""

    form: Form
    sizes: dict[str, int]
    indices: list[Array]
    at: list[str]
    """The iterators that each of the indices is read at."""
    data: Array
    places: Sequence[str | int]
    """By dimension of data: an iterator, or which of the indices."""
    finishes: bool = False

    @property
    def shape(self) -> list[int]:
        """Of what it writes."""
        return [self.sizes[name] for name in self.form.write.split(", ")]

    def text(self) -> str:
        """The function `@f` of the indices, data and the output."""
        dtypes = [f"i{index.itemsize * 8}" for index in self.indices]
        kinds = [
            *(kind(i.shape, d) for i, d in zip(self.indices, dtypes, strict=True)),
            kind(self.data.shape, "f32"),
        ]
        data = ", ".join(f"at({p})" if isinstance(p, int) else p for p in self.places)
        where = [*(", ".join(at) for at in self.at), data]
        ins = ", ".join(
            f"%b{n}[{w}] : {k}" for n, (w, k) in enumerate(zip(where, kinds, strict=True))
        )
        args = ", ".join(f"%b{n}: {k}" for n, k in enumerate(kinds))
        out = kind(self.shape, "f32")
        elements = [f"%e{n}: {d}, " for n, d in enumerate(dtypes)]
        loops = self.form.loops.format(**self.sizes)
        outs = f"%y[{self.form.write}]{self.form.init} : {out}"
        head = f"^bb0({''.join(elements)}%x: f32, %acc: f32):"
        finish = f" finish {{\n  {head}\n    {ADD}\n  }}" if self.finishes else ""
        return f"""func.func @f({args}, %y: {out} {{inarch.result}}) {{
  loop.nest ({loops}) ins({ins}) outs({outs}) {{
  {head}
    {self.form.steps}
  }}{finish}
  func.return
}}"""

    def value(self, point: dict[str, int]) -> np.float32:
        """The element that is read at a point."""
        place_of: list[int] = []
        for size, p in zip(self.data.shape, self.places, strict=True):
            if isinstance(p, str):
                place_of.append(point[p])
                continue
            index = self.indices[p][tuple(point[name] for name in self.at[p])]
            place_of.append(place(int(index), size))
        return self.data[tuple(place_of)]

    def wanted(self) -> Array:
        """What it is to write: sums in order, of numbers of which no sum is rounded."""
        found = np.zeros(self.shape, np.float32)
        names = self.form.names
        for numbers_ in itertools.product(*(range(self.sizes[name]) for name in names)):
            point = dict(zip(names, numbers_, strict=True))
            value = self.value(point)
            at = tuple(point[name] for name in self.form.write.split(", "))
            if " scan" in self.form.loops and point["r"]:
                found[at] = found[(at[0], at[1] - 1, at[2])] + value
            elif self.form.init:
                found[at] += value
            else:
                found[at] = value
        if self.finishes:
            for at in itertools.product(*map(range, self.shape)):
                found[at] += self.value(dict(zip(self.form.write.split(", "), at, strict=True)))
        return found


def kind(shape: Sequence[int], element: str) -> str:
    """A buffer's type."""
    return f"memref<{'x'.join([*map(str, shape), element])}>"


@st.composite
def nests(draw: st.DrawFn, form: Form) -> Nest:
    """A nest of that form, by one index or two, of data of one dimension to three."""
    fixed = {name: int(size) for name, size in re.findall(r"(\w) = (\d+)", form.loops)}
    sizes = {
        "i": draw(st.integers(1, 4)),
        "r": draw(st.integers(1, 4)),
        "j": draw(st.integers(1, 9)),
    }
    sizes |= fixed
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    finishes = "reduction" in form.loops and draw(st.booleans())
    iterators = [name for name in form.names if not (finishes and name == "r")]
    rank = draw(st.integers(1, 3))
    picked = draw(st.sets(st.integers(0, rank - 1), min_size=1))
    count = draw(st.integers(1, len(picked)))
    at = [draw(st.lists(st.sampled_from(iterators), unique=True)) for _ in range(count)]
    names = list(itertools.chain(range(count), [0] * len(picked)))
    places: list[str | int] = [
        names.pop(0) if d in picked else draw(st.sampled_from(iterators)) for d in range(rank)
    ]
    shape = [sizes[p] if isinstance(p, str) else draw(st.integers(1, 5)) for p in places]
    indices = [
        numbers(
            draw(st.sampled_from(("i4", "i8"))),
            [sizes[name] for name in names_],
            max(shape[d] for d in range(rank) if places[d] == n),
            rng,
        )
        for n, names_ in enumerate(at)
    ]
    data = rng.integers(-64, 64, shape).astype(np.float32)
    return Nest(form, sizes, indices, ["".join(names_) for names_ in at], data, places, finishes)


@pytest.mark.parametrize("name", FORMS)
@settings(max_examples=effort(3, 12), deadline=None)
@given(data=st.data())
def test_each_form_reads_what_the_indices_name(name: str, data: st.DataObject) -> None:
    """From the end where they are negative, the nearest element where they are outside; also in `finish`."""
    nest = data.draw(nests(FORMS[name]))
    context = new_context()
    module = parse_module(context, nest.text())
    verify_module(module)
    wanted = nest.wanted()
    (found,) = execute(module, [*nest.indices, nest.data], context)
    np.testing.assert_array_equal(found, wanted, strict=True)
    y = np.full_like(wanted, np.nan)
    run_function(context, module, "f", [*nest.indices, nest.data, y])
    np.testing.assert_array_equal(y, wanted, strict=True)


def test_an_index_may_be_padded_and_a_view() -> None:
    """Outside of the indices its pad is the index; indices and rows may lie apart in memory."""
    ids_kind = "memref<5xi64, strided<[2], offset: 1>>"
    rows_kind = "memref<3x4xf32, strided<[20, 2], offset: 21>>"
    args = "%all: memref<12xi64>, %t: memref<7x10xf32>, %y: memref<8x4xf32> {inarch.result}"
    text = f"""func.func @f({args}) {{
  %ids = memref.subview %all[1] [5] [2] : memref<12xi64> to {ids_kind}
  %rows = memref.subview %t[2, 1] [3, 4] [2, 2] : memref<7x10xf32> to {rows_kind}
  loop.nest (i = 8, j = 4) ins(%ids[i - 2] pad -1 : {ids_kind}, %rows[at(0), j] : {rows_kind})
      outs(%y[i, j] : memref<8x4xf32>) {{
  ^bb0(%k: i64, %x: f32, %o: f32):
    loop.yield %x : f32
  }}
  func.return
}}"""
    context = new_context()
    module = parse_module(context, text)
    verify_module(module)
    ids = np.array([9, 0, 9, 1, 9, 2, 9, -3, 9, 40, 9, 9])
    table = np.arange(70, dtype=np.float32).reshape(7, 10)
    wanted = table[2::2, 1:9:2][[2, 2, 0, 1, 2, 0, 2, 2]]
    (found,) = execute(module, [ids, table], context)
    np.testing.assert_array_equal(found, wanted)
    y = np.empty_like(wanted)
    run_function(context, module, "f", [ids, table, y])
    np.testing.assert_array_equal(y, wanted)


def test_a_nest_in_a_shared_loop_picks_by_what_the_loop_names() -> None:
    """The index is a view that the loop moves, as is the row that is written: iterations are independent."""
    id_kind, row_kind = (f"memref<{k}, strided<[1], offset: ?>>" for k in ("1xi64", "4xf32"))
    args = "%ids: memref<8xi64>, %t: memref<9x4xf32>, %y: memref<8x4xf32> {inarch.result}"
    text = f"""func.func @f({args}) {{
  loop.for %i = 0 to 8 parallel {{
    %id = memref.subview %ids[%i] [1] [1] : memref<8xi64> to {id_kind}
    %row = memref.subview %y[%i, 0] [1, 4] [1, 1] : memref<8x4xf32> to {row_kind}
    loop.nest (j = 4) ins(%id[0] : {id_kind}, %t[at(0), j] : memref<9x4xf32>)
        outs(%row[j] : {row_kind}) {{
    ^bb0(%k: i64, %x: f32, %o: f32):
      loop.yield %x : f32
    }}
    loop.yield
  }}
  func.return
}}"""
    context = new_context()
    module = parse_module(context, text)
    verify_module(module)
    ids, table = np.array([0, 8, -1, -9, -99, 99, 3, 4]), np.arange(36, dtype=np.float32)
    table = table.reshape(9, 4)
    wanted = table[[place(int(index), 9) for index in ids]]
    (found,) = execute(module, [ids, table], context)
    np.testing.assert_array_equal(found, wanted)
    y = np.empty_like(wanted)
    run_function(context, module, "f", [ids, table, y])
    np.testing.assert_array_equal(y, wanted)


def test_a_nest_that_writes_what_it_picks_by_has_no_meaning() -> None:
    """Though no point uses the index but to read by it."""
    text = """func.func @f(%t: memref<4xi64>, %y: memref<4xi64> {inarch.result}) {
  loop.nest (i = 4) ins(%y[-i + 3] : memref<4xi64>, %t[at(0)] : memref<4xi64>)
      outs(%y[i] init 0 : memref<4xi64>) {
  ^bb0(%k: i64, %x: i64, %o: i64):
    loop.yield %x : i64
  }
  func.return
}"""
    with pytest.raises(InarchError) as caught:
        execute(text, [np.arange(4)])
    assert "'loop.nest' has no meaning: point 0 reads what point 3 writes" in caught.value.message


@pytest.fixture(scope="module")
def forms_in_c(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each form, with rows that are used and with rows that nothing uses."""
    rng = np.random.default_rng(0)
    functions: list[str] = []
    every = ((["j", 0], ["i"]), ([0, "j"], ["j"]), ([0, 1], ["i", "j"]))
    for number, form in enumerate(FORMS.values()):
        sizes = {"i": 2, "r": 3, "j": 8} | {
            name: int(size) for name, size in re.findall(r"(\w) = (\d+)", form.loops)
        }
        for picks, at in [every[(number + more) % 3] for more in range(effort(1, 3))]:
            shape = [sizes[p] if isinstance(p, str) else 5 for p in picks]
            indices = [rng.integers(0, 5, [sizes[name] for name in names]) for names in at]
            data = np.zeros(shape, np.float32)
            one = Nest(form, sizes, indices, at, data, picks, "reduction" in form.loops)
            text_ = one.text()
            unused = text_.replace("%acc, %x :", "%acc, %acc :").replace("yield %x", "yield %acc")
            for each in (text_, unused):
                functions.append(each.replace("@f", f"@f{len(functions)}"))
    folder = tmp_path_factory.mktemp("forms")
    model, text = folder / "m.mlir", folder / "m.c"
    model.write_text("\n".join(functions))
    made = inarch_cli(["compile", str(model), "--emit=c", "-o", str(text), "--target", "generic"])
    assert made.code == 0, made.err
    return text


@pytest.mark.parametrize("compiler", ["gcc", "g++", "clang", "clang++"])
def test_the_c_of_each_form_has_no_warning(forms_in_c: Path, tmp_path: Path, compiler: str) -> None:
    """No name of a row that nothing uses, though some operands are.

    The optimizer of a compiler, which takes most of the time, warns of C as of C++: it is asked once.
    """
    program = command_of(compiler)
    in_c = ["-std=c11", "-O3", "-c", "-o", str(tmp_path / "m.o")]
    how = ["-x", "c++", "-std=c++17", "-fsyntax-only"] if "++" in compiler else in_c
    subprocess.run([program, *how, "-Wall", "-Wextra", "-Werror", str(forms_in_c)], check=True)
