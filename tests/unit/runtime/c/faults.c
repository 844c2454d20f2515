/* faults MODEL [LOADER], faults MODEL = PREFIX: what libinarch and compiled code do when the system refuses what they ask.
 *
 * Functions of libc that allocate, open, map, write or start threads are defined here, so that libinarch, the artifact's
 * code (-rdynamic) and loaders call these. A round opens the model, runs its functions in three ways, and closes it. With a
 * PREFIX, that of its symbols, the model is a shared library without libinarch, and a round calls its functions unbound.
 * Of the calls of a round the n-th fails, for every n, once and from there on. Then each step returns a documented code
 * and says why, or gives the right result; nothing leaks; and a round without faults is right.
 */
#include <inarch_runtime.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST 64      /* functions and ports */
#define HELD 100000  /* things that are held at once */
#define NUMBERS 16384 /* of an argument, at most, in doubles */

/* Which call fails */

static long calls, failing; /* 0: none */
static int is_lasting, is_armed;
static int is_taken; /* each name that a library is opened by: others have it */
static const char *failed;
static struct {
    uintptr_t begin, end;
} libc_parts[64];
static int libc_count;

static int add_parts(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    const char *name = strrchr(info->dlpi_name, '/');
    if (name == NULL || (strncmp(name, "/libc.", 6) != 0 && strncmp(name, "/ld-", 4) != 0)) {
        return 0;
    }
    for (int i = 0; i < info->dlpi_phnum && libc_count < 64; i++) {
        if (info->dlpi_phdr[i].p_type == PT_LOAD) {
            libc_parts[libc_count].begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            libc_parts[libc_count].end = libc_parts[libc_count].begin + info->dlpi_phdr[i].p_memsz;
            libc_count++;
        }
    }
    return 0;
}

/* libc calls these functions for itself: what it does then is not ours to test. */
static int is_ours(const void *caller)
{
    for (int i = 0; i < libc_count; i++) {
        if ((uintptr_t)caller >= libc_parts[i].begin && (uintptr_t)caller < libc_parts[i].end) {
            return 0;
        }
    }
    return __atomic_load_n(&is_armed, __ATOMIC_RELAXED);
}

static int fails(const char *name, int error)
{
    const long number = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    if (failing == 0 || number < failing || (number > failing && !is_lasting)) {
        return 0;
    }
    if (number == failing) {
        failed = name;
    }
    errno = error;
    return 1;
}

/* What is held */

static struct {
    const char *kind;
    uintptr_t what;
    long call;
} held[HELD];
static int held_most;
static unsigned char held_lock;

static void hold(const char *kind, uintptr_t what)
{
    while (__atomic_test_and_set(&held_lock, __ATOMIC_ACQUIRE)) {
    }
    int at = 0;
    while (at < held_most && held[at].kind != NULL) {
        at++;
    }
    if (at < HELD) {
        held[at].kind = kind;
        held[at].what = what;
        held[at].call = calls;
        held_most = at == held_most ? at + 1 : held_most;
    }
    __atomic_clear(&held_lock, __ATOMIC_RELEASE);
}

static void drop(const char *kind, uintptr_t what)
{
    while (__atomic_test_and_set(&held_lock, __ATOMIC_ACQUIRE)) {
    }
    for (int at = 0; at < held_most; at++) {
        if (held[at].kind == kind && held[at].what == what) {
            held[at].kind = NULL;
            break;
        }
    }
    __atomic_clear(&held_lock, __ATOMIC_RELEASE);
}

static const char MEMORY[] = "memory", DESCRIPTOR[] = "descriptor", MAPPING[] = "mapping", LIBRARY[] = "library",
                  STREAM[] = "stream", THREAD[] = "thread";

/* The functions */

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t),
    *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

#define CALLER __builtin_return_address(0)
#define NEXT(name) \
    static __typeof__(&name) real; \
    if (real == NULL) { \
        void *found = dlsym(RTLD_NEXT, #name); \
        memcpy(&real, &found, sizeof(real)); \
    }

static void *held_memory(const void *caller, void *memory)
{
    if (memory != NULL && is_ours(caller)) {
        hold(MEMORY, (uintptr_t)memory);
    }
    return memory;
}

void *malloc(size_t size)
{
    return is_ours(CALLER) && fails("malloc", ENOMEM) ? NULL : held_memory(CALLER, __libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
    return is_ours(CALLER) && fails("calloc", ENOMEM) ? NULL : held_memory(CALLER, __libc_calloc(count, size));
}

void *realloc(void *before, size_t size)
{
    if (is_ours(CALLER) && fails("realloc", ENOMEM)) {
        return NULL;
    }
    void *after = __libc_realloc(before, size);
    if (after != NULL) {
        drop(MEMORY, (uintptr_t)before);
    }
    return held_memory(CALLER, after);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return is_ours(CALLER) && fails("aligned_alloc", ENOMEM) ? NULL
                                                             : held_memory(CALLER, __libc_memalign(alignment, size));
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    if (is_ours(CALLER) && fails("posix_memalign", ENOMEM)) {
        return ENOMEM;
    }
    *memory = held_memory(CALLER, __libc_memalign(alignment, size));
    return *memory == NULL ? ENOMEM : 0;
}

char *strdup(const char *text)
{
    if (is_ours(CALLER) && fails("strdup", ENOMEM)) {
        return NULL;
    }
    char *copy = (char *)__libc_malloc(strlen(text) + 1);
    return copy == NULL ? NULL : (char *)held_memory(CALLER, strcpy(copy, text));
}

void free(void *memory)
{
    if (memory != NULL && held_most != 0) {
        drop(MEMORY, (uintptr_t)memory);
    }
    __libc_free(memory);
}

static int held_descriptor(const void *caller, int descriptor)
{
    if (descriptor >= 0 && is_ours(caller)) {
        hold(DESCRIPTOR, (uintptr_t)descriptor);
    }
    return descriptor;
}

int open(const char *path, int flags, ...)
{
    NEXT(open)
    if (is_ours(CALLER) && fails("open", EMFILE)) {
        return -1;
    }
    va_list rest;
    va_start(rest, flags);
    const int mode = (flags & O_CREAT) != 0 ? va_arg(rest, int) : 0;
    va_end(rest);
    return held_descriptor(CALLER, real(path, flags, mode));
}

int memfd_create(const char *name, unsigned flags)
{
    NEXT(memfd_create)
    return is_ours(CALLER) && fails("memfd_create", EMFILE) ? -1 : held_descriptor(CALLER, real(name, flags));
}

int close(int descriptor)
{
    NEXT(close)
    drop(DESCRIPTOR, (uintptr_t)descriptor);
    return real(descriptor);
}

int fstat(int descriptor, struct stat *state)
{
    NEXT(fstat)
    return is_ours(CALLER) && fails("fstat", EIO) ? -1 : real(descriptor, state);
}

int stat(const char *path, struct stat *state)
{
    NEXT(stat)
    return is_ours(CALLER) && fails("stat", EIO) ? -1 : real(path, state);
}

ssize_t read(int descriptor, void *bytes, size_t count)
{
    NEXT(read)
    return is_ours(CALLER) && fails("read", EIO) ? -1 : real(descriptor, bytes, count);
}

/* Is interrupted each other time, and writes half: the caller has to go on. */
ssize_t write(int descriptor, const void *bytes, size_t count)
{
    NEXT(write)
    if (is_ours(CALLER) && fails("write", ENOSPC)) {
        return -1;
    }
    static int is_interrupted;
    if (is_ours(CALLER) && (is_interrupted ^= 1)) {
        errno = EINTR;
        return -1;
    }
    return real(descriptor, bytes, is_ours(CALLER) ? (count + 1) / 2 : count);
}

void *mmap(void *address, size_t size, int protection, int flags, int descriptor, off_t offset)
{
    NEXT(mmap)
    if (is_ours(CALLER) && fails("mmap", ENOMEM)) {
        return MAP_FAILED;
    }
    void *memory = real(address, size, protection, flags, descriptor, offset);
    if (memory != MAP_FAILED && is_ours(CALLER)) {
        hold(MAPPING, (uintptr_t)memory);
    }
    return memory;
}

int munmap(void *memory, size_t size)
{
    NEXT(munmap)
    drop(MAPPING, (uintptr_t)memory);
    return real(memory, size);
}

FILE *fopen(const char *path, const char *mode)
{
    NEXT(fopen)
    FILE *stream = is_ours(CALLER) && fails("fopen", EMFILE) ? NULL : real(path, mode);
    if (stream != NULL && is_ours(CALLER)) {
        hold(STREAM, (uintptr_t)stream);
    }
    return stream;
}

int fclose(FILE *stream)
{
    NEXT(fclose)
    drop(STREAM, (uintptr_t)stream);
    return real(stream);
}

char *realpath(const char *restrict path, char *restrict resolved)
{
    NEXT(realpath)
    if (is_ours(CALLER) && fails("realpath", ENOMEM)) {
        return NULL;
    }
    char *found = real(path, resolved);
    return resolved == NULL ? (char *)held_memory(CALLER, found) : found;
}

void *dlopen(const char *path, int mode)
{
    NEXT(dlopen)
    if (is_ours(CALLER) && fails("dlopen", ENOMEM)) {
        return real("/no memory", mode); /* so that dlerror says something */
    }
    if (is_taken && is_ours(CALLER) && (mode & RTLD_NOLOAD) != 0) {
        failed = "RTLD_NOLOAD";
        return real(NULL, RTLD_NOW);
    }
    void *library = real(path, mode);
    if (library != NULL && is_ours(CALLER)) {
        hold(LIBRARY, (uintptr_t)library);
    }
    return library;
}

int dlclose(void *library)
{
    NEXT(dlclose)
    drop(LIBRARY, (uintptr_t)library);
    return real(library);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*work)(void *), void *argument)
{
    NEXT(pthread_create)
    if (is_ours(CALLER) && fails("pthread_create", EAGAIN)) {
        return EAGAIN;
    }
    const int status = real(thread, how, work, argument);
    if (status == 0 && is_ours(CALLER)) {
        hold(THREAD, (uintptr_t)*thread);
    }
    return status;
}

int pthread_join(pthread_t thread, void **result)
{
    NEXT(pthread_join)
    drop(THREAD, (uintptr_t)thread);
    return real(thread, result);
}

/* A round */

static const char *path, *loaders[2], *prefix;
static double data[MOST][NUMBERS];
static unsigned char expected[2 * MOST][sizeof(data[0])];
static int64_t shapes[MOST][8];
static int is_first = 1; /* the round that says what is expected */
static int result_count;

static void stop(const char *what, const char *why)
{
    is_armed = 0;
    printf("call %ld of %s fails%s: %s: %s\n", failing, failed == NULL ? "none" : failed, is_lasting ? ", and all later" : "",
           what, why);
    fflush(stdout);
    _exit(1);
}

/* Whether a step was done. What was not has a code that names the environment, and one line of why. */
static int good(const char *step, int32_t status, const char *message)
{
    if (status == INARCH_OK) {
        return 1;
    }
    if (failed == NULL) {
        stop(step, message);
    }
    if (status != INARCH_NO_MEMORY && status != INARCH_UNREADABLE && status != INARCH_UNSUPPORTED) {
        char text[700];
        snprintf(text, sizeof(text), "status %d: %s", (int)status, message);
        stop(step, text);
    }
    if (*message == 0 || strchr(message, '\n') != NULL) {
        stop(step, "expected one line of why");
    }
    return 0;
}

static void compare(const char *step, const void *found, int64_t bytes)
{
    const int at = result_count++;
    if (at >= 2 * MOST || bytes > (int64_t)sizeof(expected[0])) {
        stop(step, "too many, or too large, results");
    }
    if (is_first) {
        memcpy(expected[at], found, (size_t)bytes);
    } else if (memcmp(expected[at], found, (size_t)bytes) != 0) {
        stop(step, "expected the result of a round without faults, found another");
    }
}

static void fill(const inarch_port *port, int number)
{
    const int64_t size = (port->dtype & 0xff) / 8;
    for (int64_t i = 0; i < (int64_t)sizeof(data[0]) / size; i++) {
        const double value = (double)((i * 7 + number) % 5 + 1) / 8;
        if (port->dtype == INARCH_F32) {
            ((float *)(void *)data[number])[i] = (float)value;
        } else if (port->dtype == INARCH_F64) {
            data[number][i] = value;
        } else {
            memset((char *)data[number] + i * size, 0, (size_t)size);
        }
    }
}

/* By an instance, with weights of its own at last. */
static void run_instance(inarch_module *module, const inarch_function *function, int32_t threads)
{
    inarch_instance *instance = NULL;
    if (!good("inarch_instance_new", inarch_instance_new(module, function->name, NULL, 0, &instance), inarch_last_error())) {
        if (instance != NULL) {
            stop("inarch_instance_new", "expected no instance of a call that failed");
        }
        result_count += 2 * function->outputs;
        return;
    }
    inarch_set_threads(instance, threads);
    const int32_t count = function->inputs + function->outputs;
    for (int32_t i = 0; i < count; i++) {
        const char *name = function->ports[i].name;
        const int32_t status = i < function->inputs
                                   ? inarch_bind_input(instance, name, data[i], sizeof(data[i]))
                                   : inarch_bind_output(instance, name, data[i], sizeof(data[i]));
        good("inarch_bind", status, inarch_last_error());
    }
    inarch_weights weights = {NULL, 0, NULL, NULL};
    weights.data = inarch_module_weights(module, &weights.bytes);
    for (int own = 0; own < 2; own++) {
        const int is_set = own == 0
                           || good("inarch_instance_set_weights", inarch_instance_set_weights(instance, &weights),
                                   inarch_last_error());
        const int is_run = is_set && good("inarch_run", inarch_run(instance), inarch_last_error());
        for (int32_t i = function->inputs; i < count; i++) {
            if (is_run) {
                compare("inarch_run", data[i], function->ports[i].bytes);
            } else {
                result_count++;
            }
        }
    }
    inarch_instance_free(instance);
}

static int done_count, done_status;

static void done(void *self, int32_t status)
{
    (void)self;
    done_count++;
    done_status = status;
}

/* Executors may run it when they are asked, from `submit`. */
static int32_t submit(void *self, void (*task)(void *context), void *context)
{
    (void)self;
    task(context);
    return 0;
}

static void *allocate(void *self, const inarch_request *request)
{
    (void)self;
    return aligned_alloc((size_t)request->alignment, ((size_t)request->bytes + 63) / 64 * 64);
}

static void release(void *self, void *memory, const inarch_request *request)
{
    (void)self;
    (void)request;
    free(memory);
}

/* Tensors of a function; outputs with data, or without. */
static int32_t set_tensors(const inarch_function *function, DLTensor *args, int has_outputs)
{
    const int32_t count = function->inputs + function->outputs;
    memset(args, 0, MOST * sizeof(*args));
    for (int32_t i = 0; i < count; i++) {
        const inarch_port *port = &function->ports[i];
        args[i].device.device_type = INARCH_CPU;
        args[i].dtype.code = (uint8_t)(port->dtype >> 8);
        args[i].dtype.bits = (uint8_t)(port->dtype & 0xff);
        args[i].dtype.lanes = 1;
        args[i].ndim = port->rank;
        args[i].shape = shapes[i];
        for (int32_t axis = 0; axis < port->rank; axis++) {
            shapes[i][axis] = port->shape[axis];
        }
        args[i].data = has_outputs || i < function->inputs ? data[i] : NULL;
    }
    return count;
}

/* By the library's table, which allocates outputs; later, by an executor, with an allocator of ours. */
static void run_table(const inarch_library *library, const void *weights, int32_t number, int32_t is_later)
{
    const inarch_function *function = &library->functions[number];
    inarch_setup setup = {0};
    setup.size = sizeof(setup);
    setup.weights.data = weights;
    setup.weights.bytes = weights == NULL ? 0 : library->weights_bytes;
    if (is_later) {
        setup.executor.submit = submit;
        setup.allocator.allocate = allocate;
        setup.allocator.release = release;
    }
    inarch_state *state = NULL;
    if (library->import_count > 0) {
        return; /* a state of ours would need them */
    }
    if (!good("state_new", library->state_new(library, &setup, &state), library->last_error())) {
        result_count += function->outputs;
        return;
    }
    DLTensor args[MOST];
    const int32_t count = set_tensors(function, args, 0);
    inarch_call call = {0};
    call.size = sizeof(call);
    call.flags = INARCH_ALLOCATE;
    call.done = is_later ? done : NULL;
    done_count = 0;
    int32_t status = library->run(state, number, args, count, &call);
    if (is_later && done_count != (status == INARCH_OK)) {
        stop("run", "expected `done` once of a call that was accepted, and else not");
    }
    const int is_accepted = status == INARCH_OK; /* then outputs are ours, also where it fails later */
    status = is_accepted && is_later ? done_status : status;
    const int is_run = good("run", status, library->last_error());
    for (int32_t i = function->inputs; i < count; i++) {
        if (is_run) {
            compare("run", args[i].data, function->ports[i].bytes);
        } else {
            result_count++;
        }
        if (is_accepted) {
            library->release(state, args[i].data, function->ports[i].bytes);
        } else if (args[i].data != NULL) {
            stop("run", "expected no memory of a call that failed");
        }
    }
    library->state_free(state);
}

static void fill_inputs(const inarch_function *function)
{
    for (int32_t i = 0; i < function->inputs; i++) {
        fill(&function->ports[i], i);
    }
}

static void *find(void *handle, const char *name)
{
    char symbol[200];
    snprintf(symbol, sizeof(symbol), "%s_%s", prefix, name);
    void *found = dlsym(handle, symbol);
    if (found == NULL) {
        stop(symbol, "is no symbol of the library");
    }
    return found;
}

/* By the public function, as who has the library alone calls it: twice, so that one call that fails is followed by another. */
static void run_public(void *handle, const inarch_library *library, int32_t number)
{
    const inarch_function *function = &library->functions[number];
    int32_t (*call)(DLTensor *args, int32_t n);
    void *found = find(handle, function->name);
    memcpy(&call, &found, sizeof(found));
    for (int again = 0; again < 2; again++) {
        DLTensor args[MOST];
        const int32_t count = set_tensors(function, args, 1);
        const int is_run = good(function->name, call(args, count), library->last_error());
        for (int32_t i = function->inputs; i < count; i++) {
            if (is_run) {
                compare(function->name, data[i], function->ports[i].bytes);
            } else {
                result_count++;
            }
        }
    }
}

/* A round of a library without libinarch. */
static void run_alone(void)
{
    static _Alignas(64) unsigned char weights[NUMBERS * sizeof(double)];
    const inarch_library *(*table)(void);
    result_count = 0;
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!good("dlopen", handle == NULL ? INARCH_UNREADABLE : INARCH_OK, handle == NULL ? dlerror() : "")) {
        return;
    }
    void *found = find(handle, "library");
    memcpy(&table, &found, sizeof(found));
    const inarch_library *library = table();
    if (library->weights_bytes > (int64_t)sizeof(weights)) {
        stop("library", "too many weights");
    }
    for (int32_t number = 0; number < library->function_count; number++) {
        fill_inputs(&library->functions[number]);
        run_public(handle, library, number);
        run_table(library, weights, number, 0);
        run_table(library, weights, number, 1);
    }
    dlclose(handle);
}

static void run_round(void)
{
    inarch_options options = INARCH_OPTIONS;
    options.flags = INARCH_VERIFY;
    options.loaders = loaders[0] == NULL ? NULL : loaders;
    inarch_module *module = NULL;
    result_count = 0;
    if (!good("inarch_open", inarch_open(path, &options, &module), inarch_last_error())) {
        if (module != NULL) {
            stop("inarch_open", "expected no module of a call that failed");
        }
        return;
    }
    for (int32_t number = 0; number < inarch_function_count(module); number++) {
        const inarch_function *function = inarch_function_at(module, number);
        int64_t bytes;
        const void *weights = inarch_module_weights(module, &bytes);
        fill_inputs(function);
        run_instance(module, function, 2);
        run_table(inarch_module_library(module), weights, number, 0);
        run_table(inarch_module_library(module), weights, number, 1);
    }
    inarch_close(module);
}

static void inject(long number, int lasting)
{
    failing = number;
    is_lasting = lasting;
    failed = NULL;
    calls = 0;
    is_armed = 1;
    if (prefix == NULL) {
        run_round();
    } else {
        run_alone();
    }
    is_armed = 0;
    for (int i = 0; i < held_most; i++) {
        if (held[i].kind != NULL) {
            char text[100];
            snprintf(text, sizeof(text), "%s of call %ld", held[i].kind, held[i].call);
            stop("leaks", text);
        }
    }
    held_most = 0;
}

int main(int count, char **arguments)
{
    path = arguments[1];
    prefix = count > 3 ? arguments[3] : NULL;
    loaders[0] = count == 3 ? arguments[2] : NULL;
    dl_iterate_phdr(add_parts, NULL);
    inject(0, 0);
    is_first = 0;
    inject(0, 0);
    const long total = calls;
    for (int lasting = 0; lasting < 2; lasting++) {
        for (long number = 1; number <= total; number++) {
            inject(number, lasting);
            inject(0, 0);
        }
    }
    is_taken = prefix == NULL;
    inject(0, 0);
    printf("%ld calls\n", total);
    return 0;
}
