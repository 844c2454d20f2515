"""`inarch explain`: who owns each op of a model, which microkernel does each nest, and why not others."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inarch.core.errors import UsageError
from inarch.tools.commands import Command
from inarch.tools.flags import BACKENDS, MODEL, add_options, compile_options
from inarch.tools.options import many

if TYPE_CHECKING:
    from xdsl.context import Context

    from inarch.driver.options import Options
    from inarch.offload.backend import Instance
    from inarch.passes.loop.threads.sharing import SharingReport
    from inarch.passes.partitioning import OpReport, PartitionReport
    from inarch.passes.tensorize.report import KernelReport, NestReport
    from inarch.tools.explain.html import Box

SCHEMA = 1
"""The version of the JSON; a field that is added does not change it."""

LONGEST_LOCATION = 40
SHOWN_CAUSES = 3


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, help="the model: .onnx, or .mlir text")
    add_options(parser, *BACKENDS)
    parser.add_argument(
        "--kernels",
        action="store_true",
        help="also which microkernel does which loop nest of the host (default without --backend)",
    )
    parser.add_argument(
        "--why",
        **many("LOCATION"),
        help="everything about the microkernels of the nests from this place (repeatable)",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="the reasons of every backend and microkernel, not of the first only",
    )
    parser.add_argument(
        "--regions",
        action="store_true",
        help="also of each part of a backend: the bytes that go into it and out of it in a call, and stay in "
        "it, what it computes, what it costs there and on the host, and what the backend decided of it",
    )
    parser.add_argument(
        "--emit",
        action="store_true",
        help="also let the backends emit, and say what they hand back to the host",
    )
    parser.add_argument("--json", action="store_true", help="print the whole report as JSON")
    parser.add_argument("--html", type=Path, metavar="FILE", help="also write the graph as a page")
    add_options(parser, *MODEL)


def _execute(arguments: argparse.Namespace) -> int:
    from inarch.driver.compiler import build, import_model
    from inarch.driver.weighing import prepare_weighing
    from inarch.ir.report.facts import facts_of
    from inarch.passes.loop.threads.sharing import SharingReport
    from inarch.passes.partitioning import HOST, explain, parse_selection
    from inarch.pipeline.default import default_pipeline
    from inarch.pipeline.manager import run_pipeline
    from inarch.pipeline.places import placed
    from inarch.tools.explain.between import with_between
    from inarch.tools.explain.emitted import after_emission
    from inarch.tools.explain.graph import boxes_of, run_required
    from inarch.tools.explain.kernels import at, kernels_of
    from inarch.tools.explain.kernels import facts as kernel_facts
    from inarch.tools.explain.kernels import summary as kernel_summary
    from inarch.tools.explain.threads import summary as sharing_summary

    _check_html(arguments)
    options = compile_options(arguments)
    backends = list(map(str, (instances := _instances(options)).values()))
    with_kernels = bool(not backends or arguments.kernels or arguments.why or arguments.microkernel)
    context = _context()
    module = import_model(arguments.model, context, options)
    run_pipeline(context, module, placed(default_pipeline()).until("prepare"))
    run_required(context, module, backends)
    by_hand = {
        "give": [parse_selection(text) for text in arguments.give],
        "keep": [parse_selection(text) for text in arguments.keep],
    }
    prepare_weighing(context, options.host, measure=build if options.measure_regions else None)
    say = after_emission if arguments.emit else explain
    report = say(context, module, backends, **by_hand)
    boxes = boxes_of(module, report) if arguments.html is not None else []
    choose = partial(kernels_of, context, module, options.host, backends, **by_hand)
    if arguments.load or arguments.microkernel:
        choose = partial(with_between, context, module.clone(), choose)
    kernels = choose() if with_kernels else None
    chosen: list[NestReport] = []
    if kernels is not None:
        chosen = [nest for location in arguments.why for nest in at(kernels, location)]
        boxes = [_with_kernels(box, kernels) for box in boxes]
    sharing = facts_of(context).get(SharingReport)
    if arguments.html is not None:
        lines = [
            *_summary(report, instances),
            *_causes(report),
            *(kernel_summary(kernels) if kernels else []),
            *(sharing_summary(sharing) if sharing else []),
        ]
        _write_page(
            arguments,
            [*report.backends, HOST],
            [_with_algorithms(box, context) for box in boxes],
            lines,
        )
    if arguments.json:
        found = _facts(arguments.model.name, report, instances)
        found |= {"kernels": kernel_facts(kernels)} if kernels is not None else {}
        found |= {"threads": [one.to_json() for one in sharing.ops]} if sharing else {}
        print(json.dumps(found | _algorithms(context) | _defaults(context), indent=1))
        return 0
    parts = [] if chosen else _graph_parts(arguments, report, instances)
    parts += _kernel_parts(arguments, chosen, kernels, sharing) + _algorithm_parts(
        context, arguments
    )
    parts += [] if chosen else _default_parts(context, str(arguments.model))
    sys.stdout.write("\n".join(parts))
    return 0


def _context() -> Context:
    """In which algorithms that the numerics forbid have prices."""
    from inarch.dialects import new_context
    from inarch.ir.report.facts import facts_of
    from inarch.passes.lower.weighed import PriceAll

    context = new_context()
    facts_of(context).put(PriceAll())
    return context


def _algorithms(context: Context) -> dict[str, object]:
    """The algorithms of ops that have several."""
    from inarch.ir.report.facts import facts_of
    from inarch.passes.lower.weighed import Algorithms
    from inarch.tools.explain.algorithms import facts

    report = facts_of(context).get(Algorithms)
    return {} if report is None else {"algorithms": facts(report)}


def _algorithm_parts(context: Context, arguments: argparse.Namespace) -> list[str]:
    """The same as lines."""
    from inarch.ir.report.facts import facts_of
    from inarch.passes.lower.weighed import Algorithms
    from inarch.tools.explain.algorithms import table

    report = facts_of(context).get(Algorithms)
    lines = [] if report is None else table(report, arguments.why, every=arguments.all)
    return ["\n".join([*lines, ""])] if lines else []


def _defaults(context: Context) -> dict[str, object]:
    """The inputs whose own values are compiled in, as the manifest has them; empty where there are none."""
    from inarch.frontends import Origin
    from inarch.ir.report.facts import facts_of

    origin = facts_of(context).get(Origin)
    found = None if origin is None else origin.said.get("defaults")
    return {"defaults": found} if found else {}


def _default_parts(context: Context, where: str) -> list[str]:
    """The same as a line."""
    from inarch.artifact.provenance import provenance
    from inarch.core.outside.value import Document, Value
    from inarch.tools.artifacts.text import defaults_text

    found = provenance(Value({"source": _defaults(context)}, "", Document(where))).defaults
    return [f"defaults: {defaults_text(found)}\n"] if found else []


def _check_html(arguments: argparse.Namespace) -> None:
    from inarch.core.cache import check_writable
    from inarch.core.outside.regular import real_path

    if arguments.html is None:
        return
    check_writable(arguments.html)
    if real_path(arguments.html) == real_path(arguments.model):
        raise UsageError(f"--html: expected another file than the model, found '{arguments.html}'")


def _write_page(
    arguments: argparse.Namespace, owners: Sequence[str], boxes: Sequence[Box], lines: Sequence[str]
) -> None:
    from inarch.core.cache import replacing
    from inarch.tools.explain.html import page

    with replacing(arguments.html) as file:
        file.write(page(arguments.model.name, boxes, owners, lines).encode())


def _graph_parts(
    arguments: argparse.Namespace, report: PartitionReport, instances: Mapping[str, Instance]
) -> list[str]:
    """What is said of backends, where one is asked."""
    from inarch.tools.explain.regions import table

    if not instances:
        return []
    owners = _table(report, instances, every=arguments.all)
    return [owners, table(report)] if arguments.regions else [owners]


def _kernel_parts(
    arguments: argparse.Namespace,
    chosen: Sequence[NestReport],
    kernels: KernelReport | None,
    sharing: SharingReport | None,
) -> list[str]:
    """What is said of microkernels and threads: of the chosen nests all, else a table."""
    from inarch.tools.explain.kernels import everything, table
    from inarch.tools.explain.threads import of_places, summary

    if kernels is None:
        return []
    said: list[str] = []
    if chosen:
        parts = [everything(nest, kernels) for nest in {id(n): n for n in chosen}.values()]
        said = of_places(sharing, [n.location or "" for n in chosen]) if sharing else []
    else:
        parts = [table(kernels, every=arguments.all)]
        said = summary(sharing) if sharing else []
    return [*parts, "\n".join([*said, ""])] if said else parts


def _instances(options: Options) -> dict[str, Instance]:
    """What `--backend` and `--backend-option` ask for, checked, by name."""
    if not options.backends and (options.give or options.keep):
        raise UsageError(
            "--give, --keep: expected a backend to choose for, such as --backend examplejson"
        )
    offload = options.offload()
    for other in offload.others():
        raise UsageError(
            f"--backend-option: '{other.name}' is not asked for; write --backend {other.name}"
        )
    return offload.asked()


def _with_kernels(box: Box, kernels: KernelReport) -> Box:
    """The box of an op of the host says what its nests have; others stay as they are."""
    from inarch.passes.partitioning import HOST
    from inarch.tools.explain.kernels import box_facts

    if box.owner != HOST:
        return box
    kernel, lines = box_facts(kernels, box.location)
    return replace(box, kernel=kernel, kernels=lines)


def _with_algorithms(box: Box, context: Context) -> Box:
    from inarch.ir.report.facts import facts_of
    from inarch.passes.lower.weighed import Algorithms
    from inarch.tools.explain.algorithms import lines_at

    report = facts_of(context).get(Algorithms)
    return box if report is None else replace(box, algorithms=lines_at(report, box.location))


def _summary(report: PartitionReport, instances: Mapping[str, Instance]) -> list[str]:
    """`big (npu:array=32): 12 of 20 ops, 3 regions`, one line an instance, then the host."""
    lines: list[str] = []
    total = _count(len(report.ops), "op")
    for name in report.backends:
        owned, regions = len(report.owned_by(name)), len(report.regions(name))
        one = instances[name]
        kind = "" if one.is_plain else f" ({replace(one, name=one.backend.name)})"
        lines.append(f"{name}{kind}: {owned} of {total}, {_count(regions, 'region')}")
    taken = sum(op.owner in report.backends for op in report.ops)
    lines.append(f"host: {len(report.ops) - taken} of {total}")
    return lines


def _causes(report: PartitionReport) -> list[str]:
    """For each backend the reasons that left the most ops to the host."""
    lines: list[str] = []
    left = [op for op in report.ops if op.owner not in report.backends]
    for name in report.backends:
        # without the places of the ops, so that equal reasons are counted together
        reasons = Counter(
            re.sub(r"(graph\.\w+) \([^()]*\)", r"\1", op.reasons[name])
            for op in left
            if name in op.reasons
        )
        lines += [
            f"{_count(count, 'op')} on the host, not {name}: {reason}"
            for reason, count in reasons.most_common(SHOWN_CAUSES)
        ]
    return lines


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _table(report: PartitionReport, instances: Mapping[str, Instance], *, every: bool) -> str:
    """One line an op: what it is, where from, its owner, and why not the first other backend."""
    rows = [("op", "location", "owner")]
    rows += [(op.op.removeprefix("graph."), _place(op), _owner(op)) for op in report.ops]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    reasons = [
        ["why not the others"],
        *([*map(": ".join, op.reasons.items())] for op in report.ops),
    ]
    lines: list[str] = []
    for row, why in zip(rows, reasons, strict=True):
        cells = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        shown = why or [""]
        lines += [f"{cells}  {shown[0]}".rstrip()]
        if every:
            lines += [f"{' ' * len(cells)}  {reason}" for reason in shown[1:]]
    return "\n".join([*lines, "", *_summary(report, instances), ""])


def _place(op: OpReport) -> str:
    """The end of a long location, where names of nodes differ."""
    place = op.location or op.value
    return place if len(place) <= LONGEST_LOCATION else f"...{place[3 - LONGEST_LOCATION :]}"


def _owner(op: OpReport) -> str:
    return f"{op.owner} ({op.pattern})" if op.pattern else op.owner


def _facts(
    model: str, report: PartitionReport, instances: Mapping[str, Instance]
) -> dict[str, Any]:
    """The JSON: `schema`, `model`, `backends` asked, `ops` in program order, `owners` with counts.

    `traffic` has of each region its bytes (in, out, resident), multiply-adds, `seconds` of a call there (or
    null) and `host_seconds`, their `source`, and the `reason` of what was decided; `bytes_across` is of all
    boundaries in a call. `decided` has what backends decided, and what went back.
    `instances` says of each of those asked its `backend` and all `options`, as text.

    An op has `op`, `value`, `location` (or null), `function`, `owner`, `pattern` and `region` (or
    null), and `reasons`, by backend. Of an owner there are `ops`, a count, and `regions`, symbols.
    Where microkernels were asked for there is `kernels` (`_explain_kernels.facts`).
    """
    owners = dict.fromkeys([*report.backends, *(op.owner for op in report.ops)])
    counts = {
        name: {"ops": len(report.owned_by(name)), "regions": list(report.regions(name))}
        for name in owners
    }
    asked = {
        name: {"backend": one.backend.name, "options": one.texts} for name, one in instances.items()
    }
    facts = {"schema": SCHEMA, "model": model, **report.to_json()}
    across = {"bytes_across": report.bytes_across}
    return {**facts, **across, "owners": counts, "instances": asked}


COMMAND = Command(
    description="Show who owns each op of a model and which microkernel does it, and why no other does.",
    epilog="""examples:
  inarch explain model.onnx --backend examplejson
  inarch explain model.onnx --backend my-npu,cblas --load my_npu.py --all
  inarch explain model.onnx --backend my-npu --load my_npu.py --html model.html
  inarch explain model.onnx --load my_npu.py --backend big=my-npu:array=32 --backend my-npu
  inarch explain model.onnx --backend my-npu --load my_npu.py --regions --measure-regions
  inarch explain model.onnx --load my_gemm.c
  inarch explain model.onnx --why conv1
""",
    add_arguments=_add_arguments,
    execute=_execute,
)
