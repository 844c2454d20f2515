"""`model.c`, where the C of backends has states: one for each state of the library, given to its slots.

What is the same for all models knows nothing of it: the table of the library names the functions below,
which do theirs before or after. The state of calls by `<prefix>_<function>` begins with `<prefix>_bind`.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import Template

from inarch.artifact.manifest import Import
from inarch.backends.c.text import string

_HOOKS = """
/* Defined by the C of a backend, as are the functions that are given the state. */
INARCH_C int32_t ${name}_init(void **state);
INARCH_C void ${name}_destroy(void *state);
INARCH_C const char *${name}_last_error(void);
"""

_BEGIN = """
/* Whose state is given to which slot; -1: nobody's. */
static const struct {
    const char *name;
    int32_t (*init)(void **state);
    void (*destroy)(void *state);
    const char *(*last_error)(void);
} inarch_linked[${count}] = {${hooks}};
static const int32_t inarch_linked_of[${slots}] = {${owners}};

/* Ends those of the first `count` backends. */
static void inarch_linked_end(const inarch_import *table, int32_t count)
{
    for (int32_t part = count - 1; part >= 0; part--) {
        int32_t slot = 0;
        while (inarch_linked_of[slot] != part) {
            slot++;
        }
        inarch_linked[part].destroy(table[slot].self);
    }
}

static int32_t inarch_linked_begin(inarch_import *table)
{
    for (int32_t part = 0; part < ${count}; part++) {
        void *own = NULL;
        const int32_t status = inarch_linked[part].init(&own);
        if (status != 0) {
            const char *why = inarch_linked[part].last_error();
            inarch_linked_end(table, part);
            return inarch_fail(status, "${prefix}: '%s' does not begin: %s", inarch_linked[part].name,
                               why == NULL || *why == 0 ? "it does not say why" : why);
        }
        for (int32_t slot = 0; slot < ${slots}; slot++) {
            if (inarch_linked_of[slot] == part) {
                table[slot].self = own;
            }
        }
    }
    return 0;
}

static void inarch_linked_state_free(inarch_state *state)
{
    if (state != NULL) {
        inarch_linked_end(state->imports, ${count});
    }
    inarch_state_free(state);
}

static int32_t inarch_linked_state_new(
    const inarch_library *library, const inarch_setup *setup, inarch_state **state)
{
    int32_t status = inarch_state_new(library, setup, state);
    if (status == 0) {
        status = inarch_linked_begin((inarch_import *)(uintptr_t)(*state)->imports);
        if (status != 0) {
            inarch_state_free(*state);
            *state = NULL;
        }
    }
    return status;
}
"""

_BIND = """
static int32_t inarch_linked_has_begun;

/* After the rest of `${prefix}_bind`, which gave `status`. */
static int32_t inarch_linked_bind(int32_t status)
{
    if (status == 0 && !inarch_linked_has_begun) {
        status = inarch_linked_begin(inarch_imports);
        inarch_linked_has_begun = status == 0;
        inarch_default.is_bound = status == 0;
    }
    return status;
}

/* When the library is closed, or the process ends: no call runs any more. */
__attribute__((destructor)) static void inarch_linked_close(void)
{
    if (inarch_linked_has_begun) {
        inarch_linked_has_begun = 0;
        inarch_linked_end(inarch_imports, ${count});
    }
}
"""


def has_states(imports: Sequence[Import]) -> bool:
    """Whether the C of some backend has a state."""
    return any(slot.state for slot in imports)


def hooks_text(imports: Sequence[Import]) -> str:
    """The functions that the C of backends has for its states."""
    return "".join(Template(_HOOKS).substitute(name=each) for each in _names(imports))


def linked_text(prefix: str, imports: Sequence[Import]) -> str:
    """What makes, gives and ends states; nothing where there are none."""
    names = _names(imports)
    if not names:
        return ""
    hooks = [
        f"{{{string(each)}, {each}_init, {each}_destroy, {each}_last_error}}" for each in names
    ]
    owners = [names.index(slot.state) if slot.state else -1 for slot in imports]
    values = {
        "prefix": prefix,
        "count": len(names),
        "slots": len(imports),
        "hooks": ", ".join(hooks),
        "owners": ", ".join(map(str, owners)),
    }
    return Template(_BEGIN).substitute(values)


def linked_bind_text(prefix: str, imports: Sequence[Import]) -> str:
    """What begins with `bind`, behind the state that it is of."""
    names = _names(imports)
    return Template(_BIND).substitute(prefix=prefix, count=len(names)) if names else ""


def explained_text(imports: Sequence[Import]) -> str:
    """The initializer of who says why a function failed."""
    if not has_states(imports):
        return ""
    rows = [
        f"{{{slot.name}, {slot.state}_last_error}}" if slot.state else "{NULL, NULL}"
        for slot in imports
    ]
    return f" = {{{', '.join(rows)}}}"


def _names(imports: Sequence[Import]) -> list[str]:
    return list(dict.fromkeys(slot.state for slot in imports if slot.state))
