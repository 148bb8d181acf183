"""The agent's side: calls functions, keeps the objects that they return, and removes what was built
when the caller is gone."""

from __future__ import annotations

import os
import select
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import count
from threading import Condition, Lock
from typing import TYPE_CHECKING, Any, TypeVar

from sfcperf.errors import MeasurementError, SfcperfError
from sfcperf.hosts.agent import codec
from sfcperf.hosts.agent.output import SpawnedProcess

if TYPE_CHECKING:
    from execnet import Channel

T = TypeVar("T")
SILENCE_S = 20.0
"""An agent that hears nothing from its caller for so long takes it for gone."""
_CALLS_END_S = 5.0
_READ_BYTES = 1 << 16


class _Objects:
    """Objects to which the caller has references, by number."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._lock = Lock()
        self._kept: dict[int, Any] = {}

    def refer(self, kept: Any) -> tuple[int, str, str]:
        """Keep an object; return its number, and module and name of its class."""
        with self._lock:
            number = next(self._numbers)
            self._kept[number] = kept
        kind = type(kept)
        return number, kind.__module__, kind.__qualname__

    def find(self, number: int) -> Any:
        """Return a kept object."""
        with self._lock:
            return self._kept[number]

    def release(self, numbers: list[int]) -> None:
        """Forget objects that the caller does not refer to any more."""
        with self._lock:
            for number in numbers:
                self._kept.pop(number, None)


class _Calls:
    """Calls that are under way."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._number = 0
        self._ended = False

    @contextmanager
    def one(self) -> Iterator[None]:
        """Count a call while the block lasts. Raises MeasurementError if the agent is ending."""
        with self._changed:
            if self._ended:
                raise MeasurementError("the agent is ending")
            self._number += 1
        try:
            yield
        finally:
            with self._changed:
                self._number -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self, timeout_s: float) -> Iterator[None]:
        """Wait until the caller's own call is the only one, so long at most; let no other call
        begin while the block lasts."""
        with self._changed:
            self._changed.wait_for(lambda: self._number <= 1, timeout_s)
            yield

    def end(self, timeout_s: float) -> None:
        """Let no further call begin, and wait until none is under way, so long at most."""
        with self._changed:
            self._ended = True
            self._changed.wait_for(lambda: self._number == 0, timeout_s)


_objects = _Objects()
_calls = _Calls()
_at_end: list[Callable[[], Any]] = []


def serve(channel: Channel) -> None:
    """Answer the calls that come by a channel, one after another, until it is closed."""
    for message in channel:
        channel.send(_answer(message))


def _answer(message: bytes) -> bytes:
    """Return the message with a call's result, its error, or the traceback of a fault in our own
    code."""
    try:
        released, function, arguments, keywords = codec.loads(message, _objects.find)
        _objects.release(released)
        with _calls.one():
            result = function(*arguments, **keywords)
        return codec.dumps(("result", result), _objects.refer)
    except (SfcperfError, OSError) as error:
        return codec.dumps(("error", _without_causes(error)), _objects.refer)
    except Exception:
        return codec.dumps(("fault", traceback.format_exc()), _objects.refer)


def _without_causes(error: Exception) -> Exception:
    """Return an error alone: what caused it may be of a class that the caller does not know."""
    error.__cause__ = error.__context__ = error.__traceback__ = None
    return error


def at_end(function: Callable[..., Any], *arguments: Any) -> None:
    """Have a function called when the caller is gone."""
    _at_end.append(partial(function, *arguments))


def keep(channel: Channel) -> None:
    """Say that the agent is there, then wait for the caller's signs of life. When there are none
    for SILENCE_S, or when the connection is lost, call what `at_end` was given, and end the
    agent."""
    # execnet would end the process 15 s after the connection was lost, whatever is under way.
    channel.gateway._terminate_execution = lambda: None  # type: ignore[method-assign]
    channel.send(True)
    with suppress(EOFError, channel.TimeoutError):
        while True:
            channel.receive(timeout=SILENCE_S)
    try:
        _calls.end(_CALLS_END_S)
        for action in _at_end:
            action()
    finally:
        # A silent connection may still be there, and would keep the agent.
        os._exit(0)


def alone(function: Callable[..., T], *arguments: Any) -> T:
    """Call a function when no other call is under way any more: of a caller that was interrupted,
    calls go on."""
    with _calls.alone(_CALLS_END_S):
        return function(*arguments)


def method(kept: Any, name: str, *arguments: Any, **keywords: Any) -> Any:
    """Call a method of an object that is kept here."""
    return getattr(kept, name)(*arguments, **keywords)


def stream(channel: Channel) -> None:
    """Send the outputs of a spawned process, whose number comes first, as they come: `("out" |
    "err", bytes)`, and `("end", exit status)` as soon as it has ended."""
    process: SpawnedProcess = _objects.find(channel.receive())
    end = process.end.fileno()
    files = {**process.outputs, end: "end"}
    while files:
        watched = select.poll()
        for file in files:
            watched.register(file, select.POLLIN)
        ready = {file for file, _ in watched.poll()}
        # What the process printed before its end comes before its end. Its children may keep the
        # outputs open.
        for output in (ready & process.outputs.keys()) if end not in ready else process.outputs:
            if output in files and not _send(channel, output, files[output]):
                del files[output]
        if end in ready:
            channel.send(("end", process.status()))
            del files[end]
    process.close()


def _send(channel: Channel, output: int, name: str) -> bool:
    """Send what waits in an output; return whether more may come."""
    with suppress(BlockingIOError):
        while data := os.read(output, _READ_BYTES):
            channel.send((name, data))
        return False
    return True
