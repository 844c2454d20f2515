/* Compiled functions as jobs of MXNet's engine, through its C API; linked with neither side.
 *
 * inarch_mx_call returns when the job is queued. The engine runs it in one of its threads when what it reads has been
 * written, and what it writes is no longer read. A job that fails throws, as the engine's own do: it keeps the
 * exception with what the job writes, and raises it where that is waited for. */
#include <stdlib.h>
#include <string.h>

#include "called.h"

typedef struct managed {
  DLTensor t;
  void *context;
  void (*deleter)(struct managed *);
} managed;

/* MXNet's C API (mxnet/c_api.h), and libstdc++'s function that throws std::runtime_error. */
static struct {
  int (*push)(void (*)(void *, void *), void *, void (*)(void *), const void *, void **, int, void **, int,
              const void *, int, const char *);
  int (*copy)(void *, void **);
  int (*release)(void *);
  int (*to_dlpack)(void *, managed **);
  int (*bulk)(int, int *);
  const char *(*last_error)(void);
  void (*raise)(const char *);
} mx;

INARCH_BRIDGE void inarch_mx_init(void *push, void *copy, void *release, void *to_dlpack, void *bulk, void *last_error,
                        void *raise) {
  *(void **)&mx.push = push;
  *(void **)&mx.copy = copy;
  *(void **)&mx.release = release;
  *(void **)&mx.to_dlpack = to_dlpack;
  *(void **)&mx.bulk = bulk;
  *(void **)&mx.last_error = last_error;
  *(void **)&mx.raise = raise;
}

typedef struct {
  void *array;    /* an NDArrayHandle; NULL: a number */
  uint64_t bytes; /* of the number, in its dtype */
  uint8_t code, bits;
  uint8_t writes; /* whether the job waits for all that use the array, and all that come wait for it */
} argument;

typedef struct {
  const inarch_called *f;
  int32_t n;
  argument a[];
} job;

static void job_free(void *given) {
  job *j = given;
  for (int32_t i = 0; i < j->n; ++i)
    if (j->a[i].array != NULL) mx.release(j->a[i].array);
  free(j);
}

static int run(job *j, DLTensor *t, managed **m, char *message, size_t most) {
  int32_t done = 0;
  int status = 0;
  for (; done < j->n; ++done) {
    argument *a = &j->a[done];
    m[done] = NULL;
    if (a->array == NULL) {
      t[done] = (DLTensor){&a->bytes, {1, 0}, 0, {a->code, a->bits, 1}, NULL, NULL, 0};
      continue;
    }
    /* Not before: memory is allocated late, and its layout is what the job before left. */
    if (mx.to_dlpack(a->array, &m[done])) {
      snprintf(message, most, "inarch: %s: argument %d does not give its memory, in a layout of MKL-DNN perhaps "
               "(use x.copy()): %.200s", j->f->name, (int)done, mx.last_error());
      status = -1;
      break;
    }
    t[done] = m[done]->t;
  }
  if (status == 0) status = inarch_called_run(j->f, t, j->n, "inarch: ", message, most);
  for (int32_t i = 0; i < done; ++i)
    if (m[i] != NULL && m[i]->deleter != NULL) m[i]->deleter(m[i]);
  return status;
}

static void job_run(void *context, void *given) {
  (void)context;
  job *j = given;
  char message[1200] = "";
  DLTensor *t = malloc((size_t)j->n * (sizeof(DLTensor) + sizeof(managed *)));
  if (t == NULL) mx.raise("inarch: not enough memory");
  const int status = run(j, t, (managed **)(t + j->n), message, sizeof message);
  free(t);
  if (status) mx.raise(message); /* nothing of ours is left to free; the engine frees the job */
}

/* Queues a call, on the CPU. 0, or the engine's error (MXGetLastError). */
INARCH_BRIDGE int32_t inarch_mx_call(const inarch_called *f, const argument *a, int32_t n) {
  job *j = malloc(sizeof *j + (size_t)n * sizeof *a);
  void **arrays = malloc(2 * (size_t)n * sizeof *arrays);
  if (j == NULL || arrays == NULL) {
    free(j);
    free(arrays);
    return -2;
  }
  j->f = f;
  j->n = 0;
  void **reads = arrays, **writes = arrays + n;
  int nreads = 0, nwrites = 0, before = 0;
  for (int32_t i = 0; i < n; ++i) {
    j->a[i] = a[i];
    /* A handle of its own: those of the caller may go at once. */
    if (a[i].array != NULL && mx.copy(a[i].array, &j->a[i].array)) {
      job_free(j);
      free(arrays);
      return -1;
    }
    j->n = i + 1;
    if (a[i].array == NULL) continue;
    if (a[i].writes) writes[nwrites++] = j->a[i].array;
    else reads[nreads++] = j->a[i].array;
  }
  const int32_t device[2] = {1, 0}; /* the CPU */
  /* Within a bulk the engine drops what is named twice; pushed alone, a job that reads and writes one array (or
   * two views of one) would wait for itself for ever. */
  mx.bulk(2, &before);
  const int status = mx.push(job_run, j, job_free, device, reads, nreads, writes, nwrites, NULL, 0, f->name);
  mx.bulk(before, &before);
  free(arrays);
  return status;
}
