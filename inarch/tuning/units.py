"""Units of the tuner: ops of the model that share decisions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from inarch.ir.location import parts_of
from inarch.tuning.space import NESTS, Space


@dataclass(frozen=True)
class Unit:
    """Ops of the model that are tuned together, because the same decisions are about them."""

    space: str
    """The pass that decides."""
    places: tuple[str, ...]
    addresses: tuple[str, ...]

    def seconds(self, times: Mapping[str, float]) -> float:
        """Of all its ops; where a pass decides what is fused, of all steps that one of them is part of."""
        if self.space == NESTS:
            return sum(times.get(place, 0.0) for place in self.places)
        own = {part for place in self.places for part in parts_of(place)}
        return sum(took for place, took in times.items() if not own.isdisjoint(parts_of(place)))


def units_of(space: Space) -> list[Unit]:
    """Ops that share a nest are one unit."""
    owner: dict[str, set[str]] = {}
    for place, addresses in space.places.items():
        joined = {place}
        for other in {id(owner[a]): owner[a] for a in addresses if a in owner}.values():
            joined |= other
        for each in joined:
            for address in space.places[each]:
                owner[address] = joined
        for address in addresses:
            owner[address] = joined
    groups = {id(group): group for group in owner.values()}.values()
    found: list[Unit] = []
    for group in groups:
        places = [place for place in space.places if place in group]
        addresses = dict.fromkeys(a for place in places for a in space.places[place])
        found.append(Unit(space.by, tuple(places), tuple(addresses)))
    return found
