/* Workspaces that no call uses, in a list through their first bytes; every one is large enough for
   every function. They are kept as long as the library is. */
static void *inarch_free;
static unsigned char inarch_lock;
static unsigned char inarch_is_lost;

/* Takes the lock, or gives up: after a fork, the thread that had it may not be in this process. Then
   each call has a workspace of its own. */
static int inarch_locked(void)
{
    for (int32_t i = 0; !__atomic_load_n(&inarch_is_lost, __ATOMIC_RELAXED); i++) {
        if (!__atomic_test_and_set(&inarch_lock, __ATOMIC_ACQUIRE)) {
            return 1;
        }
        if (i == 100000000) {
            __atomic_store_n(&inarch_is_lost, 1, __ATOMIC_RELAXED);
        }
    }
    return 0;
}

static void *inarch_take(size_t bytes)
{
    void *workspace = NULL;
    if (inarch_locked()) {
        workspace = inarch_free;
        if (workspace != NULL) {
            inarch_free = *(void **)workspace;
        }
        __atomic_clear(&inarch_lock, __ATOMIC_RELEASE);
    }
    return workspace != NULL ? workspace : aligned_alloc(64, bytes);
}

static void inarch_give(void *workspace)
{
    if (!inarch_locked()) {
        free(workspace);
        return;
    }
    *(void **)workspace = inarch_free;
    inarch_free = workspace;
    __atomic_clear(&inarch_lock, __ATOMIC_RELEASE);
}

/* When the library is closed, or the process ends: never waits, for in a forked process nobody may be
   there to give up the lock. */
INARCH_BASELINE __attribute__((destructor)) static void inarch_free_workspaces(void)
{
    if (__atomic_test_and_set(&inarch_lock, __ATOMIC_ACQUIRE)) {
        return;
    }
    while (inarch_free != NULL) {
        void *workspace = inarch_free;
        inarch_free = *(void **)workspace;
        free(workspace);
    }
    __atomic_clear(&inarch_lock, __ATOMIC_RELEASE);
}
