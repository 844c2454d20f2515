/* Loaders: shared libraries that run what a backend emitted in a format of its own.
 *
 * A program's parts are bytes of some format, each with functions that the program calls. A loader of that format is a
 * shared library with one C function:
 *
 *   const inarch_loader *inarch_loader_table(void);
 *
 * Who runs the program opens the library, `load`s the bytes, `bind`s the functions that the program calls, and has
 * the program call them: `execute`, from C, with nothing in between. docs/backends.md has a whole loader.
 *
 * Where a library is found: by the path that is asked for, as inarch-loader-FORMAT.so beside the program's file, and by that
 * name in the folders of INARCH_LIBRARY_PATH.
 *
 * Threads. `load`, `list`, `bind` and `destroy` of a state are called by one thread at a time, those of different states at
 * once. `execute` is called by any number of threads at once, also with one function: what changes in a call is that
 * call's own. `last_error` is of the thread that calls it.
 *
 * Versions. Within a version the structs grow at their ends only, and say their size: a reader looks at no field that is
 * behind it, and takes zeros for those. Fields for memory of devices and for queues will come so; until then all memory is the
 * host's.
 */
#ifndef INARCH_LOADER_H
#define INARCH_LOADER_H

#include "inarch.h"

#define INARCH_LOADER_VERSION 1

#ifdef __cplusplus
extern "C" {
#endif

/* [structs: the part that the Python runtime reads as well] */
/* An array that a part brings along, in the program's file, which is mapped: it is at a multiple of 64 bytes, and of 4096 if
 * it has as many. Arrays with the same bytes may be one. */
typedef struct {
  const char *name;
  const void *data;
  int64_t bytes;
} inarch_blob;

/* What a state is loaded with. */
typedef struct {
  uint32_t size; /* of this struct */
  int32_t reserved;
  const char *format; /* of the bytes, one of the loader's */
  const char *where;  /* what messages call them: model.inarch[1]; gone after `load` */
  /* Of what the loader allocates, as long as the state lives; `allocate` NULL: libc's. */
  inarch_allocator allocator;
  /* Of what made the bytes, and the device that they are for, as the backend counts and calls them; "": it does not say. */
  const char *version;
  const char *machine;
  /* The instance of the backend ("" where that is not known), and all of its options as text, a name and then its value:
   * `options[2 * i]`, `options[2 * i + 1]`. They stay until `destroy`. */
  const char *instance;
  const char *const *options;
  int32_t option_count;
  int32_t reserved2;
} inarch_load_options;

typedef struct {
  uint32_t size;   /* of this struct */
  int32_t version; /* INARCH_LOADER_VERSION */
  const char *name; /* for messages */
  const char *const *formats; /* that it reads; NULL ends them */
  int32_t function_size; /* sizeof(inarch_function), sizeof(inarch_port), by which the arrays of `list` step */
  int32_t port_size;
  int32_t device_type; /* whose memory `execute` is given: INARCH_CPU */
  int32_t reserved;

  /* These return INARCH_OK, or another code and leave nothing behind; `last_error` then says why. */

  /* Reads `size` bytes, which stay as they are until `destroy`. */
  int32_t (*load)(const void *bytes, int64_t size, const inarch_load_options *options, void **state);
  /* The functions in it, which live as long as the state; their ports are row-major. */
  int32_t (*list)(void *state, const inarch_function **functions, int32_t *count);
  /* What `execute` is given to run the function of that number; lives as long as the state. */
  int32_t (*bind)(void *state, int32_t function, void **bound);
  /* Runs it: its inputs, which it only reads, then its outputs, as `list` has said; without overlaps. Not INARCH_OK: the
   * outputs hold nothing. */
  int32_t (*execute)(void *bound, DLTensor *args, int32_t n);
  /* Nothing of it is called any more. */
  void (*destroy)(void *state);
  /* Why the last call of this thread that did not return INARCH_OK failed: one line. */
  const char *(*last_error)(void);

  /* Where the table is long enough for these, they may be NULL. */

  /* Before `load`: whether it runs what `options->version` made for `options->machine`. Not INARCH_OK: `last_error` says
   * why not, and what to install or to compile again. */
  int32_t (*check)(const inarch_load_options *options);
  /* After `load`, before `list`: all weights of the part, which stay as they are until `destroy`. Who has none of this
   * function is given no part with weights. */
  int32_t (*bind_weights)(void *state, const inarch_blob *weights, int32_t count);
} inarch_loader;
/* [end of structs] */

#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const inarch_loader *inarch_loader_table(void);

#ifdef __cplusplus
}
#endif

#endif /* INARCH_LOADER_H */
