"""A tile of a matrix product that sums so many terms, and whose result begins at a whole line."""

from inarch.microkernel import Instance, Microkernel


def _c(instance: Instance) -> str:
    begin = "0.0f" if instance.init == "zero" else "C[m * C_0 + n]"
    return f"""
static void {instance.symbol}(const float *A, const float *B, float *C, int64_t A_0, int64_t A_1,
                      int64_t B_0, int64_t B_1, int64_t B_2, int64_t C_0, int64_t C_1, int64_t C_2, int64_t V)
{{
    (void)B_1; (void)B_2; (void)C_1; (void)C_2;
    for (int64_t m = 0; m < 3; m++)
        for (int64_t n = 0; n < 8 * V; n++) {{
            float sum = {begin};
            for (int64_t k = 0; k < {instance.params["KC"]}; k++)
                sum += A[m * A_0 + k * A_1] * B[k * B_0 + n];
            C[m * C_0 + n] = sum;
        }}
}}
"""


MICROKERNEL = Microkernel(
    computes="for m in 3, v in V, l in 8, k in KC: C[m, v, l] += A[m, k] * B[k, v, l]",
    dtypes={"A": "f32", "B": "f32", "C": "f32"},
    params={"KC": (4, 8)},
    layout={"B": ("*", 8, 1), "C": ("*", 8, 1)},
    align={"C": 64},
    inits=("zero", "accumulate"),
    cost=100.0,
    generate=_c,
)
