"""Nests that write at indices which they read: the definition and the C of each against a loop in Python."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from effort import seeds
from inarch.backends.c import run_function
from inarch.core.errors import UnsupportedError
from inarch.definitions.execute import execute
from inarch.dialects import new_context
from inarch.ir.text import parse_module
from inarch.ir.verify import verify_module

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Form:
    """A nest that writes y[place] from x, at indices `%ids[where]`."""

    loops: str
    ids: str
    place: str
    shape: tuple[int, ...]
    """Of y."""
    dtype: str = "i64"


FORMS = {
    "rows": Form("i = 9 scan, j = 5", "i", "at(0), j", (4, 5)),
    "columns": Form("j = 5, i = 9 scan", "i", "j, at(0)", (5, 4)),
    "shared": Form("j = 5 parallel, i = 9 scan", "i", "j, at(0)", (5, 4)),
    "elements": Form("j = 5, i = 9 scan", "i, j", "at(0), j", (4, 5), "i32"),
    "twice": Form("i = 9 scan", "i", "at(0), at(0)", (4, 4)),
    "corner": Form("i = 9 scan", "i", "2, at(0), 1", (3, 4, 2), "i32"),
    "apart": Form("i = 9, j = 5", "i, j", "i, j, at(0)", (9, 5, 3)),
    "one place": Form("i = 9 scan", "", "at(0)", (4,)),
    "nothing": Form("i = 0 scan, j = 5", "i", "at(0), j", (4, 5)),
}
STEPS: dict[str, tuple[str, Callable[[float, float], float]]] = {
    "last": ("loop.yield %e : f32", lambda _, x: x),
    "sum": ("%s = arith.addf %acc, %e : f32\n    loop.yield %s : f32", lambda y, x: y + x),
    "order": (
        "%c = arith.constant 2.0 : f32\n    %d = arith.mulf %acc, %c : f32\n"
        "    %s = arith.subf %e, %d : f32\n    loop.yield %s : f32",
        lambda y, x: x - 2 * y,
    ),
}


def text(form: Form, steps: str) -> str:
    """The function `@f` of the indices, x over all iterators, and y."""
    sizes = dict(re.findall(r"(\w) = (\d+)", form.loops))
    ids = "x".join([*(sizes[name] for name in names(form.ids)), form.dtype])
    x = "x".join([*sizes.values(), "f32"])
    y = "x".join([*map(str, form.shape), "f32"])
    args = (
        f"%ids: memref<{ids}>, %x: memref<{x}>, %z: memref<{y}>, %y: memref<{y}> {{inarch.result}}"
    )
    whole = [f"d{axis}" for axis in range(len(form.shape))]
    loops = ", ".join(f"{name} = {size}" for name, size in zip(whole, form.shape, strict=True))
    every = ", ".join(whole)
    return f"""func.func @f({args}) {{
  loop.nest ({loops}) ins(%z[{every}] : memref<{y}>) outs(%y[{every}] : memref<{y}>) {{
  ^bb0(%e: f32, %o: f32):
    loop.yield %e : f32
  }}
  loop.nest ({form.loops}) ins(%ids[{form.ids}] : memref<{ids}>, %x[{", ".join(sizes)}] : memref<{x}>)
      outs(%y[{form.place}] : memref<{y}>) {{
  ^bb0(%k: {form.dtype}, %e: f32, %acc: f32):
    {steps}
  }}
  func.return
}}"""


def names(indices: str) -> list[str]:
    """The iterators of `i, j`."""
    return [name for name in indices.split(", ") if name]


def wanted(
    form: Form, step: Callable[[float, float], float], ids: Array, x: Array, y: Array
) -> Array:
    """The points in their order; an index outside is none."""
    found = y.copy()
    sizes = {name: int(size) for name, size in re.findall(r"(\w) = (\d+)", form.loops)}
    for numbers in itertools.product(*map(range, sizes.values())):
        point = dict(zip(sizes, numbers, strict=True))
        index = int(ids[tuple(point[name] for name in names(form.ids))])
        place: list[int] = []
        for each, size in zip(form.place.split(", "), form.shape, strict=True):
            here = index if each == "at(0)" else point[each] if each in point else int(each)
            place.append(here + size if here < 0 else here)
        if all(0 <= here < size for here, size in zip(place, form.shape, strict=True)):
            found[tuple(place)] = step(found[tuple(place)], x[numbers])
    return found


@pytest.mark.parametrize("how", STEPS)
@pytest.mark.parametrize("name", FORMS)
def test_points_follow_each_other_and_outside_nothing_is_written(name: str, how: str) -> None:
    """Negative indices count from the end; the extremes of the dtype name nothing."""
    form, (steps, step) = FORMS[name], STEPS[how]
    context = new_context()
    module = parse_module(context, text(form, steps))
    verify_module(module)
    sizes = {key: int(size) for key, size in re.findall(r"(\w) = (\d+)", form.loops)}
    for seed in seeds(2, 4):
        rng = np.random.default_rng(seed)
        kind = np.dtype(f"int{form.dtype[1:]}")
        shape = [sizes[each] for each in names(form.ids)]
        ids = rng.integers(-5, 5, shape).astype(kind)
        if ids.size > 3:
            limits = np.iinfo(kind)
            ids.reshape(-1)[rng.permutation(ids.size)[:3]] = [limits.min, limits.max, -4]
        x = rng.integers(-4, 5, list(sizes.values())).astype(np.float32)
        y = rng.integers(-4, 5, form.shape).astype(np.float32)
        right = wanted(form, step, ids, x, y)
        (defined,) = execute(module, [ids, x, y], context)
        np.testing.assert_array_equal(defined, right)
        compiled = np.full_like(y, np.nan)
        run_function(context, module, "f", [ids, x, y, compiled])
        np.testing.assert_array_equal(compiled, right)


def test_points_that_may_meet_are_no_lanes() -> None:
    """Rows of registers would be read before the row above is written."""
    form = Form("i = 9 scan, j = 4 vector", "i", "at(0), j", (4, 4))
    context = new_context()
    module = parse_module(context, text(form, STEPS["sum"][0]))
    x, y = np.zeros((9, 4), np.float32), np.zeros((4, 4), np.float32)
    with pytest.raises(UnsupportedError) as error:
        run_function(context, module, "f", [np.zeros(9, np.int64), x, y, y.copy()])
    assert (
        "cannot obey 'j = 4 vector': the nest writes at indices that it reads, point by point"
        in str(error.value)
    )
