"""Proofs about programs: a pass keeps the meaning, the text keeps the program."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from inarch.core.lazy import np
from inarch.core.plugins import load_file
from inarch.definitions.compare import compare
from inarch.definitions.execute import as_module, execute, random_inputs
from inarch.definitions.expected import Expected, expected_of, kept_constants
from inarch.definitions.functions import Array, public_functions
from inarch.dialects import new_context
from inarch.driver.extensions import kinds
from inarch.driver.options import DEFAULT_HOST
from inarch.ir.context import ConstantStore, store_of
from inarch.ir.text import parse_module, print_module
from inarch.ir.verify import verify_module
from inarch.pipeline.manager import apply_pipeline
from inarch.pipeline.text import parse_pipeline
from inarch.testing.compiled import execute_compiled

Passes = str | ModulePass | Iterable[ModulePass]
"""A pipeline: in text, or the passes themselves."""


def run_pass(text: str, pipeline: Passes, *, load: Sequence[Path] = ()) -> str:
    """The text of the program after the passes, as `inarch-opt -p pipeline` prints it.

    `load` are Python files that define passes, dialects, lowerings ..., as `--load` takes them.
    Raises InarchError when the text, the pipeline or the result is invalid.
    """
    with _loaded(load):
        context = new_context()
        module = parse_module(context, text)
        verify_module(module)
        apply_pipeline(context, module, _passes(pipeline))
        return print_module(module)


def _passes(pipeline: Passes) -> Iterable[ModulePass]:
    if isinstance(pipeline, str):
        return parse_pipeline(pipeline)
    return (pipeline,) if isinstance(pipeline, ModulePass) else tuple(pipeline)


@contextmanager
def _loaded(paths: Sequence[Path]) -> Generator[None]:
    """What the files at `paths` define is found within the block."""
    tables = kinds()
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
    rtol: float | None = None,
    atol: float | None = None,
    compiled: bool = False,
    host: str = DEFAULT_HOST,
    ctx: Context | None = None,
) -> None:
    """Checks that two programs, or one before and after `pipeline`, compute the same.

    Every public function of `before` runs on seeded random inputs (`random_inputs`; or on `inputs`,
    where there is one function), by the definitions of its ops. The programs may be of different levels: at
    loop level outputs are arguments. An element may differ by as much as the arithmetic of `before`
    allows: any order and contraction of its sums and products, and the stated accuracy of
    functions. `rtol` or `atol` say `atol + rtol * |expected|` instead. With `compiled`, the second
    program, on buffers, also runs as `host` compiles it. `pipeline` is text or passes, `load` as in
    `run_pass`. `ctx` is the context of both modules and holds their constants.

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
        if rtol is None and atol is None:
            expected = expected_of(context, first, arrays, name)
        else:
            values = execute(first, arrays, context, function=name)
            expected = [_tolerant(value, rtol or 0.0, atol or 0.0) for value in values]
        compare(name, expected, execute(second, arrays, context, function=name))
        if compiled:
            found = execute_compiled(second, arrays, context, function=name, host=host)
            compare(f"{name}, compiled", expected, found)


def check_compiled(
    program: ModuleOp | str,
    *,
    pipeline: Passes = "",
    inputs: Sequence[Array] | None = None,
    seed: int = 0,
    target: str | None = None,
    host: str = DEFAULT_HOST,
    ctx: Context | None = None,
) -> None:
    """Checks that what `host` makes of a program, after `pipeline`, computes what the program means.

    As `check_semantics`, but what is compared is compiled: see `execute_compiled` for `target`.
    """
    context, first = as_module(program, ctx)
    verify_module(first)
    second = _second(context, first, None, pipeline) if pipeline else first
    for name in public_functions(first):
        arrays = inputs if inputs is not None else random_inputs(first, seed, function=name)
        expected = expected_of(context, first, arrays, name)
        found = execute_compiled(second, arrays, context, function=name, target=target, host=host)
        compare(f"{name}, compiled", expected, found)


def _tolerant(value: Array, rtol: float, atol: float) -> Expected:
    if value.dtype.kind != "f":
        return Expected(value, value, np.zeros(value.shape))
    wide = value.astype(np.float64)
    return Expected(value, wide, np.where(np.isfinite(wide), atol + rtol * np.abs(wide), 0.0))


def _second(
    context: Context, first: ModuleOp, after: ModuleOp | str | None, pipeline: Passes | None
) -> ModuleOp:
    if (after is None) == (pipeline is None):
        raise TypeError("check_semantics takes either `after` or `pipeline`")
    if pipeline is not None:
        module = first.clone()
        with kept_constants(context):
            apply_pipeline(context, module, _passes(pipeline))
        return module
    _, module = as_module(after or "", context)
    verify_module(module)
    return module


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
