"""What a quantized model loses, by layer and in its outputs, and what it gains: bytes and time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import inarch
from inarch.backends.host import Progress
from inarch.benchmark.measure import calls_of
from inarch.benchmark.results import Series
from inarch.core.cache import check_writable, replacing
from inarch.core.lazy import Array, np
from inarch.core.scratch import scratch
from inarch.driver.options import Options
from inarch.frontends.onnx.whole import whole_model
from inarch.quantization.network import Layer, apart, as_read, layers_of, showing
from inarch.quantization.samples import Samples
from inarch.quantization.settings import Made, Settings, make

if TYPE_CHECKING:
    from onnx import ModelProto

STEPS = 7
"""Of the work, as progress counts them."""


@dataclass
class Loss:
    """What was expected and how far it was missed, in sums of squares over samples."""

    signal: float = 0
    noise: float = 0

    def add(self, wanted: Array, found: Array) -> None:
        """Another sample."""
        self.signal += float(np.sum(np.square(wanted, dtype=np.float64)))
        self.noise += float(np.sum(np.square(found.astype(np.float64) - wanted)))

    @property
    def decibels(self) -> float:
        """The signal-to-noise ratio: 10 log10(sum of squares / sum of squared errors); infinite if right."""
        if not self.noise:
            return math.inf
        return 10 * math.log10(self.signal / self.noise) if self.signal else -math.inf


@dataclass
class LayerLoss:
    """Of a layer: on the float model's own values, and in the network, with all that was lost before it."""

    layer: Layer
    alone: Loss = field(default_factory=Loss)
    within: Loss = field(default_factory=Loss)


@dataclass
class OutputLoss:
    """Of an output of the model; of a vector of classes also how often the largest stays the largest."""

    name: str
    loss: Loss = field(default_factory=Loss)
    rows: int = 0
    same: int = 0

    def add(self, wanted: Array, found: Array) -> None:
        """Another sample."""
        self.loss.add(wanted, found)
        if wanted.ndim in (1, 2) and wanted.shape[-1] > 1:
            tops = [np.argmax(each.reshape(-1, each.shape[-1]), -1) for each in (wanted, found)]
            self.rows += len(tops[0])
            self.same += int(np.sum(tops[0] == tops[1]))


@dataclass
class Gains:
    """What a quantized model is beside the float model that it was made of."""

    nodes: int
    """Of the float model, once its constants are folded."""
    quantized: Mapping[str, int]
    """How many of them compute with bytes, by operator."""
    samples: int
    layers: list[LayerLoss]
    outputs: list[OutputLoss]
    sizes: tuple[int, int]
    """Bytes of both models, the float one first."""
    times: tuple[Series, Series]
    """Of a call from Python, by the clock, in nanoseconds; called in turn."""

    def worst(self, count: int) -> list[LayerLoss]:
        """The layers that lose most alone, the worst one first."""
        return sorted(self.layers, key=lambda each: each.alone.decibels)[:count]


def quantize_model(
    path: Path,
    output: Path,
    settings: Settings,
    samples: Callable[[ModelProto], tuple[Samples | None, Samples]],
    options: Options,
    *,
    rounds: int = 10,
    progress: Progress | None = None,
) -> Gains:
    """Quantizes the model in a file, writes the result to `output`, and compares the two, compiled by Inarch.

    `samples` gives, for the model, those to calibrate with (None where `settings` are dynamic) and those to
    compare with. Raises what `settings.make` and `inarch.compile` raise, and EnvironmentFault where `output`
    cannot be written.
    """
    check_writable(output)
    model = whole_model(path)
    calibration, checked = samples(model)
    before = _compiled(path, checked.shapes, options, progress, 0)
    with scratch("inarch-quantize-") as folder:
        made = make(model, calibration, settings, folder, str(path), _told(progress, 1))
    content = made.quantized.SerializeToString()
    layers, outputs = _compared(made, checked, options, progress)
    after = _compiled(made.quantized, checked.shapes, options, progress, 6)
    times = _times(before, after, next(iter(checked)), rounds, progress)
    with replacing(output) as file:
        file.write(content)
    kinds: dict[str, int] = {}
    of = {node.name: node.op_type for node in made.plain.graph.node}
    for name in made.nodes:
        kinds[of[name]] = kinds.get(of[name], 0) + 1
    return Gains(
        len(made.plain.graph.node),
        kinds,
        len(checked),
        layers,
        outputs,
        (model.ByteSize(), len(content)),
        times,
    )


def _told(progress: Progress | None, step: int) -> Progress | None:
    """Of one step of the work, whatever it counts itself."""
    if progress is None:
        return None
    return lambda what, done, total: progress(
        f"{what} {done} of {total}" if total else what, step, STEPS
    )


def _compared(
    made: Made, samples: Samples, options: Options, progress: Progress | None
) -> tuple[list[LayerLoss], list[OutputLoss]]:
    """The losses of layers and of outputs, over all samples."""
    layers = [LayerLoss(layer) for layer in layers_of(made)]
    outputs = [OutputLoss(port.name) for port in made.plain.graph.output]
    values = [each.layer.value for each in layers]
    ends = [each.name for each in outputs]
    every = list(dict.fromkeys([*_of_both(made), *ends]))
    plain = _compiled(showing(made.plain, every), samples.shapes, options, progress, 2)
    shown = [*as_read(made.quantized, values), *ends]
    whole = _compiled(showing(made.quantized, shown), samples.shapes, options, progress, 3)
    alone: Run | None = None
    for number, sample in enumerate(samples):
        wanted = dict(zip(every, plain(sample), strict=True))
        known = {**wanted, **sample}
        if alone is None:
            floats = {name: each for name, each in wanted.items() if each.dtype == np.float32}
            model = apart(made, floats, values)
            shapes = {port.name: known[port.name].shape for port in model.graph.input}
            alone = _compiled(model, shapes, options, progress, 4)
        if progress is not None:
            progress(f"compare sample {number + 1} of {len(samples)}", 5, STEPS)
        found = whole(sample)
        for each, one, other in zip(layers, alone(known), found, strict=False):
            each.alone.add(wanted[each.layer.value], one)
            each.within.add(wanted[each.layer.value], other)
        for end, other in zip(outputs, found[len(values) :], strict=True):
            end.add(wanted[end.name], other)
    return layers, outputs


def _of_both(made: Made) -> list[str]:
    """The values that nodes of both models make."""
    kept = {name for node in made.quantized.graph.node for name in node.output}
    return [name for node in made.plain.graph.node for name in node.output if name in kept]


Run = Callable[[Mapping[str, Array]], Sequence[Array]]


def _compiled(
    model: Path | ModelProto,
    shapes: Mapping[str, Sequence[int]],
    options: Options,
    progress: Progress | None,
    step: int,
) -> Run:
    """A model for inputs of these shapes: a function from them, by name, to its outputs, in order."""
    module = inarch.compile(model, options, shapes=shapes, progress=_told(progress, step))
    return lambda inputs: list(module.run({name: inputs[name] for name in shapes}).values())


def _times(
    before: Run,
    after: Run,
    sample: Mapping[str, Array],
    rounds: int,
    progress: Progress | None,
) -> tuple[Series, Series]:
    """Of calls of both on a sample, in turn."""
    found = (Series(), Series())
    runs = (before, after)
    for run in runs:
        run(sample)
    counts = [calls_of(_nanoseconds(run, sample, 1)) for run in runs]
    for number in range(rounds):
        if progress is not None:
            progress(f"measure, round {number + 1} of {rounds}", 6, STEPS)
        for run, series, count in zip(runs, found, counts, strict=True):
            series.values.append(_nanoseconds(run, sample, count))
    return found


def _nanoseconds(run: Run, sample: Mapping[str, Array], count: int) -> float:
    begin = time.perf_counter_ns()
    for _ in range(count):
        run(sample)
    return (time.perf_counter_ns() - begin) / count
