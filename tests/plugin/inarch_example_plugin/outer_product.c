/* inarch
computes = "for m in M, n in N: C[m, n] += A[m] * B[n]"
dtypes = {A = "f32", B = "f32", C = "f32"}
params = {M = [1, 2, 4]}
doc = "Rows of an outer product; N is given at the call."
*/
void outer_product(const float *A, const float *B, float *C, int64_t A_0, int64_t B_0, int64_t C_0,
                   int64_t C_1, int64_t N) {
    for (int m = 0; m < M; m++)
        for (int64_t n = 0; n < N; n++) C[m * C_0 + n * C_1] += A[m * A_0] * B[n * B_0];
}
