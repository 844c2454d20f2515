"""C that asks an x86-64 CPU for features: `bind` refuses before the first instruction that it lacks.

Where a feature is reported: Intel's Software Developer's Manual, volume 2, CPUID; which registers the
system must keep for it (XCR0): volume 1, 13.3. Both hold for AMD as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from string import Template

from inarch.backends.c.text import string

_AVX, _AVX512, _AMX = 0x6, 0xE6, 0x60000
_B, _C, _D = 1, 2, 3
"""EBX, ECX, EDX; EAX is 0."""

CPUID: dict[str, tuple[int, int, int, int, int]] = {
    "sse3": (1, 0, _C, 0, 0),
    "ssse3": (1, 0, _C, 9, 0),
    "fma": (1, 0, _C, 12, _AVX),
    "cx16": (1, 0, _C, 13, 0),
    "sse4.1": (1, 0, _C, 19, 0),
    "sse4.2": (1, 0, _C, 20, 0),
    "movbe": (1, 0, _C, 22, 0),
    "popcnt": (1, 0, _C, 23, 0),
    "avx": (1, 0, _C, 28, _AVX),
    "f16c": (1, 0, _C, 29, _AVX),
    "sahf": (0x80000001, 0, _C, 0, 0),
    "lzcnt": (0x80000001, 0, _C, 5, 0),
    "bmi": (7, 0, _B, 3, 0),
    "avx2": (7, 0, _B, 5, _AVX),
    "bmi2": (7, 0, _B, 8, 0),
    "avx512f": (7, 0, _B, 16, _AVX512),
    "avx512dq": (7, 0, _B, 17, _AVX512),
    "avx512ifma": (7, 0, _B, 21, _AVX512),
    "avx512cd": (7, 0, _B, 28, _AVX512),
    "avx512bw": (7, 0, _B, 30, _AVX512),
    "avx512vl": (7, 0, _B, 31, _AVX512),
    "avx512vbmi": (7, 0, _C, 1, _AVX512),
    "avx512vnni": (7, 0, _C, 11, _AVX512),
    "amx-bf16": (7, 0, _D, 22, _AMX),
    "avx512fp16": (7, 0, _D, 23, _AVX512),
    "amx-tile": (7, 0, _D, 24, _AMX),
    "amx-int8": (7, 0, _D, 25, _AMX),
    "avxvnni": (7, 1, 0, 4, _AVX),
    "avx512bf16": (7, 1, 0, 5, _AVX512),
}
"""Feature -> leaf, subleaf, register, bit, and the state that the system must keep."""

BASELINE = """
/* Of what runs before the CPU is known: compiled for any x86-64, whatever the rest is compiled for. */
#if defined(__x86_64__) && defined(__GNUC__)
#define INARCH_BASELINE \\
    __attribute__((target("no-sse3,no-avx,no-bmi,no-bmi2,no-lzcnt,no-movbe,no-popcnt")))
#else
#define INARCH_BASELINE
#endif
"""

_CHECK = """
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
"""


def cpu_check(features: Iterable[str], linkage: str) -> str:
    """C of `inarch_check_cpu`, which fails with code 5 and names what the CPU lacks.

    Empty where no CPUID bit tells of `features`: for `generic`, and for other architectures.
    """
    rows = [
        f"    {{{string(name)}, {leaf}u, {subleaf}, {word}, {bit}, {state}}},\n"
        for name in sorted(features)
        if name in CPUID
        for leaf, subleaf, word, bit, state in (CPUID[name],)
    ]
    return Template(_CHECK).substitute(rows="".join(rows), linkage=linkage) if rows else ""
