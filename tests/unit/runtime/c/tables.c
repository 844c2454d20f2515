/* A loader in C of the format `tables`: lines of "NAME SIZE OP WEIGHT OP WEIGHT ...", OP mul or add, on one array of f32. */
#include <inarch_loader.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef DRIVER
#define DRIVER "2"
#endif
#ifndef SIZE
#define SIZE sizeof(inarch_loader)
#endif

typedef struct {
    char name[64];
    int64_t size;
    inarch_port ports[2];
    int32_t count;
    char ops[64], weights[64][64];
    const float *data[64];
} body;

typedef struct {
    int32_t count, uploads;
    inarch_function functions[64];
    body bodies[64];
} program;

static _Thread_local char message[256];

static const char *last_error(void)
{
    return message;
}

static int32_t check(const inarch_load_options *options)
{
    if (strcmp(options->machine, "tables-a") != 0) {
        snprintf(message, sizeof(message), "this is a tables-a; compile the model again with --backend tables:machine=a");
        return INARCH_UNSUPPORTED;
    }
    if (strcmp(options->version, DRIVER) > 0) {
        snprintf(message, sizeof(message), "the driver is version " DRIVER "; install tables-driver %s", options->version);
        return INARCH_UNSUPPORTED;
    }
    return INARCH_OK;
}

static int32_t load(const void *bytes, int64_t size, const inarch_load_options *options, void **state)
{
    program *made = (program *)calloc(1, sizeof(program));
    char *text = strndup((const char *)bytes, (size_t)size), *rest = NULL;
    (void)options;
    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        body *next = &made->bodies[made->count];
        int used = 0, more;
        long long elements;
        char op[8];
        sscanf(line, "%63s %lld%n", next->name, &elements, &used);
        next->size = elements;
        while (sscanf(line + used, "%7s %63s%n", op, next->weights[next->count], &more) == 2) {
            next->ops[next->count++] = op[0];
            used += more;
        }
        for (int i = 0; i < 2; i++) {
            const inarch_port port = {i == 0 ? "x" : "y", INARCH_F32, 1, &next->size, 4 * next->size,
                                      i == 0 ? INARCH_READS : INARCH_WRITES, INARCH_CPU};
            next->ports[i] = port;
        }
        inarch_function *function = &made->functions[made->count++];
        function->name = next->name;
        function->inputs = function->outputs = 1;
        function->ports = next->ports;
    }
    free(text);
    if (made->count == 0) {
        free(made);
        snprintf(message, sizeof(message), "expected a line for each function, found none");
        return INARCH_FILE;
    }
    *state = made;
    return INARCH_OK;
}

static int32_t bind_weights(void *state, const inarch_blob *weights, int32_t count)
{
    program *made = (program *)state;
    for (int32_t i = 0; i < made->count; i++) {
        body *one = &made->bodies[i];
        for (int32_t k = 0; k < one->count; k++) {
            for (int32_t w = 0; w < count; w++) {
                if (strcmp(weights[w].name, one->weights[k]) == 0 && weights[w].bytes == 4 * one->size
                    && (uintptr_t)weights[w].data % 64 == 0) {
                    one->data[k] = (const float *)weights[w].data;
                }
            }
            if (one->data[k] == NULL) {
                snprintf(message, sizeof(message), "%s: no weight '%s' of %lld bytes", one->name, one->weights[k],
                         (long long)(4 * one->size));
                return INARCH_FILE;
            }
        }
    }
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
        float value = x[i];
        for (int32_t k = 0; k < one->count; k++) {
            value = one->ops[k] == 'm' ? value * one->data[k][i] : value + one->data[k][i];
        }
        y[i] = value;
    }
    return INARCH_OK;
}

const inarch_loader *inarch_loader_table(void)
{
    static const char *const formats[] = {"tables", NULL};
    static const inarch_loader table = {
        SIZE, INARCH_LOADER_VERSION, "tables", formats, sizeof(inarch_function), sizeof(inarch_port), INARCH_CPU, 0, load,
        list, bind, execute, free, last_error, check, bind_weights,
    };
    return &table;
}
