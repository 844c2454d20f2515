"""What a compilation is asked for: one value, through the library and the commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, cast

from inarch.core.errors import UsageError, unknown

if TYPE_CHECKING:
    from inarch.driver.offload import Offload
    from inarch.driver.sizes import Sets
    from inarch.machine.machine import Machine
    from inarch.offload.backend import Backend, Instance
    from inarch.pipeline.pipeline import Pipeline

DEFAULT_HOST = "c"
"""Who compiles where nobody is named."""


class Settings(TypedDict, total=False):
    """The fields of `Options`, as `compile(source, target="generic")` takes them."""

    shapes: Mapping[str, Sequence[int]] | None
    dims: Mapping[str, int] | None
    values: Mapping[str, object] | None
    specialize: Sets
    host: str
    target: str
    machine: str | Machine | None
    name: str | None
    backends: Sequence[str | Backend | Instance]
    backend_options: Mapping[str, Mapping[str, object]] | None
    require_offload: bool
    give: Sequence[str]
    keep: Sequence[str]
    fallback: str
    measure_regions: bool
    microkernels: Sequence[str]
    without: Sequence[str]
    algorithms: Sequence[str]
    numerics: str
    precision: str
    measure: bool
    records: Sequence[str | Path]
    schedule: str | Path | None
    checked: bool
    pipeline: Pipeline | str | None
    places: Mapping[str, str]
    verify_each: bool
    verify_semantics: int | None
    threads: int
    metadata: Mapping[str, str]
    relocatable: bool
    embed: bool
    jobs: int | None
    timeout: float


_KEYED, _ONLY_HOW = {"kept": "by value"}, {"kept": "anyway"}
"""Of a field: what the cache keeps is addressed by its value; or it says how a compilation runs, and changes
nothing of what it makes. With an unmarked one that is given, nothing is kept."""


@dataclass(frozen=True)
class Options:
    """How a model is compiled; every field has the value that most want."""

    shapes: Mapping[str, Sequence[int]] | None = field(default=None, metadata=_KEYED)
    """Shapes of inputs, by name."""
    dims: Mapping[str, int] | None = field(default=None, metadata=_KEYED)
    """Values of symbolic dimensions, by name."""
    values: Mapping[str, object] | None = field(default=None, metadata=_KEYED)
    """Values of inputs that are always the same, by name: arrays, or numbers. They become constants."""
    specialize: Sets = field(default=(), metadata=_KEYED)
    """Sizes of symbolic dimensions, by name: `{"batch": [1, 8], "seq": [128]}`, or a list of sets of them.

    The artifact has code for each combination; a call takes what fits its arrays."""
    host: str = DEFAULT_HOST
    """Who compiles what no backend takes."""
    target: str = field(default="native", metadata=_KEYED)
    """`native`, or a name such as `x86-64-v3`; `x86-64-v2,x86-64-v3`: one artifact with code for both."""
    machine: str | Machine | None = None
    """Whose caches and ports choices are made for: a name, or the path of a file.

    None: the target's own; for `native` this computer, as `inarch machine --measure` has measured it, or as
    the machine whose file names its CPU."""
    name: str | None = field(default=None, metadata=_KEYED)
    """The prefix of every symbol; None: the model's."""
    backends: Sequence[str | Backend | Instance] = field(default=(), metadata=_KEYED)
    """Who takes what it can, the first one first; the host compiles the rest.

    Names, instances (`"big=npu:array=32"`, `npu.configure("big", array=32)`) and backends without a file."""
    backend_options: Mapping[str, Mapping[str, object]] | None = field(
        default=None, metadata=_KEYED
    )
    """Backend, or the name of an instance -> option -> value."""
    require_offload: bool = field(default=False, metadata=_KEYED)
    """A backend that gets nothing is an error instead of a warning."""
    give: Sequence[str] = field(default=(), metadata=_KEYED)
    """`SELECTOR=backend`: ops that it must take."""
    keep: Sequence[str] = field(default=(), metadata=_KEYED)
    """`SELECTOR=backend`: ops that it must not get."""
    fallback: str = field(default="", metadata=_KEYED)
    """`host`: the artifact keeps the host's version of each part, for when a device is missing or fails."""
    measure_regions: bool = False
    """What a backend may take is run, there and by the host, and stays with the host where that is faster.

    For backends whose device is there; without it they and the host estimate."""
    microkernels: Sequence[str] = field(default=(), metadata=_KEYED)
    """Those that must be used, the first one preferred: one that cannot is an error.

    `"my-gemm{MR=6}"`: only its members with these parameters."""
    without: Sequence[str] = ()
    """Microkernels and templates that nothing may use."""
    algorithms: Sequence[str] = ()
    """`SELECTOR=algorithm`: ops that are computed by it, wherever it applies (docs/algorithms.md)."""
    numerics: str = "bounded"
    """Which algorithms the compiler may choose: `strict`, the ops' own; `bounded`, also algorithms with a
    proved error bound that is no larger; `fast`, also algorithms with a statistical bound."""
    precision: str = field(default="f32", metadata=_KEYED)
    """What products and convolutions of f32 may round their factors to: `bf16` or `f16`. Sums are in f32."""
    measure: bool = True
    """Calls of kernels that state no cost are measured, once on each machine; else they are estimated."""
    records: Sequence[str | Path] = ()
    """Files of records (`inarch tune`): nests that have one are done as was measured to be the fastest."""
    schedule: str | Path | None = None
    """The file that says how loops are transformed by hand (docs/schedules.md)."""
    checked: bool = field(default=False, metadata=_KEYED)
    """A call fails when an offloaded or imported function leaves an output unwritten."""
    pipeline: Pipeline | str | None = field(default=None, metadata=_KEYED)
    """What runs, as an object or text; None: the pipeline of every compilation, with the passes of others."""
    places: Mapping[str, str] = field(default_factory=dict[str, str], metadata=_KEYED)
    """Pass -> where it runs, `after prepare`; not with a `pipeline` of one's own."""
    verify_each: bool = False
    """Verify what each pass of ours has changed, too; those of others, and what all have made, always are."""
    verify_semantics: int | None = None
    """With a seed, run the program after each pass, and at last compiled, on random inputs."""
    threads: int = field(default=0, metadata=_KEYED)
    """By at most how many threads a call runs; 0: the one who calls says, 1: no loop is shared among any."""
    metadata: Mapping[str, str] = field(default_factory=dict[str, str], metadata=_KEYED)
    """What the artifact is to say of itself besides, by name; `inarch inspect` shows it."""
    relocatable: bool = False
    """Libraries of others are found by name alone: no path of this machine is recorded."""
    embed: bool = False
    """Libraries of others are stored in the artifact."""
    jobs: int | None = field(default=None, metadata=_ONLY_HOW)
    """How many C compilers run at once; None: as many as this process may use CPUs."""
    timeout: float = field(default=600.0, metadata=_ONLY_HOW)
    """The seconds that each of them may take."""

    @staticmethod
    def of(options: Options | None, settings: Settings) -> Options:
        """`options` with `settings`. Raises UsageError for a setting that does not exist."""
        known = [each.name for each in fields(Options)]
        for name in settings:
            if name not in known:
                raise unknown("option", name, known)
        changes: dict[str, Any] = {**settings}
        return replace(options or Options(), **changes)

    def given(self) -> Settings:
        """The settings that are not what most want."""
        usual = Options()
        found = {
            each.name: value
            for each in fields(self)
            if (value := getattr(self, each.name)) not in (getattr(usual, each.name), [], {})
        }
        return cast("Settings", found)

    def offload(self) -> Offload:
        """What backends are asked for."""
        from inarch.driver.offload import Offload

        return Offload(
            self.backends,
            self.backend_options or {},
            self.require_offload,
            self.give,
            self.keep,
            self.fallback,
            self.measure_regions,
        )

    def passes(self) -> Pipeline:
        """The pipeline that runs. Raises UsageError for a wrong one, before any work."""
        from inarch.driver.host import find_host
        from inarch.driver.offload import offloading
        from inarch.pipeline.default import default_pipeline
        from inarch.pipeline.places import placed
        from inarch.pipeline.text import parse_pipeline

        host = find_host(self.host)
        if self.pipeline is None:
            chosen = host.lower(placed(default_pipeline(), self.places)).closed()
        elif self.places:
            raise UsageError(
                "places: expected no pipeline beside it; put the pass into the pipeline"
            )
        else:
            given = self.pipeline
            chosen = parse_pipeline(given) if isinstance(given, str) else given
        if self.microkernels and "tensorize" not in chosen:
            raise UsageError(
                "expected the pass 'tensorize' in the pipeline, where microkernels are asked for, "
                f"found {chosen}"
            )
        if self.schedule is not None and "apply-schedule" not in chosen:
            raise UsageError(
                "expected the pass 'apply-schedule' in the pipeline, where a schedule is given, found "
                f"{chosen}"
            )
        return offloading(chosen, self.offload())


KEYED = tuple(each.name for each in fields(Options) if dict(each.metadata) == _KEYED)
"""The options that are in the key of what the cache keeps."""
ONLY_HOW = tuple(each.name for each in fields(Options) if dict(each.metadata) == _ONLY_HOW)
