/* Programs that have host versions of what backends do: a loader that is missing costs its parts, not the program. */
#include "internal.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define SYMBOL_BYTES 600

/* What fills a slot whose part is not there: the program's own function, or NULL where it has no host versions. */
inarch_rt_call inarch_rt_absent(const inarch_rt_library *library, const char *prefix)
{
    char symbol[SYMBOL_BYTES];
    inarch_rt_call absent;
    snprintf(symbol, sizeof(symbol), "%s_absent", prefix);
    void *found = dlsym(library->handle, symbol);
    memcpy(&absent, &found, sizeof(found)); /* ISO C has no such cast; POSIX says that they are of one kind */
    return absent;
}

/* Told on standard error, as the program itself tells of calls that fail: nobody else would hear of it. */
int32_t inarch_rt_do_without(const inarch_rt_library *library, const inarch_rt_index *index, inarch_rt_loaded **parts,
                             int32_t status)
{
    if (status == INARCH_OK || inarch_rt_absent(library, index->prefix) == NULL) {
        return status;
    }
    inarch_rt_free_parts(&index->code, *parts);
    *parts = NULL;
    fprintf(stderr, "warning: %s; the host runs its parts\n", inarch_last_error());
    return INARCH_OK;
}
