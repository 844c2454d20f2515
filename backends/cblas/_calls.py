"""Calls of OpenBLAS: gemm, or gemv where a factor is a vector, with prototypes of our own.

The package's header declares hundreds that nothing here needs; these two are CBLAS's, with the
package's prefix and its 32-bit integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from inarch.backends.cblas._gemm import Gemm

_ENUM = """
enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 }; /* as in cblas.h */
"""

_GEMM = """
void scipy_cblas_{letter}gemm(int order, int trans_a, int trans_b, int m, int n, int k, {c} alpha,
                       const {c} *a, int lda, const {c} *b, int ldb, {c} beta, {c} *c, int ldc);
"""

_GEMV = """
void scipy_cblas_{letter}gemv(int order, int trans, int m, int n, {c} alpha, const {c} *a, int lda,
                       const {c} *x, int incx, {c} beta, {c} *y, int incy);
"""


def prototypes(gemms: Iterable[Gemm]) -> str:
    """What the calls of `gemms` need to be declared."""
    used = {(_is_vector(gemm), gemm.dtype.name, gemm.dtype.c) for gemm in gemms}
    text = _ENUM
    for is_vector, dtype, c_type in sorted(used):
        prototype = _GEMV if is_vector else _GEMM
        text += prototype.format(letter="s" if dtype == "f32" else "d", c=c_type)
    return text


def _is_vector(gemm: Gemm) -> bool:
    """Whether it is a matrix by a vector: OpenBLAS's gemm would copy the matrix first.

    With no products to add up, gemv would leave C as it is, where gemm clears it.
    """
    return 1 in (gemm.m, gemm.n) and gemm.k > 0


def call(gemm: Gemm, where: Sequence[str], pad: str) -> Iterator[str]:
    """The lines that compute C; `where` are the C expressions of A, B and C."""
    prefix, suffix = ("s", "f") if gemm.dtype.name == "f32" else ("d", "")
    beta = f"1.0{suffix}" if gemm.addends else f"0.0{suffix}"
    one = f"1.0{suffix}"
    if _is_vector(gemm):
        yield f"{pad}scipy_cblas_{prefix}gemv({_vector_arguments(gemm, where, one, beta)});"
        return
    flags = ", ".join(_flag(x.transposed) for x in (gemm.a_layout, gemm.b_layout))
    yield (
        f"{pad}scipy_cblas_{prefix}gemm(ROW_MAJOR, {flags}, {gemm.m}, {gemm.n}, {gemm.k}, "
        f"{one}, {where[0]}, {gemm.a_layout.leading},"
    )
    yield (
        f"{pad}                  {where[1]}, {gemm.b_layout.leading}, {beta}, {where[2]}, "
        f"{max(gemm.n, 1)});"
    )


def _flag(transposed: bool) -> str:
    return "TRANS" if transposed else "NO_TRANS"


def _vector_arguments(gemm: Gemm, where: Sequence[str], one: str, beta: str) -> str:
    """`C = A b`, else `C' = B' a'`: what gemv takes, with the matrix as it is stored."""
    if gemm.n == 1:
        matrix, rows, columns, layout, transposed = 0, gemm.m, gemm.k, gemm.a_layout, False
        step = gemm.b_layout.leading
    else:
        matrix, rows, columns, layout, transposed = 1, gemm.k, gemm.n, gemm.b_layout, True
        step = gemm.a_layout.leading if gemm.a_layout.transposed else 1
    if layout.transposed:
        rows, columns = columns, rows
    flag = _flag(layout.transposed != transposed)
    return (
        f"ROW_MAJOR, {flag}, {rows}, {columns}, {one}, {where[matrix]}, {layout.leading}, "
        f"{where[1 - matrix]}, {step}, {beta}, {where[2]}, 1"
    )
