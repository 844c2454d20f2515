/* The C interface of compiled models, ABI v2.
 *
 * A library `<prefix>` exports, with C linkage:
 *
 *   int32_t <prefix>_abi_version(void);
 *       INARCH_ABI_VERSION.
 *   int32_t <prefix>_bind(const void *weights, int64_t nbytes, const inarch_import *imports,
 *                         int32_t count);
 *       Once, before any call: the weights (`nbytes` of them, 64-byte aligned, kept by the caller for
 *       as long as the library is used; NULL and 0 where the library has them, or needs none), and
 *       the functions that the library imports, in its manifest's order. The table is copied. Fails
 *       where the CPU lacks what the code was compiled for (x86-64), before any instruction that it
 *       lacks. Not to be called at the same time as anything else of the library.
 *   const char *<prefix>_weights_sha256(void);
 *       The weights that the library was compiled with: SHA-256 of all bytes, in hexadecimal digits.
 *   int32_t <prefix>_<function>(DLTensor *args, int32_t n);
 *       Inputs, then outputs. Checks count, dtype, shape, strides (NULL is row-major), element
 *       alignment, that bools that are read are 0 or 1, and that outputs overlap nothing. Safe from
 *       any number of threads.
 *   int32_t <prefix>_<function>_run(void *const *buffers, const void *weights, void *workspace);
 *       The same without checks; `workspace` is 64-byte aligned and this call's own.
 *   const char *<prefix>_last_error(void);
 *       Why the last call of this thread that did not return 0 failed.
 *   int32_t <prefix>_set_threads(int32_t threads);
 *       By at most how many threads calls from this thread are run from now on; 0, as it is at first: by
 *       INARCH_NUM_THREADS, or else one for each processor that the process may use (affinity, and quota
 *       of the control group). More than four for a processor are four. Results do not depend on it.
 *   const inarch_pool *<prefix>_pool(const inarch_pool *use);
 *       `use`, if not NULL, runs the library's loops from now on: that of another library, so that a
 *       process has one pool, or an application's own. It must outlive the library's use. Returns the
 *       library's own pool, NULL where it has no loop that threads share. Not to be called at the same
 *       time as anything else of the library.
 *
 * Functions return INARCH_OK or another code below; an import's code is passed on.
 * A library that is closed frees what it holds; until then every thread must have left it. The header is C11 and C++11, and needs nothing else.
 * inarch_runtime.h opens artifacts, which are such libraries with their weights, by their path.
 */
#ifndef INARCH_H
#define INARCH_H

#include <stdint.h>

#define INARCH_ABI_VERSION 2

/* The values of DLDevice.device_type and DLDataType.code that are used here. */
#define INARCH_CPU 1
#define INARCH_INT 0
#define INARCH_UINT 1
#define INARCH_FLOAT 2
#define INARCH_BOOL 6

/* What functions return. */
#define INARCH_OK 0
#define INARCH_ARGUMENT 1    /* an argument does not fit */
#define INARCH_UNBOUND 2     /* weights, imports or buffers are not bound */
#define INARCH_NO_MEMORY 3
#define INARCH_UNWRITTEN 4   /* an import left an output unwritten */
#define INARCH_CPU_LACKS 5   /* the machine lacks what the code was compiled for */
#define INARCH_THREADS 6     /* no number of threads */
#define INARCH_FILE 7        /* a file that is damaged, or no artifact of this format */
#define INARCH_UNREADABLE 8  /* a file that cannot be read or opened */
#define INARCH_UNSUPPORTED 9 /* an artifact that needs what is not in C */
#define INARCH_NAME 10       /* no function, input or output of that name */

#ifdef __cplusplus
extern "C" {
#endif

/* [structs: the part that the Python runtime reads as well]
 * DLTensor as dlpack.h has it since version 0.2; not defined twice when that header came first, or
 * a model in C, which defines these itself. */
#if !defined(DLPACK_DLPACK_H_) && !defined(INARCH_DLTENSOR)
#define INARCH_DLTENSOR
typedef struct {
  int32_t device_type;
  int32_t device_id;
} DLDevice;

typedef struct {
  uint8_t code;
  uint8_t bits;   /* of one element; a bool has 8 */
  uint16_t lanes; /* 1 */
} DLDataType;

typedef struct {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides; /* in elements; NULL: row-major */
  uint64_t byte_offset;
} DLTensor;
#endif

/* A function that a library imports: `call(self, args, n)` with its inputs, then its outputs. */
#ifndef INARCH_IMPORT
#define INARCH_IMPORT
typedef struct {
  int32_t (*call)(void *self, DLTensor *args, int32_t n);
  void *self;
} inarch_import;
#endif

/* Who runs loops by several threads. `run` splits [0, count) into parts, calls `task(context, begin, end, part)`
 * once for each, in whatever threads (at most `threads`; 0: as many as it has), and returns when all are done.
 * It must be callable from several threads at once, and from within a task. */
#ifndef INARCH_POOL
#define INARCH_POOL
typedef void (*inarch_task)(void *context, int64_t begin, int64_t end, int32_t part);

typedef struct {
  void (*run)(void *self, int32_t threads, int64_t count, inarch_task task, void *context);
  void *self;
} inarch_pool;
#endif
/* [end of structs] */

#ifdef __cplusplus
}
#endif

#endif /* INARCH_H */
