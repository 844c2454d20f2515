/* The end of an artifact: which format it is of, its checksum, and where its index is
 * (inarch/artifact/index.py). */
#include "internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT_BYTES 26 /* `format FFFF crc32 CCCCCCCC`: the same in all formats from 2 on */
#define CRC_DIGITS 8

static int is_hexadecimal(const char *digits, int count)
{
    for (int i = 0; i < count; i++) {
        if (!isdigit((unsigned char)digits[i]) && (digits[i] < 'a' || digits[i] > 'f')) {
            return 0;
        }
    }
    return 1;
}

static int32_t no_artifact(const char *where, const unsigned char *bytes, size_t size)
{
    static const char *const old = "inarch crc32 "; /* and 8 digits: how files of format 1 end */
    if (size > 21 && memcmp(bytes + size - 21, old, 13) == 0) {
        return inarch_rt_fail(INARCH_FILE,
                              "%s: error: expected artifact format %d, found 1; compile the model again",
                              where, INARCH_FORMAT_VERSION);
    }
    const char *found = "a file of another kind";
    if (size >= 4
        && memcmp(bytes,
                  "\x7f"
                  "ELF",
                  4)
               == 0) {
        found = "an ELF file without the archive at its end: truncated or stripped";
    }
    return inarch_rt_fail(INARCH_FILE, "%s: error: expected an Inarch artifact, found %s", where, found);
}

int32_t inarch_rt_find_index(const char *where, const unsigned char *bytes, size_t size, int is_checked,
                             uint64_t *start, uint64_t *count)
{
    char tail[INARCH_RT_TAIL_BYTES + 1] = "";
    if (size <= INARCH_RT_TAIL_BYTES) {
        return no_artifact(where, bytes, size);
    }
    memcpy(tail, bytes + size - INARCH_RT_TAIL_BYTES, INARCH_RT_TAIL_BYTES);
    const char *format = tail + INARCH_RT_TAIL_BYTES - FORMAT_BYTES, *crc = tail + INARCH_RT_TAIL_BYTES - CRC_DIGITS;
    if (memcmp(format, "format ", 7) != 0 || memcmp(format + 11, " crc32 ", 7) != 0
        || strspn(format + 7, "0123456789") != 4 || !is_hexadecimal(crc, CRC_DIGITS)) {
        return no_artifact(where, bytes, size);
    }
    if (atoi(format + 7) != INARCH_FORMAT_VERSION) {
        return inarch_rt_fail(
            INARCH_FILE,
            "%s: error: expected artifact format %d, found %d; compile the model again, or use the "
            "libinarch of the Inarch that wrote it",
            where, INARCH_FORMAT_VERSION, atoi(format + 7));
    }
    if (is_checked && inarch_rt_crc32(bytes, size - CRC_DIGITS) != (uint32_t)strtoul(crc, NULL, 16)) {
        return inarch_rt_fail(
            INARCH_FILE,
            "%s: error: expected the bytes that were written, found others: a damaged file; copy it "
            "again, or compile the model again",
            where);
    }
    if (memcmp(tail, "inarch index ", 13) != 0 || !is_hexadecimal(tail + 13, 16) || tail[29] != ' '
        || !is_hexadecimal(tail + 30, 8)) {
        return no_artifact(where, bytes, size);
    }
    *start = strtoull(tail + 13, NULL, 16);
    *count = strtoull(tail + 30, NULL, 16);
    return INARCH_OK;
}
