/* Checks of what a call is given, and why the last one failed. */

static __thread char inarch_message[512];

INARCH_BASELINE ${linkage}int32_t inarch_fail(int32_t code, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(inarch_message, sizeof(inarch_message), format, values);
    va_end(values);
    return code;
}

INARCH_BASELINE ${linkage}const char *inarch_last_message(void)
{
    return inarch_message;
}

/* Writes what a tensor or a port is, such as f32[1, 28, 28]. */
INARCH_BASELINE ${linkage}void inarch_describe(
    DLDataType dtype, int32_t rank, const int64_t *shape, char *text, size_t size)
{
    static const char *const kinds[] = {"i", "ui", "f", "opaque", "bf", "c", "i"};
    const int bits = dtype.code == INARCH_BOOL ? 1 : dtype.bits;
    int used;
    if (dtype.code < 7) {
        used = snprintf(text, size, "%s%d", kinds[dtype.code], bits);
    } else {
        used = snprintf(text, size, "%d bits of DLPack's type %d", bits, dtype.code);
    }
    if (dtype.lanes != 1) {
        used += snprintf(text + used, size - (size_t)used, "x%d", dtype.lanes);
    }
    if (rank < 0 || (rank > 0 && shape == NULL)) {
        snprintf(text + used, size - (size_t)used, ", %d dimensions%s", (int)rank,
                 rank < 0 ? "" : " and no shape");
        return;
    }
    used += snprintf(text + used, size - (size_t)used, "[");
    for (int32_t i = 0; i < rank && (size_t)used + 32 < size; i++) {
        used += snprintf(text + used, size - (size_t)used, "%s%lld", i == 0 ? "" : ", ", (long long)shape[i]);
    }
    snprintf(text + used, size - (size_t)used, "]");
}

static DLDataType inarch_dtype(const inarch_port *port)
{
    const DLDataType dtype = {(uint8_t)(port->dtype >> 8), (uint8_t)(port->dtype & 0xff), 1};
    return dtype;
}

static int inarch_same_type(const inarch_port *port, const DLTensor *tensor)
{
    if ((tensor->dtype.code << 8 | tensor->dtype.bits) != port->dtype || tensor->dtype.lanes != 1
        || tensor->ndim != port->rank || (port->rank > 0 && tensor->shape == NULL)) {
        return 0;
    }
    for (int32_t i = 0; i < port->rank; i++) {
        if (tensor->shape[i] != port->shape[i]) {
            return 0;
        }
    }
    return 1;
}

static int inarch_is_compact(const inarch_port *port, const DLTensor *tensor)
{
    int64_t step = 1;
    if (tensor->strides == NULL || port->bytes == 0) {
        return 1;
    }
    for (int32_t i = port->rank - 1; i >= 0; i--) {
        if (port->shape[i] != 1 && tensor->strides[i] != step) {
            return 0;
        }
        step *= port->shape[i];
    }
    return 1;
}

static int inarch_is_value(const DLTensor *tensor)
{
    return tensor->device.device_type == INARCH_BY_VALUE;
}

/* Where the first element is: of a value, in the tensor itself. */
static void *inarch_address(DLTensor *tensor)
{
    return inarch_is_value(tensor) ? (void *)&tensor->data
                                   : (void *)((uintptr_t)tensor->data + (uintptr_t)tensor->byte_offset);
}

/* The largest byte of a bool that is neither 0 nor 1, or 0: ours compute with bits. */
static int inarch_no_bool(const inarch_port *port, const void *data)
{
    const unsigned char *bytes = (const unsigned char *)data;
    unsigned char largest = 0;
    for (int64_t i = 0; i < port->bytes; i++) {
        largest = bytes[i] > largest ? bytes[i] : largest;
    }
    return largest > 1 ? largest : 0;
}

static int32_t inarch_check_type(
    const inarch_function *function, int32_t i, const inarch_port *port, const DLTensor *tensor)
{
    if (inarch_same_type(port, tensor)) {
        return 0;
    }
    char wanted[160], found[160];
    inarch_describe(inarch_dtype(port), port->rank, port->shape, wanted, sizeof(wanted));
    inarch_describe(tensor->dtype, tensor->ndim, tensor->shape, found, sizeof(found));
    return inarch_fail(INARCH_ARGUMENT, "%s: argument %d (%s): expected %s, found %s", function->name, (int)i,
                       port->name, wanted, found);
}

static int32_t inarch_check_argument(
    const inarch_function *function, int32_t i, const inarch_port *port, DLTensor *tensor, const int64_t *bytes)
{
    const char *name = function->name;
    const int32_t fault = inarch_check_type(function, i, port, tensor);
    if (fault != 0) {
        return fault;
    }
    const int is_read = (port->effects & INARCH_WRITES) == 0;
    const int is_value = inarch_is_value(tensor) && is_read && port->rank == 0;
    if (!is_value && tensor->device.device_type != INARCH_CPU) {
        return inarch_fail(INARCH_ARGUMENT, "%s: argument %d (%s): expected host memory, found device type %d", name,
                           (int)i, port->name, (int)tensor->device.device_type);
    }
    if (!inarch_is_compact(port, tensor)) {
        return inarch_fail(INARCH_ARGUMENT,
                           "%s: argument %d (%s): expected a row-major array, found other strides", name, (int)i,
                           port->name);
    }
    if (!is_value && port->bytes > 0) {
        if (tensor->data == NULL) {
            return inarch_fail(INARCH_ARGUMENT, "%s: argument %d (%s): expected data, found a null pointer", name,
                               (int)i, port->name);
        }
        const uintptr_t size = (uintptr_t)(port->dtype & 0xff) / 8;
        if ((uintptr_t)inarch_address(tensor) % size != 0) {
            return inarch_fail(INARCH_ARGUMENT,
                               "%s: argument %d (%s): expected an address that is a multiple of %d, "
                               "found one that is not",
                               name, (int)i, port->name, (int)size);
        }
        if (bytes != NULL
            && (bytes[i] < port->bytes || tensor->byte_offset > (uint64_t)(bytes[i] - port->bytes))) {
            return inarch_fail(INARCH_ARGUMENT,
                               "%s: argument %d (%s): expected %lld bytes from byte %llu on, found memory of %lld",
                               name, (int)i, port->name, (long long)port->bytes,
                               (unsigned long long)tensor->byte_offset, (long long)bytes[i]);
        }
    }
    if (is_read && port->dtype == INARCH_I1) {
        const int found = inarch_no_bool(port, inarch_address(tensor));
        if (found != 0) {
            return inarch_fail(INARCH_ARGUMENT, "%s: argument %d (%s): expected bools of 0 or 1, found a byte of %d",
                               name, (int)i, port->name, found);
        }
    }
    return 0;
}

static int32_t inarch_check_overlaps(const inarch_function *function, DLTensor *args)
{
    const inarch_port *ports = function->ports;
    for (int32_t i = function->inputs; i < function->inputs + function->outputs; i++) {
        const uintptr_t a = (uintptr_t)inarch_address(&args[i]);
        for (int32_t j = 0; j < i && args[i].data != NULL; j++) {
            const uintptr_t b = (uintptr_t)inarch_address(&args[j]);
            if (ports[i].bytes > 0 && ports[j].bytes > 0 && args[j].data != NULL && !inarch_is_value(&args[j])
                && a < b + (uintptr_t)ports[j].bytes && b < a + (uintptr_t)ports[i].bytes) {
                return inarch_fail(INARCH_ARGUMENT,
                                   "%s: argument %d (%s) overlaps argument %d (%s); "
                                   "an output needs memory of its own",
                                   function->name, (int)i, ports[i].name, (int)j, ports[j].name);
            }
        }
    }
    return 0;
}

/* Fills in what an output is. */
static int32_t inarch_fill_output(
    const inarch_function *function, int32_t i, const inarch_port *port, DLTensor *tensor)
{
    if (port->rank > 0 && tensor->shape != NULL) {
        if (tensor->ndim < port->rank) {
            return inarch_fail(INARCH_ARGUMENT, "%s: argument %d (%s): expected room for %d sizes, found %d",
                               function->name, (int)i, port->name, (int)port->rank, (int)tensor->ndim);
        }
        memcpy(tensor->shape, port->shape, (size_t)port->rank * sizeof(int64_t));
    } else {
        tensor->shape = (int64_t *)(uintptr_t)port->shape;
    }
    tensor->device.device_type = INARCH_CPU;
    tensor->device.device_id = 0;
    tensor->dtype = inarch_dtype(port);
    tensor->ndim = port->rank;
    tensor->strides = NULL;
    tensor->byte_offset = 0;
    return 0;
}

static int32_t inarch_check_count(const inarch_function *function, const DLTensor *args, int32_t n)
{
    const int32_t count = function->inputs + function->outputs;
    if (n == count && (args != NULL || count == 0)) {
        return 0;
    }
    return inarch_fail(INARCH_ARGUMENT, "%s: expected %d arguments (%d inputs, then %d outputs), found %d",
                       function->name, (int)count, (int)function->inputs, (int)function->outputs,
                       args == NULL ? 0 : (int)n);
}

static const inarch_function *inarch_find_function(const inarch_library *library, int32_t index)
{
    if (index >= 0 && index < library->function_count) {
        return &library->functions[index];
    }
    inarch_fail(INARCH_NAME, "%s: expected a function from 0 to %d, found %d", library->name,
                (int)library->function_count - 1, (int)index);
    return NULL;
}

${linkage}int32_t inarch_shapes(const inarch_library *library, int32_t index, DLTensor *args, int32_t n)
{
    const inarch_function *function = inarch_find_function(library, index);
    if (function == NULL) {
        return INARCH_NAME;
    }
    int32_t status = inarch_check_count(function, args, n);
    for (int32_t i = 0; i < n && status == 0; i++) {
        const inarch_port *port = &function->ports[i];
        status = i < function->inputs ? inarch_check_type(function, i, port, &args[i])
                                      : inarch_fill_output(function, i, port, &args[i]);
    }
    return status;
}
