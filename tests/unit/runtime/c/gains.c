/* A loader in C of the format `gains`: lines of "NAME SIZE"; a function multiplies f32 by the option `gain`, and counts what it
 * was told of options. */
#include <inarch_loader.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    char name[64];
    int64_t size;
    float gain;
    inarch_port ports[2];
} body;

typedef struct {
    int32_t count;
    inarch_function functions[16];
    body bodies[16];
} program;

static _Thread_local char message[256];

static const char *last_error(void)
{
    return message;
}

static const char *option(const inarch_load_options *options, const char *name)
{
    for (int32_t i = 0; i < options->option_count; i++) {
        if (strcmp(options->options[2 * i], name) == 0) {
            return options->options[2 * i + 1];
        }
    }
    return "";
}

static int32_t load(const void *bytes, int64_t size, const inarch_load_options *options, void **state)
{
    const char *note = option(options, "note");
    if (strcmp(note, "") != 0) {
        snprintf(message, sizeof(message), "instance %s of %d options says: %s", options->instance,
                 (int)options->option_count, note);
        return INARCH_FILE;
    }
    program *made = (program *)calloc(1, sizeof(program));
    char *text = strndup((const char *)bytes, (size_t)size), *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        body *next = &made->bodies[made->count];
        inarch_function *function = &made->functions[made->count++];
        long long elements = 0;
        sscanf(line, "%63s %lld", next->name, &elements);
        next->size = elements;
        next->gain = (float)atof(option(options, "gain"));
        for (int i = 0; i < 2; i++) {
            const inarch_port port = {i == 0 ? "x" : "y", INARCH_F32, 1, &next->size, 4 * next->size,
                                      i == 0 ? INARCH_READS : INARCH_WRITES, INARCH_CPU};
            next->ports[i] = port;
        }
        function->name = next->name;
        function->inputs = function->outputs = 1;
        function->ports = next->ports;
    }
    free(text);
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

static int32_t execute(void *bound, DLTensor *args, int32_t n)
{
    const body *one = (const body *)bound;
    const float *x = (const float *)(void *)((char *)args[0].data + args[0].byte_offset);
    float *y = (float *)(void *)((char *)args[n - 1].data + args[n - 1].byte_offset);
    for (int64_t i = 0; i < one->size; i++) {
        y[i] = one->gain * x[i];
    }
    return INARCH_OK;
}

const inarch_loader *inarch_loader_table(void)
{
    static const char *const formats[] = {"gains", NULL};
    static const inarch_loader table = {
        sizeof(inarch_loader), INARCH_LOADER_VERSION, "gains", formats, sizeof(inarch_function), sizeof(inarch_port),
        INARCH_CPU, 0, load, list, bind, execute, free, last_error, NULL, NULL,
    };
    return &table;
}
