"""Inarch as an ONNX backend (`onnx.backend.base`), for the standard test suite and tools that take one.

    outputs = inarch.onnx_backend.prepare(model).run([image])

A model that leaves sizes open, or computes shapes from its inputs (axes, pads, sizes), is compiled for those
that it is run with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from onnx import ModelProto, NodeProto
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
from inarch.core.lazy import Array, np
from inarch.driver.compile import compile as compile_model
from inarch.driver.open_model import OpenModule
from inarch.frontends.open import OpenSizesError


class InarchRep(BackendRep):
    """A compiled model; one that leaves sizes open is compiled for those that it is run with."""

    def __init__(self, model: ModelProto, target: str = "native") -> None:
        constants = {proto.name for proto in model.graph.initializer}
        self._inputs = [info.name for info in model.graph.input if info.name not in constants]
        self._module = compile_model(model, target=target)

    @property
    def deciding(self) -> tuple[str, ...]:
        """Inputs whose values are sizes: read at each run, and compiled for."""
        return self._module.deciding if isinstance(self._module, OpenModule) else ()

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Array, ...]:
        """The outputs for inputs in the model's order (or by name, or a single array).

        Raises ArgumentError when inputs are missing or do not fit, UnsupportedError when the model
        needs what Inarch does not do.
        """
        return tuple(self._module.run(self._arrays(inputs)).values())

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


class InarchBackend(Backend):
    """`onnx.backend.base.Backend` over `inarch.compile`; the one device is the CPU."""

    @classmethod
    def is_compatible(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> bool:  # noqa: ARG003
        """Whether `model` can be imported, as far as that can be told without its inputs' shapes."""
        from inarch.dialects import new_context
        from inarch.frontends.onnx import import_onnx

        if not cls.supports_device(device):
            return False
        try:
            import_onnx(model, new_context())
        except OpenSizesError:
            return True
        except UnsupportedError as error:
            return bool(error.deciding)
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


prepare = InarchBackend.prepare
run_node = InarchBackend.run_node
supports_device = InarchBackend.supports_device
