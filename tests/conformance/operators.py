"""Writes docs/tables/operators.md: the operators that there are, their versions, and what ONNX's suite says.

    python tests/conformance/operators.py          # writes the page
    python tests/conformance/operators.py --check  # leaves with 1 where the page says something else

A case counts for each operator in its model. What passes is what `expected.txt` says, which the suite holds.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx
from suite import FIRST_OPSET, Case, cases, expected
from tried import compiled, examples

from inarch.frontends.onnx.control import CONTROL
from inarch.frontends.onnx.ops import converters

PAGE = Path(__file__).parents[2] / "docs" / "tables" / "operators.md"

_HEAD = """# Operators of ONNX

Written by `python tests/conformance/operators.py` (onnx {version}). `inarch list onnx-operators` has the
families and their files, [extending.md](../extending.md#onnx-operator) how one is added.

- how: `own` is a converter of ours, `body` ONNX's own definition by other operators.
- cases: of ONNX's backend suite those that have the operator, `done of all`. Some lack for another operator
  in them, or for a dtype.
- versions and dtypes: those of the first input with which a model of the suite that is this operator alone
  compiles, made over for the version and the dtype (`tests/conformance/tried.py`). An operator's version is
  the opset that defined it so; models are taken from opset 6 on. `floats` are f32 and f64,
  `integers` i8 to i64 and ui8 to ui64, `numbers` both, `all` these and i1. `-`: the suite has no such model,
  or its first input is a size; the unit tests have one.

"""

_FLOATS = ("f32", "f64")
_INTEGERS = tuple(f"{sign}{bits}" for sign in ("i", "ui") for bits in (8, 16, 32, 64))
_WORDS = {
    "all": {*_FLOATS, *_INTEGERS, "i1"},
    "numbers": {*_FLOATS, *_INTEGERS},
    "floats": {*_FLOATS},
    "integers": {*_INTEGERS},
}
"""Dtypes that are often there together."""


def schemas(domain: str) -> dict[str, list[onnx.defs.OpSchema]]:
    """Of each operator of a domain its versions, ascending."""
    found: dict[str, list[onnx.defs.OpSchema]] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == domain:
            found.setdefault(schema.name, []).append(schema)
    return {name: sorted(every, key=lambda one: one.since_version) for name, every in found.items()}


def counts() -> tuple[Counter[str], Counter[str]]:
    """Of each operator, by `domain.Name`, the cases that are done, and all."""
    must = expected()
    done: Counter[str] = Counter()
    every: Counter[str] = Counter()
    for case in cases():
        if case.opset() < FIRST_OPSET:
            continue
        for title in {_title(node) for node in _nodes(case.model().graph)}:
            every[title] += 1
            done[title] += case.name in must
    return done, every


def _title(node: onnx.NodeProto) -> str:
    return f"{node.domain}.{node.op_type}" if node.domain not in ("", "ai.onnx") else node.op_type


def _nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                yield from _nodes(inner)


def _said(dtypes: Sequence[str]) -> str:
    """Dtypes in words.

    >>> _said(["f32", "f64", "i1"])
    'floats, i1'
    """
    left, words = set(dtypes), list[str]()
    for word, every in _WORDS.items():
        if every <= left:
            words.append(word)
            left -= every
    return ", ".join([*words, *(name for name in dtypes if name in left)])


def _versions(found: Mapping[int, Sequence[str]]) -> str:
    """Versions with the dtypes of each, which is said once where it is the same in several."""
    parts: list[tuple[list[int], str]] = []
    for version, dtypes in found.items():
        text = _said(dtypes)
        if parts and parts[-1][1] == text:
            parts[-1][0].append(version)
        else:
            parts.append(([version], text))
    return "; ".join(f"{', '.join(map(str, versions))}: {text}" for versions, text in parts)


def _how(title: str, schema: onnx.defs.OpSchema | None) -> str:
    if title in converters() or title in CONTROL:
        return "own"
    found: Any = schema  # the stubs of onnx lack what concerns functions
    has_body = found is not None and (found.has_function or found.has_context_dependent_function)
    return "body" if has_body else ""


def _rows(
    domain: str,
    done: Mapping[str, int],
    every: Mapping[str, int],
    given: Mapping[str, Sequence[Case]],
) -> tuple[list[str], list[str]]:
    """The rows of a domain's table, and the operators that are not there."""
    known, rows, absent = schemas(domain), list[str](), list[str]()
    ours = {
        title.rpartition(".")[2]
        for title in (*converters(), *CONTROL)
        if title.rpartition(".")[0] == domain
    }
    for name in sorted({*known, *ours}):
        title = f"{domain}.{name}" if domain else name
        how = _how(title, known[name][-1] if name in known else None)
        found = compiled(known[name], given.get(title, ())) if how and name in known else {}
        if not how or (how == "body" and not found and not done[title]):
            if name in known and not known[name][-1].deprecated:
                absent.append(name)
            continue
        of_all = f"{done[title]} of {every[title]}" if every[title] else "-"
        rows.append(f"| {name} | {how} | {of_all} | {_versions(found) or '-'} |")
    return rows, absent


def page() -> str:
    """The text of docs/tables/operators.md."""
    (done, every), given = counts(), examples()
    text = _HEAD.format(version=onnx.__version__)
    for domain in ("", "ai.onnx.ml", "com.microsoft"):
        rows, absent = _rows(domain, done, every, given)
        text += f"## {domain or 'ai.onnx'}\n\n"
        text += "| operator | how | cases | versions and dtypes |\n|---|---|---|---|\n"
        text += "\n".join(rows) + "\n\n"
        if absent:
            text += f"Not there: {', '.join(absent)}.\n\n"
    return text.rstrip("\n") + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; see the module's docstring."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare the page, do not write it")
    options = parser.parse_args(arguments)
    text = page()
    if options.check:
        return int(PAGE.read_text() != text)
    PAGE.write_text(text)
    print(f"wrote {PAGE}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
