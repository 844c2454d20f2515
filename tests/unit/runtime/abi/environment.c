/* Calls the program of test_environment.py from threads whose floating-point environment is another one. Prints what
   differs from a call in the default environment by one thread. The first word: in which the pool is started. */
#define _GNU_SOURCE
#include <fenv.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1 << 14, OUTPUTS = 4, CALLS = 3 };

typedef void (*inarch_task)(void *context, int64_t begin, int64_t end, int32_t part);
typedef struct {
    void (*run)(void *self, int32_t threads, int64_t count, inarch_task task, void *context);
    void *self;
} inarch_pool;

int32_t env_main_run(void *const *buffers, const void *weights, void *workspace);
int32_t env_set_threads(int32_t threads);
const inarch_pool *env_pool(const inarch_pool *use);

static float x[N], t[N], expected[OUTPUTS][N], found[OUTPUTS][N];
static unsigned char workspace[1 << 20] __attribute__((aligned(64)));
static int shared;

#if defined(__x86_64__)
enum { FLUSH = 0x8040, DEFAULT = 0x1f80, FLAGS = 0x3f };

static uint64_t control(void)
{
    return __builtin_ia32_stmxcsr();
}

static void set_control(uint64_t value)
{
    __builtin_ia32_ldmxcsr((uint32_t)value);
}
#else
enum { FLUSH = 1 << 24, DEFAULT = 0, FLAGS = 0 };

static uint64_t control(void)
{
    uint64_t value;
    __asm__ volatile("mrs %0, fpcr" : "=r"(value));
    return value;
}

static void set_control(uint64_t value)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(value) : "memory");
}
#endif

static void set(const char *name)
{
    if (strcmp(name, "flush") == 0) {
        set_control(control() | FLUSH);
    } else if (strcmp(name, "upward") == 0) {
        fesetround(FE_UPWARD);
    } else if (strcmp(name, "downward") == 0) {
        fesetround(FE_DOWNWARD);
    } else if (strcmp(name, "to-zero") == 0) {
        fesetround(FE_TOWARDZERO);
    } else if (strcmp(name, "traps") == 0) {
        feclearexcept(FE_ALL_EXCEPT);
        feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW);
    }
}

static void call(float (*y)[N])
{
    void *const buffers[] = {x, t, y[0], y[1], y[2], y[3]};
    if (env_main_run(buffers, NULL, workspace) != 0) {
        abort();
    }
}

/* An application's pool, of which each part runs in an environment of its own. */
static void run_flushed(void *self, int32_t threads, int64_t count, inarch_task task, void *context)
{
    (void)threads;
    for (int64_t at = 0; at < count; at++, shared++) {
        set((const char *)self);
        const uint64_t before = control();
        task(context, at, at + 1, 0);
        if (control() != before) {
            puts("a part leaves another environment");
        }
        set_control(DEFAULT);
    }
}

static void try_all(const char *who)
{
    static const char *const names[] = {"default", "flush", "upward", "downward", "to-zero", "traps"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        for (int32_t threads = 1; threads < 3; threads++) {
            env_set_threads(threads);
            for (int iteration = 0; iteration < CALLS; iteration++) {
                set(names[i]);
                const uint64_t before = control();
                call(found);
                const uint64_t after = control();
                set_control(DEFAULT);
                const uint64_t ignored = i == 0 ? FLAGS : 0;
                if ((before & ~ignored) != (after & ~ignored)) {
                    printf("%s, %s: %llx is %llx afterwards\n", who, names[i], (unsigned long long)before,
                           (unsigned long long)after);
                    return;
                }
                if (memcmp(found, expected, sizeof(found)) != 0) {
                    printf("%s, %s, threads %d: other bits\n", who, names[i], (int)threads);
                    return;
                }
            }
        }
    }
}

static void *start(void *name)
{
    set((const char *)name);
    call(found);
    return NULL;
}

int main(int count, char **words)
{
    pthread_t thread;
    for (int k = 0; k < N; k++) {
        x[k] = (float)(k % 2001 - 1000) / 90.f; /* log of less than 0, of 0; exp of more than there is, times 9 */
        t[k] = 1e-38f;
    }
    env_set_threads(2);
    pthread_create(&thread, NULL, start, words[count - 1]); /* who starts the pool */
    pthread_join(thread, NULL);
    env_set_threads(1);
    call(expected);
    try_all("own pool");
    static const inarch_pool own = {run_flushed, "flush"}, up = {run_flushed, "upward"};
    env_pool(&own);
    try_all("a pool that flushes");
    env_pool(&up);
    try_all("a pool that rounds upward");
    printf("done, %s\n", shared > 0 ? "parts were shared" : "nothing was shared");
    return 0;
}
