"""Messages between an agent and its caller: what arrives as it was, and what nobody may send."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfcperf.errors import EnvironmentLacks, MeasurementError
from sfcperf.hosts.agent import codec
from sfcperf.hosts.base import CompletedCommand

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(),
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(), inner)
        | st.builds(CompletedCommand, st.tuples(st.text()), st.integers(), st.binary(), st.binary())
        | st.builds(lambda parts: Path("/", *parts), st.lists(st.sampled_from(["a", "b c"])))
    ),
)


def answered(value: Any) -> Any:
    """A value as an agent sends it."""
    return codec.loads_values(codec.dumps(value, lambda kept: None), lambda reference: None)


@given(PLAIN)
def test_values_arrive_as_they_were(value: Any) -> None:
    assert answered(value) == value


def test_errors_arrive_with_place_and_remedy() -> None:
    error = answered(EnvironmentLacks("no card", where="/config", allowed="wire0", hint="name it"))
    assert type(error) is EnvironmentLacks
    assert error.lines() == ["/config: no card", "allowed: wire0", "hint: name it"]
    missing = answered(FileNotFoundError(2, "No such file", "/x"))
    assert (type(missing), missing.errno, missing.filename) == (FileNotFoundError, 2, "/x")


def test_an_object_is_a_reference() -> None:
    kept, stands = object(), object()
    message = codec.dumps([kept], lambda value: 7 if value is kept else None)
    assert codec.loads_values(message, {7: stands}.get) == [stands]


class Calls:
    """Has the reader call a function."""

    def __reduce__(self) -> Any:
        return os.getpid, ()


HOSTILE = {
    "a call": pickle.dumps(Calls()),
    "a function": pickle.dumps(os.getpid),
    "a class": pickle.dumps(CompletedCommand),
    "an attribute of a class": (
        b"\x80\x04csfcperf.hosts.base\nCompletedCommand\n"
        b"N}\x8c\x04textX\x06\x00\x00\x00forged\x73\x86b."
    ),
    "no pickle": b"nonsense",
}


@pytest.mark.parametrize("what", HOSTILE)
def test_what_an_agent_may_not_send(what: str) -> None:
    with pytest.raises(MeasurementError):
        codec.loads_values(HOSTILE[what], lambda reference: None)


@pytest.mark.parametrize(
    "pid",
    [
        ("value", "subprocess", "Popen", {"args": ["id"]}),
        # It is no class of that module, which only imports it.
        ("value", "sfcperf.hosts.process", "CompletedCommand", {}),
        ("value", "sfcperf.hosts.base", "Host", {}),
        ("error", "builtins", "SystemExit", (1,), {}),
        ("enum", "sfcperf.errors", "ExitCode", "NO_SUCH"),
    ],
)
def test_what_an_agent_may_not_have_made(pid: tuple[Any, ...]) -> None:
    message = b"\x80\x04" + pickle.dumps(pid, protocol=4)[2:-1] + pickle.BINPERSID + pickle.STOP
    with pytest.raises(MeasurementError):
        codec.loads_values(message, lambda reference: None)
