/* What fills the slots of a library: functions that are given with the options, and parts with their loaders.

   A function that is given is looked at in its first call: whether it writes its outputs. What withstands two patterns
   of bytes was not written; one may be what the function writes. */
#include "internal.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SYMBOL_BYTES 600

typedef struct {
    inarch_import given;
    int32_t inputs;
    int32_t is_checked;
} guarded;

static __thread char never_written[80];

static const char *why(void)
{
    return never_written;
}

/* As `inarch_visit` of checked programs (CALL_CHECKED in backends/c/write/abi/model_text.py), which have it in their library.
   Fills a tensor with bytes, or tells whether it still is what it was filled with. Bytes of 0xff are a quiet NaN of every
   float type; those of a second iteration are other ones. */
static int visit(const DLTensor *tensor, int iteration, int is_filling)
{
    const int is_float = tensor->dtype.code == INARCH_FLOAT;
    const unsigned char pattern = iteration % 2 != 0 ? 0x5a : is_float ? 0xff : 0xa5;
    const int64_t size = tensor->dtype.bits / 8;
    int64_t count = 1;
    for (int32_t i = 0; i < tensor->ndim; i++) {
        count *= tensor->shape[i];
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i, place = 0, step = 1;
        for (int32_t k = tensor->ndim - 1; k >= 0; k--) {
            place += rest % tensor->shape[k] * (tensor->strides == NULL ? step : tensor->strides[k]);
            rest /= tensor->shape[k];
            step *= tensor->shape[k];
        }
        unsigned char *bytes = (unsigned char *)tensor->data + tensor->byte_offset + place * size;
        for (int64_t k = 0; k < size; k++) {
            if (is_filling) {
                bytes[k] = pattern;
            } else if (bytes[k] != pattern) {
                return 0;
            }
        }
    }
    return count != 0;
}

static int32_t call_guarded(void *self, DLTensor *args, int32_t n)
{
    guarded *import = (guarded *)self;
    never_written[0] = 0;
    if (__atomic_load_n(&import->is_checked, __ATOMIC_RELAXED)) {
        return import->given.call(import->given.self, args, n);
    }
    int32_t suspect = -1;
    for (int iteration = 0;; iteration++) {
        for (int32_t i = import->inputs; i < n; i++) {
            visit(&args[i], iteration, 1);
        }
        const int32_t status = import->given.call(import->given.self, args, n);
        if (status != INARCH_OK) {
            return status;
        }
        int32_t found = suspect < 0 ? import->inputs : suspect;
        while (found < n && !visit(&args[found], iteration, 0)) {
            found++;
        }
        if (found == n) {
            __atomic_store_n(&import->is_checked, 1, __ATOMIC_RELAXED);
            return INARCH_OK;
        }
        if (found == suspect) {
            snprintf(never_written, sizeof(never_written), "output %d was never written",
                     (int)(found - import->inputs));
            return INARCH_ARGUMENT;
        }
        suspect = found;
    }
}

/* How many inputs an import has; -1 where the artifact does not say. */
static int32_t inputs_of(const inarch_rt_variant *code, const char *name)
{
    for (int32_t i = 0; i < code->called_count; i++) {
        if (strcmp(code->called[i].name, name) == 0) {
            return code->called[i].inputs;
        }
    }
    return -1;
}

/* The function of that name among those that are given, or NULL. */
static const inarch_import *given_as(const inarch_options *options, const char *name)
{
    const inarch_import *found = NULL;
    for (int32_t k = 0; k < options->import_count; k++) {
        if (strcmp(options->imports[k].name, name) == 0) {
            found = &options->imports[k].function;
        }
    }
    return found;
}

static int32_t check_names(const char *where, const inarch_rt_variant *code, const inarch_options *options)
{
    for (int32_t k = 0; k < options->import_count; k++) {
        int32_t i = 0;
        while (i < code->import_count && strcmp(options->imports[k].name, code->imports[i]) != 0) {
            i++;
        }
        if (i == code->import_count) {
            return inarch_rt_fail(INARCH_NAME, "%s: error: no import '%s'; %s%s%s", where, options->imports[k].name,
                                  code->import_count == 0 ? "it has none" : "the first is '",
                                  code->import_count == 0 ? "" : code->imports[0], code->import_count == 0 ? "" : "'");
        }
    }
    return INARCH_OK;
}

int32_t inarch_rt_fill_imports(const char *where, const inarch_rt_index *index, const inarch_options *options,
                               const inarch_rt_library *library, const inarch_rt_loaded *parts,
                               inarch_import **result)
{
    const inarch_rt_variant *code = &index->code;
    const size_t count = (size_t)code->import_count;
    void (*explain)(int32_t, const inarch_import *, const char *(*)(void));
    char symbol[SYMBOL_BYTES];
    snprintf(symbol, sizeof(symbol), "%s_explain", index->prefix);
    void *found = dlsym(library->handle, symbol);
    memcpy(&explain, &found, sizeof(found)); /* ISO C has no such cast; POSIX says that they are of one kind */
    inarch_import *table = (inarch_import *)calloc(1, (count + 1) * (sizeof(*table) + sizeof(guarded)));
    *result = table;
    if (table == NULL) {
        return inarch_rt_fail(INARCH_NO_MEMORY, "%s: error: no memory for its imports", where);
    }
    guarded *behind = (guarded *)(void *)(table + count + 1);
    const int32_t known = check_names(where, code, options);
    if (known != INARCH_OK) {
        return known;
    }
    for (int32_t i = 0; i < code->import_count; i++) {
        const char *(*last_error)(void) = NULL;
        const inarch_import *given = given_as(options, code->imports[i]);
        if (given != NULL) {
            const int32_t inputs = inputs_of(code, code->imports[i]);
            behind[i].given = *given;
            behind[i].inputs = inputs;
            behind[i].is_checked = inputs < 0;
            table[i].call = call_guarded;
            table[i].self = &behind[i];
            last_error = why;
        } else {
            const int32_t status = inarch_rt_bind_part(where, code, parts, code->imports[i], &table[i], &last_error);
            if (status != INARCH_OK) {
                return status;
            }
        }
        if (last_error != NULL && explain != NULL) {
            explain(i, &table[i], last_error);
        }
        if (table[i].call == NULL) {
            table[i].call = inarch_rt_absent(library, index->prefix);
        }
        if (table[i].call == NULL) {
            return inarch_rt_fail(
                INARCH_UNBOUND,
                "%s: error: import '%s' is not filled; give a function of that name in the options' "
                "imports",
                where, code->imports[i]);
        }
    }
    return INARCH_OK;
}
