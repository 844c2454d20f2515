/* A loader in C: text of functions that go step by step through arrays of f32, all of one shape.
 *
 *   function steps_0 inputs 2 shape 2 3
 *   sub 0 1
 *   mul 2 2
 *   return 3
 *
 * Values are numbered: the inputs, then the results of the steps. docs/backends.md builds and runs it. */
#include <inarch_loader.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_FUNCTIONS 256
#define MOST_PORTS 16
#define MOST_STEPS 128
#define MOST_RANK 8

typedef struct {
    int op, a, b;
} step;

typedef struct {
    char name[64];
    int64_t shape[MOST_RANK], size;
    inarch_port ports[MOST_PORTS];
    step steps[MOST_STEPS];
    int32_t inputs, step_count, outputs;
    int results[MOST_PORTS];
} body;

typedef struct {
    inarch_allocator allocator;
    int32_t count;
    inarch_function functions[MOST_FUNCTIONS];
    body bodies[MOST_FUNCTIONS];
} program;

static const char *const ops[] = {"add", "sub", "mul", "div", "maximum"};
static const char *const names[MOST_PORTS] = {"v0", "v1", "v2",  "v3",  "v4",  "v5",  "v6",  "v7",
                                              "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15"};

static _Thread_local char message[256];

static int32_t fail(int32_t code, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(message, sizeof(message), format, values);
    va_end(values);
    return code;
}

static const char *last_error(void)
{
    return message;
}

/* One line of text: cut off at `end`, and told apart into words. */
static int split(char *line, char **words, int most)
{
    int count = 0;
    for (char *rest = NULL, *word = strtok_r(line, " ", &rest); word != NULL && count < most;
         word = strtok_r(NULL, " ", &rest)) {
        words[count++] = word;
    }
    return count;
}

/* A whole number less than `bound`; -1: none. */
static int64_t number(const char *word, int64_t bound)
{
    char *rest;
    const long long found = strtoll(word, &rest, 10);
    return *word < '0' || *word > '9' || *rest != 0 || found >= bound ? -1 : found;
}

static int32_t read_head(program *made, char **words, int count, int line)
{
    if (made->count == MOST_FUNCTIONS || count < 5 || count > 5 + MOST_RANK || strcmp(words[2], "inputs") != 0
        || strcmp(words[4], "shape") != 0 || strlen(words[1]) >= sizeof(made->bodies[0].name)) {
        return fail(INARCH_FILE, "line %d: expected 'function NAME inputs N shape SIZES'", line);
    }
    body *next = &made->bodies[made->count++];
    const int64_t inputs = number(words[3], MOST_PORTS);
    strcpy(next->name, words[1]);
    next->inputs = (int32_t)inputs;
    next->size = 1;
    for (int axis = 0; axis < count - 5; axis++) {
        next->shape[axis] = number(words[5 + axis], 1 << 20);
        if (next->shape[axis] < 0 || next->size > 1 << 20) {
            return fail(INARCH_FILE, "line %d: expected sizes of a small array, found '%s'", line, words[5 + axis]);
        }
        next->size *= next->shape[axis];
    }
    if (inputs < 0) {
        return fail(INARCH_FILE, "line %d: expected less than %d inputs, found '%s'", line, MOST_PORTS, words[3]);
    }
    inarch_function *function = &made->functions[made->count - 1];
    function->name = next->name;
    function->inputs = next->inputs;
    function->ports = next->ports;
    for (int i = 0; i < MOST_PORTS; i++) {
        const inarch_port port = {names[i],    INARCH_F32,       count - 5, next->shape,
                                  4 * next->size, i < inputs ? INARCH_READS : INARCH_WRITES, INARCH_CPU};
        next->ports[i] = port;
    }
    return INARCH_OK;
}

static int32_t read_line(program *made, char **words, int count, int line)
{
    if (strcmp(words[0], "function") == 0) {
        return read_head(made, words, count, line);
    }
    body *present = made->count == 0 ? NULL : &made->bodies[made->count - 1];
    if (present == NULL || present->outputs > 0) {
        return fail(INARCH_FILE, "line %d: expected 'function', found '%s'", line, words[0]);
    }
    const int values = present->inputs + present->step_count;
    for (int i = 1; i < count; i++) {
        if (number(words[i], values) < 0) {
            return fail(INARCH_FILE, "line %d: expected a value before it, found '%s'", line, words[i]);
        }
    }
    if (strcmp(words[0], "return") == 0) {
        if (count < 2 || count - 1 > MOST_PORTS - present->inputs) {
            return fail(INARCH_FILE, "line %d: expected results, together with inputs at most %d", line, MOST_PORTS);
        }
        for (int i = 1; i < count; i++) {
            present->results[present->outputs++] = (int)number(words[i], values);
        }
        made->functions[made->count - 1].outputs = present->outputs;
        return INARCH_OK;
    }
    for (int op = 0; op < (int)(sizeof(ops) / sizeof(ops[0])); op++) {
        if (strcmp(words[0], ops[op]) == 0 && count == 3 && present->step_count < MOST_STEPS) {
            step *next = &present->steps[present->step_count++];
            next->op = op;
            next->a = (int)number(words[1], values);
            next->b = (int)number(words[2], values);
            return INARCH_OK;
        }
    }
    return fail(INARCH_FILE, "line %d: expected one of at most %d steps of two values, found '%s'", line, MOST_STEPS,
                words[0]);
}

static int32_t read_text(program *made, const char *at, const char *end)
{
    for (int line = 1; at < end; line++) {
        char text[512], *words[32];
        const char *stop = (const char *)memchr(at, '\n', (size_t)(end - at));
        const size_t length = (size_t)((stop == NULL ? end : stop) - at);
        if (length >= sizeof(text)) {
            return fail(INARCH_FILE, "line %d: expected a shorter one", line);
        }
        memcpy(text, at, length);
        text[length] = 0;
        at += length + 1;
        const int count = split(text, words, 32);
        const int32_t status = count == 0 ? INARCH_OK : read_line(made, words, count, line);
        if (status != INARCH_OK) {
            return status;
        }
    }
    if (made->count == 0 || made->bodies[made->count - 1].outputs == 0) {
        return fail(INARCH_FILE, "expected 'return' at the end, found none");
    }
    return INARCH_OK;
}

static inarch_request request(void)
{
    const inarch_request wanted = {sizeof(wanted), INARCH_FOR_STATE, sizeof(program), 64, {INARCH_CPU, 0}};
    return wanted;
}

static void destroy(void *state)
{
    program *made = (program *)state;
    const inarch_allocator allocator = made->allocator;
    const inarch_request wanted = request();
    if (allocator.release == NULL) {
        free(made);
    } else {
        allocator.release(allocator.self, made, &wanted);
    }
}

static int32_t load(const void *bytes, int64_t size, const inarch_load_options *options, void **state)
{
    const inarch_request wanted = request();
    const inarch_allocator *allocator = &options->allocator;
    program *made = (program *)(allocator->allocate == NULL ? malloc(sizeof(program))
                                                            : allocator->allocate(allocator->self, &wanted));
    if (made == NULL) {
        return fail(INARCH_NO_MEMORY, "no memory for %zu bytes", sizeof(program));
    }
    memset(made, 0, sizeof(*made));
    made->allocator = *allocator;
    const int32_t status = read_text(made, (const char *)bytes, (const char *)bytes + size);
    if (status != INARCH_OK) {
        destroy(made);
        return status;
    }
    *state = made;
    return INARCH_OK;
}

static int32_t list(void *state, const inarch_function **functions, int32_t *count)
{
    *functions = ((program *)state)->functions;
    *count = ((program *)state)->count;
    return INARCH_OK;
}

static int32_t bind(void *state, int32_t function, void **bound)
{
    *bound = &((program *)state)->bodies[function];
    return INARCH_OK;
}

/* All that changes is on the stack, so any number of threads may be here. */
static int32_t execute(void *bound, DLTensor *args, int32_t n)
{
    const body *run = (const body *)bound;
    float *data[MOST_PORTS];
    if (n != run->inputs + run->outputs) {
        return fail(INARCH_ARGUMENT, "%s: expected %d arrays, found %d", run->name, run->inputs + run->outputs, n);
    }
    for (int32_t i = 0; i < n; i++) {
        data[i] = (float *)(void *)((char *)args[i].data + args[i].byte_offset);
    }
    for (int64_t at = 0; at < run->size; at++) {
        float values[MOST_PORTS + MOST_STEPS], *next = values;
        for (int i = 0; i < run->inputs; i++) {
            *next++ = data[i][at];
        }
        for (const step *one = run->steps; one < run->steps + run->step_count; one++) {
            const float a = values[one->a], b = values[one->b];
            if (one->op == 3 && b == 0.0f) {
                return fail(INARCH_ARGUMENT, "%s: element %lld is divided by zero", run->name, (long long)at);
            }
            *next++ = one->op == 0   ? a + b
                      : one->op == 1 ? a - b
                      : one->op == 2 ? a * b
                      : one->op == 3 ? a / b
                                     : (a > b || a != a ? a : b);
        }
        for (int i = 0; i < run->outputs; i++) {
            data[run->inputs + i][at] = values[run->results[i]];
        }
    }
    return INARCH_OK;
}

const inarch_loader *inarch_loader_table(void)
{
    static const char *const formats[] = {"steps", NULL};
    static const inarch_loader table = {
        sizeof(inarch_loader), INARCH_LOADER_VERSION, "steps", formats, sizeof(inarch_function), sizeof(inarch_port),
        INARCH_CPU, 0, load, list, bind, execute, destroy, last_error, NULL, NULL,
    };
    return &table;
}
