"""The two ways of calls, for tests that take both: compiled, and by cffi."""

from __future__ import annotations

from typing import Any, cast

import pytest

from inarch.runtime.calls.called import Called
from inarch.runtime.calls.compiled import COMPILED

_IN_PYTHON: Any = Called.__call__  # before compiled calls take its place


@pytest.fixture(params=("compiled", "cffi"))
def calls(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The way that calls of what is loaded from here on take: `compiled`, then `cffi`."""
    way = cast("str", request.param)
    if way == "cffi":
        for name, value in (("_extension", None), ("_settled", True)):
            monkeypatch.setattr(COMPILED, name, value)
        monkeypatch.setattr(Called, "__call__", _IN_PYTHON)
    elif COMPILED.prepare() != way:
        pytest.skip("calls are not compiled here")
    return way
