"""`model.c`: the checked entry of every public function, the import table, the workspaces.

Error codes: 1 an argument does not fit, 2 weights or imports are not bound, 3 out of memory; an import's own
code is passed on. The text of the last error of a thread is `<prefix>_last_error()`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import Template

from inarch.backends.c._program import CFunction, aligned
from inarch.backends.c._text import INDENT, string
from inarch.manifest import Import, Port

_TYPES = """
/* As in dlpack.h. */
typedef struct {
    int32_t device_type;
    int32_t device_id;
} DLDevice;

typedef struct {
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
} DLDataType;

typedef struct {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape;
    int64_t *strides;
    uint64_t byte_offset;
} DLTensor;

typedef struct {
    int32_t (*call)(void *self, DLTensor *args, int32_t n);
    void *self;
} inarch_import;
"""

_PUBLIC = """
INARCH_C INARCH_PUBLIC int32_t ${prefix}_abi_version(void);
INARCH_C INARCH_PUBLIC int32_t ${prefix}_bind(
    const void *weights, const inarch_import *imports, int32_t count);
INARCH_C INARCH_PUBLIC const char *${prefix}_last_error(void);
"""

_PUBLIC_FUNCTION = """\
INARCH_C INARCH_PUBLIC int32_t ${stem}(DLTensor *args, int32_t n);
INARCH_C INARCH_PUBLIC int32_t ${stem}_run(
    void *const *buffers, const void *weights, void *workspace);
"""

_STATE = """
static __thread char inarch_message[512];

__attribute__((format(printf, 2, 3))) static int32_t inarch_fail(
    int32_t code, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(inarch_message, sizeof(inarch_message), format, values);
    va_end(values);
    return code;
}
"""

_WEIGHTS = """
static const void *inarch_weights = ${weights};
"""

_LINKED = """
/* Defined by the C of the backend ${backend}. */
INARCH_C int32_t ${symbol}(void *self, DLTensor *args, int32_t n);
"""

_IMPORTS = """
static inarch_import inarch_imports[${count}]${values};
static const char *const inarch_import_names[${count}] = {${names}};

static int32_t inarch_call_import(int32_t slot, DLTensor *args, int32_t n)
{
    const inarch_import *entry = &inarch_imports[slot];
    if (entry->call == NULL) {
        return inarch_fail(2, "import '%s' is not bound; call ${prefix}_bind first",
                           inarch_import_names[slot]);
    }
    const int32_t status = entry->call(entry->self, args, n);
    if (status != 0) {
        inarch_fail(status, "import '%s' failed with code %d", inarch_import_names[slot],
                    (int)status);
    }
    return status;
}
"""

_CHECKS = """
typedef struct {
    const char *name;
    const char *type;
    uint8_t code;
    uint8_t bits;
    int32_t ndim;
    int64_t bytes;
    const int64_t *shape;
} inarch_argument;

/* Writes what an argument is, such as f32[1, 28, 28]. */
static void inarch_describe(const DLTensor *tensor, char *text, size_t size)
{
    static const char *const kinds[] = {"i", "ui", "f", "opaque", "bf", "c"};
    const DLDataType dtype = tensor->dtype;
    int used;
    if (dtype.code == 6) {
        used = snprintf(text, size, "i1[");
    } else {
        used = snprintf(text, size, "%s%d%s[", dtype.code < 6 ? kinds[dtype.code] : "code", dtype.bits,
                        dtype.lanes == 1 ? "" : "x");
    }
    for (int32_t i = 0; i < tensor->ndim && tensor->shape != NULL && (size_t)used + 32 < size; i++) {
        used += snprintf(text + used, size - (size_t)used, "%s%lld", i == 0 ? "" : ", ",
                         (long long)tensor->shape[i]);
    }
    snprintf(text + used, size - (size_t)used, "]");
}

static int inarch_same_type(const inarch_argument *wanted, const DLTensor *tensor)
{
    if (tensor->dtype.code != wanted->code || tensor->dtype.bits != wanted->bits
        || tensor->dtype.lanes != 1 || tensor->ndim != wanted->ndim
        || (wanted->ndim > 0 && tensor->shape == NULL)) {
        return 0;
    }
    for (int32_t i = 0; i < wanted->ndim; i++) {
        if (tensor->shape[i] != wanted->shape[i]) {
            return 0;
        }
    }
    return 1;
}

static int inarch_is_compact(const inarch_argument *wanted, const DLTensor *tensor)
{
    int64_t step = 1;
    if (tensor->strides == NULL || wanted->bytes == 0) {
        return 1;
    }
    for (int32_t i = wanted->ndim - 1; i >= 0; i--) {
        if (wanted->shape[i] != 1 && tensor->strides[i] != step) {
            return 0;
        }
        step *= wanted->shape[i];
    }
    return 1;
}

static uintptr_t inarch_address(const DLTensor *tensor)
{
    return (uintptr_t)tensor->data + (uintptr_t)tensor->byte_offset;
}

static int32_t inarch_check_argument(const char *function, int32_t i,
                                     const inarch_argument *wanted, const DLTensor *tensor)
{
    if (!inarch_same_type(wanted, tensor)) {
        char found[160];
        inarch_describe(tensor, found, sizeof(found));
        return inarch_fail(1, "%s: argument %d (%s): expected %s, found %s", function, (int)i,
                           wanted->name, wanted->type, found);
    }
    if (tensor->device.device_type != 1) {
        return inarch_fail(1, "%s: argument %d (%s): expected host memory, found device type %d",
                           function, (int)i, wanted->name, (int)tensor->device.device_type);
    }
    if (!inarch_is_compact(wanted, tensor)) {
        return inarch_fail(1, "%s: argument %d (%s): expected a row-major array, found other strides",
                           function, (int)i, wanted->name);
    }
    if (wanted->bytes > 0 && tensor->data == NULL) {
        return inarch_fail(1, "%s: argument %d (%s): expected data, found a null pointer", function,
                           (int)i, wanted->name);
    }
    if (wanted->bytes > 0 && inarch_address(tensor) % (wanted->bits / 8) != 0) {
        return inarch_fail(1,
                           "%s: argument %d (%s): expected an address that is a multiple of %d, "
                           "found one that is not",
                           function, (int)i, wanted->name, (int)(wanted->bits / 8));
    }
    return 0;
}

static int32_t inarch_check(const char *function, const inarch_argument *wanted, int32_t inputs,
                            int32_t count, const DLTensor *args, int32_t n)
{
    if (n != count || (args == NULL && count > 0)) {
        return inarch_fail(1, "%s: expected %d arguments (%d inputs, then %d outputs), found %d",
                           function, (int)count, (int)inputs, (int)(count - inputs),
                           args == NULL ? 0 : (int)n);
    }
    for (int32_t i = 0; i < count; i++) {
        const int32_t status = inarch_check_argument(function, i, &wanted[i], &args[i]);
        if (status != 0) {
            return status;
        }
    }
    for (int32_t i = inputs; i < count; i++) {
        for (int32_t j = 0; j < i; j++) {
            const uintptr_t a = inarch_address(&args[i]), b = inarch_address(&args[j]);
            if (a < b + (uintptr_t)wanted[j].bytes && b < a + (uintptr_t)wanted[i].bytes) {
                return inarch_fail(1,
                                   "%s: argument %d (%s) overlaps argument %d (%s); "
                                   "an output needs memory of its own",
                                   function, (int)i, wanted[i].name, (int)j, wanted[j].name);
            }
        }
    }
    return 0;
}
"""

_WORKSPACES = """
/* Workspaces that no call uses, in a list through their first bytes; every one is large enough for
   every function. They are kept as long as the library is, which is never closed. */
static void *inarch_free;
static unsigned char inarch_lock;

static void *inarch_take(void)
{
    while (__atomic_test_and_set(&inarch_lock, __ATOMIC_ACQUIRE)) {
    }
    void *workspace = inarch_free;
    if (workspace != NULL) {
        inarch_free = *(void **)workspace;
    }
    __atomic_clear(&inarch_lock, __ATOMIC_RELEASE);
    return workspace != NULL ? workspace : aligned_alloc(64, ${bytes});
}

static void inarch_give(void *workspace)
{
    while (__atomic_test_and_set(&inarch_lock, __ATOMIC_ACQUIRE)) {
    }
    *(void **)workspace = inarch_free;
    inarch_free = workspace;
    __atomic_clear(&inarch_lock, __ATOMIC_RELEASE);
}
"""

_BIND = """
int32_t ${prefix}_abi_version(void)
{
    return 0;
}

const char *${prefix}_last_error(void)
{
    return inarch_message;
}

int32_t ${prefix}_bind(const void *weights, const inarch_import *imports, int32_t count)
{
    if (count != ${count}) {
        return inarch_fail(2, "${prefix}_bind: expected ${count} imports, found %d", (int)count);
    }
${body}    return 0;
}
"""

_BIND_WEIGHTS = """\
    if (weights == NULL && inarch_weights == NULL) {
        return inarch_fail(2, "${prefix}_bind: expected ${bytes} bytes of weights, found a null pointer");
    }
    if ((uintptr_t)weights % 64 != 0) {
        return inarch_fail(2, "${prefix}_bind: expected weights at a multiple of 64 bytes");
    }
    if (weights != NULL) {
        inarch_weights = weights;
    }
"""

_BIND_IMPORTS = """\
    for (int32_t i = 0; i < count; i++) {
        if (imports == NULL || imports[i].call == NULL) {
            return inarch_fail(2, "${prefix}_bind: import '%s' is not filled", inarch_import_names[i]);
        }
    }
    for (int32_t i = 0; i < count; i++) {
        inarch_imports[i] = imports[i];
    }
"""

_ENTRY = """
int32_t ${stem}(DLTensor *args, int32_t n)
{
    const int32_t fault = inarch_check(${name}, ${arguments}, ${inputs}, ${count}, args, n);
    if (fault != 0) {
        return fault;
    }
${weights}    void *buffers[${slots}];
${fill}${call}}
"""

_ENTRY_WEIGHTS = """\
    if (inarch_weights == NULL) {
        return inarch_fail(2, "%s: weights are not bound; call ${prefix}_bind first", ${name});
    }
"""

_ENTRY_FILL = """\
    for (int32_t i = 0; i < ${count}; i++) {
        buffers[i] = (char *)args[i].data + args[i].byte_offset;
    }
"""

_ENTRY_WITH_WORKSPACE = """\
    void *workspace = inarch_take();
    if (workspace == NULL) {
        return inarch_fail(3, "%s: no memory for a workspace of ${bytes} bytes", ${name});
    }
    const int32_t status = ${stem}_run(buffers, inarch_weights, workspace);
    inarch_give(workspace);
    return status;
"""


def _fill(template: str, values: Mapping[str, object]) -> str:
    return Template(template).substitute({key: str(value) for key, value in values.items()})


def declarations_text(prefix: str, functions: Sequence[CFunction], stems: Sequence[str]) -> str:
    """The types of the ABI and the prototypes of the public functions."""
    return (
        _TYPES
        + _fill(_PUBLIC, {"prefix": prefix})
        + "".join(_fill(_PUBLIC_FUNCTION, {"stem": stem}) for stem in stems)
        + ("" if functions else "/* no public functions */\n")
    )


def state_text(
    prefix: str, imports: Sequence[Import], *, embedded: str | None, weights: bool
) -> str:
    """Error message, weights (if used) and import table; `embedded` names an array of the weights."""
    text = _STATE + (_fill(_WEIGHTS, {"weights": embedded or "NULL"}) if weights else "")
    for slot in imports:
        if slot.linked is not None:
            text += _fill(_LINKED, {"backend": slot.linked, "symbol": slot.name})
    if imports:
        names = ", ".join(string(slot.name) for slot in imports)
        rows = [f"{{{slot.name if slot.linked else 'NULL'}, NULL}}" for slot in imports]
        values = f" = {{{', '.join(rows)}}}" if any(slot.linked for slot in imports) else ""
        text += _fill(
            _IMPORTS, {"count": len(imports), "names": names, "prefix": prefix, "values": values}
        )
    return text


def entries_text(
    prefix: str,
    functions: Sequence[CFunction],
    stems: Sequence[str],
    imports: Sequence[Import],
    weights_bytes: int,
) -> str:
    """The checked entries, bind, and what they need."""
    bytes_needed = aligned(max((f.workspace_bytes for f in functions), default=0))
    text = _CHECKS if functions else ""
    if bytes_needed:
        text += _fill(_WORKSPACES, {"bytes": bytes_needed})
    for function, stem in zip(functions, stems, strict=True):
        text += _arguments(function, stem)
        text += _entry(prefix, function, stem, weights_bytes)
    return text + _bind(prefix, imports, weights_bytes)


def _bind(prefix: str, imports: Sequence[Import], weights_bytes: int) -> str:
    body = (
        _fill(_BIND_WEIGHTS, {"prefix": prefix, "bytes": weights_bytes})
        if weights_bytes
        else f"{INDENT}(void)weights;\n"
    )
    count = sum(slot.linked is None for slot in imports)
    body += _fill(_BIND_IMPORTS, {"prefix": prefix}) if count else f"{INDENT}(void)imports;\n"
    return _fill(_BIND, {"prefix": prefix, "count": count, "body": body})


def _arguments(function: CFunction, stem: str) -> str:
    """The table of a function's arguments, and their shapes."""
    if not function.ports:
        return ""
    text = "\n"
    rows: list[str] = []
    for index, port in enumerate(function.ports):
        shape = "NULL"
        if port.shape:
            shape = f"{stem}_shape{index}"
            sizes = ", ".join(map(str, port.shape))
            text += f"static const int64_t {shape}[] = {{{sizes}}};\n"
        rows.append(f"{INDENT}{{{_row(port)}, {shape}}},\n")
    return f"{text}static const inarch_argument {stem}_arguments[] = {{\n{''.join(rows)}}};\n"


def _row(port: Port) -> str:
    dtype = port.dtype
    numbers = f"{dtype.dlpack}, {dtype.bits}, {len(port.shape)}, {port.nbytes}"
    return f"{string(port.name)}, {string(port.type)}, {numbers}"


def _entry(prefix: str, function: CFunction, stem: str, weights_bytes: int) -> str:
    count = len(function.ports)
    values = {
        "prefix": prefix,
        "stem": stem,
        "name": string(function.name),
        "count": count,
        "slots": max(1, count),
        "inputs": len(function.inputs),
        "bytes": function.workspace_bytes,
        "arguments": f"{stem}_arguments" if count else "NULL",
    }
    call = f"{INDENT}return {stem}_run(buffers, inarch_weights, NULL);\n"
    if function.workspace_bytes:
        call = _fill(_ENTRY_WITH_WORKSPACE, values)
    return _fill(
        _ENTRY,
        {
            **values,
            "weights": _fill(_ENTRY_WEIGHTS, values) if weights_bytes else "",
            "fill": _fill(_ENTRY_FILL, values) if count else f"{INDENT}buffers[0] = NULL;\n",
            "call": call,
        },
    )
