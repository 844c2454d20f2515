"""Inarch as an ONNX backend (`onnx.backend.base`), for the standard test suite and tools that take one.

    outputs = inarch.onnx_backend.prepare(model).run([image])

Compiled once a combination of input shapes, when they are first seen. A model that computes shapes
from its inputs (axes, pads, sizes) is also specialised on those inputs' values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from onnx import ModelProto, NodeProto, TensorProto
from onnx.backend.base import Backend, BackendRep
from onnx.helper import (
    make_empty_tensor_value_info,
    make_graph,
    make_model,
    make_operatorsetid,
    make_tensor_value_info,
    np_dtype_to_tensor_dtype,
)

from inarch.core.errors import ArgumentError, InarchError, UnsupportedError
from inarch.core.lazy import np
from inarch.driver.compiler import compile as compile_model
from inarch.frontends.report import AT_RUN_TIME

if TYPE_CHECKING:
    from inarch.runtime.module import Module

    Array = np.ndarray[Any, Any]

MAX_SPECIALISED = 64
"""Inputs of at most this many elements, and of rank 0 or 1, may be specialised on: the integers, and
where these are not enough (scales are floats), all."""


class InarchRep(BackendRep):
    """A model, and what it was compiled to for the shapes seen so far."""

    def __init__(self, model: ModelProto, target: str = "native") -> None:
        constants = {proto.name for proto in model.graph.initializer}
        self._model = model
        self._target = target
        self._inputs = [info.name for info in model.graph.input if info.name not in constants]
        self._modules: dict[object, Module] = {}
        self._specialised: list[str] = []
        """Inputs on whose values modules depend."""
        if _is_static(model, self._inputs):
            self._compile_static()

    @property
    def specialised(self) -> tuple[str, ...]:
        """Inputs whose values were compiled in, as `inarch.compile` does of its `values`.

        A model that needs that is compiled again for each value.
        """
        return tuple(self._specialised)

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Array, ...]:
        """The outputs for inputs in the model's order (or by name, or a single array).

        Raises ArgumentError when inputs are missing or do not fit, UnsupportedError when the model
        needs what Inarch does not do.
        """
        arrays = self._arrays(inputs)
        module = self._module(arrays)
        feeds = {name: array for name, array in arrays.items() if name not in self._specialised}
        found = module.run(feeds)
        return tuple(found[name] for name in found)

    def _arrays(self, inputs: Any) -> dict[str, Array]:
        if isinstance(inputs, Mapping):
            given = dict(cast("Mapping[str, object]", inputs))
        else:
            values = cast("list[object]", [inputs] if hasattr(inputs, "shape") else list(inputs))
            if len(values) != len(self._inputs):
                raise ArgumentError(f"expected {len(self._inputs)} inputs, found {len(values)}")
            given = dict(zip(self._inputs, values, strict=True))
        if set(given) != set(self._inputs):
            wanted, found = (", ".join(names) or "none" for names in (self._inputs, given))
            raise ArgumentError(f"expected inputs {wanted}; found {found}")
        for name, value in given.items():
            if isinstance(value, list | tuple | dict) or value is None:
                kind = type(cast("object", value)).__name__
                raise UnsupportedError(f"input '{name}' is a {kind}; only tensors are supported")
        return {name: np.asarray(given[name]) for name in self._inputs}

    def _compile_static(self) -> None:
        """Compiles at once, so that what is unsupported shows early."""
        shapes = {
            info.name: tuple(dim.dim_value for dim in info.type.tensor_type.shape.dim)
            for info in self._model.graph.input
            if info.name in self._inputs
        }
        try:
            self._modules[_key(shapes, [])] = self.build(self._model, shapes)
        except UnsupportedError as error:
            if AT_RUN_TIME not in str(error):
                raise

    def _module(self, arrays: Mapping[str, Array]) -> Module:
        shapes = {name: array.shape for name, array in arrays.items()}
        key = _key(shapes, [arrays[name] for name in self._specialised])
        if key in self._modules:
            return self._modules[key]
        module = self._compile_specialised(arrays)
        key = _key(shapes, [arrays[name] for name in self._specialised])
        self._modules[key] = module
        return module

    def _compile_specialised(self, arrays: Mapping[str, Array]) -> Module:
        """The module for these inputs; on more of their values, as long as some are asked for."""
        refused = UnsupportedError("")
        for kinds in ("", "iub", "iubf"):
            names = [name for name in self._inputs if _may_say_shapes(arrays[name], kinds)]
            if kinds and len(names) <= len(self._specialised):
                continue
            self._specialised = names if kinds else self._specialised
            try:
                return self._compile(arrays)
            except UnsupportedError as error:
                if AT_RUN_TIME not in str(error):
                    raise
                refused = error
        raise refused

    def _compile(self, arrays: Mapping[str, Array]) -> Module:
        values = {name: arrays[name] for name in self._specialised}
        shapes = {name: array.shape for name, array in arrays.items() if name not in values}
        return self.build(self._model, shapes, values)

    def build(
        self,
        model: ModelProto,
        shapes: Mapping[str, Sequence[int]],
        values: Mapping[str, Array] | None = None,
    ) -> Module:
        """What runs the model for these shapes, and these values, of its inputs: compiled, in this class."""
        return compile_model(model, shapes=shapes, values=values, target=self._target)


class InarchBackend(Backend):
    """`onnx.backend.base.Backend` over `inarch.compile`; the one device is the CPU."""

    @classmethod
    def is_compatible(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> bool:  # noqa: ARG003
        """Whether `model` can be imported, as far as that can be told without its inputs' shapes."""
        from inarch.dialects import new_context
        from inarch.frontends.onnx import import_onnx

        constants = {proto.name for proto in model.graph.initializer}
        names = [info.name for info in model.graph.input if info.name not in constants]
        if not cls.supports_device(device):
            return False
        if not _is_static(model, names):
            return True
        try:
            import_onnx(model, new_context())
        except UnsupportedError as error:
            return AT_RUN_TIME in str(error)
        except InarchError:
            return False
        return True

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> InarchRep:
        """The model ready to run; compiled already when its shapes are static.

        `target` (default: native) is passed on to `inarch.compile`. Raises UnsupportedError (a
        NotImplementedError) for what Inarch does not do.
        """
        if not cls.supports_device(device):
            raise UnsupportedError(f"device '{device}' is not supported; supported: CPU")
        return InarchRep(model, str(kwargs.get("target", "native")))

    @classmethod
    def run_node(
        cls,
        node: NodeProto,
        inputs: Sequence[Any],
        device: str = "CPU",
        outputs_info: Sequence[tuple[Any, tuple[int, ...]]] | None = None,  # noqa: ARG003
        **kwargs: Any,
    ) -> tuple[Array, ...]:
        """The outputs of one node on these inputs; `opset_version` defaults to the newest."""
        arrays = [np.asarray(value) for value in inputs]
        infos = [
            make_tensor_value_info(name, np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in zip([n for n in node.input if n], arrays, strict=True)
        ]
        outputs = [make_empty_tensor_value_info(name) for name in node.output if name]
        graph = make_graph([node], "node", infos, outputs)
        version = kwargs.get("opset_version")
        imports = [] if version is None else [make_operatorsetid("", int(version))]
        model = make_model(graph, **({"opset_imports": imports} if imports else {}))
        return cls.prepare(model, device).run(arrays)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether `device` is the CPU."""
        return device.partition(":")[0] == "CPU"


def _is_static(model: ModelProto, names: Sequence[str]) -> bool:
    """Whether all inputs have shapes with nothing to bind."""
    kinds = [info.type.tensor_type for info in model.graph.input if info.name in names]
    return all(
        kind.elem_type != TensorProto.UNDEFINED
        and kind.HasField("shape")
        and all(dim.dim_value > 0 for dim in kind.shape.dim)
        for kind in kinds
    )


def _may_say_shapes(array: Array, kinds: str) -> bool:
    return array.ndim <= 1 and array.size <= MAX_SPECIALISED and array.dtype.kind in kinds


def _key(shapes: Mapping[str, Sequence[int]], values: Sequence[Array]) -> object:
    """What modules are told apart by: shapes, and the values of specialised inputs."""
    return (
        tuple((name, tuple(shape)) for name, shape in shapes.items()),
        tuple(value.tobytes() for value in values),
    )


prepare = InarchBackend.prepare
run_node = InarchBackend.run_node
supports_device = InarchBackend.supports_device
