"""What the search has run and found, by part: sums over the ledger, age, and cases still to run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from soak_ledger import Home
from soak_units import Part

COMMITS = 100
"""After so many a part is red: what it has seen is another program."""


def report(
    lines: Sequence[Mapping[str, Any]], parts: Sequence[Part], home: Home
) -> list[dict[str, Any]]:
    """A row a part, in their order."""
    return [
        _row(part, [line for line in lines if line["part"] == part.name], home) for part in parts
    ]


def _row(part: Part, lines: Sequence[Mapping[str, Any]], home: Home) -> dict[str, Any]:
    ran = [line for line in lines if not line.get("skipped")]
    seeds = {
        seed
        for line in ran
        if line["seeds"]
        for seed in range(line["seeds"][0], line["seeds"][1] + 1)
    }
    newest = max(ran, key=lambda line: line["date"], default=None)
    age = None if newest is None else _age(newest, home)
    return {
        "part": part.name,
        "units": len(ran),
        "cases": sum(line["cases"] for line in ran),
        "seeds": len(seeds),
        "findings": sum(len(line["findings"]) for line in ran),
        "cpu_s": round(sum(line["cpu_s"] for line in ran), 1),
        "cpus": sorted({line["cpu"] for line in ran}),
        "last": f"{newest['date']} {newest['commit']}" if newest else "",
        "age": age,
        "is_red": newest is None or (age is not None and age > COMMITS),
        "musts": _musts(part, ran),
        "left_out": _left_out(lines),
    }  # fmt: skip


def _age(line: Mapping[str, Any], home: Home) -> int | None:
    """The commits since: by its commit, by its date where history has lost that; None: git does not say."""
    commit = line["commit"].removesuffix("+")
    said = home.git("rev-list", "--count", "HEAD", f"^{commit}") or home.git(
        "rev-list", "--count", f"--since={line['date']} +0000", "HEAD"
    )
    return int(said) if said else None


def _musts(part: Part, ran: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """How many cases each aim of the part has had, and how many of them have no finding that stands."""
    if not part.musts:
        return []
    aims = {unit.name: unit.aim for unit in part.units()}
    mended = {word for line in ran for word in line.get("mended", ())}
    found: list[dict[str, Any]] = []
    for aim, must in part.musts.items():
        of_aim = [line for line in ran if aims.get(line["unit"]) == aim]
        cases = sum(line["cases"] for line in of_aim)
        whats = [one["what"].split() for line in of_aim for one in line["findings"]]
        clean = cases - sum(mended.isdisjoint(words) for words in whats)
        found.append({
            "aim": aim, "cases": cases, "must": must, "clean": round(clean / cases, 3) if cases else None,
            "must_clean": part.must_be_clean,
        })  # fmt: skip
    return found


def _left_out(lines: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Why units did not run: of each what was said last, unless it ran later."""
    found: dict[str, str] = {}
    for line in lines:
        if why := line.get("skipped"):
            found |= dict.fromkeys(line["unit"].split(", "), why)
        else:
            found.pop(line["unit"], None)
    return found


def show(rows: Sequence[Mapping[str, Any]], *, as_json: bool) -> int:
    """Prints the rows; the exit code: 1 where a part is red."""
    red = [row for row in rows if row["is_red"]]
    if as_json:
        print(json.dumps(rows, indent=1))
        return int(bool(red))
    print(
        f"{'':4}{'part':12} {'units':>6} {'cases':>9} {'of must':>7} {'seeds':>6} {'findings':>8} "
        f"{'CPU min':>8} {'commits':>7}  last"
    )
    for row in rows:
        age = "?" if row["age"] is None and row["last"] else row["age"]
        print(
            f"{'RED' * row['is_red']:4}{row['part']:12} {row['units']:6} {row['cases']:9} "
            f"{_share(row['musts']):>7} {row['seeds']:6} {row['findings']:8} {row['cpu_s'] / 60:8.1f} "
            f"{'-' if age is None else age:>7}  {row['last'] or '-'}"
        )
    for row in rows:
        for one in row["musts"]:
            print(f"must: {row['part']} {one['aim']}: {_told(one)}")
    for row in rows:
        for why in dict.fromkeys(row["left_out"].values()):
            units = ", ".join(unit for unit, own in row["left_out"].items() if own == why)
            print(f"left out: {row['part']} {units}: {why}")
    for row in red:
        when = f"{row['age']} commits ago" if row["last"] else "never"
        print(
            f"RED: {row['part']} ran {when}, expected at most {COMMITS} commits ago: "
            f"make soak PART={row['part']}"
        )
    return int(bool(red))


def _share(musts: Sequence[Mapping[str, Any]]) -> str:
    """Of the aim that is least done."""
    if not musts:
        return ""
    return f"{100 * min(1.0, *(one['cases'] / one['must'] for one in musts)):.0f} %"


def _told(one: Mapping[str, Any]) -> str:
    text = f"{one['cases']} of {one['must']} cases"
    if one["must_clean"] and one["clean"] is not None:
        text += f", {100 * one['clean']:.0f} % of them without a finding, of {100 * one['must_clean']:.0f} %"
    return text
