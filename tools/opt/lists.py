"""What `inarch-opt --list-passes` and `--list-dialects` print."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from importlib import import_module

from inarch.dialects import DIALECTS, new_context
from inarch.pipeline.registry import Card, first_line


def cards_text(cards: Sequence[Card]) -> str:
    """One line a card: name, summary, origin."""
    width = max((len(card.name) for card in cards), default=0)
    lines = [
        f"{card.name:<{width}}  {card.summary}" + (f"  [{card.origin}]" if card.origin else "")
        for card in cards
    ]
    return "".join(f"{line}\n" for line in lines)


def dialect_cards() -> list[Card]:
    """A card for every dialect: ours and plugins', then those of xDSL that programs may use."""
    theirs = sorted(set(new_context().registered_dialect_names) - set(DIALECTS))
    return [
        *(_card(name) for name in DIALECTS),
        *(Card(name, "", f"xdsl.dialects.{name}") for name in theirs),
    ]


def _card(name: str) -> Card:
    try:
        DIALECTS[name]
        origin = DIALECTS.origin(name)
        module = import_module(origin.module)
        return Card(name, first_line(module) or inspect.getdoc(module) or "", origin.source)
    except Exception as error:  # noqa: BLE001 - one broken plugin must not hide the rest
        return Card(name, f"broken: {str(error).splitlines()[0]}", "", broken=True)
