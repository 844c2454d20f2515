"""The dialect `power`: an op that Inarch does not have."""

from __future__ import annotations

from inarch.dialects._collect import dialect

DIALECT = dialect(__name__)
