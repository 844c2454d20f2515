"""Converters of PyTorch's operators without PyTorch: recorded graphs mean what PyTorch computed of them."""

from __future__ import annotations

import numpy as np
import pytest

from inarch.definitions.execute import execute
from inarch.dialects import new_context
from inarch.frontends.torch.graph import import_graph, operator_name, reason_against
from inarch.frontends.torch.ops import converters
from inarch.ir.functions import functions, index_ranges
from inarch.ir.verify import verify_module
from tests.unit.frontends.torch_graphs import recorded

CASES = recorded()


@pytest.mark.every_case(reason="each is an operator of its own")
@pytest.mark.parametrize("name", CASES)
def test_a_recorded_graph_means_what_pytorch_computed(name: str) -> None:
    case, context = CASES[name], new_context()
    if case.refused:
        calls = [node for node in case.graph().graph.nodes if node.op == "call_function"]
        reasons = {node.name: reason_against(node, context) for node in calls}
        assert {node: reasons[node] for node in case.refused} == case.refused
        return
    module = import_graph(case.graph(), context, "test")
    verify_module(module)
    for found, wanted in zip(execute(module, case.inputs, context), case.outputs, strict=True):
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_every_converter_has_a_recorded_graph() -> None:
    """Re-record with `make bridges/torch` at hand: python -m tests.unit.bridges.record_torch."""
    taken = [case for case in CASES.values() if not case.refused]
    nodes = [node for case in taken for node in case.graph().graph.nodes]
    assert converters().keys() - {operator_name(node) for node in nodes} == set()


def test_ids_of_an_embedding_are_checked_by_the_call() -> None:
    """PyTorch raises IndexError, for negative ones, too."""
    found = [
        index_ranges(functions(import_graph(case.graph(), new_context(), "test"))[0], position)
        for case in CASES.values()
        if any(operator_name(n) == "aten.embedding.default" for n in case.graph().graph.nodes)
        for position in range(len(case.inputs))
        if case.inputs[position].dtype.kind == "i"
    ]
    assert found
    assert all(least == 0 < most for ((least, most),) in found)
