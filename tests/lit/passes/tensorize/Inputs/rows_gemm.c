/* inarch
computes = "for m in M, n in N, k in K: C[m, n] += A[m, k] * B[k, n]"
dtypes = {A = "f32", B = "f32", C = "f32"}
layout = {A = [">= K", 1], B = [">= N", 1], C = [">= N", 1]}
doc = "A whole matrix product of rows that do not overlap, as a BLAS has it."
*/

void rows_gemm(const float *A, const float *B, float *C, int64_t A_0, int64_t A_1, int64_t B_0,
               int64_t B_1, int64_t C_0, int64_t C_1, int64_t M, int64_t N, int64_t K)
{
    for (int64_t m = 0; m < M; m++)
        for (int64_t n = 0; n < N; n++)
            for (int64_t k = 0; k < K; k++)
                C[m * C_0 + n] += A[m * A_0 + k] * B[k * B_0 + n];
    (void)A_1, (void)B_1, (void)C_1;
}
