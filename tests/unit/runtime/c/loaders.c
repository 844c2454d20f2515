/* loaders MODEL LOADER...: opens the model with each loader, runs its functions on ones, and closes it, three times; prints what
 * fails. At last eight threads do so with the last loader, in their own modules and one that they share. */
#include <inarch_runtime.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static const char *path;
static inarch_module *shared;

static int32_t run(inarch_module *module, int32_t number)
{
    const inarch_function *function = inarch_function_at(module, number);
    inarch_instance *instance;
    void *data[64] = {NULL};
    int32_t status = inarch_instance_new(module, function->name, NULL, 0, &instance);
    if (status != INARCH_OK) {
        return status;
    }
    for (int32_t i = 0; i < function->inputs + function->outputs && status == INARCH_OK; i++) {
        const inarch_port *port = &function->ports[i];
        const size_t bytes = (size_t)port->bytes;
        data[i] = malloc(bytes);
        for (size_t k = 0; k < bytes / sizeof(float); k++) {
            ((float *)data[i])[k] = 1.0f;
        }
        status = i < function->inputs ? inarch_bind_input(instance, port->name, data[i], bytes)
                                      : inarch_bind_output(instance, port->name, data[i], bytes);
    }
    if (status == INARCH_OK) {
        status = inarch_run(instance);
    }
    for (int i = 0; i < 64; i++) {
        free(data[i]);
    }
    inarch_instance_free(instance);
    return status;
}

static int32_t try(const char *const *loaders)
{
    inarch_options options = INARCH_OPTIONS;
    options.loaders = loaders;
    inarch_module *module;
    int32_t status = inarch_open(path, &options, &module);
    if (status != INARCH_OK) {
        return status;
    }
    for (int32_t i = 0; i < inarch_function_count(module) && status == INARCH_OK; i++) {
        status = run(module, i);
    }
    inarch_close(module);
    return status;
}

static void *work(void *loaders)
{
    int failures = 0;
    for (int i = 0; i < 20; i++) {
        failures += try((const char *const *)loaders) != INARCH_OK;
        failures += run(shared, i % inarch_function_count(shared)) != INARCH_OK;
    }
    return (void *)(intptr_t)failures;
}

int main(int count, char **arguments)
{
    pthread_t threads[8];
    path = arguments[1];
    for (int i = 2; i < count; i++) {
        const char *loaders[] = {arguments[i], NULL};
        for (int iteration = 0; iteration < 3; iteration++) {
            const int32_t status = try(loaders);
            if (iteration == 2) {
                printf("%d %s\n", (int)status, status == INARCH_OK ? "" : inarch_last_error());
            }
        }
    }
    const char *loaders[] = {arguments[count - 1], NULL};
    inarch_options options = INARCH_OPTIONS;
    options.loaders = loaders;
    if (inarch_open(path, &options, &shared) != INARCH_OK) {
        return 1;
    }
    int sum = 0;
    for (int i = 0; i < 8; i++) {
        pthread_create(&threads[i], NULL, work, loaders);
    }
    for (int i = 0; i < 8; i++) {
        void *failures;
        pthread_join(threads[i], &failures);
        sum += (int)(intptr_t)failures;
    }
    inarch_close(shared);
    printf("%d failures\n", sum);
    return sum != 0;
}
