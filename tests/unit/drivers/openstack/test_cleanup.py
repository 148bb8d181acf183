"""Cleanup: by exact names, all duplicates, what comes late, and nothing else."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.cloud.broken_api import Fault

from sfcperf import waiting
from sfcperf.drivers.base import Resource
from sfcperf.drivers.openstack.cleanup import journal_cleanup, removal, workdirs
from sfcperf.drivers.openstack.cleanup.journal_cleanup import remove
from sfcperf.drivers.openstack.model.specs import ExistingMachine
from sfcperf.drivers.openstack.resources.context import Kind
from sfcperf.errors import DeploymentError
from sfcperf.hosts.ssh import make_key

from .conftest import FAST

Start = Callable[..., Any]
clean_up = partial(journal_cleanup.clean_up, retry=FAST)
RUN = "sfcperf-abc123"
FWD = f"{RUN}-01-fwd"


def journal(*entries: tuple[str, str], project: str | None = "p" * 32) -> list[Resource]:
    return [Resource(kind, name, {"cloud": "broken", "project": project}) for kind, name in entries]


MACHINE = [
    (Kind.PORT, f"{FWD}-in"),
    (Kind.PORT, f"{FWD}-out"),
    (Kind.SERVER, FWD),
    (Kind.PAIR, FWD),
    (Kind.PAIR_GROUP, FWD),
]


def build(api: Any) -> None:
    """A machine in a chain, on a network."""
    net = api.add("networks", f"{RUN}-data")
    api.add("subnets", f"{RUN}-data", network_id=net)
    into, out = (api.add("ports", f"{FWD}-{end}", network_id=net) for end in ("in", "out"))
    api.add("servers", FWD, status="ACTIVE")
    pair = api.add("sfc/port_pairs", FWD, ingress=into, egress=out)
    group = api.add("sfc/port_pair_groups", FWD, port_pairs=[pair])
    matching = api.add("sfc/flow_classifiers", RUN, logical_source_port="x")
    api.add("sfc/port_chains", RUN, port_pair_groups=[group], flow_classifiers=[matching])
    api.add("os-keypairs", RUN)


ALL = [
    *MACHINE,
    (Kind.CLASSIFIER, RUN),
    (Kind.CHAIN, RUN),
    (Kind.NETWORK, f"{RUN}-data"),
    (Kind.SUBNET, f"{RUN}-data"),
    (Kind.KEYPAIR, RUN),
]
COLLECTIONS = (
    *("networks", "subnets", "ports", "servers", "os-keypairs"),
    *("sfc/port_pairs", "sfc/port_pair_groups", "sfc/flow_classifiers", "sfc/port_chains"),
)


def left(api: Any) -> dict[str, list[str]]:
    return {name: names for name in COLLECTIONS if (names := api.names(name))}


def late_network(api: Any) -> Callable[[float], None]:
    """A pause at the end of which a network of the run appears, once."""
    paused: list[float] = []

    def pause(seconds: float) -> None:
        if not paused:
            api.add("networks", f"{RUN}-data")
        paused.append(seconds)

    return pause


def late_pair(api: Any) -> Callable[[float], None]:
    """A pause in which a port pair appears at a port of the run, once."""
    [port] = (id_ for id_, port in api.things["ports"].items() if port["name"] == f"{FWD}-in")
    paused: list[float] = []

    def pause(seconds: float) -> None:
        if not paused:
            api.add("sfc/port_pairs", FWD, ingress=port, egress=port)
        paused.append(seconds)

    return pause


class TestExistingMachines:
    def test_one_that_is_away_keeps_nothing_else(self, bench: Start, tmp_path: Path) -> None:
        """Its folder is told; the cloud's things go."""
        api = bench().api
        build(api)
        key, public = make_key(tmp_path)
        with socket.create_server(("127.0.0.1", 0)) as nobody:
            port = nobody.getsockname()[1]
        away = ExistingMachine(
            *("client", "127.0.0.1", port, "lab", public.split(" sfcperf")[0], key), "eth1", "port"
        )
        folder = workdirs.resource(away, Path("/tmp/sfcperf-abc123-client"))
        assert (folder.detail or {})["key_file"] == str(key.absolute())
        left_behind = [folder, *journal(*ALL)]
        assert folder.name in " ".join(clean_up(left_behind, dry_run=True))
        with pytest.raises(
            DeploymentError, match=r"folder /tmp/.*-client of 127\.0\.0\.1"
        ) as error:
            clean_up(left_behind)
        assert "Connection refused" in error.value.message
        assert left(api) == {}


class TestWhatGoes:
    def test_everything_in_the_journal(self, bench: Start) -> None:
        """A dry run says the same and changes nothing."""
        api = bench().api
        build(api)
        before = left(api)
        would = clean_up(journal(*ALL), dry_run=True)
        assert left(api) == before
        assert not any(method == "DELETE" for method, _ in api.requests)
        lines = clean_up(journal(*ALL))
        assert left(api) == {}
        assert set(lines) == set(would)
        assert len(lines) == len(set(lines)) == len(ALL)
        assert any(line.startswith(f"server {FWD} (") for line in lines)
        assert clean_up(journal(*ALL)) == []

    def test_many_servers(self, bench: Start) -> None:
        """Names of one run, and of two that are cleaned together."""
        api = bench().api
        names = [f"sfcperf-{tag}-{n:02d}-fwd" for tag in ("abc123", "xyz789") for n in range(12)]
        for name in names:
            api.add("servers", name, status="ACTIVE")
        assert len(clean_up(journal(*((Kind.SERVER, name) for name in names)))) == 24
        assert left(api) == {}

    def test_doubles_go_too(self, bench: Start) -> None:
        api = bench().api
        for _ in range(3):
            api.add("networks", f"{RUN}-data")
        assert len(clean_up(journal((Kind.NETWORK, f"{RUN}-data")))) == 3
        assert left(api) == {}

    def test_what_comes_late_is_seen(self, bench: Start, monkeypatch: pytest.MonkeyPatch) -> None:
        """A request that was under way when sfcperf was killed."""
        api = bench().api
        monkeypatch.setattr(waiting, "sleep", late_network(api))
        assert len(clean_up(journal((Kind.NETWORK, f"{RUN}-data")))) == 1
        assert left(api) == {}

    def test_a_port_pair_that_comes_while_servers_go(
        self, bench: Start, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Neutron does not delete a port that is in one."""
        api = bench().api
        api.deaths = 2
        api.add("ports", f"{FWD}-in")
        api.add("servers", FWD, status="ACTIVE")
        monkeypatch.setattr(waiting, "sleep", late_pair(api))
        lines = clean_up(journal(*MACHINE), retry=replace(FAST, timeout_s=0.3))
        assert [line.split()[0] for line in lines] == ["server", "port-pair", "port"]
        assert left(api) == {}

    def test_pieces_of_chains_with_names_of_others_hang_on_our_ports(self, bench: Start) -> None:
        api = bench().api
        into = api.add("ports", f"{FWD}-in")
        pair = api.add("sfc/port_pairs", "stack-pair-x7", ingress=into, egress=into)
        group = api.add("sfc/port_pair_groups", "stack-group-x7", port_pairs=[pair])
        fc = api.add("sfc/flow_classifiers", "stack-fc-x7", logical_source_port=into)
        api.add("sfc/port_chains", "x7", port_pair_groups=[group], flow_classifiers=[fc])
        clean_up(journal((Kind.PORT, f"{FWD}-in")))
        assert left(api) == {}

    def test_ports_of_others_in_our_network_go_with_it(self, bench: Start) -> None:
        api = bench().api
        net = api.add("networks", f"{RUN}-data")
        api.add("ports", "made-by-a-stack", network_id=net, device_owner="compute:nova")
        api.add("ports", "dhcp", network_id=net, device_owner="network:dhcp")
        clean_up(journal((Kind.NETWORK, f"{RUN}-data")))
        assert left(api) == {"ports": ["dhcp"]}

    def test_servers_are_gone_before_ports_are_asked_to_go(self, bench: Start) -> None:
        api = bench().api
        api.deaths = 5
        build(api)
        clean_up(journal(*ALL))
        last_look = max(
            number
            for number, (method, path) in enumerate(api.requests)
            if method == "GET" and "/servers/detail" in path and number < _first(api, "/ports/")
        )
        assert last_look > _first(api, "/servers/") + 4
        assert left(api) == {}

    def test_a_stack_that_is_being_deleted_is_let_alone(
        self, bench: Start, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Heat would cancel its work and begin anew. The API of these tests has no heat: two
        functions stand for it."""
        states = ["CREATE_COMPLETE", *["DELETE_IN_PROGRESS"] * 20, "DELETE_FAILED", "gone"]
        requests: list[str] = []

        def present(cloud: Any, kind: Kind, names: list[str]) -> list[removal.FoundResource]:
            state = states.pop(0)
            stack = SimpleNamespace(id="1", status=state)
            return [] if state == "gone" else [removal.FoundResource(kind, names[0], stack)]

        def delete(cloud: Any, kind: Kind, name: str, raw: Any) -> None:
            requests.append(raw.status)

        monkeypatch.setattr(removal, "present", present)
        monkeypatch.setattr(removal, "delete", delete)
        assert removal.clear(bench().cloud, Kind.STACK, [f"{RUN}-fwd"], [])
        assert requests == ["CREATE_COMPLETE", "DELETE_FAILED"]


def _first(api: Any, path: str) -> int:
    return next(
        number
        for number, (method, asked) in enumerate(api.requests)
        if method == "DELETE" and path in asked
    )


class TestWhatStays:
    NEIGHBOURS = (
        *("sfcperf-abc123x-data", "xsfcperf-abc123-data", "sfcperf-abc124-data"),
        *("SFCPERF-ABC123-DATA", "sfcperf-abc123-data-2", "sfcperf-abc123", "data", ""),
    )

    def test_names_that_are_similar_and_the_same_in_another_project(self, bench: Start) -> None:
        """An administrator sees those of other projects."""
        api = bench().api
        api.add("networks", f"{RUN}-data")
        api.add("networks", f"{RUN}-data", project_id="q" * 32)
        collections = ("networks", "servers", "os-keypairs")
        for collection in collections:
            for neighbour in self.NEIGHBOURS:
                api.add(collection, neighbour, status="ACTIVE")
        clean_up(journal((Kind.NETWORK, f"{RUN}-data"), (Kind.SERVER, FWD), (Kind.KEYPAIR, "k")))
        stay = {name: sorted(self.NEIGHBOURS) for name in collections}
        stay["networks"] = sorted([*self.NEIGHBOURS, f"{RUN}-data"])
        assert left(api) == stay

    def test_chains_through_ports_of_others(self, bench: Start) -> None:
        api = bench().api
        api.add("ports", f"{FWD}-in")
        other = api.add("ports", "theirs")
        pair = api.add("sfc/port_pairs", "theirs", ingress=other, egress=other)
        api.add("sfc/port_pair_groups", "theirs", port_pairs=[pair])
        clean_up(journal((Kind.PORT, f"{FWD}-in")))
        assert left(api) == {
            "ports": ["theirs"],
            "sfc/port_pairs": ["theirs"],
            "sfc/port_pair_groups": ["theirs"],
        }


class TestTrouble:
    @pytest.mark.parametrize("how", ["lost before", "lost after"])
    def test_lost_answers(self, bench: Start, how: Any) -> None:
        paths = ("/servers/", "/ports/", "/port_chains/", "/networks/")
        api = bench(*(Fault("DELETE", path, how) for path in paths)).api
        build(api)
        clean_up(journal(*ALL))
        assert left(api) == {}
        assert [fault.times for fault in api.faults] == [0] * len(paths)

    @pytest.mark.parametrize("status", [404, 409, 503])
    def test_refusals(self, bench: Start, status: int) -> None:
        fault = Fault("DELETE", "/(ports|servers|networks)/", status=status, times=3)
        api = bench(fault).api
        build(api)
        clean_up(journal(*ALL))
        assert left(api) == {}
        assert fault.times == 0

    def test_what_stays_is_named_with_the_reason_and_the_rest_goes(self, bench: Start) -> None:
        body = {"NeutronError": {"message": "the port is locked by a customer"}}
        api = bench(Fault("DELETE", "/ports/", status=409, body=body, times=-1)).api
        impatient = replace(FAST, timeout_s=0.2, conflict_timeout_s=0.1, removal_timeout_s=0.3)
        build(api)
        with pytest.raises(DeploymentError) as caught:
            clean_up(journal(*ALL), retry=impatient)
        words = str(caught.value)
        assert f"port {FWD}-in (" in words and f"port {FWD}-out (" in words
        assert "the port is locked by a customer (HTTP 409)" in words
        assert "server" not in left(api) and "os-keypairs" not in left(api)

    def test_a_service_that_is_silent_is_not_waited_for_again(self, bench: Start) -> None:
        """What nova alone can do is done; servers stay, since neutron has their ports."""
        api = bench().api
        build(api)
        api.faults.append(Fault("GET", "/network/", "lost before", times=-1))
        with pytest.raises(DeploymentError) as caught:
            clean_up(journal(*ALL), retry=replace(FAST, timeout_s=0.3))
        words = str(caught.value)
        assert f"network {RUN}-data: neutron does not answer" in words
        assert f"server {FWD}: neutron does not answer" in words
        assert api.names("os-keypairs") == [] and api.names("servers") == [FWD]
        asked = {path.partition("?")[0] for _, path in api.requests if "/network/" in path}
        assert asked == {"/network/v2.0/ports"}
        api.faults.clear()
        clean_up(journal(*ALL))
        assert left(api) == {}

    def test_without_the_cloud_each_thing_is_named(
        self, bench: Start, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
    ) -> None:
        monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(tmp_path / "none.yaml"))
        with pytest.raises(DeploymentError, match=f"server {FWD}: no OpenStack cloud") as caught:
            clean_up(journal(*ALL))
        assert f"port {FWD}-in" in str(caught.value)

    def test_another_project_is_not_taken_for_an_empty_one(self, bench: Start) -> None:
        api = bench().api
        build(api)
        with pytest.raises(DeploymentError, match="the run was in project qqq"):
            clean_up(journal(*ALL, project="q" * 32))

    def test_a_kind_of_another_version(self, bench: Start) -> None:
        bench()
        with pytest.raises(DeploymentError, match="satellite"):
            clean_up(journal(("satellite", "s")))

    def test_an_orderly_removal_looks_twice_only_after_a_lost_answer(
        self, bench: Start, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        workplace = bench()
        api, cloud = workplace.api, workplace.cloud
        for lost_answer in (False, True):
            monkeypatch.setattr(waiting, "sleep", late_network(api))
            cloud.lost_answer = lost_answer
            lines = remove(cloud, journal((Kind.NETWORK, f"{RUN}-data")))
            assert bool(lines) == lost_answer
            assert left(api) == {}
