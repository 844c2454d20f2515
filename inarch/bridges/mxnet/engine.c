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
  int (*shape)(void *, int *, const int64_t **);
  int (*dtype)(void *, int *);
  int (*storage)(void *, int *);
  int (*device)(void *, int *, int *);
  int (*is_recording)(_Bool *);
  void (*raise)(const char *);
} mx;

INARCH_BRIDGE void inarch_mx_init(void *push, void *copy, void *release, void *to_dlpack, void *bulk, void *last_error,
                        void *shape, void *dtype, void *storage, void *device, void *is_recording, void *raise) {
  *(void **)&mx.push = push;
  *(void **)&mx.copy = copy;
  *(void **)&mx.release = release;
  *(void **)&mx.to_dlpack = to_dlpack;
  *(void **)&mx.bulk = bulk;
  *(void **)&mx.last_error = last_error;
  *(void **)&mx.shape = shape;
  *(void **)&mx.dtype = dtype;
  *(void **)&mx.storage = storage;
  *(void **)&mx.device = device;
  *(void **)&mx.is_recording = is_recording;
  *(void **)&mx.raise = raise;
}

/* As `function.py` makes them. */
typedef struct {
  const int64_t *shape;
  int32_t ndim;
  int32_t dtype; /* MXNet's number */
  uint8_t code, bits;
} port;

typedef struct {
  const inarch_called *f;
  const port *ports; /* of its arguments */
  int32_t n;
} target;

typedef struct {
  void *array;    /* an NDArrayHandle; NULL: a number */
  uint64_t bytes; /* of the number, in its dtype */
  uint8_t writes; /* whether the job waits for all that use the array, and all that come wait for it */
} argument;

enum { NONE_FITS = -1, RECORDS = -2 };
enum { GPU = 2, MOST_DIMS = 32 };

typedef struct {
  int64_t shape[MOST_DIMS];
  int32_t ndim, dtype;
} seen;

/* Whether an array is a dense one of host memory, and its type. */
static int look(void *array, seen *found) {
  const int64_t *shape = NULL; /* until the next question */
  int storage = -1, device = 0, id = 0;
  if (mx.storage(array, &storage) || storage != 0 || mx.device(array, &device, &id) || device == GPU
      || mx.dtype(array, &found->dtype) || mx.shape(array, &found->ndim, &shape) || found->ndim < 0
      || found->ndim > MOST_DIMS)
    return 0;
  memcpy(found->shape, shape, (size_t)found->ndim * sizeof *shape);
  return 1;
}

static int fits(const seen *found, const port *wanted) {
  return found->ndim == wanted->ndim && found->dtype == wanted->dtype
      && memcmp(found->shape, wanted->shape, (size_t)wanted->ndim * sizeof *wanted->shape) == 0;
}

/* The first of `targets` that takes these arguments, as far as arrays say; NONE_FITS; RECORDS: a gradient would be
 * lost, as the engine's jobs have none. */
INARCH_BRIDGE int32_t inarch_mx_fitting(const target *const *targets, int32_t count, const argument *a, int32_t n) {
  _Bool records = 0;
  if (mx.is_recording(&records) == 0 && records) return RECORDS;
  seen found[n];
  for (int32_t i = 0; i < n; ++i)
    if (a[i].array != NULL && !look(a[i].array, &found[i])) return NONE_FITS;
  for (int32_t t = 0; t < count; ++t) {
    int32_t i = 0;
    while (i < n && (a[i].array == NULL || fits(&found[i], &targets[t]->ports[i]))) ++i;
    if (i == n) return t;
  }
  return NONE_FITS;
}

typedef struct {
  const target *to;
  int32_t n; /* of arguments that are here */
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
      const port *p = &j->to->ports[done];
      t[done] = (DLTensor){&a->bytes, {1, 0}, 0, {p->code, p->bits, 1}, NULL, NULL, 0};
      continue;
    }
    /* Not before: memory is allocated late, and its layout is what the job before left. */
    if (mx.to_dlpack(a->array, &m[done])) {
      snprintf(message, most, "inarch: %s: argument %d does not give its memory, in a layout of MKL-DNN perhaps "
               "(use x.copy()): %.200s", j->to->f->name, (int)done, mx.last_error());
      status = -1;
      break;
    }
    t[done] = m[done]->t;
  }
  if (status == 0) status = inarch_called_run(j->to->f, t, j->n, "inarch: ", message, most);
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
INARCH_BRIDGE int32_t inarch_mx_call(const target *to, const argument *a) {
  const int32_t n = to->n;
  job *j = malloc(sizeof *j + (size_t)n * sizeof *a);
  void **arrays = malloc(2 * (size_t)n * sizeof *arrays);
  if (j == NULL || arrays == NULL) {
    free(j);
    free(arrays);
    return -2;
  }
  j->to = to;
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
  const int status = mx.push(job_run, j, job_free, device, reads, nreads, writes, nwrites, NULL, 0, to->f->name);
  mx.bulk(before, &before);
  free(arrays);
  return status;
}
