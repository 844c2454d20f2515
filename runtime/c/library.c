/* The code of an artifact in this process: checked against this machine, opened, bound to weights and
 * imports.
 *
 * The dynamic loader gives the code that it has for a name or a file that is open already, so a file is
 * opened under a name that nobody used, and one that is open (as another state of it, or by others) through a
 * copy in memory. */
#include "internal.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
#define MACHINE 62
#define MACHINE_NAME "x86-64"
#elif defined(__aarch64__)
#define MACHINE 183
#define MACHINE_NAME "aarch64"
#else
#define MACHINE 0 /* the dynamic loader says whether it can be opened */
#define MACHINE_NAME "this machine"
#endif

#define SYMBOL_BYTES 1100 /* prefix and function have at most 500 each */

static int32_t check_machine(const char *where, const unsigned char *bytes, const inarch_rt_index *index)
{
    if (strcmp(index->loaders[0], "shared-library") != 0) {
        return inarch_rt_fail(
            INARCH_UNSUPPORTED,
            "%s: error: expected a program of the loader 'shared-library', found '%s', which is not "
            "in C; run it from Python",
            where, index->loaders[0]);
    }
    if (index->loader_count > 1) {
        return inarch_rt_fail(
            INARCH_UNSUPPORTED,
            "%s: error: expected no submodules, found one of the loader '%s', which is not in C; run "
            "it from Python, or compile the model without that backend",
            where, index->loaders[1]);
    }
    if (index->library_bytes < 64
        || memcmp(bytes,
                  "\x7f"
                  "ELF",
                  4)
               != 0) {
        return inarch_rt_fail(INARCH_FILE, "%s: error: expected a shared library at its start, found none",
                              where);
    }
    const int machine = bytes[18] | bytes[19] << 8;
    if (MACHINE != 0 && machine != MACHINE) {
        return inarch_rt_fail(
            INARCH_CPU_LACKS,
            "%s: error: expected code for " MACHINE_NAME
            ", found code for the target '%s' (ELF machine %d); compile the model for this machine",
            where, index->target, machine);
    }
    for (int32_t i = 0; i < index->library_count; i++) {
        const inarch_rt_external *one = &index->libraries[i];
        if (access(one->path, F_OK) != 0) {
            return inarch_rt_fail(INARCH_UNREADABLE,
                                  "%s: error: %s '%s', which does not exist; %s, or recompile where it is",
                                  where, one->caller, one->path, one->remedy);
        }
    }
    return INARCH_OK;
}

/* A spelling of the descriptor's path that had no library before: `./` and `/` change nothing but the name.
 * Called by one thread at a time. */
static void new_name(int descriptor, char *name, size_t size)
{
    static uint64_t count;
    size_t used = (size_t)snprintf(name, size, "/proc/./self/fd/");
    for (uint64_t rest = ++count; rest > 0; rest >>= 1) {
        used += (size_t)snprintf(name + used, size - used, "%s", (rest & 1) != 0 ? "/" : "./");
    }
    snprintf(name + used, size - used, "%d", descriptor);
}

/* NULL where the loader has that name, or that file, already. */
static void *open_new(int descriptor, const char **reason)
{
    char name[256];
    new_name(descriptor, name, sizeof(name));
    void *present = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
    if (present != NULL) {
        dlclose(present);
        *reason = NULL;
        return NULL;
    }
    dlerror();
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    *reason = handle == NULL ? dlerror() : NULL;
    return handle;
}

static void *open_copy(const unsigned char *bytes, size_t count, const char **reason)
{
    const int descriptor = memfd_create("inarch", MFD_CLOEXEC);
    void *handle = NULL;
    size_t done = 0;
    *reason = "no memory for a copy of it";
    while (descriptor >= 0 && done < count) {
        const ssize_t more = write(descriptor, bytes + done, count - done);
        if (more < 0 && errno == EINTR) {
            continue;
        }
        if (more <= 0) {
            break;
        }
        done += (size_t)more;
    }
    /* Another copy of this source in the process may have used the name: then the next one. */
    for (int turn = 0; descriptor >= 0 && done == count && handle == NULL && turn < 1000; turn++) {
        handle = open_new(descriptor, reason);
        if (*reason != NULL) {
            break;
        }
    }
    if (descriptor >= 0) {
        close(descriptor);
    }
    return handle;
}

static void *find(const inarch_rt_library *library, const char *prefix, const char *middle, const char *end)
{
    char symbol[SYMBOL_BYTES];
    snprintf(symbol, sizeof(symbol), "%s_%s%s", prefix, middle, end);
    return dlsym(library->handle, symbol);
}

/* ISO C has no cast from an object's address to a function's; POSIX says that they are of one kind. */
#define FIND(function, library, prefix, middle, end) \
    do { \
        void *found = find(library, prefix, middle, end); \
        memcpy(&(function), &found, sizeof(found)); \
    } while (0)

inarch_rt_entry inarch_rt_find_entry(const inarch_rt_library *library, const char *prefix,
                                     const char *function)
{
    inarch_rt_entry entry;
    FIND(entry, library, prefix, function, "_run");
    return entry;
}

static int32_t fill_imports(const char *where, const inarch_rt_index *index, const inarch_options *options,
                            inarch_import *table)
{
    for (int32_t i = 0; i < index->import_count; i++) {
        for (int32_t k = 0; k < options->import_count; k++) {
            if (strcmp(options->imports[k].name, index->imports[i]) == 0) {
                table[i] = options->imports[k].function;
            }
        }
        if (table[i].call == NULL) {
            return inarch_rt_fail(
                INARCH_UNBOUND,
                "%s: error: import '%s' is not filled; give a function of that name in the options' "
                "imports",
                where, index->imports[i]);
        }
    }
    return INARCH_OK;
}

static int32_t bind_library(const char *where, const unsigned char *bytes, const inarch_rt_index *index,
                            const inarch_options *options, const inarch_rt_library *library)
{
    int32_t (*version)(void);
    const char *(*digest)(void);
    int32_t (*bind)(const void *, int64_t, const inarch_import *, int32_t);
    FIND(version, library, index->prefix, "abi_version", "");
    FIND(digest, library, index->prefix, "weights_sha256", "");
    FIND(bind, library, index->prefix, "bind", "");
    if (version == NULL || digest == NULL || bind == NULL || library->last_error == NULL
        || library->set_threads == NULL || library->pool == NULL || version() != INARCH_ABI_VERSION) {
        return inarch_rt_fail(
            INARCH_FILE,
            "%s: error: expected a library '%s' of ABI version %d, found another; compile the model "
            "again",
            where, index->prefix, INARCH_ABI_VERSION);
    }
    if (strcmp(digest(), index->weights_sha256) != 0) {
        return inarch_rt_fail(
            INARCH_FILE,
            "%s: error: expected weights of SHA-256 %.16s..., with which the library was compiled, "
            "found %.16s...; compile the model again",
            where, digest(), index->weights_sha256);
    }
    inarch_import *table = (inarch_import *)calloc((size_t)index->import_count + 1, sizeof(*table));
    if (table == NULL) {
        return inarch_rt_fail(INARCH_NO_MEMORY, "%s: error: no memory for its imports", where);
    }
    const void *weights = index->weights_bytes != 0 ? bytes + index->weights_offset : NULL;
    int32_t status = fill_imports(where, index, options, table);
    if (status == INARCH_OK) {
        status = bind(weights, (int64_t)index->weights_bytes, table, index->import_count);
        if (status == INARCH_CPU_LACKS) {
            inarch_rt_fail(status, "%s: error: %s; compile the model for a --target that this CPU is", where,
                           library->last_error());
        } else if (status != INARCH_OK) {
            inarch_rt_fail(status, "%s: error: expected to bind the library, found: %s", where,
                           library->last_error());
        }
    }
    free(table);
    return status;
}

/* Libraries of others may have threads, or hooks in the process, that outlive all calls: they stay open. */
static void keep_open(const inarch_rt_index *index)
{
    for (int32_t i = 0; i < index->library_count; i++) {
        void *handle = dlopen(index->libraries[i].path, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
        if (handle != NULL) {
            dlclose(handle);
        }
    }
}

int32_t inarch_rt_load(const char *where, int descriptor, const unsigned char *bytes,
                       const inarch_rt_index *index, const inarch_options *options,
                       inarch_rt_library *library)
{
    const char *reason = NULL;
    int32_t status = check_machine(where, bytes, index);
    if (status != INARCH_OK) {
        return status;
    }
    library->handle = open_new(descriptor, &reason);
    if (library->handle == NULL && reason == NULL) {
        library->handle = open_copy(bytes, (size_t)index->library_bytes, &reason);
    }
    if (library->handle == NULL) {
        return inarch_rt_fail(INARCH_UNREADABLE, "%s: error: cannot be opened: %s", where,
                              reason == NULL ? "its names are in use" : reason);
    }
    FIND(library->last_error, library, index->prefix, "last_error", "");
    FIND(library->set_threads, library, index->prefix, "set_threads", "");
    FIND(library->pool, library, index->prefix, "pool", "");
    status = bind_library(where, bytes, index, options, library);
    for (int32_t i = 0; i < index->function_count && status == INARCH_OK; i++) {
        if (inarch_rt_find_entry(library, index->prefix, index->functions[i].name) == NULL) {
            status = inarch_rt_fail(INARCH_FILE,
                                    "%s: error: expected the function '%s' in the library, found none", where,
                                    index->functions[i].name);
        }
    }
    if (status != INARCH_OK) {
        dlclose(library->handle);
        library->handle = NULL;
        return status;
    }
    keep_open(index);
    return INARCH_OK;
}
