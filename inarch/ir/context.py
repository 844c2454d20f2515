"""Contexts of programs, each with a store of its constants."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, MutableMapping
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface
from xdsl.dialects.builtin import Builtin
from xdsl.ir import Dialect

from inarch.core.errors import InarchError

Content: TypeAlias = memoryview | Callable[[], memoryview]
"""The bytes of a constant, or what makes them."""


class ConstantStore(OpAsmDialectInterface):
    """The bytes behind `dense_resource<key>` handles: one store a context, payloads never printed.

    xDSL's own store is one global of hex strings that renames keys on a second parse.
    """

    def __init__(self, data: MutableMapping[str, Content] | None = None) -> None:
        super().__init__()
        self._data: MutableMapping[str, Content] = {} if data is None else data
        self._made: dict[str, tuple[memoryview, Hashable]] = {}
        self._next: dict[str, int] = {}
        """By what keys are made of, the number from which on they may be free."""

    def put(
        self, name: str, data: bytes | Content, made: tuple[memoryview, Hashable] | None = None
    ) -> str:
        """Stores `data`, or what makes it, under a key made of `name`; returns the key.

        `made`: of which bytes, and how: equal for equal contents.

        What makes it is called whenever it is asked for: it must always give the same. Characters that
        MLIR cannot write become `_`; a number is appended to a key that is taken.
        """
        stem = re.sub(r"[^A-Za-z0-9_$]", "_", name)
        stem = stem if stem[:1].isalpha() or stem[:1] == "_" else f"_{stem}"
        count = self._next.get(stem, 0)
        key = f"{stem}_{count}" if count else stem
        while key in self._data:
            count += 1
            key = f"{stem}_{count}"
        self._next[stem] = count + 1
        self._data[key] = data if callable(data) else memoryview(data).cast("B")
        if made is not None:
            self._made[key] = made
        return key

    def set(self, key: str, data: bytes | memoryview) -> None:
        """Stores `data` under exactly `key`, in place of what was there."""
        self._data[key] = memoryview(data).cast("B")
        self._made.pop(key, None)

    def made_of(self, key: str) -> tuple[memoryview, Hashable] | None:
        """Of which bytes `key` is made, and how (None: it is these); None where nobody has said it."""
        data = self._data.get(key)
        return (data, None) if isinstance(data, memoryview) else self._made.get(key)

    def get(self, key: str) -> memoryview:
        """The bytes of `key`. Raises when the text was read without its side file."""
        try:
            data = self._data[key]
        except KeyError:
            raise InarchError(
                f"constant '{key}' has no data: expected it in the store; "
                "read the text with its side file: FILE.npz beside FILE.mlir, or --resources"
            ) from None
        return data() if callable(data) else data

    def drop(self, key: str) -> None:
        """Forgets the bytes of `key`; the caller knows that nothing refers to it any more."""
        self._data.pop(key, None)
        self._made.pop(key, None)

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


class _Blobs(MutableMapping[str, Content]):
    """xDSL's own store, for our passes in tools of others: they read it, and print what we put there."""

    def __init__(self, texts: dict[str, str]) -> None:
        self._texts = texts

    def __contains__(self, key: object) -> bool:
        return key in self._texts  # with data or without: the name is taken

    def __getitem__(self, key: str) -> memoryview:
        if not (text := self._texts[key]):
            raise KeyError(key)  # declared, without data
        return memoryview(bytes.fromhex(text[len(_ALIGNED) :]))

    def __setitem__(self, key: str, data: Content) -> None:
        made = data() if callable(data) else data
        self._texts[key] = f"{_ALIGNED}{made.hex()}"

    def __delitem__(self, key: str) -> None:
        del self._texts[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)


_ALIGNED = "0x40000000"
"""How MLIR's text of a blob begins: aligned to 64 bytes."""


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
    """The constant store of a context; of one that others made, as `xdsl-opt` does, in that of xDSL."""
    builtin = context.get_optional_dialect("builtin")
    store = builtin.get_interface(OpAsmDialectInterface) if builtin is not None else None
    if isinstance(store, ConstantStore):
        return store
    if store is None:
        raise InarchError(
            "this xDSL context has no constant store; make it with inarch.dialects.new_context()"
        )
    return ConstantStore(_Blobs(store._blob_storage))  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
