/* abi WHAT: the ABI from C, on a model `net` of which main(x[96,64], s) is y = relu(x V) W, z = x s, with weights that
 * are all of one value c, so that y of ones is 64 * 256 * c * c; through(x[4]) calls the import `outside`. */
#define _POSIX_C_SOURCE 200809L
#include <inarch.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C"
#endif
const inarch_library *net_library(void);

enum { X = 96 * 64, Y = 96 * 8, THREADS = 4, MAIN = 0, THROUGH = 1 };

static const inarch_library *net;
static float ones[X];
static int64_t shape_x[] = {96, 64}, shape_y[] = {96, 8}, shape_4[] = {4};

static int32_t times(void *self, DLTensor *args, int32_t n)
{
    for (int i = 0; i < 4; i++) {
        ((float *)args[1].data)[i] = *(float *)self * ((float *)args[0].data)[i];
    }
    return n - 2;
}

static float two = 2, three = 3;
static const inarch_import twice = {times, &two}, thrice = {times, &three};

static float *filled(float value)
{
    float *weights = (float *)aligned_alloc(64, (size_t)net->weights_bytes);
    for (int64_t i = 0; i < net->weights_bytes / 4; i++) {
        weights[i] = value;
    }
    return weights;
}

static DLTensor tensor(float *data, int32_t rank, int64_t *shape)
{
    DLTensor made = {data, {INARCH_CPU, 0}, rank, {INARCH_FLOAT, 32, 1}, shape, NULL, 0};
    return made;
}

static inarch_setup plain(const inarch_import *import)
{
    inarch_setup setup;
    memset(&setup, 0, sizeof(setup));
    setup.size = sizeof(setup);
    setup.import_count = 1;
    setup.imports = import;
    return setup;
}

static inarch_call of(int32_t flags)
{
    inarch_call call;
    memset(&call, 0, sizeof(call));
    call.size = sizeof(call);
    call.flags = flags;
    return call;
}

static inarch_state *made(const inarch_setup *setup)
{
    inarch_state *state;
    if (net->state_new(net, setup, &state) != INARCH_OK) {
        puts(net->last_error());
        exit(1);
    }
    return state;
}

static void expect(int is_so, const char *what)
{
    if (!is_so) {
        printf("%s: %s\n", what, net->last_error());
        exit(1);
    }
}

/* y of one call, all of whose elements are the same; -1 where they are not. */
static float called(inarch_state *state, float scale, const inarch_call *call)
{
    static __thread float y[Y], z[X];
    DLTensor args[] = {tensor(ones, 2, shape_x), inarch_scalar_f32(scale), tensor(y, 2, shape_y),
                       tensor(z, 2, shape_x)};
    expect(net->run(state, MAIN, args, 4, call) == INARCH_OK, "run");
    for (int i = 0; i < Y; i++) {
        if (y[i] != y[0]) {
            return -1;
        }
    }
    return z[0] == scale && z[X - 1] == scale ? y[0] : -1;
}

static float product(float c)
{
    return 64 * 256 * c * c;
}

/* ---- what it says of itself */

static void describe(void)
{
    printf("%s abi %d, %lld bytes of weights, %d functions, imports", net->name, net->abi,
           (long long)net->weights_bytes, net->function_count);
    for (int i = 0; i < net->import_count; i++) {
        printf(" %s", net->imports[i]);
    }
    puts("");
    for (int i = 0; i < net->function_count; i++) {
        const inarch_function *one
            = (const inarch_function *)(const void *)((const char *)net->functions + i * net->function_size);
        printf("%s workspace %lld\n", one->name, (long long)one->workspace_bytes);
        for (int k = 0; k < one->inputs + one->outputs; k++) {
            const inarch_port *port
                = (const inarch_port *)(const void *)((const char *)one->ports + k * net->port_size);
            printf("%s %x", port->name, (unsigned)port->dtype);
            for (int axis = 0; axis < port->rank; axis++) {
                printf(" %lld", (long long)port->shape[axis]);
            }
            printf(", %lld bytes,%s%s\n", (long long)port->bytes, port->effects & INARCH_READS ? " read" : "",
                   port->effects & INARCH_WRITES ? " written" : "");
        }
    }
    int64_t sizes[3] = {7, 7, 7};
    DLTensor args[4] = {tensor(NULL, 2, shape_x), inarch_scalar_f32(1), tensor(NULL, 3, sizes), tensor(NULL, 0, NULL)};
    expect(net->shapes(net, MAIN, args, 4) == INARCH_OK, "shapes");
    printf("y %d: %d %d, z %d: %d %d\n", args[2].ndim, (int)sizes[0], (int)sizes[1], args[3].ndim,
           (int)args[3].shape[0], (int)args[3].shape[1]);
    printf("%d\n", args[2].shape == sizes && args[3].dtype.bits == 32 && args[3].device.device_type == INARCH_CPU);
}

/* ---- what is refused */

#define TELL(expression) printf("%d %s\n", (int)(expression), net->last_error())

static void refuse(void)
{
    inarch_state *state = NULL;
    float *weights = filled(1), y[Y], z[X];
    inarch_setup setup = plain(&twice);
    setup.import_count = 0;
    TELL(net->state_new(net, &setup, &state));
    setup = plain(NULL);
    TELL(net->state_new(net, &setup, &state));
    setup = plain(&twice);
    setup.weights.data = weights;
    setup.weights.bytes = 64;
    TELL(net->state_new(net, &setup, &state));
    setup.weights.data = (char *)weights + 4;
    setup.weights.bytes = net->weights_bytes;
    TELL(net->state_new(net, &setup, &state));
    setup.size = 4;
    TELL(net->state_new(net, &setup, &state));
    struct {
        inarch_setup known;
        int64_t later;
    } longer = {plain(&twice), 0};
    longer.known.size = sizeof(longer);
    expect(net->state_new(net, &longer.known, &state) == INARCH_OK, "zeros of a later version");
    net->state_free(state);
    longer.later = 1;
    TELL(net->state_new(net, &longer.known, &state));
    TELL(net->state_new(net, NULL, NULL));
    setup = plain(&twice);
    state = made(&setup);

    const inarch_weights shorter = {weights, 60, NULL, NULL};
    TELL(net->set_weights(state, &shorter));
    TELL(net->set_stream(state, 2, 0, NULL));
    TELL(net->set_stream(state, INARCH_CPU, 0, y));
    expect(net->set_stream(state, INARCH_CPU, 0, NULL) == INARCH_OK, "the host's stream");

    DLTensor args[] = {tensor(ones, 2, shape_x), inarch_scalar_f32(1), tensor(y, 2, shape_y), tensor(z, 2, shape_x)};
    TELL(net->run(state, 2, args, 4, NULL));
    TELL(net->run(state, MAIN, args, 3, NULL));
    int64_t bytes[] = {sizeof(ones), 0, sizeof(y), sizeof(z) - 1};
    inarch_call call = of(0);
    call.bytes = bytes;
    TELL(net->run(state, MAIN, args, 4, &call));
    bytes[3]++;
    expect(net->run(state, MAIN, args, 4, &call) == INARCH_OK, "enough bytes");
    args[0].byte_offset = 4;
    TELL(net->run(state, MAIN, args, 4, &call));
    args[0].byte_offset = 0;
    args[1] = inarch_scalar_f64(1);
    TELL(net->run(state, MAIN, args, 4, NULL));
    args[1] = inarch_scalar_f32(1);
    args[0].device.device_type = INARCH_BY_VALUE;
    TELL(net->run(state, MAIN, args, 4, NULL));
    args[0].device.device_type = INARCH_CPU;
    call = of(8);
    TELL(net->run(state, MAIN, args, 4, &call));
    call = of(0);
    call.threads = -1;
    TELL(net->run(state, MAIN, args, 4, &call));
    call = of(0);
    call.workspace = weights;
    call.workspace_bytes = 64;
    TELL(net->run(state, MAIN, args, 4, &call));
    call.workspace = (char *)weights + 4;
    call.workspace_bytes = 1 << 20;
    TELL(net->run(state, MAIN, args, 4, &call));
    args[2].data = NULL;
    TELL(net->run(state, MAIN, args, 4, NULL));
    args[2].ndim = 1;
    call = of(INARCH_ALLOCATE);
    TELL(net->run(state, MAIN, args, 4, &call));
    TELL(net->shapes(net, MAIN, args, 4));
    net->state_free(state);
    net->state_free(NULL);
    free(weights);
}

/* ---- states of other weights, swapped under load */

static int stop, released;
static inarch_state *states[2];

static void poison(void *self)
{
    memset(self, 0xff, (size_t)net->weights_bytes); /* NaN, for who would still read */
    free(self);
    __atomic_add_fetch(&released, 1, __ATOMIC_RELAXED);
}

static void *load(void *argument)
{
    const int number = *(int *)argument;
    inarch_call call = of(0);
    call.workspace_bytes = net->functions[MAIN].workspace_bytes;
    call.workspace = aligned_alloc(64, (size_t)call.workspace_bytes);
    call.threads = 1;
    for (int i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED) || i < 20; i++) {
        const float y = called(states[number % 2], (float)i, i % 3 == 0 ? &call : NULL);
        const int is_right = number % 2 == 1 ? y == product(3) : y == product(1) || y == product(2);
        expect(is_right, "weights");
    }
    free(call.workspace);
    return NULL;
}

static void swap(int rounds)
{
    pthread_t threads[THREADS];
    int numbers[THREADS], done = 0;
    for (int i = 0; i < 2; i++) {
        inarch_setup setup = plain(&twice);
        float *weights = filled((float)(1 + 2 * i));
        const inarch_weights mine = {weights, net->weights_bytes, poison, weights};
        setup.weights = mine;
        states[i] = made(&setup);
    }
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, load, &numbers[i]);
    }
    while (done < rounds) {
        float *weights = filled((float)(1 + done % 2));
        const inarch_weights next = {weights, net->weights_bytes, poison, weights};
        const int32_t status = net->set_weights(states[0], &next);
        if (status == INARCH_IN_USE) {
            free(weights);
            sched_yield();
            continue;
        }
        expect(status == INARCH_OK, "set_weights");
        done++;
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    expect(__atomic_load_n(&released, __ATOMIC_RELAXED) == rounds, "all but the present ones are released");
    net->state_free(states[0]);
    net->state_free(states[1]);
    printf("%d released\n", released - rounds);
}

/* ---- memory */

static int live[3], total[3], refuse_use = -1;
static int64_t live_bytes;

static void *allocate(void *self, const inarch_request *request)
{
    (void)self;
    if (request->use == refuse_use) {
        return NULL;
    }
    expect(request->size == sizeof(*request) && request->alignment == 64 && request->bytes > 0
               && request->device.device_type == INARCH_CPU,
           "request");
    live[request->use]++;
    total[request->use]++;
    live_bytes += request->bytes;
    return aligned_alloc(64, ((size_t)request->bytes + 63) / 64 * 64);
}

static void release(void *self, void *memory, const inarch_request *request)
{
    (void)self;
    live[request->use]--;
    live_bytes -= request->bytes;
    free(memory);
}

static void memory(void)
{
    inarch_setup setup = plain(&twice);
    const inarch_allocator counting = {allocate, release, NULL};
    setup.allocator = counting;
    inarch_state *state = made(&setup);
    for (int i = 0; i < 3; i++) {
        expect(called(state, 2, NULL) == product(1), "result");
    }
    printf("states %d, workspaces %d of %d\n", live[INARCH_FOR_STATE], live[INARCH_FOR_WORKSPACE],
           total[INARCH_FOR_WORKSPACE]);

    inarch_call call = of(INARCH_ALLOCATE);
    float y[Y];
    int64_t sizes[2];
    DLTensor args[] = {tensor(ones, 2, shape_x), inarch_scalar_f32(5), tensor(y, 2, shape_y), tensor(NULL, 2, sizes)};
    expect(net->run(state, MAIN, args, 4, &call) == INARCH_OK, "outputs");
    printf("outputs %d, z %d %d of %g\n", live[INARCH_FOR_OUTPUT], (int)sizes[0], (int)sizes[1],
           ((float *)args[3].data)[X - 1]);
    net->release(state, args[3].data, X * 4);
    args[3].data = args[2].data = NULL;
    refuse_use = INARCH_FOR_OUTPUT;
    TELL(net->run(state, MAIN, args, 4, &call));
    refuse_use = INARCH_FOR_STATE;
    inarch_state *second;
    TELL(net->state_new(net, &setup, &second));
    refuse_use = -1;

    net->state_free(state);
    printf("left %d %d %d, %lld bytes\n", live[0], live[1], live[2], (long long)live_bytes);

    /* Without an allocator the outputs are libc's. */
    setup = plain(&twice);
    state = made(&setup);
    expect(net->run(state, MAIN, args, 4, &call) == INARCH_OK, "outputs of libc");
    net->release(state, args[2].data, Y * 4);
    net->release(state, args[3].data, X * 4);
    net->release(state, NULL, 0);
    net->state_free(state);
}

/* ---- imports and pools are a state's own */

static int shared_loops;

static void run_shared(void *self, int32_t threads, int64_t count, inarch_task task, void *context)
{
    (void)threads;
    ++*(int *)self;
    for (int64_t i = count; i > 0; i--) {
        task(context, i - 1, i, 0);
    }
}

static inarch_state *inner;

/* Calls the library again, by a state whose import is another. */
static int32_t nested(void *self, DLTensor *args, int32_t n)
{
    const int32_t status = net->run(inner, THROUGH, args, n, NULL);
    for (int i = 0; i < 4; i++) {
        ((float *)args[1].data)[i] *= *(float *)self;
    }
    return status;
}

static int32_t failing(void *self, DLTensor *args, int32_t n)
{
    (void)self, (void)args, (void)n;
    return 77;
}

static void own(void)
{
    float x[] = {1, 2, 3, 4}, y[4];
    DLTensor args[] = {tensor(x, 1, shape_4), tensor(y, 1, shape_4)};
    inarch_setup setup = plain(&twice);
    const inarch_pool pool = {run_shared, &shared_loops};
    setup.pool = &pool;
    inarch_state *first = made(&setup);
    setup = plain(&thrice);
    inarch_state *second = made(&setup);
    expect(net->run(first, THROUGH, args, 2, NULL) == INARCH_OK, "import");
    printf("%g", y[3]);
    expect(net->run(second, THROUGH, args, 2, NULL) == INARCH_OK, "import");
    printf(" %g", y[3]);
    const inarch_import outer = {nested, &two}, broken = {failing, NULL};
    inner = second;
    setup = plain(&outer);
    inarch_state *third = made(&setup);
    expect(net->run(third, THROUGH, args, 2, NULL) == INARCH_OK, "import");
    printf(" %g\n", y[3]);
    setup = plain(&broken);
    inarch_state *fourth = made(&setup);
    TELL(net->run(fourth, THROUGH, args, 2, NULL));
    expect(called(second, 1, NULL) == product(1) && shared_loops == 0, "the library's pool");
    inarch_call call = of(0);
    call.threads = 1;
    expect(called(first, 1, &call) == product(1) && shared_loops == 0, "one thread");
    expect(called(first, 1, NULL) == product(1), "a pool of its own");
    printf("%d\n", shared_loops > 0);
    net->state_free(first);
    net->state_free(second);
    net->state_free(third);
    net->state_free(fourth);
}

/* ---- calls that are done later */

static pthread_t runner;
static void (*queued)(void *context);
static void *queued_context;
static int is_full, is_done;
static int32_t last_status;
static char last_message[200];

static void *run_queued(void *argument)
{
    (void)argument;
    queued(queued_context);
    return NULL;
}

static int32_t submit(void *self, void (*task)(void *context), void *context)
{
    (void)self;
    if (is_full) {
        return 1;
    }
    queued = task;
    queued_context = context;
    return 0;
}

static void note(void *self, int32_t status)
{
    ++*(int *)self;
    last_status = status;
    snprintf(last_message, sizeof(last_message), "%s", net->last_error());
}

static void later(void)
{
    static float y[Y], z[X];
    inarch_setup setup = plain(&twice);
    float *weights = filled(2);
    const inarch_weights mine = {weights, net->weights_bytes, poison, weights};
    setup.weights = mine;
    setup.executor.submit = submit;
    inarch_state *state = made(&setup);
    inarch_call call = of(0);
    call.done = note;
    call.done_self = &is_done;
    DLTensor args[] = {tensor(ones, 2, shape_x), inarch_scalar_f32(7), tensor(y, 2, shape_y), tensor(z, 2, shape_x)};
    expect(net->run(state, MAIN, args, 4, &call) == INARCH_OK, "accepted");
    memset(args, 0xff, sizeof(args)); /* nothing of them is needed any more, not even the scalar */
    const inarch_weights first = {NULL, 0, NULL, NULL};
    expect(net->set_weights(state, &first) == INARCH_OK, "swap");
    printf("%d %d %g\n", is_done, released, y[0]);
    pthread_create(&runner, NULL, run_queued, NULL);
    pthread_join(runner, NULL);
    printf("%d %d %d %g %g\n", is_done, released, (int)last_status, y[0], z[X - 1]);

    is_full = 1;
    DLTensor again[] = {tensor(ones, 2, shape_x), inarch_scalar_f32(7), tensor(y, 2, shape_y), tensor(z, 2, shape_x)};
    TELL(net->run(state, MAIN, again, 4, &call));
    again[0].ndim = 1;
    TELL(net->run(state, MAIN, again, 4, &call));
    printf("%d\n", is_done); /* of what is refused, nobody is told */
    net->state_free(state);

    /* Without an executor, before it returns; and what an import returns is the status. */
    const inarch_import broken = {failing, NULL};
    setup = plain(&broken);
    state = made(&setup);
    float x4[] = {1, 2, 3, 4}, y4[4];
    DLTensor four[] = {tensor(x4, 1, shape_4), tensor(y4, 1, shape_4)};
    printf("%d", (int)net->run(state, THROUGH, four, 2, &call));
    printf(" %d %d %s\n", is_done, (int)last_status, last_message);
    net->state_free(state);
}

int main(int count, char **words)
{
    const char *what = count > 1 ? words[1] : "";
    net = net_library();
    for (int i = 0; i < X; i++) {
        ones[i] = 1;
    }
    if (strcmp(what, "describe") == 0) {
        describe();
    } else if (strcmp(what, "refuse") == 0) {
        refuse();
    } else if (strcmp(what, "swap") == 0) {
        swap(count > 2 ? atoi(words[2]) : 100);
    } else if (strcmp(what, "memory") == 0) {
        memory();
    } else if (strcmp(what, "own") == 0) {
        own();
    } else if (strcmp(what, "later") == 0) {
        later();
    } else {
        return 2;
    }
    return 0;
}
