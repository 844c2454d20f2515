/* Parts of a program that are of a backend's own format: the loader of each found, checked, and given the bytes. */
#include "internal.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_SIZE (offsetof(inarch_loader, last_error) + sizeof(const char *(*)(void)))
#define SAID_BYTES 300
/* Whether a table is long enough for a function that it may leave out, and has it. */
#define HAS(table, name) \
    ((table)->size >= offsetof(inarch_loader, name) + sizeof((table)->name) && (table)->name != NULL)

/* One part, open. */
struct inarch_rt_loaded {
    void *handle;
    const inarch_loader *table;
    void *state;
    int is_loaded;
    const inarch_function *functions;
    int32_t count;
    inarch_blob *weights;
};

static int has_all(const inarch_loader *table)
{
    return table->size >= LEAST_SIZE && table->name != NULL && table->formats != NULL && table->load != NULL
           && table->list != NULL && table->bind != NULL && table->execute != NULL && table->destroy != NULL
           && table->last_error != NULL && table->function_size >= (int32_t)sizeof(inarch_function)
           && table->port_size >= (int32_t)sizeof(inarch_port);
}

static int32_t check_loader(const char *where, const char *path, const inarch_loader *table)
{
    if (table == NULL || table->version != INARCH_LOADER_VERSION) {
        return inarch_rt_fail(INARCH_UNSUPPORTED,
                              "%s: error: loader '%s': expected version %d of inarch_loader.h, found version %d; "
                              "build it with the header of this Inarch",
                              where, path, INARCH_LOADER_VERSION, table == NULL ? 0 : (int)table->version);
    }
    if (!has_all(table)) {
        return inarch_rt_fail(INARCH_UNSUPPORTED,
                              "%s: error: loader '%s': expected all fields of version %d of inarch_loader.h, found one "
                              "missing; build it with the header of this Inarch",
                              where, path, INARCH_LOADER_VERSION);
    }
    if (table->device_type != INARCH_CPU) {
        return inarch_rt_fail(INARCH_UNSUPPORTED,
                              "%s: error: loader '%s': expected one that takes the host's memory, found one of the "
                              "device type %d",
                              where, path, (int)table->device_type);
    }
    return INARCH_OK;
}

static int32_t open_loader(const char *where, const char *path, inarch_rt_loaded *part)
{
    const inarch_loader *(*get)(void);
    char here[INARCH_RT_PATH];
    /* Without a slash the system's folders would be searched. */
    snprintf(here, sizeof(here), "%s%s", strchr(path, '/') == NULL ? "./" : "", path);
    dlerror();
    part->handle = dlopen(here, RTLD_NOW | RTLD_LOCAL);
    if (part->handle == NULL) {
        return inarch_rt_fail(INARCH_UNREADABLE, "%s: error: loader '%s' cannot be opened: %s", where, path, dlerror());
    }
    void *found = dlsym(part->handle, "inarch_loader_table");
    memcpy(&get, &found, sizeof(found)); /* ISO C has no such cast; POSIX says that they are of one kind */
    if (found == NULL) {
        return inarch_rt_fail(INARCH_UNSUPPORTED,
                              "%s: error: loader '%s': expected the function 'inarch_loader_table', found none", where,
                              path);
    }
    part->table = get();
    return check_loader(where, path, part->table);
}

static void close_loader(inarch_rt_loaded *part)
{
    if (part->is_loaded) {
        part->table->destroy(part->state);
    }
    free(part->weights);
    if (part->handle != NULL) {
        dlclose(part->handle);
    }
    memset(part, 0, sizeof(*part));
}

static int reads(const inarch_loader *table, const char *format)
{
    for (const char *const *at = table->formats; *at != NULL; at++) {
        if (strcmp(*at, format) == 0) {
            return 1;
        }
    }
    return 0;
}

static int32_t refuse_formats(const char *where, const char *path, const char *format, const inarch_loader *table)
{
    char said[SAID_BYTES] = "";
    size_t used = 0;
    for (const char *const *at = table->formats; *at != NULL && used < sizeof(said); at++) {
        used += (size_t)snprintf(said + used, sizeof(said) - used, "%s'%s'", at == table->formats ? "" : ", ", *at);
    }
    return inarch_rt_fail(INARCH_UNSUPPORTED, "%s: error: loader '%s': expected one that reads '%s', found one of %s",
                          where, path, format, said[0] == 0 ? "nothing" : said);
}

/* The loader of the format: among those that are given, else by its name. */
static int32_t find_loader(const char *where, const char *format, const char *package, const inarch_options *options,
                           inarch_rt_loaded *part)
{
    char name[INARCH_RT_PATH], path[INARCH_RT_PATH];
    for (const char *const *at = options->loaders; at != NULL && *at != NULL; at++) {
        const int32_t status = open_loader(where, *at, part);
        if (status != INARCH_OK || reads(part->table, format)) {
            return status;
        }
        close_loader(part);
    }
    const int used = snprintf(name, sizeof(name), "inarch-loader-%s.so", format);
    if ((size_t)used >= sizeof(name) || !inarch_rt_find_file(where, name, path)) {
        return inarch_rt_fail(INARCH_UNSUPPORTED,
                              "%s: error: expected a loader in C of the format '%s', found no 'inarch-loader-%s.so' "
                              "beside the artifact or in INARCH_LIBRARY_PATH, and none that is given; %s%s%srun it from "
                              "Python, or compile the model without that backend",
                              where, format, format, *package == 0 ? "" : "install ",
                              *package == 0 ? "" : package, *package == 0 ? "" : ", ");
    }
    const int32_t status = open_loader(where, path, part);
    if (status != INARCH_OK || reads(part->table, format)) {
        return status;
    }
    return refuse_formats(where, path, format, part->table);
}

/* One that is given and reads none of the parts is a mistake. */
static int32_t check_given(const char *where, const inarch_rt_variant *code, const char *path)
{
    inarch_rt_loaded part;
    int is_read = 0;
    memset(&part, 0, sizeof(part));
    int32_t status = open_loader(where, path, &part);
    for (int32_t i = 1; i < code->loader_count && status == INARCH_OK; i++) {
        is_read = is_read || reads(part.table, code->loaders[i]);
    }
    if (status == INARCH_OK && !is_read) {
        status = refuse_formats(where, path, code->loaders[1], part.table);
    }
    close_loader(&part);
    return status;
}

/* What the loader says of its last failure. */
static const char *reason(const inarch_loader *table)
{
    const char *said = table->last_error();
    return said == NULL || *said == 0 ? "it does not say why" : said;
}

static int32_t bind_weights(const char *where, const unsigned char *bytes, const inarch_rt_part *one,
                            inarch_rt_loaded *part)
{
    if (!HAS(part->table, bind_weights)) {
        return INARCH_OK;
    }
    part->weights = (inarch_blob *)calloc((size_t)one->weight_count + 1, sizeof(*part->weights));
    if (part->weights == NULL) {
        return inarch_rt_fail(INARCH_NO_MEMORY, "%s: error: no memory for its weights", where);
    }
    for (int32_t i = 0; i < one->weight_count; i++) {
        part->weights[i].name = one->weights[i].name;
        part->weights[i].data = bytes + one->weights[i].offset;
        part->weights[i].bytes = (int64_t)one->weights[i].bytes;
    }
    const int32_t status = part->table->bind_weights(part->state, part->weights, one->weight_count);
    if (status != INARCH_OK) {
        return inarch_rt_fail(status, "%s: error: loader '%s' does not bind its weights: %s", where, part->table->name,
                              reason(part->table));
    }
    return INARCH_OK;
}

/* Whether the loader runs what that version made for that machine, and takes the weights. */
static int32_t check_part(const char *where, const inarch_rt_part *one, const inarch_load_options *given,
                          const inarch_loader *table)
{
    if (HAS(table, check)) {
        const int32_t status = table->check(given);
        if (status != INARCH_OK) {
            return inarch_rt_fail(status,
                                  "%s: error: loader '%s' does not run what version '%s' made for '%s': %s", where,
                                  table->name, *one->version == 0 ? "unknown" : one->version,
                                  *one->machine == 0 ? "any" : one->machine, reason(table));
        }
    }
    if (one->weight_count > 0 && !HAS(table, bind_weights)) {
        return inarch_rt_fail(INARCH_UNSUPPORTED,
                              "%s: error: loader '%s' takes no weights (it has no 'bind_weights'), found %d", where,
                              table->name, (int)one->weight_count);
    }
    return INARCH_OK;
}

static int32_t load_part(const char *where, const unsigned char *bytes, const inarch_rt_part *one,
                         const inarch_options *options, inarch_rt_loaded *part)
{
    inarch_load_options given;
    memset(&given, 0, sizeof(given));
    given.size = sizeof(given);
    given.format = one->format;
    given.where = where;
    given.version = one->version;
    given.machine = one->machine;
    given.instance = one->instance;
    given.options = one->options;
    given.option_count = one->option_count;
    if (options->allocator != NULL) {
        given.allocator = *options->allocator;
    }
    int32_t status = check_part(where, one, &given, part->table);
    if (status != INARCH_OK) {
        return status;
    }
    status = part->table->load(bytes + one->offset, (int64_t)one->bytes, &given, &part->state);
    if (status != INARCH_OK) {
        return inarch_rt_fail(status, "%s: error: loader '%s' does not load it: %s", where, part->table->name,
                              reason(part->table));
    }
    part->is_loaded = 1;
    status = bind_weights(where, bytes, one, part);
    if (status != INARCH_OK) {
        return status;
    }
    status = part->table->list(part->state, &part->functions, &part->count);
    if (status != INARCH_OK) {
        return inarch_rt_fail(status, "%s: error: loader '%s' does not list its functions: %s", where,
                              part->table->name, reason(part->table));
    }
    return INARCH_OK;
}

int32_t inarch_rt_load_parts(const char *where, const unsigned char *bytes, const inarch_rt_variant *code,
                             const inarch_options *options, inarch_rt_loaded **parts)
{
    *parts = NULL;
    if (code->loader_count <= 1) {
        return INARCH_OK;
    }
    *parts = (inarch_rt_loaded *)calloc((size_t)code->loader_count, sizeof(**parts));
    if (*parts == NULL) {
        return inarch_rt_fail(INARCH_NO_MEMORY, "%s: error: no memory for its parts", where);
    }
    for (const char *const *at = options->loaders; at != NULL && *at != NULL; at++) {
        const int32_t status = check_given(where, code, *at);
        if (status != INARCH_OK) {
            return status;
        }
    }
    /* The search first: a file of an earlier version has the formats, too. */
    for (int32_t i = 0; i < code->loader_count - 1; i++) {
        const char *package = i < code->part_count ? code->parts[i].package : "";
        const int32_t status = find_loader(where, code->loaders[i + 1], package, options, &(*parts)[i]);
        if (status != INARCH_OK) {
            return status;
        }
    }
    if (code->part_count != code->loader_count - 1) {
        return inarch_rt_fail(INARCH_FILE,
                              "%s: error: expected where its parts are, found nothing of it; compile the model again",
                              where);
    }
    for (int32_t i = 0; i < code->part_count; i++) {
        char name[INARCH_RT_PATH];
        snprintf(name, sizeof(name), "%.4000s[%d]", where, (int)i + 1);
        const int32_t status = load_part(name, bytes, &code->parts[i], options, &(*parts)[i]);
        if (status != INARCH_OK) {
            return status;
        }
    }
    return INARCH_OK;
}

void inarch_rt_free_parts(const inarch_rt_variant *code, inarch_rt_loaded *parts)
{
    for (int32_t i = code->loader_count - 2; i >= 0 && parts != NULL; i--) {
        close_loader(&parts[i]);
    }
    free(parts);
}

static const inarch_function *function_at(const inarch_rt_loaded *part, int32_t number)
{
    const char *at = (const char *)part->functions + (ptrdiff_t)number * part->table->function_size;
    return (const inarch_function *)(const void *)at;
}

static int is_same_port(const inarch_port *one, const inarch_port *other)
{
    return one->dtype == other->dtype && one->rank == other->rank
           && (one->rank == 0 || memcmp(one->shape, other->shape, (size_t)one->rank * sizeof(int64_t)) == 0);
}

/* Whether a loader's function is what the program calls. */
static int fits(const inarch_loader *table, const inarch_function *own, const inarch_function *called)
{
    if (own->inputs != called->inputs || own->outputs != called->outputs) {
        return 0;
    }
    for (int32_t i = 0; i < called->inputs + called->outputs; i++) {
        const char *at = (const char *)own->ports + (ptrdiff_t)i * table->port_size;
        if (!is_same_port((const inarch_port *)(const void *)at, &called->ports[i])) {
            return 0;
        }
    }
    return 1;
}

static int32_t bind_function(const char *where, int32_t number, const inarch_rt_loaded *part, int32_t function,
                             const inarch_rt_variant *code, inarch_import *slot)
{
    const char *name = function_at(part, function)->name;
    for (int32_t i = 0; i < code->called_count; i++) {
        if (strcmp(code->called[i].name, name) == 0
            && !fits(part->table, function_at(part, function), &code->called[i])) {
            return inarch_rt_fail(INARCH_FILE,
                                  "%s[%d]: error: expected '%s' to take and give what the program gives it, found other "
                                  "arguments; compile the model again",
                                  where, (int)number, name);
        }
    }
    const int32_t status = part->table->bind(part->state, function, &slot->self);
    if (status != INARCH_OK) {
        return inarch_rt_fail(status, "%s[%d]: error: loader '%s' does not bind '%s': %s", where, (int)number,
                              part->table->name, name, reason(part->table));
    }
    slot->call = part->table->execute;
    return INARCH_OK;
}

int32_t inarch_rt_bind_part(const char *where, const inarch_rt_variant *code, const inarch_rt_loaded *parts,
                            const char *name, inarch_import *slot, const char *(**last_error)(void))
{
    for (int32_t i = 0; i < code->part_count && parts != NULL; i++) {
        for (int32_t k = 0; k < parts[i].count; k++) {
            if (strcmp(function_at(&parts[i], k)->name, name) == 0) {
                *last_error = parts[i].table->last_error;
                return bind_function(where, i + 1, &parts[i], k, code, slot);
            }
        }
    }
    return INARCH_OK;
}
