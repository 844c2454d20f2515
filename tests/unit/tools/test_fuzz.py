"""The fuzzer finds what is planted, and nothing in the parsers; cases are the same everywhere."""

from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path
from random import Random

import pytest

from effort import SEED
from inarch import fuzz
from inarch.core.errors import InarchError
from inarch.fuzz import PARSERS, Parser
from inarch.fuzz.__main__ import main
from inarch.fuzz.case import Finding, make_case, run_case
from inarch.fuzz.parsers.onnx import network

QUICK = {"examplejson": 500, "mlir": 60, "npz": 60, "tune": 40}
HEAVY = {"compiled": 4, "verify": 1}
"""Cases of parsers that compile."""
"""Cases of every `make test`, in this process; 100 of the others, but for those that load much. The search
(`make soak`) runs others, under the limits of a child."""


def refuse(data: bytes) -> None:
    raise InarchError("expected nothing", where=f"fuzz:{len(data)}")


def parser_of(check: object, **fields: object) -> Parser:
    return Parser(lambda: [b"abc"], check, **fields)  # type: ignore[arg-type]


def test_each_parser_is_a_file() -> None:
    assert set(PARSERS) >= {
        "arguments", "compiled", "examplejson", "machine", "manifest", "meaning", "microkernel", "mlir",
        "npz", "onnx", "pipeline", "records", "target", "tune", "verify",
    }  # fmt: skip


@pytest.mark.parametrize("name", sorted(set(PARSERS) - {"onnx", "arguments", *HEAVY}))
def test_its_seeds_are_read_and_some_mutations_are_not(name: str) -> None:
    """T10: seeds that are refused would test the first line of a parser only; so would wild mutations."""
    parser = PARSERS[name]
    seeds = list(parser.seeds())
    read = [run_case(parser, seed) is True for seed in seeds[:: -(-len(seeds) // 20)]]
    assert sum(read) >= len(read) / 4, f"{read.count(False)} seeds of {len(read)} are refused"
    count = QUICK.get(name, 100)
    outcomes = [run_case(parser, make_case(name, parser, seeds, SEED, n)) for n in range(count)]
    found = [(n, one) for n, one in enumerate(outcomes) if isinstance(one, Finding)]
    again = f"python -m inarch.fuzz --parser {name} --seed {SEED} --count {count}"
    assert not found, f"{again}: case {found[0][0]}: {found[0][1]}"
    assert 0 < sum(one is True for one in outcomes) < count


@pytest.mark.parametrize("name", HEAVY)
def test_what_compiles_finds_nothing(name: str) -> None:
    """With one seed: all of them are for the search."""
    parser, seeds = PARSERS[name], [network()]
    assert run_case(parser, seeds[0]) is True
    for case in range(HEAVY[name]):
        found = run_case(parser, make_case(name, parser, seeds, SEED, case))
        assert not isinstance(found, Finding), f"{name}: case {case}: {found}"


def test_a_case_is_the_same_everywhere() -> None:
    parser = PARSERS["target"]
    seeds = list(parser.seeds())
    first = [make_case("target", parser, seeds, 1, case) for case in range(50)]
    assert first == [make_case("target", parser, seeds, 1, case) for case in range(50)]
    assert len(set(first)) > 40


def test_models_are_mutated_as_messages() -> None:
    """Most cases are still models: the wire format holds, what it says does not."""
    import onnx

    from inarch.fuzz.parsers.onnx import check
    from inarch.fuzz.protobuf import mutated_model

    seed = network()
    check(seed)
    texts = {mutated_model(seed, [seed], Random(case)) for case in range(60)}
    assert len(texts) > 40
    for text in texts:
        onnx.ModelProto.FromString(text)


def test_what_raises_something_else_is_found() -> None:
    def check(data: bytes) -> None:
        raise KeyError(data)

    found = run_case(parser_of(check), b"x")
    assert isinstance(found, Finding)
    assert found.kind == "traceback"
    assert "KeyError: b'x'" in found.detail


def test_a_refusal_needs_a_place_and_no_lack_of_memory_behind_it() -> None:
    assert run_case(parser_of(refuse), b"x") is False

    def nowhere(_data: bytes) -> None:
        raise InarchError("expected something")

    found = run_case(parser_of(nowhere), b"x")
    assert isinstance(found, Finding)
    assert found.kind == "message"
    assert run_case(parser_of(nowhere, located=False), b"x") is False

    def starved(_data: bytes) -> None:
        try:
            raise MemoryError
        except MemoryError as error:
            raise InarchError("expected text", where="x") from error

    found = run_case(parser_of(starved), b"x")
    assert isinstance(found, Finding)
    assert found.kind == "memory"


def test_what_does_not_end_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inarch.fuzz.case.SECONDS", 0.2)

    def check(_data: bytes) -> None:
        while True:
            with contextlib.suppress(Exception):  # as a parser may hold what its reading raises
                time.process_time()

    found = run_case(parser_of(check), b"x")
    assert isinstance(found, Finding)
    assert found.kind == "hang"


PLANTED = '''
"""A parser with a fault of each kind."""
import os, time
from inarch.core.errors import InarchError
from inarch.fuzz import Parser

def check(data):
    match data[:1]:
        case b"a": raise InarchError("expected no a", where="fuzz:1:1")
        case b"b": raise KeyError("b")
        case b"c": bytearray(3 << 30)
        case b"d": os.abort()
        case b"e": return

def mutate(data, seeds, rng): return rng.choice([b"a", b"b", b"c", b"d", b"e"])

PARSER = Parser(lambda: [b"a"], check, mutate=mutate)
'''


def test_children_that_die_are_found_and_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A traceback, 3 GiB and an abort among 7 cases: each is reported, with a file, and all cases run."""
    (tmp_path / "planted_fuzz.py").write_text(PLANTED)
    (tmp_path / "planted_fuzz-1.dist-info").mkdir()
    (tmp_path / "planted_fuzz-1.dist-info" / "METADATA").write_text(
        "Name: planted-fuzz\nVersion: 1\n"
    )
    (tmp_path / "planted_fuzz-1.dist-info" / "entry_points.txt").write_text(
        "[inarch.fuzz.parsers]\nplanted = planted_fuzz\n"
    )
    monkeypatch.setenv("INARCH_PLUGINS", "all")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))  # pyright: ignore[reportUnknownMemberType]
    fresh = type(PARSERS)(PARSERS.group, "PARSER")
    monkeypatch.setattr("inarch.fuzz.__main__.PARSERS", fresh)
    command = [
        "--parser",
        "planted",
        "--count",
        "7",
        "--seed",
        "4",
        "--json",
        "--save",
        str(tmp_path / "out"),
    ]
    assert main(command) == 1
    result = json.loads(capfd.readouterr().out)
    cases = [make_case("planted", fresh["planted"], [b"a"], 4, case) for case in range(7)]
    assert set(cases) == {b"a", b"b", b"c", b"d", b"e"}
    assert (result["read"], result["refused"]) == (cases.count(b"e"), cases.count(b"a"))
    kinds = {fault["kind"]: fault for fault in result["faults"]}
    assert set(kinds) == {"traceback", "memory", "crash"}
    for kind, letter in (("traceback", b"b"), ("memory", b"c"), ("crash", b"d")):
        assert kinds[kind]["cases"] == cases.count(letter)
        assert all(Path(file).read_bytes() == letter for file in kinds[kind]["files"])


def test_the_limits_are_those_of_the_promise() -> None:
    assert (fuzz.SECONDS, fuzz.MEMORY) == (10, 2 << 30)
