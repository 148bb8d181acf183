"""Requests to a switch that wait for their answers."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from dataclasses import dataclass, field

from sfcperf.dataplane.sdnmon.controller.errors import (
    CallError,
    LimitExceeded,
    NoAnswer,
    SwitchLeft,
    WrongAnswer,
)
from sfcperf.dataplane.sdnmon.controller.messages import MOST_ENTRIES, Kind, Message, Request
from sfcperf.dataplane.sdnmon.controller.statistics import StatisticsPart

Answer = Message | list[StatisticsPart]
"""What a request gets. All parts of a statistics reply are one answer."""
MOST_XID = (1 << 32) - 1
_MOST_IN_REPLY = 2 * MOST_ENTRIES
"""Most entries and messages that a statistics reply may have: twice the largest table, because
flows that come and go while it is read make it longer."""
MOST_REPLY_BYTES = 256 << 20
"""Memory that a statistics reply may take. A million entries with 5 slots take half of it."""
_PART_BYTES = 1000
"""Memory that a message of a reply takes besides its entries."""


@dataclass
class PendingCall:
    """A request whose answer is awaited."""

    kind: Kind
    xid: int
    answer: Future[Answer] = field(default_factory=Future)
    """It gets the answer, or the CallError."""
    parts: list[StatisticsPart] = field(default_factory=list)
    """Of a statistics reply, as far as they came."""
    taken: int = 0
    """Entries and messages in `parts`."""
    taken_bytes: int = 0
    """Memory of `parts`."""
    heard_at_s: float = field(default_factory=time.monotonic)
    """When the request was sent, or the last part of its answer came."""


class PendingCalls:
    """The requests of one connection that wait for their answers. Threads may share it."""

    def __init__(self, name: str, send: Callable[[Request, int], bool]) -> None:
        """`name`: of the switch, for errors. `send` sends a request with an xid; it returns
        False when the connection ends."""
        self._name = name
        self._send = send
        self._lock = threading.Lock()
        self._waiting: dict[int, PendingCall] = {}
        # Messages that answer no request have the xid 0, so no request gets it.
        self._xids = itertools.count(random.randint(1, MOST_XID))
        self._ended = False

    def begin(self, request: Request) -> PendingCall:
        """Send a request, and return it as a pending call. Raises SwitchLeft, and what `send`
        raises."""
        with self._lock:
            call = PendingCall(request.kind, next(self._xids) % MOST_XID + 1)
            if not self._ended:  # `end` has failed all calls, and would not fail this one
                self._waiting[call.xid] = call
        try:
            if self._ended or not self._send(request, call.xid):
                raise SwitchLeft("the switch is not connected any more", where=self._name)
        except BaseException:
            self.forget(call)
            raise
        return call

    def wait(self, call: PendingCall, timeout_s: float) -> Answer:
        """Return the answer to a call. Some part of it must come every `timeout_s`. Raises
        CallError."""
        while True:
            left_s = call.heard_at_s + timeout_s - time.monotonic()
            try:
                return call.answer.result(max(left_s, 0))
            except FutureTimeoutError:
                if call.heard_at_s + timeout_s > time.monotonic():
                    continue
                self.forget(call)
                raise NoAnswer(
                    f"no answer to {call.kind.name} for {timeout_s:g} s", where=self._name
                ) from None

    def answered(self, xid: int, message: Message) -> None:
        """Take a message that a switch sent with this xid. It is the answer to a call, or a part of
        it; it is dropped if no call waits for it. A wrong answer fails the call."""
        call = self._waiting.get(xid)
        if call is None:
            return
        call.heard_at_s = time.monotonic()
        if not isinstance(message, StatisticsPart):
            self._resolve(call, message)
            return
        first = call.parts[0] if call.parts else message
        if (first.epoch, first.entries.dtype) != (message.epoch, message.entries.dtype):
            self.failed(xid, WrongAnswer("parts of a reply differ in what their entries are"))
            return
        call.parts.append(message)
        call.taken += len(message.entries) + 1
        call.taken_bytes += message.entries.nbytes + _PART_BYTES
        if call.taken_bytes > MOST_REPLY_BYTES:
            self.failed(
                xid,
                LimitExceeded(
                    f"the statistics are larger than {MOST_REPLY_BYTES >> 20} MiB",
                    hint="ask without counter buffers, or use fewer slots or match fields",
                ),
            )
        elif call.taken > _MOST_IN_REPLY:
            self.failed(xid, WrongAnswer("the reply has more entries than a table"))
        elif not message.more:
            self._resolve(call, call.parts)

    def failed(self, xid: int, error: CallError) -> None:
        """Give `error` to the call with this xid, if one waits. Sets `where` of the error."""
        call = self._waiting.get(xid)
        if call is not None:
            error.where = self._name
            self.forget(call)
            with suppress(InvalidStateError):
                call.answer.set_exception(error)

    def end(self) -> None:
        """Fail all calls that wait: the connection ended."""
        with self._lock:
            self._ended = True
            waiting = list(self._waiting)
        for xid in waiting:
            self.failed(xid, SwitchLeft("the connection ended before the switch answered"))

    def _resolve(self, call: PendingCall, answer: Answer) -> None:
        """Give a call its answer, unless the caller has cancelled the future."""
        self.forget(call)
        with suppress(InvalidStateError):
            call.answer.set_result(answer)

    def forget(self, *calls: PendingCall) -> None:
        """Drop these calls: nobody waits for their answers any more."""
        with self._lock:
            for call in calls:
                self._waiting.pop(call.xid, None)
