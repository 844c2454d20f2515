/* What inarch-run says when it leaves, and with which code. */
#include "tool.h"

#include <stdarg.h>
#include <stdio.h>

int tool_fail(int code, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vfprintf(stderr, format, values);
    va_end(values);
    fputc('\n', stderr);
    return code;
}

int tool_failed(int32_t status)
{
    const int is_machine =
        status == INARCH_NO_MEMORY || status == INARCH_CPU_LACKS || status == INARCH_UNREADABLE;
    const int code = is_machine ? LEAVE_MACHINE : status == INARCH_NAME ? LEAVE_USAGE : LEAVE_BAD;
    return tool_fail(code, "%s", inarch_last_error());
}
