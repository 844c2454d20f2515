"""Instances of backends as text and objects: what is read, what is refused, what a backend declares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from xdsl.context import Context

import inarch
from inarch.backends import BACKENDS, Backend, Instance, Option
from inarch.core.errors import InarchError, UsageError
from inarch.dialects import new_context
from inarch.driver.offload import Offload
from inarch.driver.options import Options
from inarch.ir.text import parse_module
from inarch.offload.instance import Instances, instance_from, read_instances
from inarch.pipeline.text import parse_pipeline

NPU = Backend(
    name="npu",
    description="Nothing is emitted here.",
    emit=BACKENDS["examplejson"].emit,
    ops=("add", "relu"),
    options={
        "array": Option("int", 2, range="1..64", help="rows and columns"),
        "memory": Option("bytes", "4MiB", range="64KiB..1GiB"),
        "only": Option("text", "all", range=["all", "relu", "add"]),
        "fast": Option("bool", False),
        "gain": Option("float", 1.0, range="0.."),
        "max-ops": Option("int", 9),
        "note": "",
    },
)


@pytest.fixture(autouse=True)
def npu() -> Iterator[Backend]:
    with BACKENDS.scope():
        BACKENDS.register(NPU)
        yield NPU


# ---------------------------------------------------------------------------------- text


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("npu", ["npu"]),
        ("npu,examplejson", ["npu", "examplejson"]),
        ("npu:array=16,memory=1048576", ["npu:array=16,memory=1MiB"]),
        ("npu:memory=2MiB,array=16", ["npu:array=16,memory=2MiB"]),
        ("npu:array=2", ["npu"]),
        ("big=npu:array=32,fast=true,examplejson", ["big=npu:array=32,fast=true", "examplejson"]),
        ("npu:array=3,ccompiler:prefix=gcc", ["npu:array=3", "ccompiler:prefix=gcc"]),
        ("a=npu:note='x, it''s'", ["a=npu:note='x, it''s'"]),
        ("npu:note=/dev/a:1=2", ["npu:note=/dev/a:1=2"]),
        ("npu=npu:gain=1e-3", ["npu:gain=0.001"]),
    ],
)
def test_the_text_of_instances(text: str, found: list[str]) -> None:
    """Equal instances have equal texts, which read as themselves: keys may be made of them."""
    instances = [one.configured(BACKENDS[one.backend]) for one in read_instances(text, "x")]
    assert list(map(str, instances)) == found
    assert [instance_from(str(one), "x") for one in instances] == instances
    asked = Offload(found).asked()
    assert list(asked.values()) == instances
    passes = str(Options(backends=found).passes())
    assert str(parse_pipeline(passes)) == passes


@pytest.mark.parametrize(
    ("backends", "message"),
    [
        (
            ["npu:aray=4"],
            "no option 'aray' in backend 'npu'; did you mean 'array'? Known: array, fast, gain, max-ops, "
            "memory, note, only",
        ),
        (
            ["npu:array=300"],
            "option 'array' of backend 'npu': expected a whole number from 1 to 64, found '300'",
        ),
        (
            ["npu:array=1.5"],
            "option 'array' of backend 'npu': expected a whole number from 1 to 64, found '1.5'",
        ),
        (
            ["npu:memory=4MB"],
            "option 'memory' of backend 'npu': expected a size such as 4MiB, from 64KiB to 1GiB, found '4MB'",
        ),
        (
            ["npu:memory=65535"],
            "option 'memory' of backend 'npu': expected a size such as 4MiB, from 64KiB to 1GiB, found "
            "'65535'",
        ),
        (
            ["npu:gain=-1"],
            "option 'gain' of backend 'npu': expected a number from 0.0, found '-1'",
        ),
        (
            ["npu:gain=nan"],
            "option 'gain' of backend 'npu': expected a number from 0.0, found 'nan'",
        ),
        (
            ["npu:only=rel"],
            "no value 'rel' in option 'only' of backend 'npu'; did you mean 'relu'? Known: add, all, relu",
        ),
        (
            ["npu:fast=yes"],
            "no value 'yes' in option 'fast' of backend 'npu'. Known: false, true",
        ),
        (
            ["npu:array=4", "npu:array=5"],
            "backend 'npu' is asked for as npu:array=4 and as npu:array=5; give one of them a name of its "
            "own, such as other=npu:array=5",
        ),
        (
            ["ccompiler=npu"],
            "the name 'ccompiler' is that of a backend; give the instance of backend 'npu' another one",
        ),
        (["c=npu"], "the name 'c' is a host's; give the instance of backend 'npu' another one"),
        (
            ["host=npu"],
            "the name 'host' is the host's; give the instance of backend 'npu' another one",
        ),
        (
            ["1a=npu"],
            "expected a name of letters, digits, '-' and '_' for the instance of backend 'npu', found '1a'",
        ),
        (["npu:array"], "backend: expected OPTION=VALUE after ':', found 'array'"),
        (["=npu"], "backend: expected [NAME=]BACKEND[:OPTION=VALUE,...], found '=npu'"),
        (
            ["npu:array=4,array=5"],
            "backend: option 'array' is given twice: 4 and 5; for an instance called 'array' write another "
            "--backend",
        ),
        (["npu:note='x"], "backend: expected a ' at the end of a value, found npu:note='x"),
        ([3], "backends: expected names, backends and instances, found int"),
    ],
)
def test_a_wrong_one_is_refused_before_anything_runs(backends: Any, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        inarch.compile("missing.onnx", backends=backends)
    assert str(caught.value) == message


def test_options_beside_the_instance() -> None:
    def passes(**settings: Any) -> str:
        return str(Options.of(None, settings).passes())  # pyright: ignore[reportArgumentType]

    given = {"big": {"array": 5}}
    text = passes(backends=["big=npu:fast=true"], backend_options=given)
    assert 'annotate{backends="big=npu:array=5,fast=true"}' in text
    text = passes(backends=["ccompiler"], backend_options={"npu": {"array": 5}}, give=["add=npu"])
    assert 'annotate{backends="ccompiler" give="add=npu" instances="npu:array=5"}' in text
    with pytest.raises(UsageError) as caught:
        passes(backends=["big=npu:array=6"], backend_options=given)
    assert str(caught.value) == "option 'array' of backend 'big' is given twice: 6 and 5"
    with pytest.raises(UsageError, match="asked for as a=npu:array=3 and as a=npu:array=4; give"):
        passes(backends=["a=npu:array=3", "a=npu:array=4"])


# ---------------------------------------------------------------------------------- declarations


def test_configure_checks_and_prints() -> None:
    big = NPU.configure("big", array=32, memory="8MiB", max_ops=3)
    assert str(big) == "big=npu:array=32,memory=8MiB,max-ops=3"
    assert big.options["memory"] == 8 << 20
    assert NPU.configure(array=2) == NPU.configure(array="2") == Instance("npu", NPU)
    with pytest.raises(UsageError, match="expected a whole number from 1 to 64, found 'True'"):
        NPU.configure(array=True)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Option("int", 300, range="1..256"),
            "default of an option: expected a whole number from 1 to 256, found '300'",
        ),
        (
            lambda: Option("integer", 3),  # pyright: ignore[reportArgumentType]
            "no kind 'integer' in an option of a backend; did you mean 'int'? Known: bool, bytes, float, "
            "int, text",
        ),
        (
            lambda: Option("int", 3, range="1-4"),
            "range of an option: expected '1..256' of numbers and sizes, else a list of values, found '1-4' "
            "of kind int",
        ),
        (
            lambda: Option("int", 3, range="a..4"),
            "range of an option: expected '1..256' or a list of values, found 'a..4'",
        ),
    ],
)
def test_a_declaration_that_is_wrong(make: Any, message: str) -> None:
    with pytest.raises(InarchError) as caught:
        make()
    assert str(caught.value) == message


def test_an_object_takes_no_name_of_others() -> None:
    mine = replace(NPU, name="ccompiler", options={})
    with pytest.raises(UsageError) as caught:
        inarch.compile("missing.onnx", backends=[mine])
    assert str(caught.value) == (
        "backend 'ccompiler' is there already (inarch.backends.ccompiler); give the object another name"
    )
    again = replace(NPU, description="the cell ran again")
    BACKENDS.register(again)
    assert BACKENDS["npu"] is again


def test_a_program_that_says_what_is_no_instance() -> None:
    for said, message in (
        (
            '["npu:array=0"]',
            "option 'array' of backend 'npu': expected a whole number from 1 to 64, found '0'",
        ),
        ('["a=nup"]', "partition.instances: no backend 'nup'; did you mean 'npu'? Known: "),
        (
            "3 : i64",
            'expected partition.instances = ["NAME=BACKEND:OPTION=VALUE", ...], found 3 : i64',
        ),
    ):
        module = parse_module(
            new_context(), f"builtin.module attributes {{partition.instances = {said}}} {{}}"
        )
        with pytest.raises(InarchError) as caught:
            Instances(Context(), module)
        assert caught.value.message.startswith(message)
