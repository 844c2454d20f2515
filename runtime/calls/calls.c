/* The compiled way of calls from Python: what fits is run, all else is left to Python's checks and their messages.
 *
 * An extension of the stable ABI of CPython 3.11. It needs no header of Python: what it uses of the stable ABI is
 * declared here, and is Python.h's own with -DINARCH_PYTHON_H, which a test compiles and compares.
 *
 * `call` is Function.__call__. It looks at the function's plan (made once, of its signature) and at the arguments,
 * and never refuses any: where one does not fit, or is of a kind that it does not know, `_general` of the function is
 * called, in Python. `arguments.h` has the arguments. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "stable_abi.h"
#include "arguments.h"

#define MOST 64 /* arguments; more are left to Python */

typedef int32_t (*kernel)(DLTensor *, int32_t);
typedef int32_t (*limit)(int32_t);

/* What a signature makes known. */
typedef struct Plan {
  Object head;
  kernel run;
  limit set_threads; /* NULL: nothing to say */
  int32_t threads;   /* 0: what `said` says */
  int32_t count, inputs;
  /* Where the arguments of a call belong: of one that gives all, then of one without the outputs that are made. One
   * place may come twice: of an input that is the very output. */
  int32_t most, fewest;
  uint8_t *places;
  Port *ports;
  int64_t *sizes;
  struct Plan *next; /* of the same text, for other types */
  Object *dtypes, *failed, *convert, *said;
  Object *owner; /* keeps the code in memory */
} Plan;

typedef struct {
  Object head;
  Plan *plan;
  DLTensor *tensors;
  Object *held, *result;
} Bound;

static PyTypeObject *plan_type;
static Object *name_plan, *name_general, *name_out;

static void pattern(const Plan *plan, DLTensor *tensors) {
  for (int i = 0; i < plan->count; i++) {
    const Port *port = plan->ports + i;
    tensors[i] = (DLTensor){NULL, {1, 0}, port->ndim, port->dtype, port->shape, NULL, 0};
  }
}

/* Runs it without the GIL; 0, or an exception is set. */
static int run(const Plan *plan, DLTensor *tensors) {
  if (plan->set_threads != NULL) {
    int32_t threads = plan->threads;
    if (threads == 0) {
      Object *said = PyObject_CallFunctionObjArgs(plan->said, NULL);
      if (said == NULL) return -1;
      threads = (int32_t)PyLong_AsLong(said);
      Py_DecRef(said);
    }
    plan->set_threads(threads);
  }
  PyThreadState *state = PyEval_SaveThread();
  int32_t status = plan->run(tensors, plan->count);
  PyEval_RestoreThread(state);
  if (status == 0) return 0;
  Object *never = PyObject_CallFunctionObjArgs(plan->failed, NULL);
  if (never != NULL) Py_DecRef(never);
  return -1;
}

static Object *general(Object *self, Object *const *args, Py_ssize_t count, Object *names) {
  Object *method = PyObject_GetAttr(self, name_general), *result = NULL;
  Object *positional = PyTuple_New(count), *named = names == NULL ? NULL : PyDict_New();
  if (method == NULL || positional == NULL || (names != NULL && named == NULL)) goto done;
  for (Py_ssize_t i = 0; i < count; i++) {
    Py_IncRef(args[i]);
    PyTuple_SetItem(positional, i, args[i]);
  }
  for (Py_ssize_t i = 0; names != NULL && i < PyTuple_Size(names); i++)
    if (PyDict_SetItem(named, PyTuple_GetItem(names, i), args[count + i]) != 0) goto done;
  result = PyObject_Call(method, positional, named);
done:
  if (method != NULL) Py_DecRef(method);
  if (positional != NULL) Py_DecRef(positional);
  if (named != NULL) Py_DecRef(named);
  return result;
}

/* The arguments in their places, NULLs where outputs are to be made; 0: it is left to Python. */
static int place(const Plan *plan, Object *const *args, Py_ssize_t count, Object *names, Object **all) {
  int outputs = plan->count - plan->inputs;
  if (plan->count > MOST || (count != plan->fewest && (count != plan->most || names != NULL))) return 0;
  const uint8_t *places = plan->places + (count == plan->most ? 0 : plan->most);
  for (int i = 0; i < plan->count; i++) all[i] = NULL;
  for (Py_ssize_t i = 0; i < count; i++) {
    if (all[places[i]] != NULL && all[places[i]] != args[i]) return 0;
    all[places[i]] = args[i];
  }
  if (names == NULL) return 1;
  if (PyTuple_Size(names) != 1 || PyTuple_GetItem(names, 0) != name_out) return 0;
  Object *out = args[count];
  int several = TYPE(out) == (PyTypeObject *)&PyTuple_Type;
  if (several ? PyTuple_Size(out) != outputs
              : outputs != 1 || TYPE(out) == (PyTypeObject *)&PyList_Type || out == (Object *)Py_None)
    return 0;
  for (int i = 0; i < outputs; i++) {
    if (all[plan->inputs + i] != NULL) return 0; /* given twice */
    all[plan->inputs + i] = several ? PyTuple_GetItem(out, i) : out;
  }
  return 1;
}

/* One output as the call gives it: what was made, as the framework of the inputs has it. */
static Object *given(const Plan *plan, Object *output, Object *made, Object *foreign) {
  if (made == NULL || foreign == NULL) {
    Py_IncRef(output);
    return output;
  }
  Object *one = PyTuple_New(1);
  if (one == NULL) return NULL;
  Py_IncRef(made);
  PyTuple_SetItem(one, 0, made);
  Object *result = PyObject_CallFunctionObjArgs(plan->convert, foreign, one, NULL);
  Py_DecRef(one);
  return result;
}

static Object *result_of(const Plan *plan, Object *const *all, Object *const *made, Object *foreign) {
  int outputs = plan->count - plan->inputs;
  if (outputs == 1) return given(plan, all[plan->inputs], made[0], foreign);
  Object *result = PyTuple_New(outputs);
  for (int i = 0; result != NULL && i < outputs; i++) {
    Object *one = given(plan, all[plan->inputs + i], made[i], foreign);
    if (one == NULL) {
      Py_DecRef(result);
      return NULL;
    }
    PyTuple_SetItem(result, i, one);
  }
  return result;
}

/* 0: something does not fit, and nothing was run. Else `result`, or NULL and an exception. */
static int call_with(const Plan *plan, Object *const *args, Py_ssize_t count, Object *names, Object **result) {
  Object *all[MOST], *made[MOST], *foreign = NULL;
  DLTensor tensors[MOST];
  int64_t numbers[MOST];
  Py_buffer buffers[MOST];
  int held = 0, fits = 1, outputs = 0;
  if (!place(plan, args, count, names, all)) return 0;
  pattern(plan, tensors);
  for (int i = 0; i < plan->count && fits; i++) {
    const Port *port = plan->ports + i;
    int is_output = i >= plan->inputs;
    if (is_output) {
      made[outputs++] = NULL;
      if (all[i] == NULL) {
        Object *array = make_output(port);
        fits = array != NULL;
        if (fits) tensors[i].data = ((Array *)array)->data;
        made[outputs - 1] = all[i] = array;
        continue;
      }
    }
    buffers[held].obj = NULL;
    Object *ignored = NULL;
    int is_written = is_output && !(port->takes & READ);
    char *data;
    if (TYPE(all[i]) == array_type && knows_arrays && port->takes & ARRAYS) { /* mostly */
      data = of_numpy(port, (const Array *)all[i], is_output);
    } else {
      data = memory_of(port, all[i], is_output, numbers + i, buffers + held, is_written ? &ignored : &foreign);
      held += buffers[held].obj != NULL;
    }
    tensors[i].data = data;
    fits = (data != NULL || (TYPE(all[i]) != array_type && port->nbytes == 0 && port->takes & ARRAYS)) &&
           ((uintptr_t)data & (port->dtype.bits / 8u - 1u)) == 0;
    if (fits && port->dtype.code == 6 && !is_written) fits = is_bools(port, data);
    if (fits && is_output) fits = apart(plan->ports, tensors, i);
  }
  if (fits) *result = run(plan, tensors) == 0 ? result_of(plan, all, made, foreign) : NULL;
  while (held > 0) PyBuffer_Release(buffers + --held);
  while (outputs > 0)
    if (made[--outputs] != NULL) Py_DecRef(made[outputs]);
  return fits;
}

static Object *call(Object *self, Object *const *args, Py_ssize_t count, Object *names) {
  Object *plan = PyObject_GetAttr(self, name_plan);
  if (plan == NULL) return NULL;
  Object *result = NULL;
  int done = 0;
  if (TYPE(plan) == plan_type)
    for (const Plan *one = (Plan *)plan; one != NULL && !done; one = one->next)
      done = call_with(one, args, count, names, &result);
  if (!done) result = general(self, args, count, names);
  Py_DecRef(plan);
  return result;
}

static void drop(Object *o) {
  PyTypeObject *type = TYPE(o);
  void (*release)(void *) = (void (*)(void *))PyType_GetSlot(type, Py_tp_free);
  release(o);
  Py_DecRef((Object *)type);
}

static void plan_dealloc(Object *self) {
  Plan *plan = (Plan *)self;
  Object *each[] = {plan->dtypes, plan->failed, plan->convert, plan->said, plan->owner, (Object *)plan->next};
  for (int i = 0; i < 6; i++)
    if (each[i] != NULL) Py_DecRef(each[i]);
  free(plan->ports);
  free(plan->sizes);
  free(plan->places);
  drop(self);
}

typedef Object *(*new_object)(PyTypeObject *, Py_ssize_t);
#define Py_tp_alloc_slot 47

/* Plan(address, set_threads, threads, inputs, fewest, places, ports, dtypes, failed, convert, said, owner, next);
 * `places` is a bytes, `ports` one of int64: for each port what it takes, code, bits, bytes, rank, sizes. */
static Object *plan_new(PyTypeObject *type, Object *args, Object *named) {
  unsigned long long address, set_threads;
  int threads, inputs, fewest;
  char *text, *spots;
  Py_ssize_t length, spot_count;
  Object *places, *sizes, *dtypes, *failed, *convert, *said, *owner, *next;
  (void)named;
  if (!PyArg_ParseTuple(args, "KKiiiOOOOOOOO", &address, &set_threads, &threads, &inputs, &fewest, &places, &sizes,
                        &dtypes, &failed, &convert, &said, &owner, &next) ||
      PyBytes_AsStringAndSize(sizes, &text, &length) != 0 ||
      PyBytes_AsStringAndSize(places, &spots, &spot_count) != 0)
    return NULL;
  Plan *plan = (Plan *)((new_object)PyType_GetSlot(type, Py_tp_alloc_slot))(type, 0); /* zeros */
  if (plan == NULL) return NULL;
  Object **each[] = {&plan->dtypes, &plan->failed, &plan->convert, &plan->said, &plan->owner, (Object **)&plan->next};
  Object *values[] = {dtypes, failed, convert, said, owner, TYPE(next) == type ? next : NULL};
  for (int i = 0; i < 6; i++) {
    if (values[i] != NULL) Py_IncRef(values[i]);
    *each[i] = values[i];
  }
  plan->run = (kernel)(uintptr_t)address;
  plan->set_threads = (limit)(uintptr_t)set_threads;
  plan->threads = threads;
  plan->inputs = inputs;
  plan->count = (int32_t)PyTuple_Size(dtypes);
  plan->fewest = fewest;
  plan->most = (int32_t)spot_count - (fewest > 0 ? fewest : 0); /* -1: all have to be given */
  plan->ports = calloc((size_t)plan->count + 1, sizeof *plan->ports);
  plan->sizes = malloc((size_t)length + 8);
  plan->places = malloc((size_t)spot_count + 1);
  if (plan->ports == NULL || plan->sizes == NULL || plan->places == NULL) {
    Py_DecRef((Object *)plan);
    return PyErr_NoMemory();
  }
  memcpy(plan->places, spots, (size_t)spot_count);
  memcpy(plan->sizes, text, (size_t)length);
  int64_t *at = plan->sizes;
  for (int i = 0; i < plan->count; i++) {
    Port *port = plan->ports + i;
    port->descr = PyTuple_GetItem(dtypes, i);
    port->takes = (int32_t)at[0];
    port->dtype = (DLDataType){(uint8_t)at[1], (uint8_t)at[2], 1};
    port->nbytes = at[3];
    port->ndim = (int32_t)at[4];
    port->shape = at + 5;
    at += 5 + port->ndim;
  }
  return (Object *)plan;
}

static void bound_dealloc(Object *self) {
  Bound *bound = (Bound *)self;
  if (bound->plan != NULL) Py_DecRef((Object *)bound->plan);
  if (bound->held != NULL) Py_DecRef(bound->held);
  if (bound->result != NULL) Py_DecRef(bound->result);
  free(bound->tensors);
  drop(self);
}

/* Bound(plan, addresses, held, result, ...): memory that was checked; `held` keeps it. */
static Object *bound_new(PyTypeObject *type, Object *args, Object *named) {
  (void)named;
  Object *plan = PyTuple_GetItem(args, 0), *addresses = PyTuple_GetItem(args, 1);
  Object *held = PyTuple_GetItem(args, 2), *result = PyTuple_GetItem(args, 3);
  if (result == NULL) return NULL;
  Bound *bound = (Bound *)((new_object)PyType_GetSlot(type, Py_tp_alloc_slot))(type, 0);
  if (bound == NULL) return NULL;
  Py_IncRef(plan);
  Py_IncRef(held);
  Py_IncRef(result);
  bound->plan = (Plan *)plan;
  bound->held = held;
  bound->result = result;
  bound->tensors = calloc((size_t)bound->plan->count + 1, sizeof *bound->tensors);
  if (bound->tensors == NULL) {
    Py_DecRef((Object *)bound);
    return PyErr_NoMemory();
  }
  pattern(bound->plan, bound->tensors);
  for (int i = 0; i < bound->plan->count; i++)
    bound->tensors[i].data = (void *)(intptr_t)PyLong_AsLongLong(PyTuple_GetItem(addresses, i));
  return (Object *)bound;
}

static Object *bound_call(Object *self, Object *args, Object *named) {
  Bound *bound = (Bound *)self;
  if (named != NULL || PyTuple_Size(args) != 0) { /* Python's message */
    Object *method = PyObject_GetAttr(self, name_general);
    Object *never = method == NULL ? NULL : PyObject_Call(method, args, named);
    if (method != NULL) Py_DecRef(method);
    return never;
  }
  DLTensor *tensors = bound->tensors; /* C only reads them: several threads may run one call */
  if (run(bound->plan, tensors) != 0) return NULL;
  Py_IncRef(bound->result);
  return bound->result;
}

static PyMethodDef call_method = {
    "__call__", (PyCFunction)(void *)call, METH_FASTCALL | METH_KEYWORDS,
    "__call__($self, /, *args, out=None, threads=None, **by_name)\n--\n\nAs `Function._general`, compiled."};

/* `method(type)`: `call` as a method of the type. */
static Object *method(Object *module, Object *type) {
  (void)module;
  return PyDescr_NewMethod((PyTypeObject *)type, &call_method);
}

/* `use_arrays(array, address, dtype, flags, table, bytes)`: whether an array of shape (2, 3) is read as it says it is.
 * `table` is NumPy's capsule of functions, or None; `bytes` its dtype of a byte. */
static Object *use_arrays(Object *module, Object *args) {
  Object *value, *descr, *table, *bytes;
  unsigned long long address;
  int flags;
  (void)module;
  if (!PyArg_ParseTuple(args, "OKOiOO", &value, &address, &descr, &flags, &table, &bytes)) return NULL;
  const Array *array = (const Array *)value;
  const uint16_t one = 1;
  if (array_type == NULL) {
    array_type = TYPE(value);
    Py_IncRef((Object *)array_type);
  }
  knows_arrays = *(const uint8_t *)&one == 1 && sizeof(void *) == 8 && array->nd == 2 &&
                 (uintptr_t)array->data == address && array->descr == descr &&
                 (array->flags & (ROW_MAJOR | ALIGNED | WRITEABLE)) == flags && array->dimensions[0] == 2 &&
                 array->dimensions[1] == 3 && array->strides[0] == 12 && array->strides[1] == 4;
  void **functions = table == (Object *)Py_None ? NULL : PyCapsule_GetPointer(table, NULL);
  PyErr_Clear();
  if (functions != NULL && bytes_type == NULL) {
    unsigned version;
    unsigned (*version_of)(void);
    memcpy(&version_of, functions + 0, sizeof version_of);
    version = version_of();
    if (version == 0x01000009 || version == 0x02000000) {
      memcpy(&array_of, functions + 94, sizeof array_of); /* PyArray_NewFromDescr */
      memcpy(&set_base, functions + 282, sizeof set_base); /* PyArray_SetBaseObject */
      Py_IncRef(bytes);
      bytes_type = bytes;
    }
  }
  return PyLong_FromLong(knows_arrays && array_of != NULL);
}

static PyMethodDef methods[] = {{"method", method, METH_O, NULL},
                                {"use_arrays", use_arrays, METH_VARARGS, NULL},
                                {NULL, NULL, 0, NULL}};
static PyType_Slot plan_slots[] = {{Py_tp_new, (void *)plan_new}, {Py_tp_dealloc, (void *)plan_dealloc}, {0, NULL}};
static PyType_Slot bound_slots[] = {{Py_tp_new, (void *)bound_new},
                                    {Py_tp_dealloc, (void *)bound_dealloc},
                                    {Py_tp_call, (void *)bound_call},
                                    {0, NULL}};
static PyType_Spec plan_spec = {"inarch_calls.Plan", sizeof(Plan), 0, Py_TPFLAGS_DEFAULT, plan_slots};
static PyType_Spec bound_spec = {"inarch_calls.Bound", sizeof(Bound), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                                 bound_slots};
#ifdef INARCH_PYTHON_H
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "inarch_calls", NULL, -1, methods, NULL, NULL, NULL, NULL};
#else
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "inarch_calls", NULL, -1, methods, NULL, NULL, NULL, NULL};
#endif

PyMODINIT_FUNC PyInit_inarch_calls(void) {
  name_plan = PyUnicode_InternFromString("_plan");
  name_general = PyUnicode_InternFromString("_general");
  name_out = PyUnicode_InternFromString("out");
  name_grad = PyUnicode_InternFromString("requires_grad");
  Object *module = PyModule_Create(&definition), *type = PyType_FromSpec(&bound_spec);
  plan_type = (PyTypeObject *)PyType_FromSpec(&plan_spec);
  if (module == NULL || type == NULL || plan_type == NULL) return NULL;
  Py_IncRef((Object *)plan_type);
  PyModule_AddObject(module, "Plan", (Object *)plan_type);
  PyModule_AddObject(module, "Bound", type);
  return module;
}
