/* libinarch: opens artifacts (`inarch compile model.onnx -o model.inarch`) and runs them; C11 and libc.
 *
 *   inarch_module *module;
 *   inarch_instance *instance;
 *   if (inarch_open("model.inarch", NULL, &module) != INARCH_OK
 *       || inarch_instance_new(module, "main", NULL, 0, &instance) != INARCH_OK
 *       || inarch_bind_input(instance, "x", x, sizeof(x)) != INARCH_OK
 *       || inarch_bind_output(instance, "y", y, sizeof(y)) != INARCH_OK
 *       || inarch_run(instance) != INARCH_OK) {
 *     fprintf(stderr, "%s\n", inarch_last_error());
 *   }
 *
 * Functions that return int32_t return INARCH_OK or another INARCH_ code of inarch.h; what they say of it is
 * `inarch_last_error()`; a null pointer where there has to be something is such an error, too. An artifact is machine
 * code: open only what you trust as you would a program.
 *
 * Lifetimes. A file that is opened again while it is open is the same code and the same mapped weights; each
 * `inarch_open` is paid back by one `inarch_close`, each `inarch_instance_new` by one `inarch_instance_free`,
 * in any order: the file is unmapped when the last of them is gone. No descriptor stays open.
 *
 * Threads. Everything may be called at the same time from any thread, except that an instance is one thread's
 * at a time: its buffers and its workspace are. Many instances of one module run at once. A fork waits until no
 * other thread opens or closes a module; the child goes on with those that are open.
 */
#ifndef INARCH_RUNTIME_H
#define INARCH_RUNTIME_H

#include <stddef.h>

#include "inarch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The formats of artifacts that this reads. */
#define INARCH_FORMAT_VERSION 3

/* `f32` of INARCH_F32; NULL of what is no element type. */
const char *inarch_dtype_name(int32_t dtype);

/* Writes `f32[1, 3, 224, 224]`, cut to `size` bytes with its 0. */
void inarch_port_type(const inarch_port *port, char *text, size_t size);

typedef struct inarch_module inarch_module;
typedef struct inarch_instance inarch_instance;

/* By default opening compares the CRC-32 of the file, which finds accidents. */
#define INARCH_UNCHECKED 1 /* it does not */
#define INARCH_VERIFY 2 /* it also compares the SHA-256 of code and weights with what the file says of them \
                         */
#define INARCH_PRIVATE 4 /* the module is shared with nobody, and its weights may change */

typedef struct {
  const char *name;
  inarch_import function;
} inarch_named_import;

/* Begin with INARCH_OPTIONS: `inarch_options options = INARCH_OPTIONS;`, which is the size, and zeros: the defaults, as
 * NULL for all of it. With imports, a pool, an allocator or loaders of its own, a module is private. */
typedef struct {
  uint32_t size;
  int32_t flags;
  int32_t import_count;
  int32_t reserved;
  const inarch_named_import *imports; /* what the program imports, by name; copied */
  const inarch_pool *pool; /* runs the loops, and outlives the module; NULL: threads of the library */
  const inarch_allocator *allocator; /* of workspaces and what calls allocate; copied; NULL: libc's */
  /* Paths of libraries (inarch_loader.h) that run parts in formats of backends, asked before those that are found
   * by their names; NULL ends them. NULL: none. */
  const char *const *loaders;
} inarch_options;

#define INARCH_OPTIONS {sizeof(inarch_options), 0, 0, 0, NULL, NULL, NULL, NULL}

int32_t inarch_open(const char *path, const inarch_options *options, inarch_module **module);
void inarch_close(inarch_module *module); /* NULL: nothing */

const char *inarch_module_name(const inarch_module *module);
/* What its code was compiled for. Of a file with several variants the first that this CPU can run was taken,
 * or the one that the environment variable INARCH_TARGET names when it is opened. */
const char *inarch_module_target(const inarch_module *module);
int32_t inarch_function_count(const inarch_module *module);
/* NULL, and a message, for one that there is not. They live as long as the module. */
const inarch_function *inarch_function_at(const inarch_module *module, int32_t index);
const inarch_function *inarch_function_named(const inarch_module *module, const char *name);
/* Of an artifact for several sizes (`inarch compile --specialize`), where `main__2`, `main__3` ... are `main` of other
 * sizes: the first one of `name` whose first `count` inputs are of these dtypes and shapes; data is not looked at. NULL, and
 * a message with those there are, where there is none. */
const inarch_function *inarch_function_fitting(const inarch_module *module, const char *name,
                                               const DLTensor *inputs, int32_t count);

/* The code's own table (inarch.h), for what is not here: shapes, states, calls that are done later. Lives as long as
 * the module; a state of one's own must be gone before it. */
const inarch_library *inarch_module_library(const inarch_module *module);
/* Runs that begin from now on, of instances without weights of their own, use these; NULL: those of the file. Of a
 * private module only; at any time, from any thread. They are laid out as those of the file are: of the same model, compiled
 * with the same options, trained further. */
int32_t inarch_set_weights(inarch_module *module, const inarch_weights *weights);
/* The weights in the file, and how many bytes: for `inarch_set_weights` of another module of the same code. */
const void *inarch_module_weights(const inarch_module *module, int64_t *bytes);

/* One caller's use of the function of that name. `workspace`: at least its `workspace_bytes` at a multiple of
 * 64, which outlive the instance; NULL: the instance allocates them. */
int32_t inarch_instance_new(inarch_module *module, const char *function, void *workspace,
                            size_t workspace_bytes, inarch_instance **instance);
void inarch_instance_free(inarch_instance *instance); /* NULL: nothing */

/* The memory that runs read and write from now on: at least the port's bytes, at a multiple of the element's
 * size. NULL only for a port without elements. Memory of one size may be bound again, at no cost, before each
 * run. */
int32_t inarch_bind_input(inarch_instance *instance, const char *name, const void *data, size_t bytes);
int32_t inarch_bind_output(inarch_instance *instance, const char *name, void *data, size_t bytes);
/* By at most how many threads runs share their loops; 0, as at first: by INARCH_NUM_THREADS, or one for each
 * processor. */
int32_t inarch_set_threads(inarch_instance *instance, int32_t threads);

/* Later runs of this instance use these; NULL: the module's again. */
int32_t inarch_instance_set_weights(inarch_instance *instance, const inarch_weights *weights);
/* Later runs are queued on the `stream` of the device. Host code has none: INARCH_CPU, 0 and NULL. */
int32_t inarch_set_stream(inarch_instance *instance, int32_t device_type, int32_t device_id, void *stream);

/* Outputs overlap nothing, and bools that are read are 0 or 1: checked at each run. That a function of the options'
 * `imports` writes its outputs is looked at in its first call. */
int32_t inarch_run(const inarch_instance *instance);

/* Why the last function of this thread that failed did: `model.inarch: error: expected ..., found ...`, one
 * line. */
const char *inarch_last_error(void);

#ifdef __cplusplus
}
#endif

#endif /* INARCH_RUNTIME_H */
