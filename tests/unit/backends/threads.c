/* Calls the program of test_threads.py in ways that only C can. Prints what test_threads.py expects. */
#define _GNU_SOURCE
#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { M = 96, K = 512, N = 256, CALLERS = 8 };

typedef void (*inarch_task)(void *context, int64_t begin, int64_t end, int32_t part);
typedef struct {
    void (*run)(void *self, int32_t threads, int64_t count, inarch_task task, void *context);
    void *self;
} inarch_pool;

int32_t shared_main_run(void *const *buffers, const void *weights, void *workspace);
int32_t shared_set_threads(int32_t threads);
const inarch_pool *shared_pool(const inarch_pool *use);
const char *shared_last_error(void);

static float x[M * K], w[K * N], expected[M * N];

static void call(float *y)
{
    void *const buffers[] = {x, w, y};
    void *workspace = aligned_alloc(64, 1 << 22);
    memset(y, 0xff, sizeof(expected));
    if (shared_main_run(buffers, NULL, workspace) != 0) {
        abort();
    }
    free(workspace);
}

static void check(void)
{
    float *y = aligned_alloc(64, sizeof(expected));
    call(y);
    if (memcmp(y, expected, sizeof(expected)) != 0) {
        puts("wrong");
        exit(1);
    }
    free(y);
}

static int iterations = 40;

static void *hammer(void *argument)
{
    shared_set_threads((int32_t)(intptr_t)argument % 4);
    for (int iteration = 0; iteration < iterations; iteration++) {
        check();
    }
    return NULL;
}

static int tasks(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/task");
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        count += entry->d_name[0] != '.';
    }
    closedir(folder);
    return count;
}

static int mine;

static void run_mine(void *self, int32_t threads, int64_t count, inarch_task task, void *context)
{
    (void)self, (void)threads;
    mine++;
    for (int64_t at = count; at > 0; at--) { /* one by one, from behind */
        task(context, at - 1, at, 0);
    }
}

static void call_within(void *context, int64_t begin, int64_t end, int32_t part)
{
    (void)context, (void)part;
    for (; begin < end; begin++) {
        check();
    }
}

int main(int count, char **words)
{
    const char *what = count > 1 ? words[1] : "";
    iterations = count > 2 ? atoi(words[2]) : iterations;
    for (int i = 0; i < M * K; i++) {
        x[i] = (float)(i % 17 - 8) / 64;
    }
    for (int i = 0; i < K * N; i++) {
        w[i] = (float)(i % 13 - 6) / 64;
    }
    shared_set_threads(1);
    call(expected);
    for (int i = 0; i < M; i++) { /* against the definition, in double */
        double sum = 0;
        for (int k = 0; k < K; k++) {
            sum += (double)x[i * K + k] * w[k * N + 5];
        }
        if (fabs(exp(sum) - expected[i * N + 5]) > 1e-4 * exp(sum)) {
            puts("not the product");
            return 1;
        }
    }
    shared_set_threads(0);
    if (strcmp(what, "hammer") == 0 || strcmp(what, "fork") == 0) {
        pthread_t threads[CALLERS];
        for (intptr_t i = 0; i < CALLERS; i++) {
            pthread_create(&threads[i], NULL, hammer, (void *)i);
        }
        for (int i = 0; what[0] == 'f' && 2 * i < iterations; i++) {
            const pid_t child = fork();
            if (child == 0) {
                alarm(20); /* a child that hangs fails */
                hammer(NULL);
                _exit(tasks() == 3 ? 0 : 3); /* with two workers of its own */
            }
            int status;
            waitpid(child, &status, 0);
            if (status != 0) {
                puts("a child failed");
                return 1;
            }
        }
        for (int i = 0; i < CALLERS; i++) {
            pthread_join(threads[i], NULL);
        }
        puts("right");
    } else if (strcmp(what, "count") == 0) {
        check();
        printf("%d\n", tasks());
    } else if (strcmp(what, "no-threads") == 0) {
        const struct rlimit little = {1 << 20, 1 << 20};
        float *y = aligned_alloc(64, sizeof(expected));
        void *workspace = aligned_alloc(64, 1 << 22);
        void *const buffers[] = {x, w, y};
        setrlimit(RLIMIT_AS, &little);
        shared_main_run(buffers, NULL, workspace);
        const int same = memcmp(y, expected, sizeof(expected)) == 0;
        printf("%s, %d started\n", same ? "right" : "wrong", tasks() - 1);
    } else if (strcmp(what, "own-pool") == 0) {
        const inarch_pool own = {run_mine, NULL};
        if (shared_pool(&own) == NULL) {
            return 1;
        }
        check();
        printf("right, loops of %s\n", mine > 0 && tasks() == 1 ? "mine" : "others");
    } else if (strcmp(what, "nested") == 0) {
        const inarch_pool *pool = shared_pool(NULL);
        pool->run(pool->self, 3, 9, call_within, NULL);
        puts("right");
    } else if (strcmp(what, "wrong-number") == 0) {
        const int32_t status = shared_set_threads(-1);
        printf("%d: %s\n", (int)status, shared_last_error());
    }
    return 0;
}
