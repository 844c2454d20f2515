"""A window's maximum for up to four outputs, in f64; it goes on from what Y holds."""

from inarch.microkernel import Microkernel

MICROKERNEL = Microkernel(
    computes="for i in T, r in R: Y[i] max= X[i, r]",
    dtypes={"X": "f64", "Y": "f64"},
    params={"T": (1, 2, 4)},
    cost=10,
    c=r"""
static void tile_max(const double *X, double *Y, int64_t X_0, int64_t X_1, int64_t Y_0, int64_t R)
{
    for (int64_t i = 0; i < T; i++)
        for (int64_t r = 0; r < R; r++) {
            double x = X[i * X_0 + r * X_1];
            Y[i * Y_0] = Y[i * Y_0] >= x || Y[i * Y_0] != Y[i * Y_0] ? Y[i * Y_0] : x;
        }
}
""",
)
