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

#include "inarch_loader.h"
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
    const char *name, *path, *sha256, *caller, *remedy;
} inarch_rt_external;

/* A part in a backend's own format. */
typedef struct {
    const char *name, *sha256;
    uint64_t offset, bytes;
} inarch_rt_blob;

typedef struct {
    const char *format, *sha256;
    uint64_t offset, bytes;
    const char *version, *machine, *package; /* who made it, for what, and what to install; "" where that is not said */
    inarch_rt_blob *weights;
    const char *instance, **options; /* a name, then its value */
    int32_t weight_count, option_count;
} inarch_rt_part;

typedef struct {
    const char *target, *features;
    uint64_t library_offset, library_bytes, weights_offset, weights_bytes;
    const char *library_sha256, *weights_sha256;
    const char **loaders, **imports;
    inarch_rt_external *libraries;
    int64_t *workspace_bytes; /* by function */
    inarch_rt_part *parts;    /* one for each loader but the first */
    inarch_function *called;  /* what is known of imports */
    int32_t loader_count, import_count, library_count, workspace_count, part_count, called_count;
} inarch_rt_variant;

typedef struct {
    const char *name, *prefix;
    inarch_function *functions;
    inarch_rt_variant *variants; /* the program for one kind of CPU each, the best first */
    inarch_rt_variant code;      /* the one that runs; `functions` have its workspaces */
    int32_t function_count, variant_count;
    void *blocks; /* what was allocated for it, a list */
} inarch_rt_index;

/* Reads the file at `bytes`, which messages call `where`. What it leaves in `index`, also when it fails, is
 * to be given back to `inarch_rt_free_index`. */
int32_t inarch_rt_read_index(const char *where, const unsigned char *bytes, size_t size, int is_checked,
                             inarch_rt_index *index);
void inarch_rt_free_index(inarch_rt_index *index);
void inarch_rt_use(inarch_rt_index *index, int32_t variant);

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

/* external.c: libraries of others. `path`: INARCH_RT_PATH bytes, for where it is; where that is known, its SHA-256
 * is compared if it `is_verified`. */
#define INARCH_RT_PATH 4096
int32_t inarch_rt_find_library(const char *where, const inarch_rt_external *one, int is_verified, char *path);
/* Whether there is a file `name` beside `where` or in INARCH_LIBRARY_PATH: then `path` is where. */
int inarch_rt_find_file(const char *where, const char *name, char *path);
/* Writes into a copy of a library where the one of that number is that it needs. */
void inarch_rt_set_needed(unsigned char *library, size_t count, int32_t number, const char *path);

/* library.c: the code, in this process. */
typedef struct {
    void *handle;
    const inarch_library *table;
    const inarch_pool *(*pool)(const inarch_pool *use);
} inarch_rt_library;

/* `descriptor` is open for the file that is mapped at `bytes`. */
int32_t inarch_rt_load(const char *where, int descriptor, const unsigned char *bytes,
                       inarch_rt_index *index, const inarch_options *options, inarch_rt_library *library);
/* loader.c: the parts of a program, each with its loader. What it leaves in `parts`, also when it fails, is to be given back
 * to `inarch_rt_free_parts`. */
typedef struct inarch_rt_loaded inarch_rt_loaded;
int32_t inarch_rt_load_parts(const char *where, const unsigned char *bytes, const inarch_rt_variant *code,
                             const inarch_options *options, inarch_rt_loaded **parts);
void inarch_rt_free_parts(const inarch_rt_variant *code, inarch_rt_loaded *parts);
/* fallback.c: what fills slots of a program that has host versions of its parts, where these are missing. */
typedef int32_t (*inarch_rt_call)(void *self, DLTensor *args, int32_t n);
inarch_rt_call inarch_rt_absent(const inarch_rt_library *library, const char *prefix);
/* `status` of loading the parts; INARCH_OK, and no parts, where the program can do without. */
int32_t inarch_rt_do_without(const inarch_rt_library *library, const inarch_rt_index *index, inarch_rt_loaded **parts,
                             int32_t status);
/* Fills the slot of the import `name`, if a part has that function; `last_error` says why it fails. */
int32_t inarch_rt_bind_part(const char *where, const inarch_rt_variant *code, const inarch_rt_loaded *parts,
                            const char *name, inarch_import *slot, const char *(**last_error)(void));
/* What fills the library's imports, to be freed: what is given, else the parts. */
int32_t inarch_rt_fill_imports(const char *where, const inarch_rt_index *index, const inarch_options *options,
                               const inarch_rt_library *library, const inarch_rt_loaded *parts,
                               inarch_import **table);
/* A state of the library; what fails is told of `where`. */
int32_t inarch_rt_new_state(const char *where, const inarch_rt_library *library, const inarch_setup *setup,
                            inarch_state **state);
/* Which of the library's functions has that name; -1: none. */
int32_t inarch_rt_find_entry(const inarch_rt_library *library, const char *name);

/* module.c */
int32_t inarch_rt_null(const char *function, const char *expected); /* says that there is none; INARCH_ARGUMENT */
struct inarch_module {
    struct inarch_module *next; /* of those that are open */
    int64_t users;              /* opened so often, and instances, and modules whose loops its threads run */
    char *where;
    inarch_rt_identity identity;
    const unsigned char *bytes;
    int is_shared, is_checked, is_verified;
    inarch_rt_index index;
    inarch_rt_library library;
    inarch_rt_loaded *parts;
    inarch_setup setup; /* of its states: imports, pool, allocator, the file's weights */
    inarch_state *state;
    struct inarch_module *pool_of; /* whose threads run its loops, NULL: its own, or none */
};

void inarch_rt_retain(inarch_module *module);

#endif
