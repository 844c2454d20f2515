"""Calls functions of libraries on memory between guard pages; each in a process of its own.

    python guarded_calls.py < calls.json

A call is `{"library", "symbol", "buffers": [[bytes, alignment], ...], "weights": hex, "workspace": bytes}`,
of an unchecked entry after ABI v0. It runs twice: every buffer ends where a page without access begins (but
for its alignment), then begins where one ends. Prints the statuses of the two processes for each call: 0 is
good, 11 is SIGSEGV.
"""

import ctypes
import json
import os
import sys
from typing import Any

PAGE = os.sysconf("SC_PAGESIZE")
READ_WRITE, NONE, PRIVATE_ANONYMOUS = 3, 0, 0x22
"""Of Linux's mmap(2)."""

libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def guarded(size: int, alignment: int, *, at_end: bool) -> int:
    """The address of `size` bytes, zeros, beside a guard page."""
    inside = max(1, -(-size // PAGE)) * PAGE
    base = libc.mmap(None, inside + 2 * PAGE, READ_WRITE, PRIVATE_ANONYMOUS, -1, 0)
    for page in (base, base + PAGE + inside):
        if libc.mprotect(page, PAGE, NONE) != 0:
            raise OSError("mprotect failed")
    return base + PAGE + (inside - -(-size // alignment) * alignment if at_end else 0)


def call(one: dict[str, Any], *, at_end: bool) -> int:
    """Makes one call; its status."""
    pointers = [guarded(size, alignment, at_end=at_end) for size, alignment in one["buffers"]]
    image = bytes.fromhex(one["weights"])
    weights = guarded(len(image), 64, at_end=at_end)
    ctypes.memmove(weights, image, len(image))
    workspace = guarded(one["workspace"], 64, at_end=at_end)
    function = ctypes.CDLL(one["library"])[one["symbol"]]
    function.argtypes = [ctypes.c_void_p] * 3
    function.restype = ctypes.c_int32
    status: int = function((ctypes.c_void_p * len(pointers))(*pointers), weights, workspace)
    return status


def main() -> None:
    """Reads the calls, makes them, and prints what became of them."""
    statuses: list[list[int]] = []
    for one in json.load(sys.stdin):
        pair: list[int] = []
        for at_end in (True, False):
            child = os.fork()
            if child == 0:
                status = 70
                try:
                    status = call(one, at_end=at_end)
                finally:
                    os._exit(status)
            pair.append(os.waitpid(child, 0)[1])
        statuses.append(pair)
    json.dump(statuses, sys.stdout)


if __name__ == "__main__":
    main()
