/* Arguments of calls: numbers, arrays of NumPy, of frameworks, of the buffer protocol, and the outputs that are made.
 *
 * What is read of a NumPy array is the struct that every extension of NumPy is compiled with; `use_arrays` compares
 * it with what an array says of itself. NULL stands for what does not fit, or is not known here: Python looks again. */
#define TYPE(o) ((PyTypeObject *)((Object *)(o))->ob_type)

typedef struct { int32_t device_type, device_id; } DLDevice;
typedef struct { uint8_t code, bits; uint16_t lanes; } DLDataType;
typedef struct {
  void *data; DLDevice device; int32_t ndim; DLDataType dtype; int64_t *shape, *strides; uint64_t byte_offset;
} DLTensor;

/* DLPack 1.2's DLPackExchangeAPI, as far as it is read: PyTorch's tensors have one. */
typedef struct {
  uint32_t major, minor;
  void *previous, *allocate, *managed_from_object, *managed_to_object;
  int (*tensor_from_object)(void *, DLTensor *);
} Exchange;

/* A NumPy array, as NumPy's headers have it in versions 1 and 2. */
typedef struct {
  Object head;
  char *data;
  int nd;
  Py_ssize_t *dimensions, *strides;
  Object *base, *descr;
  int flags;
} Array;
#define ROW_MAJOR 0x1
#define ALIGNED 0x100
#define WRITEABLE 0x400

typedef struct {
  Object *descr; /* the dtype that NumPy has once for all arrays of it */
  int64_t *shape;
  int64_t nbytes;
  int32_t ndim;
  DLDataType dtype;
  int32_t takes;
} Port;
/* What `takes` says, as compiled calls' Python has it (`bound.py`). */
enum { FLOATS = 1, INTS = 2, BOOLS = 4, ARRAYS = 8, READ = 16 };

static PyTypeObject *array_type;
static Object *name_grad, *bytes_type;
static int knows_arrays;

/* Of NumPy's table of functions for extensions: the same places in versions 1 and 2. */
typedef Object *(*new_array)(PyTypeObject *, Object *, int, const Py_ssize_t *, const Py_ssize_t *, void *, int, Object *);
static new_array array_of;
static int (*set_base)(Object *, Object *);

/* The exchange API of types, found once for each; in a process of many types the rest goes by Python. */
static struct { PyTypeObject *type; const Exchange *api; int has_grad; } known[16];
static int known_count;

static int exchange_of(PyTypeObject *type) {
  for (int i = 0; i < known_count; i++)
    if (known[i].type == type) return i;
  if (known_count == 16) return -1;
  const Exchange *api = NULL;
  Object *capsule = PyObject_GetAttrString((Object *)type, "__dlpack_c_exchange_api__");
  if (capsule != NULL) {
    api = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    if (api != NULL && (api->major != 1 || api->tensor_from_object == NULL)) api = NULL;
    Py_DecRef(capsule);
  }
  PyErr_Clear();
  Object *grad = PyObject_GetAttr((Object *)type, name_grad);
  PyErr_Clear();
  Py_IncRef((Object *)type);
  known[known_count].type = type;
  known[known_count].api = api;
  known[known_count].has_grad = grad != NULL;
  if (grad != NULL) Py_DecRef(grad);
  return known_count++;
}

static int fits_int(const Port *port, long long value) {
  if (port->dtype.code == 1) return value >= 0 && (port->dtype.bits == 64 || value >> port->dtype.bits == 0);
  return port->dtype.bits == 64 || (value >> (port->dtype.bits - 1) == 0 || value >> (port->dtype.bits - 1) == -1);
}

/* A number of Python's, as the port takes them, into `space`; 0: it is left to Python. */
static int from_number(const Port *port, Object *value, int64_t *space) {
  PyTypeObject *type = TYPE(value);
  uint8_t code = port->dtype.code, bits = port->dtype.bits;
  if (code == 6) {
    if (type != (PyTypeObject *)&PyBool_Type || !(port->takes & BOOLS)) return 0;
    *(uint8_t *)space = value == (Object *)Py_True;
    return 1;
  }
  if (code == 2) {
    double number;
    if (type == (PyTypeObject *)&PyFloat_Type && port->takes & FLOATS) number = PyFloat_AsDouble(value);
    else if (type == (PyTypeObject *)&PyLong_Type && port->takes & INTS) number = PyLong_AsDouble(value);
    else return 0;
    if (number == -1 && PyErr_Occurred()) { PyErr_Clear(); return 0; } /* an int beyond all floats */
    if (bits == 64) { memcpy(space, &number, 8); return 1; }
    if (bits != 32) return 0;
    float narrow = (float)number;
    if (narrow - narrow != 0 && number - number == 0) return 0; /* too large */
    memcpy(space, &narrow, 4);
    return 1;
  }
  if (!(port->takes & INTS)) return 0;
  if (type != (PyTypeObject *)&PyLong_Type) return 0;
  long long number = PyLong_AsLongLong(value);
  if (number == -1 && PyErr_Occurred()) { PyErr_Clear(); return 0; }
  if (!fits_int(port, number)) return 0;
  memcpy(space, &number, 8); /* little endian: see `use_arrays` */
  return 1;
}

static int same_shape(const Port *port, int ndim, const int64_t *shape) {
  int same = ndim == port->ndim;
  for (int i = 0; i < ndim && same; i++) same = shape[i] == port->shape[i];
  return same;
}

static int same_format(const char *format, const Port *port) {
  if (format == NULL) return port->dtype.code == 1 && port->dtype.bits == 8;
  if (*format == '@') format++;
  if (format[0] == 0 || format[1] != 0) return 0;
  const char *of = port->dtype.code == 0 ? "bhilq" : port->dtype.code == 1 ? "BHILQ" : port->dtype.code == 2 ? "fd" : "?";
  return strchr(of, *format) != NULL;
}

static inline char *of_numpy(const Port *port, const Array *array, int is_output) {
  int wanted = ROW_MAJOR | ALIGNED | (is_output ? WRITEABLE : 0);
  int fits = (array->flags & wanted) == wanted && array->descr == port->descr;
  return fits && same_shape(port, array->nd, (int64_t *)array->dimensions) ? array->data : NULL;
}

/* Memory of an argument of the port's type, row-major and aligned, or NULL. `buffer->obj` is to be released. */
static char *memory_of(const Port *port, Object *o, int is_output, int64_t *space, Py_buffer *buffer, Object **foreign) {
  PyTypeObject *type = TYPE(o);
  if (!(port->takes & ARRAYS)) return port->ndim == 0 && from_number(port, o, space) ? (char *)space : NULL;
  if (type == array_type && knows_arrays) return of_numpy(port, (const Array *)o, is_output);
  if (port->ndim == 0 && !is_output && from_number(port, o, space)) return (char *)space;
  int known_as = exchange_of(type);
  if (known_as < 0) return NULL;
  if (known[known_as].api != NULL) {
    DLTensor found;
    if (known[known_as].has_grad) { /* whose gradients would be dropped without a word */
      Object *grad = PyObject_GetAttr(o, name_grad);
      int drops = grad == NULL || grad == (Object *)Py_True;
      if (grad != NULL) Py_DecRef(grad);
      PyErr_Clear();
      if (drops) return NULL;
    }
    if (known[known_as].api->tensor_from_object(o, &found) != 0) { PyErr_Clear(); return NULL; }
    if (found.device.device_type != 1 || memcmp(&found.dtype, &port->dtype, sizeof found.dtype) != 0) return NULL;
    if (!same_shape(port, found.ndim, found.shape)) return NULL;
    int64_t step = 1;
    for (int i = found.ndim - 1; i >= 0 && found.strides != NULL; i--) {
      if (found.shape[i] != 1 && found.strides[i] != step) return NULL;
      step *= found.shape[i];
    }
    *foreign = *foreign == NULL ? o : *foreign;
    return (char *)found.data + found.byte_offset;
  }
  if (PyType_IsSubtype(type, array_type) || !PyObject_CheckBuffer(o)) return NULL;
  Object *dlpack = PyObject_GetAttrString((Object *)type, "__dlpack__"); /* of what has both, Python takes this */
  PyErr_Clear();
  if (dlpack != NULL) { Py_DecRef(dlpack); return NULL; }
  if (PyObject_GetBuffer(o, buffer, PyBUF_STRIDES | PyBUF_FORMAT | (is_output ? PyBUF_WRITABLE : 0)) != 0) {
    buffer->obj = NULL;
    PyErr_Clear();
    return NULL;
  }
  int fits = buffer->itemsize * 8 == port->dtype.bits && same_format(buffer->format, port) &&
             same_shape(port, buffer->ndim, (int64_t *)buffer->shape) && PyBuffer_IsContiguous(buffer, 'C');
  return fits ? buffer->buf : NULL;
}

static int is_bools(const Port *port, const char *data) {
  char any = 0;
  for (int64_t i = 0; i < port->nbytes; i++) any |= data[i] & ~1;
  return any == 0;
}

static int apart(const Port *ports, const DLTensor *tensors, int output) {
  const char *begin = tensors[output].data, *end = begin + ports[output].nbytes;
  for (int i = 0; i < output; i++) {
    const char *other = tensors[i].data;
    if (ports[output].nbytes && ports[i].nbytes && begin < other + ports[i].nbytes && other < end) return 0;
  }
  return 1;
}

/* A new array for an output, aligned as frameworks ask for it: a view of bytes, as `empty` of tensor.py makes it. */
static Object *make_output(const Port *port) {
  if (!knows_arrays || array_of == NULL) return NULL;
  const Py_ssize_t extent = (Py_ssize_t)port->nbytes + 64;
  Py_IncRef(bytes_type);
  Object *memory = array_of(array_type, bytes_type, 1, &extent, NULL, NULL, 0, NULL);
  if (memory == NULL) { PyErr_Clear(); return NULL; }
  char *data = ((Array *)memory)->data;
  data += (64 - ((uintptr_t)data & 63)) & 63;
  Py_IncRef(port->descr);
  Object *made = array_of(array_type, port->descr, port->ndim, (const Py_ssize_t *)port->shape, NULL, data,
                          ROW_MAJOR | ALIGNED | WRITEABLE, NULL);
  if (made == NULL || set_base(made, memory) != 0) { /* the latter takes `memory`, whatever it says */
    PyErr_Clear();
    Py_DecRef(made == NULL ? memory : made);
    return NULL;
  }
  return made;
}
