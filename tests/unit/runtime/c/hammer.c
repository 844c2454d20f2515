/* hammer ROUNDS FORKS MODEL...: 8 threads run modules that all share, and open, run and close others of the same files and of
 * each other's; FORKS times meanwhile the process forks, and the child does so, too. Every result must be the first one. */
#define _GNU_SOURCE
#include <inarch_runtime.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CALLERS = 8, MODELS = 8 };

static char **paths;
static int models, rounds;
static inarch_module *shared[MODELS];
static unsigned char *expected[MODELS];

static size_t bytes_of(const inarch_port *ports, int count)
{
    size_t sum = 0;
    for (int i = 0; i < count; i++) {
        sum += (size_t)ports[i].bytes;
    }
    return sum;
}

/* All inputs are the same small numbers; all outputs, one behind the other, are the caller's to free. */
static unsigned char *run(inarch_module *module, int threads)
{
    const inarch_function *function = inarch_function_at(module, 0);
    const inarch_port *ports = function->ports, *outs = ports + function->inputs;
    const size_t in = bytes_of(ports, function->inputs), out = bytes_of(outs, function->outputs);
    float *given = malloc(in);
    unsigned char *result = malloc(out);
    inarch_instance *instance = NULL;
    for (size_t i = 0; i < in / sizeof(float); i++) {
        given[i] = (float)((int)(i % 17) - 8) / 64;
    }
    memset(result, 0xff, out);
    int is_done = inarch_instance_new(module, function->name, NULL, 0, &instance) == INARCH_OK;
    unsigned char *at = (unsigned char *)given;
    for (int i = 0; is_done && i < function->inputs; at += ports[i++].bytes) {
        is_done = inarch_bind_input(instance, ports[i].name, at, (size_t)ports[i].bytes) == INARCH_OK;
    }
    at = result;
    for (int i = 0; is_done && i < function->outputs; at += outs[i++].bytes) {
        is_done = inarch_bind_output(instance, outs[i].name, at, (size_t)outs[i].bytes) == INARCH_OK;
    }
    is_done = is_done && inarch_set_threads(instance, threads) == INARCH_OK && inarch_run(instance) == INARCH_OK;
    inarch_instance_free(instance);
    free(given);
    if (is_done) {
        return result;
    }
    fprintf(stderr, "%s\n", inarch_last_error());
    free(result);
    return NULL;
}

static int is_right(inarch_module *module, int model, int threads)
{
    unsigned char *found = run(module, threads);
    const inarch_function *function = inarch_function_at(module, 0);
    const size_t size = bytes_of(function->ports + function->inputs, function->outputs);
    const int same = found != NULL && memcmp(found, expected[model], size) == 0;
    free(found);
    return same;
}

/* Returns how many results were wrong. */
static intptr_t iterations(int caller, int count)
{
    intptr_t wrong = 0;
    for (int iteration = 0; iteration < count; iteration++) {
        const int one = (caller + iteration) % models, other = (caller + iteration / 2 + 1) % models;
        inarch_module *own = NULL;
        wrong += !is_right(shared[one], one, (caller + iteration) % 4);
        if (inarch_open(paths[other], NULL, &own) != INARCH_OK || !is_right(own, other, 3)) {
            wrong++;
        }
        inarch_close(own);
    }
    return wrong;
}

static void *call(void *caller)
{
    return (void *)iterations((int)(intptr_t)caller, rounds);
}

int main(int count, char **arguments)
{
    pthread_t threads[CALLERS];
    intptr_t wrong = 0;
    if (count < 4 || count > 3 + MODELS) {
        return 2;
    }
    rounds = atoi(arguments[1]);
    paths = arguments + 3;
    models = count - 3;
    for (int i = 0; i < models; i++) {
        if (inarch_open(paths[i], NULL, &shared[i]) != INARCH_OK || (expected[i] = run(shared[i], 1)) == NULL) {
            fprintf(stderr, "%s\n", inarch_last_error());
            return 1;
        }
    }
    for (intptr_t i = 0; i < CALLERS; i++) {
        pthread_create(&threads[i], NULL, call, (void *)i);
    }
    for (int i = 0; i < atoi(arguments[2]); i++) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(60); /* a child that hangs fails */
            _exit(iterations(i, models) == 0 ? 0 : 3);
        }
        int status;
        waitpid(child, &status, 0);
        wrong += status != 0;
    }
    for (int i = 0; i < CALLERS; i++) {
        void *own;
        pthread_join(threads[i], &own);
        wrong += (intptr_t)own;
    }
    for (int i = 0; i < models; i++) {
        inarch_close(shared[i]);
        free(expected[i]);
    }
    printf("%d wrong\n", (int)wrong);
    return wrong != 0;
}
