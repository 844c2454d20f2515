/* Whether a kernel keeps memory that it allocates, by what glibc's malloc counts. Included by `harness.c`. */
#if defined(__GLIBC__)
#include <malloc.h>
#endif

enum { LEAKING_CALLS = 8 };

/* The bytes that malloc has given and not got back; 0 where nobody counts them. */
static int64_t allocated(void) {
#if defined(__GLIBC__) && !defined(SANITIZED)
#if __GLIBC_PREREQ(2, 33)
    struct mallinfo2 counts = mallinfo2();
    return (int64_t)(counts.uordblks + counts.hblkhd);
#endif
#endif
    return 0;
}

/* A call after which there is more than before may have filled a cache; so many that all do have not. */
static void check_leak(entry *kernel, void *const *pointers, const int64_t *numbers, const struct itimerval *limit) {
    const struct itimerval none = {{0, 0}, {0, 0}};
    int64_t first = allocated(), last = first;
    for (int i = 0; i < LEAKING_CALLS; i++) {
        setitimer(ITIMER_PROF, limit, NULL);
        status->in_kernel = 1;
        kernel(pointers, numbers);
        status->in_kernel = 0;
        setitimer(ITIMER_PROF, &none, NULL);
        int64_t now = allocated();
        if (now <= last) return;
        last = now;
    }
    status->bytes = (last - first) / LEAKING_CALLS;
    fail(LEAK);
}
