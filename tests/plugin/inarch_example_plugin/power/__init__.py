"""The dialect `power`: an op that Inarch does not have."""

from __future__ import annotations

from inarch.ir.dialect import dialect

DIALECT = dialect(__name__)
