"""Calls of computations that are compiled: the same as in Python, for every kind of argument."""

from __future__ import annotations

import os
import subprocess
import sys

from effort import effort
from inarch.core.outside.printable import with_short_names

SCRIPT = """
import random, sys
import numpy as np
import inarch
from inarch.runtime import calls

assert calls.prepare() == "compiled"
rng, choose = np.random.default_rng(0), random.Random(0)
general = [0]
from inarch.computation import Computation

def counted(self, *args, **named):
    general[0] += 1
    return python(self, *args, **named)

python, Computation._general = Computation._general, counted
scale = inarch.compute("for i in N: C[i] = s * (A[i] + B[i])")
update = "for i in N: m[i] = mu * m[i] + g[i]\\nfor i in N: w[i] = w[i] - m[i]"
step = inarch.compute(update, arguments="w, g, m, mu")
cast = inarch.compute("for i in N: C[i] = f32(s)", arguments="C, s")
seen = set()
for iteration in range(int(sys.argv[1])):
    form = choose.choice(["made", "last", "out", "name", "place", "input"])
    n, dtype = choose.choice([3, 4][:int(sys.argv[2])]), np.float32
    a, b = (rng.normal(size=n).astype(dtype) for _ in range(2))
    s = choose.choice([2, 2.5] if form == "place" else [2, 2.5, np.array(1.5, dtype), np.float32(3)])
    wanted = dtype(s) * (a + b)
    c, before = np.empty(n, dtype), general[0]
    if form == "made": got = scale(s, a, b)
    elif form == "last": got = scale(s, a, b, c)
    elif form == "out": got = scale(s, a, b, out=c)
    elif form == "name": got = scale(A=a, B=b, s=s, out=c)
    elif form == "place": c = a; got = scale(s, a, b, a)
    else: c = b; got = scale(s, a, b, out=b)
    np.testing.assert_allclose(got, wanted, rtol=1e-6)
    assert form == "made" or got is c
    assert got.ctypes.data % (64 if form == "made" else 1) == 0
    key = (n, dtype, type(s), form == "place")
    is_plain = form in ("made", "last", "out", "place") and type(s) in (int, float, np.ndarray)
    assert general[0] == before or not (is_plain and key in seen), (form, key)
    seen |= {key} if is_plain else set()
    w, m, g = (rng.normal(size=n).astype(dtype) for _ in range(3))
    m2 = dtype(0.5) * m + g
    w2 = w - m2
    results = step(w, g, m, 0.5)
    assert results[0] is m and results[1] is w
    np.testing.assert_allclose(m, m2, rtol=1e-5); np.testing.assert_allclose(w, w2, rtol=1e-5, atol=1e-6)
# An int and a float that are only cast are of dtypes of their own: neither is taken for the other.
big, out = 2**54 + 2**30 + 1, np.empty(2, np.float32)
for _ in range(2):
    for number in (big, float(big), 1, 1.5):
        assert cast(out, number)[0] == np.asarray(number).astype(np.float32), number
three = np.ones(3, np.float32)
for *wrong, last in ((1e300, three, three), (10**400, three, three), (1.0, three[::-1], three),
                     (1.0, three, three, three[1:])):
    try: scale(*wrong, last)
    except inarch.ArgumentError as error: print(error)
flip = inarch.compute("for i in N: C[i] = f32(X[i])\\nfor i in N: X[i] = A[i]", arguments="A, X, C")
x, ones = np.array([0, 1], bool), np.array([1, 1], bool)
for wanted in ([0, 1], [1, 1]):
    flip(ones, x, out)
    assert x.all() and out.tolist() == wanted
x.view(np.uint8)[0] = 3
try: flip(ones, x, out)
except inarch.ArgumentError as error: print(error)
"""


def test_compiled_calls_of_computations() -> None:
    """B10, B12: random sizes, dtypes, numbers, places of outputs; Python is not asked a second time."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT, str(effort(120, 400)), str(effort(1, 2))],
        env={**os.environ, "INARCH_CALLS": "compiled"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    too_large = "which is too large for it; pass a number that it holds"
    assert done.stdout.splitlines() == [
        f"compute: argument 's': expected f32[], found 1e+300, {too_large}",
        with_short_names(f"compute: argument 's': expected f32[], found 1{'0' * 400}, {too_large}"),
        "compute: argument 'A': expected f32[3] in row-major order, found strides (-4,); "
        "use np.ascontiguousarray(x)",
        "compute: output 'C': expected memory of its own, found that of argument 'A', which overlaps it",
        "compute: output 'X': expected bools of 0 or 1, found a byte of 3; use x.view(np.uint8) != 0",
    ]
