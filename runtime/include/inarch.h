/* The C interface of compiled models, ABI v3.
 *
 * A library `<prefix>` exports, with C linkage, one table of all that it is and does:
 *
 *   const inarch_library *<prefix>_library(void);
 *
 * and for programs that have one model and know it:
 *
 *   int32_t <prefix>_bind(const void *weights, int64_t nbytes, const inarch_import *imports,
 *                         int32_t count);
 *       Once, before any call of what follows: the weights (`nbytes` of them, 64-byte aligned, kept by the caller
 *       for as long as the library is used; NULL and 0 where the library has them, or needs none), and the
 *       functions that the library imports, in the table's order, which are copied. Fails where the CPU
 *       lacks what the code was compiled for (x86-64), before any instruction that it lacks. Not to be called
 *       at the same time as anything else of the library. An artifact that was opened by its path need not be
 *       bound: then the first call looks for the weights in that file.
 *   int32_t <prefix>_<function>(DLTensor *args, int32_t n);
 *       `library->run` of the state that was bound.
 *   int32_t <prefix>_<function>_run(void *const *buffers, const void *weights, void *workspace);
 *       The same without checks (`inarch_entry`).
 *   int32_t <prefix>_set_threads(int32_t threads);
 *       By at most how many threads calls from this thread are run from now on; 0, as it is at first: by
 *       INARCH_NUM_THREADS, or else one for each processor that the process may use (affinity, and quota
 *       of the control group). More than four for a processor are four. Results do not depend on it.
 *   const inarch_pool *<prefix>_pool(const inarch_pool *use);
 *       `use`, if not NULL, runs the library's loops from now on, of states that have no pool of their own: that of
 *       another library, so that a process has one pool, or an application's own. It must outlive the library's
 *       use. Returns the library's own pool, NULL where it has no loop that threads share. Not to be called at
 *       the same time as anything else of the library.
 *   void <prefix>_explain(int32_t slot, const inarch_import *import, const char *(*last_error)(void));
 *       Of libraries with imports: where a call of the function `import->call` in that slot of the table fails,
 *       `last_error` is asked why, in the same thread, and the library's message says so. Not to be called at the same
 *       time as anything else of the library.
 *   int32_t <prefix>_abi_version(void);             INARCH_ABI_VERSION, before all else is looked at
 *   const char *<prefix>_weights_sha256(void);      as in the table
 *   const char *<prefix>_last_error(void);          as in the table
 *
 * Functions compute in the default floating-point environment (rounding to nearest, subnormal numbers, no traps), whatever
 * the thread's is, on x86-64 and aarch64; the thread's is there again afterwards.
 *
 * Functions return INARCH_OK or another code below; an import's code is passed on.
 *
 * Versions. Within a version, structs grow at their ends only. Those that a library gives say their size, and the
 * size of what their arrays hold: step by that. Those that a library is given say `sizeof` in their first field;
 * what is behind is zeros. A longer one is taken where the rest is zeros, and refused where it is not.
 *
 * A library that is closed frees what it holds; until then every thread must have left it. The header is C11 and C++11,
 * and needs nothing else. inarch_runtime.h opens artifacts, which are such libraries with their weights, by their path.
 */
#ifndef INARCH_H
#define INARCH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define INARCH_ABI_VERSION 3

/* The values of DLDevice.device_type and DLDataType.code that are used here. */
#define INARCH_BY_VALUE 0 /* no device: the bytes of `data` itself are the element; of inputs of rank 0 */
#define INARCH_CPU 1
#define INARCH_INT 0
#define INARCH_UINT 1
#define INARCH_FLOAT 2
#define INARCH_BOOL 6

/* Element types: DLPack's code * 256 + bits. */
#define INARCH_F32 0x220
#define INARCH_F64 0x240
#define INARCH_I8 0x008
#define INARCH_I16 0x010
#define INARCH_I32 0x020
#define INARCH_I64 0x040
#define INARCH_UI8 0x108
#define INARCH_UI16 0x110
#define INARCH_UI32 0x120
#define INARCH_UI64 0x140
#define INARCH_I1 0x608 /* a bool: a byte of 0 or 1 */
#define INARCH_F16 0x210 /* only stored, as those that follow */
#define INARCH_BF16 0x410
#define INARCH_F8E4M3FN 0xa08
#define INARCH_F8E4M3FNUZ 0xb08
#define INARCH_F8E5M2 0xc08
#define INARCH_F8E5M2FNUZ 0xd08

/* What functions return. */
#define INARCH_OK 0
#define INARCH_ARGUMENT 1 /* an argument does not fit */
#define INARCH_UNBOUND 2 /* weights, imports or buffers are not bound */
#define INARCH_NO_MEMORY 3
#define INARCH_UNWRITTEN 4 /* an import left an output unwritten */
#define INARCH_CPU_LACKS 5 /* the machine lacks what the code was compiled for */
#define INARCH_THREADS 6 /* no number of threads */
#define INARCH_FILE 7 /* a file that is damaged, or no artifact of this format */
#define INARCH_UNREADABLE 8 /* a file that cannot be read or opened */
#define INARCH_UNSUPPORTED 9 /* what is asked for is not there: in C, or in this version */
#define INARCH_NAME 10 /* no function, input or output of that name */
#define INARCH_IN_USE 11 /* too much that calls still use */

/* inarch_port.effects */
#define INARCH_READS 1
#define INARCH_WRITES 2

/* A size that only a call says (inarch_port), or an amount that is not known. */
#define INARCH_UNKNOWN (-1)

/* inarch_call.flags */
#define INARCH_ALLOCATE 1 /* outputs whose `data` is NULL are allocated */
#define INARCH_TRUSTED 2 /* the caller has checked the arguments */

/* inarch_request.use */
#define INARCH_FOR_STATE 0
#define INARCH_FOR_WORKSPACE 1
#define INARCH_FOR_OUTPUT 2

#ifdef __cplusplus
extern "C" {
#endif

/* [structs: the part that the Python runtime reads as well]
 * DLTensor as dlpack.h has it since version 0.2; not defined twice when that header came first. */
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

/* What functions are */

typedef struct {
  const char *name; /* UTF-8, as the model has it; U+FFFD for characters of 0 */
  int32_t dtype;    /* INARCH_F32 ... */
  int32_t rank;
  const int64_t *shape; /* row-major; `rank` sizes; INARCH_UNKNOWN: a call says it */
  int64_t bytes;        /* INARCH_UNKNOWN where a size is */
  int32_t effects;      /* INARCH_READS, INARCH_WRITES */
  int32_t device_type;  /* where it is */
} inarch_port;

typedef struct {
  const char *name;
  int32_t inputs;
  int32_t outputs;
  const inarch_port *ports; /* inputs, then outputs */
  int64_t workspace_bytes;  /* INARCH_UNKNOWN: depends on shapes */
} inarch_function;

/* What code runs with */

/* A function that a library imports: `call(self, args, n)` with its inputs, then its outputs. */
typedef struct {
  int32_t (*call)(void *self, DLTensor *args, int32_t n);
  void *self;
} inarch_import;

/* Who runs loops by several threads. `run` splits [0, count) into parts, calls `task(context, begin, end, part)`
 * once for each, in whatever threads (at most `threads`; 0: as many as it has), and returns when all are done.
 * It must be callable from several threads at once, and from within a task. */
typedef void (*inarch_task)(void *context, int64_t begin, int64_t end, int32_t part);

typedef struct {
  void (*run)(void *self, int32_t threads, int64_t count, inarch_task task, void *context);
  void *self;
} inarch_pool;

typedef struct {
  uint32_t size;
  int32_t use;       /* INARCH_FOR_WORKSPACE ... */
  int64_t bytes;     /* more than 0 */
  int64_t alignment; /* a power of 2 */
  DLDevice device;
} inarch_request;

/* Memory. `allocate` returns NULL where there is none; `release` gets the request that the memory came by. Both may be
 * called from any thread that calls, or frees, a state. */
typedef struct {
  void *(*allocate)(void *self, const inarch_request *request);
  void (*release)(void *self, void *memory, const inarch_request *request);
  void *self;
} inarch_allocator;

/* Who runs calls later. `submit` has `task(context)` run once, in any thread, and returns 0; or another number, and does
 * not. */
typedef struct {
  int32_t (*submit)(void *self, void (*task)(void *context), void *context);
  void *self;
} inarch_executor;

/* `bytes` of weights at a multiple of 64, laid out as the library was compiled. `released(self)`, if not NULL, is called
 * once, by whichever thread is the last one that has used them. */
typedef struct {
  const void *data;
  int64_t bytes;
  void (*released)(void *self);
  void *self;
} inarch_weights;

/* What a state is made of; zeros are the defaults. All is copied but what pointers in it point to. */
typedef struct {
  uint32_t size;
  int32_t import_count;
  const inarch_import *imports; /* in the table's order */
  inarch_weights weights;       /* NULL: those that are in the library, if it has any */
  const inarch_pool *pool;      /* outlives the state; NULL: what `<prefix>_pool` said */
  inarch_allocator allocator;   /* of workspaces and outputs; `allocate` NULL: libc's */
  inarch_executor executor;     /* of calls with `done`; `submit` NULL: the thread that calls */
} inarch_setup;

/* How a call is run; zeros, or NULL for all of it, are the defaults. */
typedef struct {
  uint32_t size;
  int32_t flags;   /* INARCH_ALLOCATE, INARCH_TRUSTED */
  int32_t threads; /* at most; 0: what `<prefix>_set_threads` said */
  int32_t reserved;
  void *workspace; /* this call's own, at a multiple of 64; NULL: the state has one */
  int64_t workspace_bytes;
  const int64_t *bytes; /* how much memory there is from each `data` on; NULL: enough. n numbers */
  /* If not NULL, called once when the outputs are written, or something failed, of a call that `run` has accepted: in
   * any thread, perhaps before `run` returns. `last_error` is then of that call. */
  void (*done)(void *self, int32_t status);
  void *done_self;
} inarch_call;

/* Weights, imports, memory and threads of calls: any number of them for a library, and of calls of one at once. */
typedef struct inarch_state inarch_state;

/* The function without checks, of buffers in the ports' order; `workspace` is 64-byte aligned and this call's own. */
typedef int32_t (*inarch_entry)(void *const *buffers, const void *weights, void *workspace);

typedef struct inarch_library inarch_library;
struct inarch_library {
  uint32_t size;
  int32_t abi;      /* INARCH_ABI_VERSION */
  const char *name; /* the prefix */
  const char *target;
  const char *features;       /* that the CPU must have, as `avx2 fma` */
  const char *weights_sha256; /* of those that it was compiled with, in hexadecimal digits */
  int64_t weights_bytes;
  int32_t device_type; /* whose code it is: INARCH_CPU */
  int32_t function_count;
  int32_t import_count;
  int32_t function_size; /* sizeof(inarch_function), by which the array steps */
  int32_t port_size;
  int32_t reserved;
  const inarch_function *functions;
  const inarch_entry *entries; /* of the functions */
  const char *const *imports;  /* names of what a state is to be given */
  const inarch_pool *pool;     /* its own; NULL: no loop is shared */

  /* Whether the machine has the features: INARCH_OK, or INARCH_CPU_LACKS and a message. This and `last_error` run on any
   * CPU of the architecture, and `state_new` begins with it. */
  int32_t (*check)(void);
  /* Why the last call of this thread that did not return 0 failed: one line. */
  const char *(*last_error)(void);
  int32_t (*state_new)(const inarch_library *library, const inarch_setup *setup, inarch_state **state);
  /* No call of it runs any more. NULL: nothing. */
  void (*state_free)(inarch_state *state);
  /* Calls that begin from now on use these; those that run go on with what they have. At any time, from any thread. */
  int32_t (*set_weights)(inarch_state *state, const inarch_weights *weights);
  /* Later calls are queued on the `stream` of the device. Host code has none: INARCH_CPU, 0 and NULL. */
  int32_t (*set_stream)(inarch_state *state, int32_t device_type, int32_t device_id, void *stream);
  /* What outputs are, of inputs of these dtypes and shapes (data is not looked at). Of each output dtype, device, ndim,
   * strides (NULL) and the shape are filled in: into `ndim` places at `shape`, or that becomes the library's
   * own, not to be written. A size that depends on data is INARCH_UNKNOWN. */
  int32_t (*shapes)(const inarch_library *library, int32_t function, DLTensor *args, int32_t n);
  /* Inputs, then outputs. Checks count, dtype, shape, strides (NULL is row-major), element alignment, that bools that
   * are read are 0 or 1, that outputs overlap nothing, and `call`. With INARCH_ALLOCATE, what an output without
   * data is, is filled in as by `shapes`, and its data is the caller's to give back to the allocator, or to `release`, unless
   * `run` returns an error. */
  int32_t (*run)(inarch_state *state, int32_t function, DLTensor *args, int32_t n, const inarch_call *call);
  /* Gives back the data of an output that `run` has allocated. NULL: nothing. */
  void (*release)(inarch_state *state, void *data, int64_t bytes);
};
/* [end of structs] */

#ifdef __cplusplus
}
#endif

#endif /* INARCH_H */

#ifndef INARCH_SCALARS
#define INARCH_SCALARS

/* An input of rank 0 that needs no memory: the value is in the tensor. */
static inline DLTensor inarch_scalar(int32_t dtype, const void *value) {
  DLTensor tensor;
  memset(&tensor, 0, sizeof(tensor)); /* INARCH_BY_VALUE, rank 0 */
  tensor.dtype.code = (uint8_t)(dtype >> 8);
  tensor.dtype.bits = (uint8_t)(dtype & 0xff);
  tensor.dtype.lanes = 1;
  memcpy(&tensor.data, value, (size_t)(dtype & 0xff) / 8);
  return tensor;
}

static inline DLTensor inarch_scalar_f32(float value) {
  return inarch_scalar(INARCH_F32, &value);
}

static inline DLTensor inarch_scalar_f64(double value) {
  return inarch_scalar(INARCH_F64, &value);
}

static inline DLTensor inarch_scalar_i32(int32_t value) {
  return inarch_scalar(INARCH_I32, &value);
}

static inline DLTensor inarch_scalar_i64(int64_t value) {
  return inarch_scalar(INARCH_I64, &value);
}

#endif /* INARCH_SCALARS */
