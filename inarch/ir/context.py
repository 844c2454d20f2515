"""Contexts of programs, each with a store of its constants."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from xdsl.context import Context
from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface
from xdsl.dialects.builtin import Builtin
from xdsl.ir import Dialect

from inarch.core.errors import InarchError


class ConstantStore(OpAsmDialectInterface):
    """The bytes behind `dense_resource<key>` handles: one store a context, payloads never printed.

    xDSL's own store is one global of hex strings that renames keys on a second parse.
    """

    def __init__(self) -> None:
        super().__init__()
        self._data: dict[str, memoryview] = {}

    def put(self, name: str, data: bytes | memoryview) -> str:
        """Stores `data` under a key made of `name`; returns the key.

        Characters that MLIR cannot write become `_`; a number is appended to a key that is taken.
        """
        stem = re.sub(r"[^A-Za-z0-9_$]", "_", name)
        stem = stem if stem[:1].isalpha() or stem[:1] == "_" else f"_{stem}"
        key, count = stem, 0
        while key in self._data:
            count += 1
            key = f"{stem}_{count}"
        self._data[key] = memoryview(data).cast("B")
        return key

    def set(self, key: str, data: bytes | memoryview) -> None:
        """Stores `data` under exactly `key`, in place of what was there."""
        self._data[key] = memoryview(data).cast("B")

    def get(self, key: str) -> memoryview:
        """The bytes of `key`. Raises when the text was read without its side file."""
        if key not in self._data:
            raise InarchError(
                f"constant '{key}' has no data: expected it in the store; "
                "read the text with its side file: FILE.npz beside FILE.mlir, or --resources"
            )
        return self._data[key]

    def drop(self, key: str) -> None:
        """Forgets the bytes of `key`; the caller knows that nothing refers to it any more."""
        self._data.pop(key, None)

    def keys(self) -> list[str]:
        """All keys, in order of arrival."""
        return list(self._data)

    def __contains__(self, key: str) -> bool:
        return key in self._data

    # -- xDSL's interface, called by its parser and printer

    def declare_resource(self, key: str) -> str:
        return key

    def parse_resource(self, key: str, val: str) -> None:
        """MLIR's textual form: `0x`, four bytes of alignment, the data; all in hexadecimal."""
        if not val.startswith("0x") or len(val) < 10:
            raise ValueError(
                f"expected a hexadecimal blob for resource '{key}', found {val[:16]!r}"
            )
        self.set(key, bytes.fromhex(val[10:]))

    def lookup(self, key: str) -> str | None:
        return None

    def build_resources(self, keys: Iterable[str]) -> dict[str, str]:
        return {}


def make_context(dialects: Mapping[str, Callable[[], Dialect]]) -> Context:
    """A context with its own constant store that knows `dialects`, each loaded when first met."""
    context = Context()
    builtin = Dialect(
        "builtin", list(Builtin.operations), list(Builtin.attributes), [ConstantStore()]
    )
    context.load_dialect(builtin)
    for name, factory in dialects.items():
        if name != "builtin":
            context.register_dialect(name, factory)
    return context


def store_of(context: Context) -> ConstantStore:
    """The constant store of a context made by `make_context`."""
    builtin = next((d for d in context.loaded_dialects if d.name == "builtin"), None)
    store = builtin.get_interface(OpAsmDialectInterface) if builtin is not None else None
    if not isinstance(store, ConstantStore):
        raise InarchError(
            "this xDSL context has no constant store; make it with inarch.dialects.new_context()"
        )
    return store
