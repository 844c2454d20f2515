/* What one core can do at most: its clock, and how fast it reads memory. */
#include <stdint.h>
typedef float vec __attribute__((vector_size(${bytes})));
typedef float mem __attribute__((vector_size(${bytes}), aligned(4), may_alias));
#define EXPORT __attribute__((visibility("default")))

/* One addition a cycle, each waiting for the one before. */
EXPORT int64_t clock_cycles(int64_t rounds)
{
    int64_t x = 0;
    for (int64_t n = 0; n < rounds; n++) {
        x += 1; __asm__ volatile("" : "+r"(x)); x += 1; __asm__ volatile("" : "+r"(x));
        x += 1; __asm__ volatile("" : "+r"(x)); x += 1; __asm__ volatile("" : "+r"(x));
    }
    return x;
}

EXPORT float read_all(const float *from, int64_t floats, int64_t passes)
{
    vec a = {0}, b = {0}, c = {0}, d = {0};
    const int64_t step = ${lanes};
    for (int64_t pass = 0; pass < passes; pass++) {
        for (int64_t n = 0; n + 4 * step <= floats; n += 4 * step) {
            a += *(const mem *)(from + n);
            b += *(const mem *)(from + n + step);
            c += *(const mem *)(from + n + 2 * step);
            d += *(const mem *)(from + n + 3 * step);
        }
        __asm__ volatile("" ::: "memory");
    }
    a += b + c + d;
    return a[0];
}
