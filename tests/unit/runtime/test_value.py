"""Dataclasses are read from JSON by the types of their fields; what does not fit is one located line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from inarch.core.errors import UsageError
from inarch.core.outside.value import Document, Size, Value


@dataclass(frozen=True)
class Leaf:
    """What another one has."""

    size: Size
    ratio: float = 0.5


@dataclass(frozen=True)
class Tree:
    """A field of each kind."""

    name: str
    count: int
    is_new: bool
    path: Path
    kind: Literal["a", "b"]
    leaf: Leaf
    pair: tuple[int, str]
    leaves: tuple[Leaf, ...] = ()
    dims: Sequence[int | str | None] = ()
    by_name: Mapping[str, Sequence[Leaf]] = field(default_factory=dict[str, Sequence[Leaf]])
    some: Leaf | None = None
    rest: Any = None


TREE = Tree(
    "n", 3, True, Path("p"), "a", Leaf(1), (2, "t"), (Leaf(2), Leaf(3, 2.0)), [1, "N", None],
    {"x": [Leaf(4)]}, Leaf(5), {"any": [1]},
)  # fmt: skip
SAID: Mapping[str, Any] = json.loads(json.dumps(asdict(TREE), default=str))


def test_what_was_written_is_read() -> None:
    assert Value(SAID).read(Tree) == TREE
    few = {name: SAID[name] for name in ("name", "count", "is_new", "path", "kind", "leaf", "pair")}
    assert Value(few).read(Tree) == Tree("n", 3, True, Path("p"), "a", Leaf(1), (2, "t"))
    assert isinstance(Value({"size": 1, "ratio": 2}).read(Leaf).ratio, float)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"name": 3}, "name: expected a string, found 3"),
    ({"name": "\ud800"}, "name: expected a string of whole characters, found '\\ud800'"),
    ({"name": None}, "name: expected a string, found nothing; see the guide"),
    ({"count": True}, "count: expected a whole number, found True"),
    ({"count": 1.0}, "count: expected a whole number, found 1.0"),
    ({"is_new": 1}, "is_new: expected true or false, found 1"),
    ({"path": []}, "path: expected a string, found []"),
    ({"kind": "c"}, "kind: expected 'a' or 'b', found 'c'"),
    ({"leaf": 4}, "leaf: expected an object, found 4"),
    ({"leaf": {}}, "leaf.size: expected a size, found nothing; see the guide"),
    ({"leaf": {"size": -1}}, "leaf.size: expected a size, found -1"),
    ({"leaf": {"size": "1"}}, "leaf.size: expected a size, found '1'"),
    ({"leaf": {"size": 1, "ratio": "x"}}, "leaf.ratio: expected a number, found 'x'"),
    (
        {"leaf": {"size": 1, "ratio": 10**400}},
        f"leaf.ratio: expected a number, found {'1' + '0' * 56}...",
    ),
    (
        {"leaf": {"size": 1, "ratio": 1 << 20_000}},
        "leaf.ratio: expected a number, found an integer of 20001 bits",
    ),
    (
        {"leaf": {"size": 1, "ration": 1}},
        "no field 'ration' in leaf; did you mean 'ratio'? Known: ratio, size",
    ),
    ({"pair": [1]}, "pair: expected 2 values, found [1]"),
    ({"pair": ["1", "t"]}, "pair[0]: expected a whole number, found '1'"),
    ({"leaves": {}}, "leaves: expected a list, found {}"),
    ({"leaves": [{"size": 1}, 2]}, "leaves[1]: expected an object, found 2"),
    (
        {"dims": [1, []]},
        "dims[1]: expected a whole number or a string or nothing, found []",
    ),
    ({"by_name": []}, "by_name: expected an object, found []"),
    ({"by_name": {"x": [{"size": 1}, 1]}}, "by_name.x[1]: expected an object, found 1"),
    ({"some": 1}, "some: expected an object, found 1"),
    ({"dimz": 1}, "no field 'dimz'; did you mean 'dims'? Known: "),
]


@pytest.mark.every_case(reason="each message is its own")
@pytest.mark.parametrize(("changes", "message"), WRONG)
def test_what_does_not_fit_is_one_line(changes: dict[str, Any], message: str) -> None:
    document = Document(
        lambda path: f"f:{path}", "part", UsageError, is_closed=True, remedy="see the guide"
    )
    with pytest.raises(UsageError) as caught:
        Value({**SAID, **changes}, "", document).read(Tree)
    where, _, rest = str(caught.value).partition(": ")
    rest, path = rest.removeprefix("part: "), message.partition(":")[0]
    assert rest == message or (message.endswith("Known: ") and rest.startswith(message))
    assert "no field" in message or where == f"f:{path}"
