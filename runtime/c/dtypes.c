/* Element types and how they are printed. */
#include "internal.h"

#include <stdio.h>

static const struct {
    int32_t dtype;
    const char *name;
} known[] = {
    {INARCH_F32, "f32"},   {INARCH_F64, "f64"},   {INARCH_I8, "i8"},   {INARCH_I16, "i16"},
    {INARCH_I32, "i32"},   {INARCH_I64, "i64"},   {INARCH_UI8, "ui8"}, {INARCH_UI16, "ui16"},
    {INARCH_UI32, "ui32"}, {INARCH_UI64, "ui64"}, {INARCH_I1, "i1"},
    {INARCH_F16, "f16"},   {INARCH_BF16, "bf16"},
    {INARCH_F8E4M3FN, "f8E4M3FN"}, {INARCH_F8E4M3FNUZ, "f8E4M3FNUZ"},
    {INARCH_F8E5M2, "f8E5M2"},     {INARCH_F8E5M2FNUZ, "f8E5M2FNUZ"},
    /* Those of others, by DLPack's codes. */
    {0x708, "f8E3M4"}, {0x808, "f8E4M3"}, {0x908, "f8E4M3B11FNUZ"}, {0xe08, "f8E8M0FNU"},
};

const char *inarch_dtype_name(int32_t dtype)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (known[i].dtype == dtype) {
            return known[i].name;
        }
    }
    return NULL;
}

int32_t inarch_rt_dtype_bytes(int32_t dtype)
{
    return inarch_dtype_name(dtype) == NULL ? 0 : (dtype & 0xff) / 8;
}

void inarch_port_type(const inarch_port *port, char *text, size_t size)
{
    if (size == 0) {
        return;
    }
    const char *dtype = inarch_dtype_name(port->dtype);
    size_t used = (size_t)snprintf(text, size, "%s[", dtype == NULL ? "an unknown dtype" : dtype);
    for (int32_t i = 0; i < port->rank && used < size; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s%lld", i == 0 ? "" : ", ",
                                 (long long)port->shape[i]);
    }
    if (used < size) {
        snprintf(text + used, size - used, "]");
    }
}
