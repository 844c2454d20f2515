"""Proofs about programs: a pass keeps the meaning, the text keeps the program."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from inarch._xdsl import ConstantStore, parse_module, print_module, store_of, verify_module
from inarch.dialects import DIALECTS, new_context
from inarch.lazy import np
from inarch.microkernels import MICROKERNELS
from inarch.passes import PASSES
from inarch.plugins import Extensions, load_file
from inarch.testing._execute import as_module, execute, random_inputs
from inarch.testing._functions import Array, public_functions
from inarch.tools.pipeline import apply_pipeline, parse_pipeline


@dataclass(frozen=True)
class Tolerance:
    """Floats are equal when `|found - expected| <= atol + rtol * |expected|`; others exactly."""

    rtol: float
    atol: float


Passes = str | ModulePass | Sequence[ModulePass]
"""A pipeline: in text, or the passes themselves."""


def run_pass(text: str, pipeline: Passes, *, load: Sequence[Path] = ()) -> str:
    """The text of the program after the passes, as `inarch-opt -p pipeline` prints it.

    `load` are Python files that define passes, dialects or microkernels, as `--load` takes them.
    Raises InarchError when the text, the pipeline or the result is invalid.
    """
    with _loaded(load):
        context = new_context()
        module = parse_module(context, text)
        verify_module(module)
        apply_pipeline(context, module, _passes(pipeline))
        return print_module(module)


def _passes(pipeline: Passes) -> tuple[ModulePass, ...]:
    if isinstance(pipeline, str):
        return parse_pipeline(pipeline)
    return (pipeline,) if isinstance(pipeline, ModulePass) else tuple(pipeline)


@contextmanager
def _loaded(paths: Sequence[Path]) -> Generator[None]:
    """What the files at `paths` define is found within the block."""
    kinds = (PASSES, DIALECTS, MICROKERNELS)
    tables = cast("dict[str, Extensions[object]]", {table.kind: table for table in kinds})
    with ExitStack() as stack:
        for table in tables.values():
            stack.enter_context(table.scope())
        for path in paths:
            load_file(Path(path), tables)
        yield


def check_semantics(
    before: ModuleOp | str,
    after: ModuleOp | str | None = None,
    *,
    pipeline: Passes | None = None,
    load: Sequence[Path] = (),
    inputs: Sequence[Array] | None = None,
    seed: int = 0,
    rtol: float = 1e-5,
    atol: float = 1e-6,
    ctx: Context | None = None,
) -> None:
    """Checks that two programs, or one before and after `pipeline`, compute the same.

    Every public function of `before` runs on seeded random inputs (`random_inputs`; or on `inputs`,
    where there is one function). The programs may be of different levels: at loop level outputs are
    arguments. `pipeline` is text or passes, `load` as in `run_pass`. `ctx` is the context
    of both modules and holds their constants.
    Raises AssertionError that names the first differing element, InarchError for a bad program.
    """
    with _loaded(load):
        context, first = as_module(before, ctx)
        verify_module(first)
        second = _second(context, first, after, pipeline)
    names = list(public_functions(first))
    assert names, "expected a public function with a body, found none"
    missing = [name for name in names if name not in public_functions(second)]
    assert not missing, f"function @{missing[0]} is gone"
    assert inputs is None or len(names) == 1, f"inputs for one function, found {len(names)}"
    for name in names:
        arrays = inputs if inputs is not None else random_inputs(first, seed, function=name)
        expected = execute(first, arrays, context, function=name)
        found = execute(second, arrays, context, function=name)
        _compare(name, expected, found, Tolerance(rtol, atol))


def _second(
    context: Context, first: ModuleOp, after: ModuleOp | str | None, pipeline: Passes | None
) -> ModuleOp:
    if (after is None) == (pipeline is None):
        raise TypeError("check_semantics takes either `after` or `pipeline`")
    if pipeline is not None:
        module, store = first.clone(), store_of(context)
        bytes_of = {key: store.get(key) for key in store.keys()}  # noqa: SIM118 - no mapping
        apply_pipeline(context, module, _passes(pipeline))
        for key, data in bytes_of.items():  # a pass drops what only `module` has no use for
            store.set(key, data)
        return module
    _, module = as_module(after or "", context)
    verify_module(module)
    return module


def _compare(
    name: str, expected: Sequence[Array], found: Sequence[Array], tolerance: Tolerance
) -> None:
    assert len(expected) == len(found), (
        f"function @{name}: expected {len(expected)} outputs, found {len(found)}"
    )
    for number, (left, right) in enumerate(zip(expected, found, strict=True)):
        where = f"function @{name}, output {number}"
        assert left.shape == right.shape, (
            f"{where}: expected shape {left.shape}, found {right.shape}"
        )
        assert _same_storage(left.dtype, right.dtype), (
            f"{where}: expected dtype {left.dtype.name}, found {right.dtype.name}"
        )
        _compare_elements(where, left, right.view(left.dtype), tolerance)


def _same_storage(left: np.dtype[Any], right: np.dtype[Any]) -> bool:
    """Whether both are one dtype below `graph`, where integers are signless."""
    return left.itemsize == right.itemsize and (left.kind == "f") == (right.kind == "f")


def _compare_elements(where: str, left: Array, right: Array, tolerance: Tolerance) -> None:
    if left.dtype.kind == "f":
        close = np.isclose(right, left, rtol=tolerance.rtol, atol=tolerance.atol, equal_nan=True)
    else:
        close = left == right
    if np.all(close):
        return
    differing = np.argwhere(~close)
    index = tuple(int(i) for i in differing[0])
    raise AssertionError(
        f"{where}, index {index}: expected {left[index]}, found {right[index]} "
        f"({len(differing)} of {left.size} elements differ)"
    )


def round_trip(program: ModuleOp | str, ctx: Context | None = None) -> None:
    """Checks that the text, in both forms, parses to the same program, which prints the same text.

    Raises AssertionError that names the first differing line; InarchError when it does not parse.
    """
    context, module = as_module(program, ctx)
    everything = print_module(module, generic=True)
    for generic in (False, True):
        text = print_module(module, generic=generic)
        again = new_context()
        again.allow_unregistered = context.allow_unregistered
        _copy_store(store_of(context), store_of(again))
        parsed = parse_module(again, text)
        _same_text(text, print_module(parsed, generic=generic))
        _same_text(everything, print_module(parsed, generic=True))


def _copy_store(source: ConstantStore, target: ConstantStore) -> None:
    for key in source.keys():  # noqa: SIM118 - a store is no mapping
        target.set(key, source.get(key))


def _same_text(expected: str, found: str) -> None:
    for number, (left, right) in enumerate(
        zip(expected.splitlines(), found.splitlines(), strict=False), start=1
    ):
        assert left == right, f"line {number}: expected `{left}`, found `{right}`"
    assert expected == found, "the text has another length"
