"""Failures in words, and how long patience lasts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace

import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st
from keystoneauth1.exceptions import (
    ConnectFailure,
    DiscoveryFailure,
    SSLError,
    UnknownConnectionError,
)
from openstack.exceptions import ConfigException, SDKException, raise_from_response

from sfcperf.drivers.openstack.api import retry
from sfcperf.drivers.openstack.api.errors import CloudError, Failure, Verdict, diagnose
from sfcperf.drivers.openstack.api.retry import PATIENCE_S, Turns


def answered(status: int, text: str = "{}", **headers: str) -> Exception:
    """The exception that openstacksdk makes of an answer."""
    response = requests.Response()
    response.status_code = status
    response._content = text.encode()
    response.headers.update({"content-type": "application/json", **headers})
    response.request = requests.Request("GET", "http://cloud/x").prepare()
    try:
        raise_from_response(response)
    except SDKException as error:
        return error
    raise AssertionError(status)


class TestDiagnosis:
    @pytest.mark.parametrize(
        ("status", "verdict"),
        [
            *((s, Verdict.AGAIN) for s in (408, 425, 429, 500, 502, 503, 504)),
            (401, Verdict.REFUSED),
            (409, Verdict.IN_USE),
            *((s, Verdict.NEVER) for s in (400, 403, 404, 413, 501)),
        ],
    )
    def test_by_status(self, status: int, verdict: Verdict) -> None:
        assert diagnose(answered(status)).verdict is verdict

    @pytest.mark.parametrize(
        ("error", "verdict"),
        [
            (ConnectFailure("reset by peer"), Verdict.AGAIN),
            (UnknownConnectionError("cut off", ValueError()), Verdict.AGAIN),
            (DiscoveryFailure("no version"), Verdict.AGAIN),
            (requests.exceptions.ChunkedEncodingError("half"), Verdict.AGAIN),
            (SSLError("wrong certificate"), Verdict.NEVER),
            (ConfigException("no such cloud"), Verdict.NEVER),
        ],
    )
    def test_without_an_answer(self, error: Exception, verdict: Verdict) -> None:
        found = diagnose(error)
        assert found.verdict is verdict and found.status is None and found.words

    def test_nova_asks_for_a_pause_by_413(self) -> None:
        found = diagnose(answered(413, **{"Retry-After": "7"}))
        assert found.verdict is Verdict.AGAIN and found.retry_after_s == 7

    def test_a_date_to_come_back(self) -> None:
        then = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
        wait_s = diagnose(answered(429, **{"Retry-After": then})).retry_after_s
        assert wait_s is not None and 0 < wait_s <= 100

    @given(st.text(st.characters(codec="latin-1", exclude_categories=["Cc"])))
    def test_any_other_wish_is_no_wish(self, text: str) -> None:
        wait_s = diagnose(answered(503, **{"Retry-After": text})).retry_after_s
        assert wait_s is None or wait_s >= 0

    def test_the_words_are_the_clouds(self) -> None:
        text = '{"NeutronError": {"type": "X", "message": "Port  7 is\\n gone", "detail": ""}}'
        error = answered(404, text, **{"x-openstack-request-id": "req-1"})
        told = CloudError("deleting port 7", diagnose(error))
        assert str(told).startswith("deleting port 7: Port 7 is gone (HTTP 404), request req-1")


class TestTurns:
    @given(
        st.lists(
            st.tuples(st.sampled_from(Verdict), st.none() | st.floats(0, 1e6), st.floats(0, 70)),
            max_size=60,
        )
    )
    def test_they_end_in_time(self, tries: list[tuple[Verdict, float | None, float]]) -> None:
        """However long each request takes, and whatever the cloud asks for."""
        now = 0.0
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(retry, "time", SimpleNamespace(monotonic=lambda: now))
            turns = Turns()
            first = None
            for verdict, retry_after_s, took_s in tries:
                now += took_s
                first = now if first is None else first
                pause_s = turns.pause_s(Failure("x", verdict, None, None, retry_after_s))
                if verdict is Verdict.NEVER:
                    assert pause_s is None
                if pause_s is None:
                    break
                assert now + pause_s <= first + PATIENCE_S
                now += pause_s

    def test_pauses_grow_and_differ(self) -> None:
        def pauses() -> list[float]:
            turns = Turns()
            failure = Failure("x", Verdict.AGAIN, 503, None, None)
            return [turns.pause_s(failure) or 0 for _ in range(8)]

        assert pauses() != pauses()
        assert pauses()[0] <= retry.FIRST_PAUSE_S * 1.5
        assert pauses()[7] >= retry.LONGEST_PAUSE_S * 0.5

    def test_a_wrong_password_is_tried_three_times(self) -> None:
        turns = Turns()
        failure = Failure("x", Verdict.REFUSED, 401, None, None)
        assert [turns.pause_s(failure) is None for _ in range(3)] == [False, False, True]
