"""A product of i8 with sums in i32, two rows by four columns."""

from inarch.microkernel import Microkernel

MICROKERNEL = Microkernel(
    computes="for m in 2, n in 4, k in K: C[m, n] += i32(A[m, k]) * i32(B[k, n])",
    dtypes={"A": "i8", "B": "i8", "C": "i32"},
    inits=("zero", "accumulate"),
    c=r"""
static void int8_gemm(const int8_t *A, const int8_t *B, int32_t *C, int64_t A_0, int64_t A_1,
                      int64_t B_0, int64_t B_1, int64_t C_0, int64_t C_1, int64_t K)
{
    for (int64_t m = 0; m < 2; m++)
        for (int64_t n = 0; n < 4; n++) {
            int32_t sum = ZERO_INIT ? 0 : C[m * C_0 + n * C_1];
            for (int64_t k = 0; k < K; k++)
                sum += (int32_t)A[m * A_0 + k * A_1] * (int32_t)B[k * B_0 + n * B_1];
            C[m * C_0 + n * C_1] = sum;
        }
}
""",
)
