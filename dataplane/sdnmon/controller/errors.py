"""Errors of calls to a switch."""

from __future__ import annotations

from enum import IntEnum

from sfcperf.errors import SfcperfError


class CallError(SfcperfError):
    """A call to a switch did not succeed; `where` is the switch."""


class NoSuchSwitch(CallError):
    """No switch with this ID is connected."""


class SwitchLeft(CallError):
    """The connection ended before the switch answered; whether it made the change is unknown."""


class NoAnswer(CallError):
    """The switch did not answer in time; whether it made the change is unknown."""


class NoAgent(CallError):
    """The switch does not know SDN-Mon: no agent is between it and the controller."""


class WrongAnswer(CallError):
    """The answer is none of SDN-Mon's messages."""


class LimitExceeded(CallError):
    """More is asked for than the controller does at once."""


class Reason(IntEnum):
    """Why the agent refused a request."""

    BAD_MESSAGE = 1
    """Unknown type, wrong length, reserved bits."""
    BAD_VALUE = 2
    OFF = 3
    """Monitoring is off."""
    ON = 4
    """Monitoring is on already."""
    FAILED = 5
    """The kernel refused."""
    BUSY = 6
    """A statistics reply is being sent on this connection already."""


class AgentRefusal(CallError):
    """The agent refused a request and says why; nothing was changed unless the text says so."""

    def __init__(self, reason: Reason | int, text: str, where: str | None = None) -> None:
        super().__init__(text, where=where)
        self.reason = reason
