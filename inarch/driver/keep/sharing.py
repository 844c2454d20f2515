"""The artifacts of one model for several sizes, in the cache: small ones, whose weights are in one pool."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inarch.artifact import Artifact
from inarch.core.cache import default_cache, key_of
from inarch.core.scratch import scratch
from inarch.core.states import digest_of
from inarch.driver.keep.kept import is_keyed, surroundings
from inarch.driver.keep.pool import POOLS, Pool
from inarch.driver.keep.sources import sources
from inarch.ir.payload.shared import SharedWeights
from inarch.ir.report.facts import facts_of
from inarch.runtime.module import Module, load, load_lent

if TYPE_CHECKING:
    from xdsl.context import Context

    from inarch.driver.options import Options

Alone = Callable[[], Module]
"""Makes the module of an artifact that stands by itself, of which the user saves what he wants."""


class SharingSizes:
    """How the sizes of one model share their weights; or do not, where they have no pool."""

    def __init__(self, pool: Pool | None) -> None:
        """For `of`."""
        self._pool = pool
        self._content = b""

    @classmethod
    def of(cls, source: Any, digest: str, options: Options) -> SharingSizes:
        """Of a model in a file, or one in memory whose digest is known.

        There is no pool with options that are not text, for several targets, and with backends, which may
        have weights of their own.
        """
        has_backends = options.backends or options.backend_options or options.give or options.keep
        if not is_keyed(options) or "," in options.target or has_backends:
            return cls(None)
        cache = default_cache()
        name = digest_of(source, cache) if isinstance(source, Path) else digest
        if not name:
            return cls(None)
        # What was compiled by another Inarch, or with other options, packs its weights in other ways.
        return cls(POOLS.get(cache, key_of("pool", name, sources()[0], *surroundings(options))))

    def share_in(self, context: Context) -> None:
        """Has the next compilation in `context` take its weights from the pool."""
        if self._pool is not None:
            facts_of(context).put(SharedWeights(self._pool.place))

    def opened(self, path: Path, alone: Alone) -> Module | None:
        """The module of an artifact that was kept; None where its weights are not there any more."""
        with Artifact.open(path) as artifact:
            shared = artifact.manifest.shared
        if shared is None:
            return load(path)
        view = self._pool.view(shared) if self._pool is not None else None
        return load_lent(path, view, alone) if view is not None else None

    def opened_bytes(self, content: bytes, alone: Alone) -> Module | None:
        """As `opened`, of an artifact's bytes."""
        with scratch("inarch-load-") as folder:
            path = folder / "model.inarch"
            path.write_bytes(content)
            return self.opened(path, alone)

    def made(self, path: Path, context: Context, alone: Alone) -> Module:
        """The module of the artifact that was compiled just now in `context`."""
        shared = facts_of(context).get(SharedWeights)
        self._content = b""
        if shared is None or shared.places is None:
            return load(path)
        self._content = path.read_bytes()
        return load_lent(path, shared.places.view, alone)

    def content_of(self, module: Module) -> bytes:
        """What is to be kept of the module that was `made` last."""
        return self._content or module.save_to_bytes()
