"""The C of `model.c` as templates: `$name` and `${name}` are filled in by `model.py`."""

from __future__ import annotations

TYPES = """
/* As in inarch.h, and in dlpack.h where that came first. */
#if !defined(DLPACK_DLPACK_H_) && !defined(INARCH_DLTENSOR)
#define INARCH_DLTENSOR
typedef struct {
    int32_t device_type;
    int32_t device_id;
} DLDevice;

typedef struct {
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
} DLDataType;

typedef struct {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape;
    int64_t *strides;
    uint64_t byte_offset;
} DLTensor;
#endif

#ifndef INARCH_IMPORT
#define INARCH_IMPORT
typedef struct {
    int32_t (*call)(void *self, DLTensor *args, int32_t n);
    void *self;
} inarch_import;
#endif
"""

POOL_TYPES = """
#ifndef INARCH_POOL
#define INARCH_POOL
typedef void (*inarch_task)(void *context, int64_t begin, int64_t end, int32_t part);

typedef struct {
    void (*run)(void *self, int32_t threads, int64_t count, inarch_task task, void *context);
    void *self;
} inarch_pool;
#endif
"""

PUBLIC = """
INARCH_C INARCH_PUBLIC INARCH_BASELINE int32_t ${prefix}_abi_version(void);
INARCH_C INARCH_PUBLIC INARCH_BASELINE int32_t ${prefix}_bind(
    const void *weights, int64_t nbytes, const inarch_import *imports, int32_t count);
INARCH_C INARCH_PUBLIC INARCH_BASELINE const char *${prefix}_weights_sha256(void);
INARCH_C INARCH_PUBLIC INARCH_BASELINE const char *${prefix}_last_error(void);
INARCH_C INARCH_PUBLIC INARCH_BASELINE int32_t ${prefix}_set_threads(int32_t threads);
INARCH_C INARCH_PUBLIC INARCH_BASELINE const inarch_pool *${prefix}_pool(const inarch_pool *use);
"""

PUBLIC_FUNCTION = """\
INARCH_C INARCH_PUBLIC int32_t ${stem}(DLTensor *args, int32_t n);
INARCH_C INARCH_PUBLIC int32_t ${stem}_run(
    void *const *buffers, const void *weights, void *workspace);
"""

STATE = """
${linkage}__thread char inarch_message[512];

INARCH_BASELINE __attribute__((format(printf, 2, 3))) ${linkage}int32_t inarch_fail(
    int32_t code, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(inarch_message, sizeof(inarch_message), format, values);
    va_end(values);
    return code;
}
"""

WEIGHTS = """
static const void *inarch_weights = ${weights};
"""

LINKED = """
/* Defined by the C of the backend ${backend}. */
INARCH_C int32_t ${symbol}(void *self, DLTensor *args, int32_t n);
"""

IMPORTS = """
static inarch_import inarch_imports[${count}]${values};
static const char *const inarch_import_names[${count}] = {${names}};

static int32_t inarch_call_import(int32_t slot, DLTensor *args, int32_t n)
{
    const inarch_import *entry = &inarch_imports[slot];
    if (entry->call == NULL) {
        return inarch_fail(2, "import '%s' is not bound; call ${prefix}_bind first",
                           inarch_import_names[slot]);
    }
    const int32_t status = entry->call(entry->self, args, n);
    if (status != 0) {
        inarch_fail(status, "import '%s' failed with code %d", inarch_import_names[slot],
                    (int)status);
    }
    return status;
}
"""

CALL_CHECKED = """
/* Fills an output with bytes, or tells whether it still is what it was filled with. Bytes of 0xff are
   a quiet NaN of every float type. */
static int inarch_visit(const DLTensor *tensor, int round, int fill)
{
    const int is_float = tensor->dtype.code == 2 || tensor->dtype.code == 4;
    const unsigned char pattern = round % 2 != 0 ? 0x5a : is_float ? 0xff : 0xa5;
    const int64_t size = tensor->dtype.bits / 8;
    int64_t count = 1;
    for (int32_t i = 0; i < tensor->ndim; i++) {
        count *= tensor->shape[i];
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i, place = 0;
        for (int32_t k = tensor->ndim - 1; k >= 0; k--) {
            place += rest % tensor->shape[k] * tensor->strides[k];
            rest /= tensor->shape[k];
        }
        unsigned char *bytes = (unsigned char *)tensor->data + tensor->byte_offset + place * size;
        for (int64_t k = 0; k < size; k++) {
            if (fill) {
                bytes[k] = pattern;
            } else if (bytes[k] != pattern) {
                return 0;
            }
        }
    }
    return count != 0;
}

/* Calls an import and fails when it leaves an output as it was. A value may be what the output was
   filled with: such a call is made again with other bytes, and only what withstands both is refused. */
static int32_t inarch_call_checked(int32_t slot, DLTensor *args, int32_t n, int32_t inputs)
{
    int32_t suspect = inputs - 1;
    for (int round = 0;; round++) {
        for (int32_t i = inputs; i < n; i++) {
            inarch_visit(&args[i], round, 1);
        }
        const int32_t status = inarch_call_import(slot, args, n);
        if (status != 0) {
            return status;
        }
        int32_t found = suspect < inputs ? inputs : suspect;
        while (found < n && !inarch_visit(&args[found], round, 0)) {
            found++;
        }
        if (found == n) {
            return 0;
        }
        if (found == suspect) {
            return inarch_fail(4, "%s: output %d was never written", inarch_import_names[slot],
                               (int)(found - inputs));
        }
        suspect = found;
    }
}
"""

ARGUMENT = """
typedef struct {
    const char *name;
    const char *type;
    uint8_t code;
    uint8_t bits;
    int32_t ndim;
    int64_t bytes;
    const int64_t *shape;
} inarch_argument;
"""

SHARED = """
/* Defined in checks.c, which is the same for all models of a target. */
__attribute__((visibility("hidden"))) extern __thread char inarch_message[512];
INARCH_BASELINE __attribute__((visibility("hidden"), format(printf, 2, 3))) int32_t inarch_fail(
    int32_t code, const char *format, ...);
__attribute__((visibility("hidden"))) int32_t inarch_check(
    const char *function, const inarch_argument *wanted, int32_t inputs, int32_t count,
    const DLTensor *args, int32_t n);
INARCH_BASELINE __attribute__((visibility("hidden"))) int32_t inarch_check_cpu(void);
"""

CHECKS = """
/* Writes what an argument is, such as f32[1, 28, 28]. */
static void inarch_describe(const DLTensor *tensor, char *text, size_t size)
{
    static const char *const kinds[] = {"i", "ui", "f", "opaque", "bf", "c", "i"};
    const DLDataType dtype = tensor->dtype;
    const int bits = dtype.code == 6 ? 1 : dtype.bits;
    int used;
    if (dtype.code < 7) {
        used = snprintf(text, size, "%s%d", kinds[dtype.code], bits);
    } else {
        used = snprintf(text, size, "%d bits of DLPack's type %d", bits, dtype.code);
    }
    if (dtype.lanes != 1) {
        used += snprintf(text + used, size - (size_t)used, "x%d", dtype.lanes);
    }
    if (tensor->ndim < 0 || (tensor->ndim > 0 && tensor->shape == NULL)) {
        snprintf(text + used, size - (size_t)used, ", %d dimensions%s", (int)tensor->ndim,
                 tensor->ndim < 0 ? "" : " and no shape");
        return;
    }
    used += snprintf(text + used, size - (size_t)used, "[");
    for (int32_t i = 0; i < tensor->ndim && (size_t)used + 32 < size; i++) {
        used += snprintf(text + used, size - (size_t)used, "%s%lld", i == 0 ? "" : ", ",
                         (long long)tensor->shape[i]);
    }
    snprintf(text + used, size - (size_t)used, "]");
}

static int inarch_same_type(const inarch_argument *wanted, const DLTensor *tensor)
{
    if (tensor->dtype.code != wanted->code || tensor->dtype.bits != wanted->bits
        || tensor->dtype.lanes != 1 || tensor->ndim != wanted->ndim
        || (wanted->ndim > 0 && tensor->shape == NULL)) {
        return 0;
    }
    for (int32_t i = 0; i < wanted->ndim; i++) {
        if (tensor->shape[i] != wanted->shape[i]) {
            return 0;
        }
    }
    return 1;
}

static int inarch_is_compact(const inarch_argument *wanted, const DLTensor *tensor)
{
    int64_t step = 1;
    if (tensor->strides == NULL || wanted->bytes == 0) {
        return 1;
    }
    for (int32_t i = wanted->ndim - 1; i >= 0; i--) {
        if (wanted->shape[i] != 1 && tensor->strides[i] != step) {
            return 0;
        }
        step *= wanted->shape[i];
    }
    return 1;
}

static uintptr_t inarch_address(const DLTensor *tensor)
{
    return (uintptr_t)tensor->data + (uintptr_t)tensor->byte_offset;
}

/* The largest byte of a bool that is neither 0 nor 1, or 0: ours compute with bits. */
static int inarch_no_bool(const inarch_argument *wanted, const DLTensor *tensor)
{
    const unsigned char *bytes = (const unsigned char *)tensor->data + tensor->byte_offset;
    unsigned char largest = 0;
    for (int64_t i = 0; i < wanted->bytes; i++) {
        largest = bytes[i] > largest ? bytes[i] : largest;
    }
    return largest > 1 ? largest : 0;
}

static int32_t inarch_check_argument(const char *function, int32_t i,
                                     const inarch_argument *wanted, const DLTensor *tensor,
                                     int is_read)
{
    if (!inarch_same_type(wanted, tensor)) {
        char found[160];
        inarch_describe(tensor, found, sizeof(found));
        return inarch_fail(1, "%s: argument %d (%s): expected %s, found %s", function, (int)i,
                           wanted->name, wanted->type, found);
    }
    if (tensor->device.device_type != 1) {
        return inarch_fail(1, "%s: argument %d (%s): expected host memory, found device type %d",
                           function, (int)i, wanted->name, (int)tensor->device.device_type);
    }
    if (!inarch_is_compact(wanted, tensor)) {
        return inarch_fail(1, "%s: argument %d (%s): expected a row-major array, found other strides",
                           function, (int)i, wanted->name);
    }
    if (wanted->bytes > 0 && tensor->data == NULL) {
        return inarch_fail(1, "%s: argument %d (%s): expected data, found a null pointer", function,
                           (int)i, wanted->name);
    }
    if (wanted->bytes > 0 && inarch_address(tensor) % (wanted->bits / 8) != 0) {
        return inarch_fail(1,
                           "%s: argument %d (%s): expected an address that is a multiple of %d, "
                           "found one that is not",
                           function, (int)i, wanted->name, (int)(wanted->bits / 8));
    }
    if (is_read && wanted->code == 6) {
        const int found = inarch_no_bool(wanted, tensor);
        if (found != 0) {
            return inarch_fail(1, "%s: argument %d (%s): expected bools of 0 or 1, found a byte of %d",
                               function, (int)i, wanted->name, found);
        }
    }
    return 0;
}

${linkage}int32_t inarch_check(const char *function, const inarch_argument *wanted, int32_t inputs,
                            int32_t count, const DLTensor *args, int32_t n)
{
    if (n != count || (args == NULL && count > 0)) {
        return inarch_fail(1, "%s: expected %d arguments (%d inputs, then %d outputs), found %d",
                           function, (int)count, (int)inputs, (int)(count - inputs),
                           args == NULL ? 0 : (int)n);
    }
    for (int32_t i = 0; i < count; i++) {
        const int32_t status = inarch_check_argument(function, i, &wanted[i], &args[i], i < inputs);
        if (status != 0) {
            return status;
        }
    }
    for (int32_t i = inputs; i < count; i++) {
        for (int32_t j = 0; j < i; j++) {
            const uintptr_t a = inarch_address(&args[i]), b = inarch_address(&args[j]);
            if (wanted[i].bytes > 0 && wanted[j].bytes > 0 && a < b + (uintptr_t)wanted[j].bytes
                && b < a + (uintptr_t)wanted[i].bytes) {
                return inarch_fail(1,
                                   "%s: argument %d (%s) overlaps argument %d (%s); "
                                   "an output needs memory of its own",
                                   function, (int)i, wanted[i].name, (int)j, wanted[j].name);
            }
        }
    }
    return 0;
}
"""

ENTRY = """
int32_t ${stem}(DLTensor *args, int32_t n)
{
    const int32_t fault = inarch_check(${name}, ${arguments}, ${inputs}, ${count}, args, n);
    if (fault != 0) {
        return fault;
    }
${weights}${threads}    void *buffers[${slots}];
${fill}${call}}
"""

ENTRY_WEIGHTS = """\
    if (inarch_weights == NULL) {
        return inarch_fail(2, "%s: weights are not bound; call ${prefix}_bind first", ${name});
    }
"""

ENTRY_THREADS = """\
    if (inarch_pool_threads() < 0) {
        return inarch_fail(6, "%s: INARCH_NUM_THREADS: expected a number from 1 on, found '%s'", ${name},
                           getenv("INARCH_NUM_THREADS"));
    }
"""

ENTRY_FILL = """\
    for (int32_t i = 0; i < ${count}; i++) {
        buffers[i] = (char *)args[i].data + args[i].byte_offset;
    }
"""

ENTRY_WITH_WORKSPACE = """\
    void *workspace = inarch_take();
    if (workspace == NULL) {
        return inarch_fail(3, "%s: no memory for a workspace of ${bytes} bytes", ${name});
    }
    const int32_t status = ${stem}_run(buffers, inarch_weights, workspace);
    inarch_give(workspace);
    return status;
"""
