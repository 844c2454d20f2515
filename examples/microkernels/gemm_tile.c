/* inarch
computes = "for m in MR, n in NR, k in K: C[m, n] += A[m, k] * B[k, n]"
dtypes = {A = "f32", B = "f32", C = "f32"}
params = {MR = [1, 2, 4, 6], NR = [8, 16, 32]}
layout = {A = ["*", "*"], B = ["NR", 1], C = ["*", 1]}
doc = "A tile of C in registers, in plain C: compilers vectorise the loops over NR."
*/

void gemm_tile(const float *A, const float *B, float *C, int64_t A_0, int64_t A_1, int64_t B_0,
               int64_t B_1, int64_t C_0, int64_t C_1, int64_t K)
{
    float c[MR][NR];
    for (int m = 0; m < MR; m++)
        for (int n = 0; n < NR; n++)
            c[m][n] = C[m * C_0 + n];
    for (int64_t k = 0; k < K; k++)
        for (int m = 0; m < MR; m++)
            for (int n = 0; n < NR; n++)
                c[m][n] += A[m * A_0 + k * A_1] * B[k * NR + n];
    for (int m = 0; m < MR; m++)
        for (int n = 0; n < NR; n++)
            C[m * C_0 + n] = c[m][n];
    (void)B_0;
    (void)B_1;
    (void)C_1;
}
