"""A pipeline: named phases of passes, with places where others may put theirs.

    pipeline = default_pipeline()
    pipeline = pipeline.after("prepare", MyPass()).without("padding/drop-padding-taps")

A place is before or after a phase (which is in it: first, or last) or a pass; `phase/pass` says which one
of several is meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from xdsl.passes import ModulePass

from inarch.core.errors import UsageError, unknown


@dataclass(frozen=True)
class Phase:
    """Passes under a name, under which others find their place; without one, `""`, just passes."""

    name: str
    passes: tuple[ModulePass, ...]

    def __str__(self) -> str:
        text = ",".join(str(one.spec()) for one in self.passes)
        return f"{self.name}({text})" if self.name else text


@dataclass(frozen=True)
class Pipeline:
    """Phases in order; iterating gives their passes. Its text is what `parse` makes it of."""

    phases: tuple[Phase, ...]

    def __iter__(self) -> Iterator[ModulePass]:
        for phase in self.phases:
            yield from phase.passes

    def __len__(self) -> int:
        return sum(len(phase.passes) for phase in self.phases)

    def __str__(self) -> str:
        return ",".join(str(phase) for phase in self.phases if phase.name or phase.passes)

    def __contains__(self, anchor: object) -> bool:
        """Whether a phase or a pass is called so."""
        return anchor in self.anchors()

    def anchors(self) -> list[str]:
        """The names that a place can have: phases, passes, `phase/pass`."""
        phases = [phase.name for phase in self.phases if phase.name]
        passes = [(phase.name, one.name) for phase in self.phases for one in phase.passes]
        exact = [f"{phase}/{name}" for phase, name in passes if phase]
        return list(dict.fromkeys([*phases, *(name for _, name in passes), *exact]))

    def before(self, anchor: str, *passes: ModulePass) -> Pipeline:
        """With `passes` before `anchor`; of a phase, at its begin. Raises UsageError for no such place."""
        return self._changed(anchor, lambda found: (*passes, *found))

    def after(self, anchor: str, *passes: ModulePass) -> Pipeline:
        """With `passes` after `anchor`; of a phase, at its end. Raises UsageError for no such place."""
        return self._changed(anchor, lambda found: (*found, *passes))

    def replace(self, anchor: str, *passes: ModulePass) -> Pipeline:
        """With `passes` in the place of `anchor`: a pass, or all that a phase has. Raises UsageError."""
        return self._changed(anchor, lambda _: passes)

    def without(self, anchor: str) -> Pipeline:
        """Without a pass, or without all that a phase has. Raises UsageError."""
        return self.replace(anchor)

    def until(self, anchor: str) -> Pipeline:
        """What runs up to the end of `anchor`. Raises UsageError."""
        return self._cut(anchor, is_end=True)

    def since(self, anchor: str) -> Pipeline:
        """What runs from the begin of `anchor` on. Raises UsageError."""
        return self._cut(anchor, is_end=False)

    def closed(self) -> Pipeline:
        """Without passes whose work ends in another one (`ended_by` of the class) that is not there."""
        names = {one.name for one in self}

        def stays(one: ModulePass) -> bool:
            return getattr(one, "ended_by", one.name) in names

        return Pipeline(
            tuple(replace(one, passes=tuple(filter(stays, one.passes))) for one in self.phases)
        )

    def _cut(self, anchor: str, *, is_end: bool) -> Pipeline:
        number, index = self._find(anchor)
        phase = self.phases[number]
        if is_end:
            kept = phase.passes if index is None else phase.passes[: index + 1]
            return Pipeline((*self.phases[:number], replace(phase, passes=kept)))
        kept = phase.passes if index is None else phase.passes[index:]
        return Pipeline((replace(phase, passes=kept), *self.phases[number + 1 :]))

    def _changed(
        self, anchor: str, change: Callable[[tuple[ModulePass, ...]], Iterable[ModulePass]]
    ) -> Pipeline:
        number, index = self._find(anchor)
        phase = self.phases[number]
        if index is None:
            passes = tuple(change(phase.passes))
        else:
            changed = change(phase.passes[index : index + 1])
            passes = (*phase.passes[:index], *changed, *phase.passes[index + 1 :])
        changed_phase = replace(phase, passes=passes)
        return Pipeline((*self.phases[:number], changed_phase, *self.phases[number + 1 :]))

    def _find(self, anchor: str) -> tuple[int, int | None]:
        """The number of a phase, and the index of a pass in it (None: the phase itself is meant)."""
        for number, phase in enumerate(self.phases):
            if phase.name == anchor and anchor:
                return number, None
        wanted, slash, name = anchor.rpartition("/")
        found = [
            (number, index)
            for number, phase in enumerate(self.phases)
            for index, one in enumerate(phase.passes)
            if one.name == name and (not slash or phase.name == wanted)
        ]
        if not found:
            raise unknown("phase or pass", anchor, self.anchors())
        if len(found) > 1:
            exact = [f"{self.phases[number].name}/{name}" for number, _ in found]
            ways = f"write one of {', '.join(exact)}" if not slash else "expected one"
            raise UsageError(f"'{anchor}' stands {len(found)} times in the pipeline: {ways}")
        return found[0]
