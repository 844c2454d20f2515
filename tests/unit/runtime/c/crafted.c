/* A library as an artifact has it, by several prefixes with one fault each, and a loader of the format `raw`, whose fault
 * LOADER_FAULT names: what files of strangers may bring along. */
#include <inarch_loader.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_WEIGHTS "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" /* SHA-256 of no bytes */
#define COUNT(array) ((int32_t)(sizeof(array) / sizeof((array)[0])))

static _Thread_local const char *message = "";

static const char *last_error(void)
{
    return message;
}

static int32_t fail(int32_t status, const char *text)
{
    message = text;
    return status;
}

/* The library: `main` doubles x; where the program fills the import, that makes y. */

struct inarch_state {
    inarch_import import;
};

static const int64_t pair[] = {2, 3}, none[] = {0}, two[] = {2}, four[] = {4};

#define X(shape) {"x", INARCH_F32, COUNT(shape), shape, 24, INARCH_READS, INARCH_CPU}
static const inarch_port every[] = {
    X(pair),
    {"flags", INARCH_I1, 1, two, 2, INARCH_READS, INARCH_CPU},
    {"empty", INARCH_F32, 1, none, 0, INARCH_READS, INARCH_CPU},
    {"y", INARCH_F32, 2, pair, 24, INARCH_WRITES, INARCH_CPU},
    {"nothing", INARCH_F32, 1, none, 0, INARCH_WRITES, INARCH_CPU},
    {"numbers", INARCH_I32, 1, two, 8, INARCH_WRITES, INARCH_CPU},
};
static const inarch_port other[] = {
    {"x", INARCH_F32, 1, four, 16, INARCH_READS, INARCH_CPU},
    {"y", INARCH_F32, 1, four, 16, INARCH_WRITES, INARCH_CPU},
};
static const inarch_function functions[] = {
    {"main", 3, 3, every, 64},    {"main__2", 3, 3, every, 64}, {"main__x", 3, 3, every, 64},
    {"main__", 3, 3, every, 64},  {"main_2", 3, 3, every, 64},  {"mainly", 3, 3, every, 64},
    {"main__3", 1, 1, other, 0},  {"made", 0, 1, other + 1, 0},
};

static int32_t fits(void)
{
    return INARCH_OK;
}

static int32_t lacks(void)
{
    return fail(INARCH_CPU_LACKS, "this CPU has no wings");
}

static int32_t state_new(const inarch_library *library, const inarch_setup *setup, inarch_state **state)
{
    const inarch_import no_import = {NULL, NULL};
    if (strcmp(library->target, "unbound") == 0) {
        return fail(INARCH_UNBOUND, "unbound: no device");
    }
    *state = (inarch_state *)malloc(sizeof(inarch_state));
    if (*state == NULL) {
        return fail(INARCH_NO_MEMORY, "no memory for a state");
    }
    (*state)->import = setup->import_count > 0 ? setup->imports[0] : no_import;
    return INARCH_OK;
}

static void state_free(inarch_state *state)
{
    free(state);
}

static int32_t set_weights(inarch_state *state, const inarch_weights *weights)
{
    (void)state;
    return weights->bytes == 0 ? INARCH_OK : fail(INARCH_UNBOUND, "main: expected no weights");
}

/* Whose message begins as the function is called, or as another is, or with neither. */
static int32_t set_stream(inarch_state *state, int32_t device_type, int32_t device_id, void *stream)
{
    static const char *const texts[] = {"main: no stream", "mainly: no stream", "no stream"};
    (void)state, (void)device_type, (void)stream;
    return fail(INARCH_ARGUMENT, texts[device_id]);
}

static int32_t run(inarch_state *state, int32_t function, DLTensor *args, int32_t n, const inarch_call *call)
{
    (void)function, (void)call;
    if (n < 4) {
        return INARCH_OK;
    }
    const float *x = (const float *)args[0].data;
    float *y = (float *)args[3].data;
    if (state->import.call != NULL) {
        int64_t strides[] = {0, 1}; /* y's first row, as both of its rows */
        DLTensor given[3] = {args[0], args[3], args[5]};
        given[1].strides = strides;
        return state->import.call(state->import.self, given, 3) == INARCH_OK ? INARCH_OK
                                                                             : fail(INARCH_ARGUMENT, "the import fails");
    }
    for (int i = 0; i < 6; i++) {
        y[i] = 2 * x[i];
    }
    memset(args[5].data, 1, 8);
    return INARCH_OK;
}

static void give(inarch_state *state, void *data, int64_t bytes)
{
    (void)state, (void)bytes;
    free(data);
}

static void alone(void *self, int32_t threads, int64_t count, inarch_task task, void *context)
{
    (void)self, (void)threads;
    task(context, 0, count, 0);
}

static const inarch_pool own_pool = {alone, NULL};

static int32_t absent(void *self, DLTensor *args, int32_t n)
{
    (void)self, (void)n;
    memset(args[1].data, 0, 24);
    return INARCH_OK;
}

#define VERSION(prefix, number) \
    int32_t prefix##_abi_version(void); \
    int32_t prefix##_abi_version(void) \
    { \
        return number; \
    }
#define TABLE(prefix, number, check, pool) \
    const inarch_library *prefix##_library(void); \
    const inarch_library *prefix##_library(void) \
    { \
        static const inarch_library table = { \
            sizeof(inarch_library), number, #prefix, #prefix, "", NO_WEIGHTS, 0, INARCH_CPU, COUNT(functions), 1, \
            sizeof(inarch_function), sizeof(inarch_port), 0, functions, NULL, NULL, pool, check, last_error, state_new, \
            state_free, set_weights, set_stream, NULL, run, give}; \
        return &table; \
    }
#define POOL(prefix) \
    const inarch_pool *prefix##_pool(const inarch_pool *use); \
    const inarch_pool *prefix##_pool(const inarch_pool *use) \
    { \
        return use == NULL ? &own_pool : use; \
    }
#define LIBRARY(prefix, check, pool) \
    VERSION(prefix, INARCH_ABI_VERSION) TABLE(prefix, INARCH_ABI_VERSION, check, pool) POOL(prefix)

LIBRARY(good, fits, NULL)
LIBRARY(shares, fits, &own_pool)
LIBRARY(lacking, lacks, NULL)
LIBRARY(unbound, fits, NULL)
LIBRARY(whole, fits, NULL)
VERSION(versioned, INARCH_ABI_VERSION)
VERSION(poolless, INARCH_ABI_VERSION) TABLE(poolless, INARCH_ABI_VERSION, fits, NULL)
VERSION(older, 2) TABLE(older, INARCH_ABI_VERSION, fits, NULL) POOL(older)
VERSION(mixed, INARCH_ABI_VERSION) TABLE(mixed, 2, fits, NULL) POOL(mixed)

int32_t whole_absent(void *self, DLTensor *args, int32_t n);
int32_t whole_absent(void *self, DLTensor *args, int32_t n)
{
    return absent(self, args, n);
}

/* The loader: parts of any bytes, with the functions `twice` (f32[2,3] to f32[2,3], i32[2]) and `number` (f32[] to f32[]). */

static int is_fault(const char *name)
{
    const char *fault = getenv("LOADER_FAULT");
    return fault != NULL && strcmp(fault, name) == 0;
}

static const char *said(void)
{
    return is_fault("silent") ? NULL : is_fault("wordless") ? "" : message;
}

static int32_t load(const void *bytes, int64_t size, const inarch_load_options *options, void **state)
{
    (void)bytes, (void)size;
    if (is_fault("silent") || is_fault("wordless")) {
        return INARCH_FILE;
    }
    if (options->allocator.allocate != NULL) {
        return fail(INARCH_UNSUPPORTED, "no memory but libc's");
    }
    *state = malloc(1);
    return *state == NULL ? fail(INARCH_NO_MEMORY, "no memory for a part") : INARCH_OK;
}

static int32_t list(void *state, const inarch_function **found, int32_t *count)
{
    static inarch_port ports[3];
    static const inarch_port scalars[] = {{"a", INARCH_F32, 0, NULL, 4, INARCH_READS, INARCH_CPU},
                                          {"b", INARCH_F32, 0, NULL, 4, INARCH_WRITES, INARCH_CPU}};
    static inarch_function own[2];
    static const int64_t swapped[] = {3, 2};
    const inarch_port right[] = {every[0], every[3], every[5]};
    (void)state;
    memcpy(ports, right, sizeof(ports));
    ports[0].dtype = is_fault("dtype") ? INARCH_I32 : INARCH_F32;
    ports[0].rank = is_fault("rank") ? 1 : 2;
    ports[0].shape = is_fault("shape") ? swapped : pair;
    own[0].name = "number";
    own[0].inputs = own[0].outputs = 1;
    own[0].ports = scalars;
    own[1].name = "twice";
    own[1].inputs = is_fault("inputs") ? 2 : 1;
    own[1].outputs = is_fault("outputs") ? 1 : 2;
    own[1].ports = ports;
    *found = own;
    *count = 2;
    return INARCH_OK;
}

static int32_t bind(void *state, int32_t function, void **bound)
{
    (void)function;
    *bound = state;
    return INARCH_OK;
}

static int32_t execute(void *bound, DLTensor *args, int32_t n)
{
    (void)bound, (void)n;
    memset(args[1].data, 1, 24);
    memset(args[2].data, 1, 8);
    return INARCH_OK;
}

static int32_t check(const inarch_load_options *options)
{
    (void)options;
    return is_fault("check") ? fail(INARCH_UNSUPPORTED, "no driver") : INARCH_OK;
}

static int32_t bind_weights(void *state, const inarch_blob *weights, int32_t count)
{
    (void)state, (void)weights, (void)count;
    return INARCH_OK;
}

#define LONG "a format of a name that takes so many bytes that only some of them are told of all that there are"

const inarch_loader *inarch_loader_table(void)
{
    static const char *const formats[] = {"raw", NULL}, *const nothing[] = {NULL}, *const others[] = {LONG, LONG, LONG, LONG, NULL};
    static inarch_loader table;
    const inarch_loader whole = {sizeof(inarch_loader), INARCH_LOADER_VERSION, "raw", formats, sizeof(inarch_function),
                                 sizeof(inarch_port), INARCH_CPU, 0, load, list, bind, execute, free, said, check, bind_weights};
    table = whole;
    table.size -= is_fault("short") ? (uint32_t)(sizeof(inarch_loader) - offsetof(inarch_loader, check)) : 0;
    table.name = is_fault("name") ? NULL : table.name;
    table.formats = is_fault("formats") ? NULL : is_fault("nothing") ? nothing : is_fault("others") ? others : table.formats;
    table.function_size -= is_fault("function_size");
    table.port_size -= is_fault("port_size");
    table.load = is_fault("load") ? NULL : table.load;
    table.list = is_fault("list") ? NULL : table.list;
    table.bind = is_fault("bind") ? NULL : table.bind;
    table.execute = is_fault("execute") ? NULL : table.execute;
    table.destroy = is_fault("destroy") ? NULL : table.destroy;
    table.last_error = is_fault("last_error") ? NULL : table.last_error;
    table.check = is_fault("unchecked") ? NULL : table.check;
    table.bind_weights = is_fault("weightless") ? NULL : table.bind_weights;
    return is_fault("table") ? NULL : &table;
}
