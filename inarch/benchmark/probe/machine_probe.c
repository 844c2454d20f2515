/* What `inarch machine --measure` measures with. Compiled for each width of vectors, VECTOR_BYTES.
 *
 * Each function does its step `count` times and gives the nanoseconds of all, CPU time of the calling thread. What
 * compilers could leave out is volatile or passes through an empty asm. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define PUBLIC __attribute__((visibility("default")))
#define EACH8(f) f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7)
#define EACH16(f) EACH8(f) f(8) f(9) f(10) f(11) f(12) f(13) f(14) f(15)
#define CHAINS 8
#define STEPS 16

typedef float vector __attribute__((vector_size(VECTOR_BYTES)));

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

/* STEPS additions that wait for each other: cycles. */
PUBLIC double probe_cycles(int64_t count) {
  uint64_t sum = (uint64_t)count, more = sum | 1;
  double start = now();
  for (int64_t i = 0; i < count; ++i) {
#define ADD(n) sum += more; __asm__ volatile("" : "+r"(sum));
    EACH16(ADD)
  }
  return now() - start;
}

/* STEPS multiply-adds that wait for each other. */
PUBLIC double probe_fma_latency(int64_t count, volatile float *sink) {
  vector factor, sum, term;
  for (int i = 0; i < VECTOR_BYTES / 4; ++i)
    factor[i] = 0.5f + sink[0], term[i] = 1.0f + sink[0];
  sum = term;
  double start = now();
  for (int64_t i = 0; i < count; ++i) {
#define NEXT(n) sum = sum * factor + term;
    EACH16(NEXT)
  }
  double elapsed = now() - start;
  sink[1] = sum[0];
  return elapsed;
}

/* CHAINS multiply-adds that do not. */
PUBLIC double probe_fma(int64_t count, volatile float *sink) {
  vector factor, term;
  for (int i = 0; i < VECTOR_BYTES / 4; ++i)
    factor[i] = 0.5f + sink[0], term[i] = 1.0f + sink[0];
#define DECLARE(n) vector sum##n = term * (float)(n + 1);
  EACH8(DECLARE)
  double start = now();
  for (int64_t i = 0; i < count; ++i) {
#define UPDATE(n) sum##n = sum##n * factor + term;
    EACH8(UPDATE)
  }
  double elapsed = now() - start;
#define TOTAL(n) term += sum##n;
  EACH8(TOTAL)
  sink[1] = term[0];
  return elapsed;
}

/* STEPS loads, then STEPS stores, of vectors in the first-level cache. */
PUBLIC double probe_loads(int64_t count, volatile vector *at) {
  double start = now();
  for (int64_t i = 0; i < count; ++i) {
#define LOAD(n) (void)at[n];
    EACH16(LOAD)
  }
  return now() - start;
}

PUBLIC double probe_stores(int64_t count, volatile vector *at) {
  vector zero = {0};
  double start = now();
  for (int64_t i = 0; i < count; ++i) {
#define STORE(n) at[n] = zero;
    EACH16(STORE)
  }
  return now() - start;
}

/* A loop that reads `nbytes` in order: a multiple of 16 vectors. */
PUBLIC double probe_stream(int64_t count, volatile vector *from, int64_t nbytes) {
  double start = now();
  for (int64_t i = 0; i < count; ++i)
    for (volatile vector *at = from; at < from + nbytes / VECTOR_BYTES; at += 16) {
      EACH16(LOAD)
    }
  return now() - start;
}

/* STEPS loads, each of the address that the one before gives. */
PUBLIC double probe_chase(int64_t count, void **at) {
  double start = now();
  for (int64_t i = 0; i < count; ++i) {
#define FOLLOW(n) at = (void **)*(void *volatile *)at;
    EACH16(FOLLOW)
  }
  double elapsed = now() - start;
  __asm__ volatile("" : : "r"(at));
  return elapsed;
}

/* A branch that is never taken, or with `mask` 1 taken by chance. */
PUBLIC double probe_branch(int64_t count, uint64_t mask) {
  uint64_t x = 88172645463325252u, y = 0;
  double start = now();
  for (int64_t i = 0; i < count; ++i) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    if (x & mask)
      __asm__ volatile("# taken" : "+r"(y));
  }
  return now() - start;
}

static __attribute__((noinline)) void callee(const float *a, const float *b, float *c, int64_t d, int64_t e,
                                             int64_t f, int64_t g, int64_t h) {
  __asm__ volatile("" : : "r"(a), "r"(b), "r"(c), "r"(d), "r"(e), "r"(f), "r"(g), "r"(h) : "memory");
}

/* A call with the operands of a kernel, that move. */
PUBLIC double probe_call(int64_t count, float *at) {
  double start = now();
  for (int64_t i = 0; i < count; ++i)
    callee(at + i * 16, at + i * 32, at + i * 64, count, i, 1, count, i);
  return now() - start;
}

/* Memory of `nbytes` in large pages, or in small ones; NULL where there is none. */
PUBLIC void *probe_memory(int64_t nbytes, int64_t is_large) {
  void *found = NULL;
  if (posix_memalign(&found, 1 << 21, (size_t)nbytes) != 0)
    return NULL;
#if defined(MADV_HUGEPAGE) && defined(MADV_NOHUGEPAGE)
  (void)madvise(found, (size_t)nbytes, is_large ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
#endif
  for (int64_t i = 0; i < nbytes; i += 64)
    ((volatile char *)found)[i] = 0;
  return found;
}

PUBLIC void probe_free(void *memory) { free(memory); }

/* Links `count` places by chance into a ring: place i is the i-th of `step` bytes, plus its own line of a page. */
PUBLIC int64_t probe_ring(char *memory, int64_t count, int64_t step, int64_t line, int64_t lines) {
  int64_t *order = malloc((size_t)count * sizeof *order);
  if (order == NULL)
    return 1;
  uint64_t x = 88172645463325252u;
  for (int64_t i = 0; i < count; ++i) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    int64_t other = (int64_t)(x % (uint64_t)(i + 1));
    order[i] = order[other], order[other] = i;
  }
#define PLACE(i) (void **)(memory + order[i] * step + order[i] % lines * line)
  for (int64_t i = 0; i < count; ++i)
    *PLACE(i) = PLACE((i + 1) % count);
  free(order);
  return 0;
}
