"""OpenBLAS' sgemm as a microkernel: a symbol of a library, found again at load time.

    pip install scipy-openblas32
    inarch compile model.onnx --load examples/microkernels/sgemm_openblas.py --microkernel sgemm-openblas

BLAS takes rows of dense elements whose distance is at least their length. Rows of A that overlap (a
convolution reads such) go one by one: `rows` in the declaration.
"""

from inarch.microkernel import Microkernel

MICROKERNEL = Microkernel(
    computes="for m in M, n in N, k in K: C[m, n] += A[m, k] * B[k, n]",
    dtypes={"A": "f32", "B": "f32", "C": "f32"},
    layout={"A": ("*", 1), "B": ("N", 1), "C": ("*", 1)},
    symbol="scipy_cblas_sgemm",
    declare=r"""
void scipy_cblas_sgemm(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                       const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);
static int64_t rows(int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldc)
{
    return lda >= k && ldc >= n && lda <= INT32_MAX && ldc <= INT32_MAX ? m : 1;
}
""",
    # Row-major is 101, not transposed is 111. With one row, its distance to the next counts no more.
    call=r"""
    for (int64_t i = 0, step = rows({M}, {N}, {K}, {A.strides[0]}, {C.strides[0]}); i < {M}; i += step) {
        scipy_cblas_sgemm(101, 111, 111, (int)step, (int){N}, (int){K}, 1.0f,
                          {A} + i * {A.strides[0]}, (int)(step > 1 ? {A.strides[0]} : {K}), {B}, (int){N},
                          1.0f, {C} + i * {C.strides[0]}, (int)(step > 1 ? {C.strides[0]} : {N}));
    }""",
    library="python:scipy_openblas32/lib/libscipy_openblas*",
    doc="OpenBLAS through cblas_sgemm, for matrices of any size.",
)
