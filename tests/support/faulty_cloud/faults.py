"""What may go wrong between a client and an API, as seen from the client."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Answer:
    """A status that is not the API's."""

    status: int
    retry_after: str | None = None
    """The header of that name: seconds, or a date."""
    reached: bool = False
    """The API did what it was asked for; only its answer is replaced (a gateway gave up)."""


@dataclass(frozen=True)
class HangUp:
    """The connection ends without a byte of an answer."""

    reached: bool
    """The API did what it was asked for; nobody hears of it."""


@dataclass(frozen=True)
class Straggle:
    """The connection ends at once, and the API gets the request later."""

    seconds: float
    """How much later, at most: what is under way when the proxy closes reaches the API then."""


@dataclass(frozen=True)
class Delay:
    """The API gets the request, and the client the answer, late."""

    seconds: float


@dataclass(frozen=True)
class Truncate:
    """The API did what it was asked for; the connection ends in the middle of the answer."""


@dataclass(frozen=True)
class Garble:
    """The API did what it was asked for; what comes back under its status is no JSON."""


Fault = Answer | HangUp | Straggle | Delay | Truncate | Garble


def has_reached(fault: Fault) -> bool:
    """Whether the API has done what it was asked for when the client looks again."""
    match fault:
        case Answer() | HangUp():
            return fault.reached
        case Straggle():
            return False
        case _:
            return True
