"""What a scenario needs of a cloud, and what is refused before the cloud is asked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support.vnfs.image_layout import Layout

from sfcperf.drivers.openstack.driver import OpenStackDriver
from sfcperf.drivers.openstack.model.config import PARAMETERS, Config
from sfcperf.drivers.openstack.planning.machine_specs import most_machines, scenario_machines
from sfcperf.drivers.openstack.planning.validation import data_prefix, validate
from sfcperf.errors import WorkflowError
from sfcperf.workflow.defaults import with_defaults
from sfcperf.workflow.load import load_document
from sfcperf.workflow.model import Scenario, Workflow


def config(**given: Any) -> Config:
    asked = {"management_network": "mgmt", "image": "guest", **given}
    return Config(**with_defaults(PARAMETERS, {k: v for k, v in asked.items() if v is not None}))


def workflow(tmp_path: Any, **changes: Any) -> Workflow:
    document: dict[str, Any] = {
        "sfcperf": 1,
        "name": "cloud",
        "infrastructure": {"driver": "local"},
        "vnfs": {
            "fwd": {"type": "forwarder", "resources": {"vcpus": 1, "memory_mib": 128}},
            "fw": {"type": "firewall"},
        },
        "chain": {"functions": [{"vnf": "fwd", "count": "${length}"}, {"vnf": "fw"}]},
        "factors": {"length": [1, 3]},
        "probes": [{"probe": "ping", "count": 3}],
        "design": {"rounds": 1},
        **changes,
    }
    return load_document(document, tmp_path)


def scenarios(tmp_path: Any, **changes: Any) -> tuple[Scenario, ...]:
    return workflow(tmp_path, **changes).scenarios


def refused(tmp_path: Any, settings: Mapping[str, Any], **changes: Any) -> WorkflowError:
    with pytest.raises(WorkflowError) as caught:
        validate(scenarios(tmp_path, **changes), config(**settings))
    return caught.value


def cell(where: str, *carries: str, settings: Any = None, **changes: Any) -> tuple[Any, ...]:
    return where, carries, settings or {}, changes


def one_function(**chain: Any) -> dict[str, Any]:
    return {"chain": {"functions": [{"vnf": "fwd"}], **chain}, "factors": {}}


def addresses(client: str, server: str) -> dict[str, Any]:
    return {"endpoints": {"client": {"address": client}, "server": {"address": server}}}


LIMITED = {
    "nodes": {"node1": {}, "node2": {}},
    "links": [{"between": ["node1", "node2"], "rate_bps": 1_000_000}],
    "placement": {"client": "node1", "server": "node1", "chain": "node2"},
}
SCRIPT = "#!/bin/sh\necho acme\n"
OVERLAY = {"chaining": "overlay"}
STANDING = {
    "address": "192.0.2.9",
    "host_key": "ssh-ed25519 AAAA",
    "key_file": "key",
    "interface": "eth1",
    "port": "p",
}
"""An existing machine."""
TACKER_VNFD = """
tosca_definitions_version: tosca_simple_profile_for_nfv_1_0_0
topology_template:
  node_templates:
    VDU1:
      type: tosca.nodes.nfv.VDU.Tacker
      properties:
        image: acme-1.2
        flavor: m1.acme
        user_data_format: RAW
        user_data: |
          #!/bin/sh
          echo acme
"""


class TestMachineSpecs:
    def test_functions_have_what_the_workflow_gives_them(self, tmp_path: Any) -> None:
        short, _ = scenarios(tmp_path)
        forwarder, firewall = scenario_machines(short, config()).functions
        assert (forwarder.vcpus, forwarder.memory_mib) == (1, 128)
        assert (forwarder.vnf, forwarder.type, forwarder.image) == ("fwd", "forwarder", "guest")
        assert forwarder.ports == ("management", "in", "out")
        assert forwarder.vnfd is not None and forwarder.vnfd.name == "vnfd.yaml"
        assert firewall.type == "firewall"

    def test_machines_with_an_sff_have_one_port_for_data(self, tmp_path: Any) -> None:
        short, _ = scenarios(tmp_path)
        wanted = scenario_machines(short, config(**OVERLAY))
        assert {spec.ports for spec in wanted.specs} == {("management", "data")}
        assert not any(spec.has_port_pair for spec in wanted.specs)

    def test_without_an_image_it_is_that_of_the_descriptor(self, tmp_path: Any) -> None:
        short, _ = scenarios(
            tmp_path,
            endpoints={
                "client": {"options": {"image": "ends"}},
                "server": {"options": {"image": "ends", "flavor": "large"}},
            },
        )
        wanted = scenario_machines(short, config(image=None))
        assert wanted.functions[0].image == "debian-12-genericcloud-amd64"
        assert (wanted.client.image, wanted.client.flavor) == ("ends", None)
        assert wanted.server.flavor == "large"
        assert wanted.client.ports == ("management", "data")

    @pytest.mark.parametrize(
        ("changes", "expected"),
        [
            ({}, {"client": 1, "server": 1, "fwd": 3, "fw": 1}),
            # Endpoints of each address are kept.
            (
                addresses("${a}", "10.1.0.9")
                | {"factors": {"length": [1], "a": ["10.1.0.5", "10.1.0.6"]}},
                {"client": 2, "server": 1, "fwd": 1, "fw": 1},
            ),
        ],
    )
    def test_a_run_has_as_many_machines_as_its_largest_scenario(
        self, tmp_path: Any, changes: dict[str, Any], expected: dict[str, int]
    ) -> None:
        each = [scenario_machines(asked, config()) for asked in scenarios(tmp_path, **changes)]
        assert {spec.vnf: count for spec, count in most_machines(each).items()} == expected

    def test_a_named_flavor_has_the_size_that_it_has(self, tmp_path: Any) -> None:
        """Unless the workflow asks for one: then the flavor must have it."""
        short, _ = scenarios(tmp_path)
        wanted = scenario_machines(short, config(flavor="all"))
        forwarder, firewall = wanted.functions
        assert (forwarder.vcpus, forwarder.memory_mib) == (1, 128)
        assert (firewall.vcpus, firewall.memory_mib) == (0, 0)
        assert (wanted.client.vcpus, wanted.client.memory_mib) == (0, 0)

    def test_nodes_are_hypervisors(self, tmp_path: Any) -> None:
        hosts = {"node1": "compute-a", "node2": "compute-b", "node3": "compute-c"}
        short, _ = scenarios(tmp_path, topology="T3")
        wanted = scenario_machines(short, config(hosts=hosts))
        assert wanted.client.hypervisor == "compute-a"
        assert wanted.functions[0].hypervisor == "compute-b"
        assert wanted.server.hypervisor == "compute-c"

    def test_a_descriptor_may_say_flavor_image_and_user_data(self, tmp_path: Any) -> None:
        (tmp_path / "own.yaml").write_text(TACKER_VNFD)
        own = {"fwd": {"type": "forwarder", "vnfd": "own.yaml"}, "fw": {"type": "firewall"}}
        short, _ = scenarios(tmp_path, vnfs=own)
        ends = {end: {"options": {"image": "ends"}} for end in ("client", "server")}
        alone, _ = scenarios(tmp_path, vnfs=own, endpoints=ends)
        spec = scenario_machines(alone, config(image=None)).functions[0]
        assert (spec.image, spec.flavor, spec.user_data) == ("acme-1.2", "m1.acme", SCRIPT)
        own["fwd"]["resources"] = {"vcpus": 2}  # type: ignore[assignment]
        larger, _ = scenarios(tmp_path, vnfs=own)
        assert scenario_machines(larger, config()).functions[0].flavor is None
        spec = scenario_machines(short, config(flavor="all")).functions[0]
        assert (spec.image, spec.flavor) == ("guest", "all")


class TestValidation:
    def test_what_a_descriptor_leaves_open(self, tmp_path: Any) -> None:
        """It matters only where it is wanted; user data that nobody would run always do."""
        text = TACKER_VNFD.replace("m1.acme", "{get_input: size}")
        inputs = "  inputs: {size: {type: string}}\n  node_templates:"
        (tmp_path / "own.yaml").write_text(text.replace("  node_templates:", inputs))
        own = {"fwd": {"type": "forwarder", "vnfd": "own.yaml"}, "fw": {"type": "firewall"}}
        assert "flavor" in refused(tmp_path, {}, vnfs=own).message
        validate(scenarios(tmp_path, vnfs=own), config(flavor="large"))
        (tmp_path / "own.yaml").write_text(TACKER_VNFD.replace("#!/bin/sh", "packages: []"))
        error = refused(tmp_path, {}, vnfs=own)
        assert error.where == "/vnfs/fwd/vnfd"
        assert "#cloud-config" in (error.allowed or "")

    @pytest.mark.parametrize(
        ("where", "carries", "settings", "changes"),
        [
            cell("chain/encapsulation", '"auto"', **one_function(encapsulation="nsh-vxlan-gpe")),
            cell("chain/initial_si", "255", **one_function(initial_si=9)),
            cell(
                "vnfs/fwd/type",
                "nsh-eth",
                vnfs={"fwd": {"type": "sfcmon"}},
                **one_function(encapsulation="mpls"),
            ),
            cell(
                "chain/classifier/bypass_unparsed",
                **one_function(classifier={"bypass_unparsed": True}),
            ),
            cell(
                "chain/encapsulation",
                "not by mpls",
                '"nsh-eth" or "auto"',
                settings=OVERLAY,
                **one_function(encapsulation="mpls"),
            ),
            cell(
                "chain/encapsulation",
                settings=OVERLAY,
                **one_function(encapsulation="nsh-vxlan-gpe"),
            ),
            cell(
                "infrastructure/config/lifecycle",
                '"nova"',
                settings={**OVERLAY, "lifecycle": "tacker"},
            ),
            cell("infrastructure/config/mtu", "at most 3326", settings={**OVERLAY, "mtu": 3327}),
            cell(
                "chain/functions",
                "at most 30",
                settings=OVERLAY,
                chain={"functions": [{"vnf": "fwd", "count": 31}]},
                factors={},
            ),
            cell(
                "endpoints/client/options/machine",
                '"networking-sfc"',
                settings=OVERLAY,
                endpoints={"client": {"options": {"machine": STANDING}}},
            ),
            cell("infrastructure/config", settings={"management_network": None}),
            cell("infrastructure/config", settings={"external_network": "public"}),
            cell("infrastructure/config/dns_servers", settings={"dns_servers": ["192.0.2.53"]}),
            cell(
                "infrastructure/config/hosts",
                "node2",
                settings={"hosts": {"node1": "a"}},
                topology="T2",
            ),
            cell("topology/links/0/rate_bps", topology=LIMITED),
            cell("topology/nodes/node1/vcpus", topology={"nodes": {"node1": {"vcpus": 2}}}),
            cell(
                "endpoints/client/options/imaeg",
                endpoints={"client": {"options": {"imaeg": "x"}}},
            ),
            cell("endpoints/server/address", **addresses("10.1.0.5", "10.2.0.5")),
            # The functions have the other half.
            cell("endpoints/server/address", "10.1.1.0/25", **addresses("10.1.1.1", "10.1.1.130")),
        ],
    )
    def test_what_cannot_be_built_is_refused(
        self, tmp_path: Any, where: str, carries: tuple[str, ...], settings: Any, changes: Any
    ) -> None:
        error = refused(tmp_path, settings, **changes)
        assert error.where == f"/{where}"
        assert all(words in str(error) for words in carries)

    def test_what_can_be_built_is_admitted(self, tmp_path: Any) -> None:
        validate(scenarios(tmp_path), config())
        outside = {"management_network": None, "external_network": "public"}
        validate(scenarios(tmp_path), config(**outside))
        scenario = scenarios(tmp_path, **addresses("10.1.0.5", "10.1.0.6"))[0]
        validate([scenario], config())
        assert data_prefix(scenario) == "10.1.0.0/24"

    def test_what_an_overlay_can_build_besides(self, tmp_path: Any) -> None:
        """Chains begin with any SI, and what cannot be parsed may go round them, because the SFFs
        are ours."""
        changes = one_function(initial_si=9, classifier={"bypass_unparsed": True})
        longest = {"chain": {"functions": [{"vnf": "fwd", "count": 30}]}, "factors": {}}
        for asked in (changes, longest):
            validate(scenarios(tmp_path, **asked), config(**OVERLAY, mtu=3326))

    def test_no_image(self, tmp_path: Any) -> None:
        assert "client" in refused(tmp_path, {"image": None}).message

    def test_endpoints_of_all_scenarios_share_a_network(self, tmp_path: Any) -> None:
        one = scenarios(tmp_path, **addresses("10.1.0.5", "10.1.0.6"))
        validate(one, config())
        other = scenarios(tmp_path, **addresses("10.9.0.5", "10.9.0.6"))
        with pytest.raises(WorkflowError, match="share one data network"):
            validate([*one, *other], config())

    @pytest.mark.parametrize("whose", ["fwd", "client"])
    def test_sizes_are_not_compared_with_one_flavor(self, tmp_path: Any, whose: str) -> None:
        sized = {"resources": {"vcpus": "${vcpus}"}}
        changes: dict[str, Any] = {"factors": {"length": [1], "vcpus": [1, 2]}}
        if whose == "client":
            changes["endpoints"] = {"client": sized}
        else:
            changes["vnfs"] = {"fwd": {"type": "forwarder", **sized}, "fw": {"type": "firewall"}}
        error = refused(tmp_path, {"flavor": "all"}, **changes)
        assert error.where == "/infrastructure/config/flavor"
        assert f"resources of {whose}" in error.message
        validate(scenarios(tmp_path, **changes), config())

    def test_topologies_are_not_compared_where_the_cloud_places(self, tmp_path: Any) -> None:
        factors = {"length": [1], "where": ["T1", "T3"]}
        error = refused(tmp_path, {}, topology="${where}", factors=factors)
        assert error.where == "/infrastructure/config/hosts"
        hosts = {"node1": "a", "node2": "b", "node3": "c"}
        validate(scenarios(tmp_path, topology="${where}", factors=factors), config(hosts=hosts))
        validate(scenarios(tmp_path, topology="T3", factors={"length": [0, 1]}), config())


@pytest.mark.parametrize(
    ("encapsulation", "vnf", "said"),
    [
        ("auto", "forwarder", "nsh, because functions take it: fwd"),
        ("auto", "router", "mpls, because no function takes NSH"),
        ("nsh-eth", "router", "nsh, as requested"),
        ("mpls", "forwarder", "mpls, as requested"),
    ],
)
def test_the_choice_of_an_encapsulation_is_said(
    tmp_path: Any, encapsulation: str, vnf: str, said: str
) -> None:
    """Not for chains without functions."""
    changes = {
        "vnfs": {"fwd": {"type": vnf}},
        "chain": {
            "functions": [{"vnf": "fwd", "count": "${length}"}], "encapsulation": encapsulation,
        },
        "factors": {"length": [0, 1]},
    }  # fmt: skip
    chosen = OpenStackDriver.choices({**vars(config())}, scenarios(tmp_path, **changes))
    assert chosen == [f"encapsulation of s001: {said}"]


def test_what_an_overlay_gives_to_functions_is_said(tmp_path: Any) -> None:
    chosen = OpenStackDriver.choices({**vars(config(**OVERLAY))}, scenarios(tmp_path))
    assert chosen[0] == (
        "encapsulation of s000: nsh in VXLAN-GPE between VMs (chaining overlay), which becomes "
        "nsh-eth to fwd and plain IP to fw"
    )


def test_the_sffs_of_an_overlay_can_be_observed(tmp_path: Any) -> None:
    scenario, _ = scenarios(tmp_path)
    for settings, sffs in ((OVERLAY, ("client", "server", "fwd-1", "fw-1")), ({}, ())):
        observable = OpenStackDriver.observable({**vars(config(**settings))}, scenario)
        assert observable.counting_sffs == sffs


def test_container_images_are_refused(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "image")
    layout.write(layout.manifest(Cmd=["own"]))
    vnfs = {"own": {"type": "program", "knobs": {"image": "image"}}}
    chain = {"functions": [{"vnf": "own"}]}
    error = refused(tmp_path, {}, vnfs=vnfs, chain=chain, factors={})
    assert error.where == "/vnfs/own/knobs/image"
    assert error.hint is not None
