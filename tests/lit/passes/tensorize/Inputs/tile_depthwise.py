"""One row of a depthwise convolution in plain C, eight channels at a time."""

from inarch.microkernel import Microkernel

MICROKERNEL = Microkernel(
    computes="for q in Q, l in 8, r in R, s in S: Y[q, l] += X[q, r, s, l] * W[r, s, l]",
    dtypes={"X": "f32", "W": "f32", "Y": "f32"},
    layout={"X": ("*", "*", "*", 1), "W": ("*", "*", 1), "Y": ("*", 1)},
    cost=100,
    c=r"""
static void tile_depthwise(const float *X, const float *W, float *Y, int64_t X_0, int64_t X_1,
                           int64_t X_2, int64_t X_3, int64_t W_0, int64_t W_1, int64_t W_2,
                           int64_t Y_0, int64_t Y_1, int64_t Q, int64_t R, int64_t S)
{
    (void)X_3; (void)W_2; (void)Y_1;
    for (int64_t q = 0; q < Q; q++)
        for (int64_t r = 0; r < R; r++)
            for (int64_t s = 0; s < S; s++)
                for (int64_t l = 0; l < 8; l++)
                    Y[q * Y_0 + l] += X[q * X_0 + r * X_1 + s * X_2 + l] * W[r * W_0 + s * W_1 + l];
}
""",
)
