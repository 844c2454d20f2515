/* stress MODEL BYTES_IN BYTES_OUT THREADS ROUNDS: each thread opens the model, runs instances of it and of the module that
 * all share, and closes it; every result must be the first one. Input and output are called x and y. */
#include <inarch_runtime.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *path;
static size_t input_bytes, output_bytes;
static int rounds;
static inarch_module *shared;
static unsigned char *input, *expected;

static int run(inarch_module *module, unsigned char *output, int threads)
{
    inarch_instance *instance;
    if (inarch_instance_new(module, "main", NULL, 0, &instance) != INARCH_OK) {
        return 0;
    }
    memset(output, 0xff, output_bytes);
    const int is_done = inarch_bind_input(instance, "x", input, input_bytes) == INARCH_OK
                        && inarch_bind_output(instance, "y", output, output_bytes) == INARCH_OK
                        && inarch_set_threads(instance, threads) == INARCH_OK
                        && inarch_run(instance) == INARCH_OK;
    inarch_instance_free(instance);
    return is_done;
}

static void *work(void *failures)
{
    unsigned char *output = malloc(output_bytes);
    for (int i = 0; i < rounds; i++) {
        inarch_module *own = NULL, *wrong = NULL;
        const int is_open = inarch_open(path, NULL, &own) == INARCH_OK;
        if (!is_open || !run(own, output, i % 3) || memcmp(output, expected, output_bytes) != 0) {
            fprintf(stderr, "own: %s\n", inarch_last_error());
            ++*(int *)failures;
        }
        inarch_close(own);
        if (!run(shared, output, 1) || memcmp(output, expected, output_bytes) != 0) {
            ++*(int *)failures;
        }
        if (inarch_open("/dev/null", NULL, &wrong) == INARCH_OK || strstr(inarch_last_error(), "null") == NULL) {
            ++*(int *)failures;
        }
    }
    free(output);
    return NULL;
}

int main(int count, char **arguments)
{
    pthread_t threads[64];
    int failures[64] = {0}, sum = 0;
    if (count != 6) {
        return 2;
    }
    path = arguments[1];
    input_bytes = (size_t)atol(arguments[2]);
    output_bytes = (size_t)atol(arguments[3]);
    const int workers = atoi(arguments[4]);
    rounds = atoi(arguments[5]);
    input = malloc(input_bytes);
    expected = malloc(output_bytes);
    for (size_t i = 0; i < input_bytes / sizeof(float); i++) {
        ((float *)(void *)input)[i] = (float)(i % 17) / 8;
    }
    /* At first there is none that all share: the threads' own come and go. */
    for (int iteration = 0; iteration < 2; iteration++) {
        if (inarch_open(path, NULL, &shared) != INARCH_OK || !run(shared, expected, 1)) {
            fprintf(stderr, "%s\n", inarch_last_error());
            return 1;
        }
        for (int i = 0; i < workers; i++) {
            pthread_create(&threads[i], NULL, work, &failures[i]);
        }
        for (int i = 0; i < workers; i++) {
            pthread_join(threads[i], NULL);
            sum += failures[i];
        }
        inarch_close(shared);
    }
    free(input);
    free(expected);
    printf("%d failures\n", sum);
    return sum != 0;
}
