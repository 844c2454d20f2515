/* CRC-32 as zip has it, sixteen bytes at a step (Kounavis and Berry, "A systematic approach to building high
 * performance software-based CRC generators", 2005), or by products of an x86-64 CPU. */
#include "internal.h"

#include <pthread.h>
#include <string.h>

#define SLICES 16

static uint32_t table[SLICES][256];
static pthread_once_t is_made = PTHREAD_ONCE_INIT;

static void make_table(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc & 1) != 0 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
        }
        table[0][i] = crc;
    }
    for (int slice = 1; slice < SLICES; slice++) {
        for (uint32_t i = 0; i < 256; i++) {
            const uint32_t before = table[slice - 1][i];
            table[slice][i] = before >> 8 ^ table[0][before & 0xff];
        }
    }
}

/* Of eight bytes, the first of which is followed by `after` more in this step. */
static inline uint32_t eight(uint64_t word, int after)
{
    uint32_t crc = 0;
    for (int i = 0; i < 8; i++) {
        crc ^= table[after - i][word >> 8 * i & 0xff];
    }
    return crc;
}

static uint32_t by_table(uint32_t crc, const unsigned char *bytes, size_t count)
{
    for (; count >= SLICES; bytes += SLICES, count -= SLICES) {
        uint64_t word[2];
        memcpy(word, bytes, sizeof(word));
        crc = eight(word[0] ^ crc, 15) ^ eight(word[1], 7);
    }
    for (; count > 0; bytes++, count--) {
        crc = crc >> 8 ^ table[0][(crc ^ *bytes) & 0xff];
    }
    return crc;
}

#if defined(__x86_64__) && defined(__GNUC__)
#include <wmmintrin.h>

#define LANES 4

__attribute__((target("pclmul"))) static inline __m128i folded(__m128i sum, __m128i powers, __m128i next)
{
    const __m128i low = _mm_clmulepi64_si128(sum, powers, 0x00);
    return _mm_xor_si128(_mm_xor_si128(low, _mm_clmulepi64_si128(sum, powers, 0x11)), next);
}

/* Carry-less products fold 64 bytes a step into 16 with the same remainder (Gopal et al., "Fast CRC
 * computation for generic polynomials using PCLMULQDQ instruction", 2009, whose powers of x modulo the
 * polynomial these are). */
__attribute__((target("pclmul"))) static uint32_t by_products(uint32_t crc, const unsigned char **bytes,
                                                              size_t *count)
{
    const __m128i by_64 = _mm_set_epi64x(0x1c6e41596, 0x154442bd4);
    const __m128i by_16 = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
    const __m128i *at = (const __m128i *)(const void *)*bytes;
    __m128i sum[LANES];
    for (int i = 0; i < LANES; i++) {
        sum[i] = _mm_loadu_si128(at + i);
    }
    sum[0] = _mm_xor_si128(sum[0], _mm_cvtsi32_si128((int)crc));
    size_t left = *count - sizeof(sum);
    for (at += LANES; left >= sizeof(sum); at += LANES, left -= sizeof(sum)) {
        for (int i = 0; i < LANES; i++) {
            sum[i] = folded(sum[i], by_64, _mm_loadu_si128(at + i));
        }
    }
    for (int i = 1; i < LANES; i++) {
        sum[i] = folded(sum[i - 1], by_16, sum[i]);
    }
    unsigned char rest[16];
    memcpy(rest, &sum[LANES - 1], sizeof(rest));
    *bytes = (const unsigned char *)at;
    *count = left;
    return by_table(0, rest, sizeof(rest));
}
#endif

uint32_t inarch_rt_crc32(const unsigned char *bytes, size_t count)
{
    pthread_once(&is_made, make_table);
    uint32_t crc = 0xffffffffu;
#if defined(__x86_64__) && defined(__GNUC__)
    if (count >= 64 && __builtin_cpu_supports("pclmul")) { /* not taken: a CPU has the instruction, or has it not */
        crc = by_products(crc, &bytes, &count);
    }
#endif
    return ~by_table(crc, bytes, count);
}
