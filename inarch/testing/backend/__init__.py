"""A test kit for backends, which a vendor runs in a CI of their own.

    python -m inarch.testing.backend npu --load npu.py
    def test_npu():  # in pytest
        check_backend("npu", load=["npu.py"]).require()

Random programs of all that the backend lists, matches of its patterns among them, in processes of their own;
every option at its ends; artifacts that are saved, loaded, called by several threads; faults in `emit`, in
the loader and in each call. What was not tried is said, and how to have it tried.
"""

from __future__ import annotations

from inarch.testing.backend.check import BackendReport, Check, check_backend

__all__ = ["BackendReport", "Check", "check_backend"]
