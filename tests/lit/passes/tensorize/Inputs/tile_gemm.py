"""A tile of a matrix product in plain C: any strides, exact sizes for remainders."""

from inarch.microkernel import Instance, Microkernel


def _cycles(instance: Instance) -> float:
    rows, columns = instance.params["MR"], instance.params["NR"]
    return instance.sizes.get("K", 1) * (rows * columns / 4 + 2) + 20


MICROKERNEL = Microkernel(
    computes="for m in MR, n in NR, k in K: C[m, n] += A[m, k] * B[k, n]",
    dtypes={"A": "f32", "B": "f32", "C": "f32"},
    params={"MR": range(1, 5), "NR": (8,)},
    layout={"B": ("NR", 1), "C": ("*", 1)},
    cost=_cycles,
    c=r"""
static void tile_gemm(const float *A, const float *B, float *C, int64_t A_0, int64_t A_1,
                      int64_t B_0, int64_t B_1, int64_t C_0, int64_t C_1, int64_t K)
{
    (void)B_0; (void)B_1; (void)C_1;
    for (int64_t m = 0; m < MR; m++)
        for (int64_t n = 0; n < NR; n++) {
            float sum = C[m * C_0 + n];
            for (int64_t k = 0; k < K; k++)
                sum += A[m * A_0 + k * A_1] * B[k * NR + n];
            C[m * C_0 + n] = sum;
        }
}
""",
)
