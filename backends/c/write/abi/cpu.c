/* What asks an x86-64 CPU for features, and what runs before that is known. */
//: BASELINE

/* Of what runs before the CPU is known: compiled for any x86-64, whatever the rest is compiled for. */
#if defined(__x86_64__) && defined(__GNUC__)
#define INARCH_BASELINE \
    __attribute__((target("no-sse3,no-avx,no-bmi,no-bmi2,no-lzcnt,no-movbe,no-popcnt")))
#else
#define INARCH_BASELINE
#endif
//: CHECK

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>

typedef struct {
    const char *name;
    uint32_t leaf, subleaf, word, bit, state;
} inarch_feature;

/* What the code was compiled for. */
static const inarch_feature inarch_features[] = {
${rows}};

INARCH_BASELINE ${linkage}int32_t inarch_check_cpu(void)
{
    char missing[400];
    size_t used = 0;
    uint32_t word[4] = {0, 0, 0, 0}, state = 0;
    __cpuid_count(1, 0, word[0], word[1], word[2], word[3]);
    if ((word[2] >> 27 & 1) != 0) {
        uint32_t high;
        __asm__ volatile("xgetbv" : "=a"(state), "=d"(high) : "c"(0));
        (void)high;
    }
    for (size_t i = 0; i < sizeof(inarch_features) / sizeof(inarch_features[0]); i++) {
        const inarch_feature *one = &inarch_features[i];
        __cpuid_count(one->leaf & 0x80000000u, 0, word[0], word[1], word[2], word[3]);
        if (word[0] >= one->leaf) {
            __cpuid_count(one->leaf, one->subleaf, word[0], word[1], word[2], word[3]);
            if ((word[one->word] >> one->bit & 1) != 0 && (state & one->state) == one->state) {
                continue;
            }
        }
        if (used + 32 < sizeof(missing)) {
            const char *comma = used == 0 ? "" : ", ";
            const int more = snprintf(missing + used, sizeof(missing) - used, "%s%s", comma, one->name);
            used += (size_t)more;
        }
    }
    if (used == 0) {
        return 0;
    }
    return inarch_fail(5, "needs %s, which this CPU lacks", missing);
}
#else
${linkage}int32_t inarch_check_cpu(void)
{
    return 0;
}
#endif
//: NO_CHECK

INARCH_BASELINE ${linkage}int32_t inarch_check_cpu(void)
{
    return 0;
}
