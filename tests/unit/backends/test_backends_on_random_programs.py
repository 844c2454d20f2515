"""Every shipped backend on random graph programs, against the definition, with bounds that are computed.

Backends are found, not listed, as in `test_backends_on_networks.py`. Programs are made of the ops that the
backend lists and of others, so that parts of both meet: shapes of size 0, special values, results that are
arguments, several regions of one function.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from effort import effort
from inarch.backends import BACKENDS
from inarch.driver.compiler import lower
from inarch.driver.offload import Offload
from inarch.ir.text import print_module
from inarch.machine.target import parse
from inarch.testing.generate import GeneratedProgram, programs
from inarch.testing.generate.check.check import How, check_programs
from inarch.testing.generate.check.driver import check
from inarch.testing.generate.check.offloaded import favoured
from inarch.testing.generate.check.worker import Job

SHIPPED = [name for name in BACKENDS if BACKENDS.origin(name).source.startswith("inarch.backends.")]

TARGET = [name for name in ("generic", "x86-64-v3", "x86-64-v4") if not parse(name).missing_here()][
    -1
]


def skip_unless_ready(backend: str) -> None:
    if (status := BACKENDS[backend].status()) != "ready":
        pytest.skip(f"backend '{backend}' is not ready: {status}")


def is_small_with_a_part(program: GeneratedProgram, backend: str) -> bool:
    """Whether `backend` takes an op of it, which does not take long to compile."""
    if program.text.count("\n") > 25:
        return False
    context, module = program.parse()
    lower(context, module, "graph", offload=Offload([backend]))
    return f'compiler = "{backend}"' in print_module(module)


@pytest.mark.filterwarnings("ignore:.*was asked for and got nothing")
@pytest.mark.parametrize("backend", SHIPPED)
def test_programs_with_parts_of_a_backend_do_what_they_mean(backend: str) -> None:
    skip_unless_ready(backend)
    taken: set[int] = set()
    count = effort(1, 2)

    def say(what: str, index: int, _target: str) -> None:
        if what == "taken":
            taken.add(index)

    many = programs("graph", seed=0, count=30, favour=favoured([backend]))
    made = list(islice((one for one in many if is_small_with_a_part(one, backend)), 2))
    made = sorted(made, key=lambda one: one.text.count("\n"))[:count]
    assert check_programs(made, [TARGET], how=How(backends=(backend,)), say=say) == []
    assert taken == {one.index for one in made}
    assert len(taken) == count


@pytest.mark.fuzz
@pytest.mark.parametrize("backends", [*((name,) for name in SHIPPED), SHIPPED], ids="+".join)
def test_programs_of_which_backends_take_many_parts(
    backends: tuple[str, ...], tmp_path: Path
) -> None:
    """Of a seed that gives every backend a part in half of the programs, or more."""
    assert programs_with_parts(backends, 13, 16, tmp_path) >= 8


def programs_with_parts(backends: tuple[str, ...], seed: int, count: int, folder: Path) -> int:
    """How many of the programs, all of which do what they mean, have a part for a backend."""
    for backend in backends:
        skip_unless_ready(backend)
    print(
        f"python -m inarch.testing.generate --check graph --seed {seed} --count {count} --target {TARGET} "
        f"--backend {','.join(backends)}"
    )
    job = Job(
        "graph", seed, 0, count, 10, (TARGET,), ("-O1",), str(folder), 10, False, False,
        tuple(backends),
    )  # fmt: skip
    outcome = check(job)
    assert outcome.findings == []
    assert outcome.done == count
    return len(outcome.taken)


def test_the_backends_are_found() -> None:
    """The list above is not empty by mistake."""
    assert {"cblas", "ccompiler", "examplejson"} <= set(SHIPPED)
