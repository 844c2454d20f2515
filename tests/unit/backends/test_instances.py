"""Instances of backends in programs: what is known of their options wherever a backend is asked."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

import inarch
from inarch.artifact import Artifact
from inarch.backends import BACKENDS, Backend, Emission, EmitRequest, Option, Request
from inarch.core.errors import InarchError, UsageError
from inarch.dialects import new_context
from inarch.dialects.graph.op import shape_of
from inarch.ir.text import parse_module, print_module
from inarch.offload.instance import instance_from
from inarch.offload.pattern import any_, constant, named, op
from inarch.passes.partitioning import partition_for
from inarch.testing import execute
from inarch.tools.cli import run as inarch_cli

OPTIONS = {
    "array": Option("int", 2, range="1..64", help="rows and columns"),
    "memory": Option("bytes", "4MiB", range="64KiB..1GiB"),
    "only": Option("text", "all", range=["all", "relu", "add"]),
    "fast": Option("bool", False),
    "gain": Option("float", 1.0, range="0.."),
    "max-ops": Option("int", 9),
    "note": "",
}


def size(op: Operation) -> int:
    return prod(shape_of(op.results[0]))


def accepts(op: Operation, request: Request) -> str | None:
    most = request.options["array"] ** 2
    return None if size(op) <= most else f"takes {most} elements, found {size(op)}"


def specialize(backend: Backend, request: Request) -> Backend:
    only = request.options["only"]
    return backend if only == "all" else replace(backend, ops=(only,))


def takes_all(_: Operation) -> None:
    return None


def renamed(backend: Backend, _: Request) -> Backend:
    return replace(backend, name="even")


def missing(_: Backend, request: Request) -> Backend:
    return request.options["nope"]


def emit(request: EmitRequest) -> Emission:
    """Of examplejson; what was taken is what these options take."""
    for function in request.functions:
        assert function.sym_name.data.startswith(f"{request.instance.replace('-', '_')}_")
        for each in function.body.block.ops:
            name = each.name.removeprefix("graph.")
            if name not in ("constant", "func.return"):
                assert accepts(each, request) is None
                assert request.options["only"] in ("all", name)
    return BACKENDS["examplejson"].emit(request)


NPU = Backend(
    name="npu",
    description="What fits in an array.",
    emit=emit,
    ops=("add", "mul", "relu", "neg"),
    accepts=accepts,
    options=OPTIONS,
    specialize=specialize,
)


@pytest.fixture(autouse=True)
def npu() -> Iterator[Backend]:
    with BACKENDS.scope():
        BACKENDS.register(NPU)
        yield NPU


# ---------------------------------------------------------------------------------- programs


@dataclass(frozen=True)
class Program:
    """Random ops on vectors of three sizes, and what NumPy makes of them."""

    text: str
    inputs: list[Any]
    outputs: list[Any]


SIZES = (3, 9, 40)
MEANING: dict[str, Any] = {
    "add": np.add,
    "mul": np.multiply,
    "sub": np.subtract,
    "relu": partial(np.maximum, 0),
    "neg": np.negative,
}


def program(seed: int) -> Program:
    random = Random(seed)
    numbers = np.random.default_rng(seed)
    inputs = [numbers.standard_normal(n).astype(np.float32) for n in SIZES]
    values = {f"%x{n}": array for n, array in zip(SIZES, inputs, strict=True)}
    lines: list[str] = []
    for index in range(30):
        name = random.choice(list(MEANING))
        n = random.choice(SIZES)
        known = [key for key, array in values.items() if len(array) == n]
        operands = random.choices(known, k=2 if name in ("add", "mul", "sub") else 1)
        kinds = ", ".join([f"tensor<{n}xf32>"] * len(operands))
        lines.append(
            f"  %{index} = graph.{name} {', '.join(operands)} : {kinds} -> tensor<{n}xf32>"
        )
        made = MEANING[name](*(values[key] for key in operands))
        values[f"%{index}"] = np.tanh(made) if name == "mul" else made
        if name == "mul":
            lines[-1] = lines[-1].replace(f"%{index} =", f"%m{index} =")
            lines.append(f"  %{index} = graph.tanh %m{index} : tensor<{n}xf32> -> tensor<{n}xf32>")
    last = [[key for key, array in values.items() if len(array) == n][-1] for n in SIZES]
    types = [f"tensor<{n}xf32>" for n in SIZES]
    ports = ", ".join(
        f'%x{n}: {kind} {{inarch.name = "x{n}"}}' for n, kind in zip(SIZES, types, strict=True)
    )
    results = ", ".join(
        f'{kind} {{inarch.name = "y{n}"}}' for n, kind in zip(SIZES, types, strict=True)
    )
    body = "\n".join([*lines, f"  func.return {', '.join(last)} : {', '.join(types)}"])
    text = f"func.func @main({ports}) -> ({results}) {{\n{body}\n}}\n"
    return Program(text, inputs, [values[key] for key in last])


def asked(seed: int) -> list[str]:
    """Two instances of one backend, of random options."""
    random = Random(seed + 1000)

    def one(name: str) -> str:
        only = random.choice(["all", "all", "relu", "add"])
        return f"{name}npu:array={random.choice([1, 2, 3, 4, 7])},only={only}"

    return [one(random.choice(["", "first="])), one("second-one=")]


def owners(module: ModuleOp) -> set[str]:
    found = [each.attributes.get("compiler") for each in module.body.ops]
    return {each.data for each in found if isinstance(each, StringAttr)}


def test_random_programs_among_two_instances_do_what_numpy_does() -> None:
    """Each op is with the first whose options take it; the text says it, and emits, all by itself."""
    taken: set[frozenset[str]] = set()
    for seed in range(16):
        made, (first, second) = program(seed), asked(seed)
        context = new_context()
        module = parse_module(context, made.text)
        sizes = [size(each) for each in module.walk() if each.name.startswith("graph.")]
        options = [
            (one.name, int(one.options["array"]), one.options["only"])
            for one in (instance_from(text, "x") for text in (first, second))
        ]
        report = partition_for(context, module, first, second)
        again = parse_module(context, print_module(module))
        for each, elements in zip(report.ops, sizes, strict=True):
            name = each.op.removeprefix("graph.")
            used = "nothing uses its results" not in each.reasons.values()
            able = [
                one
                for one, array, only in options
                if used and elements <= array**2
                if name in NPU.ops and only in ("all", name)
            ]
            assert each.owner == [*able, "host"][0]
        counted = [
            [4 * sum(map(int, re.findall(r"tensor<(\d+)xf32>", side))) for side in sides]
            for sides in re.findall(
                r"private @\S+?\((.*)\) -> (.*) attributes", print_module(again)
            )
        ]
        assert [[one.bytes_in, one.bytes_out] for one in report.traffic] == counted
        assert report.bytes_across == sum(map(sum, counted))
        assert sum(one.ops for one in report.traffic) == sum(e.owner != "host" for e in report.ops)
        found = execute(again, made.inputs, context)
        for expected, value in zip(made.outputs, found, strict=True):
            np.testing.assert_allclose(value, expected, rtol=1e-5, atol=1e-6)
        taken.add(frozenset(owners(again)))
    assert frozenset({"first", "second-one"}) in taken
    assert frozenset({"npu", "second-one"}) in taken


def test_two_instances_in_one_artifact(tmp_path: Path) -> None:
    """Compiled, saved and loaded; each has its options in `emit` and in the artifact."""
    made = program(3)
    path = tmp_path / "m.inarch"
    (tmp_path / "m.mlir").write_text(made.text)
    backends = [NPU.configure("small", array=2), NPU.configure(array="7", max_ops=4)]
    inarch.compile(str(tmp_path / "m.mlir"), backends=backends).save(path)
    for value, expected in zip(inarch.load(path)(*made.inputs), made.outputs, strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-5, atol=1e-6)
    with Artifact.open(path) as artifact:
        parts = artifact.manifest.backends
    assert sorted(str(part) for part in parts) == [
        "npu: array=7, memory=4MiB, only=all, fast=false, gain=1.0, max-ops=4, note=",
        "small (npu): array=2, memory=4MiB, only=all, fast=false, gain=1.0, max-ops=9, note=",
    ]
    assert {part.name: part.options["array"] for part in parts} == {"small": "2", "npu": "7"}
    assert {part.part for part in parts} == {"modules/1", "modules/2"}
    for part in parts:
        assert all(symbol.startswith(f"{part.name}_") for symbol in part.functions)


# ---------------------------------------------------------------------------------- what is known


def test_where_passes_and_constants_know_the_request() -> None:
    """Options, target, machine and constants reach `where` of an op, of a constant and of a match."""
    seen: list[tuple[object, ...]] = []

    def of_constant(constant: Operation, request: Request) -> str | None:
        array = request.constant(constant)
        assert array is not None
        most = request.options["gain"]
        seen.append((request.instance, request.target, request.machine is not None, array.size))
        assert request.constant(constant.results[0]) is not None
        return None if abs(array).max() <= most else f"takes weights to {most}"

    pattern = named("scaled", op("mul", any_(), constant(of_constant)))
    backend = replace(NPU, name="dsp", patterns=(pattern,), ops=(), accepts=takes_all)
    with BACKENDS.scope():
        BACKENDS.register(backend)
        numbers = ", ".join(["5.0", *["1.0"] * 29])
        text = (
            "func.func @main(%x: tensor<30xf32>) -> tensor<30xf32> {\n"
            f"  %c = graph.constant dense<[{numbers}]> : tensor<30xf32>\n"
            "  %0 = graph.mul %x, %c : tensor<30xf32>, tensor<30xf32> -> tensor<30xf32>\n"
            "  func.return %0 : tensor<30xf32>\n}\n"
        )
        context = new_context()
        report = partition_for(context, parse_module(context, text), "a=dsp:gain=4", "b=dsp:gain=5")
        (only,) = report.ops
        assert (only.owner, only.reasons) == (
            "b",
            {"a": "pattern scaled: where: takes weights to 4.0"},
        )
        (region,) = report.traffic
        assert (region.bytes_in, region.bytes_out, region.bytes_resident) == (120, 120, 120)
    assert seen == [(name, "generic", True, 30) for name in ("a", "b")]


def test_an_error_of_specialize_is_the_backends_own() -> None:
    backend = replace(NPU, name="odd", specialize=renamed)
    context = new_context()
    module = parse_module(context, program(0).text)
    with BACKENDS.scope():
        BACKENDS.register(backend)
        with pytest.raises(InarchError) as caught:
            partition_for(context, module, "odd")
        assert caught.value.message == (
            f"backend 'odd' [an object of {__name__}]: specialize: expected the same name as before, found "
            "another one"
        )
        BACKENDS.register(replace(backend, specialize=missing))
        with pytest.raises(InarchError) as caught:
            partition_for(context, module, "odd")
        assert caught.value.message.startswith(
            f"backend 'odd' [an object of {__name__}]: specialize raises KeyError: 'nope' (test_instances.py:"
        )


def test_by_hand_the_instance_is_meant() -> None:
    context = new_context()
    module = parse_module(context, program(1).text)
    with pytest.raises(UsageError) as caught:
        partition_for(context, module, "a=npu", "b=npu", give=[("relu", "npu")])
    assert str(caught.value) == "'npu' is asked for as a and b: write a or b for it"
    module = parse_module(context, program(1).text)
    report = partition_for(context, module, "a=npu:array=64", "b=npu:array=64", keep=[("*", "a")])
    assert not report.owned_by("a")
    assert report.owned_by("b")


def test_explain_and_list_say_the_options(tmp_path: Path) -> None:
    path = tmp_path / "m.mlir"
    path.write_text(program(2).text)
    done = inarch_cli(["explain", str(path), "--backend", "a=npu:array=3", "--json"])
    assert json.loads(done.out)["instances"]["a"] == {
        "backend": "npu",
        "options": {**NPU.configure(array=3).texts},
    }
    done = inarch_cli(["explain", str(path), "--backend", "npu", "--backend-option", "npu:array=3"])
    assert "\nnpu (npu:array=3): " in done.out
    done = inarch_cli(["list", "backends"])
    assert "max-ops=9" in done.out
    assert "  array: a whole number from 1 to 64; rows and columns\n" in done.out
