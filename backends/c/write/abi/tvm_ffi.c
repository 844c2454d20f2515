/* Calls by programs of TVM FFI. Its library is neither needed nor linked: a function that it raises errors
   with is looked up when one is raised (a weak symbol would stay NULL in a library that was opened before).

   Nobody binds a library that TVM FFI opens: it finds its own weights (own.c). Numbers are as in the c_api.h of
   TVM FFI. */

typedef struct {
    int32_t type_index;
    uint32_t small_length;
    union {
        int64_t integer;
        double number;
        void *pointer;
    } value;
} inarch_ffi_any;

enum {
    INARCH_FFI_NONE = 0,
    INARCH_FFI_INT = 1,
    INARCH_FFI_BOOL = 2,
    INARCH_FFI_FLOAT = 3,
    INARCH_FFI_DLTENSOR = 7,
    INARCH_FFI_TENSOR = 70,
    INARCH_FFI_OBJECT_BYTES = 24 /* of an object before what it holds, of a tensor a DLTensor */
};

INARCH_BASELINE static int32_t inarch_ffi_raise(const char *kind, const char *message)
{
    static const char name[] = "TVMFFIErrorSetRaisedFromCStr";
    void (*raise)(const char *, const char *) = NULL;
    *(void **)&raise = dlsym(RTLD_DEFAULT, name);
    if (raise == NULL) { /* opened RTLD_LOCAL */
        void *library = dlopen("libtvm_ffi.so", RTLD_NOW | RTLD_NOLOAD);
        if (library != NULL) {
            *(void **)&raise = dlsym(library, name);
            dlclose(library);
        }
    }
    if (raise != NULL) {
        raise(kind, message);
    }
    return -1;
}

/* The number `any` in the element type of the port, at `to`; 0 where that has no such number. */
INARCH_BASELINE static int inarch_ffi_scalar(const inarch_port *wanted, const inarch_ffi_any *any, int64_t *to)
{
    const int is_float = any->type_index == INARCH_FFI_FLOAT;
    const int bits = wanted->dtype & 0xff;
    if (wanted->dtype == INARCH_F32 || wanted->dtype == INARCH_F64) {
        const double number = is_float ? any->value.number : (double)any->value.integer;
        const float narrow = (float)number;
        memcpy(to, bits == 32 ? (const void *)&narrow : (const void *)&number, bits / 8);
        return any->type_index != INARCH_FFI_BOOL;
    }
    const int64_t integer = any->value.integer;
    *to = integer; /* little endian: its first bytes are the number in fewer */
    if (is_float) {
        return 0;
    }
    switch (wanted->dtype >> 8) {
    case INARCH_INT:
        return bits == 64
               || (integer >= -(INT64_C(1) << (bits - 1))
                   && integer < INT64_C(1) << (bits - 1));
    case INARCH_UINT:
        return integer >= 0 && (bits == 64 || integer < INT64_C(1) << bits);
    case INARCH_BOOL:
        return any->type_index == INARCH_FFI_BOOL;
    default:
        return 0;
    }
}

INARCH_BASELINE static const char *inarch_ffi_named(const inarch_ffi_any *any)
{
    switch (any->type_index) {
    case INARCH_FFI_NONE:
        return "None";
    case INARCH_FFI_INT:
        return "an int";
    case INARCH_FFI_BOOL:
        return "a bool";
    case INARCH_FFI_FLOAT:
        return "a float";
    default:
        return "what is no tensor";
    }
}

/* The arguments as DLTensors. */
INARCH_BASELINE static int32_t inarch_ffi_unpack(const inarch_function *function, const inarch_ffi_any *args,
                                                 int32_t n, DLTensor *tensors)
{
    for (int32_t i = 0; i < n; i++) {
        const inarch_port *wanted = &function->ports[i];
        const int type = args[i].type_index;
        const char *pointer = (const char *)args[i].value.pointer;
        if ((type == INARCH_FFI_DLTENSOR || type == INARCH_FFI_TENSOR) && pointer != NULL) {
            memcpy(&tensors[i], pointer + (type == INARCH_FFI_TENSOR ? INARCH_FFI_OBJECT_BYTES : 0),
                   sizeof(DLTensor));
            continue;
        }
        const int is_number
            = type == INARCH_FFI_INT || type == INARCH_FFI_BOOL || type == INARCH_FFI_FLOAT;
        const DLDataType dtype = {(uint8_t)(wanted->dtype >> 8), (uint8_t)(wanted->dtype & 0xff), 1};
        int64_t number = 0;
        if (!is_number || wanted->rank != 0 || i >= function->inputs
            || !inarch_ffi_scalar(wanted, &args[i], &number)) {
            char text[160];
            inarch_describe(dtype, wanted->rank, wanted->shape, text, sizeof(text));
            return inarch_fail(INARCH_ARGUMENT, "%s: argument %d (%s): expected %s, found %s", function->name, (int)i,
                               wanted->name, text, inarch_ffi_named(&args[i]));
        }
        const DLTensor tensor = {NULL, {INARCH_BY_VALUE, 0}, 0, dtype, NULL, NULL, 0};
        tensors[i] = tensor;
        memcpy(&tensors[i].data, &number, sizeof(void *));
    }
    return 0;
}

INARCH_BASELINE static int32_t inarch_ffi_run(const inarch_model *model, inarch_state *bound, int32_t index,
                                              const inarch_ffi_any *args, int32_t n)
{
    const inarch_library *library = &model->library;
    const inarch_function *function = &library->functions[index];
    inarch_state *state = bound;
    if (inarch_own_begin(model, bound, function->name, &state) != 0) {
        return inarch_ffi_raise("RuntimeError", inarch_last_message());
    }
    const int32_t count = function->inputs + function->outputs;
    if (n != count) {
        inarch_fail(INARCH_ARGUMENT, "%s: expected %d arguments, inputs and then outputs, found %d", function->name,
                    (int)count, (int)n);
        return inarch_ffi_raise("TypeError", inarch_last_message());
    }
    DLTensor tensors[n + 1];
    if (inarch_ffi_unpack(function, args, n, tensors) != 0) {
        return inarch_ffi_raise("TypeError", inarch_last_message());
    }
    const int32_t status = library->run(state, index, tensors, n, NULL);
    if (status != 0) {
        return inarch_ffi_raise(status == INARCH_ARGUMENT ? "ValueError" : "RuntimeError", inarch_last_message());
    }
    return 0;
}

INARCH_BASELINE int32_t inarch_ffi_call(const inarch_model *model, inarch_state *bound, int32_t function,
                                        const void *args, int32_t n, void *result)
{
    const int32_t status = inarch_ffi_run(model, bound, function, (const inarch_ffi_any *)args, n);
    inarch_own_end();
    if (status == 0) {
        const inarch_ffi_any none = {INARCH_FFI_NONE, 0, {0}};
        memcpy(result, &none, sizeof(none));
    }
    return status;
}
