"""The C of work sharing: the pool of `pool.c`, and how a model asks for one."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from string import Template

POOL_INCLUDES = """
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
"""
"""Before all other headers: C11 alone has neither clocks nor threads of POSIX."""

_OWN = """
/* Defined in pool.c, which is the same for all models. */
__attribute__((visibility("hidden"))) extern const inarch_pool inarch_own_pool;
__attribute__((visibility("hidden"))) int32_t inarch_pool_threads(void);
"""

_SHARE = """
/* Who runs the loops where a call's state does not say. */
static const inarch_pool *inarch_used_pool = &inarch_own_pool;

typedef struct {
    inarch_task task;
    void *context;
} inarch_shared;

static void inarch_share_part(void *context, int64_t begin, int64_t end, int32_t part)
{
    INARCH_ENVIRONMENT;
    const inarch_shared *shared = (const inarch_shared *)context;
    shared->task(shared->context, begin, end, part);
}

/* `room`: for how many threads there is a workspace; 0: the loop needs none. noinline: in a copy for each of
   hundreds of loops it is most of what this unit takes to compile. */
static __attribute__((noinline)) void inarch_share(
    int64_t count, int32_t room, inarch_task task, void *context)
{
    int32_t threads = inarch_here.threads;
${most}    if (room != 0) {
        threads = threads == 0 ? inarch_pool_threads() : threads;
        threads = threads < 1 ? 1 : threads > room ? room : threads;
    }
    if (threads == 1) {
        task(context, 0, count, 0);
        return;
    }
    const inarch_pool *pool = inarch_here.pool != NULL ? inarch_here.pool : inarch_used_pool;
    inarch_shared shared = {task, context};
    pool->run(pool->self, threads, count, inarch_share_part, &shared);
}
"""

_MOST = """\
    threads = threads == 0 ? inarch_pool_threads() : threads;
    threads = threads < 1 ? 1 : threads > ${most} ? ${most} : threads;
"""

POOL = """
const inarch_pool *${prefix}_pool(const inarch_pool *use)
{
    if (use != NULL) {
        inarch_used_pool = use;
    }
    return &inarch_own_pool;
}
"""

NO_POOL = """
const inarch_pool *${prefix}_pool(const inarch_pool *use)
{
    (void)use;
    return NULL;
}
"""


@cache
def _pool() -> Template:
    return Template(files("inarch.backends.c.write.abi").joinpath("pool.c").read_text())


def pool_text(linkage: str) -> str:
    """The pool, behind `POOL_INCLUDES` and `types_text`; `linkage` of what the model uses of it."""
    return "\n" + _pool().substitute(linkage=linkage)


def threads_text(*, shared: bool, pool: bool, most: int) -> str:
    """How the unchecked entries share iterations: among at most so many threads, 0: as many as are said.

    `shared`: the pool is in a unit of its own.
    """
    if not pool:
        return ""
    bound = Template(_MOST).substitute(most=most) if most else ""
    return (_OWN if shared else "") + Template(_SHARE).substitute(most=bound)
