"""What can be wrong with bytes or fields of an NSH."""

from __future__ import annotations


class NshError(ValueError):
    """Bytes that are no header, or fields that fit in none.

    `reason` is one of `truncated`, `version`, `md_type`, `length`, `metadata`, `encapsulation`
    (the names of `enum nsh_error` in nsh.h and of the forwarder's counters), or `field` for a
    value that cannot be encoded.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def require(value: int, name: str, maximum: int) -> None:
    """Raise NshError unless 0 <= value <= maximum."""
    if not 0 <= value <= maximum:
        raise NshError("field", f"{name} is {value}; allowed are 0 to {maximum}")
