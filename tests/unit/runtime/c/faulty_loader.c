/* The loader of examples/loader/steps.c with one thing wrong: FAULT says which, others are right. */
#define inarch_loader_table steps_table
#include "steps.c"
#undef inarch_loader_table
#include <unistd.h>

#define OLDER 1
#define LATER 2
#define SHORT 3
#define MISSING 4
#define DEVICE 5
#define FORMAT 6
#define LOADS 7
#define LISTS 8
#define BINDS 9
#define RUNS 10
#define SILENT 11
#define SHAPES 12
#define NO_ENTRY 13
#define ABORTS 14
#define HANGS 15
#define LEAVES 16

#ifndef FAULT
#define FAULT 0
#endif

/* Notes each state that is made, and is destroyed, in the file LOADER_LOG. */
static void note(const char *text)
{
    const char *path = getenv("LOADER_LOG");
    FILE *file = path == NULL ? NULL : fopen(path, "a");
    if (file != NULL) {
        fputs(text, file);
        fclose(file);
    }
}

static int32_t noted_load(const void *bytes, int64_t size, const inarch_load_options *options, void **state)
{
    const int32_t status = load(bytes, size, options, state);
    note(status == INARCH_OK ? "+" : "");
    return status;
}

static void noted_destroy(void *state)
{
    note("-");
    destroy(state);
}

static int32_t broken_load(const void *bytes, int64_t size, const inarch_load_options *options, void **state)
{
    (void)bytes, (void)size, (void)state;
    return fail(INARCH_FILE, "%s of %s: no", options->format, strrchr(options->where, 0x5b));
}

/* What a damaged part does to a loader that trusts it. */
static int32_t trusting_load(const void *bytes, int64_t size, const inarch_load_options *options, void **state)
{
    const int32_t status = load(bytes, size, options, state);
    if (status != INARCH_OK && FAULT == ABORTS) {
        abort();
    }
    if (status != INARCH_OK && FAULT == LEAVES) {
        exit(5);
    }
    while (status != INARCH_OK && FAULT == HANGS) {
        pause();
    }
    return status;
}

static int32_t broken_list(void *state, const inarch_function **functions, int32_t *count)
{
    (void)state, (void)functions, (void)count;
    return fail(INARCH_FILE, "no list");
}

static int32_t broken_bind(void *state, int32_t function, void **bound)
{
    (void)state, (void)bound;
    return fail(INARCH_NO_MEMORY, "no room for function %d", (int)function);
}

static int32_t broken_execute(void *bound, DLTensor *args, int32_t n)
{
    (void)bound, (void)args;
    return FAULT == SILENT ? 77 : fail(66, "%d arrays are too many", (int)n);
}

static const char *silent(void)
{
    return NULL;
}

static int32_t other_list(void *state, const inarch_function **functions, int32_t *count)
{
    body *first = &((program *)state)->bodies[0];
    first->shape[0] = 1;
    return list(state, functions, count);
}

#if FAULT == NO_ENTRY
const inarch_loader *inarch_loader_other(void);
const inarch_loader *inarch_loader_other(void)
#else
const inarch_loader *inarch_loader_table(void);
const inarch_loader *inarch_loader_table(void)
#endif
{
    static const char *const others[] = {"leaps", "bounds", NULL};
    static inarch_loader table;
    table = *steps_table();
    table.version += FAULT == OLDER ? -1 : FAULT == LATER ? 1 : 0;
    table.size = FAULT == SHORT ? offsetof(inarch_loader, last_error) : table.size;
    table.list = FAULT == MISSING ? NULL : FAULT == LISTS ? broken_list : FAULT == SHAPES ? other_list : table.list;
    table.device_type = FAULT == DEVICE ? 2 : table.device_type;
    table.formats = FAULT == FORMAT ? others : table.formats;
    table.load = FAULT == LOADS ? broken_load : FAULT >= ABORTS ? trusting_load : noted_load;
    table.destroy = noted_destroy;
    table.bind = FAULT == BINDS ? broken_bind : table.bind;
    table.execute = FAULT == RUNS || FAULT == SILENT ? broken_execute : table.execute;
    table.last_error = FAULT == SILENT ? silent : table.last_error;
    return &table;
}
