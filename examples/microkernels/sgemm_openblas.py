"""OpenBLAS' sgemm as a microkernel: a symbol of a library, found again at load time.

    pip install scipy-openblas32
    inarch compile model.onnx --load examples/microkernels/sgemm_openblas.py --microkernel sgemm-openblas

BLAS takes rows of dense elements whose distance is at least their length: `>=` in the layout. What lies
otherwise (the overlapping rows that a convolution reads, say) is packed.
"""

from inarch.microkernel import Microkernel

MICROKERNEL = Microkernel(
    computes="for m in M, n in N, k in K: C[m, n] += A[m, k] * B[k, n]",
    dtypes={"A": "f32", "B": "f32", "C": "f32"},
    layout={"A": (">= K", 1), "B": (">= N", 1), "C": (">= N", 1)},
    symbol="scipy_cblas_sgemm",
    declare=r"""
void scipy_cblas_sgemm(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                       const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);
""",
    # Row-major is 101, not transposed is 111.
    call=r"""
    scipy_cblas_sgemm(101, 111, 111, (int){M}, (int){N}, (int){K}, 1.0f, {A}, (int){A.strides[0]},
                      {B}, (int){B.strides[0]}, 1.0f, {C}, (int){C.strides[0]});""",
    library="python:scipy_openblas32/lib/libscipy_openblas*",
    doc="OpenBLAS through cblas_sgemm, for matrices of any size.",
)
