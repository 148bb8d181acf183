"""Failures of calls, and how long they are retried."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace

import pytest
import requests
import tenacity
from hypothesis import given
from hypothesis import strategies as st
from keystoneauth1.exceptions import (
    ConnectFailure,
    DiscoveryFailure,
    SSLError,
    UnknownConnectionError,
)
from openstack.exceptions import ConfigException, SDKException, raise_from_response
from tenacity import Retrying

from sfcperf.drivers.openstack.api.errors import CloudError, FailureKind, diagnose
from sfcperf.drivers.openstack.api.retry import RetryPolicy


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
    def test_by_status(self) -> None:
        for kind, statuses in (
            (FailureKind.TRANSIENT, (408, 425, 429, 500, 502, 503, 504)),
            (FailureKind.UNAUTHORIZED, (401,)),
            (FailureKind.CONFLICT, (409,)),
            (FailureKind.PERMANENT, (400, 403, 404, 413, 501)),
        ):
            assert {diagnose(answered(status)).kind for status in statuses} == {kind}

    @pytest.mark.parametrize(
        ("error", "kind"),
        [
            (ConnectFailure("reset by peer"), FailureKind.TRANSIENT),
            (UnknownConnectionError("cut off", ValueError()), FailureKind.TRANSIENT),
            (DiscoveryFailure("no version"), FailureKind.TRANSIENT),
            (requests.exceptions.ChunkedEncodingError("half"), FailureKind.TRANSIENT),
            (SSLError("wrong certificate"), FailureKind.PERMANENT),
            (ConfigException("no such cloud"), FailureKind.PERMANENT),
        ],
    )
    def test_without_an_answer(self, error: Exception, kind: FailureKind) -> None:
        found = diagnose(error)
        assert found.kind is kind and found.status is None and found.message

    def test_pauses_that_a_cloud_asks_for(self) -> None:
        """Nova asks by 413; others may name a date."""
        found = diagnose(answered(413, **{"Retry-After": "7"}))
        assert found.kind is FailureKind.TRANSIENT and found.retry_after_s == 7
        then = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
        wait_s = diagnose(answered(429, **{"Retry-After": then})).retry_after_s
        assert wait_s is not None and 0 < wait_s <= 100

    @given(st.text(st.characters(codec="latin-1", exclude_categories=["Cc"])))
    def test_any_other_wish_is_no_wish(self, text: str) -> None:
        wait_s = diagnose(answered(503, **{"Retry-After": text})).retry_after_s
        assert wait_s is None or wait_s >= 0


def retrying(policy: RetryPolicy, sleep: Callable[[float], None]) -> Retrying:
    return policy.retrying("asking", lambda text: None, sleep)


class TestRetryPolicy:
    @given(
        st.lists(
            st.tuples(
                st.sampled_from([400, 401, 409, 503]),
                st.none() | st.floats(0, 1e6),
                st.floats(0, 70),
            ),
            max_size=60,
        )
    )
    def test_retries_end_in_time(self, tries: list[tuple[int, float | None, float]]) -> None:
        """However long each request takes, and whatever pause the cloud asks for."""
        now, first, left = 0.0, None, list(tries)

        def request() -> None:
            nonlocal now, first
            if not left:
                return
            status, retry_after_s, took_s = left.pop(0)
            now += took_s
            first = now if first is None else first
            asked = {} if retry_after_s is None else {"Retry-After": str(retry_after_s)}
            raise answered(status, **asked)

        def sleep(pause_s: float) -> None:
            nonlocal now
            assert tries[len(tries) - len(left) - 1][0] != 400, "a wrong request is not repeated"
            now += pause_s
            assert first is not None and now <= first + RetryPolicy().timeout_s + 1e-6

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tenacity, "time", SimpleNamespace(monotonic=lambda: now))
            with suppress(CloudError):
                retrying(RetryPolicy(), sleep)(request)

    def test_pauses_grow_and_differ(self) -> None:
        def pauses() -> list[float]:
            slept: list[float] = []

            def request() -> None:
                if len(slept) < 8:
                    raise answered(503)

            retrying(RetryPolicy(), slept.append)(request)
            return slept

        assert pauses() != pauses()
        assert pauses()[0] <= RetryPolicy.first_pause_s * 1.5
        assert pauses()[7] >= RetryPolicy.longest_pause_s * 0.5

    def test_a_wrong_password_is_tried_three_times(self) -> None:
        slept: list[float] = []

        def request() -> None:
            raise answered(401)

        with pytest.raises(CloudError):
            retrying(RetryPolicy(), slept.append)(request)
        assert len(slept) == 2
