/* inarch
computes = "for m in MR, n in NR, k in K: C[m, n] += A[m, k] * B[k, n]"
dtypes = {A = "f32", B = "f32", C = "f32"}
params = {MR = "1..8", NR = [4, 8, 16]}
where = ["4 * NR <= VECTOR_BYTES"]
layout = {A = ["*", 1], B = ["*", 1], C = ["*", 1]}
doc = "A tile of C in registers, a vector for each row of it."
*/

void gemm_tile(const float *A, const float *B, float *C, int64_t A_0, int64_t A_1, int64_t B_0,
               int64_t B_1, int64_t C_0, int64_t C_1, int64_t K)
{
    typedef float row __attribute__((vector_size(4 * NR), aligned(4)));
    row c[MR];
    for (int m = 0; m < MR; m++)
        c[m] = *(const row *)(C + m * C_0);
    for (int64_t k = 0; k < K; k++) {
        row b = *(const row *)(B + k * B_0);
        for (int m = 0; m < MR; m++)
            c[m] += A[m * A_0 + k] * b;
    }
    for (int m = 0; m < MR; m++)
        *(row *)(C + m * C_0) = c[m];
    (void)A_1, (void)B_1, (void)C_1; /* 1, as layout demands */
}
