/* States: weights, imports and memory of calls. */

/* Reads a struct that says its size first: what is not there is 0. */
INARCH_BASELINE static int32_t inarch_read(
    const char *where, const char *what, void *into, uint32_t own, const void *from)
{
    uint32_t size;
    memset(into, 0, own);
    if (from == NULL) {
        return 0;
    }
    memcpy(&size, from, sizeof(size));
    if (size < 2 * sizeof(size)) {
        return inarch_fail(INARCH_ARGUMENT, "%s: expected sizeof(%s) in its first field, found %u", where, what,
                           (unsigned)size);
    }
    for (uint32_t i = own; i < size; i++) {
        if (((const unsigned char *)from)[i] != 0) {
            return inarch_fail(INARCH_UNSUPPORTED,
                               "%s: expected at most %u bytes of %s, found %u that say something; "
                               "compile the model again",
                               where, (unsigned)own, what, (unsigned)size);
        }
    }
    memcpy(into, from, size < own ? size : own);
    return 0;
}

INARCH_BASELINE static inarch_request inarch_request_of(int32_t use, int64_t bytes)
{
    const inarch_request request = {sizeof(inarch_request), use, bytes, 64, {INARCH_CPU, 0}};
    return request;
}

/* Memory at a multiple of 64, or NULL. */
INARCH_BASELINE static void *inarch_allocate(const inarch_allocator *allocator, int32_t use, int64_t bytes)
{
    if (allocator->allocate == NULL) {
        return aligned_alloc(64, ((size_t)bytes + 63) / 64 * 64);
    }
    const inarch_request request = inarch_request_of(use, bytes);
    return allocator->allocate(allocator->self, &request);
}

INARCH_BASELINE static void inarch_free_memory(
    const inarch_allocator *allocator, int32_t use, void *memory, int64_t bytes)
{
    if (allocator->allocate == NULL) {
        free(memory);
        return;
    }
    const inarch_request request = inarch_request_of(use, bytes);
    allocator->release(allocator->self, memory, &request);
}

${linkage}void inarch_release(inarch_state *state, void *data, int64_t bytes)
{
    if (data != NULL) {
        inarch_free_memory(&state->allocator, INARCH_FOR_OUTPUT, data, bytes);
    }
}

/* Weights */

INARCH_BASELINE static int32_t inarch_check_weights(
    const inarch_model *model, const char *caller, const inarch_weights *weights)
{
    const char *name = model->library.name;
    const long long wanted = model->library.weights_bytes, found = weights->bytes;
    if (wanted > 0 && weights->data == NULL && model->embedded == NULL) {
        return inarch_fail(INARCH_UNBOUND, "%s%s: expected %lld bytes of weights, found a null pointer", name, caller,
                           wanted);
    }
    if (found != (weights->data == NULL ? 0 : wanted)) {
        return inarch_fail(INARCH_UNBOUND, "%s%s: expected %lld bytes of weights, found %lld", name, caller,
                           weights->data == NULL ? 0 : wanted, found);
    }
    if ((uintptr_t)weights->data % 64 != 0) {
        return inarch_fail(INARCH_UNBOUND, "%s%s: expected weights at a multiple of 64 bytes", name, caller);
    }
    return 0;
}

INARCH_BASELINE static void inarch_keep(const inarch_model *model, inarch_kept *kept, const inarch_weights *weights)
{
    kept->weights = *weights;
    if (weights->data == NULL) {
        kept->weights.data = model->embedded;
    }
    kept->users = 0;
}

static void inarch_drop(inarch_kept *kept)
{
    void (*released)(void *self) = kept->weights.released;
    void *self = kept->weights.self;
    kept->users = 0;
    __atomic_store_n(&kept->is_taken, 0, __ATOMIC_RELEASE);
    if (released != NULL) {
        released(self);
    }
}

static inarch_kept *inarch_begin(inarch_state *state)
{
    const uint64_t before = __atomic_fetch_add(&state->present, INARCH_KEPT, __ATOMIC_ACQUIRE);
    return &state->kept[before % INARCH_KEPT];
}

/* `users` falls below 0 while they are the present ones: who replaces them adds those that have begun. */
static void inarch_end(inarch_kept *kept)
{
    if (__atomic_sub_fetch(&kept->users, 1, __ATOMIC_ACQ_REL) == 0) {
        inarch_drop(kept);
    }
}

${linkage}int32_t inarch_set_weights(inarch_state *state, const inarch_weights *weights)
{
    const inarch_weights none = {NULL, 0, NULL, NULL};
    const inarch_weights *used = weights == NULL ? &none : weights;
    const int32_t fault = inarch_check_weights(state->model, ": set_weights", used);
    if (fault != 0) {
        return fault;
    }
    for (uint64_t i = 0; i < INARCH_KEPT; i++) {
        int32_t free_one = 0;
        if (__atomic_compare_exchange_n(&state->kept[i].is_taken, &free_one, 1, 0, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED)) {
            inarch_keep(state->model, &state->kept[i], used);
            const uint64_t before = __atomic_exchange_n(&state->present, i, __ATOMIC_ACQ_REL);
            inarch_kept *earlier = &state->kept[before % INARCH_KEPT];
            const int64_t begun = (int64_t)(before / INARCH_KEPT);
            if (__atomic_add_fetch(&earlier->users, begun, __ATOMIC_ACQ_REL) == 0) {
                inarch_drop(earlier);
            }
            return 0;
        }
    }
    return inarch_fail(INARCH_IN_USE,
                       "%s: set_weights: calls still use %d earlier weights; wait until one of them is released",
                       state->model->library.name, INARCH_KEPT - 1);
}

/* States */

INARCH_BASELINE static int32_t inarch_check_imports(
    const inarch_library *library, const char *caller, const inarch_import *imports, int32_t count)
{
    if (count != library->import_count) {
        return inarch_fail(INARCH_UNBOUND, "%s%s: expected %d imports, found %d", library->name, caller,
                           (int)library->import_count, (int)count);
    }
    for (int32_t i = 0; i < count; i++) {
        if (imports == NULL || imports[i].call == NULL) {
            return inarch_fail(INARCH_UNBOUND, "%s%s: import '%s' is not filled", library->name, caller,
                               library->imports[i]);
        }
    }
    return 0;
}

${linkage}INARCH_BASELINE int32_t inarch_bind_state(
    inarch_state *state, inarch_import *table, const void *weights, int64_t nbytes, const inarch_import *imports,
    int32_t count)
{
    const inarch_model *model = state->model;
    const inarch_weights used = {weights, nbytes, NULL, NULL};
    int32_t status = inarch_check_cpu();
    if (status == 0) {
        status = inarch_check_imports(&model->library, "_bind", imports, count);
    }
    if (status == 0) {
        status = inarch_check_weights(model, "_bind", &used);
    }
    if (status != 0) {
        return status;
    }
    if (weights != NULL) { /* no call runs, so they may be changed in place */
        inarch_keep(model, &state->kept[state->present % INARCH_KEPT], &used);
        state->present %= INARCH_KEPT;
        state->is_bound = 1;
    }
    for (int32_t i = 0; i < count && table != NULL; i++) { /* without a table count is 0 */
        table[i] = imports[i];
    }
    return 0;
}

${linkage}INARCH_BASELINE int32_t inarch_state_new(
    const inarch_library *library, const inarch_setup *setup, inarch_state **result)
{
    const inarch_model *model = (const inarch_model *)library;
    inarch_setup said;
    int32_t status = inarch_check_cpu();
    if (status == 0) {
        status = inarch_read(library->name, "inarch_setup", &said, sizeof(said), setup);
    }
    if (status != 0) {
        return status;
    }
    if (result == NULL) {
        return inarch_fail(INARCH_ARGUMENT, "%s: state_new: expected a place for the state, found a null pointer",
                           library->name);
    }
    *result = NULL;
    if ((said.allocator.allocate == NULL) != (said.allocator.release == NULL)) {
        return inarch_fail(INARCH_ARGUMENT, "%s: state_new: expected an allocator with both functions, found one",
                           library->name);
    }
    status = inarch_check_imports(library, ": state_new", said.imports, said.import_count);
    if (status == 0) {
        status = inarch_check_weights(model, ": state_new", &said.weights);
    }
    if (status != 0) {
        return status;
    }
    const size_t slots = (size_t)model->slots;
    const int64_t bytes = (int64_t)(sizeof(inarch_state) + slots * sizeof(inarch_import));
    inarch_state *state = (inarch_state *)inarch_allocate(&said.allocator, INARCH_FOR_STATE, bytes);
    if (state == NULL) {
        return inarch_fail(INARCH_NO_MEMORY, "%s: no memory for a state", library->name);
    }
    memset(state, 0, sizeof(*state));
    inarch_import *table = (inarch_import *)(void *)(state + 1);
    for (size_t i = 0; i < slots; i++) {
        table[i] = i < (size_t)said.import_count ? said.imports[i] : model->imports[i];
    }
    state->model = model;
    state->imports = table;
    state->pool = said.pool;
    state->allocator = said.allocator;
    state->executor = said.executor;
    state->is_bound = 1;
    state->kept[0].is_taken = 1;
    inarch_keep(model, &state->kept[0], &said.weights);
    *result = state;
    return 0;
}

${linkage}void inarch_state_free(inarch_state *state)
{
    if (state == NULL) {
        return;
    }
    inarch_drop(&state->kept[state->present % INARCH_KEPT]);
    const inarch_allocator allocator = state->allocator;
    const size_t slots = (size_t)state->model->slots;
    if (state->idle != NULL) {
        inarch_free_memory(&allocator, INARCH_FOR_WORKSPACE, state->idle, state->model->workspace_bytes);
    }
    inarch_free_memory(&allocator, INARCH_FOR_STATE, state,
                       (int64_t)(sizeof(inarch_state) + slots * sizeof(inarch_import)));
}

${linkage}int32_t inarch_set_stream(inarch_state *state, int32_t device_type, int32_t device_id, void *stream)
{
    if (device_type == INARCH_CPU && device_id == 0 && stream == NULL) {
        return 0;
    }
    return inarch_fail(INARCH_ARGUMENT,
                       "%s: set_stream: expected device type 1 (host memory), device 0 and no stream, found "
                       "device type %d, device %d and %s stream",
                       state->model->library.name, (int)device_type, (int)device_id,
                       stream == NULL ? "no" : "a");
}
