/* The message of a thread's last failure: one line, whatever names a file brought along. */
#include "internal.h"

#include <stdarg.h>
#include <stdio.h>

static __thread char message[2048];

int32_t inarch_rt_fail(int32_t code, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(message, sizeof(message), format, values);
    va_end(values);
    for (char *at = message; *at != 0; at++) {
        if ((unsigned char)*at < ' ' || *at == 0x7f) {
            *at = ' ';
        }
    }
    return code;
}

const char *inarch_last_error(void)
{
    return message;
}
