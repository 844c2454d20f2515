/* What the C of every bridge calls: a compiled function, by the addresses that Python has of it (`shim.py`).
 *
 * DLTensor is inarch.h's, with the layout of DLPack's, which frameworks give. */
#ifndef INARCH_CALLED_H
#define INARCH_CALLED_H

#include <stdio.h>

#include "inarch.h"

#define INARCH_BRIDGE __attribute__((visibility("default")))

/* It lives for the rest of the process: a framework does not say when it is done with it. */
typedef struct {
  int32_t (*call)(DLTensor *args, int32_t n);
  const char *(*last_error)(void);
  int32_t (*set_threads)(int32_t threads); /* NULL where it has no loop that threads share */
  const char *name;                        /* in messages */
  int32_t threads;                         /* that run a call, at most; 0: as many as there should be */
} inarch_called;

/* Calls it in this thread, which is the framework's. Where that fails, why it does is in `message`, behind `before`. */
static inline int32_t inarch_called_run(const inarch_called *f, DLTensor *args, int32_t n, const char *before,
                                  char *message, size_t most) {
  if (f->set_threads != NULL) f->set_threads(f->threads);
  const int32_t status = f->call(args, n);
  if (status != INARCH_OK) snprintf(message, most, "%s%s", before, f->last_error());
  return status;
}

#endif
