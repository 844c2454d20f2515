"""The C of `model.c` as templates: `$name` and `${name}` are filled in by `model.py`."""

from __future__ import annotations

PUBLIC = """
INARCH_C INARCH_PUBLIC INARCH_BASELINE const inarch_library *${prefix}_library(void);
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

LINKED = """
/* Defined by the C of the backend ${backend}. */
INARCH_C int32_t ${symbol}(void *self, DLTensor *args, int32_t n);
"""

IMPORTS = """
static inarch_import inarch_imports[${count}]${values};
static const char *const inarch_import_names[${count}] = {${names}};
static const char *const inarch_import_owners[${count}] = {${owners}};

/* Who says why the function that fills a slot failed. */
static struct {
    int32_t (*call)(void *self, DLTensor *args, int32_t n);
    const char *(*last_error)(void);
} inarch_explained[${count}]${explained};

INARCH_C INARCH_PUBLIC INARCH_BASELINE void ${prefix}_explain(
    int32_t slot, const inarch_import *import, const char *(*last_error)(void));

void ${prefix}_explain(int32_t slot, const inarch_import *import, const char *(*last_error)(void))
{
    inarch_explained[slot].call = import->call;
    inarch_explained[slot].last_error = last_error;
}

static int32_t inarch_call_import(int32_t slot, DLTensor *args, int32_t n)
{
    const inarch_import *entry = &(inarch_here.imports != NULL ? inarch_here.imports : inarch_imports)[slot];
    if (entry->call == NULL) {
        return inarch_fail(2, "import '%s' is not bound; call ${prefix}_bind first",
                           inarch_import_names[slot]);
    }
    const int32_t status = entry->call(entry->self, args, n);
    if (status == 0) {
        return 0;
    }
    /* A state may have filled the slot with another function. */
    const int is_known = inarch_explained[slot].call == entry->call;
    const char *why = is_known ? inarch_explained[slot].last_error() : NULL;
    if (why != NULL && *why != 0) {
        inarch_fail(status, "import '%s' failed: %s%s", inarch_import_names[slot], why,
                    inarch_import_owners[slot]);
    } else {
        inarch_fail(status, "import '%s' failed with code %d%s", inarch_import_names[slot],
                    (int)status, inarch_import_owners[slot]);
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
            return inarch_fail(4, "%s: output %d was never written%s", inarch_import_names[slot],
                               (int)(found - inputs), inarch_import_owners[slot]);
        }
        suspect = found;
    }
}
"""

TABLES = """
${ports}static const inarch_model inarch_self = {
    {
        sizeof(inarch_library),
        INARCH_ABI_VERSION,
        "${prefix}",
        ${target},
        ${features},
        "${digest}",
        ${bytes},
        INARCH_CPU,
        ${functions},
        ${count},
        sizeof(inarch_function),
        sizeof(inarch_port),
        0,
        ${function_table},
        ${entry_table},
        ${import_names},
        ${pool},
        inarch_check_cpu,
        inarch_last_message,
        ${state_new},
        ${state_free},
        inarch_set_weights,
        inarch_set_stream,
        inarch_shapes,
        inarch_run,
        inarch_release,
    },
    ${imports},
    ${slots},
    0,
    ${workspace},
    ${embedded},
    ${threads},
    ${indices},
    ${indices_count},
    0,
};

/* Of calls by the functions below. */
static inarch_state inarch_default = {
    &inarch_self, ${imports}, NULL, {NULL, NULL, NULL}, {NULL, NULL}, ${bound}, 0, NULL, 0,
    {{{${embedded}, 0, NULL, NULL}, 0, 1, 0}},
};
"""

ENTRY = """
int32_t ${stem}(DLTensor *args, int32_t n)
{
    return inarch_run(&inarch_default, ${index}, args, n, NULL);
}
"""

OWN_ENTRY = """
int32_t ${stem}(DLTensor *args, int32_t n)
{
    if (!inarch_default.is_bound) {
        return inarch_own_run(&inarch_self, &inarch_default, ${index}, args, n);
    }
    return inarch_run(&inarch_default, ${index}, args, n, NULL);
}
"""

BIND = """
const inarch_library *${prefix}_library(void)
{
    return &inarch_self.library;
}

int32_t ${prefix}_abi_version(void)
{
    return INARCH_ABI_VERSION;
}

const char *${prefix}_weights_sha256(void)
{
    return inarch_self.library.weights_sha256;
}

const char *${prefix}_last_error(void)
{
    return inarch_last_message();
}

int32_t ${prefix}_bind(
    const void *weights, int64_t nbytes, const inarch_import *imports, int32_t count)
{
    return ${bind_begin}inarch_bind_state(
        &inarch_default, ${imports}, weights, nbytes, imports, count)${bind_end};
}

int32_t ${prefix}_set_threads(int32_t threads)
{
    return inarch_limit_threads(&inarch_self, threads);
}
"""
