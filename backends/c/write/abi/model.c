/* The C of model.c, of every model its own: pieces that are filled in. */
//: PUBLIC

INARCH_C INARCH_PUBLIC INARCH_BASELINE const inarch_library *${prefix}_library(void);
INARCH_C INARCH_PUBLIC INARCH_BASELINE int32_t ${prefix}_abi_version(void);
INARCH_C INARCH_PUBLIC INARCH_BASELINE int32_t ${prefix}_bind(
    const void *weights, int64_t nbytes, const inarch_import *imports, int32_t count);
INARCH_C INARCH_PUBLIC INARCH_BASELINE const char *${prefix}_weights_sha256(void);
INARCH_C INARCH_PUBLIC INARCH_BASELINE const char *${prefix}_last_error(void);
INARCH_C INARCH_PUBLIC INARCH_BASELINE int32_t ${prefix}_set_threads(int32_t threads);
INARCH_C INARCH_PUBLIC INARCH_BASELINE const inarch_pool *${prefix}_pool(const inarch_pool *use);
//: PUBLIC_FUNCTION
INARCH_C INARCH_PUBLIC int32_t ${stem}(DLTensor *args, int32_t n);
INARCH_C INARCH_PUBLIC int32_t ${stem}_run(
    void *const *buffers, const void *weights, void *workspace);
//: LINKED

/* Defined by the C of the backend ${backend}. */
INARCH_C int32_t ${symbol}(void *self, DLTensor *args, int32_t n);
//: IMPORTS

static inarch_import inarch_imports[${count}]${values};
static const char *const inarch_import_names[${count}] = {${names}};
static const char *const inarch_import_owners[${count}] = {${owners}};

/* Who says why the function that fills a slot failed. */
static struct {
    int32_t (*call)(void *self, DLTensor *args, int32_t n);
    const char *(*last_error)(void);
} inarch_explained[${count}]${explained};

INARCH_C INARCH_PUBLIC INARCH_BASELINE void ${prefix}_explain(
    int32_t slot, const inarch_import *import, const char *(*last_error)(void));

void ${prefix}_explain(int32_t slot, const inarch_import *import, const char *(*last_error)(void))
{
    inarch_explained[slot].call = import->call;
    inarch_explained[slot].last_error = last_error;
}

static int32_t inarch_call_import(int32_t slot, DLTensor *args, int32_t n)
{
    const inarch_import *entry = &(inarch_here.imports != NULL ? inarch_here.imports : inarch_imports)[slot];
    if (entry->call == NULL) {
        return inarch_fail(2, "import '%s' is not bound; call ${prefix}_bind first",
                           inarch_import_names[slot]);
    }
    const int32_t status = entry->call(entry->self, args, n);
    if (status == 0) {
        return 0;
    }
    /* A state may have filled the slot with another function. */
    const int is_known = inarch_explained[slot].call == entry->call;
    const char *why = is_known ? inarch_explained[slot].last_error() : NULL;
    if (why != NULL && *why != 0) {
        inarch_fail(status, "import '%s' failed: %s%s", inarch_import_names[slot], why,
                    inarch_import_owners[slot]);
    } else {
        inarch_fail(status, "import '%s' failed with code %d%s", inarch_import_names[slot],
                    (int)status, inarch_import_owners[slot]);
    }
    return status;
}
//: CALL_CHECKED

/* Fills an output with bytes, or tells whether it still is what it was filled with. Bytes of 0xff are
   a quiet NaN of every float type. */
static int inarch_visit(const DLTensor *tensor, int round, int fill)
{
    const int is_float = tensor->dtype.code == 2 || tensor->dtype.code == 4;
    const unsigned char pattern = round % 2 != 0 ? 0x5a : is_float ? 0xff : 0xa5;
    const int64_t size = tensor->dtype.bits / 8;
    int64_t count = 1;
    for (int32_t i = 0; i < tensor->ndim; i++) {
        count *= tensor->shape[i];
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i, place = 0;
        for (int32_t k = tensor->ndim - 1; k >= 0; k--) {
            place += rest % tensor->shape[k] * tensor->strides[k];
            rest /= tensor->shape[k];
        }
        unsigned char *bytes = (unsigned char *)tensor->data + tensor->byte_offset + place * size;
        for (int64_t k = 0; k < size; k++) {
            if (fill) {
                bytes[k] = pattern;
            } else if (bytes[k] != pattern) {
                return 0;
            }
        }
    }
    return count != 0;
}

/* Calls an import and fails when it leaves an output as it was. A value may be what the output was
   filled with: such a call is made again with other bytes, and only what withstands both is refused. */
static int32_t inarch_call_checked(int32_t slot, DLTensor *args, int32_t n, int32_t inputs)
{
    int32_t suspect = inputs - 1;
    for (int round = 0;; round++) {
        for (int32_t i = inputs; i < n; i++) {
            inarch_visit(&args[i], round, 1);
        }
        const int32_t status = inarch_call_import(slot, args, n);
        if (status != 0) {
            return status;
        }
        int32_t found = suspect < inputs ? inputs : suspect;
        while (found < n && !inarch_visit(&args[found], round, 0)) {
            found++;
        }
        if (found == n) {
            return 0;
        }
        if (found == suspect) {
            return inarch_fail(4, "%s: output %d was never written%s", inarch_import_names[slot],
                               (int)(found - inputs), inarch_import_owners[slot]);
        }
        suspect = found;
    }
}
//: TABLES

${ports}static const inarch_model inarch_self = {
    {
        sizeof(inarch_library),
        INARCH_ABI_VERSION,
        "${prefix}",
        ${target},
        ${features},
        "${digest}",
        ${bytes},
        INARCH_CPU,
        ${functions},
        ${count},
        sizeof(inarch_function),
        sizeof(inarch_port),
        0,
        ${function_table},
        ${entry_table},
        ${import_names},
        ${pool},
        inarch_check_cpu,
        inarch_last_message,
        ${state_new},
        ${state_free},
        inarch_set_weights,
        inarch_set_stream,
        inarch_shapes,
        inarch_run,
        inarch_release,
    },
    ${imports},
    ${slots},
    0,
    ${workspace},
    ${embedded},
    ${threads},
    ${indices},
    ${indices_count},
    0,
};

/* Of calls by the functions below. */
static inarch_state inarch_default = {
    &inarch_self, ${imports}, NULL, {NULL, NULL, NULL}, {NULL, NULL}, ${bound}, 0, NULL, 0,
    {{{${embedded}, 0, NULL, NULL}, 0, 1, 0}},
};
//: ENTRY

int32_t ${stem}(DLTensor *args, int32_t n)
{
    return inarch_run(&inarch_default, ${index}, args, n, NULL);
}
//: OWN_ENTRY

int32_t ${stem}(DLTensor *args, int32_t n)
{
    if (!inarch_default.is_bound) {
        return inarch_own_run(&inarch_self, &inarch_default, ${index}, args, n);
    }
    return inarch_run(&inarch_default, ${index}, args, n, NULL);
}
//: BIND

const inarch_library *${prefix}_library(void)
{
    return &inarch_self.library;
}

int32_t ${prefix}_abi_version(void)
{
    return INARCH_ABI_VERSION;
}

const char *${prefix}_weights_sha256(void)
{
    return inarch_self.library.weights_sha256;
}

const char *${prefix}_last_error(void)
{
    return inarch_last_message();
}

int32_t ${prefix}_bind(
    const void *weights, int64_t nbytes, const inarch_import *imports, int32_t count)
{
    return ${bind_begin}inarch_bind_state(
        &inarch_default, ${imports}, weights, nbytes, imports, count)${bind_end};
}

int32_t ${prefix}_set_threads(int32_t threads)
{
    return inarch_limit_threads(&inarch_self, threads);
}
//: HOOKS

/* Defined by the C of a backend, as are the functions that are given the state. */
INARCH_C int32_t ${name}_init(void **state);
INARCH_C void ${name}_destroy(void *state);
INARCH_C const char *${name}_last_error(void);
//: LINKED_BEGIN

/* Whose state is given to which slot; -1: nobody's. */
static const struct {
    const char *name;
    int32_t (*init)(void **state);
    void (*destroy)(void *state);
    const char *(*last_error)(void);
} inarch_linked[${count}] = {${hooks}};
static const int32_t inarch_linked_of[${slots}] = {${owners}};

/* Ends those of the first `count` backends. */
static void inarch_linked_end(const inarch_import *table, int32_t count)
{
    for (int32_t part = count - 1; part >= 0; part--) {
        int32_t slot = 0;
        while (inarch_linked_of[slot] != part) {
            slot++;
        }
        inarch_linked[part].destroy(table[slot].self);
    }
}

static int32_t inarch_linked_begin(inarch_import *table)
{
    for (int32_t part = 0; part < ${count}; part++) {
        void *own = NULL;
        const int32_t status = inarch_linked[part].init(&own);
        if (status != 0) {
            const char *why = inarch_linked[part].last_error();
            inarch_linked_end(table, part);
            return inarch_fail(status, "${prefix}: '%s' does not begin: %s", inarch_linked[part].name,
                               why == NULL || *why == 0 ? "it does not say why" : why);
        }
        for (int32_t slot = 0; slot < ${slots}; slot++) {
            if (inarch_linked_of[slot] == part) {
                table[slot].self = own;
            }
        }
    }
    return 0;
}

static void inarch_linked_state_free(inarch_state *state)
{
    if (state != NULL) {
        inarch_linked_end(state->imports, ${count});
    }
    inarch_state_free(state);
}

static int32_t inarch_linked_state_new(
    const inarch_library *library, const inarch_setup *setup, inarch_state **state)
{
    int32_t status = inarch_state_new(library, setup, state);
    if (status == 0) {
        status = inarch_linked_begin((inarch_import *)(uintptr_t)(*state)->imports);
        if (status != 0) {
            inarch_state_free(*state);
            *state = NULL;
        }
    }
    return status;
}
//: LINKED_BIND

static int32_t inarch_linked_has_begun;

/* After the rest of `${prefix}_bind`, which gave `status`. */
static int32_t inarch_linked_bind(int32_t status)
{
    if (status == 0 && !inarch_linked_has_begun) {
        status = inarch_linked_begin(inarch_imports);
        inarch_linked_has_begun = status == 0;
        inarch_default.is_bound = status == 0;
    }
    return status;
}

/* When the library is closed, or the process ends: no call runs any more. */
__attribute__((destructor)) static void inarch_linked_close(void)
{
    if (inarch_linked_has_begun) {
        inarch_linked_has_begun = 0;
        inarch_linked_end(inarch_imports, ${count});
    }
}
//: FALLBACK

/* The host runs what a device does not. Who is told of it (each time), else standard error (once). */
typedef void (*inarch_told)(void *self, int32_t slot, const char *why);
static struct {
    inarch_told call;
    void *self;
} inarch_tell;
static int32_t inarch_is_told;

INARCH_C INARCH_PUBLIC INARCH_BASELINE void ${prefix}_on_fallback(inarch_told call, void *self);
INARCH_C INARCH_PUBLIC INARCH_BASELINE int32_t ${prefix}_absent(void *self, DLTensor *args, int32_t n);

/* Not to be called at the same time as anything else of the library. */
void ${prefix}_on_fallback(inarch_told call, void *self)
{
    inarch_tell.call = call;
    inarch_tell.self = self;
}

/* What fills a slot whose device is missing, of which whoever fills it has told. */
int32_t ${prefix}_absent(void *self, DLTensor *args, int32_t n)
{
    (void)self, (void)args, (void)n;
    return INARCH_UNSUPPORTED;
}

static int32_t inarch_fall_back(int32_t slot, inarch_entry host, void *const *buffers, const void *weights,
                                int64_t bytes)
{
    const inarch_import *table = inarch_here.imports != NULL ? inarch_here.imports : inarch_imports;
    if (table[slot].call != ${prefix}_absent) {
        if (inarch_tell.call != NULL) {
            inarch_tell.call(inarch_tell.self, slot, inarch_last_message());
        } else if (__atomic_exchange_n(&inarch_is_told, 1, __ATOMIC_RELAXED) == 0) {
            fprintf(stderr, "%s: warning: %s; the host runs it\n", ${name}, inarch_last_message());
        }
    }
    void *workspace = NULL;
    if (bytes > 0 && (workspace = aligned_alloc(64, (size_t)bytes)) == NULL) {
        return inarch_fail(INARCH_NO_MEMORY, "no memory to run '%s' on the host", inarch_import_names[slot]);
    }
    const int32_t status = host(buffers, weights, workspace);
    free(workspace);
    return status;
}
//: POOL

const inarch_pool *${prefix}_pool(const inarch_pool *use)
{
    if (use != NULL) {
        inarch_used_pool = use;
    }
    return &inarch_own_pool;
}
//: NO_POOL

const inarch_pool *${prefix}_pool(const inarch_pool *use)
{
    (void)use;
    return NULL;
}
//: POOL_INCLUDES Before all other headers: C11 alone has neither clocks nor threads of POSIX.

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
//: OWN_POOL

/* Defined in pool.c, which is the same for all models. */
__attribute__((visibility("hidden"))) extern const inarch_pool inarch_own_pool;
__attribute__((visibility("hidden"))) int32_t inarch_pool_threads(void);
//: SHARE

/* Who runs the loops where a call's state does not say. */
static const inarch_pool *inarch_used_pool = &inarch_own_pool;

typedef struct {
    inarch_task task;
    void *context;
} inarch_shared;

static void inarch_share_part(void *context, int64_t begin, int64_t end, int32_t part)
{
    INARCH_ENVIRONMENT;
    const inarch_shared *shared = (const inarch_shared *)context;
    shared->task(shared->context, begin, end, part);
}

/* `room`: for how many threads there is a workspace; 0: the loop needs none. noinline: in a copy for each of
   hundreds of loops it is most of what this unit takes to compile. */
static __attribute__((noinline)) void inarch_share(
    int64_t count, int32_t room, inarch_task task, void *context)
{
    int32_t threads = inarch_here.threads;
${most}    if (room != 0) {
        threads = threads == 0 ? inarch_pool_threads() : threads;
        threads = threads < 1 ? 1 : threads > room ? room : threads;
    }
    if (threads == 1) {
        task(context, 0, count, 0);
        return;
    }
    const inarch_pool *pool = inarch_here.pool != NULL ? inarch_here.pool : inarch_used_pool;
    inarch_shared shared = {task, context};
    pool->run(pool->self, threads, count, inarch_share_part, &shared);
}
//: MOST
    threads = threads == 0 ? inarch_pool_threads() : threads;
    threads = threads < 1 ? 1 : threads > ${most} ? ${most} : threads;
//: STUB

INARCH_C INARCH_PUBLIC INARCH_BASELINE int32_t __tvm_ffi_${symbol}(
    void *self, const void *args, int32_t n, void *result);
int32_t __tvm_ffi_${symbol}(void *self, const void *args, int32_t n, void *result)
{
    (void)self;
    return inarch_ffi_call(&inarch_self, &inarch_default, ${index}, args, n, result);
}
//: OWN Calls of a library that nobody has bound.

__attribute__((visibility("hidden"))) INARCH_BASELINE int32_t inarch_own_begin(
    const inarch_model *model, inarch_state *bound, const char *function, inarch_state **state);
__attribute__((visibility("hidden"))) INARCH_BASELINE void inarch_own_end(void);
__attribute__((visibility("hidden"))) INARCH_BASELINE int32_t inarch_own_run(
    const inarch_model *model, inarch_state *bound, int32_t index, DLTensor *args, int32_t n);
//: CALL

__attribute__((visibility("hidden"))) INARCH_BASELINE int32_t inarch_ffi_call(
    const inarch_model *model, inarch_state *bound, int32_t function, const void *args, int32_t n,
    void *result);
//: FFI_INCLUDES

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
