"""One function for several sizes of a model's open dimensions: a call takes the one that fits its arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from inarch.core.errors import ArgumentError
from inarch.core.lazy import np
from inarch.runtime.calls.bound import in_order

if TYPE_CHECKING:
    from inarch.runtime.function import Function


class Fits:
    """The functions by the shapes of their inputs, the first one's sizes first."""

    def __init__(self, every: Sequence[tuple[Function, Mapping[str, int]]]) -> None:
        self._every = [(function, dict(sizes)) for function, sizes in every]
        self._by_shapes: dict[tuple[tuple[int, ...] | None, ...], Function] = {}
        for function, _ in self._every:
            shapes = tuple(port.shape for port in function.signature.inputs)
            self._by_shapes.setdefault(shapes, function)

    @property
    def sizes(self) -> tuple[Mapping[str, int], ...]:
        """Of each function: its sizes by the names of dimensions."""
        return tuple(dict(sizes) for _, sizes in self._every)

    @property
    def functions(self) -> tuple[Function, ...]:
        """Those of all sizes."""
        return tuple(function for function, _ in self._every)

    def find(self, name: str, values: Sequence[object]) -> Function | None:
        """The function for arguments of these shapes.

        None where their number is wrong, or there is only one, and it does not fit: `name` says why.
        Raises ArgumentError with the sizes that there are.
        """
        ports = self._every[0][0].signature.inputs
        if len(values) != len(ports):
            return None
        shapes = tuple(_shape_of(value) for value in values)
        found = self._by_shapes.get(shapes)
        if found is not None or any(shape is None for shape in shapes):
            return found
        known = "; ".join(said(sizes) for sizes in self.sizes)
        for at, (port, shape) in enumerate(zip(ports, shapes, strict=True)):
            there = dict.fromkeys(each[at] for each in self._by_shapes)
            if shape not in there:
                if len(there) == 1 and not self._is_open(at):
                    return None
                wanted = " or ".join(str(list(each or ())) for each in there)
                raise ArgumentError(
                    f"{name}: argument '{port.name}': expected {port.dtype.name} of shape {wanted}, found "
                    f"{list(shape or ())}; the code is for {known}: compile the model for this size, too "
                    "(--specialize, or --dim)"
                )
        listed = ", ".join(
            f"'{port.name}' of {list(shape or ())}"
            for port, shape in zip(ports, shapes, strict=True)
        )
        raise ArgumentError(
            f"{name}: expected sizes that go together ({known}), found {listed}; compile the model for "
            "these, too (--specialize, or --dim)"
        )

    def _is_open(self, at: int) -> bool:
        """Whether the shape of that input may be one of another size."""
        sizes = {size for each in self.sizes for size in each.values()}
        return any(size in sizes for size in self._every[0][0].signature.inputs[at].shape)

    def given(
        self, sizes: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]]
    ) -> Function | None:
        """The first function of these sizes, and of inputs of these shapes; None where there is none."""
        return next((function for function, _ in self._matching(sizes, shapes)), None)

    def named(
        self, name: str, sizes: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]]
    ) -> Function:
        """The one function of these sizes, and of inputs of these shapes.

        Raises ArgumentError, with the sizes that there are, for an unknown name, and where there is no such
        function or several.
        """
        known = "; ".join(said(each) for each in self.sizes)
        for size in sizes:
            if not any(size in each for each in self.sizes):
                raise ArgumentError(f"{name}: no size '{size}'; the code is for {known}")
        found = self._matching(sizes, shapes)
        if len(found) == 1:
            return found[0][0]
        if not found:
            raise ArgumentError(
                f"{name}: expected sizes that there is code for ({known}), found {said(sizes)}; compile the "
                "model for these, too (--specialize, or --dim)"
            )
        several = "; ".join(said(own) for _, own in found)
        raise ArgumentError(
            f"{name}: expected the sizes of one function, found {said(sizes)}, which are those of several "
            f"({several}); give the others, too"
        )

    def _matching(
        self, sizes: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]]
    ) -> list[tuple[Function, dict[str, int]]]:
        found: list[tuple[Function, dict[str, int]]] = []
        for function, own in self._every:
            ports = {port.name: port.shape for port in function.signature.inputs}
            if all(own.get(name) == size for name, size in sizes.items()) and all(
                ports.get(name) == shape for name, shape in shapes.items()
            ):
                found.append((function, own))
        return found

    def plans(self, name: str) -> Any:
        """What compiled calls try where `name` does not fit: the others, one behind the other."""
        plan: Any = None
        for function, _ in reversed(self._every):
            if function.name != name:
                plan = function.plan_of(in_order(function.signature, plan)) or plan
        return plan

    def with_threads(self, threads: int) -> Function:
        """The first function, and with it the others, run by at most so many threads."""
        first, *rest = [
            (function.alone().with_threads(threads), sizes) for function, sizes in self._every
        ]
        first[0].fits = Fits([(first[0].alone(), first[1]), *rest])
        return first[0]


def said(sizes: Mapping[str, int]) -> str:
    """`batch=1, seq=128`."""
    return ", ".join(f"{name}={size}" for name, size in sizes.items())


def _shape_of(value: object) -> tuple[int, ...] | None:
    shape = getattr(value, "shape", None)
    if shape is None:
        return np.shape(value) if isinstance(value, int | float) else None
    return tuple(shape)
