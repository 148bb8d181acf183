"""NovaLifecycle, flavors, chains and networks on a cloud that does as a test says."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from support.cloud.broken_api import Fault
from support.records.scenarios import scenario

from sfcperf.drivers.openstack.cloud_session import any_address
from sfcperf.drivers.openstack.compute.flavors import Flavors
from sfcperf.drivers.openstack.compute.servers import Machine
from sfcperf.drivers.openstack.lifecycle import chaining
from sfcperf.drivers.openstack.lifecycle.base import machine_resources
from sfcperf.drivers.openstack.lifecycle.nova import NovaLifecycle
from sfcperf.drivers.openstack.model.specs import ChainPlan
from sfcperf.drivers.openstack.network.networks import check_mtu, prepare_networks
from sfcperf.drivers.openstack.network.ports import Port, port_body
from sfcperf.drivers.openstack.network.service_address import service_address
from sfcperf.drivers.openstack.planning.encapsulation import NSH_BYTES
from sfcperf.drivers.openstack.planning.quota import check_quota
from sfcperf.drivers.openstack.resources.context import Kind
from sfcperf.drivers.sff.layout import GPE_OVERHEAD
from sfcperf.errors import DeploymentError, EnvironmentLacks
from sfcperf.workflow.model import Match, ProbeSpec

from .conftest import NETWORKS

Start = Callable[..., Any]


class TestMachines:
    def test_each_has_its_ports_in_order_and_is_journaled_before(self, bench: Start) -> None:
        b = bench()
        client, fwd = b.endpoint(1, "client", "10.0.0.1"), b.function(2)
        first, second = NovaLifecycle(b.context).make([client, fwd], NETWORKS)
        assert (first.plan, second.plan) == (client, fwd)
        assert list(second.ports) == ["management", "in", "out"]
        assert first.ports["data"].address == "10.0.0.1"
        assert second.ports["in"].mac == second.ports["in"].mac.lower()
        servers = {s["name"]: s for s in b.api.things["servers"].values()}
        asked = servers[fwd.name]
        assert [net["port"] for net in asked["networks"]] == [p.id for p in second.ports.values()]
        assert asked["metadata"] == {"sfcperf-run": "abc123"}
        assert asked["config_drive"] is True and asked["key_name"] == "sfcperf-abc123"
        kinds = (Kind.SERVER, Kind.PAIR, Kind.PAIR_GROUP)
        assert {
            *((kind, fwd.name) for kind in kinds),
            (Kind.PORT, f"{fwd.name}-out"),
        } <= b.journaled

    def test_a_second_call_makes_nothing_and_removal_takes_all_of_a_machine(
        self, bench: Start
    ) -> None:
        b = bench()
        life = NovaLifecycle(b.context)
        plans = [b.function(1), b.function(2)]
        before = life.make(plans, NETWORKS)
        posts = b.api.count("POST", "/(ports|servers)")
        gone, stays = after = life.make(plans, NETWORKS)
        assert [(m.server_id, m.ports) for m in after] == [(m.server_id, m.ports) for m in before]
        assert b.api.count("POST", "/(ports|servers)") == posts
        life.remove([gone])
        assert b.api.names("servers") == [stays.plan.name]
        assert len(b.api.things["ports"]) == 3
        assert not any(gone.plan.name in name for _, name in b.journaled)
        life.remove([gone])

    def test_requests_whose_answer_is_lost_make_it_once(self, bench: Start) -> None:
        b = bench(*(Fault("POST", path, "lost after") for path in ("/servers", "/ports")))
        NovaLifecycle(b.context).make([b.function(1), b.function(2)], NETWORKS)
        assert len(b.api.things["servers"]) == 2
        assert len(b.api.things["ports"]) == 6

    def test_a_server_in_error_is_made_anew_once(self, bench: Start) -> None:
        b = bench()
        b.api.fates, b.api.deaths = ["ERROR"], 3
        [machine] = NovaLifecycle(b.context).make([b.function(1)], NETWORKS)
        assert list(b.api.things["servers"]) == [machine.server_id]
        assert any("is in ERROR (No valid host was found.); making a new one" in s for s in b.said)

    def test_the_second_error_is_told_in_the_clouds_words(self, bench: Start) -> None:
        b = bench()
        b.api.fates = ["ERROR", "ERROR"]
        with pytest.raises(DeploymentError, match="No valid host was found") as caught:
            NovaLifecycle(b.context).make([b.function(1)], NETWORKS)
        assert "hypervisor" in (caught.value.hint or "")

    def test_one_that_never_comes_up(self, bench: Start) -> None:
        b = bench(boot_timeout_s=10)
        b.api.fates = ["BUILD"]
        b.context = replace(b.context, config=replace(b.context.config, boot_timeout_s=0.3))
        with pytest.raises(DeploymentError, match=r"not ACTIVE within 0\.3 s: .*-01-fwd \(BUILD"):
            NovaLifecycle(b.context).make([b.function(1)], NETWORKS)

    def test_a_hypervisor_and_the_descriptors_user_data_arrive(self, bench: Start) -> None:
        b = bench()
        own = "#!/bin/sh\necho own\n"
        plan = b.function(1, hypervisor="node-7", user_data=own)
        NovaLifecycle(b.context).make([plan], NETWORKS)
        [server] = b.api.things["servers"].values()
        assert server["availability_zone"] == "nova:node-7"
        assert b64decode(server["user_data"]).decode() == own

    def test_without_port_security_functions_are_let_through(self, bench: Start) -> None:
        b = bench()
        run_networks = replace(NETWORKS, security_groups={"data": "sg"})
        NovaLifecycle(b.context).make([b.function(1)], run_networks)
        ports = {p["name"].rpartition("-")[2]: p for p in b.api.things["ports"].values()}
        assert ports["in"]["allowed_address_pairs"] == [{"ip_address": "0.0.0.0/0"}]
        assert ports["out"]["security_groups"] == ["sg"]
        assert "security_groups" not in ports["management"]


class TestFlavors:
    def test_the_smallest_that_suffices(self, bench: Start) -> None:
        """Or that is named; the image wants 192 MiB."""
        b = bench()
        cells: list[tuple[dict[str, Any], str]] = [
            ({"vcpus": 1, "memory_mib": 64}, "small"),
            ({"vcpus": 1, "memory_mib": 257}, "large"),
            ({"vcpus": 2, "memory_mib": 1}, "large"),
            ({"flavor": "tiny", "vcpus": 0, "memory_mib": 0}, "tiny"),
            ({"flavor": "small", "memory_mib": 256}, "small"),
        ]
        plans = [b.function(number, **wanted) for number, (wanted, _) in enumerate(cells)]
        NovaLifecycle(b.context).make(plans, NETWORKS)
        refs = {s["name"]: s["flavorRef"] for s in b.api.things["servers"].values()}
        chosen = [b.api.things["flavors"][refs[plan.name]]["name"] for plan in plans]
        assert chosen == [flavor for _, flavor in cells]

    def test_one_is_made_where_the_project_may(self, bench: Start) -> None:
        """Whether it may is asked before, and what that makes is removed at once. (The API here
        has no names that must be unique: 409 is the answer to a name that is taken.)"""
        b = bench(Fault("POST", "/flavors", status=409))
        for asked in (1, 2):
            Flavors(b.cloud).check(b.function(1, vcpus=4).spec)
            assert b.api.names("flavors") == ["large", "small", "tiny"]
            assert b.api.count("POST", "/flavors") == asked
        NovaLifecycle(b.context).make([b.function(1, vcpus=4)], NETWORKS)
        assert "sfcperf-abc123-4c256m1g" in b.api.names("flavors")
        assert (Kind.FLAVOR, "sfcperf-abc123-4c256m1g") in b.journaled

    def test_else_those_that_there_are_are_told_and_nothing_is_made(self, bench: Start) -> None:
        b = bench(Fault("POST", "/flavors", status=403, times=-1))
        with pytest.raises(EnvironmentLacks, match="no flavor of the cloud") as caught:
            NovaLifecycle(b.context).make([b.function(1, vcpus=4)], NETWORKS)
        assert "large (2 vCPU, 1024 MiB)" in (caught.value.allowed or "")
        assert b.journaled == set()
        assert b.api.names("servers") == b.api.names("ports") == []
        with pytest.raises(EnvironmentLacks, match="no flavor of the cloud has the 4 vCPUs"):
            Flavors(b.cloud).check(b.function(1, vcpus=4).spec)

    def test_a_named_one_that_is_too_small_or_not_there(self, bench: Start) -> None:
        b = bench()
        for wanted in ({"vcpus": 2}, {"memory_mib": 129}):
            size = {"vcpus": 1, "memory_mib": 128, **wanted}
            with pytest.raises(EnvironmentLacks, match="the flavor tiny has 1 and 128"):
                Flavors(b.cloud).check(b.function(1, flavor="tiny", **size).spec)
        for what in ("image", "flavor"):
            with pytest.raises(EnvironmentLacks, match=f"no {what} nothing"):
                NovaLifecycle(b.context).make([b.function(1, **{what: "nothing"})], NETWORKS)
        assert b.journaled == set()


def chain_of(b: Any, *functions: int, match: Match | None = None, symmetric: bool = True) -> Any:
    """A plan and machines that stand, without making them."""
    plans = [b.endpoint(8, "client"), b.endpoint(9, "server"), *(b.function(n) for n in (1, 2, 3))]
    machines = {
        plan.name: Machine(
            plan,
            "",
            {role: Port(f"{plan.name}-{role}", "", "10.0.0.9") for role in ("data", "in", "out")},
            0.0,
        )
        for plan in plans
    }
    names = tuple(b.function(n).name for n in functions)
    ends = (plans[0].name, plans[1].name)
    return ChainPlan(*ends, names, match or Match(), symmetric), machines


class TestChains:
    def _groups(self, b: Any) -> list[str]:
        [chain] = b.api.things["sfc/port_chains"].values()
        groups = b.api.things["sfc/port_pair_groups"]
        return [groups[id_]["name"].rpartition("-")[0][-2:] for id_ in chain["port_pair_groups"]]

    def test_only_the_chain_is_made_anew(self, bench: Start) -> None:
        b = bench()
        life = NovaLifecycle(b.context)
        for order in ((1, 2), (2, 1), (3,), (1, 2, 3), (1, 2, 3)):
            life.chain(*chain_of(b, *order))
            assert self._groups(b) == [f"{n:02d}" for n in order]
            assert len(b.api.things["sfc/flow_classifiers"]) == 1
        assert b.api.count("POST", "/port_pairs") == 3
        assert b.api.count("POST", "/port_pair_groups") == 3

    def test_a_pair_is_made_anew_for_the_other_encapsulation(self, bench: Start) -> None:
        """In a chain with the same one, it stays."""
        b = bench()
        life = NovaLifecycle(b.context)
        plan, machines = chain_of(b, 1, 2)
        nsh = replace(plan, correlation="nsh")
        for each in (nsh, plan, plan, nsh):
            assert life.chain(each, machines)["correlation"] == each.correlation
            assert self._groups(b) == ["01", "02"]
            pairs = sorted(b.api.things["sfc/port_pairs"].values(), key=lambda pair: pair["name"])
            asked = [pair["service_function_parameters"].get("correlation") for pair in pairs]
            assert asked == (["nsh", "nsh"] if each is nsh else [None, None])
        assert b.api.count("POST", "/port_pairs") == 6

    @pytest.mark.parametrize("how", ["lost before", "lost after"])
    def test_lost_answers_while_a_pair_is_replaced(self, bench: Start, how: Any) -> None:
        b = bench()
        life = NovaLifecycle(b.context)
        plan, machines = chain_of(b, 1, 2)
        life.chain(replace(plan, correlation="nsh"), machines)
        calls = [(m, p) for m in ("DELETE", "POST") for p in ("port_pair_groups", "port_pairs")]
        b.api.faults += [Fault(method, f"/sfc/{path}", how) for method, path in calls]
        life.chain(plan, machines)
        assert [fault.times for fault in b.api.faults] == [0] * 4
        assert self._groups(b) == ["01", "02"]
        pairs = b.api.things["sfc/port_pairs"]
        groups = b.api.things["sfc/port_pair_groups"].values()
        assert [pair["service_function_parameters"] for pair in pairs.values()] == [{}, {}]
        assert {id_ for group in groups for id_ in group["port_pairs"]} == set(pairs)

    def test_another_classifier_is_another_chain(self, bench: Start) -> None:
        b = bench()
        life = NovaLifecycle(b.context)
        changes: list[dict[str, Any]] = [{}, {"match": Match("tcp")}, {"symmetric": False}]
        chains = {life.chain(*chain_of(b, 1, **change))["chain"] for change in changes}
        assert len(chains) == 3
        assert len(b.api.things["sfc/port_chains"]) == 1
        assert len(b.api.things["sfc/flow_classifiers"]) == 1

    def test_a_chain_that_lost_its_classifier_is_made_anew(self, bench: Start) -> None:
        """A killed `unchain`, or a double."""
        b = bench()
        life = NovaLifecycle(b.context)
        life.chain(*chain_of(b, 1))
        b.api.things["sfc/flow_classifiers"].clear()
        life.chain(*chain_of(b, 1))
        [chain] = b.api.things["sfc/port_chains"].values()
        assert chain["flow_classifiers"] == list(b.api.things["sfc/flow_classifiers"])

    def test_lost_answers(self, bench: Start) -> None:
        paths = ("port_pairs", "port_pair_groups", "flow_cl", "port_chains")
        b = bench(*(Fault("POST", f"/sfc/{path}", "lost after") for path in paths))
        life = NovaLifecycle(b.context)
        life.chain(*chain_of(b, 1, 2))
        life.chain(*chain_of(b, 2, 3))
        assert self._groups(b) == ["02", "03"]
        counts = {name: len(b.api.names(f"sfc/{name}")) for name in ("port_pairs", "port_chains")}
        assert counts == {"port_pairs": 3, "port_chains": 1}
        life.unchain()
        life.unchain()
        assert b.api.names("sfc/port_chains") == b.api.names("sfc/flow_classifiers") == []
        assert len(b.api.names("sfc/port_pairs")) == 3

    def test_another_runs_chain_in_the_way(self, bench: Start) -> None:
        body = {"NeutronError": {"message": "Flow Classifier a conflicts with Flow Classifier b"}}
        b = bench(Fault("POST", "/port_chains", status=400, body=body, times=-1))
        with pytest.raises(DeploymentError, match="conflicts") as caught:
            NovaLifecycle(b.context).chain(*chain_of(b, 1))
        assert "wait for the other run" in (caught.value.hint or "")


class TestClassifier:
    HERE, THERE = Port("c", "", "10.1.2.3"), Port("s", "", "10.1.2.4")

    def test_what_is_not_said_is_the_endpoints_network(self) -> None:
        assert chaining.classifier(Match(), self.HERE, self.THERE, symmetric=False) == {
            "ethertype": "IPv4",
            "source_ip_prefix": "10.1.2.0/24",
            "logical_source_port": "c",
        }

    def test_all_addresses_but_those_that_are_named(self) -> None:
        ends = (self.HERE, self.THERE)
        every = "0.0.0.0/0"
        for match, prefixes in (
            (Match(), (every, every)),
            (Match(source="10.0.0.0/8"), ("10.0.0.0/8", every)),
            (Match(destination="10.1.2.4/32"), (every, "10.1.2.4/32")),
        ):
            found = chaining.classifier(match, *ends, symmetric=True, any_address=True)
            assert (found["source_ip_prefix"], found["destination_ip_prefix"]) == prefixes

    def test_who_sends_packets_with_other_addresses(self) -> None:
        secured = replace(NETWORKS, security_groups={NETWORKS.data_id: "group"})
        for probe, sends in (("ping", False), ("labelled_traffic", True)):
            chain = replace(scenario(["ids"]), probes=(ProbeSpec(0, probe, probe, {}),))
            assert any_address(chain, NETWORKS) == any_address(chain, None) == sends
        with pytest.raises(DeploymentError, match="may not disable port security") as caught:
            any_address(chain, secured)
        assert caught.value.where == "/probes"

    def test_what_is_said(self) -> None:
        match = Match("udp", "10.1.2.3/32", "10.1.0.0/16", 5, 6)
        assert chaining.classifier(match, self.HERE, self.THERE, symmetric=True) == {
            "ethertype": "IPv4",
            "protocol": "udp",
            "source_ip_prefix": "10.1.2.3/32",
            "destination_ip_prefix": "10.1.0.0/16",
            "source_port_range_min": 5,
            "source_port_range_max": 5,
            "destination_port_range_min": 6,
            "destination_port_range_max": 6,
            "logical_source_port": "c",
            "logical_destination_port": "s",
        }


class TestRunNetworks:
    KEY = "ssh-ed25519 AAAA test"

    def _ready(self, bench: Start, *faults: Fault, **settings: Any) -> Any:
        b = bench(*faults, **settings)
        b.api.add("networks", "management", port_security_enabled=True)
        b.api.add("networks", "outside", **{"router:external": True})
        return b

    def test_it_is_made_once(self, bench: Start) -> None:
        """Another key of the same name is replaced."""
        b = self._ready(bench)
        b.api.add("os-keypairs", "sfcperf-abc123", public_key="ssh-ed25519 BBBB old")
        first = prepare_networks(b.context, "#!/bin/sh\n", self.KEY)
        assert prepare_networks(b.context, "#!/bin/sh\n", self.KEY) == first
        assert b.api.names("networks") == ["management", "outside", "sfcperf-abc123-data"]
        data = b.api.things["networks"][first.data_id]
        assert data["port_security_enabled"] is False
        [subnet] = b.api.things["subnets"].values()
        assert subnet["gateway_ip"] is None and subnet["enable_dhcp"] is False
        assert set(first.security_groups) == {first.management_id}
        [pair] = b.api.things["os-keypairs"].values()
        assert pair["public_key"] == self.KEY
        [rule] = b.api.things["security-group-rules"].values()
        assert (rule["protocol"], rule["port_range_max"]) == ("tcp", 22)

    def test_two_networks_of_the_same_addresses(self, bench: Start) -> None:
        b = self._ready(bench)
        [management] = (i for i, n in b.api.things["networks"].items() if n["name"] == "management")
        b.api.add("subnets", "m", network_id=management, ip_version=4, cidr="10.0.0.0/16")
        with pytest.raises(DeploymentError, match=r"10\.0\.7\.0/24 overlaps 10\.0\.0\.0") as caught:
            prepare_networks(b.context, "", self.KEY, "10.0.7.0/24")
        assert caught.value.where == "/endpoints"

    def test_where_services_are_reached(self, bench: Start) -> None:
        b = self._ready(bench)
        [management] = (i for i, n in b.api.things["networks"].items() if n["name"] == "management")
        with pytest.raises(EnvironmentLacks, match="no route to the network management"):
            service_address(b.context.config)
        b.api.add("subnets", "m", network_id=management, ip_version=4, cidr="127.5.0.0/16")
        assert service_address(b.context.config) == "127.0.0.1"

    def test_a_network_of_existing_endpoints_is_not_counted_and_must_be_shown(
        self, bench: Start
    ) -> None:
        limits = {"quota": {"subnet": 0}}
        b = self._ready(bench, Fault("GET", "/quotas/", status=200, body=limits, times=-1))
        check_quota(b.cloud, {}, b.context.config, own_data=False)
        with pytest.raises(EnvironmentLacks, match="subnets: 1 needed"):
            check_quota(b.cloud, {}, b.context.config, own_data=True)
        with pytest.raises(EnvironmentLacks, match="no network hidden") as caught:
            prepare_networks(b.context, "", self.KEY, data_network_id="hidden")
        assert caught.value.where == "/endpoints"

    def test_where_port_security_must_stay(self, bench: Start) -> None:
        refused = Fault("POST", "/networks", status=403)
        b = self._ready(bench, refused)
        run_networks = prepare_networks(b.context, "", self.KEY)
        assert run_networks.data_id in run_networks.security_groups
        assert any("may not disable port security" in line for line in b.said)

    def test_an_overlay_keeps_port_security(self, bench: Start) -> None:
        """Between its VMs only VXLAN-GPE passes, from their own addresses; nothing of
        networking-sfc is needed or made."""
        b = self._ready(bench, chaining="overlay", extensions=("port-security", "security-group"))
        networks = prepare_networks(b.context, "", self.KEY)
        [data] = (n for n in b.api.things["networks"].values() if n["name"].endswith("-data"))
        assert data["port_security_enabled"] is True
        group = networks.security_groups[networks.data_id]
        rules = b.api.things["security-group-rules"].values()
        [rule] = (rule for rule in rules if rule["security_group_id"] == group)
        ports = (rule["port_range_min"], rule["port_range_max"])
        assert (rule["direction"], rule["protocol"], *ports) == ("ingress", "udp", 4790, 4790)
        plan = b.function(1, overlay=True)
        assert NovaLifecycle.requirements(b.cloud, b.context.config) == []
        body = port_body(plan, "data", networks)
        assert body["security_group_ids"] == [group]
        assert "allowed_address_pairs" not in body
        assert {kind for kind, _ in machine_resources(plan)} == {Kind.PORT, Kind.SERVER}

    def test_what_clouds_without_networking_sfc_can_do(self, bench: Start) -> None:
        b = self._ready(bench, extensions=("security-group",))
        found = NovaLifecycle.requirements(b.cloud, b.context.config)
        assert [need.met for need in found] == [False, False]
        assert all("infrastructure.config.chaining=overlay" in need.remedy for need in found)

    def test_without_the_extensions(self, bench: Start) -> None:
        b = self._ready(bench, extensions=("sfc",))
        assert prepare_networks(b.context, "", self.KEY).security_groups == {}

    def test_security_groups_that_cannot_be_switched_off(self, bench: Start) -> None:
        b = self._ready(bench, extensions=("sfc", "security-group"))
        run_networks = prepare_networks(b.context, "", self.KEY)
        assert set(run_networks.security_groups) == {
            run_networks.data_id,
            run_networks.management_id,
        }
        assert len(set(run_networks.security_groups.values())) == 2

    def test_packets_that_do_not_fit(self, bench: Start) -> None:
        b = self._ready(bench, mtu=1400)
        b.api.add("networks", "sfcperf-abc123-data", mtu=1350)
        networks = prepare_networks(b.context, "", self.KEY)
        where = "/infrastructure/config/mtu"
        check_mtu(networks, 1350, 0, where)
        with pytest.raises(DeploymentError, match="1350 bytes at most"):
            check_mtu(networks, 1351, 0, where)
        with pytest.raises(DeploymentError, match="1351 with NSH in VXLAN-GPE") as caught:
            check_mtu(networks, 1277, GPE_OVERHEAD, where, encapsulation="NSH in VXLAN-GPE")
        assert "1276 or less" in (caught.value.hint or "")
        with pytest.raises(DeploymentError, match="1351 with NSH") as caught:
            check_mtu(networks, 1313, NSH_BYTES, where)
        assert "1312 or less" in (caught.value.hint or "")

    def test_a_network_that_is_not_there(self, bench: Start) -> None:
        b = self._ready(bench, management_network="nowhere")
        with pytest.raises(EnvironmentLacks, match="no network nowhere"):
            prepare_networks(b.context, "", self.KEY)
