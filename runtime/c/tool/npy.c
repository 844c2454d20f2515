/* Files of one array as NumPy writes them (numpy.lib.format, versions 1 and 2): row-major, little endian. */
#include "tool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_HEADER 65536

static const struct {
    const char *descr;
    int32_t dtype;
} kinds[] = {
    {"<f4", INARCH_F32},  {"<f8", INARCH_F64},  {"|i1", INARCH_I8},  {"<i2", INARCH_I16},
    {"<i4", INARCH_I32},  {"<i8", INARCH_I64},  {"|u1", INARCH_UI8}, {"<u2", INARCH_UI16},
    {"<u4", INARCH_UI32}, {"<u8", INARCH_UI64}, {"|b1", INARCH_I1},  {"<f2", INARCH_F16},
    {"<V2", INARCH_BF16}, /* bf16, which NumPy has no letter for */
};

static int refuse(const char *path, const char *expected, const char *found)
{
    return tool_fail(LEAVE_USAGE,
                     "%s: error: --input: expected %s, found %s; np.save(FILE, np.ascontiguousarray(x)) "
                     "writes what is read",
                     path, expected, found);
}

/* What follows `'key':` and blanks in the header, which is a dict of Python. */
static const char *value_of(const char *header, const char *key)
{
    const char *found = strstr(header, key);
    return found == NULL ? "" : found + strlen(key) + strspn(found + strlen(key), " ");
}

static int read_descr(const char *path, const char *header, tool_array *array)
{
    const char *descr = value_of(header, "'descr':");
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (descr[0] == '\'' && strncmp(descr + 1, kinds[i].descr, 3) == 0 && descr[4] == '\'') {
            array->dtype = kinds[i].dtype;
        }
    }
    if (array->dtype < 0) {
        char found[40];
        snprintf(found, sizeof(found), "%.*s", (int)strcspn(descr, ",}\n"), descr);
        return refuse(path, "an array of little-endian numbers or bools", found);
    }
    if (strncmp(value_of(header, "'fortran_order':"), "False", 5) != 0) {
        return refuse(path, "an array in row-major order", "another order");
    }
    return 0;
}

static int read_shape(const char *path, const char *header, tool_array *array)
{
    const char *at = value_of(header, "'shape':");
    if (*at != '(') {
        return refuse(path, "a shape", "none");
    }
    int64_t bytes = (array->dtype & 0xff) / 8;
    for (at++; *at != ')';) {
        char *rest;
        errno = 0;
        const long long size = strtoll(at, &rest, 10);
        if (rest == at || *at < '0' || *at > '9' || array->rank == MOST_RANK) {
            return refuse(path, "at most 32 sizes", "another shape");
        }
        if (errno != 0 || (size > 0 && bytes > INT64_MAX / 2 / size)) {
            return refuse(path, "an array that fits in memory", "a larger one");
        }
        array->shape[array->rank++] = size;
        bytes *= size;
        at = rest + strspn(rest, ", ");
    }
    array->bytes = bytes;
    return 0;
}

static int read_header(const char *path, FILE *file, tool_array *array)
{
    unsigned char start[12];
    static char header[MOST_HEADER + 1];
    size_t length = 0;
    if (fread(start, 1, 10, file) != 10 || memcmp(start, "\x93NUMPY", 6) != 0) {
        return refuse(path, "a .npy file", "another");
    }
    length = start[8] | (size_t)start[9] << 8;
    if (start[6] == 2 && fread(start + 10, 1, 2, file) == 2) {
        length |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
    } else if (start[6] != 1) {
        return refuse(path, "version 1 or 2 of the format", "another version");
    }
    if (length > MOST_HEADER || fread(header, 1, length, file) != length) {
        return refuse(path, "a header of at most 65536 bytes", "another");
    }
    header[length] = 0;
    array->dtype = -1;
    const int status = read_descr(path, header, array);
    return status != 0 ? status : read_shape(path, header, array);
}

static int read_data(const char *path, FILE *file, tool_array *array)
{
    const long start = ftell(file);
    if (start < 0 || fseek(file, 0, SEEK_END) != 0 || ftell(file) - start != array->bytes) {
        char expected[60], found[60];
        snprintf(expected, sizeof(expected), "%lld bytes of data", (long long)array->bytes);
        snprintf(found, sizeof(found), "%lld", (long long)(ftell(file) - start));
        return refuse(path, expected, found);
    }
    array->data = malloc((size_t)array->bytes + 1);
    if (array->data == NULL) {
        return tool_fail(LEAVE_MACHINE, "%s: error: no memory for %lld bytes", path, (long long)array->bytes);
    }
    if (fseek(file, start, SEEK_SET) != 0
        || fread(array->data, 1, (size_t)array->bytes, file) != (size_t)array->bytes) {
        free(array->data);
        array->data = NULL;
        return tool_fail(LEAVE_MACHINE, "%s: error: cannot be read: %s", path, strerror(errno));
    }
    return 0;
}

int tool_read_npy(const char *path, tool_array *array)
{
    memset(array, 0, sizeof(*array));
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return tool_fail(LEAVE_USAGE, "%s: error: --input: cannot be read: %s", path, strerror(errno));
    }
    int status = read_header(path, file, array);
    if (status == 0) {
        status = read_data(path, file, array);
    }
    fclose(file);
    return status;
}

static size_t make_header(const inarch_port *port, char *header, size_t size)
{
    const char *descr = "|V1"; /* a float of 8 bits */
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        descr = kinds[i].dtype == port->dtype ? kinds[i].descr : descr;
    }
    size_t used = (size_t)snprintf(header, size, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (int32_t i = 0; i < port->rank; i++) {
        used += (size_t)snprintf(header + used, size - used, "%s%lld", i == 0 ? "" : ", ",
                                 (long long)port->shape[i]);
    }
    used += (size_t)snprintf(header + used, size - used, "%s), }", port->rank == 1 ? "," : "");
    while ((10 + used + 1) % 64 != 0) {
        header[used++] = ' ';
    }
    header[used++] = '\n';
    return used;
}

/* The file appears whole or not at all. */
int tool_write_npy(const char *path, const inarch_port *port, const void *data)
{
    char header[1200], part[4096];
    const size_t length = make_header(port, header, sizeof(header));
    const unsigned char start[10] = {
        0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)(length & 0xff), (unsigned char)(length >> 8)};
    if ((size_t)snprintf(part, sizeof(part), "%s.%ld.part", path, (long)getpid()) >= sizeof(part)) {
        return tool_fail(LEAVE_MACHINE, "error: cannot write '%s': %s", path, strerror(ENAMETOOLONG));
    }
    FILE *file = fopen(part, "wb");
    if (file == NULL) {
        return tool_fail(LEAVE_MACHINE, "error: cannot write '%s': %s", path, strerror(errno));
    }
    const size_t bytes = (size_t)port->bytes;
    const int is_written = fwrite(start, 1, 10, file) == 10 && fwrite(header, 1, length, file) == length
                           && fwrite(data, 1, bytes, file) == bytes;
    if (fclose(file) != 0 || !is_written || rename(part, path) != 0) {
        const char *reason = strerror(errno);
        remove(part);
        return tool_fail(LEAVE_MACHINE, "error: cannot write '%s': %s", path, reason);
    }
    return 0;
}
