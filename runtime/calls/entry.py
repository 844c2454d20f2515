"""The C function behind a `Function`: what a bridge to another framework, or a C program, calls.

entry = module["main"].c_entry
entry.address          # int32_t main(DLTensor *args, int32_t n): inputs, then outputs; 0 is success
entry.last_error       # const char *last_error(void): why the last call of this thread failed
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class CEntry:
    """Addresses of C functions, as `inarch.h` says; they are valid as long as this object lives."""

    address: int
    """`int32_t <prefix>_<function>(DLTensor *args, int32_t n)`: checks its arguments; from any thread."""
    last_error: int
    """`const char *<prefix>_last_error(void)`."""
    set_threads: int
    """`int32_t <prefix>_set_threads(int32_t threads)`; 0 where threads share no loop of the library."""
    owner: object = field(repr=False)
    """What keeps code and weights in memory."""
