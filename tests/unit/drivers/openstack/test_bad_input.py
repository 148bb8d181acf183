"""What a cloud or a workflow has wrong for NSH: told with place, reason and remedy, before any
machine is made, and nothing is left."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.cloud.broken_api import Fault
from support.local import ListJournal
from support.records.scenarios import scenario

from sfcperf.drivers.base import DriverContext
from sfcperf.drivers.openstack.driver import OpenStackDriver
from sfcperf.drivers.openstack.network.networks import RunNetworks, check_firewall
from sfcperf.drivers.openstack.planning import encapsulation
from sfcperf.environment.gather import refuse_unmet
from sfcperf.errors import DeploymentError, EnvironmentLacks, SfcperfError, WorkflowError
from sfcperf.workflow.defaults import with_defaults
from sfcperf.workflow.model import Match, Scenario

Start = Callable[..., Any]
QUESTION = "/sfc/port_pairs$"
ABSENT = Fault("POST", QUESTION, status=404, times=-1)
ROOM = {
    "maxTotalInstances": -1, "maxTotalCores": -1, "maxTotalRAMSize": -1, "totalInstancesUsed": 0,
    "totalCoresUsed": 0, "totalRAMUsed": 0,
}  # fmt: skip
QUOTA = (
    Fault("GET", "/limits", status=200, body={"limits": {"absolute": ROOM}}, times=-1),
    Fault("GET", "/quotas/", status=200, body={"quota": {}}, times=-1),
)
CLIENT: Mapping[str, Any] = {
    **{"address": "192.0.2.1", "host_key": "ssh-ed25519 AAAA", "key_file": "/no/key"},
    **{"interface": "eth1", "port": "lab-client"},
}


def settings(bench: Any, **more: Any) -> dict[str, Any]:
    given = {"cloud": "broken", "management_network": "management", "image": "guest", **more}
    return with_defaults(OpenStackDriver.parameters, given)


def with_machine() -> Scenario:
    """A chain with NSH whose client is an existing machine."""
    chain = scenario(["forwarder"])
    return replace(chain, client=replace(chain.client, options={"machine": CLIENT}))


def made(api: Any) -> set[str]:
    """Paths of what was asked to be made, without tokens and the question about NSH."""
    posts = {path.partition("/v2")[2] for method, path in api.requests if method == "POST"}
    return {path for path in posts if path} - {".0/sfc/port_pairs"}


def refused_deployment(b: Any, folder: Path, chain: Scenario, **config: Any) -> DeploymentError:
    """Error of a deployment that makes no machine and leaves nothing."""
    b.api.add("networks", "management", port_security_enabled=False)
    journal = ListJournal()
    folders = [folder / name for name in ("state", "raw")]
    for each in folders:
        each.mkdir()
    driver = OpenStackDriver(
        DriverContext("run", "abc123", settings(b, **config), journal, *folders, print)
    )
    with pytest.raises(DeploymentError) as caught:
        driver.deploy(chain)
    driver.close()
    assert not made(b.api) & {".1/servers", ".0/ports"}
    assert journal.outstanding() == []
    assert b.api.names("networks") == ["management"]
    return caught.value


def refusal(action: Callable[[], object]) -> SfcperfError:
    with pytest.raises(EnvironmentLacks) as caught:
        action()
    return caught.value


def test_without_networking_sfc(bench: Start) -> None:
    b = bench(extensions=("port-security",))
    b.api.add("networks", "management")
    error = refusal(lambda: refuse_unmet(OpenStackDriver.requirements(settings(b))))
    assert "neutron extension sfc (the cloud's neutron does not offer it)" in error.message
    assert "install networking-sfc" in (error.hint or "")
    assert made(b.api) == set()


def test_a_function_that_leaves_frames_as_they_are(bench: Start) -> None:
    chain = scenario(["program"], knobs={"attach": "bridged"})
    with pytest.raises(WorkflowError, match="leaves frames as they are") as told:
        encapsulation.check(chain, bench().context.config)
    assert told.value.where == "/vnfs/program/knobs"


@pytest.mark.parametrize("chaining", ["networking-sfc", "overlay"])
def test_what_a_program_that_takes_nsh_gets(bench: Start, chaining: str) -> None:
    config = replace(bench().context.config, chaining=chaining)
    knobs = {"attach": "nsh", "command": ["x"]}
    encapsulation.check(scenario(["program"], knobs=knobs), config)
    tunnelled = {**knobs, "encapsulations": ["nsh-vxlan-gpe"]}
    with pytest.raises(WorkflowError) as told:
        encapsulation.check(scenario(["program"], knobs=tunnelled), config)
    assert told.value.where == "/vnfs/program/knobs/encapsulations"
    if chaining == "networking-sfc":
        plain = scenario(["program"], knobs=knobs, encapsulation="mpls")
        with pytest.raises(WorkflowError) as told:
            encapsulation.check(plain, config)
        assert told.value.where == "/vnfs/program/knobs/attach"


class TestNsh:
    def test_a_cloud_that_knows_it_is_asked_once(self, bench: Start) -> None:
        """It says that the ports of the question are not there."""
        b = bench(ABSENT)
        encapsulation.check_support(b.cloud, b.context.config, [scenario(["forwarder"])] * 2)
        assert b.api.count("POST", QUESTION) == 1
        assert b.api.names("sfc/port_pairs") == []

    def test_one_that_does_not(self, bench: Start) -> None:
        body = {"NeutronError": {"message": "Service function correlation nsh unsupported"}}
        b = bench(*QUOTA, Fault("POST", QUESTION, status=400, body=body))
        chain = [scenario(["forwarder"])]
        error = refusal(lambda: OpenStackDriver.check_capacity(settings(b), chain))
        assert error.where == "/chain/encapsulation"
        assert "too old for NSH" in error.message
        assert "networking-sfc 6" in (error.hint or "") and '"mpls"' in (error.hint or "")
        assert made(b.api) == set()

    @pytest.mark.parametrize(
        ("functions", "chosen"), [([], "auto"), (["forwarder"], "mpls"), (["router"], "auto")]
    )
    def test_it_is_not_asked_for_nothing(
        self, bench: Start, functions: list[str], chosen: Any
    ) -> None:
        b = bench()
        chain = scenario(functions, encapsulation=chosen)
        encapsulation.check_support(b.cloud, b.context.config, [chain])
        assert b.api.requests == []

    def test_a_graph_of_tacker_cannot_ask_for_it(self, bench: Start) -> None:
        graphs = Fault("GET", "vnffgs", status=200, body={"vnffgs": []})
        b = bench(graphs, Fault("GET", "api_versions", status=404), lifecycle="tacker")
        b.api.services["nfv-orchestration"] = "/nfv"
        chain = [scenario(["forwarder"])]
        check = encapsulation.check_support
        error = refusal(lambda: check(b.cloud, b.context.config, chain))
        assert error.where == "/chain/encapsulation"
        assert "forwarding graphs of Tacker cannot ask for NSH" in error.message
        assert '"nova"' in (error.hint or "") and '"mpls"' in (error.hint or "")
        assert made(b.api) == set()


def test_an_mtu_without_room_for_nsh(bench: Start, tmp_path: Path) -> None:
    """It shows when the data network is made. That goes again; no machine was made."""
    b = bench()
    b.api.add("networks", "sfcperf-abc123-data", mtu=1400)
    error = refused_deployment(b, tmp_path, scenario(["forwarder"]), mtu=1363)
    assert "1363 bytes, which become 1401 with NSH" in error.message
    assert error.where == "/infrastructure/config/mtu"
    assert "set it to 1362 or less" in (error.hint or "")


@pytest.mark.parametrize("functions", [[], ["forwarder"]])
@pytest.mark.parametrize("protocol", ["any", "tcp", "icmp"])
def test_a_project_that_may_not_disable_port_security(
    bench: Start, tmp_path: Path, functions: list[str], protocol: Any
) -> None:
    """It shows when the data network is made, too."""
    b = bench(Fault("POST", "/networks$", status=403))
    chain = scenario(functions, match=Match(protocol))
    error = refused_deployment(b, tmp_path, chain)
    assert "may not disable port security" in error.message
    assert error.where == "/infrastructure/config/chaining"
    assert '"overlay"' in (error.hint or "")
    assert "create_network:port_security_enabled" in (error.hint or "")


def test_udp_passes_a_firewall_that_tracks_connections() -> None:
    networks = RunNetworks("data", "", "", "", "", security_groups={"data": "group"})
    check_firewall(networks, "udp")
    check_firewall(replace(networks, security_groups={"management": "group"}), "any")


class TestPortOfAnExistingMachine:
    @pytest.mark.parametrize("use", ["chain", "pair"])
    def test_in_use(self, bench: Start, use: str) -> None:
        b = bench(*QUOTA, ABSENT)
        address = [{"ip_address": "10.0.0.1"}]
        port = b.api.add(
            "ports",
            "lab-client",
            device_id="lab",
            fixed_ips=address,
            mac_address="FA:16:3E:00:00:01",
        )
        if use == "pair":
            b.api.add("sfc/port_pairs", "theirs", ingress=port, egress=port)
        else:
            matching = b.api.add("sfc/flow_classifiers", "c", logical_source_port=port)
            b.api.add("sfc/port_chains", "theirs", flow_classifiers=[matching])
        error = refusal(lambda: OpenStackDriver.check_capacity(settings(b), [with_machine()]))
        assert error.where == "/endpoints/client/options/machine/port"
        assert f"the port lab-client is in use by the port-{use} theirs" in error.message
        assert "sfcperf clean" in (error.hint or "") and "another port" in (error.hint or "")
        assert made(b.api) == set()

    def test_that_belongs_to_no_machine(self, bench: Start) -> None:
        b = bench(*QUOTA, ABSENT)
        b.api.add("ports", "lab-client", device_id="")
        error = refusal(lambda: OpenStackDriver.check_capacity(settings(b), [with_machine()]))
        assert error.where == "/endpoints/client/options/machine/port"
        assert "belongs to no machine" in error.message
