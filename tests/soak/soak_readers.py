"""How the output of each kind of unit is read: what was tried, and what must not be."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from soak_finds import loads, of_model, of_parser
from soak_units import Done, Finding, Result

ROOT = Path(__file__).parents[2]

SLOWER = 0.97
"""Of the speed before, what is a finding: below what repeats differ by on a quiet machine."""
MUTANTS_S = 480
_COUNT = re.compile(r"(\d+) (passed|failed|errors?|xfailed|skipped)\b")
_BAD = re.compile(r"^(?:FAILED|ERROR) (tests/\S+?(?:\[.*?\])?)(?: - (.*))?$", re.MULTILINE)


def read_pytest(done: Done) -> Result:
    """Its last line has the counts; what failed has a line each."""
    last = next((line for line in reversed(done.out.splitlines()) if _COUNT.search(line)), "")
    count = {word.rstrip("s"): int(number) for number, word in _COUNT.findall(last)}
    cases = sum(number for word, number in count.items() if word != "skipped")
    again = f"INARCH_SOAK=1 INARCH_SEED={done.run.seed} .venv/bin/python -m pytest"
    bad = _BAD.findall(done.out)
    findings = [Finding(f"{name}: {why}", f"{again} '{name}'") for name, why in bad]
    if done.code not in (0, 1, 5) and not findings:
        findings = [Finding(f"pytest left with {done.code}: {last_line(done)}", again)]
    if not cases and not findings and count.get("skipped"):
        why = re.search(r"^SKIPPED \[\d+\] \S+ (.*)$", done.out, re.MULTILINE)
        return Result(skipped=why[1] if why else "all of its tests are skipped")
    return Result(cases, findings)


def last_line(done: Done) -> str:
    lines = [line for line in (done.out + "\n" + done.err).splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"


def broken(done: Done) -> Result:
    return Result(0, [Finding(f"it left with {done.code}: {last_line(done)}", "the log")])


def read_onnx_graphs(
    done: Done, options: Sequence[str] = (), module: str = "inarch.testing.onnx_graphs"
) -> Result:
    """Its JSON has a line for each model that differs."""
    said = loads(done.out)
    if said is None:
        return broken(done)
    again = f"python -m {module} --count 1"
    return Result(
        int(said["graphs"]),
        [
            Finding(
                one["message"],
                " ".join((again, "--seed", str(one["seed"]), *options)),
                partial(of_model, done.run.found, one) if "--across" in options else None,
            )
            for one in said["findings"]
        ],
    )


def read_parser(done: Done) -> Result:
    """One finding a fault."""
    said = loads(done.out)
    if said is None:
        return broken(done)
    name, seed = said["parser"], said["seed"]
    again = said.get("again") or f"python -m inarch.fuzz --parser {name} --count {said['count']}"
    findings = [
        Finding(
            f"{name}: {one['kind']} at {one['place']}",
            f"{again} --seed {seed}",
            partial(of_parser, done.run.found, name, seed, one),
        )
        for one in said["faults"]
    ]
    return Result(said["count"], findings)


def read_sanitizers(done: Done) -> Result:
    """Its JSON has the reports by program; it fetches networks, so it may have to be left out."""
    said = loads(done.out)
    if said is None:
        return Result(skipped=last_line(done)) if "error: " in done.err else broken(done)
    again = f"python benchmarks/sanitizers.py --seed {done.run.seed}"
    findings = [
        Finding(f"{one['name']} {one['target']}: {report}", again)
        for one in said["of"]
        for report in one["reports"]
    ]
    return Result(int(said["calls"]), findings)


def read_speed(done: Done) -> Result:
    """Its JSON has the median of each model: time before divided by time after."""
    said = loads(done.out)
    if said is None:
        return broken(done)
    slower = {model: ratio for model, ratio in said["medians"].items() if ratio < SLOWER}
    again = "python benchmarks/before_after.py HEAD~1 --models"
    findings = [
        Finding(f"{model} runs at {ratio:.2f} of its speed at HEAD~1", f"{again} {model}")
        for model, ratio in slower.items()
    ]
    return Result(len(said["medians"]), findings)


def read_instructions(done: Done) -> Result:
    """Its JSON has the ratios of counts to those before; without perf and valgrind there is none."""
    said = loads(done.out)
    if said is None:
        return (
            Result(skipped=last_line(done)) if "error: expected perf" in done.err else broken(done)
        )
    again = "python benchmarks/instructions.py --models"
    findings = [
        Finding(f"{name} takes {ratio:.3f} of its instructions", f"{again} {name.split()[0]}")
        for name, ratio in said["ratios"].items()
        if ratio > said["most"]
    ]
    return Result(len(said["ratios"]), findings)


def read_suite(done: Done) -> Result:
    """A line for each case that is less than it should be; the last one counts."""
    count = re.search(r"^onnx \S+: \d+ of (\d+) \(", done.out, re.MULTILINE)
    if count is None:
        return broken(done)
    bad = re.findall(
        r"^(unsupported|sized|pass|wrong|error|crash|timeout) +(test_\w+) *(.*)$",
        done.out,
        re.MULTILINE,
    )
    again = "python tests/conformance/suite.py"
    findings = [Finding(f"{kind} {name}: {why}", f"{again} '^{name}$'") for kind, name, why in bad]
    if done.code and not findings:
        return broken(done)
    return Result(int(count[1]), findings)


def read_branches(done: Done) -> Result:
    """A line for each line of C with a branch that is neither taken nor named; the last one counts."""
    count = re.search(r"^all +(\d+) of +(\d+), +(\S+) %$", done.out, re.MULTILINE)
    if count is None:
        return broken(done)
    again = "make branches"
    bad = re.findall(r"^(\w+\.c:\d+: .*not taken: .*)$", done.out, re.MULTILINE)
    findings = [Finding(one, again) for one in bad]
    if done.code and not findings:
        findings = [Finding(f"{count[3]} % of branches are taken, or a test failed", again)]
    return Result(int(count[2]), findings)


def read_types(done: Done) -> Result:
    """Its JSON has the files that it read, and what it says of them."""
    said = loads(done.out)
    if said is None:
        return broken(done)
    findings = [
        Finding(
            f"{Path(one['file']).relative_to(ROOT)}:{one['range']['start']['line'] + 1}: "
            f"{one['message'].splitlines()[0]} ({one.get('rule', one['severity'])})",
            "make strict-types",
        )
        for one in said["generalDiagnostics"]
    ]
    return Result(int(said["summary"]["filesAnalyzed"]), findings)


def read_mutants(done: Done) -> Result:
    """Of the faults that were tried, those that survived; with exit code 2 there was none."""
    said = loads(done.out)
    if said is None and done.code == 2:
        return Result(skipped=last_line(done))
    if said is None:
        return broken(done)
    outcomes = cast("list[dict[str, Any]]", said)
    tried = [one for one in outcomes if one["verdict"] in ("seen", "survived")]
    again = f"python tests/mutants/run.py --seconds {MUTANTS_S} --seed {done.run.seed} --all"
    return Result(
        len(tried),
        [
            Finding(f"survived: {one['id']} {one['key']}", again)
            for one in tried
            if one["verdict"] == "survived"
        ],
    )


def read_again(done: Done) -> Result:
    """Of what had survived, what still does; the rest is seen now, or its code has changed."""
    result, said = read_mutants(done), cast("list[dict[str, Any]]", loads(done.out) or [])
    left = {one["id"] for one in said if one["verdict"] not in ("seen", "gone")}
    return replace(result, mended=sorted({one["id"] for one in said} - left))
