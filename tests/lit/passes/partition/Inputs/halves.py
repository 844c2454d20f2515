"""A backend for tests: at most two adds a call, neg for a second, the rest for nothing."""

from collections.abc import Sequence

from inarch.offload.backend import Backend, Emission, EmitRequest, Region, Split


def emit(request: EmitRequest) -> Emission:
    return Emission("c", request.names())


def cost(region: Region) -> float:
    return 1.0 if region.ops[0].name == "graph.neg" else 0.0


def decide(regions: Sequence[Region]) -> list[Split]:
    return [
        Split(
            region, [region.ops[n : n + 2] for n in range(0, len(region.ops), 2)], "two adds a call"
        )
        for region in regions
        if len(region.ops) > 2
    ]


BACKEND = Backend(
    name="halves",
    description="For tests.",
    emit=emit,
    ops=("add", "neg", "mul"),
    cost=cost,
    decide=decide,
)
