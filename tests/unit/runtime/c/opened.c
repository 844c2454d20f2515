/* Calls `m_main` of libraries that it opens by path, from 8 threads at once: opened PATH ... */
#include <dlfcn.h>
#include <inarch.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 8 };

static int32_t (*run)(DLTensor *args, int32_t n);
static pthread_barrier_t start;

static void *call(void *result)
{
    int64_t shape[] = {4};
    float x[4] = {1, 2, 3, 4}, y[4] = {0};
    DLTensor args[] = {{x, {INARCH_CPU, 0}, 1, {INARCH_FLOAT, 32, 1}, shape, NULL, 0},
                       {y, {INARCH_CPU, 0}, 1, {INARCH_FLOAT, 32, 1}, shape, NULL, 0}};
    pthread_barrier_wait(&start);
    float *sum = (float *)result;
    *sum = run(args, 2) == 0 ? y[0] + y[1] + y[2] + y[3] : -1;
    return NULL;
}

int main(int count, char **words)
{
    for (int i = 1; i < count; i++) {
        void *library = dlopen(words[i], RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) {
            puts(dlerror());
            return 1;
        }
        const char *(*last_error)(void) = NULL;
        *(void **)&run = dlsym(library, "m_main");
        *(void **)&last_error = dlsym(library, "m_last_error");
        pthread_t threads[THREADS];
        float sums[THREADS];
        pthread_barrier_init(&start, NULL, THREADS);
        for (int t = 0; t < THREADS; t++) {
            pthread_create(&threads[t], NULL, call, &sums[t]);
        }
        int alike = 1;
        for (int t = 0; t < THREADS; t++) {
            pthread_join(threads[t], NULL);
            alike &= sums[t] == sums[0];
        }
        float here;
        pthread_barrier_init(&start, NULL, 1);
        call(&here);
        printf("%d %g %s\n", alike && here == sums[0], (double)here, here < 0 ? last_error() : "");
    }
    return 0;
}
