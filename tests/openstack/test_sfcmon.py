"""SFCMon in VMs: both engines list what was sent, and the SFC controller drives a switch in a
VM."""

from __future__ import annotations

import json
import shutil
import socket
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from openstack.connection import Connection
from support.cloud.cloud_runs import CloudLab, workflow
from support.cloud.openstack_context import USER_DATA, lifecycle_context
from support.network.wires import eventually
from support.sfcmon.controller_bench import by_ssh, packet
from support.sfcmon.controller_process import ControllerProcess
from support.sfcmon.controller_states import mac

from sfcperf.dataplane import binaries
from sfcperf.drivers.openstack.cleanup.journal_cleanup import clean_up
from sfcperf.drivers.openstack.compute.guest import connect
from sfcperf.drivers.openstack.lifecycle.nova import NovaLifecycle
from sfcperf.drivers.openstack.model.specs import MachinePlan, MachineSpec
from sfcperf.drivers.openstack.network.networks import prepare_networks
from sfcperf.drivers.openstack.planning.encapsulation import FIRST_SI
from sfcperf.hosts.carry import equip
from sfcperf.hosts.ssh import SshHost, make_key
from sfcperf.results.store import RunStore
from sfcperf.vnfs.sfcmon.bmv2.reach import P4RUNTIME_PORT
from sfcperf.vnfs.sfcmon.bmv2.registers import THRIFT_PORT
from sfcperf.vnfs.sfcmon.bmv2.switch import Bmv2Switch
from sfcperf.vnfs.sfcmon.function import Sfcmon
from sfcperf.workflow.defaults import with_defaults

pytestmark = [pytest.mark.server, pytest.mark.root, pytest.mark.bmv2, pytest.mark.exhaustive]

EVERY_FLOW: dict[str, Any] = {"threshold": 0, "threshold_eval": 0}
PINGS = 20
UDP = {
    "probe": "iperf3", "protocol": "udp", "rate_bps": 200_000, "payload_bytes": 1200,
    "duration_s": 4,
}  # fmt: skip
ICMP_NUMBER, UDP_NUMBER = 1, 17
PORTS = (1, 2, 128)
FLOWS, PACKETS = 8, 5
WAIT_S = 60.0
MEMORY_MIB = 512
"""Its files are in memory, with the copy of bmv2."""


def test_both_engines_list_what_was_sent(
    cloud: Connection, new_lab: Callable[..., CloudLab]
) -> None:
    """In one chain."""
    document = workflow(cloud.config.name) | {
        "vnfs": {
            "mon": {"type": "sfcmon", "knobs": EVERY_FLOW},
            "p4": {
                "type": "sfcmon",
                "knobs": {**EVERY_FLOW, "engine": "bmv2"},
                "resources": {"memory_mib": MEMORY_MIB},
            },
        },
        "factors": {},
        "probes": [{"probe": "ping", "count": PINGS, "interval_s": 0.2}, UDP],
        "monitors": [{"monitor": "sfcmon"}],
    }
    document["chain"] = {"functions": [{"vnf": "mon"}, {"vnf": "p4"}]}
    lab = new_lab(document)
    assert lab.run() in (0, 1), lab.said
    trials = {trial.probe: trial for trial in RunStore(lab.run_folder).trials()}
    assert {trial.status for trial in trials.values()} <= {"valid", "untrusted"}, lab.said
    ping, iperf3 = trials["ping"], trials["iperf3"]
    engines = ping.deployment["facts"]["functions"]
    assert engines["p4-1"]["engine"] == "bmv2"
    assert listed(lab, ping.trial_id, ICMP_NUMBER) == {
        (function, si): PINGS
        for position, function in enumerate(("mon-1", "p4-1"))
        # Forward, and back in the opposite order.
        for si in (FIRST_SI - position, FIRST_SI - 1 + position)
    }
    udp = listed(lab, iperf3.trial_id, UDP_NUMBER)
    first, second = udp["mon-1", FIRST_SI], udp["p4-1", FIRST_SI - 1]
    sent, lost = datagrams(lab)
    sent += 1  # the datagram that connects
    assert sent >= first >= second >= sent - lost, (sent, lost, udp)
    assert lab.run("clean") == 0
    assert "nothing to clean" in lab.said


def datagrams(lab: CloudLab) -> tuple[int, int]:
    """Datagrams that iperf3 has sent, and those that did not arrive."""
    file = max(lab.run_folder.glob("raw/*iperf3*/attempt-*/iperf3-client.json"))
    end = json.loads(file.read_text())["end"]
    return int(end["sum_sent"]["packets"]), int(end["sum"]["lost_packets"])


def listed(lab: CloudLab, trial: str, protocol: int) -> dict[tuple[str, int], int]:
    """(Function, SI) -> packets of the flows of a protocol, in all windows of a trial."""
    packets: Counter[tuple[str, int]] = Counter()
    for flow in pyarrow.parquet.read_table(lab.run_folder / "flows.parquet").to_pylist():
        if (flow["trial_id"], flow["protocol"]) == (trial, protocol):
            packets[flow["function"], flow["si"]] += flow["packets"]
    return dict(packets)


# --- the SFC controller ---


@pytest.fixture
def machine(cloud: Connection, leftovers: None, tmp_path: Path) -> Iterator[SshHost]:
    """A VM, on the management network."""
    context = lifecycle_context(tmp_path, {"image": "sfcperf-guest", "ssh_user": "root"})
    try:
        key, public = make_key(tmp_path)
        networks = prepare_networks(context, USER_DATA, public, "10.31.8.0/24")
        spec = MachineSpec(
            "endpoint", "switch", "endpoint", "sfcperf-guest", None, 1, MEMORY_MIB, None, None
        )
        plan = MachinePlan(context.names.machine(1, "switch"), spec, None)
        (made,) = NovaLifecycle(context).make([plan], networks)
        guest = connect(context, made, key)
        yield guest.host
        guest.host.close()
    finally:
        context.cloud.close()
        clean_up(context.journal.outstanding())


@pytest.fixture
def switch(machine: SshHost) -> Iterator[Bmv2Switch]:
    """In the VM. Its ports are ends of veths there."""
    equip(machine, Sfcmon.tools(with_defaults(Sfcmon.parameters, {"engine": "bmv2"})))
    for port in PORTS:
        words = f"ip link add e{port} type veth peer name p{port}; ip link set e{port} up; "
        machine.run(["sh", "-c", f"{words} ip link set p{port} up"], timeout_s=30)
    made = Bmv2Switch.launch(machine, {port: f"p{port}" for port in PORTS})
    yield made
    made.stop()


@pytest.fixture
def controller() -> Iterator[ControllerProcess]:
    folder = Path(tempfile.mkdtemp(prefix="ctl-"))
    made = ControllerProcess(folder)
    yield made
    assert made.end() == (0, "")
    shutil.rmtree(folder)


def state(machine: SshHost) -> dict[str, Any]:
    """Of the controller: UDP from the client enters a path to a function that is not there."""
    ports = {str(port): 1500 for port in PORTS}
    return {
        "switches": {
            "s1": {"mac": mac(1), "address": "192.0.2.1", "ports": ports, **by_ssh(machine.access)}
        },
        "endpoints": {
            "client": {"switch": "s1", "port": 1, "mac": mac(11)},
            "server": {"switch": "s1", "port": 2, "mac": mac(12)},
        },
        "functions": {
            "fwd-1": {
                "type": "forwarder",
                "switch": "s1",
                "transport": "nsh",
                "ingress": {"port": 128, "mac": mac(21)},
            }
        },
        "chains": {"udp": {"types": ["forwarder"]}},
        "paths": {
            "10": {
                "chain": "udp", "hops": ["fwd-1"], "source": "client", "destination": "server",
            }
        },
        "rules": {
            "there": {
                "switch": "s1", "port": 1, "priority": 10, "match": {"protocol": UDP_NUMBER},
                "path": 10,
            }
        },
        "monitoring": {
            "s1": {"window_ms": 3_600_000, "thresholds": {"eval_packets": 0, "share": 0.0}}
        },
    }  # fmt: skip


def test_the_controller_drives_a_switch_in_a_vm(
    machine: SshHost, switch: Bmv2Switch, controller: ControllerProcess
) -> None:
    """In the management network, nobody reaches it but by SSH."""
    assert switch.process.poll() is None
    for port in (THRIFT_PORT, P4RUNTIME_PORT):
        with pytest.raises(OSError, match=r"timed out|refused"):
            socket.create_connection((machine.access.address, port), timeout=2)
    controller.request("PUT", "/state", state(machine))
    assert eventually(controller.in_sync, WAIT_S), controller.request("GET", "/status")
    assert eventually(lambda: _collects(controller), WAIT_S), controller.request("GET", "/status")
    frames = [packet(source_port=1000 + number) for number in range(FLOWS)] * PACKETS
    stream = b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames)
    sender = machine.program(binaries.find("sfc-send"))
    machine.run([sender, "--interface", "e1"], timeout_s=30, stdin=stream)

    def arrived() -> bool:
        counters = controller.request("GET", "/switches/s1/counters")
        paths = {(path["spi"], path["si"]): path["packets"] for path in counters["paths"]}
        return paths[10, FIRST_SI] == len(frames)

    assert eventually(arrived, WAIT_S), controller.request("GET", "/switches/s1/counters")
    window = controller.request("POST", "/switches/s1/windows")
    listed = {
        flow["source_port"]: flow["packets"]
        for flow in window["flows"]
        if (flow["spi"], flow["si"], flow["protocol"]) == (10, FIRST_SI, UDP_NUMBER)
    }
    assert listed == {1000 + number: PACKETS for number in range(FLOWS)}


def _collects(controller: ControllerProcess) -> bool:
    monitoring = controller.request("GET", "/status")["switches"]["s1"]["monitoring"]
    return bool(monitoring["problem"] is None)
