"""Files of records, with the ways that they say: a compilation takes each way, or says in a line why not."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import cache

from inarch.dialects import new_context
from inarch.dialects.loop.nest import NestOp
from inarch.driver.keep.records import Record, read_records, ways_of, write_records
from inarch.fuzz import Parser
from inarch.fuzz.files import corpus, written
from inarch.ir.target import set_target
from inarch.ir.text import parse_module
from inarch.machine.target import parse
from inarch.microkernel.identity import identity_of
from inarch.passes.tensorize.choose import Chooser, chooser_of
from inarch.passes.tensorize.keep.memo import nest_text
from inarch.passes.tensorize.keep.record import way_of
from inarch.passes.tensorize.unify.strided import StridedNest, strided_nest
from inarch.passes.tensorize.weigh.candidates import Candidate
from inarch.passes.tuned import Tuned, TunedWay, address_of

_KEPT = corpus("records")


@dataclass
class _Store:
    """Decisions of this process: what takes long is the search."""

    kept: dict[str, str] = field(default_factory=dict[str, str])

    def get(self, key: str) -> str | None:
        return self.kept.get(key)

    def put(self, key: str, record: str) -> None:
        self.kept[key] = record


@cache
def _subject() -> tuple[StridedNest, str, Chooser, Candidate]:
    """A nest, its address, who decides of it, and what is chosen without records."""
    module = parse_module(new_context(), _KEPT.seeds[0].decode())
    set_target(module, target := parse("x86-64-v3"))
    nest = next(strided_nest(op) for op in module.walk() if isinstance(op, NestOp))
    chooser = chooser_of(module, kept=_Store())
    _, taken = chooser.decide(nest)
    assert taken is not None, "it is a product"
    return nest, address_of(nest_text(nest), target), chooser, taken


def _seeds() -> list[bytes]:
    _, address, _, taken = _subject()
    way = way_of(taken)
    one = Record(address, "cpu", "gcc", way["kernel"], _identity(), way, 1e-6, 2e-6, 3, runs=2.0)
    choice = {"kernel": "fuse-nests", "choice": "apart"}
    other = replace(one, address="b", kernel="fuse-nests", way=choice, demanded="mine{MR=6}")
    found: list[bytes] = []
    for records in ([one], [one, other], [other, replace(one, threads=4), one]):
        write_records(path := written("seed.json", b""), records)
        found.append(path.read_bytes())
    return found


def _identity() -> str:
    taken = _subject()[3]
    return identity_of(taken.family.instance(taken.params))


def check(data: bytes) -> None:
    """Reads `data`; each way that it says is asked for, whatever it was of."""
    nest, address, chooser, _ = _subject()
    records = read_records(written("fuzz.json", data))
    ways_of(records, ["mine{MR=6}"])
    for one in records:
        tuned = Tuned({address: TunedWay(one.way, _identity())})
        decision, taken = replace(chooser, tuned=tuned, _known={}).decide(nest)
        assert taken is not None, "it is done without records"
        assert decision.is_tuned or address in tuned.refused, "a way is lost"
        json.dumps(way_of(taken))


PARSER = Parser(_seeds, check, ".json", words=_KEPT.words)
