/* Calls: checked, given a workspace and weights, run now or by an executor. */

/* What a call says that says nothing. */
static const inarch_call inarch_plain = {sizeof(inarch_call), 0, 0, 0, NULL, 0, NULL, NULL, NULL};

typedef struct {
    inarch_state *state;
    const inarch_function *function;
    inarch_entry entry;
    void **buffers;
    inarch_kept *kept; /* NULL: the library has no weights */
    void *workspace;
    int32_t is_own_workspace; /* the caller's */
    int32_t threads;          /* 0: what was said for the thread */
    void (*done)(void *self, int32_t status);
    void *done_self;
} inarch_job;

static void *inarch_take_workspace(inarch_state *state)
{
    const int64_t bytes = state->model->workspace_bytes;
    if (state->allocator.allocate == NULL) {
        return inarch_take((size_t)bytes);
    }
    void *idle = __atomic_exchange_n(&state->idle, NULL, __ATOMIC_ACQUIRE);
    return idle != NULL ? idle : inarch_allocate(&state->allocator, INARCH_FOR_WORKSPACE, bytes);
}

static void inarch_give_workspace(inarch_state *state, void *workspace)
{
    if (state->allocator.allocate == NULL) {
        inarch_give(workspace);
        return;
    }
    void *none = NULL;
    if (!__atomic_compare_exchange_n(&state->idle, &none, workspace, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
        inarch_free_memory(&state->allocator, INARCH_FOR_WORKSPACE, workspace, state->model->workspace_bytes);
    }
}

static void inarch_finish(const inarch_job *job)
{
    if (job->workspace != NULL && !job->is_own_workspace) {
        inarch_give_workspace(job->state, job->workspace);
    }
    if (job->kept != NULL) {
        inarch_end(job->kept);
    }
}

static int32_t inarch_execute(const inarch_job *job)
{
    const inarch_state *state = job->state;
    const void *weights = job->kept == NULL ? NULL : job->kept->weights.data;
    int32_t status;
    if (state->model->threads == NULL && state->model->slots == 0) {
        status = job->entry(job->buffers, weights, job->workspace);
    } else {
        /* Calls may be nested: an import may call this library again, by another state. */
        const inarch_thread before = inarch_here;
        inarch_here.imports = state->imports;
        inarch_here.pool = state->pool;
        inarch_here.threads = job->threads != 0 ? job->threads : before.threads;
        status = job->entry(job->buffers, weights, job->workspace);
        inarch_here = before;
    }
    inarch_finish(job);
    return status;
}

static void inarch_execute_later(void *context)
{
    inarch_job *job = (inarch_job *)context;
    const inarch_job all = *job;
    const int32_t status = inarch_execute(job);
    free(job);
    all.done(all.done_self, status);
}

static int32_t inarch_submit(const inarch_job *job, DLTensor *args, int32_t n)
{
    const size_t count = (size_t)n;
    /* Behind it the buffers, then the bytes of values. */
    inarch_job *later = (inarch_job *)malloc(sizeof(*later) + 2 * count * sizeof(void *));
    if (later == NULL) {
        return inarch_fail(INARCH_NO_MEMORY, "%s: no memory for a call that runs later", job->function->name);
    }
    *later = *job;
    later->buffers = (void **)(void *)(later + 1);
    if (later->threads == 0) {
        later->threads = inarch_here.threads;
    }
    void **values = later->buffers + count;
    for (size_t i = 0; i < count; i++) {
        values[i] = args[i].data;
        later->buffers[i] = inarch_is_value(&args[i]) ? (void *)&values[i] : job->buffers[i];
    }
    const inarch_executor *executor = &job->state->executor;
    if (executor->submit(executor->self, inarch_execute_later, later) == 0) {
        return 0;
    }
    free(later);
    return inarch_fail(INARCH_UNSUPPORTED, "%s: the executor does not take the call", job->function->name);
}

static int32_t inarch_check_call(const inarch_function *function, const inarch_call *call)
{
    const char *name = function->name;
    if ((call->flags & ~(INARCH_ALLOCATE | INARCH_TRUSTED)) != 0) {
        return inarch_fail(INARCH_UNSUPPORTED, "%s: expected flags of this version, found %d; compile the model again",
                           name, (int)call->flags);
    }
    if (call->threads < 0) {
        return inarch_fail(INARCH_THREADS, "%s: expected a number of threads from 0 on, found %d", name,
                           (int)call->threads);
    }
    if (call->workspace == NULL) {
        return 0;
    }
    if (call->workspace_bytes < function->workspace_bytes) {
        return inarch_fail(INARCH_ARGUMENT, "%s: workspace: expected at least %lld bytes, found %lld", name,
                           (long long)function->workspace_bytes, (long long)call->workspace_bytes);
    }
    if ((uintptr_t)call->workspace % 64 != 0) {
        return inarch_fail(INARCH_ARGUMENT,
                           "%s: workspace: expected an address that is a multiple of 64, found one that is not", name);
    }
    return 0;
}

/* Where the first of some indices is that is less than `least` or more than `most`; -1: nowhere. */
static int64_t inarch_stray32(const int32_t *data, int64_t count, const inarch_indices *of)
{
    int bad = 0;
    for (int64_t i = of->start; i < count; i += of->stride) {
        bad |= data[i] < of->least || data[i] > of->most;
    }
    for (int64_t i = of->start; bad && i < count; i += of->stride) {
        if (data[i] < of->least || data[i] > of->most) {
            return i;
        }
    }
    return -1;
}

static int64_t inarch_stray64(const int64_t *data, int64_t count, const inarch_indices *of)
{
    int bad = 0;
    for (int64_t i = of->start; i < count; i += of->stride) {
        bad |= data[i] < of->least || data[i] > of->most;
    }
    for (int64_t i = of->start; bad && i < count; i += of->stride) {
        if (data[i] < of->least || data[i] > of->most) {
            return i;
        }
    }
    return -1;
}

/* ONNX: an index outside of what it is of is an error; the code would read the nearest element. */
static int32_t inarch_check_indices(const inarch_model *model, int32_t index, DLTensor *args)
{
    for (int32_t i = 0; i < model->indices_count; i++) {
        const inarch_indices *one = &model->indices[i];
        if (one->function != index) {
            continue;
        }
        const inarch_function *function = &model->library.functions[index];
        const inarch_port *port = &function->ports[one->input];
        const void *data = inarch_address(&args[one->input]);
        const int is_wide = (port->dtype & 0xff) == 64;
        const int64_t count = port->bytes / (is_wide ? 8 : 4);
        const int64_t at = is_wide ? inarch_stray64((const int64_t *)data, count, one)
                                   : inarch_stray32((const int32_t *)data, count, one);
        if (at >= 0) {
            const int64_t found = is_wide ? ((const int64_t *)data)[at] : ((const int32_t *)data)[at];
            return inarch_fail(INARCH_ARGUMENT,
                               "%s: argument %d (%s): expected indices from %lld to %lld, found %lld at element %lld",
                               function->name, (int)one->input, port->name, (long long)one->least,
                               (long long)one->most, (long long)found, (long long)at);
        }
    }
    return 0;
}

static int32_t inarch_check_all(
    const inarch_function *function, DLTensor *args, int32_t n, const inarch_call *call)
{
    for (int32_t i = 0; i < n; i++) {
        const inarch_port *port = &function->ports[i];
        const int is_to_be_allocated =
            i >= function->inputs && (call->flags & INARCH_ALLOCATE) != 0 && args[i].data == NULL;
        int32_t status = 0;
        if (is_to_be_allocated) {
            status = inarch_fill_output(function, i, port, &args[i]);
        } else if ((call->flags & INARCH_TRUSTED) == 0) {
            status = inarch_check_argument(function, i, port, &args[i], call->bytes);
        }
        if (status != 0) {
            return status;
        }
    }
    return (call->flags & INARCH_TRUSTED) != 0 ? 0 : inarch_check_overlaps(function, args);
}

/* Gives back those outputs of `made` that were allocated. */
static void inarch_give_outputs(
    inarch_state *state, const inarch_function *function, DLTensor *args, const unsigned char *made)
{
    for (int32_t i = function->inputs; made != NULL && i < function->inputs + function->outputs; i++) {
        if (made[i]) {
            inarch_release(state, args[i].data, function->ports[i].bytes);
            args[i].data = NULL;
        }
    }
}

/* Notes in `made` which outputs it has allocated; all of them, or none. */
static int32_t inarch_make_outputs(
    inarch_state *state, const inarch_function *function, DLTensor *args, unsigned char *made)
{
    memset(made, 0, (size_t)(function->inputs + function->outputs));
    for (int32_t i = function->inputs; i < function->inputs + function->outputs; i++) {
        const int64_t bytes = function->ports[i].bytes;
        if (args[i].data != NULL || bytes == 0) {
            continue;
        }
        args[i].data = inarch_allocate(&state->allocator, INARCH_FOR_OUTPUT, bytes);
        if (args[i].data == NULL) {
            inarch_give_outputs(state, function, args, made);
            return inarch_fail(INARCH_NO_MEMORY, "%s: argument %d (%s): no memory for %lld bytes", function->name,
                               (int)i, function->ports[i].name, (long long)bytes);
        }
        made[i] = 1;
    }
    return 0;
}

static int32_t inarch_check_bound(const inarch_state *state, const inarch_function *function)
{
    const inarch_model *model = state->model;
    if (!state->is_bound) {
        return inarch_fail(INARCH_UNBOUND, "%s: weights are not bound; call %s_bind first", function->name,
                           model->library.name);
    }
    if (model->threads != NULL && model->threads() < 0) {
        return inarch_fail(INARCH_THREADS, "%s: INARCH_NUM_THREADS: expected a number from 1 on, found '%s'",
                           function->name, getenv("INARCH_NUM_THREADS"));
    }
    return 0;
}

/* Runs it now, or has the executor run it; outputs are allocated. */
static int32_t inarch_dispatch(inarch_job *job, DLTensor *args, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        job->buffers[i] = inarch_address(&args[i]);
    }
    if (job->workspace == NULL && job->function->workspace_bytes > 0) {
        job->workspace = inarch_take_workspace(job->state);
        if (job->workspace == NULL) {
            return inarch_fail(INARCH_NO_MEMORY, "%s: no memory for a workspace of %lld bytes", job->function->name,
                               (long long)job->function->workspace_bytes);
        }
    }
    job->kept = job->state->model->library.weights_bytes == 0 ? NULL : inarch_begin(job->state);
    if (job->done == NULL) {
        return inarch_execute(job);
    }
    if (job->state->executor.submit == NULL) {
        job->done(job->done_self, inarch_execute(job));
        return 0;
    }
    const int32_t status = inarch_submit(job, args, n);
    if (status != 0) {
        inarch_finish(job);
    }
    return status;
}

${linkage}int32_t inarch_run(
    inarch_state *state, int32_t index, DLTensor *args, int32_t n, const inarch_call *call)
{
    const inarch_function *function = inarch_find_function(&state->model->library, index);
    const inarch_call *said = &inarch_plain;
    inarch_call own;
    int32_t status = function == NULL ? INARCH_NAME : inarch_check_bound(state, function);
    if (status == 0) {
        status = inarch_check_count(function, args, n);
    }
    if (status == 0 && call != NULL) {
        said = &own;
        status = inarch_read(function->name, "inarch_call", &own, sizeof(own), call);
        status = status == 0 ? inarch_check_call(function, &own) : status;
    }
    if (status == 0) {
        status = inarch_check_all(function, args, n, said);
    }
    if (status == 0) {
        status = inarch_check_indices(state->model, index, args);
    }
    if (status != 0) {
        return status;
    }
    const size_t count = (size_t)n + 1;
    inarch_job job = {state, function, state->model->library.entries[index], NULL, NULL, said->workspace,
                      said->workspace != NULL, said->threads, said->done, said->done_self};
    job.buffers = (void **)__builtin_alloca(count * sizeof(void *));
    job.buffers[0] = NULL;
    unsigned char *made = NULL;
    if ((said->flags & INARCH_ALLOCATE) != 0) {
        made = (unsigned char *)__builtin_alloca(count);
        status = inarch_make_outputs(state, function, args, made);
        if (status != 0) {
            return status;
        }
    }
    status = inarch_dispatch(&job, args, n);
    if (status != 0) {
        inarch_give_outputs(state, function, args, made);
    }
    return status;
}

${linkage}int32_t inarch_limit_threads(const inarch_model *model, int32_t threads)
{
    if (threads < 0) {
        return inarch_fail(INARCH_THREADS, "%s_set_threads: expected a number from 0 on, found %d",
                           model->library.name, (int)threads);
    }
    inarch_here.threads = threads;
    return 0;
}
