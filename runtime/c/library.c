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
    bytes += index->code.library_offset;
    if (strcmp(index->code.loaders[0], "shared-library") != 0) {
        return inarch_rt_fail(
            INARCH_UNSUPPORTED,
            "%s: error: expected a program of the loader 'shared-library', found '%s', which is not "
            "in C; run it from Python",
            where, index->code.loaders[0]);
    }
    if (index->code.library_bytes < 64
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
            where, index->code.target, machine);
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
    for (int iteration = 0; descriptor >= 0 && done == count && handle == NULL && iteration < 1000; iteration++) {
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

/* ISO C has no cast from an object's address to a function's; POSIX says that they are of one kind. */
#define FIND(function, library, prefix, name) \
    do { \
        char symbol[SYMBOL_BYTES]; \
        snprintf(symbol, sizeof(symbol), "%s_%s", prefix, name); \
        void *found = dlsym((library)->handle, symbol); \
        memcpy(&(function), &found, sizeof(found)); \
    } while (0)

int32_t inarch_rt_new_state(const char *where, const inarch_rt_library *library, const inarch_setup *setup,
                            inarch_state **state)
{
    const int32_t status = library->table->state_new(library->table, setup, state);
    if (status != INARCH_OK) {
        return inarch_rt_fail(status, "%s: error: expected to bind the library, found: %s", where,
                              library->table->last_error());
    }
    return status;
}

int32_t inarch_rt_find_entry(const inarch_rt_library *library, const char *name)
{
    for (int32_t i = 0; i < library->table->function_count; i++) {
        if (strcmp(library->table->functions[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

static int is_same_function(const inarch_function *one, const inarch_function *other)
{
    if (one->inputs != other->inputs || one->outputs != other->outputs
        || one->workspace_bytes != other->workspace_bytes) {
        return 0;
    }
    for (int32_t i = 0; i < one->inputs + one->outputs; i++) {
        const inarch_port *a = &one->ports[i], *b = &other->ports[i];
        if (a->dtype != b->dtype || a->rank != b->rank) {
            return 0;
        }
        for (int32_t axis = 0; axis < a->rank; axis++) {
            if (a->shape[axis] != b->shape[axis]) {
                return 0;
            }
        }
    }
    return 1;
}

/* That the code is what the index says. */
static int32_t check_table(const char *where, const inarch_rt_index *index, const inarch_rt_library *library)
{
    const inarch_library *(*table)(void);
    int32_t (*version)(void);
    FIND(version, library, index->prefix, "abi_version");
    FIND(table, library, index->prefix, "library");
    if (version == NULL || table == NULL || library->pool == NULL || version() != INARCH_ABI_VERSION
        || table()->abi != INARCH_ABI_VERSION) {
        return inarch_rt_fail(
            INARCH_FILE,
            "%s: error: expected a library '%s' of ABI version %d, found another; compile the model "
            "again",
            where, index->prefix, INARCH_ABI_VERSION);
    }
    const char *digest = table()->weights_sha256;
    if (strcmp(digest, index->code.weights_sha256) != 0) {
        return inarch_rt_fail(
            INARCH_FILE,
            "%s: error: expected weights of SHA-256 %.16s..., with which the library was compiled, "
            "found %.16s...; compile the model again",
            where, digest, index->code.weights_sha256);
    }
    return INARCH_OK;
}

static int32_t check_functions(const char *where, const inarch_rt_index *index, const inarch_rt_library *library)
{
    for (int32_t i = 0; i < index->function_count; i++) {
        const inarch_function *function = &index->functions[i];
        const int32_t entry = inarch_rt_find_entry(library, function->name);
        if (entry < 0 || !is_same_function(function, &library->table->functions[entry])) {
            return inarch_rt_fail(INARCH_FILE, "%s: error: expected the function '%s' in the library, found %s", where,
                                  function->name, entry < 0 ? "none" : "one of other arguments");
        }
    }
    return INARCH_OK;
}

/* Libraries of others may have threads, or hooks in the process, that outlive all calls: they stay open. */
static void keep_open(int32_t count, char (*paths)[INARCH_RT_PATH])
{
    for (int32_t i = 0; i < count; i++) {
        void *handle = dlopen(paths[i], RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
        if (handle != NULL) {
            dlclose(handle);
        }
    }
}

/* Through a copy in which it is said where the libraries are that it needs. */
static int32_t open_with_libraries(const char *where, const unsigned char *bytes,
                                   const inarch_rt_variant *code, const inarch_options *options,
                                   inarch_rt_library *library, const char **reason)
{
    const size_t size = (size_t)code->library_bytes;
    char(*paths)[INARCH_RT_PATH] = (char(*)[INARCH_RT_PATH])calloc((size_t)code->library_count, INARCH_RT_PATH);
    unsigned char *copy = (unsigned char *)malloc(size);
    int32_t status = INARCH_OK;
    if (paths == NULL || copy == NULL) {
        status = inarch_rt_fail(INARCH_NO_MEMORY, "%s: error: no memory for a copy of its library", where);
    } else {
        memcpy(copy, bytes + code->library_offset, size);
    }
    for (int32_t i = 0; i < code->library_count && status == INARCH_OK; i++) {
        const int is_verified = (options->flags & INARCH_VERIFY) != 0;
        status = inarch_rt_find_library(where, &code->libraries[i], is_verified, paths[i]);
        if (status == INARCH_OK) {
            inarch_rt_set_needed(copy, size, i, paths[i]);
        }
    }
    if (status == INARCH_OK) {
        library->handle = open_copy(copy, size, reason);
        keep_open(library->handle == NULL ? 0 : code->library_count, paths);
    }
    free(copy);
    free(paths);
    return status;
}

/* Leaves NULL in `library->handle`, and the `reason`, where the dynamic loader refuses it. */
static int32_t open_library(const char *where, int descriptor, const unsigned char *bytes,
                            const inarch_rt_variant *code, const inarch_options *options,
                            inarch_rt_library *library, const char **reason)
{
    if (code->library_count > 0) {
        return open_with_libraries(where, bytes, code, options, library, reason);
    }
    if (code->library_offset == 0) { /* the dynamic loader opens what a file begins with */
        library->handle = open_new(descriptor, reason);
    }
    if (library->handle == NULL && *reason == NULL) {
        library->handle = open_copy(bytes + code->library_offset, (size_t)code->library_bytes, reason);
    }
    return INARCH_OK;
}

static int32_t load_variant(const char *where, int descriptor, const unsigned char *bytes,
                            const inarch_rt_index *index, const inarch_options *options,
                            inarch_rt_library *library)
{
    const char *reason = NULL;
    int32_t status = check_machine(where, bytes, index);
    if (status != INARCH_OK) {
        return status;
    }
    status = open_library(where, descriptor, bytes, &index->code, options, library, &reason);
    if (status != INARCH_OK) {
        return status;
    }
    if (library->handle == NULL) {
        return inarch_rt_fail(INARCH_UNREADABLE, "%s: error: cannot be opened: %s", where,
                              reason == NULL ? "its names are in use" : reason);
    }
    FIND(library->pool, library, index->prefix, "pool");
    status = check_table(where, index, library);
    if (status == INARCH_OK) {
        const inarch_library *(*table)(void);
        FIND(table, library, index->prefix, "library");
        library->table = table();
        status = check_functions(where, index, library);
    }
    if (status == INARCH_OK && library->table->check() != INARCH_OK) { /* before the next variant is tried */
        status = inarch_rt_fail(INARCH_CPU_LACKS, "%s: error: %s; compile the model for a --target that this CPU is",
                                where, library->table->last_error());
    }
    if (status != INARCH_OK) {
        dlclose(library->handle);
        library->handle = NULL;
        return status;
    }
    return INARCH_OK;
}

/* The targets that there are, or what each needs: `x86-64-v4 needs avx512f, avx512vl; ...`. */
static void list_variants(const inarch_rt_index *index, int is_long, char *said, size_t size)
{
    size_t used = 0;
    said[0] = 0;
    for (int32_t i = 0; i < index->variant_count && used < size; i++) {
        const inarch_rt_variant *one = &index->variants[i];
        used += (size_t)snprintf(said + used, size - used, "%s%s%s%s", i == 0 ? "" : is_long ? "; " : ", ",
                                 one->target, is_long ? " needs " : "", is_long ? one->features : "");
    }
}

int32_t inarch_rt_load(const char *where, int descriptor, const unsigned char *bytes, inarch_rt_index *index,
                       const inarch_options *options, inarch_rt_library *library)
{
    char said[1500];
    const char *asked = getenv("INARCH_TARGET"); /* for tests and comparisons */
    const int is_chosen = index->variant_count > 1 && asked != NULL && *asked != 0;
    for (int32_t i = 0; i < index->variant_count; i++) {
        if (is_chosen && strcmp(index->variants[i].target, asked) != 0) {
            continue;
        }
        inarch_rt_use(index, i);
        const int32_t status = load_variant(where, descriptor, bytes, index, options, library);
        if (status != INARCH_CPU_LACKS || is_chosen || index->variant_count == 1) {
            return status;
        }
    }
    list_variants(index, !is_chosen, said, sizeof(said));
    if (is_chosen) {
        return inarch_rt_fail(INARCH_CPU_LACKS, "%s: error: INARCH_TARGET: expected one of %s, found '%s'",
                              where, said, asked);
    }
    return inarch_rt_fail(INARCH_CPU_LACKS,
                          "%s: error: expected code for this CPU, found code for others (%s); compile the "
                          "model for a --target that this CPU is",
                          where, said);
}
