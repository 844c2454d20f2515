"""Many programs in one artifact, parts of which backends have taken; made and loaded as users do it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import ModuleOp, StringAttr, UnitAttr
from xdsl.dialects.func import FuncOp

from inarch.backends.host import BuildRequest
from inarch.core.errors import EnvironmentFault
from inarch.core.scratch import scratch
from inarch.definitions.functions import Array
from inarch.driver.host import build, emit, find_host
from inarch.driver.offload import Offload
from inarch.driver.options import DEFAULT_HOST
from inarch.ir.target import set_target
from inarch.offload.pattern import op_names
from inarch.runtime.module import Module, load
from inarch.testing.generate.check.compiled import merged
from inarch.testing.generate.check.room import called
from inarch.testing.generate.program import GeneratedProgram


@dataclass
class Offloaded:
    """An artifact of several programs, loaded."""

    module: Module
    taken: frozenset[int]
    """Which programs, by number, call a function of a backend."""

    def call(self, name: str, inputs: Sequence[Array]) -> list[Array]:
        """The outputs of function `name`.

        Raises InarchError when it fails, leaves an output of a backend unwritten, or has written beyond
        an array, or to an input.
        """
        return called(self.module[name], inputs)


def compile_offloaded(
    programs: Sequence[GeneratedProgram], target: str, backends: Sequence[str], flags: Sequence[str]
) -> Offloaded:
    """Compiles and loads all `programs` for `target`; `backends` have what they take, the first one first.

    Raises InarchError, and what a bug raises.
    """
    from inarch.driver.compiler import lower

    context, module = merged(programs)
    set_target(module, target)
    module.attributes["inarch.name"] = StringAttr("generated")
    module.attributes["inarch.checked"] = UnitAttr()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a backend takes nothing
        emitted = lower(context, module, "kernel", offload=Offload(backends))
    host = find_host(DEFAULT_HOST)
    with scratch("inarch-generate-") as folder:
        path = folder / "programs.inarch"
        request = BuildRequest(
            host.name, context, module, emitted, path, flags=tuple(flags), is_single=True
        )
        build(host, emit(host, context, module), request)
        loaded = load(path)  # which maps the file: its name is not needed any more
    symbols = {symbol for one in emitted for symbol in one.emission.symbols}
    return Offloaded(loaded, _taken(module, symbols))


def _taken(module: ModuleOp, symbols: set[str]) -> frozenset[int]:
    """The numbers of the programs that call one of the functions `symbols`."""
    found: set[int] = set()
    for function in module.body.ops:
        if not isinstance(function, FuncOp):
            continue
        called = {str(op.properties.get("callee", "")).removeprefix("@") for op in function.walk()}
        if called & symbols:
            found.add(int(function.sym_name.data.partition("_")[0].removeprefix("p")))
    return frozenset(found)


def check_backends(names: Sequence[str]) -> None:
    """Raises UsageError for a name that no backend has, EnvironmentFault for one that is not ready here."""
    for name, one in Offload(names).asked().items():
        if (status := one.backend.status()) != "ready":
            raise EnvironmentFault(f"backend '{name}' is not ready: {status}")


def options_for(names: Sequence[str]) -> dict[str, Any]:
    """What `programs` takes for those that backends have parts of, matches of their patterns among them."""
    asked = Offload(names).asked().values()
    patterns = [each for one in asked for each in one.backend.patterns]
    return {"favour": favoured(names), "patterns": patterns}


def favoured(names: Sequence[str]) -> list[str]:
    """What to `favour` for programs that the backends have parts of: what they list, alone or in patterns."""
    found: list[str] = []
    for one in Offload(names).asked().values():
        backend = one.backend
        within = {op for each in backend.patterns for op in op_names(each.pattern)}
        found += [*3 * sorted(backend.op_names()), *sorted(within)]
    return found
