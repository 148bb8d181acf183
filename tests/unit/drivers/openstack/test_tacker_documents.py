"""What Tacker is handed: descriptors of VNFs and graphs, packages. A real Tacker reads them in
tests/openstack; here it is what they say, and a parser of TOSCA that reads the packages."""

from __future__ import annotations

import io
import tempfile
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from toscaparser.tosca_template import ToscaTemplate

from sfcperf import plugins
from sfcperf.drivers.openstack.compute.flavors import Placement
from sfcperf.drivers.openstack.lifecycle import (
    chaining,
    tacker_hot,
    tacker_package,
    tacker_vnfd,
    tacker_vnffgd,
)
from sfcperf.drivers.openstack.model.specs import (
    EGRESS,
    INGRESS,
    MANAGEMENT,
    MachinePlan,
    MachineSpec,
)
from sfcperf.drivers.openstack.network.networks import RunNetworks
from sfcperf.drivers.openstack.network.ports import Port
from sfcperf.errors import InputError
from sfcperf.hosts.ssh.pins import USER_DATA
from sfcperf.workflow.model import Match

NETWORKS = RunNetworks("data-net", "data-subnet", "management-net", "sfcperf-abc123", USER_DATA)
GUARDED = replace(NETWORKS, security_groups={"data-net": "group"})
PLACE = Placement("image-id", "flavor-id")
TYPES = plugins.names("vnf")


def plan(vnfd: Path | None) -> MachinePlan:
    spec = MachineSpec("function", "fwd", "forwarder", "image", None, 1, 256, None, vnfd)
    return MachinePlan("sfcperf-abc123-01-fwd", spec, None)


def own_vnfd(vnf_type: str) -> Path:
    folder: Path = plugins.load("vnf", vnf_type).folder
    return folder / "vnfd.yaml"


def written(tmp_path: Path, nodes: dict[str, Any]) -> Path:
    path = tmp_path / "vnfd.yaml"
    template = {"description": "test", "topology_template": {"node_templates": nodes}}
    version = {"tosca_definitions_version": "tosca_simple_profile_for_nfv_1_0_0"}
    path.write_text(yaml.safe_dump({**version, **template}))
    return path


@pytest.mark.parametrize("vnf_type", TYPES)
def test_every_function_of_ours_becomes_a_vdu_with_three_connection_points(vnf_type: str) -> None:
    translated = tacker_vnfd.translated(plan(own_vnfd(vnf_type)), NETWORKS, PLACE)

    assert "nfv" in translated["tosca_definitions_version"]  # so Tacker knows its own profile
    nodes = translated["topology_template"]["node_templates"]
    vdus = {n: node for n, node in nodes.items() if node["type"].endswith("VDU.Tacker")}
    (name,) = vdus
    assert "capabilities" not in vdus[name]  # of which Tacker would make a flavor
    assert "availability_zone" not in vdus[name]["properties"]
    points = {n: node for n, node in nodes.items() if node["type"].endswith("CP.Tacker")}
    order = {node["properties"]["name"]: node["properties"]["order"] for node in points.values()}
    assert order == {
        f"sfcperf-abc123-01-fwd-{p}": i for i, p in enumerate(("management", "in", "out"))
    }
    for node in points.values():
        link, binding = node["requirements"]
        assert binding == {"virtualBinding": {"node": name}}
        managed = node["properties"].get("management", False)
        network = nodes[link["virtualLink"]["node"]]["properties"]["network_name"]
        assert network == ("management-net" if managed else "data-net")


def test_what_the_machine_is_given() -> None:
    """User data arrive unchanged, and ports of a guarded network may send for others."""
    place = Placement("image-id", "flavor-id", "nova:compute7")
    nodes = tacker_vnfd.translated(plan(own_vnfd("forwarder")), GUARDED, place)
    vdu, point = (
        nodes["topology_template"]["node_templates"][name]["properties"]
        for name in ("VDU1", "CP_in")
    )
    assert (vdu["user_data"], vdu["user_data_format"]) == (USER_DATA, "RAW")
    assert vdu["name"] == "sfcperf-abc123-01-fwd"
    assert (vdu["image"], vdu["flavor"]) == ("image-id", "flavor-id")
    assert vdu["availability_zone"] == "nova:compute7"
    assert point["security_groups"] == ["group"]
    assert point["allowed_address_pairs"] == [{"ip_address": "0.0.0.0/0"}]
    assert "anti_spoofing_protection" not in point


@pytest.mark.parametrize(
    ("vdus", "words"), [(0, "0 VDUs"), (2, "2 VDUs"), (1, r"box of type tosca\.nodes\.Root")]
)
def test_what_tacker_cannot_be_told_is_refused(tmp_path: Path, vdus: int, words: str) -> None:
    """A function is one machine, and nothing else."""
    nodes: dict[str, Any] = {f"VDU{i}": {"type": "tosca.nodes.nfv.VDU"} for i in range(vdus)}
    nodes["box"] = {"type": "tosca.nodes.Root"}
    with pytest.raises(InputError, match=words):
        tacker_vnfd.translated(plan(written(tmp_path, nodes)), NETWORKS, PLACE)


CLIENT = Port("client-port", "fa:16:3e:00:00:01", "10.0.0.1")
SERVER = Port("server-port", "fa:16:3e:00:00:02", "10.0.0.2")


def graph(match: Match, functions: tuple[str, ...], *, symmetric: bool) -> dict[str, Any]:
    fields = chaining.classifier(match, CLIENT, SERVER, symmetric=symmetric)
    return tacker_vnffgd.descriptor(functions, fields, name="classifier", symmetric=symmetric)


@given(count=st.integers(1, 8), symmetric=st.booleans())
def test_a_graph_goes_through_all_functions_in_order(count: int, symmetric: bool) -> None:
    functions = tuple(f"sfcperf-abc123-{i:02d}-fwd" for i in range(count))
    template = graph(Match(), functions, symmetric=symmetric)["topology_template"]
    (path,) = template["node_templates"].values()
    hops = [(hop["forwarder"], hop["capability"]) for hop in path["properties"]["path"]]
    expected = [
        (name, tacker_vnfd.connection_point(port))
        for name in functions
        for port in (INGRESS, EGRESS)
    ]
    assert hops == expected
    assert path["properties"]["symmetrical"] is symmetric
    (group,) = template["groups"].values()
    assert group["properties"]["constituent_vnfs"] == list(functions)
    # Tacker refuses a graph where these differ.
    assert (
        len(group["properties"]["connection_point"]) == group["properties"]["number_of_endpoints"]
    )


@given(
    protocol=st.sampled_from(["any", "tcp", "udp", "icmp"]),
    port=st.none() | st.integers(1, 65535),
    symmetric=st.booleans(),
)
def test_a_graph_matches_what_the_workflow_says(
    protocol: Any, port: int | None, symmetric: bool
) -> None:
    match = Match(protocol, "10.0.0.0/24", None, None, port)
    template = graph(match, ("a",), symmetric=symmetric)["topology_template"]
    (path,) = template["node_templates"].values()
    (criterion,) = path["properties"]["policy"]["criteria"]
    acl = criterion["classifier"]
    assert acl["network_src_port_id"] == "client-port"
    assert ("network_dst_port_id" in acl) is symmetric
    assert acl["ip_src_prefix"] == "10.0.0.0/24"
    assert "ip_dst_prefix" not in acl
    numbers = {"any": None, "tcp": 6, "udp": 17, "icmp": 1}
    assert acl.get("ip_proto") == numbers[protocol]
    assert acl.get("destination_port_range") == (None if port is None else f"{port}-{port}")


def package() -> bytes:
    made = plan(own_vnfd("forwarder"))
    template = tacker_hot.machine(made, NETWORKS, PLACE, "abc123")
    return tacker_package.package(made.name, made.spec.ports, template)


def test_a_package_is_valid_tosca(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # tosca-parser leaves what it unpacks
    path = tmp_path / "fwd.csar"
    path.write_bytes(package())
    template = ToscaTemplate(str(path), None, True)
    types = {node.name: node.type for node in template.nodetemplates}
    assert types["server"] == "tosca.nodes.nfv.Vdu.Compute"
    assert {name for name, kind in types.items() if kind == "tosca.nodes.nfv.VduCp"} == {
        MANAGEMENT,
        INGRESS,
        EGRESS,
    }
    flavour = template.topology_template.substitution_mappings.properties["flavour_id"]
    assert flavour == tacker_package.FLAVOUR


def test_heat_resources_in_a_package_have_the_names_of_its_nodes() -> None:
    with zipfile.ZipFile(io.BytesIO(package())) as archive:
        hot = yaml.safe_load(archive.read(f"BaseHOT/{tacker_package.FLAVOUR}/hot.yaml"))
        vnfd = yaml.safe_load(archive.read("Definitions/vnfd.yaml"))
    assert set(hot["resources"]) == set(vnfd["topology_template"]["node_templates"]) - {"VNF"}
    assert hot["resources"]["server"]["properties"]["user_data"] == USER_DATA
    assert hot["parameters"]["nfv"]["type"] == "json"  # Tacker hands it over in any case
    # The same to the byte, and machines have descriptors of their own.
    assert package() == package()
    assert tacker_package.vnfd_id("a") != tacker_package.vnfd_id("b")
