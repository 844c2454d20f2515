/* Modules: the artifacts that are open in this process, each state of a file once, until nobody uses them. */
#include "internal.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t begun = PTHREAD_ONCE_INIT;
static inarch_module *all; /* per process because the dynamic loader is */
static inarch_module
    *pool_owner; /* whose threads run everybody's loops: those of several would wait for each other */

static void take_lock(void)
{
    pthread_mutex_lock(&lock);
}

static void give_lock(void)
{
    pthread_mutex_unlock(&lock);
}

/* The child of a fork has no other threads: what they were doing to the list would stay half done. */
static void begin(void)
{
    pthread_atfork(take_lock, give_lock, give_lock);
}

int32_t inarch_rt_null(const char *function, const char *expected)
{
    return inarch_rt_fail(INARCH_ARGUMENT, "error: %s: expected %s, found a null pointer", function, expected);
}

static void release(inarch_module *module)
{
    if (--module->users > 0) {
        return;
    }
    inarch_module **at = &all;
    while (*at != module) {
        at = &(*at)->next;
    }
    *at = module->next;
    if (pool_owner == module) {
        pool_owner = NULL;
    }
    if (module->state != NULL) {
        module->library.table->state_free(module->state);
    }
    free((void *)(uintptr_t)module->setup.imports);
    inarch_rt_free_parts(&module->index.code, module->parts);
    if (module->library.handle != NULL) {
        dlclose(module->library.handle);
    }
    if (module->bytes != NULL) {
        munmap((void *)(uintptr_t)module->bytes, (size_t)module->identity.size);
    }
    inarch_module *pool_of = module->pool_of;
    inarch_rt_free_index(&module->index);
    free(module->where);
    free(module);
    if (pool_of != NULL) {
        release(pool_of);
    }
}

static int32_t verify_variant(const inarch_module *module, const inarch_rt_variant *code)
{
    char digits[65];
    inarch_rt_sha256(module->bytes + code->library_offset, (size_t)code->library_bytes, digits);
    if (strcmp(digits, code->library_sha256) != 0) {
        return inarch_rt_fail(INARCH_FILE,
                              "%s: error: expected a library of SHA-256 %.16s..., found %.16s...",
                              module->where, code->library_sha256, digits);
    }
    inarch_rt_sha256(module->bytes + code->weights_offset, (size_t)code->weights_bytes, digits);
    if (strcmp(digits, code->weights_sha256) != 0) {
        return inarch_rt_fail(INARCH_FILE, "%s: error: expected weights of SHA-256 %.16s..., found %.16s...",
                              module->where, code->weights_sha256, digits);
    }
    for (int32_t i = 0; i < code->part_count; i++) {
        inarch_rt_sha256(module->bytes + code->parts[i].offset, (size_t)code->parts[i].bytes, digits);
        if (strcmp(digits, code->parts[i].sha256) != 0) {
            return inarch_rt_fail(INARCH_FILE, "%s[%d]: error: expected a part of SHA-256 %.16s..., found %.16s...",
                                  module->where, (int)i + 1, code->parts[i].sha256, digits);
        }
        for (int32_t k = 0; k < code->parts[i].weight_count; k++) {
            const inarch_rt_blob *blob = &code->parts[i].weights[k];
            inarch_rt_sha256(module->bytes + blob->offset, (size_t)blob->bytes, digits);
            if (strcmp(digits, blob->sha256) != 0) {
                return inarch_rt_fail(INARCH_FILE,
                                      "%s[%d]: error: expected a weight '%s' of SHA-256 %.16s..., found %.16s...",
                                      module->where, (int)i + 1, blob->name, blob->sha256, digits);
            }
        }
    }
    return INARCH_OK;
}

static int32_t verify(const inarch_module *module)
{
    int32_t status = INARCH_OK;
    for (int32_t i = 0; i < module->index.variant_count && status == INARCH_OK; i++) {
        status = verify_variant(module, &module->index.variants[i]);
    }
    return status;
}

/* What was asked for and has not been done yet. */
static int32_t check(inarch_module *module, int32_t flags)
{
    const int is_checked = (flags & INARCH_UNCHECKED) == 0;
    if (is_checked && !module->is_checked) {
        inarch_rt_index index;
        const int32_t status =
            inarch_rt_read_index(module->where, module->bytes, (size_t)module->identity.size, 1, &index);
        inarch_rt_free_index(&index);
        if (status != INARCH_OK) {
            return status;
        }
        module->is_checked = 1;
    }
    if ((flags & INARCH_VERIFY) != 0 && !module->is_verified) {
        const int32_t status = verify(module);
        if (status != INARCH_OK) {
            return status;
        }
        module->is_verified = 1;
    }
    return INARCH_OK;
}

static int32_t use_pool(inarch_module *module, const inarch_options *options)
{
    if (module->library.table->pool == NULL) {
        return INARCH_OK;
    }
    const char *said = getenv("INARCH_NUM_THREADS");
    if (said != NULL && *said != 0) {
        char *rest;
        if (strtoll(said, &rest, 10) < 1 || *rest != 0) {
            return inarch_rt_fail(INARCH_THREADS,
                                  "error: INARCH_NUM_THREADS: expected a number from 1 on, found '%s'", said);
        }
    }
    if (options->pool != NULL) {
        module->setup.pool = options->pool;
    } else if (pool_owner == NULL) {
        pool_owner = module;
    } else {
        /* Of states of others as well, which the application may make of the library. */
        module->library.pool(pool_owner->library.table->pool);
        module->pool_of = pool_owner;
        pool_owner->users++;
    }
    return INARCH_OK;
}

/* What all calls of the module run with, unless an instance has weights of its own. */
static int32_t set_up(inarch_module *module, const inarch_options *options)
{
    inarch_setup *setup = &module->setup;
    inarch_import *imports;
    const int32_t status = inarch_rt_fill_imports(module->where, &module->index, options, &module->library,
                                                  module->parts, &imports);
    setup->size = sizeof(*setup);
    setup->import_count = module->index.code.import_count;
    setup->imports = imports;
    setup->weights.data = inarch_module_weights(module, &setup->weights.bytes);
    if (options->allocator != NULL) {
        setup->allocator = *options->allocator;
    }
    return status == INARCH_OK ? inarch_rt_new_state(module->where, &module->library, setup, &module->state) : status;
}

static int32_t fill(inarch_module *module, const char *path, int descriptor, const inarch_options *options)
{
    const size_t size = (size_t)module->identity.size;
    module->where = strdup(path);
    if (module->where == NULL) {
        return inarch_rt_fail(INARCH_NO_MEMORY, "%s: error: no memory for a module", path);
    }
    int32_t status = inarch_rt_map(path, descriptor, size, &module->bytes);
    if (status != INARCH_OK) {
        return status;
    }
    module->is_checked = (options->flags & INARCH_UNCHECKED) == 0;
    status = inarch_rt_read_index(path, module->bytes, size, module->is_checked, &module->index);
    if (status == INARCH_OK) {
        status = check(module, options->flags);
    }
    if (status == INARCH_OK) {
        status = inarch_rt_load(path, descriptor, module->bytes, &module->index, options, &module->library);
    }
    if (status == INARCH_OK) {
        status = inarch_rt_load_parts(path, module->bytes, &module->index.code, options, &module->parts);
        status = inarch_rt_do_without(&module->library, &module->index, &module->parts, status);
    }
    if (status == INARCH_OK) {
        status = use_pool(module, options);
    }
    return status == INARCH_OK ? set_up(module, options) : status;
}

static int32_t open_locked(const char *path, int descriptor, const inarch_rt_identity *identity,
                           const inarch_options *options, inarch_module **result)
{
    const int is_shared = options->import_count == 0 && options->pool == NULL && options->allocator == NULL
                          && options->loaders == NULL && (options->flags & INARCH_PRIVATE) == 0;
    for (inarch_module *one = all; one != NULL && is_shared; one = one->next) {
        if (one->is_shared && inarch_rt_is_same(&one->identity, identity)) {
            const int32_t status = check(one, options->flags);
            if (status == INARCH_OK) {
                one->users++;
                *result = one;
            }
            return status;
        }
    }
    inarch_module *module = (inarch_module *)calloc(1, sizeof(*module));
    if (module == NULL) {
        return inarch_rt_fail(INARCH_NO_MEMORY, "%s: error: no memory for a module", path);
    }
    module->users = 1;
    module->identity = *identity;
    module->is_shared = is_shared;
    module->next = all;
    all = module;
    const int32_t status = fill(module, path, descriptor, options);
    if (status != INARCH_OK) {
        release(module);
        return status;
    }
    *result = module;
    return INARCH_OK;
}

/* The options as this version has them. Those of a later one are taken where what they have more is zeros. */
static int32_t read_options(const inarch_options *given, inarch_options *own)
{
    const inarch_options defaults = INARCH_OPTIONS;
    *own = defaults;
    if (given == NULL) {
        return INARCH_OK;
    }
    if (given->size < sizeof(*own)) {
        return inarch_rt_fail(INARCH_ARGUMENT,
                              "error: inarch_open: expected options that begin with INARCH_OPTIONS, found a size of %u",
                              (unsigned)given->size);
    }
    for (size_t i = sizeof(*own); i < given->size; i++) {
        if (((const unsigned char *)given)[i] != 0) {
            return inarch_rt_fail(INARCH_UNSUPPORTED,
                                  "error: inarch_open: expected options of this version, found a field behind them");
        }
    }
    memcpy(own, given, sizeof(*own));
    const int32_t unknown = own->flags & ~(INARCH_UNCHECKED | INARCH_VERIFY | INARCH_PRIVATE);
    if (unknown != 0 || own->reserved != 0) {
        return inarch_rt_fail(INARCH_UNSUPPORTED, "error: inarch_open: expected flags of this version, found %d",
                              (int)(unknown != 0 ? unknown : own->reserved));
    }
    if (own->import_count < 0) {
        return inarch_rt_fail(INARCH_ARGUMENT, "error: inarch_open: expected 0 or more imports, found %d",
                              (int)own->import_count);
    }
    for (int32_t i = 0; i < own->import_count; i++) {
        if (own->imports == NULL || own->imports[i].name == NULL) {
            return inarch_rt_null("inarch_open", own->imports == NULL ? "imports" : "a name of an import");
        }
        if (own->imports[i].function.call == NULL) {
            return inarch_rt_fail(INARCH_ARGUMENT,
                                  "error: inarch_open: import '%s': expected a function, found a null pointer",
                                  own->imports[i].name);
        }
    }
    const inarch_allocator *allocator = own->allocator;
    if (allocator != NULL && (allocator->allocate == NULL || allocator->release == NULL)) {
        return inarch_rt_null("inarch_open", "both functions of the allocator");
    }
    return INARCH_OK;
}

int32_t inarch_open(const char *path, const inarch_options *options, inarch_module **module)
{
    if (path == NULL || module == NULL) {
        return inarch_rt_null("inarch_open", path == NULL ? "a path" : "a place for the module");
    }
    *module = NULL;
    inarch_options own;
    const int32_t good = read_options(options, &own);
    if (good != INARCH_OK) {
        return good;
    }
    pthread_once(&begun, begin);
    int descriptor;
    inarch_rt_identity identity;
    int32_t status = inarch_rt_open_file(path, &descriptor, &identity);
    if (status != INARCH_OK) {
        return status;
    }
    pthread_mutex_lock(&lock);
    status = open_locked(path, descriptor, &identity, &own, module);
    pthread_mutex_unlock(&lock);
    close(descriptor);
    return status;
}

void inarch_close(inarch_module *module)
{
    if (module == NULL) {
        return;
    }
    pthread_mutex_lock(&lock);
    release(module);
    pthread_mutex_unlock(&lock);
}

void inarch_rt_retain(inarch_module *module)
{
    pthread_mutex_lock(&lock);
    module->users++;
    pthread_mutex_unlock(&lock);
}

const void *inarch_module_weights(const inarch_module *module, int64_t *bytes)
{
    if (module == NULL || bytes == NULL) {
        inarch_rt_null("inarch_module_weights", module == NULL ? "a module" : "a place for the size");
        return NULL;
    }
    *bytes = (int64_t)module->index.code.weights_bytes;
    return module->index.code.weights_bytes == 0 ? NULL : module->bytes + module->index.code.weights_offset;
}

const inarch_library *inarch_module_library(const inarch_module *module)
{
    if (module == NULL) {
        inarch_rt_null("inarch_module_library", "a module");
        return NULL;
    }
    return module->library.table;
}

int32_t inarch_set_weights(inarch_module *module, const inarch_weights *weights)
{
    if (module == NULL) {
        return inarch_rt_null("inarch_set_weights", "a module");
    }
    if (module->is_shared) {
        return inarch_rt_fail(INARCH_ARGUMENT,
                              "%s: error: expected a private module, whose weights nobody else uses, found one that is "
                              "shared; open it with INARCH_PRIVATE",
                              module->where);
    }
    const inarch_library *library = module->library.table;
    const inarch_weights *used = weights == NULL ? &module->setup.weights : weights;
    const int32_t status = library->set_weights(module->state, used);
    return status == INARCH_OK ? status : inarch_rt_fail(status, "%s: error: %s", module->where, library->last_error());
}

const char *inarch_module_name(const inarch_module *module)
{
    if (module == NULL) {
        inarch_rt_null("inarch_module_name", "a module");
        return NULL;
    }
    return module->index.name;
}

const char *inarch_module_target(const inarch_module *module)
{
    if (module == NULL) {
        inarch_rt_null("inarch_module_target", "a module");
        return NULL;
    }
    return module->index.code.target;
}

int32_t inarch_function_count(const inarch_module *module)
{
    if (module == NULL) {
        inarch_rt_null("inarch_function_count", "a module");
        return 0;
    }
    return module->index.function_count;
}

const inarch_function *inarch_function_at(const inarch_module *module, int32_t index)
{
    if (module == NULL) {
        inarch_rt_null("inarch_function_at", "a module");
        return NULL;
    }
    if (index < 0 || index >= module->index.function_count) {
        inarch_rt_fail(INARCH_NAME, "%s: error: expected a function from 0 to %d, found %d", module->where,
                       (int)module->index.function_count - 1, (int)index);
        return NULL;
    }
    return &module->index.functions[index];
}

const inarch_function *inarch_function_named(const inarch_module *module, const char *name)
{
    if (module == NULL || name == NULL) {
        inarch_rt_null("inarch_function_named", module == NULL ? "a module" : "a name");
        return NULL;
    }
    for (int32_t i = 0; i < module->index.function_count; i++) {
        if (strcmp(module->index.functions[i].name, name) == 0) {
            return &module->index.functions[i];
        }
    }
    inarch_rt_fail(INARCH_NAME, "%s: error: no function '%s'; the first is '%s'", module->where, name,
                   module->index.function_count == 0 ? "" : module->index.functions[0].name);
    return NULL;
}

/* Whether the function is `name`, or `name__2` and so on: the same for other sizes. */
static int is_size_of(const inarch_function *function, const char *name)
{
    const size_t length = strlen(name);
    if (strncmp(function->name, name, length) != 0) {
        return 0;
    }
    const char *rest = function->name + length;
    if (*rest == 0) {
        return 1;
    }
    return strncmp(rest, "__", 2) == 0 && rest[2] != 0 && strspn(rest + 2, "0123456789") == strlen(rest + 2);
}

static int32_t misfit(const inarch_function *function, const DLTensor *inputs, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        const inarch_port *port = &function->ports[i];
        const int32_t dtype = (int32_t)inputs[i].dtype.code << 8 | inputs[i].dtype.bits;
        if (dtype != port->dtype || inputs[i].ndim != port->rank) {
            return i;
        }
        for (int32_t k = 0; k < port->rank; k++) {
            if (inputs[i].shape[k] != port->shape[k]) {
                return i;
            }
        }
    }
    return -1;
}

const inarch_function *inarch_function_fitting(const inarch_module *module, const char *name,
                                               const DLTensor *inputs, int32_t count)
{
    const inarch_function *first = inarch_function_named(module, name);
    if (first == NULL) {
        return NULL;
    }
    if (count < 0 || count > first->inputs || (inputs == NULL && count != 0)) {
        inarch_rt_fail(INARCH_ARGUMENT, "%s: error: %s: expected at most %d inputs, found %d", module->where,
                       name, (int)first->inputs, inputs == NULL ? 0 : (int)count);
        return NULL;
    }
    for (int32_t i = 0; i < count; i++) {
        if (inputs[i].ndim < 0 || (inputs[i].ndim > 0 && inputs[i].shape == NULL)) {
            inarch_rt_fail(INARCH_ARGUMENT, "%s: error: %s: input '%s': expected a shape of %d sizes, found %s",
                           module->where, name, first->ports[i].name, (int)first->ports[i].rank,
                           inputs[i].ndim < 0 ? "a number of sizes below 0" : "a null pointer");
            return NULL;
        }
    }
    int32_t wrong = 0;
    char known[600] = "";
    size_t used = 0;
    for (int32_t i = 0; i < module->index.function_count; i++) {
        const inarch_function *function = &module->index.functions[i];
        if (!is_size_of(function, name) || function->inputs != first->inputs) {
            continue;
        }
        const int32_t at = misfit(function, inputs, count);
        if (at < 0) {
            return function;
        }
        wrong = at > wrong ? at : wrong;
    }
    for (int32_t i = 0; i < module->index.function_count && used < sizeof(known); i++) {
        const inarch_function *function = &module->index.functions[i];
        if (is_size_of(function, name) && function->inputs == first->inputs) {
            char type[200];
            inarch_port_type(&function->ports[wrong], type, sizeof(type));
            used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", used == 0 ? "" : " or ", type);
        }
    }
    inarch_port given = first->ports[wrong];
    given.dtype = (int32_t)inputs[wrong].dtype.code << 8 | inputs[wrong].dtype.bits;
    given.rank = inputs[wrong].ndim;
    given.shape = inputs[wrong].shape;
    char found[200];
    inarch_port_type(&given, found, sizeof(found));
    inarch_rt_fail(INARCH_ARGUMENT, "%s: error: %s: input '%s': expected %s, found %s; compile the model for it, too",
                   module->where, name, first->ports[wrong].name, known, found);
    return NULL;
}
