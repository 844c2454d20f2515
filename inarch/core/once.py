"""Properties that are worked out once, without a lock: `functools` has that from Python 3.12 on.

Before, all objects of a class share one: a thread that works out a property of one keeps others waiting, and
for good in the child of a fork.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from functools import cached_property  # noqa: TID251
else:

    class cached_property:  # noqa: N801
        """The property is kept in the object's `__dict__`, which is then asked first."""

        def __init__(self, function: Any) -> None:
            self.function = function
            self.__doc__ = function.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self.name = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            found = instance.__dict__[self.name] = self.function(instance)
            return found
