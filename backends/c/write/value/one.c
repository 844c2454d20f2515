/* The primitives of one number. */
//: inarch_ints_S

static inline I inarch_ints_S(F x)
{
    I bits;
    __builtin_memcpy(&bits, &x, sizeof(bits));
    return bits;
}
//: inarch_floats_S

static inline F inarch_floats_S(I bits)
{
    F x;
    __builtin_memcpy(&x, &bits, sizeof(x));
    return x;
}
//: inarch_select_S

static inline F inarch_select_S(I test, F a, F b)
{
    return test ? a : b;
}
//: inarch_atmost_S

/* x where it is less than the bound, the bound where it is more; NaN stays. */
static inline F inarch_atmost_S(float bound, F x)
{
    return x > bound ? bound : x;
}
//: inarch_bounded_S

/* The same of a positive bound, as integers: NaN, which may be the bound, else takes a comparison more. */
static inline F inarch_bounded_S(float bound, F x)
{
    const I bits = inarch_ints_S(x), limit = inarch_ints_S(bound);
    return inarch_floats_S(bits < limit ? bits : limit);
}
//: inarch_size_S

static inline F inarch_size_S(F x)
{
    return __builtin_fabsf(x);
}
//: inarch_signed_S

static inline F inarch_signed_S(F size, F sign)
{
    return __builtin_copysignf(size, sign);
}
//: inarch_number_S

static inline F inarch_number_S(I x)
{
    return (float)x;
}
