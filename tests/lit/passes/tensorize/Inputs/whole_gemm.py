"""A whole matrix product of any size and strides, as a library would have it; its cost is unknown."""

from inarch.microkernel import Microkernel

MICROKERNEL = Microkernel(
    computes="for m in M, n in N, k in K: C[m, n] += A[m, k] * B[k, n]",
    dtypes={"A": "f32", "B": "f32", "C": "f32"},
    inits=("accumulate", "zero"),
    c=r"""
static void whole_gemm(const float *A, const float *B, float *C, int64_t A_0, int64_t A_1,
                       int64_t B_0, int64_t B_1, int64_t C_0, int64_t C_1, int64_t M, int64_t N,
                       int64_t K)
{
    for (int64_t m = 0; m < M; m++)
        for (int64_t n = 0; n < N; n++) {
            float sum = ZERO_INIT ? 0.0f : C[m * C_0 + n * C_1];
            for (int64_t k = 0; k < K; k++)
                sum += A[m * A_0 + k * A_1] * B[k * B_0 + n * B_1];
            C[m * C_0 + n * C_1] = sum;
        }
}
""",
)
