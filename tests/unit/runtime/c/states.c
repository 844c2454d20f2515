/* states MODEL: eight threads open the model, privately, run its functions on ones, and close it. */
#include <inarch_runtime.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static const char *path;

static int32_t run(inarch_module *module, int32_t number)
{
    const inarch_function *function = inarch_function_at(module, number);
    inarch_instance *instance;
    int32_t status = inarch_instance_new(module, function->name, NULL, 0, &instance);
    if (status != INARCH_OK) {
        return status;
    }
    float data[2][64];
    for (int i = 0; i < 64; i++) {
        data[0][i] = 1.0f;
    }
    const size_t bytes = (size_t)function->ports[0].bytes;
    inarch_bind_input(instance, function->ports[0].name, data[0], bytes);
    inarch_bind_output(instance, function->ports[1].name, data[1], bytes);
    status = inarch_run(instance);
    inarch_instance_free(instance);
    return status;
}

static void *work(void *unused)
{
    int failures = 0;
    (void)unused;
    for (int i = 0; i < 12; i++) {
        inarch_options options = INARCH_OPTIONS;
        options.flags = INARCH_PRIVATE;
        inarch_module *module;
        if (inarch_open(path, &options, &module) != INARCH_OK) {
            failures++;
            continue;
        }
        for (int32_t k = 0; k < inarch_function_count(module); k++) {
            failures += run(module, k) != INARCH_OK;
        }
        inarch_close(module);
    }
    return (void *)(intptr_t)failures;
}

int main(int count, char **arguments)
{
    pthread_t threads[8];
    int failures = 0;
    path = arguments[count - 1];
    for (int i = 0; i < 8; i++) {
        pthread_create(&threads[i], NULL, work, NULL);
    }
    for (int i = 0; i < 8; i++) {
        void *found;
        pthread_join(threads[i], &found);
        failures += (int)(intptr_t)found;
    }
    printf("%d failures\n", failures);
    return 0;
}
