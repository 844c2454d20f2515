/* inarch-run: opens an artifact, fills its inputs, runs a function, shows and writes what comes out. */
#include "tool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void list_ports(const inarch_port *ports, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        char type[800];
        inarch_port_type(&ports[i], type, sizeof(type));
        printf("%s%s: %s", i == 0 ? "" : ", ", ports[i].name, type);
    }
}

static void list(const inarch_module *module)
{
    for (int32_t i = 0; i < inarch_function_count(module); i++) {
        const inarch_function *function = inarch_function_at(module, i);
        printf("%s(", function->name);
        list_ports(function->ports, function->inputs);
        fputs(") -> (", stdout);
        list_ports(function->ports + function->inputs, function->outputs);
        puts(")");
    }
}

/* Which input `text`, a [NAME=]FILE, is of: the first that has no data where it says no name. */
static int32_t find_input(const inarch_function *function, void *const *data, const char *text,
                          const char **path)
{
    const char *equals = strrchr(text, '=');
    *path = equals == NULL ? text : equals + 1;
    for (int32_t i = 0; i < function->inputs; i++) {
        const char *name = function->ports[i].name;
        const int is_named = equals != NULL && strlen(name) == (size_t)(equals - text)
                             && strncmp(name, text, (size_t)(equals - text)) == 0;
        if (equals == NULL ? data[i] == NULL : is_named) {
            return i;
        }
    }
    if (equals == NULL) {
        tool_fail(LEAVE_USAGE, "error: --input: '%s' is one array more than there are inputs", text);
    } else {
        tool_fail(LEAVE_USAGE, "error: --input: no input '%.*s'; the first is '%s'", (int)(equals - text),
                  text, function->inputs == 0 ? "" : function->ports[0].name);
    }
    return -1;
}

static int read_input(const inarch_function *function, void **data, const char *text)
{
    const char *path;
    const int32_t found = find_input(function, data, text, &path);
    if (found < 0) {
        return LEAVE_USAGE;
    }
    tool_array array;
    const int status = tool_read_npy(path, &array);
    if (status != 0) {
        return status;
    }
    const inarch_port *port = &function->ports[found];
    inarch_port given = *port;
    given.dtype = array.dtype;
    given.rank = array.rank;
    given.shape = array.shape;
    if (array.dtype != port->dtype || array.rank != port->rank
        || memcmp(array.shape, port->shape, (size_t)array.rank * sizeof(array.shape[0])) != 0) {
        char wanted[800], other[800];
        inarch_port_type(port, wanted, sizeof(wanted));
        inarch_port_type(&given, other, sizeof(other));
        free(array.data);
        return tool_fail(LEAVE_BAD, "error: %s: argument '%s': expected %s, found %s", function->name,
                         port->name, wanted, other);
    }
    free(data[found]);
    data[found] = array.data;
    return 0;
}

/* Reads what is given, and makes up the rest. `data` has a place for each port. */
static int make_data(const inarch_function *function, const tool_options *options, void **data)
{
    tool_random random = {(uint64_t)options->seed};
    int is_random = 0;
    for (int i = 0; i < options->input_count; i++) {
        const int status = read_input(function, data, options->inputs[i]);
        if (status != 0) {
            return status;
        }
    }
    for (int32_t i = 0; i < function->inputs + function->outputs; i++) {
        const inarch_port *port = &function->ports[i];
        if (data[i] != NULL) {
            continue;
        }
        data[i] = malloc((size_t)port->bytes + 1);
        if (data[i] == NULL) {
            return tool_fail(LEAVE_MACHINE, "error: no memory for '%s', %lld bytes", port->name,
                             (long long)port->bytes);
        }
        if (i < function->inputs) {
            tool_fill(&random, port, data[i]);
            if (!options->is_quiet) {
                fprintf(stderr, "%s%s", is_random ? ", " : "", port->name);
            }
            is_random = 1;
        }
    }
    if (is_random && !options->is_quiet) {
        fprintf(stderr, ": random (seed %lld)\n", (long long)options->seed);
    }
    return 0;
}

/* `a/b` is no name of a file: characters other than letters, digits, `.`, `-` become `_`. */
static void file_name(const char *folder, const char *name, char *path, size_t size)
{
    size_t used = (size_t)snprintf(path, size, "%s/", folder);
    for (const char *at = name; *at != 0 && used + 5 < size; at++) {
        const int is_kept = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z')
                            || (*at >= '0' && *at <= '9') || *at == '-' || (*at == '.' && at != name);
        path[used++] = is_kept ? *at : '_';
    }
    snprintf(path + used, size - used, ".npy");
}

static int write_outputs(const inarch_function *function, const char *folder, void *const *data)
{
    const inarch_port *ports = function->ports;
    const int32_t end = function->inputs + function->outputs;
    char path[4096], other[4096];
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        return tool_fail(LEAVE_MACHINE, "error: cannot make '%s': %s", folder, strerror(errno));
    }
    for (int32_t i = function->inputs; i < end; i++) {
        file_name(folder, ports[i].name, path, sizeof(path));
        for (int32_t k = function->inputs; k < i; k++) {
            file_name(folder, ports[k].name, other, sizeof(other));
            if (strcmp(path, other) == 0) {
                return tool_fail(LEAVE_BAD, "error: --output-dir: outputs '%s' and '%s' would both be '%s'",
                                 ports[k].name, ports[i].name, path);
            }
        }
        const int status = tool_write_npy(path, &ports[i], data[i]);
        if (status != 0) {
            return status;
        }
    }
    return 0;
}

static int is_less(const void *one, const void *other)
{
    const double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

static int repeat(const inarch_instance *instance, int64_t count)
{
    double *times = (double *)malloc((size_t)count * sizeof(double));
    if (times == NULL) {
        return tool_fail(LEAVE_MACHINE, "error: no memory for %lld times", (long long)count);
    }
    for (int64_t i = 0; i < count; i++) {
        const double begin = now();
        const int32_t status = inarch_run(instance);
        times[i] = now() - begin;
        if (status != INARCH_OK) {
            free(times);
            return tool_failed(status);
        }
    }
    qsort(times, (size_t)count, sizeof(double), is_less);
    printf("median of calls: %.1f us\n", times[count / 2] * 1e6);
    free(times);
    return 0;
}

static int call(inarch_instance *instance, const inarch_function *function, const tool_options *options,
                void *const *data)
{
    int32_t status = inarch_set_threads(instance, (int32_t)options->threads);
    for (int32_t i = 0; i < function->inputs + function->outputs && status == INARCH_OK; i++) {
        const inarch_port *port = &function->ports[i];
        status = i < function->inputs
                     ? inarch_bind_input(instance, port->name, data[i], (size_t)port->bytes)
                     : inarch_bind_output(instance, port->name, data[i], (size_t)port->bytes);
    }
    if (status == INARCH_OK) {
        status = inarch_run(instance);
    }
    if (status != INARCH_OK) {
        return tool_failed(status);
    }
    for (int32_t i = function->inputs; i < function->inputs + function->outputs && !options->is_quiet; i++) {
        tool_print(&function->ports[i], data[i]);
    }
    if (options->output_dir != NULL) {
        return write_outputs(function, options->output_dir, data);
    }
    return 0;
}

/* The function `name` for the sizes of what is given, where there are several, in `*found`: inputs behind one that is not
 * given are not looked at. Returns how to leave. */
static int find_fitting(const inarch_module *module, const char *name, const tool_options *options,
                        const inarch_function **found)
{
    const inarch_function *first = *found = inarch_function_named(module, name);
    if (first == NULL) {
        return tool_failed(INARCH_NAME);
    }
    if (inarch_function_count(module) == 1 || options->input_count == 0 || first->inputs == 0) {
        return 0;
    }
    const size_t places = (size_t)first->inputs;
    DLTensor *inputs = (DLTensor *)calloc(places, sizeof(*inputs));
    tool_array *arrays = (tool_array *)calloc(places, sizeof(*arrays));
    void **taken = (void **)calloc(places, sizeof(*taken));
    int code = 0;
    if (inputs == NULL || arrays == NULL || taken == NULL) {
        code = tool_fail(LEAVE_MACHINE, "error: no memory for arrays");
    }
    for (int i = 0; code == 0 && i < options->input_count; i++) {
        const char *path;
        const int32_t at = find_input(first, taken, options->inputs[i], &path);
        if (at < 0) {
            code = LEAVE_USAGE;
            break;
        }
        free(arrays[at].data);
        arrays[at].data = NULL;
        code = tool_read_npy(path, &arrays[at]);
        taken[at] = arrays[at].data;
        inputs[at].ndim = arrays[at].rank;
        inputs[at].shape = arrays[at].shape;
        inputs[at].dtype.code = (uint8_t)(arrays[at].dtype >> 8);
        inputs[at].dtype.bits = (uint8_t)(arrays[at].dtype & 0xff);
    }
    if (code == 0) {
        int32_t count = 0;
        while (count < first->inputs && taken[count] != NULL) {
            count++;
        }
        *found = inarch_function_fitting(module, name, inputs, count);
        code = *found == NULL ? tool_failed(INARCH_ARGUMENT) : 0;
    }
    for (size_t i = 0; arrays != NULL && i < places; i++) {
        free(arrays[i].data);
    }
    free(inputs);
    free(arrays);
    free(taken);
    return code;
}

static int run(inarch_module *module, const tool_options *options)
{
    const char *name = options->function == NULL ? "main" : options->function;
    const inarch_function *function;
    inarch_instance *instance;
    const int chosen = find_fitting(module, name, options, &function);
    if (chosen != 0) {
        return chosen;
    }
    const int32_t status = inarch_instance_new(module, function->name, NULL, 0, &instance);
    if (status != INARCH_OK) {
        return tool_failed(status);
    }
    const int32_t ports = function->inputs + function->outputs;
    void **data = (void **)calloc((size_t)ports + 1, sizeof(void *));
    int code = data == NULL ? tool_fail(LEAVE_MACHINE, "error: no memory for arrays")
                            : make_data(function, options, data);
    if (code == 0) {
        code = call(instance, function, options, data);
    }
    if (code == 0 && options->repeat != 0) {
        code = repeat(instance, options->repeat);
    }
    for (int32_t i = 0; data != NULL && i < ports; i++) {
        free(data[i]);
    }
    free(data);
    inarch_instance_free(instance);
    return code;
}

int main(int count, char **arguments)
{
    tool_options options;
    int code = tool_parse(count, arguments, &options);
    if (code != 0) {
        return code;
    }
    if (options.is_help) {
        tool_help();
        return 0;
    }
    inarch_options how = INARCH_OPTIONS;
    how.flags = options.is_verified ? INARCH_VERIFY : 0;
    how.loaders = options.loader_count > 0 ? options.loaders : NULL;
    inarch_module *module;
    const double begin = now();
    const int32_t status = inarch_open(options.model, &how, &module);
    if (status != INARCH_OK) {
        return tool_failed(status);
    }
    if (options.repeat != 0 && !options.is_quiet) {
        printf("opened in %.2f ms\n", (now() - begin) * 1e3);
    }
    if (options.is_list) {
        list(module);
    } else {
        code = run(module, &options);
    }
    inarch_close(module);
    if (fflush(stdout) != 0) {
        code = tool_fail(LEAVE_MACHINE, "error: cannot write to standard output: %s", strerror(errno));
    }
    return code;
}
