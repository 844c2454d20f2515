"""What a script may do with a session: each step is drawn once, and done with either library."""

# Onnxruntime is untyped:
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from inarch.testing.onnxruntime_calls.failures import FAILURES
from inarch.testing.onnxruntime_calls.given import Array, Given, options_of, run_options


@dataclass
class State:
    """What a script has at hand, of one library."""

    library: Any
    session: Any = None
    binding: Any = None
    ran: bool = False
    """Whether the bound arrays ran without a copy."""
    values: list[Any] = field(default_factory=list[Any])
    kept: list[Array] = field(default_factory=list[Array])
    """Memory that is bound."""


Step = Callable[[State], Any]
Drawn = tuple[str, Step]
"""What it is, for people; what it does."""


class Drawing(Given):
    """Steps at random."""

    # -------------------------------------------------------------------------------- sessions

    def session(self) -> Drawn:
        """Makes a session."""
        (name, model), providers, settings = self.model(), self.providers(), self.options()
        more: dict[str, Any] = self.one([
            {}, {}, {}, {"provider_options": [{}]}, {"provider_options": [{}, {}]}, {"provider_options": {}},
            {"disabled_optimizers": ["ConstantFolding"]}, {"enable_fallback": False}, {"nothing": 1},
            {"read_config_from_model": 0}, {"provider_options": [3]},
        ])  # fmt: skip
        is_given = self.chance(0.5) or bool(settings)
        other = None if is_given or self.chance(0.8) else 3

        def step(at: State) -> Any:
            options = options_of(at.library, settings) if is_given else other
            with redirect_stdout(io.StringIO()):  # what it falls back to is printed
                at.session = at.library.InferenceSession(model, options, providers, **more)
            at.binding = None
            return at.session.get_providers()

        return f"InferenceSession({name}, {settings}, {providers}, {more})", step

    def setting(self) -> Drawn:
        """Sets options, and reads one."""
        settings = [*self.options(), *self.options()]

        def step(at: State) -> Any:
            options = options_of(at.library, settings)
            return [str(getattr(options, name)) for name in READ]

        return f"SessionOptions {settings}", step

    def asked(self) -> Drawn:
        """What a session says of itself."""
        ask: str = self.one([
            "get_inputs", "get_outputs", "get_overridable_initializers", "get_modelmeta", "get_providers",
            "get_provider_options", "get_session_options", "enable_fallback", "disable_fallback",
            "set_providers", "set_providers", "nothing",
        ])  # fmt: skip
        given = [self.providers()] if ask == "set_providers" and self.chance(0.7) else []
        path = self.subject.path

        def step(at: State) -> Any:
            if ask != "set_providers":
                return said_of(getattr(at.session, ask)())
            at.binding, at.ran = None, False  # which makes another session there
            try:
                return said_of(at.session.set_providers(*given))
            except Exception:
                at.session = at.library.InferenceSession(path)  # which is of no use there after it
                raise

        return f"{ask}{given}", step

    # -------------------------------------------------------------------------------- runs

    def run(self) -> Drawn:
        """Runs it, mostly in a right way."""
        (said, feed), wanted, kind = self.feed(), self.wanted(), self.one(RUNS)
        more = {} if self.chance(0.8) else self.one(RUN_OPTIONS)

        def step(at: State) -> Any:
            given = dict(feed)
            options = [] if not more else [run_options(at.library, more)]
            if kind == "run":
                return at.session.run(wanted, given, *options)
            if kind == "threads":
                with ThreadPoolExecutor(4) as pool:
                    return [*pool.map(lambda _: at.session.run(wanted, given), range(4))]
            make = at.library.OrtValue.ortvalue_from_numpy
            values = {name: make(array) for name, array in given.items()}
            if kind == "values as inputs":
                return at.session.run(wanted, values, *options)
            found = at.session.run_with_ort_values(wanted, values, *options)
            return [said_of(one) for one in found]

        return f"{kind}({wanted}, {{{said}}}, {more})", step

    # -------------------------------------------------------------------------------- bindings, values

    def bound(self) -> Drawn:
        """Binds, or runs the bound arrays."""
        what: str = self.one([
            "bind_cpu_input", "bind_cpu_input", "bind_input", "bind_ortvalue_input", "bind_output",
            "bind_output", "bind_output at", "bind_ortvalue_output", "run", "run",
            "run", "clear_binding_inputs",
            "clear_binding_outputs", "get_outputs", "copy_outputs_to_cpu", "all", "all", "all", "new",
            "synchronize_inputs", "get_outputs_as_ortvaluevector",
        ])  # fmt: skip
        wrong = self.chance(0.1)
        name = self.one(list(self.subject.inputs) or ["nothing"]) if not wrong else "nothing"
        output = self.one(list(self.subject.outputs)) if not wrong else "nothing"
        how, array = self.array(self.subject.inputs.get(name, np.zeros(1, np.float32)))
        out = self.subject.outputs.get(output, np.zeros(1, np.float32))
        out_kind = out.dtype if self.chance(0.9) else np.dtype(np.int32)
        shape = list(out.shape) if self.chance(0.9) else [*out.shape, 2]
        device = self.one(["cpu"] * 6 + ["CPU", "cuda", "nothing"])
        every = [(one, self.subject.inputs[one]) for one in self.subject.inputs]

        def whole(at: State) -> Any:
            for one, given in every:
                at.binding.bind_cpu_input(one, given)
            at.binding.bind_output(output)
            at.session.run_with_iobinding(at.binding)
            return [said_of(one) for one in at.binding.get_outputs()]

        def ran(at: State) -> Any:
            at.session.run_with_iobinding(at.binding)
            return at.binding.copy_outputs_to_cpu()

        def value(at: State, of: Any) -> Any:
            return at.library.OrtValue.ortvalue_from_numpy(of)

        def kept(at: State, of: Any) -> Any:
            at.kept.append(np.ascontiguousarray(of))
            return at.kept[-1]

        def read(at: State) -> Any:
            own = kept(at, array)
            place = (device, 0, own.dtype, own.shape, own.ctypes.data)
            return at.binding.bind_input(name, *place)

        def written(at: State) -> Any:
            place = (device, 0, out_kind, shape, kept(at, np.zeros(shape, out_kind)).ctypes.data)
            return at.binding.bind_output(output, *place)

        ways: dict[str, Step] = {
            "bind_cpu_input": lambda at: at.binding.bind_cpu_input(name, array),
            "bind_input": read,
            "bind_ortvalue_input": lambda at: at.binding.bind_ortvalue_input(
                name, value(at, array)
            ),
            "bind_output": lambda at: at.binding.bind_output(output, device),
            "bind_output at": written,
            "bind_ortvalue_output": lambda at: at.binding.bind_ortvalue_output(
                output, value(at, np.zeros(shape, out_kind))
            ),
            "run": ran,
            "all": whole,
            "new": lambda at: setattr(at, "binding", None),
        }

        def step(at: State) -> Any:
            at.binding = at.binding or at.session.io_binding()
            if what in READS and not at.ran:
                return None  # which crashes onnxruntime
            at.ran = what in READS
            found = said_of(ways.get(what, lambda at: getattr(at.binding, what)())(at))
            at.ran = at.ran or what in ("run", "all")
            return found

        return f"binding.{what}({name}, {output}, {how}, {device}, {shape})", step

    def value(self) -> Drawn:
        """Makes an OrtValue, or asks one."""
        how, array = self.array(
            self.one([*self.subject.inputs.values(), np.zeros((2, 0), np.float32)])
        )
        shape = self.one([[2, 3], (2, 3), [], [0], [-1], ["a"], 3, [2.0], None, np.array([2, 3])])
        kind = self.one(
            [
                np.float32,
                np.dtype("int64"),
                "float32",
                1,
                7,
                8,
                9,
                10,
                16,
                99,
                0,
                -1,
                float,
                str,
                None,
            ]
        )
        device = self.one(["cpu"] * 8 + ["CPU", "cuda", "nothing"])
        number = self.one([1, 7, 10, 11, 6, 0, 99, "1"])
        ask = self.one([*ASKED, "nothing"])
        make = self.one(
            ["of array", "of array", "of shape", "ask", "ask", "ask", "ask", "update", "more"]
        )

        def step(at: State) -> Any:
            values = at.library.OrtValue
            if make == "of array":
                at.values = [values.ortvalue_from_numpy(array, device)]
            elif make == "of shape":
                made = values.ortvalue_from_shape_and_type(shape, kind, device)
                return made.shape(), made.data_type(), made.element_type()
            elif make == "update" and at.values:
                at.values[0].update_inplace(array)
            elif make == "more":
                given = np.ascontiguousarray(array) if isinstance(array, np.ndarray) else array
                return said_of(values.ortvalue_from_numpy_with_onnx_type(given, number))
            elif at.values:
                return said_of(getattr(at.values[0], ask)())
            return [said_of(one) for one in at.values]

        return f"OrtValue {make} ({how}, {shape}, {kind}, {device}, {ask})", step

    def rest(self) -> Drawn:
        """What else programs do."""
        what = self.one(
            [
                "pickle session",
                "pickle value",
                "pickle options",
                "names",
                "device",
                "gone",
                "failure",
            ]
        )
        failure = self.one(list(FAILURES))
        if what == "failure":
            return f"{what}: {failure}", FAILURES[failure].step()

        def step(at: State) -> Any:
            match what:
                case "pickle session":
                    return said_of(pickle.loads(pickle.dumps(at.session)).get_inputs())
                case "pickle value":
                    value = at.library.OrtValue.ortvalue_from_numpy(np.zeros(2, np.float32))
                    return pickle.loads(pickle.dumps(value)).shape()
                case "pickle options":
                    return pickle.loads(pickle.dumps(at.library.SessionOptions())).logid
                case "device":
                    device = at.library.OrtDevice.make("cpu", 0)
                    return device.device_id(), device.device_type()
                case "gone":
                    return at.library.nothing
                case _:
                    return at.library.get_device(), at.library.__version__

        return what, step

    def step(self) -> Drawn:
        """Any."""
        ways = (
            [self.run] * 8 + [self.bound] * 6 + [self.value] * 4 + [self.asked] * 2
            + [self.setting] * 2 + [self.session] * 2 + [self.rest]
        )  # fmt: skip
        return self.one(ways)()


READ = (
    "intra_op_num_threads", "inter_op_num_threads", "log_severity_level", "log_verbosity_level", "logid",
    "graph_optimization_level", "execution_mode", "enable_mem_pattern", "enable_cpu_mem_arena",
    "enable_profiling", "profile_file_prefix", "use_deterministic_compute", "execution_order",
    "optimized_model_filepath", "enable_mem_reuse",
)  # fmt: skip
READS = ("get_outputs", "copy_outputs_to_cpu", "get_outputs_as_ortvaluevector")
RUNS = ("run",) * 8 + ("threads", "values", "values", "values as inputs")
RUN_OPTIONS: Sequence[Mapping[str, Any]] = (
    {"logid": "a"}, {"log_severity_level": 4}, {"terminate": True}, {"nothing": 1}, {"is": 3},
    {"log_verbosity_level": "x"}, {"only_execute_path_to_fetches": True},
)  # fmt: skip
ASKED = (
    "numpy", "shape", "data_type", "element_type", "device_name", "is_tensor", "has_value",
    "is_tensor_sequence", "is_sparse_tensor", "tensor_size_in_bytes", "__array__", "__dlpack_device__",
)  # fmt: skip


def said_of(found: Any) -> Any:
    """A value of a library as plain data."""
    if isinstance(found, list | tuple):
        return [said_of(one) for one in found]
    if hasattr(found, "custom_metadata_map"):
        names = (
            "producer_name",
            "graph_name",
            "domain",
            "description",
            "version",
            "custom_metadata_map",
        )
        return [getattr(found, name) for name in (*names, "graph_description")]
    if hasattr(found, "ortvalue_from_numpy"):
        return found.shape(), found.data_type(), found.element_type(), found.numpy()
    if hasattr(found, "type") and hasattr(found, "name"):
        return found.name, found.type, found.shape, str(found)
    if hasattr(found, "graph_optimization_level"):
        return found.logid
    return found
