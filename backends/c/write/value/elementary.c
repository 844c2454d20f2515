/* Functions of f32 in terms of primitives, and each of those before it: `F`, `I` and `U` are a float and the
   integers of its size, or vectors of them; `ALL` is a number in all lanes. expm1 and log1p are exp and log where
   what they differ from 1, or are given beside it, counts: at most 2 ulp at every magnitude; the coefficients of
   expm1 are fitted as those of exp, of log1p they are those of log. */
//: inarch_exp_S

/* e^x = 2^n e^r with n = round(x / ln 2), |r| <= ln(2) / 2. At most 2 ulp, denormal results included. */
INLINE F inarch_exp_S(F x)
{
    /* Above 128 ln 2 it is r that grows, from x itself, and the result is infinite. */
    const F bounded = inarch_bounded_S(88.9f, x);
    const F shifted = inarch_fma_S(bounded, ALL(1.44269504f), ALL(12583166.0f)); /* n + 254 in the low bits */
    const U bits = (U)inarch_ints_S(shifted);
${exp_rest}    /* 2^n in two factors, (n + 254) >> 1 and the rest in their exponents: n reaches -150 and 128. */
    const U first = bits << 22 & 0xff800000u;
    const U second = (bits << 23) - first;
    const F y = p * inarch_floats_S((I)first) * inarch_floats_S((I)second);
    return inarch_select_S(x < -104.0f, ALL(0.0f), y); /* NaN stays */
}
//: inarch_expnear_S

/* e^x of |x| <= 80, where 2^n is one factor. At most 2 ulp. */
INLINE F inarch_expnear_S(F x)
{
    const F shifted = inarch_fma_S(x, ALL(1.44269504f), ALL(12583039.0f)); /* n + 127 in the low bits */
${near_rest}    return p * inarch_floats_S((I)((U)inarch_ints_S(shifted) << 23));
}
//: inarch_logtail_S

/* log (1 + f) + e ln 2 without f and the first digits of e ln 2, of f in [sqrt(1/2) - 1, sqrt(2) - 1). */
INLINE F inarch_logtail_S(F f, F e)
{
    F p = inarch_fma_S(f, ALL(0.0674664006f), ALL(-0.116756521f));
    p = inarch_fma_S(p, f, ALL(0.11888162f));
    p = inarch_fma_S(p, f, ALL(-0.124055892f));
    p = inarch_fma_S(p, f, ALL(0.142195523f));
    p = inarch_fma_S(p, f, ALL(-0.166679963f));
    p = inarch_fma_S(p, f, ALL(0.200021192f));
    p = inarch_fma_S(p, f, ALL(-0.250000089f));
    p = inarch_fma_S(p, f, ALL(0.333333135f));
    const F s = f * f;
    /* The product with 0.5 is exact. */
    return inarch_fma_S(p * f, s, inarch_fma_S(e, ALL(-0.00021219254f), -0.5f * s));
}
//: inarch_log_S

/* log x = e ln 2 + log m with m in [sqrt(1/2), sqrt(2)). At most 2 ulp, denormal x included. */
INLINE F inarch_log_S(F x)
{
    const F normal = inarch_select_S(x < 1.17549435e-38f, x * 33554432.0f, x); /* 2^25 */
    const F less = inarch_select_S(x < 1.17549435e-38f, ALL(25.0f), ALL(0.0f));
    const U shifted = (U)inarch_ints_S(normal) - 0x3f3504f3u; /* sqrt(1/2): the exponent of m is 0 or -1 */
    const U mantissa = (shifted & 0x007fffffu) + 0x3f3504f3u;
    const F f = inarch_floats_S((I)mantissa) - 1.0f;
    const F e = inarch_number_S((I)shifted >> 23) - less;
    const F y = inarch_fma_S(e, ALL(0.693359375f), f + inarch_logtail_S(f, e));
    const F positive = inarch_select_S(x < __builtin_inff(), y, x); /* +inf and NaN */
    const F finite = inarch_select_S(x == 0.0f, ALL(-__builtin_inff()), positive);
    return inarch_select_S(x < 0.0f, ALL(__builtin_nanf("")), finite);
}
//: inarch_tanh_S

/* An odd polynomial below 0.625, 1 - 2 / (e^2|x| + 1) above. At most 2 ulp. */
INLINE F inarch_tanh_S(F x)
{
    const F a = inarch_size_S(x);
    const F z = x * x;
    F p = inarch_fma_S(z, ALL(-0.00570498733f), ALL(0.020639088f));
    p = inarch_fma_S(p, z, ALL(-0.0537397154f));
    p = inarch_fma_S(p, z, ALL(0.133314416f));
    p = inarch_fma_S(p, z, ALL(-0.333332807f));
    const F small = inarch_fma_S(p * z, x, x);
    /* 1 from 9.1 on */
    const F large = 1.0f - 2.0f / (inarch_expnear_S(inarch_atmost_S(20.0f, a + a)) + 1.0f);
    return inarch_signed_S(inarch_select_S(a < 0.625f, small, large), x); /* -0 stays */
}
//: inarch_erf_S

/* An odd polynomial below 0.921875, 1 - e^-q(|x|) above. At most 2 ulp. */
INLINE F inarch_erf_S(F x)
{
    const F a = inarch_size_S(x);
    const F c = inarch_atmost_S(3.95f, a); /* erf is 1 from 3.92 on */
    const F z = c * c;
    F p = inarch_fma_S(z, ALL(8.37012776e-05f), ALL(-0.000814271218f));
    p = inarch_fma_S(p, z, ALL(0.00520103332f));
    p = inarch_fma_S(p, z, ALL(-0.0268593989f));
    p = inarch_fma_S(p, z, ALL(0.112836957f));
    p = inarch_fma_S(p, z, ALL(-0.376126349f));
    p = inarch_fma_S(p, z, ALL(0.128379166f));
    const F small = inarch_fma_S(p, x, x);
    F q = inarch_fma_S(c, ALL(2.11185034e-05f), ALL(-0.000434733782f));
    q = inarch_fma_S(q, c, ALL(0.00417237682f));
    q = inarch_fma_S(q, c, ALL(-0.0251228884f));
    q = inarch_fma_S(q, c, ALL(0.108285442f));
    q = inarch_fma_S(q, c, ALL(0.633342028f));
    q = inarch_fma_S(q, c, ALL(1.12951732f));
    q = inarch_fma_S(q, c, ALL(-0.000175184701f));
    const F large = inarch_signed_S(1.0f - inarch_expnear_S(-q), x);
    return inarch_select_S(a < 0.921875f, small, large);
}
//: inarch_expm1_S

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
//: inarch_log1p_S

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
