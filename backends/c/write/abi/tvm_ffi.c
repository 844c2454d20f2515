/* Calls by programs of TVM FFI. Its library is neither needed nor linked: a function that it raises errors
   with is looked up when one is raised (a weak symbol would stay NULL in a library that was opened before).

   Nobody binds a library that TVM FFI opens: the first call finds the weights in the file that the library
   was opened from, an artifact, whose end says where its index is. Numbers are as in the c_api.h of TVM FFI. */

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

/* ------------------------------------------------------------------ the weights in our own file */

/* What calls run with: of weights in our own file, or the library's own state. */
static inarch_state *inarch_ffi_state;
static int32_t inarch_ffi_is_closed, inarch_ffi_running;

typedef struct {
    void *address;
    size_t bytes;
} inarch_ffi_file;

typedef struct {
    const unsigned char *at, *end; /* at is NULL behind the end */
} inarch_ffi_reader;

INARCH_BASELINE static uint64_t inarch_ffi_number(inarch_ffi_reader *reader, int bytes)
{
    uint64_t number = 0;
    if (reader->at == NULL || reader->end - reader->at < bytes) {
        reader->at = NULL;
        return 0;
    }
    for (int i = 0; i < bytes; i++) {
        number |= (uint64_t)reader->at[i] << 8 * i;
    }
    reader->at += bytes;
    return number;
}

INARCH_BASELINE static const char *inarch_ffi_text(inarch_ffi_reader *reader)
{
    const uint64_t bytes = inarch_ffi_number(reader, 4);
    if (reader->at == NULL || (uint64_t)(reader->end - reader->at) <= bytes
        || reader->at[bytes] != 0) {
        reader->at = NULL;
        return "";
    }
    const char *text = (const char *)reader->at;
    reader->at += bytes + 1;
    return text;
}

INARCH_BASELINE static void inarch_ffi_skip_texts(inarch_ffi_reader *reader, int each)
{
    for (uint64_t left = inarch_ffi_number(reader, 4) * (uint64_t)each; left > 0 && reader->at != NULL; left--) {
        inarch_ffi_text(reader);
    }
}

INARCH_BASELINE static void inarch_ffi_skip_numbers(inarch_ffi_reader *reader)
{
    for (uint64_t left = inarch_ffi_number(reader, 4); left > 0 && reader->at != NULL; left--) {
        inarch_ffi_number(reader, 8);
    }
}

INARCH_BASELINE static void inarch_ffi_skip_ports(inarch_ffi_reader *reader)
{
    for (uint64_t left = inarch_ffi_number(reader, 4); left > 0 && reader->at != NULL; left--) {
        inarch_ffi_text(reader);
        inarch_ffi_number(reader, 4);
        inarch_ffi_skip_numbers(reader);
    }
}

/* The weights in the artifact at `file`, or NULL and why not. inarch/artifact/index.py has the layout. */
INARCH_BASELINE static const void *inarch_ffi_weights(const inarch_library *library,
                                                      const unsigned char *file, size_t size,
                                                      const char **why)
{
    unsigned long long place = 0;
    unsigned int bytes = 0, format = 0;
    char end[INARCH_TAIL_BYTES + 1] = "";
    if (size >= INARCH_TAIL_BYTES) {
        memcpy(end, file + size - INARCH_TAIL_BYTES, INARCH_TAIL_BYTES);
    }
    *why = "a file that is no artifact";
    if (sscanf(end, "inarch index %16llx %8x format %4u crc32", &place, &bytes, &format) != 3
        || place > size || bytes > size - place || bytes < 8
        || memcmp(file + place, "INARCHIX", 8) != 0) {
        return NULL;
    }
    *why = "an artifact of another format";
    if (format != INARCH_FORMAT) {
        return NULL;
    }
    inarch_ffi_reader reader = {file + place + 16, file + place + bytes};
    inarch_ffi_text(&reader); /* name */
    inarch_ffi_text(&reader); /* prefix */
    for (uint64_t left = inarch_ffi_number(&reader, 4); left > 0 && reader.at != NULL; left--) {
        inarch_ffi_text(&reader); /* of a function */
        inarch_ffi_number(&reader, 8);
        inarch_ffi_skip_ports(&reader);
        inarch_ffi_skip_ports(&reader);
    }
    *why = "an artifact with other weights";
    for (uint64_t left = inarch_ffi_number(&reader, 4); left > 0 && reader.at != NULL; left--) {
        inarch_ffi_text(&reader); /* target */
        inarch_ffi_text(&reader); /* features */
        inarch_ffi_number(&reader, 8);
        inarch_ffi_number(&reader, 8);
        inarch_ffi_text(&reader); /* of the library */
        const uint64_t start = inarch_ffi_number(&reader, 8);
        const uint64_t count = inarch_ffi_number(&reader, 8);
        const char *digest = inarch_ffi_text(&reader);
        if (reader.at != NULL && count == (uint64_t)library->weights_bytes && start <= size
            && count <= size - start && strcmp(digest, library->weights_sha256) == 0) {
            return file + start;
        }
        inarch_ffi_skip_texts(&reader, 1); /* loaders */
        inarch_ffi_skip_texts(&reader, 1); /* imports */
        inarch_ffi_skip_texts(&reader, 5); /* libraries */
        inarch_ffi_skip_numbers(&reader);  /* of workspaces */
    }
    return NULL;
}

/* The file that this code is of: by the system's list of mappings, which has its whole path and does not care
   by what name it was opened; else by the dynamic loader, which knows the name. */
INARCH_BASELINE static const char *inarch_ffi_path(char *line, int size)
{
    const uintptr_t here = (uintptr_t)&inarch_ffi_state;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps != NULL && fgets(line, size, maps) != NULL) {
        unsigned long long begin = 0, end = 0;
        int path = 0;
        sscanf(line, "%llx-%llx %*s %*s %*s %*s %n", &begin, &end, &path);
        if (here >= begin && here < end && path != 0 && line[path] == '/') {
            line[strcspn(line, "\n")] = 0;
            fclose(maps);
            return line + path;
        }
    }
    if (maps != NULL) {
        fclose(maps);
    }
    Dl_info own = {NULL, NULL, NULL, NULL};
    dladdr((void *)&inarch_ffi_state, &own);
    return own.dli_fname == NULL ? "" : own.dli_fname;
}

INARCH_BASELINE static void inarch_ffi_unmap(void *file)
{
    munmap(((inarch_ffi_file *)file)->address, ((inarch_ffi_file *)file)->bytes);
    free(file);
}

/* The library's weights in the file at `path`, mapped, or nothing and why not. */
INARCH_BASELINE static inarch_weights inarch_ffi_map(const inarch_library *library, const char *path,
                                                     const char **why)
{
    inarch_weights found = {NULL, 0, NULL, NULL};
    struct stat state;
    *why = "a file that cannot be read";
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        return found;
    }
    inarch_ffi_file *file = (inarch_ffi_file *)malloc(sizeof(inarch_ffi_file));
    if (file != NULL && fstat(descriptor, &state) == 0 && state.st_size > 0) {
        file->bytes = (size_t)state.st_size;
        file->address = mmap(NULL, file->bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (file->address != MAP_FAILED) {
            found.data = inarch_ffi_weights(library, (const unsigned char *)file->address, file->bytes, why);
            found.bytes = library->weights_bytes;
            found.released = inarch_ffi_unmap;
            found.self = file;
            if (found.data == NULL) {
                munmap(file->address, file->bytes);
            }
        }
    }
    close(descriptor);
    if (found.data == NULL) {
        free(file);
    }
    return found;
}

/* What calls run with from now on. Without a lock, which a process that forks here would keep for ever: threads do
   the same, and the first one's state is everybody's. */
INARCH_BASELINE static int32_t inarch_ffi_prepare(const inarch_model *model, inarch_state *bound,
                                                  const char *function)
{
    const inarch_library *library = &model->library;
    if (library->import_count != 0) {
        return inarch_fail(INARCH_UNBOUND, "%s: expected a program that is whole, found one with %d imports, which "
                           "only Inarch fills: use inarch.bridges.tvm.to_tvm_func",
                           function, (int)library->import_count);
    }
    inarch_setup setup = {sizeof(inarch_setup), 0, NULL, {NULL, 0, NULL, NULL}, NULL, {NULL, NULL, NULL}, {NULL, NULL}};
    inarch_state *state = bound, *first = NULL;
    const char *why = "", *path = "";
    char line[4400];
    if (library->weights_bytes != 0 && model->embedded == NULL) {
        path = inarch_ffi_path(line, (int)sizeof(line));
        setup.weights = inarch_ffi_map(library, path, &why);
    }
    if (library->weights_bytes == 0 || model->embedded != NULL || setup.weights.data != NULL) {
        const int32_t status = library->state_new(library, &setup, &state);
        if (status != 0) {
            if (setup.weights.data != NULL) {
                inarch_ffi_unmap(setup.weights.self);
            }
            return status;
        }
    } else if (!bound->is_bound) { /* by whoever opened it from elsewhere */
        return inarch_fail(INARCH_UNBOUND, "%s: expected its weights in the artifact that it was loaded from, found "
                           "%s: '%.300s'", function, why, path);
    }
    if (!__atomic_compare_exchange_n(&inarch_ffi_state, &first, state, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)
        && state != bound) {
        library->state_free(state);
    }
    return 0;
}

/* At the end of the process a thread may still compute: then it keeps the weights. */
INARCH_BASELINE __attribute__((destructor)) static void inarch_ffi_close(void)
{
    __atomic_store_n(&inarch_ffi_is_closed, 1, __ATOMIC_SEQ_CST);
    inarch_state *state = inarch_ffi_state;
    if (__atomic_load_n(&inarch_ffi_running, __ATOMIC_SEQ_CST) == 0 && state != NULL
        && state->kept[0].weights.released == inarch_ffi_unmap) {
        state->model->library.state_free(state);
    }
}

/* ------------------------------------------------------------------ calls */

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
    if (__atomic_load_n(&inarch_ffi_state, __ATOMIC_ACQUIRE) == NULL
        && inarch_ffi_prepare(model, bound, function->name) != 0) {
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
    inarch_state *state = __atomic_load_n(&inarch_ffi_state, __ATOMIC_ACQUIRE);
    const int32_t status = library->run(state, index, tensors, n, NULL);
    if (status != 0) {
        return inarch_ffi_raise(status == INARCH_ARGUMENT ? "ValueError" : "RuntimeError", inarch_last_message());
    }
    return 0;
}

INARCH_BASELINE int32_t inarch_ffi_call(const inarch_model *model, inarch_state *bound, int32_t function,
                                        const void *args, int32_t n, void *result)
{
    __atomic_add_fetch(&inarch_ffi_running, 1, __ATOMIC_SEQ_CST);
    int32_t status;
    if (__atomic_load_n(&inarch_ffi_is_closed, __ATOMIC_SEQ_CST)) {
        status = inarch_ffi_raise("RuntimeError", "the library is closed: the process ends");
    } else {
        status = inarch_ffi_run(model, bound, function, (const inarch_ffi_any *)args, n);
    }
    __atomic_sub_fetch(&inarch_ffi_running, 1, __ATOMIC_SEQ_CST);
    if (status == 0) {
        const inarch_ffi_any none = {INARCH_FFI_NONE, 0, {0}};
        memcpy(result, &none, sizeof(none));
    }
    return status;
}
