"""`model.c`, where a program has host versions of what backends do: what runs them where a slot fails."""

from __future__ import annotations

from collections.abc import Sequence
from string import Template

from inarch.artifact.manifest import Import
from inarch.backends.c.text import string

_TEXT = """
/* The host runs what a device does not. Who is told of it (each time), else standard error (once). */
typedef void (*inarch_told)(void *self, int32_t slot, const char *why);
static struct {
    inarch_told call;
    void *self;
} inarch_tell;
static int32_t inarch_is_told;

INARCH_C INARCH_PUBLIC INARCH_BASELINE void ${prefix}_on_fallback(inarch_told call, void *self);
INARCH_C INARCH_PUBLIC INARCH_BASELINE int32_t ${prefix}_absent(void *self, DLTensor *args, int32_t n);

/* Not to be called at the same time as anything else of the library. */
void ${prefix}_on_fallback(inarch_told call, void *self)
{
    inarch_tell.call = call;
    inarch_tell.self = self;
}

/* What fills a slot whose device is missing, of which whoever fills it has told. */
int32_t ${prefix}_absent(void *self, DLTensor *args, int32_t n)
{
    (void)self, (void)args, (void)n;
    return INARCH_UNSUPPORTED;
}

static int32_t inarch_fall_back(int32_t slot, inarch_entry host, void *const *buffers, const void *weights,
                                int64_t bytes)
{
    const inarch_import *table = inarch_here.imports != NULL ? inarch_here.imports : inarch_imports;
    if (table[slot].call != ${prefix}_absent) {
        if (inarch_tell.call != NULL) {
            inarch_tell.call(inarch_tell.self, slot, inarch_last_message());
        } else if (__atomic_exchange_n(&inarch_is_told, 1, __ATOMIC_RELAXED) == 0) {
            fprintf(stderr, "%s: warning: %s; the host runs it\\n", ${name}, inarch_last_message());
        }
    }
    void *workspace = NULL;
    if (bytes > 0 && (workspace = aligned_alloc(64, (size_t)bytes)) == NULL) {
        return inarch_fail(INARCH_NO_MEMORY, "no memory to run '%s' on the host", inarch_import_names[slot]);
    }
    const int32_t status = host(buffers, weights, workspace);
    free(workspace);
    return status;
}
"""


def fallback_text(prefix: str, imports: Sequence[Import]) -> str:
    """What runs host versions; nothing where no slot has one."""
    if not any(slot.fallback for slot in imports):
        return ""
    return Template(_TEXT).substitute(prefix=prefix, name=string(prefix))
