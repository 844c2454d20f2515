/* A pool of threads that run the iterations of one loop together: part p of n does [count * p / n,
   count * (p + 1) / n), part 0 in the thread that asks, and each other one in a worker of its own, unless
   that has not begun when the one that asks is done with its own: then that does it, and nobody waits for a
   worker that sleeps. Parts write disjoint memory, so results do not depend on the number of threads.

   One loop at a time: a loop that comes while another runs, from another thread or from within, is run by
   who asks alone, so that concurrent calls share the processors. Workers start with the first loop. They
   wait for the next one 50 us in a loop, then asleep. Where the one that asks waits nearly as long as it
   works, of some 64 loops, others have the processors: the next loops get half of their threads. Beside a
   busy process that is fewer threads, not waiting. Workers are kept off the processor of the one that wakes
   them, where systems like to put what is woken, and where it would wait for the one that asks.
   After fork the child has no workers, and starts its own. */

#define INARCH_THREADS_MOST 256
#define INARCH_SPIN_NS 50000
/* Where control groups are, and which one this process is in. */
#ifndef INARCH_CGROUPS
#define INARCH_CGROUPS "/sys/fs/cgroup"
#endif
#ifndef INARCH_CGROUP_OF_SELF
#define INARCH_CGROUP_OF_SELF "/proc/self/cgroup"
#endif
/* Of waiting, within some 64 loops, below which nothing is done. */
#ifndef INARCH_LATE_NS
#define INARCH_LATE_NS 1000000
#endif
#define INARCH_FEWER_LOOPS 64
#define INARCH_FEWER_MOST 4096

static struct {
    /* (number of the loop << 16) | parts: what workers watch. All else of a loop is read by its parts only. */
    __attribute__((aligned(64))) uint64_t loop;
    /* Parts that are not done. */
    __attribute__((aligned(64))) int32_t pending;
    __attribute__((aligned(64))) int32_t sleepers;
    int32_t is_waited_for;
    int32_t is_closed;
    /* Held by the thread whose loop runs; what follows is its own. */
    __attribute__((aligned(64))) unsigned char busy;
    int32_t started;
    int32_t cannot_start;
    int32_t fewer_loops;
    int32_t next_fewer;
    int32_t good_loops;
    int64_t worked_ns;
    int64_t waited_ns;
    int32_t watches_forks;
    int32_t kept_off; /* a processor, plus 1 */
    int32_t kept;
    inarch_task task;
    void *context;
    int64_t count;
    pthread_t threads[INARCH_THREADS_MOST];
    /* The number of the last loop of which somebody does this part. */
    uint64_t begun[INARCH_THREADS_MOST];
} inarch_pool_state;

static pthread_mutex_t inarch_pool_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t inarch_pool_more = PTHREAD_COND_INITIALIZER;
static pthread_cond_t inarch_pool_done = PTHREAD_COND_INITIALIZER;

static int64_t inarch_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline void inarch_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static int64_t inarch_number_in(const char *path, int64_t *second)
{
    char text[64] = "";
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return -1;
    }
    const size_t length = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[length] = 0;
    char *rest;
    const long long first = strtoll(text, &rest, 10);
    if (second != NULL) {
        *second = strtoll(rest, NULL, 10);
    }
    return rest == text ? -1 : first;
}

/* The lower one of `most` and what a control group may use, rounded up; of version 2, or else of version 1. */
static int64_t inarch_within(const char *folder, int64_t most)
{
    char path[768];
    int64_t period = 0;
    snprintf(path, sizeof(path), "%s/cpu.max", folder);
    int64_t quota = inarch_number_in(path, &period);
    if (quota < 0) {
        snprintf(path, sizeof(path), "%s/cpu.cfs_quota_us", folder);
        quota = inarch_number_in(path, NULL);
        snprintf(path, sizeof(path), "%s/cpu.cfs_period_us", folder);
        period = inarch_number_in(path, NULL);
    }
    const int64_t own = quota > 0 && period > 0 ? (quota + period - 1) / period : most;
    return own < most ? own : most;
}

/* What the control group of this process, and all that it is in, leave of `most`. A container sees its own
   group as the root, whatever its name is outside: where there is no such folder, the root counts. */
static int64_t inarch_within_groups(int64_t most)
{
    char line[256], folder[512];
    most = inarch_within(INARCH_CGROUPS, inarch_within(INARCH_CGROUPS "/cpu", most));
    FILE *file = fopen(INARCH_CGROUP_OF_SELF, "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        char *kind = strchr(line, ':');
        char *path = kind == NULL ? NULL : strchr(kind + 1, ':');
        if (path == NULL) {
            continue;
        }
        *path++ = 0;
        path[strcspn(path, "\n")] = 0;
        const int is_first = strcmp(kind + 1, "cpu") == 0 || strncmp(kind + 1, "cpu,", 4) == 0;
        const char *base = kind[1] == 0 ? "" : is_first ? "/cpu" : NULL;
        char *end = base == NULL ? NULL : path + strlen(path);
        for (; end != NULL && end > path; end = strrchr(path, '/')) { /* outwards */
            *end = 0;
            snprintf(folder, sizeof(folder), INARCH_CGROUPS "%s%s", base, path);
            most = *path == 0 ? most : inarch_within(folder, most);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return most;
}

/* Processors that this process may use: its affinity, and the quotas of its control groups, rounded up. Asked
   once. */
static int32_t inarch_processors(void)
{
    static int32_t known;
    const int32_t before = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (before != 0) {
        return before;
    }
    int64_t found = 0;
#if defined(SYS_sched_getaffinity)
    unsigned long mask[128];
    const long bytes = syscall(SYS_sched_getaffinity, 0, sizeof(mask), mask);
    for (long i = 0; i * (long)sizeof(mask[0]) < bytes; i++) {
        found += __builtin_popcountl(mask[i]);
    }
#else
    found = sysconf(_SC_NPROCESSORS_ONLN);
#endif
    found = inarch_within_groups(found);
    found = found < 1 ? 1 : found > INARCH_THREADS_MOST ? INARCH_THREADS_MOST : found;
    __atomic_store_n(&known, (int32_t)found, __ATOMIC_RELAXED);
    return (int32_t)found;
}

/* At most four threads for a processor: more only wait for each other. */
static int32_t inarch_clamped(int64_t threads)
{
    const int64_t most = 4 * (int64_t)inarch_processors();
    const int64_t least = most < INARCH_THREADS_MOST ? most : INARCH_THREADS_MOST;
    return (int32_t)(threads < least ? threads : least);
}

/* The threads of a call for which no number is said: INARCH_NUM_THREADS, or a thread for each processor;
   -1 where that variable is no number from 1 on. Asked once: the variable is that of the process's start. */
${linkage}int32_t inarch_pool_threads(void)
{
    static int32_t known;
    int32_t threads = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (threads != 0) {
        return threads;
    }
    const char *text = getenv("INARCH_NUM_THREADS");
    if (text == NULL || *text == 0) {
        threads = inarch_processors();
    } else {
        char *rest;
        const long long said = strtoll(text, &rest, 10);
        threads = *rest != 0 || said < 1 ? -1 : inarch_clamped(said);
    }
    __atomic_store_n(&known, threads, __ATOMIC_RELAXED);
    return threads;
}

/* Whether a part of a loop is to be done by who asks; for everybody else it is not from then on. */
static int inarch_begins(int32_t part, uint64_t number)
{
    uint64_t last = __atomic_load_n(&inarch_pool_state.begun[part], __ATOMIC_RELAXED);
    while (last < number) {
        if (__atomic_compare_exchange_n(&inarch_pool_state.begun[part], &last, number, 0, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED)) {
            return 1;
        }
    }
    return 0;
}

static void inarch_part(int32_t part, int32_t parts)
{
    const int64_t count = inarch_pool_state.count;
    const int64_t begin = count / parts * part + count % parts * part / parts;
    const int64_t end = count / parts * (part + 1) + count % parts * (part + 1) / parts;
    if (begin < end) {
        inarch_pool_state.task(inarch_pool_state.context, begin, end, part);
    }
}

/* Waits for another loop than `seen`: awake for a while, then asleep. */
static uint64_t inarch_next_loop(uint64_t seen)
{
    const int64_t start = inarch_now_ns();
    uint64_t loop;
    for (int32_t i = 1; (loop = __atomic_load_n(&inarch_pool_state.loop, __ATOMIC_ACQUIRE)) == seen; i++) {
        inarch_pause();
        if (i % 64 == 0 && inarch_now_ns() - start > INARCH_SPIN_NS) {
            break;
        }
    }
    if (loop != seen) {
        return loop;
    }
    pthread_mutex_lock(&inarch_pool_mutex);
    /* Counted before the loop is read, as `inarch_pool_run` writes the loop before it counts: one sees the other. */
    __atomic_add_fetch(&inarch_pool_state.sleepers, 1, __ATOMIC_SEQ_CST);
    while ((loop = __atomic_load_n(&inarch_pool_state.loop, __ATOMIC_SEQ_CST)) == seen) {
        pthread_cond_wait(&inarch_pool_more, &inarch_pool_mutex);
    }
    __atomic_sub_fetch(&inarch_pool_state.sleepers, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&inarch_pool_mutex);
    return loop;
}

typedef struct {
    uint64_t seen;
    int32_t part;
} inarch_worker;

static void *inarch_work(void *argument)
{
    inarch_worker own = *(inarch_worker *)argument;
    free(argument);
    for (;;) {
        own.seen = inarch_next_loop(own.seen);
        const int32_t parts = (int32_t)(own.seen & 0xffff);
        if (parts == 0) { /* the pool is closed */
            return NULL;
        }
        if (own.part >= parts || !inarch_begins(own.part, own.seen >> 16)) {
            continue;
        }
        inarch_part(own.part, parts);
        if (__atomic_sub_fetch(&inarch_pool_state.pending, 1, __ATOMIC_SEQ_CST) == 0
            && __atomic_load_n(&inarch_pool_state.is_waited_for, __ATOMIC_SEQ_CST)) {
            pthread_mutex_lock(&inarch_pool_mutex);
            pthread_cond_signal(&inarch_pool_done);
            pthread_mutex_unlock(&inarch_pool_mutex);
        }
    }
}

/* In the child of a fork only the thread that forked is there: nobody works, and nobody holds a lock. */
static void inarch_pool_forked(void)
{
    inarch_pool_state.started = 0;
    inarch_pool_state.cannot_start = 0;
    inarch_pool_state.kept_off = 0;
    inarch_pool_state.pending = 0;
    inarch_pool_state.sleepers = 0;
    inarch_pool_state.is_waited_for = 0;
    inarch_pool_state.fewer_loops = 0;
    inarch_pool_state.next_fewer = 0;
    __atomic_clear(&inarch_pool_state.busy, __ATOMIC_RELEASE);
    pthread_mutex_init(&inarch_pool_mutex, NULL);
    pthread_cond_init(&inarch_pool_more, NULL);
    pthread_cond_init(&inarch_pool_done, NULL);
}

/* Starts workers until there are `wanted` threads with the one that asks; as many as can be started. */
static void inarch_pool_start(int32_t wanted)
{
    if (inarch_pool_state.cannot_start || inarch_pool_state.started >= wanted - 1) {
        return;
    }
    if (!inarch_pool_state.watches_forks) {
        inarch_pool_state.watches_forks = 1;
        pthread_atfork(NULL, NULL, inarch_pool_forked);
    }
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the threads of the application */
    while (inarch_pool_state.started < wanted - 1) {
        inarch_worker *own = (inarch_worker *)malloc(sizeof(*own));
        if (own == NULL) {
            break;
        }
        own->seen = inarch_pool_state.loop;
        own->part = inarch_pool_state.started + 1;
        pthread_t *thread = &inarch_pool_state.threads[inarch_pool_state.started];
        if (pthread_create(thread, NULL, inarch_work, own) != 0) {
            free(own);
            inarch_pool_state.cannot_start = 1;
            break;
        }
        inarch_pool_state.started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Until all other parts are done. */
static void inarch_join(void)
{
    const int64_t start = inarch_now_ns();
    for (int32_t i = 1; __atomic_load_n(&inarch_pool_state.pending, __ATOMIC_ACQUIRE) != 0; i++) {
        inarch_pause();
        if (i % 64 == 0 && inarch_now_ns() - start > INARCH_SPIN_NS) {
            break;
        }
    }
    if (__atomic_load_n(&inarch_pool_state.pending, __ATOMIC_ACQUIRE) == 0) {
        return;
    }
    pthread_mutex_lock(&inarch_pool_mutex);
    __atomic_store_n(&inarch_pool_state.is_waited_for, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&inarch_pool_state.pending, __ATOMIC_SEQ_CST) != 0) {
        pthread_cond_wait(&inarch_pool_done, &inarch_pool_mutex);
    }
    __atomic_store_n(&inarch_pool_state.is_waited_for, 0, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&inarch_pool_mutex);
}

/* Whether sharing pays decides how many threads the next loops get: twice as many loops get fewer each time. */
static void inarch_adapt(int64_t worked_ns, int64_t waited_ns)
{
    inarch_pool_state.worked_ns += worked_ns - inarch_pool_state.worked_ns / 64;
    inarch_pool_state.waited_ns += waited_ns - inarch_pool_state.waited_ns / 64;
    if (inarch_pool_state.waited_ns <= INARCH_LATE_NS
        || inarch_pool_state.waited_ns <= inarch_pool_state.worked_ns / 4 * 3) {
        /* Long enough without waiting, it is forgotten by halves. */
        if (++inarch_pool_state.good_loops > 16 * inarch_pool_state.next_fewer) {
            inarch_pool_state.next_fewer /= 2;
            inarch_pool_state.good_loops = 0;
        }
        return;
    }
    const int32_t before = inarch_pool_state.next_fewer;
    const int32_t next = before == 0 ? INARCH_FEWER_LOOPS : 2 * before;
    inarch_pool_state.next_fewer = next < INARCH_FEWER_MOST ? next : INARCH_FEWER_MOST;
    inarch_pool_state.fewer_loops = inarch_pool_state.next_fewer;
    inarch_pool_state.good_loops = 0;
    inarch_pool_state.worked_ns = 0;
    inarch_pool_state.waited_ns = 0;
}

/* Lets the workers use every processor that this thread may use but the one that it is on. */
static void inarch_keep_off(void)
{
#if defined(CPU_SETSIZE)
    const int32_t here = (int32_t)sched_getcpu();
    cpu_set_t others;
    if ((here + 1 == inarch_pool_state.kept_off && inarch_pool_state.kept == inarch_pool_state.started)
        || here < 0 || here >= CPU_SETSIZE || sched_getaffinity(0, sizeof(others), &others) != 0) {
        return;
    }
    CPU_CLR((size_t)here, &others);
    for (int32_t i = 0; CPU_COUNT(&others) > 0 && i < inarch_pool_state.started; i++) {
        pthread_setaffinity_np(inarch_pool_state.threads[i], sizeof(others), &others);
    }
    inarch_pool_state.kept_off = here + 1;
    inarch_pool_state.kept = inarch_pool_state.started;
#endif
}

/* Runs a loop by at most `threads` threads, 0: as many as there should be. */
static void inarch_pool_run(void *self, int32_t threads, int64_t count, inarch_task task, void *context)
{
    (void)self;
    int32_t parts = threads > 0 ? inarch_clamped(threads) : inarch_pool_threads();
    parts = count < parts ? (int32_t)count : parts;
    if (parts < 2 || __atomic_load_n(&inarch_pool_state.is_closed, __ATOMIC_RELAXED)
        || __atomic_test_and_set(&inarch_pool_state.busy, __ATOMIC_ACQUIRE)) {
        task(context, 0, count, 0);
        return;
    }
    if (inarch_pool_state.fewer_loops > 0) {
        inarch_pool_state.fewer_loops--;
        parts /= 2;
    }
    if (parts < 2) {
        __atomic_clear(&inarch_pool_state.busy, __ATOMIC_RELEASE);
        task(context, 0, count, 0);
        return;
    }
    inarch_pool_start(parts);
    inarch_pool_state.task = task;
    inarch_pool_state.context = context;
    inarch_pool_state.count = count;
    __atomic_store_n(&inarch_pool_state.pending, parts - 1, __ATOMIC_RELAXED);
    const uint64_t number = (inarch_pool_state.loop >> 16) + 1;
    __atomic_store_n(&inarch_pool_state.loop, number << 16 | (uint64_t)parts, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&inarch_pool_state.sleepers, __ATOMIC_SEQ_CST) != 0) {
        inarch_keep_off();
        pthread_mutex_lock(&inarch_pool_mutex);
        pthread_cond_broadcast(&inarch_pool_more);
        pthread_mutex_unlock(&inarch_pool_mutex);
    }
    const int64_t begin = inarch_now_ns();
    inarch_part(0, parts);
    const int64_t end = inarch_now_ns();
    for (int32_t part = parts - 1; part > 0; part--) {
        if (inarch_begins(part, number)) {
            inarch_part(part, parts);
            __atomic_sub_fetch(&inarch_pool_state.pending, 1, __ATOMIC_SEQ_CST);
        }
    }
    const int64_t rest = inarch_now_ns();
    inarch_join();
    inarch_adapt(end - begin, inarch_now_ns() - rest);
    __atomic_clear(&inarch_pool_state.busy, __ATOMIC_RELEASE);
}

/* When the library is closed, or the process ends: workers are in its code. No loop runs any more. */
INARCH_BASELINE __attribute__((destructor)) static void inarch_pool_close(void)
{
    __atomic_store_n(&inarch_pool_state.is_closed, 1, __ATOMIC_SEQ_CST);
    if (__atomic_test_and_set(&inarch_pool_state.busy, __ATOMIC_ACQUIRE)) {
        return; /* the process ends in the middle of a loop */
    }
    const uint64_t number = (inarch_pool_state.loop >> 16) + 1;
    pthread_mutex_lock(&inarch_pool_mutex);
    __atomic_store_n(&inarch_pool_state.loop, number << 16, __ATOMIC_SEQ_CST);
    pthread_cond_broadcast(&inarch_pool_more);
    pthread_mutex_unlock(&inarch_pool_mutex);
    for (int32_t i = 0; i < inarch_pool_state.started; i++) {
        pthread_join(inarch_pool_state.threads[i], NULL);
    }
    inarch_pool_state.started = 0;
}

${linkage}const inarch_pool inarch_own_pool = {inarch_pool_run, NULL};
