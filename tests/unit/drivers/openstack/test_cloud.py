"""Cloud: retries when an API fails; nothing is lost, nothing is made twice.

The API is a server of the test, because a real one does not fail on demand.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.cloud.broken_api import Fault

from sfcperf import waiting
from sfcperf.drivers.openstack.api.cloud import AT_ONCE, Cloud
from sfcperf.drivers.openstack.api.errors import CloudError
from sfcperf.drivers.openstack.resources.context import Kind
from sfcperf.drivers.openstack.resources.operations import ensure
from sfcperf.drivers.parallel import each, outcomes
from sfcperf.errors import DeploymentError, EnvironmentLacks

from .conftest import FAST

Start = Callable[..., Any]


def make(cloud: Cloud, name: str = "n") -> str:
    network = cloud.connection.network
    made = ensure(cloud, Kind.NETWORK, name, lambda: network.create_network(name=name))
    return str(made.id)


class TestReading:
    @pytest.mark.parametrize(
        "fault",
        [
            Fault("GET", "/networks", status=503, times=3),
            Fault("GET", "/networks", status=401, times=2),
            Fault("GET", "/networks", status=409),
            Fault("GET", "/networks", "lost before"),
            Fault("GET", "/networks", "torn"),
            Fault("GET", "/identity/v3", status=503),
            Fault("POST", "/auth/tokens", status=503, times=2),
            Fault("POST", "/auth/tokens", status=401),
            Fault("POST", "/auth/tokens", "torn"),
        ],
        ids=lambda f: f"{f.path} {f.how} {f.status}",
    )
    def test_what_passes_is_survived(self, bench: Start, fault: Fault) -> None:
        b = bench(fault)
        b.api.add("networks", "there")
        assert b.networks == ["there"]
        assert fault.times == 0, "the fault was not met"

    def test_retry_after_is_kept_and_each_retry_is_told(
        self, bench: Start, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        paused: list[float] = []
        monkeypatch.setattr("sfcperf.waiting.sleep", paused.append)
        body = {"error": {"message": "the pool of workers is exhausted"}}
        fault = Fault("GET", "/networks", status=429, body=body, headers={"Retry-After": "3"})
        b = bench(fault)
        assert b.networks == []
        assert paused == [3.0]
        [line] = b.said
        assert line.startswith("openstack: listing networks: the pool of workers is exhausted")
        assert "429" in line and "3.0 s" in line

    def test_it_ends_in_the_clouds_words_with_the_request(self, bench: Start) -> None:
        body = {"NeutronError": {"type": "X", "message": "no  database\n at all", "detail": ""}}
        fault = Fault("GET", "/networks", status=503, body=body, times=-1)
        b = bench(fault, retry=replace(FAST, timeout_s=0.3))
        with pytest.raises(CloudError) as caught:
            _ = b.networks
        assert "listing networks: no database at all (HTTP 503), request req-of-the-test" in str(
            caught.value
        )
        assert caught.value.status == 503
        assert b.api.count("GET", "/networks") > 2

    @pytest.mark.parametrize(
        ("status", "message", "hint"),
        [
            (403, "disallowed by policy", "rights of an administrator"),
            (409, "Quota exceeded for resources: ['port'].", "larger quota"),
        ],
    )
    def test_what_cannot_get_better_is_not_tried_again(
        self, bench: Start, status: int, message: str, hint: str
    ) -> None:
        body = {"error": {"message": message}}
        b = bench(Fault("GET", "/networks", status=status, body=body, times=-1))
        with pytest.raises(CloudError, match=message.split("[")[0]) as caught:
            _ = b.networks
        assert b.api.count("GET", "/networks") == 1
        assert hint in (caught.value.hint or "")
        assert b.said == []


class TestAuthentication:
    def test_a_wrong_password_is_said_soon(self, bench: Start) -> None:
        b = bench(password="wrong")
        with pytest.raises(EnvironmentLacks, match="authenticating") as caught:
            _ = b.networks
        assert "clouds.yaml" in (caught.value.hint or "")
        assert b.api.count("POST", "/auth/tokens") < 10

    def test_a_token_that_expired_is_renewed_and_credentials_of_netrc_are_not_sent(
        self, bench: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "netrc").write_text("default login somebody password else\n")
        monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
        b = bench()
        assert b.networks == []
        b.api.tokens.clear()
        assert b.networks == []
        assert set(b.api.authorizations) == {None}

    def test_the_journal_names_cloud_project_and_region(self, bench: Start) -> None:
        detail = {"cloud": "broken", "project": "p" * 32, "region": "RegionOne"}
        assert bench().cloud.detail == detail


class TestMaking:
    @pytest.mark.parametrize(
        ("fault", "lost_answer"),
        [
            (Fault("POST", "/networks", "lost before"), True),
            (Fault("POST", "/networks", "lost after"), True),
            (Fault("POST", "/networks", "torn"), True),
            (Fault("POST", "/networks", status=503), True),
            (Fault("POST", "/networks", status=409), False),
            (Fault("POST", "/networks", status=401), False),
        ],
        ids=lambda f: f"{f.how} {f.status}" if isinstance(f, Fault) else "",
    )
    def test_a_fault_makes_it_once(self, bench: Start, fault: Fault, lost_answer: bool) -> None:
        b = bench(fault)
        made = make(b.cloud)
        assert list(b.api.things["networks"]) == [made]
        assert b.cloud.lost_answer == lost_answer
        assert fault.times == 0

    def test_what_is_there_is_taken(self, bench: Start) -> None:
        b = bench()
        there = b.api.add("networks", "n")
        b.api.add("networks", "nn")
        assert make(b.cloud) == there
        assert b.api.count("POST", "/networks") == 0

    @pytest.mark.parametrize("conflict", [False, True])
    def test_of_a_request_that_was_heard_twice_one_network_stays(
        self, bench: Start, conflict: bool
    ) -> None:
        """The first one comes into being while the second is under way: nobody sees it before.
        networking-sfc answers 400 then."""
        b = bench(Fault("POST", "/networks", "lost before"))
        network = b.cloud.connection.network

        def ask() -> object:
            if b.api.count("POST", "/networks"):
                b.api.add("networks", "n")
                if conflict:
                    b.api.faults.append(Fault("POST", "/networks", status=400))
            return network.create_network(name="n")

        made: Any = ensure(b.cloud, Kind.NETWORK, "n", ask)
        assert list(b.api.things["networks"]) == [made.id]
        assert any("created twice" in line for line in b.said) != conflict

    def test_a_request_that_is_wrong_fails_at_once(self, bench: Start) -> None:
        body = {"NeutronError": {"message": "Invalid input for name"}}
        b = bench(Fault("POST", "/networks", status=400, body=body, times=-1))
        with pytest.raises(CloudError, match="creating network n: Invalid input for name"):
            make(b.cloud)
        assert b.api.count("POST", "/networks") == 1


class TestTogether:
    def test_time_runs_out(self, bench: Start) -> None:
        with pytest.raises(DeploymentError, match=r"a miracle: .*0\.2 s"):
            bench().cloud.wait("a miracle", lambda: None, 0.2)

    def test_threads_share_a_connection(self, bench: Start) -> None:
        b = bench(Fault("POST", "/networks", "lost after", times=5))
        each(*(lambda n=name: make(b.cloud, n) for name in map(str, range(12))))
        assert b.api.names("networks") == sorted(map(str, range(12)))

    def test_no_more_requests_at_a_time_than_a_cloud_bears(self, bench: Start) -> None:
        cloud = bench().cloud
        under_way = most = 0
        lock = threading.Lock()

        def request() -> None:
            nonlocal under_way, most
            with lock:
                under_way += 1
                most = max(most, under_way)
            threading.Event().wait(0.02)
            with lock:
                under_way -= 1

        each(*[lambda: cloud.call("asking", request)] * 40)
        assert 1 < most <= AT_ONCE

    def test_those_that_wait_do_not_hold_others_up(self, bench: Start) -> None:
        """More than can ask at a time wait for one that comes last."""
        cloud = bench().cloud
        come = threading.Event()
        waits = [
            lambda: cloud.wait("waiting", lambda: come.is_set() or None, 30)
            for _ in range(2 * AT_ONCE)
        ]
        assert all(each(*waits, lambda: cloud.call("asking", come.set))[:-1])

    def test_a_call_within_a_call_does_not_hold_others_up_while_it_is_patient(
        self, bench: Start
    ) -> None:
        patience = replace(FAST, timeout_s=30)
        b = bench(Fault("GET", "name=slow", status=503, times=-1), retry=patience)
        come = threading.Event()

        def patient() -> None:
            def within() -> list[object]:
                if come.is_set():
                    return []
                return list(b.cloud.connection.network.networks(name="slow"))

            b.cloud.call("outer", lambda: b.cloud.call("inner", within))

        def ask() -> None:
            while b.api.count("GET", "name=slow") < AT_ONCE:
                waiting.sleep(0.01)
            b.cloud.call("asking", come.set)

        each(*[patient] * 2 * AT_ONCE, ask)

    def test_outcomes_are_waited_for_one_by_one(self) -> None:
        def fail() -> None:
            raise DeploymentError("this one failed")

        good, bad = outcomes(lambda: waiting.sleep(0.01) or 7, fail)  # type: ignore[func-returns-value]
        assert good.result() == 7
        assert isinstance(bad.exception(), DeploymentError)
        # One that fails ends those within others.
        with pytest.raises(DeploymentError, match="this one failed"):
            each(lambda: each(lambda: waiting.sleep(60)), fail)

    def test_when_one_fails_the_others_give_up(self, bench: Start) -> None:
        patience = replace(FAST, timeout_s=60)
        b = bench(Fault("GET", "name=slow", status=503, times=-1), retry=patience)
        began = threading.Event()

        def fail() -> None:
            began.wait(10)
            raise DeploymentError("this one failed")

        def slow() -> None:
            began.set()
            make(b.cloud, "slow")

        _ = b.cloud.connection
        with pytest.raises(DeploymentError, match="this one failed"):
            each(slow, fail)
        assert b.api.names("networks") == []
