/* Forks while four threads open and close an artifact; children open it, too: forks ARTIFACT TIMES */
#include <inarch_runtime.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4 };

static const char *path;
static int stop;

static void *work(void *unused)
{
    (void)unused;
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        inarch_module *module;
        if (inarch_open(path, NULL, &module) == INARCH_OK) {
            inarch_close(module);
        }
    }
    return NULL;
}

int main(int count, char **words)
{
    path = words[1];
    const int times = count > 2 ? atoi(words[2]) : 1;
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, work, NULL);
    }
    int hung = 0, wrong = 0;
    for (int i = 0; i < times && hung == 0; i++) {
        usleep(500);
        const pid_t child = fork();
        if (child == 0) {
            inarch_module *module;
            alarm(20);
            _exit(inarch_open(path, NULL, &module) == INARCH_OK ? 0 : 1);
        }
        int status = 0;
        waitpid(child, &status, 0);
        hung += WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
        wrong += !WIFSIGNALED(status) && status != 0;
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    printf("%d hung %d wrong\n", hung, wrong);
    return 0;
}
