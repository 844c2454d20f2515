/* What `inarch bench` measures with: timed calls, the arithmetic peak, and the bandwidth of a triad.
 *
 * Compiled for the target that is measured, VECTOR_BYTES and VECTOR_REGISTERS being those of its vectors. Times are
 * nanoseconds: CPU time of the calling thread, or where several THREADS share loops, by the clock. */
#define _POSIX_C_SOURCE 199309L
#include <stdint.h>
#include <time.h>

#define PUBLIC __attribute__((visibility("default")))

typedef float vector __attribute__((vector_size(VECTOR_BYTES)));
typedef float loose __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
typedef int32_t (*entry)(void *const *buffers, const void *weights, void *workspace);

enum { LANES = VECTOR_BYTES / 4 };

static double now(void) {
  struct timespec time;
  clock_gettime(THREADS > 1 ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

/* Nanoseconds a call of `function`, over `count` calls; negative when one fails. */
PUBLIC double bench_call(void *function, void *const *buffers, const void *weights, void *workspace,
                         int64_t count) {
  entry call = (entry)function;
  int32_t failed = call(buffers, weights, workspace);
  double start = now();
  for (int64_t i = 0; i < count; ++i)
    failed |= call(buffers, weights, workspace);
  double elapsed = now() - start;
  return failed ? -1.0 : elapsed / (double)count;
}

/* The same of a function that checks its `n` arguments, DLTensors at `args`. */
PUBLIC double bench_checked(void *function, void *args, int32_t n, int64_t count) {
  int32_t (*call)(void *args, int32_t n) = (int32_t (*)(void *, int32_t))function;
  int32_t failed = call(args, n);
  double start = now();
  for (int64_t i = 0; i < count; ++i)
    failed |= call(args, n);
  double elapsed = now() - start;
  return failed ? -1.0 : elapsed / (double)count;
}

/* Calls each of `functions` once, in order; `elapsed` gets the nanoseconds of each. 0 is success. */
PUBLIC int32_t bench_sequence(void *const *functions, int64_t count, void *const *buffers,
                              const void *weights, void *workspace, double *elapsed) {
  int32_t failed = 0;
  for (int64_t i = 0; i < count; ++i) {
    entry call = (entry)functions[i];
    double start = now();
    failed |= call(buffers, weights, workspace);
    elapsed[i] = now() - start;
  }
  return failed;
}

/* Nanoseconds of `count` times CHAINS multiply-adds of vectors that do not depend on each other: as many
 * as the registers hold, which is more than any core has in flight (latency times units, 8 to 16). The
 * factor pulls every sum to 2, so no number becomes denormal or infinite. */
#define EACH12(f) f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8) f(9) f(10) f(11)
#if VECTOR_REGISTERS >= 32
#define CHAINS 24
#define EACH(f) EACH12(f) f(12) f(13) f(14) f(15) f(16) f(17) f(18) f(19) f(20) f(21) f(22) f(23)
#else
#define CHAINS 12
#define EACH(f) EACH12(f)
#endif

PUBLIC double bench_peak(int64_t count, float *sink) {
  vector factor, term;
  for (int i = 0; i < LANES; ++i) {
    factor[i] = 0.5f + sink[0];
    term[i] = 1.0f + sink[0];
  }
#define DECLARE(n) vector sum##n = term * (float)(n + 1);
#define UPDATE(n) sum##n = sum##n * factor + term;
  EACH(DECLARE)
  double start = now();
  for (int64_t i = 0; i < count; ++i) {
    EACH(UPDATE)
  }
  double elapsed = now() - start;
  vector total = term;
#define ADD(n) total += sum##n;
  EACH(ADD)
  for (int i = 0; i < LANES; ++i)
    sink[1] += total[i];
  return elapsed;
}

/* Floating-point operations of one round of `bench_peak`. */
PUBLIC int64_t bench_peak_flops(void) { return (int64_t)CHAINS * LANES * 2; }

/* Nanoseconds of `rounds` times a[i] = b[i] + s * c[i], n a multiple of the lanes. */
PUBLIC double bench_triad(float *a, const float *b, const float *c, float s, int64_t n,
                          int64_t rounds) {
  double start = now();
  for (int64_t round = 0; round < rounds; ++round) {
    for (int64_t i = 0; i < n; i += LANES)
      *(loose *)(a + i) = *(const loose *)(b + i) + s * *(const loose *)(c + i);
    __asm__ volatile("" : : "r"(a) : "memory"); /* the rounds are all to be done */
  }
  return now() - start;
}
