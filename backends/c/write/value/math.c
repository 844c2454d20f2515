/* Functions of one number, of any dtype: `kind` is C's name of it, `dtype` ours. */
//: ordered

static inline ${kind} inarch_${name}_${dtype}(${kind} a, ${kind} b)
{
    return ((a ${sign} b) | (a != a)) ? a : b; /* NaN when either is */
}
//: bounded

static inline ${kind} inarch_${name}_${dtype}(${kind} x, ${kind} bound)
{
    return x ${sign} bound ? bound : x; /* NaN stays, and a zero its sign; the bound is a number */
}
//: divide

static inline ${kind} inarch_${name}_${dtype}(${kind} a, ${kind} b)
{
    return b == 0 ? 0 : ${by_minus_one}(${kind})(a ${operator} b); /* never traps */
}
//: round_divide

static inline ${kind} inarch_${name}_${dtype}(${kind} a, ${kind} b)
{
    return (${kind})(${adjust});
}
//: convert_narrow

static inline int32_t inarch_${source}_to_${dtype}(${number} x)
{
    const ${number} some = ${zero} ? x : 0; /* NaN is 0 */
    const ${number} most = some > ${top} ? ${top} : some;
    return (int32_t)(most < ${low} ? ${low} : most); /* saturates */
}
//: convert

static inline ${kind} inarch_${source}_to_${dtype}(${number} x)
{
    if (${zero}) {
        return 0;
    }
    return x >= ${high} ? ${most} : x <= ${low} ? ${least} : (${kind})x; /* saturates */
}
//: convert_narrow_unsigned

static inline int32_t inarch_${source}_to_${dtype}(${number} x)
{
    int32_t bits;
    ${number} most;
    __builtin_memcpy(&bits, &x, sizeof bits);
    bits &= -(x >= 1.0f); /* NaN is 0 */
    bits = bits < ${top} ? bits : ${top}; /* saturates */
    __builtin_memcpy(&most, &bits, sizeof most);
    return (int32_t)most;
}
//: integer_power

static inline ${kind} inarch_ipow_${dtype}(${kind} base, ${kind} exponent)
{
    if (exponent < 0) {
        return (${kind})(base == 1 ? 1 : base == -1 ? (exponent & 1 ? -1 : 1) : 0);
    }
    ${wide} result = 1, factor = (${wide})base;
    for (${kind} n = exponent; n > 0; n = (${kind})(n >> 1)) {
        result = n & 1 ? (${wide})(result * factor) : result;
        factor = (${wide})(factor * factor);
    }
    return (${kind})result;
}
//: bitcast

static inline ${kind} inarch_bits_${source}_to_${dtype}(${number} x)
{
    ${kind} result;
    __builtin_memcpy(&result, &x, sizeof(result));
    return result;
}
//: count_bits

static inline ${kind} inarch_${name}_${dtype}(${kind} x)
{
    return (${kind})(${count});
}
//: pick

/* What an index names of size elements: a negative one counts from the end, any other is the nearest. */
static inline int64_t inarch_pick(int64_t index, int64_t size)
{
    const int64_t counted = index < 0 ? index + size : index;
    return counted < 0 ? 0 : counted < size ? counted : size - 1;
}
//: place

/* Which of size elements an index names: a negative one counts from the end; -1 where it names none. */
static inline int64_t inarch_place(int64_t index, int64_t size)
{
    const int64_t place = index < 0 ? index + size : index;
    return place < 0 || place >= size ? -1 : place;
}
//: square_root_power

static inline ${kind} inarch_pow_half_${dtype}(${kind} x)
{
    return x == -${infinity} ? ${infinity} : sqrt${suffix}(x + 0.0${suffix});
}
