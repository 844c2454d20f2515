"""The C of `bind`, and of what the library says of itself, as templates for `model.py`."""

from __future__ import annotations

BIND = """
int32_t ${prefix}_abi_version(void)
{
    return ${abi};
}

const char *${prefix}_weights_sha256(void)
{
    return "${digest}";
}

const char *${prefix}_last_error(void)
{
    return inarch_message;
}

int32_t ${prefix}_bind(
    const void *weights, int64_t nbytes, const inarch_import *imports, int32_t count)
{
${cpu}    if (count != ${count}) {
        return inarch_fail(2, "${prefix}_bind: expected ${count} imports, found %d", (int)count);
    }
${body}    return 0;
}
"""

BIND_CPU = """\
    const int32_t lacking = inarch_check_cpu();
    if (lacking != 0) {
        return lacking;
    }
"""

BIND_WEIGHTS = """\
    if (weights == NULL && inarch_weights == NULL) {
        return inarch_fail(2, "${prefix}_bind: expected ${bytes} bytes of weights, found a null pointer");
    }
    if (nbytes != (weights == NULL ? 0 : ${bytes})) {
        return inarch_fail(2, "${prefix}_bind: expected %lld bytes of weights, found %lld",
                           weights == NULL ? 0ll : ${bytes}ll, (long long)nbytes);
    }
    if ((uintptr_t)weights % 64 != 0) {
        return inarch_fail(2, "${prefix}_bind: expected weights at a multiple of 64 bytes");
    }
    if (weights != NULL) {
        inarch_weights = weights;
    }
"""

BIND_NO_WEIGHTS = """\
    (void)weights;
    if (nbytes != 0) {
        return inarch_fail(2, "${prefix}_bind: expected 0 bytes of weights, found %lld",
                           (long long)nbytes);
    }
"""

BIND_IMPORTS = """\
    for (int32_t i = 0; i < count; i++) {
        if (imports == NULL || imports[i].call == NULL) {
            return inarch_fail(2, "${prefix}_bind: import '%s' is not filled", inarch_import_names[i]);
        }
    }
    for (int32_t i = 0; i < count; i++) {
        inarch_imports[i] = imports[i];
    }
"""
