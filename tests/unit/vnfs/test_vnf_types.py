"""VNF types without a data plane: descriptors, binaries, reading of counters."""

from __future__ import annotations

import json
from dataclasses import replace
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from support.network.wires import Port
from support.vnfs.attached import behind_sff, between_ends

from sfcperf import plugins
from sfcperf.dataplane import binaries
from sfcperf.dataplane.nsh.packet import Flow
from sfcperf.environment import tools
from sfcperf.errors import DeploymentError, EnvironmentLacks, InputError, MeasurementError
from sfcperf.hosts.namespace import LocalHost, NamespaceHost
from sfcperf.vnfs.base import NetworkFunction
from sfcperf.vnfs.forwarder.function import Forwarder, RunningForwarder
from sfcperf.vnfs.heavy_hitter.function import HeavyHitter
from sfcperf.vnfs.sfcmon.entries import entries as sfcmon_entries
from sfcperf.workflow.defaults import with_defaults

SHIPPED = (
    "delay",
    "dpi",
    "firewall",
    "forwarder",
    "ids",
    "ips",
    "load_balancer",
    "nat",
    "nsh_firewall",
    "program",
    "router",
    "sfcmon",
)
TYPES: list[type[NetworkFunction]] = [
    plugins.load("vnf", name) for name in plugins.names("vnf") if name in SHIPPED
]
COUNTERS = {
    "event": "counters",
    "sequence": 3,
    "received": 5,
    "forwarded": 3,
    "dropped": 2,
    "passed": 1,
    "drops": {"version": 2, "length": 0},
    "paths": [{"spi": 42, "si": 255, "packets": 3}],
    "workers": [1, 2],
    "paths_untracked": 0,
    "sequence_end": 3,
}


@pytest.mark.parametrize("kind", TYPES)
def test_descriptor_and_knobs(kind: type[NetworkFunction]) -> None:
    from toscaparser.tosca_template import ToscaTemplate

    template = ToscaTemplate(str(kind.folder / "vnfd.yaml"))
    by_type: dict[str, list[Any]] = {}
    for node in template.nodetemplates:
        by_type.setdefault(node.type, []).append(node)
    [vdu] = by_type["tosca.nodes.nfv.VDU"]
    host = vdu.get_capabilities()["host"].get_properties()
    assert (host["num_cpus"].value, host["mem_size"].value) == (1, "256 MiB")
    assert len(by_type["tosca.nodes.nfv.CP"]) == kind.interfaces
    # Knobs are described and have defaults.
    jsonschema.Draft202012Validator.check_schema(dict(kind.parameters))
    assert kind.parameters["additionalProperties"] is False
    for knob in kind.parameters["properties"].values():
        assert knob["description"]
        jsonschema.Draft202012Validator(knob).validate(knob["default"])


@pytest.mark.parametrize("kind", [*TYPES, HeavyHitter])
def test_a_host_that_is_gone_is_an_error_of_the_deployment(
    kind: type[NetworkFunction], tmp_path: Path
) -> None:
    gone = NamespaceHost("gone", tmp_path / "none", tmp_path)
    macs = ("02:00:00:00:00:01", "02:00:00:00:00:02")
    ends = [Port(gone, f"sf{number}", mac) for number, mac in enumerate(macs)]
    if kind.interfaces == 1:
        attachment = behind_sff("vnf-1", ends[0], tmp_path)
    else:
        client, server = (("198.18.0.1", ends[0]), ("198.18.0.2", ends[1]))
        attachment = between_ends("vnf-1", client, *ends, server, tmp_path)
    with pytest.raises(DeploymentError, match="vnf-1: ") as told:
        kind.start(gone, attachment, with_defaults(kind.parameters, {}))
    assert told.value.where == "gone"


def test_a_missing_binary_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(binaries.OVERRIDE, str(tmp_path))
    [lacking] = Forwarder.requirements({"engine": "xdp"})
    assert not lacking.met
    assert str(tmp_path) in lacking.detail
    with pytest.raises(EnvironmentLacks, match="sfcperf setup"):
        binaries.find("sfc-forwarder")
    tool = tmp_path / "sfc-forwarder"
    tool.touch(0o755)
    assert binaries.find("sfc-forwarder") == tool


@pytest.mark.parametrize(
    ("name", "knobs", "tool"),
    [
        ("router", {}, "ip"),
        ("firewall", {"engine": "nftables"}, "nft"),
        ("firewall", {"engine": "iptables"}, "iptables-nft-restore"),
        ("firewall", {"engine": "iptables-legacy"}, "iptables-legacy"),
        ("nat", {}, "nft"),
        ("load_balancer", {}, "nft"),
        ("load_balancer", {"engine": "ipvs"}, "ipvsadm"),
        ("dpi", {}, "ndpiReader"),
        ("ips", {"engine": "nftables"}, "iptables-nft-restore"),
        ("ips", {"engine": "suricata"}, "suricata"),
        ("delay", {}, "sysctl"),
    ],
)
def test_a_missing_tool_is_said_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, name: str, knobs: dict[str, Any], tool: str
) -> None:
    there = tools.find
    monkeypatch.setattr(tools, "find", lambda wanted: None if wanted == tool else there(wanted))
    kind = plugins.load("vnf", name)
    needs = kind.requirements(with_defaults(kind.parameters, knobs))
    [lacking] = [need for need in needs if need.name == tool]
    assert not lacking.met
    assert "install" in lacking.remedy


@pytest.mark.parametrize(("name", "tool"), [("ips", "suricata"), ("load_balancer", "ipvsadm")])
def test_auto_says_which_engine_it_is_and_lacks_nothing(
    monkeypatch: pytest.MonkeyPatch, name: str, tool: str
) -> None:
    there = tools.find
    monkeypatch.setattr(tools, "find", lambda wanted: None if wanted == tool else there(wanted))
    kind = plugins.load("vnf", name)
    needs = kind.requirements(with_defaults(kind.parameters, {}))
    [engine] = [need for need in needs if need.name == f"engine of {name}"]
    assert engine.met
    assert engine.detail.startswith("nftables, because")


def entries(**changes: Any) -> dict[str, Any]:
    return {"table_entries": [{"source": "10.0.0.1", "destination": "10.0.0.2", **changes}]}


def test_entries_of_the_table_differ_in_their_source_ports() -> None:
    knobs = with_defaults(
        plugins.load("vnf", "sfcmon").parameters, entries(count=2, si=7, protocol="tcp")
    )
    (found,) = sfcmon_entries(knobs["table_entries"])
    first = Flow(1, 7, IPv4Address("10.0.0.1"), IPv4Address("10.0.0.2"), 6, 1024, 9)
    assert list(found.flows()) == [first, replace(first, src_port=1025)]


@pytest.mark.parametrize(
    ("name", "knobs", "where"),
    [
        ("nat", {"first_port": 3000, "last_port": 2000}, "first_port"),
        ("nat", {"virtual_port": 80}, "virtual_port"),
        ("nat", {"server_port": 80}, "server_port"),
        ("ips", {"patterns": ["a" * 100, "\u20ac" * 34]}, "patterns/1"),
        ("ids", {"window_s": 0.1234}, "window_s"),
        ("ids", {"window_s": 2, "slide_s": 0.3}, "slide_s"),
        ("ids", {"window_s": 60, "slide_s": 1}, "slide_s"),
        ("sfcmon", entries(count=2) | {"table_flows": 1}, "table_flows"),
        ("sfcmon", entries(source="here"), "table_entries/0"),
        ("sfcmon", entries(source="fd00::1"), "table_entries/0"),
        ("sfcmon", entries(count=2, source_port=65_535), "table_entries/0"),
    ],
)
def test_knobs_that_do_not_go_together_are_refused(
    name: str, knobs: dict[str, Any], where: str
) -> None:
    kind = plugins.load("vnf", name)
    with pytest.raises(InputError) as refused:
        kind.check(with_defaults(kind.parameters, knobs))
    assert refused.value.where == where


class _Process:
    """A process that has ended: what it wrote last is what there is."""

    pid = 1

    def poll(self) -> int | None:
        return 0

    def send_signal(self, number: int) -> None:
        pass


def _running(tmp_path: Path, text: str) -> RunningForwarder:
    stats = tmp_path / "stats"
    stats.write_text(text)
    return RunningForwarder("fwd-1", LocalHost(tmp_path), stats, _Process())  # type: ignore[arg-type]


def test_counters_are_flat(tmp_path: Path) -> None:
    counters = _running(tmp_path, json.dumps(COUNTERS) + "\n" + " " * 100).counters()
    assert counters == {
        "received": 5,
        "forwarded": 3,
        "dropped": 2,
        "passed": 1,
        "dropped_version": 2,
        "dropped_length": 0,
        "forwarded_spi42_si255": 3,
        "forwarded_worker0": 1,
        "forwarded_worker1": 2,
    }


@pytest.mark.parametrize(
    "text",
    ["", "{", '{"event": "ready"}', json.dumps(COUNTERS | {"sequence_end": 4}), "[]", "\0"],
)
def test_half_written_counters_are_never_taken(tmp_path: Path, text: str) -> None:
    with pytest.raises(MeasurementError, match="cannot be read"):
        _running(tmp_path, text).counters()


def test_a_failure_is_told(tmp_path: Path) -> None:
    running = _running(tmp_path, '{"event": "failed", "error": "no such thing"}')
    assert running.problem() == "no such thing"
