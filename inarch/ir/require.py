"""What verifiers say: the constraint that does not hold, by its number."""

from __future__ import annotations

from xdsl.utils.exceptions import VerifyException


def require(condition: bool, label: str, message: str, *found: object) -> None:
    """Raises `label: message` unless `condition`; `label` is the constraint's number, `C1`.

    `found` takes the places of `{}` in the message: the text of a type costs more than most checks.
    """
    if not condition:
        raise VerifyException(f"{label}: {message.format(*found) if found else message}")
