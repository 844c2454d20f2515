/* The primitives of vectors, and sqrt, for which C has no operator. */
//: inarch_ints_S

INLINE I inarch_ints_S(F x)
{
    return (I)x;
}
//: inarch_floats_S

INLINE F inarch_floats_S(I bits)
{
    return (F)bits;
}
//: inarch_select_S

/* a where the test is all ones, b where it is 0: gcc 12 makes three instructions of the mask. */
INLINE F inarch_select_S(I test, F a, F b)
{
BLEND    return (F)((test & (I)a) | (~test & (I)b));
}
//: inarch_atmost_S

/* x where it is less than the bound, the bound where it is more; NaN stays. */
INLINE F inarch_atmost_S(float bound, F x)
{
    const F limit = ALL(bound);
LEAST    return inarch_select_S(limit < x, limit, x);
}
//: inarch_atleast_S

/* x where it is more than the bound, the bound where it is less; NaN stays. */
INLINE F inarch_atleast_S(float bound, F x)
{
    const F limit = ALL(bound);
MOST    return inarch_select_S(limit > x, limit, x);
}
//: inarch_bounded_S

INLINE F inarch_bounded_S(float bound, F x)
{
    return inarch_atmost_S(bound, x);
}
//: inarch_size_S

INLINE F inarch_size_S(F x)
{
    return (F)((I)x & 0x7fffffff);
}
//: inarch_signed_S

INLINE F inarch_signed_S(F size, F sign)
{
    return (F)(((I)size & 0x7fffffff) | ((I)sign & (-0x7fffffff - 1)));
}
//: inarch_number_S

INLINE F inarch_number_S(I x)
{
    return __builtin_convertvector(x, F);
}
//: inarch_fma_S

INLINE F inarch_fma_S(F a, F b, F c)
{
FUSED}
//: inarch_sqrt_S

INLINE F inarch_sqrt_S(F x)
{
SQRT    F y = x;
    for (int lane = 0; lane < LANES; lane++) {
        y[lane] = __builtin_sqrtf(x[lane]);
    }
    return y;
}
