/* What `calls.c` uses of CPython's stable ABI: declared here, or Python.h's own with -DINARCH_PYTHON_H. */
#ifdef INARCH_PYTHON_H
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
typedef PyObject Object;
#else
typedef intptr_t Py_ssize_t;
typedef struct Object { Py_ssize_t ob_refcnt; struct Object *ob_type; } Object;
typedef Object PyObject;
typedef Object *(*PyCFunction)(Object *, Object *);
typedef struct { const char *ml_name; PyCFunction ml_meth; int ml_flags; const char *ml_doc; } PyMethodDef;
typedef struct { int slot; void *pfunc; } PyType_Slot;
typedef struct { const char *name; int basicsize, itemsize; unsigned flags; PyType_Slot *slots; } PyType_Spec;
typedef struct { Object ob_base; Object *(*m_init)(void); Py_ssize_t m_index; Object *m_copy; } PyModuleDef_Base;
typedef struct {
  PyModuleDef_Base m_base; const char *m_name, *m_doc; Py_ssize_t m_size; PyMethodDef *m_methods;
  void *m_slots, *m_traverse, *m_clear, *m_free;
} PyModuleDef;
typedef struct {
  void *buf; Object *obj; Py_ssize_t len, itemsize; int readonly, ndim; char *format;
  Py_ssize_t *shape, *strides, *suboffsets; void *internal;
} Py_buffer;
typedef Object PyTypeObject;
typedef struct Thread PyThreadState;
#define PyModuleDef_HEAD_INIT {{1, NULL}, NULL, 0, NULL}
#define PyMODINIT_FUNC __attribute__((visibility("default"))) Object *
#define METH_VARARGS 1
#define METH_O 8
#define METH_KEYWORDS 2
#define METH_FASTCALL 128
#define PyBUF_STRIDES 0x18
#define PyBUF_FORMAT 4
#define PyBUF_WRITABLE 1
#define Py_tp_call 50
#define Py_tp_dealloc 52
#define Py_tp_new 65
#define Py_tp_free 74
#define Py_TPFLAGS_DEFAULT (1u << 18)
#define Py_TPFLAGS_BASETYPE (1u << 10)
extern Object *PyObject_GetAttr(Object *, Object *), *PyObject_GetAttrString(Object *, const char *);
extern Object *PyObject_Call(Object *, Object *, Object *), *PyObject_CallObject(Object *, Object *);
extern Object *PyObject_CallFunctionObjArgs(Object *, ...);
extern Object *PyTuple_New(Py_ssize_t), *PyTuple_GetItem(Object *, Py_ssize_t), *PyDict_New(void);
extern Py_ssize_t PyTuple_Size(Object *);
extern int PyTuple_SetItem(Object *, Py_ssize_t, Object *), PyDict_SetItem(Object *, Object *, Object *);
extern int PyArg_ParseTuple(Object *, const char *, ...), PyObject_CheckBuffer(Object *);
extern int PyObject_GetBuffer(Object *, Py_buffer *, int), PyBuffer_IsContiguous(const Py_buffer *, char);
extern void PyBuffer_Release(Py_buffer *), PyErr_Clear(void), Py_IncRef(Object *), Py_DecRef(Object *);
extern int PyBytes_AsStringAndSize(Object *, char **, Py_ssize_t *);
extern double PyFloat_AsDouble(Object *), PyLong_AsDouble(Object *);
extern long long PyLong_AsLongLong(Object *);
extern long PyLong_AsLong(Object *);
extern Object *PyLong_FromLong(long), *PyUnicode_InternFromString(const char *), *PyErr_Occurred(void), *PyErr_NoMemory(void);
extern int PyType_IsSubtype(PyTypeObject *, PyTypeObject *);
extern Object *PyType_FromSpec(PyType_Spec *), *PyDescr_NewMethod(PyTypeObject *, PyMethodDef *);
extern void *PyType_GetSlot(PyTypeObject *, int), *PyCapsule_GetPointer(Object *, const char *);
extern Object *PyModule_Create2(PyModuleDef *, int);
extern int PyModule_AddObject(Object *, const char *, Object *);
extern PyThreadState *PyEval_SaveThread(void);
extern void PyEval_RestoreThread(PyThreadState *);
extern Object PyFloat_Type, PyLong_Type, PyBool_Type, PyTuple_Type, PyList_Type;
extern Object _Py_NoneStruct, _Py_TrueStruct;
#define Py_None (&_Py_NoneStruct)
#define Py_True (&_Py_TrueStruct)
#define PyModule_Create(def) PyModule_Create2(def, 3)
#endif
