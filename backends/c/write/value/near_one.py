"""expm1 and log1p of f32 in C: exp and log where what they differ from 1, or are given beside it, counts.

Written as `elementary.py` writes its functions, and with its primitives; measured by the same test. At most
2 ulp at every magnitude. The coefficients of expm1 are fitted as there; of log1p they are those of log.
"""

from __future__ import annotations

NEAR_ONE = {
    "inarch_expm1_S": """
/* e^x - 1 = 2^n (e^r - 1) + (2^n - 1), n and r as of exp; 2^n - 1 is exact where it is not 2^n to f32. */
INLINE F inarch_expm1_S(F x)
{
    const F bounded = inarch_bounded_S(88.9f, x); /* above 128 ln 2 it is r that grows */
    /* n + 126 in the low bits, n from -26 to 128 */
    const F shifted = inarch_fma_S(bounded, ALL(1.44269504f), ALL(12583038.0f));
    const F n = shifted - 12583038.0f;
    const F r = inarch_fma_S(n, ALL(2.12194440e-4f), inarch_fma_S(n, ALL(-0.693359375f), x));
    F p = inarch_fma_S(r, ALL(0.0013882396f), ALL(0.008367181f));
    p = inarch_fma_S(p, r, ALL(0.041667223f));
    p = inarch_fma_S(p, r, ALL(0.16666539f));
    p = inarch_fma_S(p, r, ALL(0.49999997f));
    p = inarch_fma_S(p, r * r, r);
    const F half = inarch_floats_S((I)((U)inarch_ints_S(shifted) << 23)); /* 2^(n - 1) */
    const F y = inarch_fma_S(p, half, half - 0.5f) * 2.0f;
    const F z = inarch_select_S(x < -18.0f, ALL(-1.0f), y); /* NaN stays */
    return inarch_select_S(inarch_size_S(x) < 2.98023224e-08f, x, z); /* 2^-25: so -0 stays */
}
""",
    "inarch_log1p_S": """
/* log u + c / u, where u = 2^e (1 + f) is 1 + x rounded, c is what is lost, and 1 / (1 + f) near 1 - f. */
INLINE F inarch_log1p_S(F x)
{
    const F u = x + 1.0f;
    const F c = x - (u - 1.0f); /* exact where it counts */
    const U shifted = (U)inarch_ints_S(u) - 0x3f3504f3u; /* as of log */
    const I exponent = (I)shifted >> 23;
    const F f = inarch_floats_S((I)((shifted & 0x007fffffu) + 0x3f3504f3u)) - 1.0f;
    const F e = inarch_number_S(exponent);
    const F scale = inarch_floats_S((I)((128u - (U)exponent) << 23)); /* 2^(1 - e), and 0 where e is 128 */
    const F tail = inarch_fma_S(c * scale, 0.5f - 0.5f * f, inarch_logtail_S(f, e));
    const F y = inarch_fma_S(e, ALL(0.693359375f), f + tail);
    const F positive = inarch_select_S(u < __builtin_inff(), y, u); /* +inf and NaN */
    const F finite = inarch_select_S(u == 0.0f, ALL(-__builtin_inff()), positive);
    const F real = inarch_select_S(u < 0.0f, ALL(__builtin_nanf("")), finite);
    return inarch_select_S(x == 0.0f, x, real); /* -0 stays */
}
""",
}
"""To be spelled with `elementary.py`'s words, and after its functions."""
