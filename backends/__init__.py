"""What programs become: the backends, one module or package each, found by its name.

`backends/<name>` defines `BACKEND`, a `Backend` (`inarch.passes.backend`): what it takes from a model and
how it emits that; `c` is the host, which compiles the rest. Its lit tests are in
`tests/lit/backends/<name>/`; nothing else is edited. Imports only the core, dialects and passes.
`inarch list backends` shows them; other distributions add theirs in the entry-point group
`inarch.backends`. Example: `inarch compile model.onnx --backend examplejson`.
"""

from __future__ import annotations

from inarch.passes.backend import BACKENDS, Backend, Emission, EmitRequest

__all__ = ["BACKENDS", "Backend", "Emission", "EmitRequest"]
