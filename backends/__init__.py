"""What programs become: backends and hosts, one module or package each, found by its name.

`backends/<name>` defines `BACKEND`, a `Backend` (`inarch.offload.backend`): what it takes from a model and
how it emits that; or `HOST`, a `Host` (`inarch.backends.host`), which compiles the rest: `c`. Lit tests are
in `tests/lit/backends/<name>/`; nothing else is edited. `inarch list backends` and `inarch list hosts` show
them; other distributions add theirs in the entry-point groups `inarch.backends` and `inarch.hosts`.
Example: `inarch compile model.onnx --backend examplejson`.
"""

from __future__ import annotations

from inarch.backends.host import HOSTS, BuildRequest, Host, Program
from inarch.offload.backend import (
    BACKENDS,
    Backend,
    Emission,
    EmitRequest,
    Instance,
    Option,
    Request,
)

__all__ = [
    "BACKENDS",
    "HOSTS",
    "Backend",
    "BuildRequest",
    "Emission",
    "EmitRequest",
    "Host",
    "Instance",
    "Option",
    "Program",
    "Request",
]
