/* Kernels of PyTorch's dispatcher that call compiled functions: plain C, no header of PyTorch, no link.

   Its functions are those of the stable C interface of libtorch, which `kernels.py` looks up; one more says
   whether a tensor requires a gradient, which that interface does not. A boxed kernel gets no pointer of its
   own: each operator has a slot, and each slot a function. Errors are raised by `aoti_torch_check`, a C++
   exception that passes through here (-fexceptions). */

#include <string.h>

#include "called.h"

typedef void *handle;      /* an at::Tensor, ours to give back */
typedef int32_t failure;   /* 0: there is none */
typedef uint64_t any;      /* of the dispatcher's stack: here a handle */

/* In the order of NAMES in kernels.py. */
typedef struct {
    failure (*get_data_ptr)(handle, void **);
    failure (*get_sizes)(handle, int64_t **);
    failure (*get_strides)(handle, int64_t **);
    failure (*get_dim)(handle, int64_t *);
    failure (*get_dtype)(handle, int32_t *);
    failure (*get_device_type)(handle, int32_t *);
    failure (*delete_tensor)(handle);
    failure (*empty_strided)(int64_t, const int64_t *, const int64_t *, int32_t, int32_t, int32_t, handle *);
    int (*grad_mode_is_enabled)(void); /* bool: the low byte */
    int (*requires_grad)(const void *impl);
    void (*check)(int condition, const char *function, const char *file, uint32_t line, const char *message);
    failure (*init_impl)(const char *, const char *, const char *, uint32_t, handle *);
    failure (*library_impl)(handle, const char *, void (*)(any *, uint64_t, uint64_t));
} torch_functions;

typedef struct {
    const char *name; /* in the schema */
    int64_t *shape, *strides;
    int32_t ndim;
    int32_t dtype; /* PyTorch's number */
} port;

typedef struct {
    const inarch_called *f;
    int32_t inputs, outputs;
    int32_t is_out; /* outputs are given */
    const port *ports; /* inputs, then outputs */
} operator;

#define SLOTS 512
#define DTYPES 40

static torch_functions torch;
static const operator *operators[SLOTS];
static int32_t used;
static int32_t cpu;
static DLDataType dtypes[DTYPES]; /* by PyTorch's number; bits of 0: unknown to us */

__attribute__((format(printf, 3, 4))) static void say(char *message, size_t size, const char *format, ...)
{
    __builtin_va_list values;
    __builtin_va_start(values, format);
    vsnprintf(message, size, format, values);
    __builtin_va_end(values);
}

/* What is wrong with a call, into `message`; NULL handles are outputs that are made here. */
static int prepare(const operator *op, handle *handles, DLTensor *tensors, char *message, size_t size)
{
    const int given = op->inputs + (op->is_out ? op->outputs : 0);
    const int records = (unsigned char)torch.grad_mode_is_enabled();
    for (int i = 0; i < op->inputs + op->outputs; i++) {
        const port *wanted = &op->ports[i];
        DLTensor *tensor = &tensors[i];
        int64_t dims = 0;
        int32_t dtype = -1, device = -1;
        if (i >= given
            && torch.empty_strided(wanted->ndim, wanted->shape, wanted->strides, wanted->dtype, cpu, 0,
                                   &handles[i])) {
            say(message, size, "%s: no memory for the output '%s'", op->f->name, wanted->name);
            return 1;
        }
        /* An at::Tensor is a pointer to a c10::TensorImpl. */
        if (i < given && records && (unsigned char)torch.requires_grad(*(void **)handles[i])) {
            say(message, size,
                "%s: expected no tensor that requires a gradient, found '%s', whose gradient would be lost; "
                "use torch.no_grad(), a detached tensor, or to_torch_func(..., backward=)",
                op->f->name, wanted->name);
            return 1;
        }
        if (torch.get_dtype(handles[i], &dtype) || torch.get_device_type(handles[i], &device)
            || torch.get_dim(handles[i], &dims) || torch.get_sizes(handles[i], &tensor->shape)
            || torch.get_strides(handles[i], &tensor->strides)
            || torch.get_data_ptr(handles[i], &tensor->data)) {
            say(message, size, "%s: argument %d (%s): expected a strided tensor, found none", op->f->name, i,
                wanted->name);
            return 1;
        }
        const DLDataType none = {255, 0, 1};
        tensor->dtype = dtype >= 0 && dtype < DTYPES && dtypes[dtype].bits != 0 ? dtypes[dtype] : none;
        tensor->device.device_type = device == cpu ? 1 : 1000 + device;
        tensor->device.device_id = 0;
        tensor->ndim = (int32_t)dims;
        tensor->byte_offset = 0;
    }
    return 0;
}

static void run(const operator *op, any *stack, uint64_t inputs, uint64_t outputs)
{
    const int count = op->inputs + op->outputs;
    handle handles[count + 1];
    DLTensor tensors[count + 1];
    char message[768] = "";
    memset(handles, 0, sizeof(handles));
    for (uint64_t i = 0; i < inputs; i++) {
        handles[i] = (handle)(uintptr_t)stack[i];
    }
    int failed = prepare(op, handles, tensors, message, sizeof(message));
    failed = failed || inarch_called_run(op->f, tensors, count, "", message, sizeof(message)) != INARCH_OK;
    for (int i = 0; i < count; i++) {
        const int is_result = !op->is_out && i >= op->inputs && !failed;
        if (handles[i] != NULL && !is_result) {
            torch.delete_tensor(handles[i]);
        }
    }
    if (failed) {
        torch.check(0, op->f->name, "inarch", 0, message);
        return; /* it does not */
    }
    for (uint64_t i = 0; i < outputs; i++) {
        stack[i] = (any)(uintptr_t)handles[op->inputs + (int)i];
    }
}

#define KERNEL(n) \
    static void kernel##n(any *stack, uint64_t inputs, uint64_t outputs) \
    { \
        run(operators[n], stack, inputs, outputs); \
    }
#define NAME(n) kernel##n,
#define EIGHT(of, n) of(n##0) of(n##1) of(n##2) of(n##3) of(n##4) of(n##5) of(n##6) of(n##7)
#define SIXTY_FOUR(of, n) \
    EIGHT(of, n##0) EIGHT(of, n##1) EIGHT(of, n##2) EIGHT(of, n##3) \
    EIGHT(of, n##4) EIGHT(of, n##5) EIGHT(of, n##6) EIGHT(of, n##7)
/* Octal numbers: 01000 is the first. */
#define ALL(of) \
    SIXTY_FOUR(of, 00) SIXTY_FOUR(of, 01) SIXTY_FOUR(of, 02) SIXTY_FOUR(of, 03) \
    SIXTY_FOUR(of, 04) SIXTY_FOUR(of, 05) SIXTY_FOUR(of, 06) SIXTY_FOUR(of, 07)

ALL(KERNEL)

static void (*const kernels[SLOTS])(any *, uint64_t, uint64_t) = {ALL(NAME)};

INARCH_BRIDGE void inarch_torch_init(
    const torch_functions *functions, int32_t cpu_number, const int32_t *numbers,
    const DLDataType *kinds, int32_t count);
void inarch_torch_init(const torch_functions *functions, int32_t cpu_number, const int32_t *numbers,
                       const DLDataType *kinds, int32_t count)
{
    torch = *functions;
    cpu = cpu_number;
    for (int32_t i = 0; i < count; i++) {
        if (numbers[i] >= 0 && numbers[i] < DTYPES) {
            dtypes[numbers[i]] = kinds[i];
        }
    }
}

/* Registers `op`, which stays, as the kernel `overload` of CPUs: 0, or 1 where no slot is left, or 2. */
INARCH_BRIDGE int32_t inarch_torch_register(
    const char *name_space, const char *overload, const operator *op);
int32_t inarch_torch_register(const char *name_space, const char *overload, const operator *op)
{
    handle library = NULL; /* stays, too: it takes its kernels with it */
    const int32_t slot = __atomic_fetch_add(&used, 1, __ATOMIC_RELAXED);
    if (slot >= SLOTS) {
        return 1;
    }
    operators[slot] = op;
    if (torch.init_impl(name_space, "CPU", "inarch", 0, &library)
        || torch.library_impl(library, overload, kernels[slot])) {
        return 2;
    }
    return 0;
}
