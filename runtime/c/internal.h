/* What the sources of libinarch share. */
#ifndef INARCH_RT_INTERNAL_H
#define INARCH_RT_INTERNAL_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "inarch_runtime.h"

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "artifacts are little endian"
#endif

/* message.c: keeps the message of this thread, and returns `code`. */
__attribute__((format(printf, 2, 3))) int32_t inarch_rt_fail(int32_t code, const char *format, ...);

/* checksums.c, sha256.c */
uint32_t inarch_rt_crc32(const unsigned char *bytes, size_t count);
void inarch_rt_sha256(const unsigned char *bytes, size_t count, char digits[65]);

/* dtypes.c: bytes of an element; 0 of what is no element type. */
int32_t inarch_rt_dtype_bytes(int32_t dtype);

#define INARCH_RT_TAIL_BYTES 65 /* of the end of an artifact, which says where its index is */

/* tail.c: where the index of the file at `bytes` is, which messages call `where`. Its checksum holds, if it
 * `is_checked`. */
int32_t inarch_rt_find_index(const char *where, const unsigned char *bytes, size_t size, int is_checked,
                             uint64_t *start, uint64_t *count);

/* index.c: what an artifact says of itself. Texts point into the file; all else is the index's. */
typedef struct {
    const char *path, *caller, *remedy;
} inarch_rt_external;

typedef struct {
    const char *name, *prefix, *target;
    uint64_t library_bytes, weights_offset, weights_bytes;
    const char *library_sha256, *weights_sha256;
    const char **loaders, **imports;
    inarch_rt_external *libraries;
    inarch_function *functions;
    int32_t loader_count, import_count, library_count, function_count;
    void *blocks; /* what was allocated for it, a list */
} inarch_rt_index;

/* Reads the file at `bytes`, which messages call `where`. What it leaves in `index`, also when it fails, is
 * to be given back to `inarch_rt_free_index`. */
int32_t inarch_rt_read_index(const char *where, const unsigned char *bytes, size_t size, int is_checked,
                             inarch_rt_index *index);
void inarch_rt_free_index(inarch_rt_index *index);

/* file.c: a file and the state it is in, mapped. */
typedef struct {
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec modified, changed;
} inarch_rt_identity;

int32_t inarch_rt_open_file(const char *path, int *descriptor, inarch_rt_identity *identity);
int inarch_rt_is_same(const inarch_rt_identity *one, const inarch_rt_identity *other);
int32_t inarch_rt_map(const char *path, int descriptor, size_t size, const unsigned char **bytes);

/* library.c: the code, in this process. */
typedef struct {
    void *handle;
    const char *(*last_error)(void);
    int32_t (*set_threads)(int32_t threads);
    const inarch_pool *(*pool)(const inarch_pool *use);
} inarch_rt_library;

typedef int32_t (*inarch_rt_entry)(void *const *buffers, const void *weights, void *workspace);

/* `descriptor` is open for the file that is mapped at `bytes`. */
int32_t inarch_rt_load(const char *where, int descriptor, const unsigned char *bytes,
                       const inarch_rt_index *index, const inarch_options *options,
                       inarch_rt_library *library);
inarch_rt_entry inarch_rt_find_entry(const inarch_rt_library *library, const char *prefix,
                                     const char *function);

/* module.c */
struct inarch_module {
    struct inarch_module *next; /* of those that are open */
    int64_t users;              /* opened so often, and instances, and modules whose loops its threads run */
    char *where;
    inarch_rt_identity identity;
    const unsigned char *bytes;
    int is_shared, is_checked, is_verified;
    inarch_rt_index index;
    inarch_rt_library library;
    struct inarch_module *pool_of; /* whose threads run its loops, NULL: its own, or none */
};

void inarch_rt_retain(inarch_module *module);
const void *inarch_rt_weights(const inarch_module *module);

#endif
