/* The one FFI handler of Inarch in XLA: calls the compiled function whose number is in the attribute `id`.
 *
 * Operands are the function's inputs, then the old values of the outputs that it updates (bits of the attribute
 * `updates`), each of which XLA has given the memory of that result where it could. Compiled against the header of
 * the jaxlib that is there, so that the version of the interface is the one that it speaks. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "called.h"
#include "xla/ffi/api/c_api.h"

#define BUCKETS 1024
#define MOST 256 /* operands and results; a call of more is refused where it is made */

typedef struct entry {
  struct entry *next;
  int64_t id;
  inarch_called f;
} entry;

/* Only added to, and read from any thread. */
static _Atomic(entry *) buckets[BUCKETS];

static const entry *find(int64_t id) {
  const entry *one = atomic_load_explicit(&buckets[(uint64_t)id % BUCKETS], memory_order_acquire);
  while (one != NULL && one->id != id) one = one->next;
  return one;
}

/* Puts a function under a number. Not from several threads at once. */
INARCH_BRIDGE int32_t inarch_jax_put(int64_t id, const inarch_called *f) {
  if (find(id) != NULL) return 0;
  entry *made = malloc(sizeof *made);
  if (made == NULL) return 1;
  _Atomic(entry *) *bucket = &buckets[(uint64_t)id % BUCKETS];
  *made = (entry){atomic_load(bucket), id, *f};
  atomic_store_explicit(bucket, made, memory_order_release);
  return 0;
}

static XLA_FFI_Error *fail(XLA_FFI_CallFrame *frame, XLA_FFI_Error_Code code, const char *message) {
  XLA_FFI_Error_Create_Args args = {XLA_FFI_Error_Create_Args_STRUCT_SIZE, NULL, message, code};
  return frame->api->XLA_FFI_Error_Create(&args);
}

static int describe(const XLA_FFI_Buffer *buffer, DLTensor *t) {
  static const struct {
    uint8_t code, bits;
  } kinds[] = {
      [XLA_FFI_DataType_PRED] = {6, 8}, [XLA_FFI_DataType_S8] = {0, 8},   [XLA_FFI_DataType_S16] = {0, 16},
      [XLA_FFI_DataType_S32] = {0, 32}, [XLA_FFI_DataType_S64] = {0, 64}, [XLA_FFI_DataType_U8] = {1, 8},
      [XLA_FFI_DataType_U16] = {1, 16}, [XLA_FFI_DataType_U32] = {1, 32}, [XLA_FFI_DataType_U64] = {1, 64},
      [XLA_FFI_DataType_F32] = {2, 32}, [XLA_FFI_DataType_F64] = {2, 64},
  };
  uint32_t kind = (uint32_t)buffer->dtype;
  if (kind >= sizeof kinds / sizeof *kinds || kinds[kind].bits == 0) return -1;
  *t = (DLTensor){buffer->data, {1, 0}, (int32_t)buffer->rank, {kinds[kind].code, kinds[kind].bits, 1},
                buffer->dims, NULL, 0};
  return 0;
}

static size_t bytes(const DLTensor *t) {
  size_t found = t->dtype.bits / 8;
  for (int32_t i = 0; i < t->ndim; ++i) found *= (size_t)t->shape[i];
  return found;
}

static int64_t number(const XLA_FFI_CallFrame *frame, const char *name) {
  for (int64_t i = 0; i < frame->attrs.size; ++i) {
    const XLA_FFI_ByteSpan *at = frame->attrs.names[i];
    if (at->len == strlen(name) && memcmp(at->ptr, name, at->len) == 0 &&
        frame->attrs.types[i] == XLA_FFI_AttrType_SCALAR)
      return *(const int64_t *)((const XLA_FFI_Scalar *)frame->attrs.attrs[i])->value;
  }
  return 0;
}

INARCH_BRIDGE XLA_FFI_Error *inarch_jax_call(XLA_FFI_CallFrame *frame) {
  for (XLA_FFI_Extension_Base *e = frame->extension_start; e != NULL; e = e->next)
    if (e->type == XLA_FFI_Extension_Metadata) { /* XLA asks at registration what this speaks */
      XLA_FFI_Metadata *metadata = ((XLA_FFI_Metadata_Extension *)e)->metadata;
      metadata->api_version.major_version = XLA_FFI_API_MAJOR;
      metadata->api_version.minor_version = XLA_FFI_API_MINOR;
      metadata->traits = 0;
      return NULL;
    }
  const entry *found = find(number(frame, "id"));
  if (found == NULL)
    return fail(frame, XLA_FFI_Error_Code_NOT_FOUND,
                "inarch: expected the compiled function of this program in the process, found none; call "
                "to_jax_func on its module first");
  const int64_t updates = number(frame, "updates");
  const int64_t operands = frame->args.size, results = frame->rets.size;
  DLTensor t[MOST];
  int64_t updated = 0;
  for (int64_t i = 0; i < results; ++i) updated += updates >> i & 1;
  const int64_t inputs = operands - updated;
  if (operands + results > MOST || inputs < 0)
    return fail(frame, XLA_FFI_Error_Code_INTERNAL, "inarch: the operands are not those of the function");
  for (int64_t i = 0; i < operands + results; ++i) {
    const void *buffer = i < operands ? frame->args.args[i] : frame->rets.rets[i - operands];
    if (describe(buffer, &t[i]))
      return fail(frame, XLA_FFI_Error_Code_INVALID_ARGUMENT, "inarch: an element type that Inarch has not");
  }
  for (int64_t i = 0, old = inputs; i < results; ++i) {
    if (!(updates >> i & 1)) continue;
    const DLTensor *from = &t[old++], *to = &t[operands + i];
    if (from->data != to->data) memcpy(to->data, from->data, bytes(to));
  }
  memmove(&t[inputs], &t[operands], (size_t)results * sizeof *t);
  char message[1100];
  const int32_t count = (int32_t)(inputs + results);
  if (inarch_called_run(&found->f, t, count, "inarch: ", message, sizeof message) == INARCH_OK) return NULL;
  return fail(frame, XLA_FFI_Error_Code_INVALID_ARGUMENT, message);
}
