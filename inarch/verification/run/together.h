/* Calls a kernel from two threads at once, each on operands of its own, as programs with threads do: a buffer
 * that is static shows when the other call writes to it in between. Included by `harness.c`. */

/* Each thread works so long, by its own clock: a busy machine gives it fewer moments. None waits longer for
 * them than MOST_MILLISECONDS. Reading clocks takes longer than a small call: BATCH calls lie between. */
enum { TOGETHER = 2, WORK_MILLISECONDS = 30, MOST_MILLISECONDS = 2000, BATCH = 16, APART = 256,
    PAUSE_EVERY_MICROSECONDS = 500, PAUSE_NANOSECONDS = 50000 };

struct worker {
    entry *kernel;
    const int64_t *numbers;
    void *pointers[MOST_OPERANDS];
    char *block[MOST_OPERANDS];
    int operands;
    char *written;      /* the operand that the call writes */
    const char *image;  /* what it holds before */
    int64_t length;
    char *result;       /* of the call by itself; then of the first one that differs from it */
    pthread_barrier_t *start;
    int *is_over;
};

static int64_t milliseconds_of(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Stops a call anywhere for a moment, so that the others overtake it even where there is one CPU. */
static void pause_call(int number) {
    (void)number;
    struct timespec moment = {0, PAUSE_NANOSECONDS};
    nanosleep(&moment, NULL);
}

static void prepare_worker(
    struct worker *worker, entry *kernel, char *script, const struct header *header, const struct call *call) {
    const struct operand *operands = (void *)(script + header->operand_table);
    worker->kernel = kernel;
    worker->numbers = (const int64_t *)(script + call->numbers);
    worker->operands = (int)header->operands;
    for (int i = 0; i < worker->operands; i++) {
        const struct use *use = &call->uses[i];
        int64_t align = operands[i].align < APART ? APART : operands[i].align;
        int64_t lead = round_up(use->origin, align) - use->origin;
        void *memory = NULL;
        if (posix_memalign(&memory, (size_t)align, (size_t)(lead + use->length + APART))) fail(CANNOT_LOAD);
        worker->block[i] = memory;
        char *data = worker->block[i] + lead;
        memcpy(data, script + use->image, (size_t)use->length);
        worker->pointers[i] = data + use->origin;
        if (!operands[i].is_written) continue;
        worker->written = data;
        worker->image = script + use->image;
        worker->length = use->length;
        worker->result = script + use->result;
    }
}

static void *work(void *argument) {
    struct worker *worker = argument;
    pthread_barrier_wait(worker->start);
    int64_t own = milliseconds_of(CLOCK_THREAD_CPUTIME_ID), all = milliseconds_of(CLOCK_MONOTONIC);
    for (int64_t k = 1; !__atomic_load_n(worker->is_over, __ATOMIC_RELAXED); k++) {
        memcpy(worker->written, worker->image, (size_t)worker->length);
        worker->kernel(worker->pointers, worker->numbers);
        if (memcmp(worker->written, worker->result, (size_t)worker->length) != 0) {
            memcpy(worker->result, worker->written, (size_t)worker->length);
            __atomic_store_n(worker->is_over, 1, __ATOMIC_RELAXED);
        }
        if (k % BATCH) continue;
        if (milliseconds_of(CLOCK_THREAD_CPUTIME_ID) >= own + WORK_MILLISECONDS) break;
        if (milliseconds_of(CLOCK_MONOTONIC) >= all + MOST_MILLISECONDS) break;
    }
    return NULL;
}

/* The calls at `calls`, which differ in what they get: equal ones would leave the same in a shared buffer.
 * Where the system gives no thread each is made by itself. */
static void perform_together(entry *kernel, char *script, const struct header *header, struct call *const *calls) {
    struct worker workers[TOGETHER];
    pthread_t threads[TOGETHER];
    pthread_attr_t attributes;
    pthread_barrier_t start;
    int is_over = 0, made = 0;
    struct itimerval limit = {{0, 0}, {TOGETHER * (1 + header->milliseconds / 1000), 0}}, none = {{0, 0}, {0, 0}};
    memset(workers, 0, sizeof workers);
    for (int i = 0; i < MOST_OPERANDS; i++) status->start[i] = INT64_MIN / 2; /* no address is near one */
    for (int i = 0; i < TOGETHER; i++) prepare_worker(&workers[i], kernel, script, header, calls[i]);
    struct sigaction pausing = {.sa_handler = pause_call, .sa_flags = SA_RESTART | SA_ONSTACK}, usual;
    sigaction(SIGALRM, &pausing, &usual);
    setitimer(ITIMER_PROF, &limit, NULL);
    status->in_kernel = 1;
    for (int i = 0; i < TOGETHER; i++) {
        kernel(workers[i].pointers, workers[i].numbers);
        memcpy(workers[i].result, workers[i].written, (size_t)workers[i].length);
        workers[i].start = &start;
        workers[i].is_over = &is_over;
    }
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    /* This thread is the last one, so that one that cannot be made keeps nobody waiting. */
    struct itimerval often = {{0, PAUSE_EVERY_MICROSECONDS}, {0, PAUSE_EVERY_MICROSECONDS}};
    setitimer(ITIMER_REAL, &often, NULL);
    if (pthread_barrier_init(&start, NULL, TOGETHER) == 0) {
        while (made < TOGETHER - 1 && pthread_create(&threads[made], &attributes, work, &workers[made]) == 0) made++;
        if (made == TOGETHER - 1) work(&workers[made]);
        for (int i = 0; i < made; i++) pthread_join(threads[i], NULL);
        pthread_barrier_destroy(&start);
    }
    setitimer(ITIMER_REAL, &none, NULL);
    sigaction(SIGALRM, &usual, NULL);
    pthread_attr_destroy(&attributes);
    status->in_kernel = 0;
    setitimer(ITIMER_PROF, &none, NULL);
    for (int i = 0; i < TOGETHER; i++)
        for (int k = 0; k < workers[i].operands; k++) free(workers[i].block[k]);
}
