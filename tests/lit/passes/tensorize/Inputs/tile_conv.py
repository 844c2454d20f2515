"""A row of pixels by a vector of channels in plain C, with strides inside of an index."""

from inarch.microkernel import Microkernel

MICROKERNEL = Microkernel(
    computes=(
        "for q in TW, v in NV, l in 4, r in R, s in S, c in IC: "
        "Y[q, v, l] += X[r, q * SW + s * DW, c] * W[r, s, c, v, l]"
    ),
    dtypes={"X": "f32", "W": "f32", "Y": "f32"},
    params={"TW": range(1, 4), "NV": (1, 2)},
    layout={"W": ("*", "*", "NV * 4", 4, 1), "Y": ("*", "*", 1)},
    inits=("accumulate", "zero"),
    cost=100,
    c=r"""
static void tile_conv(const float *X, const float *W, float *Y, int64_t X_0, int64_t X_1, int64_t X_2,
                      int64_t W_0, int64_t W_1, int64_t W_2, int64_t W_3, int64_t W_4, int64_t Y_0,
                      int64_t Y_1, int64_t Y_2, int64_t R, int64_t S, int64_t IC, int64_t SW, int64_t DW)
{
    (void)W_2; (void)W_3; (void)W_4; (void)Y_2;
    for (int64_t q = 0; q < TW; q++)
        for (int64_t v = 0; v < NV; v++)
            for (int64_t l = 0; l < 4; l++) {
                float sum = ZERO_INIT ? 0.0f : Y[q * Y_0 + v * Y_1 + l];
                for (int64_t r = 0; r < R; r++)
                    for (int64_t s = 0; s < S; s++)
                        for (int64_t c = 0; c < IC; c++)
                            sum += X[r * X_0 + (q * SW + s * DW) * X_1 + c * X_2]
                                   * W[r * W_0 + s * W_1 + c * (NV * 4) + v * 4 + l];
                Y[q * Y_0 + v * Y_1 + l] = sum;
            }
}
""",
)
