"""Cloud: retries when an API fails; nothing is lost, nothing is made twice.

The API is a server of the test, because a real one does not fail on demand.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support.cloud.broken_api import BrokenApi, Fault

from sfcperf import waiting
from sfcperf.drivers.openstack.api.cloud import AT_ONCE, Cloud
from sfcperf.drivers.openstack.api.errors import CloudError
from sfcperf.drivers.openstack.resources.context import Kind
from sfcperf.drivers.openstack.resources.operations import ensure
from sfcperf.drivers.parallel import each, outcomes
from sfcperf.errors import DeploymentError, EnvironmentLacks

from .conftest import FAST

Start = Callable[..., "tuple[BrokenApi, Cloud, list[str]]"]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    running: list[BrokenApi] = []

    def begin(
        *faults: Fault, timeout_s: float = 5.0, password: str = "right"
    ) -> tuple[BrokenApi, Cloud, list[str]]:
        api = BrokenApi(*faults).__enter__()
        running.append(api)
        file = api.clouds_yaml(tmp_path, password)
        monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(file))
        said: list[str] = []
        return api, Cloud("broken", said.append, retry=replace(FAST, timeout_s=timeout_s)), said

    yield begin
    for api in running:
        api.__exit__()


def networks(cloud: Cloud) -> list[str]:
    listed = cloud.call("listing networks", lambda: list(cloud.connection.network.networks()))
    return [network.name for network in listed]


def make(cloud: Cloud, name: str = "n") -> str:
    network = cloud.connection.network
    made = ensure(cloud, Kind.NETWORK, name, lambda: network.create_network(name=name))
    return str(made.id)


TRANSIENT = [
    Fault("GET", "/networks", status=500),
    Fault("GET", "/networks", status=502),
    Fault("GET", "/networks", status=503, times=3),
    Fault("GET", "/networks", status=504),
    Fault("GET", "/networks", status=429),
    Fault("GET", "/networks", status=429, headers={"Retry-After": "0"}),
    Fault("GET", "/networks", status=401),
    Fault("GET", "/networks", status=401, times=2),
    Fault("GET", "/networks", status=409),
    Fault("GET", "/networks", "lost before"),
    Fault("GET", "/networks", "lost after"),
    Fault("GET", "/networks", "torn"),
    Fault("GET", "/identity/v3", status=503),
    Fault("POST", "/auth/tokens", status=503, times=2),
    Fault("POST", "/auth/tokens", status=401),
    Fault("POST", "/auth/tokens", "lost before"),
    Fault("POST", "/auth/tokens", "torn"),
]


class TestReading:
    @pytest.mark.parametrize("fault", TRANSIENT, ids=lambda f: f"{f.path} {f.how} {f.status}")
    def test_what_passes_is_survived(self, start: Start, fault: Fault) -> None:
        fault = Fault(**vars(fault))
        api, cloud, _ = start(fault)
        api.add("networks", "there")
        assert networks(cloud) == ["there"]
        assert fault.times == 0, "the fault was not met"

    def test_each_retry_is_told_in_words(self, start: Start) -> None:
        body = {"error": {"message": "the pool of workers is exhausted"}}
        _, cloud, said = start(Fault("GET", "/networks", status=503, body=body))
        networks(cloud)
        [line] = said
        assert line.startswith("openstack: listing networks: the pool of workers is exhausted")
        assert "503" in line and "retrying in" in line

    def test_retry_after_is_kept(self, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
        paused: list[float] = []
        monkeypatch.setattr("sfcperf.waiting.sleep", paused.append)
        _, cloud, _ = start(Fault("GET", "/networks", status=429, headers={"Retry-After": "3"}))
        networks(cloud)
        assert paused == [3.0]

    def test_it_ends_in_the_clouds_words_with_the_request(self, start: Start) -> None:
        body = {"error": {"message": "no database"}}
        fault = Fault("GET", "/networks", status=503, body=body, times=-1)
        api, cloud, _ = start(fault, timeout_s=0.3)
        with pytest.raises(CloudError) as caught:
            networks(cloud)
        assert "listing networks: no database (HTTP 503), request req-of-the-test" in str(
            caught.value
        )
        assert caught.value.status == 503
        assert api.count("GET", "/networks") > 2

    @pytest.mark.parametrize(
        ("status", "message", "hint"),
        [
            (403, "disallowed by policy", "rights of an administrator"),
            (403, "Quota exceeded for instances", "larger quota"),
            (409, "Quota exceeded for resources: ['port'].", "larger quota"),
        ],
    )
    def test_what_cannot_get_better_is_not_tried_again(
        self, start: Start, status: int, message: str, hint: str
    ) -> None:
        body = {"error": {"message": message}}
        api, cloud, said = start(Fault("GET", "/networks", status=status, body=body, times=-1))
        with pytest.raises(CloudError, match=message.split("[")[0]) as caught:
            networks(cloud)
        assert api.count("GET", "/networks") == 1
        assert caught.value.hint is not None and hint in caught.value.hint
        assert said == []


class TestAuthentication:
    def test_a_wrong_password_is_said_soon(self, start: Start) -> None:
        api, cloud, _ = start(password="wrong")
        with pytest.raises(EnvironmentLacks, match="authenticating") as caught:
            networks(cloud)
        assert "clouds.yaml" in (caught.value.hint or "")
        assert api.count("POST", "/auth/tokens") < 10

    def test_a_token_that_expired_is_renewed(self, start: Start) -> None:
        api, cloud, _ = start()
        networks(cloud)
        api.tokens.clear()
        assert networks(cloud) == []

    def test_credentials_of_netrc_are_not_sent(
        self, start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "netrc").write_text("default login somebody password else\n")
        monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
        api, cloud, _ = start()
        assert networks(cloud) == []
        assert set(api.authorizations) == {None}

    def test_without_a_cloud_it_is_said_how_to_configure_one(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(tmp_path / "none.yaml"))
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
        for name in (None, "nowhere"):
            with pytest.raises(EnvironmentLacks, match="no OpenStack cloud") as caught:
                _ = Cloud(name, print).connection
            assert "clouds.yaml" in (caught.value.hint or "")

    def test_the_journal_names_cloud_project_and_region(self, start: Start) -> None:
        _, cloud, _ = start()
        assert cloud.detail == {"cloud": "broken", "project": "p" * 32, "region": "RegionOne"}


class TestMaking:
    @pytest.mark.parametrize("how", ["lost before", "lost after", "torn"])
    def test_a_lost_answer_makes_it_once(self, start: Start, how: str) -> None:
        fault = Fault("POST", "/networks", how)  # type: ignore[arg-type]
        api, cloud, _ = start(fault)
        made = make(cloud)
        assert list(api.things["networks"]) == [made]
        assert cloud.lost_answer

    @pytest.mark.parametrize("status", [500, 503, 429, 409, 401])
    def test_a_refusal_for_now_makes_it_once(self, start: Start, status: int) -> None:
        api, cloud, _ = start(Fault("POST", "/networks", status=status))
        made = make(cloud)
        assert list(api.things["networks"]) == [made]

    def test_what_is_there_is_taken(self, start: Start) -> None:
        api, cloud, _ = start()
        there = api.add("networks", "n")
        api.add("networks", "nn")
        assert make(cloud) == there
        assert api.count("POST", "/networks") == 0

    def test_of_a_request_that_was_heard_twice_the_surplus_goes(
        self, start: Start, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The first one comes into being while the second is under way: nobody sees it before."""
        api, cloud, said = start(Fault("POST", "/networks", "lost before"))
        network = cloud.connection.network

        def ask() -> object:
            if api.count("POST", "/networks"):
                api.add("networks", "n")
            return network.create_network(name="n")

        made = ensure(cloud, Kind.NETWORK, "n", ask)
        assert list(api.things["networks"]) == [made.id]  # type: ignore[attr-defined]
        assert any("created twice" in line for line in said)

    def test_what_an_earlier_try_made_is_found_behind_a_conflict(self, start: Start) -> None:
        """As networking-sfc answers for a port pair that is there: 400."""
        api, cloud, _ = start(Fault("POST", "/networks", "lost before"))
        network = cloud.connection.network

        def ask() -> object:
            if api.count("POST", "/networks"):
                api.add("networks", "n")
                api.faults.append(Fault("POST", "/networks", status=400))
            return network.create_network(name="n")

        made = ensure(cloud, Kind.NETWORK, "n", ask)
        assert list(api.things["networks"]) == [made.id]  # type: ignore[attr-defined]

    def test_a_request_that_is_wrong_fails_at_once(self, start: Start) -> None:
        body = {"NeutronError": {"message": "Invalid input for name"}}
        api, cloud, _ = start(Fault("POST", "/networks", status=400, body=body, times=-1))
        with pytest.raises(CloudError, match="creating network n: Invalid input for name"):
            make(cloud)
        assert api.count("POST", "/networks") == 1


class TestWaiting:
    def test_time_runs_out(self, start: Start) -> None:
        _, cloud, _ = start()
        with pytest.raises(DeploymentError, match=r"a miracle: not done within 0\.2 s"):
            cloud.wait("a miracle", lambda: None, 0.2)


class TestTogether:
    def test_threads_share_a_connection(self, start: Start) -> None:
        api, cloud, _ = start(Fault("POST", "/networks", "lost after", times=5))
        each(*(lambda n=name: make(cloud, n) for name in map(str, range(12))))
        assert api.names("networks") == sorted(map(str, range(12)))

    def test_no_more_requests_at_a_time_than_a_cloud_bears(self, start: Start) -> None:
        _, cloud, _ = start()
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

    def test_those_that_wait_do_not_hold_others_up(self, start: Start) -> None:
        """More than can ask at a time wait for one that comes last."""
        _, cloud, _ = start()
        come = threading.Event()
        waits = [
            lambda: cloud.wait("waiting", lambda: come.is_set() or None, 30)
            for _ in range(2 * AT_ONCE)
        ]
        assert all(each(*waits, lambda: cloud.call("asking", come.set))[:-1])

    def test_a_call_within_a_call_does_not_hold_others_up_while_it_is_patient(
        self, start: Start
    ) -> None:
        api, cloud, _ = start(Fault("GET", "name=slow", status=503, times=-1), timeout_s=30)
        come = threading.Event()

        def patient() -> None:
            def within() -> list[object]:
                if come.is_set():
                    return []
                return list(cloud.connection.network.networks(name="slow"))

            cloud.call("outer", lambda: cloud.call("inner", within))

        def ask() -> None:
            while api.count("GET", "name=slow") < AT_ONCE:
                waiting.sleep(0.01)
            cloud.call("asking", come.set)

        each(*[patient] * 2 * AT_ONCE, ask)

    def test_one_that_fails_ends_those_within_others(self) -> None:
        def fail() -> None:
            raise DeploymentError("this one failed")

        with pytest.raises(DeploymentError, match="this one failed"):
            each(lambda: each(lambda: waiting.sleep(60)), fail)

    def test_outcomes_are_waited_for_one_by_one(self) -> None:
        def fail() -> None:
            raise DeploymentError("this one failed")

        good, bad = outcomes(lambda: waiting.sleep(0.01) or 7, fail)  # type: ignore[func-returns-value]
        assert good.result() == 7
        assert isinstance(bad.exception(), DeploymentError)

    def test_when_one_fails_the_others_give_up(self, start: Start) -> None:
        api, cloud, _ = start(Fault("GET", "name=slow", status=503, times=-1), timeout_s=60)
        began = threading.Event()

        def fail() -> None:
            began.wait(10)
            raise DeploymentError("this one failed")

        def slow() -> None:
            began.set()
            make(cloud, "slow")

        _ = cloud.connection
        with pytest.raises(DeploymentError, match="this one failed"):
            each(slow, fail)
        assert api.names("networks") == []
