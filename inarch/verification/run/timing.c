/* What a call of a kernel takes, in cycles of this core: the least of several rounds, on operands that stay
 * in the caches. `timing.py` compiles it, starts it for one kernel, and reads what it prints.
 *
 *     timing LIBRARY BYTES...         one number an operand, in the order of the kernel's pointers
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { MOST = 32, LINE = 64, FILLED = 0x3C, STEPS = 40000 };
static const double ROUND_NS = 3e4, LEAST_NS = 1.5e6;
enum { LEAST_ROUNDS = 5, MOST_SECONDS = 20 };

typedef void run(void *const *pointers, const int64_t *steps, int64_t copies, int64_t calls);

/* Of this thread: what others do meanwhile does not count. */
static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
    return 1e9 * (double)at.tv_sec + (double)at.tv_nsec;
}

/* Nanoseconds of a cycle: additions, each of which waits for the one before. */
static double cycle(void) {
    int64_t x = 0;
    double start = now();
    for (int n = 0; n < STEPS / 4; n++) {
        x += 1; __asm__ volatile("" : "+r"(x)); x += 1; __asm__ volatile("" : "+r"(x));
        x += 1; __asm__ volatile("" : "+r"(x)); x += 1; __asm__ volatile("" : "+r"(x));
    }
    return (now() - start) / STEPS;
}

int main(int count, char **arguments) {
    if (count < 2 || count - 2 > MOST) return 2;
    struct rlimit core = {0, 0}, seconds = {MOST_SECONDS, MOST_SECONDS};
    setrlimit(RLIMIT_CORE, &core);
    setrlimit(RLIMIT_CPU, &seconds);
    void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    run *kernel = library ? (run *)dlsym(library, "run0") : NULL;
    if (!kernel) return 3;
    int64_t steps[MOST] = {0}, bytes = LINE;
    for (int i = 2; i < count; i++) {
        steps[i - 2] = (atoll(arguments[i]) + LINE - 1) / LINE * LINE;
        bytes += steps[i - 2];
    }
    /* One after the other: loads do not wait for stores whose addresses end in the same 12 bits. */
    char *memory = malloc((size_t)bytes);
    if (!memory) return 4;
    memset(memory, FILLED, (size_t)bytes); /* as f32 0.01: sums stay normal numbers */
    char *at = memory + (LINE - (intptr_t)memory % LINE) % LINE;
    void *pointers[MOST];
    for (int i = 2; i < count; i++) {
        pointers[i - 2] = at;
        at += steps[i - 2];
    }
    kernel(pointers, steps, 1, 1);
    double start = now();
    kernel(pointers, steps, 1, 1);
    double once = now() - start;
    int64_t calls = once < ROUND_NS ? (int64_t)(ROUND_NS / (once > 10 ? once : 10)) : 1;
    double best = 1e300, clock = 1e300, begun = now();
    for (int round = 0; round < LEAST_ROUNDS || now() - begun < LEAST_NS; round++) {
        double each = cycle();
        if (each < clock) clock = each;
        start = now();
        kernel(pointers, steps, 1, calls);
        each = (now() - start) / (double)calls;
        if (each < best) best = each;
    }
    printf("%.17g\n", best / clock);
    return 0;
}
