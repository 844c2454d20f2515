"""What emission makes: C by translation unit, and what is known of its functions, imports and kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from inarch.artifact.manifest import Import, Port, Signature
from inarch.backends.c.foreign.code import KernelCode


@dataclass(frozen=True)
class CFunction:
    """A public function: what its C functions take and give, in their order, inputs before outputs."""

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    workspace_bytes: int
    positions: tuple[int, ...]
    """For each argument of the C functions, which argument of the function of the IR it is."""

    @property
    def ports(self) -> tuple[Port, ...]:
        """Inputs, then outputs."""
        return (*self.inputs, *self.outputs)


@dataclass(frozen=True)
class CProgram:
    """A module in C: one translation unit per kernel and `model.c`, or all of it in one `text`."""

    prefix: str
    units: Mapping[str, str]
    """File name -> complete C source."""
    text: str
    """The amalgamation: compiles alone; weights of at most 1 MiB are in it."""
    functions: tuple[CFunction, ...]
    imports: tuple[Import, ...]
    """In the order of the table: the slots that `<prefix>_bind` fills, then those that are linked."""
    weights_bytes: int
    kernels: tuple[KernelCode, ...] = ()
    """What the microkernels that are called need of outside."""
    unit_kernels: Mapping[str, tuple[KernelCode, ...]] = field(
        default_factory=dict[str, tuple[KernelCode, ...]]
    )
    """File name -> the microkernels whose C is in that unit."""
    registry_calls: Mapping[str, int] = field(default_factory=dict[str, int])
    """Microkernel -> how often one run of all public functions calls it through its slot, if ever."""

    @property
    def unit_flags(self) -> dict[str, tuple[str, ...]]:
        """File name -> what is added to the compilation of that unit."""
        found = {
            name: tuple(dict.fromkeys(flag for kernel in kernels for flag in kernel.flags))
            for name, kernels in self.unit_kernels.items()
        }
        return {name: flags for name, flags in found.items() if flags}

    @property
    def needs(self) -> tuple[str, ...]:
        """CPU features that the code of microkernels uses."""
        return tuple(sorted({need for kernel in self.kernels for need in kernel.needs}))

    def manifest(self, target: str, features: Sequence[str]) -> dict[str, Any]:
        """The artifact's manifest as JSON, without what `write_artifact` adds."""
        return {
            "name": self.prefix,
            "prefix": self.prefix,
            "target": target,
            "features": sorted({*features, *self.needs}),
            "functions": {function.name: _listing(function) for function in self.functions},
            "imports": [
                {
                    "name": slot.name,
                    **({"linked": slot.linked} if slot.linked else {}),
                    **({"reads": slot.reads} if slot.reads else {}),
                    **(_listing(slot.signature) if slot.signature else {}),
                }
                for slot in self.imports
            ],
            "loaders": ["shared-library"],
        }


_PYTHON_CALL_NS = 10_000
_C_CALL_NS = 5
"""One call through a slot, two operands: `python benchmarks/kernel_calls.py` on Zen 4."""


def registry_notes(program: CProgram) -> list[str]:
    """For each microkernel that is called through the registry in a loop, what that costs."""
    return [
        f"microkernel '{name}' is called {calls} times a run through the registry, each call about "
        f"{_PYTHON_CALL_NS / 1000:g} us to a function of Python ({calls * _PYTHON_CALL_NS / 1e6:.3g} ms "
        f"a run) and {_C_CALL_NS} ns to one of C; link it by symbol, or give it larger tiles"
        for name, calls in program.registry_calls.items()
        if calls > 1
    ]


def _listing(signature: CFunction | Signature) -> dict[str, Any]:
    def ports(every: Sequence[Port]) -> list[dict[str, Any]]:
        return [{"name": p.name, "dtype": p.dtype.name, "shape": list(p.shape)} for p in every]

    return {
        "inputs": ports(signature.inputs),
        "outputs": ports(signature.outputs),
        "workspace_bytes": signature.workspace_bytes,
    }
