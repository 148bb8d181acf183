"""What nova says of a VM, from a server of the test: a real nova does not change its hypervisor or
its policy on demand.

A real nova is asked in tests/openstack.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.cloud.broken_api import Fault
from support.records.scenarios import scenario

from sfcperf.drivers.openstack.compute import diagnostics
from sfcperf.drivers.openstack.compute.servers import Machine
from sfcperf.drivers.openstack.model.config import PARAMETERS, Config
from sfcperf.drivers.openstack.model.specs import (
    EGRESS,
    INGRESS,
    MANAGEMENT,
    MachinePlan,
    MachineSpec,
)
from sfcperf.drivers.openstack.network.ports import Port
from sfcperf.errors import EnvironmentLacks, MeasurementError
from sfcperf.workflow.defaults import with_defaults
from sfcperf.workflow.model import MonitorSpec

Start = Callable[..., Any]
SERVER = "11111111-2222-3333-4444-555555555555"
SPEC = MachineSpec("function", "fwd", "forwarder", "image", None, 1, 256, None, None)
PORTS = {
    MANAGEMENT: Port("aaaaaaaa-0000", "fa:16:3e:00:00:01", "192.0.2.1"),
    INGRESS: Port("bbbbbbbb-1111-2222", "fa:16:3e:00:00:02", "192.0.2.2"),
    EGRESS: Port("cccccccc-1111-2222", "fa:16:3e:00:00:03", "192.0.2.3"),
}
MACHINE = Machine(MachinePlan("sfcperf-t-01-fwd", SPEC, None), SERVER, PORTS, 1.0)
NIC = {
    "mac_address": "FA:16:3E:00:00:02",
    **{"rx_octets": 3000, "rx_packets": 30, "rx_errors": 1, "rx_drop": 2, "rx_rate": None},
    **{"tx_octets": 2000, "tx_packets": 20, "tx_errors": 0, "tx_drop": 0, "tx_rate": None},
}
DISK = {
    **{"read_bytes": 262144, "read_requests": 112, "write_bytes": 5778432},
    **{"write_requests": 488, "errors_count": -1},
}
# From the API reference: compute, microversion 2.48.
STANDARD = {
    **{"config_drive": True, "driver": "vmwareapi", "hypervisor": "vmware", "state": "running"},
    **{"hypervisor_os": "esxi", "uptime": 46664, "num_cpus": 2, "num_disks": 2, "num_nics": 1},
    "cpu_details": [
        {"id": 0, "time": 17300000000, "utilisation": 15},
        {"id": 1, "time": 200000000, "utilisation": None},
    ],
    "disk_details": [DISK, {**DISK, "write_bytes": None}],
    "memory_details": {"maximum": 512, "used": 256},
    "nic_details": [NIC, {**NIC, "mac_address": "fa:16:3e:99:99:99", "rx_drop": None}],
}
LIBVIRT = {**STANDARD, "driver": "libvirt", "memory_details": {"maximum": 0, "used": 0}}
LIBVIRTS_OWN = {"memory": 524288, "memory-rss": 243188, "cpu0_time": 17300000000}


def nova(*told: Any, status: int = 200) -> list[Fault]:
    """Diagnostics: each once and in this order, the last for ever."""
    times = [*[1] * (len(told) - 1), -1]
    return [
        Fault("GET", "/diagnostics$", status=status, body=body, times=count)
        for body, count in zip(told, times, strict=True)
    ]


def ask(b: Any) -> dict[str, float]:
    return dict(diagnostics.of(b.cloud, {"fwd-1": MACHINE})["fwd-1"]())


def test_what_hypervisors_have_in_common(bench: Start) -> None:
    b = bench(*nova(STANDARD))
    values = ask(b)
    assert values["cpu_s"] == pytest.approx(17.5)
    assert values["memory_bytes"] == 256 << 20
    assert values["memory_limit_bytes"] == 512 << 20
    assert values["disk_read_bytes"] == 2 * 262144
    assert values["disk_written_bytes"] == 5778432
    assert "disk_errors" not in values
    assert {k: v for k, v in values.items() if k.startswith("in/")} == {
        **{"in/rx_bytes": 3000, "in/rx_packets": 30, "in/rx_errors": 1, "in/rx_drops": 2},
        **{"in/tx_bytes": 2000, "in/tx_packets": 20, "in/tx_errors": 0, "in/tx_drops": 0},
    }
    assert values["fa:16:3e:99:99:99/rx_bytes"] == 3000
    assert "fa:16:3e:99:99:99/rx_drops" not in values


def test_memory_of_libvirt_comes_from_its_own_answer(bench: Start) -> None:
    """In the answer that hypervisors share, nova's libvirt driver counts memory in GiB."""
    b = bench(*nova(LIBVIRT, LIBVIRTS_OWN))
    values = ask(b)
    assert values["memory_bytes"] == 243188 * 1024
    assert values["memory_limit_bytes"] == 512 << 20


def test_what_is_not_known_is_left_out(bench: Start) -> None:
    nothing = {**STANDARD, "cpu_details": [], "disk_details": [], "nic_details": []}
    b = bench(*nova({**nothing, "memory_details": {"maximum": 0, "used": None}}))
    assert ask(b) == {}


def test_a_nova_that_is_too_old_is_told(bench: Start) -> None:
    b = bench(*nova(LIBVIRTS_OWN))
    with pytest.raises(MeasurementError, match="does not know microversion"):
        ask(b)


def test_who_may_not_ask_is_told_what_to_do(bench: Start) -> None:
    forbidden = {"forbidden": {"message": "Policy doesn't allow it to be performed", "code": 403}}
    b = bench(*nova(forbidden, status=403))
    with pytest.raises(MeasurementError) as caught:
        ask(b)
    assert "Policy doesn't allow it" in caught.value.message
    assert "os_compute_api:os-server-diagnostics" in caught.value.message
    assert "telemetry_cloud" in (caught.value.hint or "")


def test_a_server_that_is_off_is_told_once(bench: Start) -> None:
    conflict = {"conflictingRequest": {"message": "it is in vm_state stopped", "code": 409}}
    b = bench(*nova(conflict, status=409))
    with pytest.raises(MeasurementError, match="it is in vm_state stopped"):
        ask(b)
    # No retries: the next sample is the next try.
    assert b.api.count("GET", "/diagnostics$") == 1


class TestRequirement:
    def test_who_may_ask(self, bench: Start) -> None:
        """Nova looks for the server first."""
        missing = {"itemNotFound": {"message": "none", "code": 404}}
        for body, status, met, words in (
            ({"forbidden": {"message": "no", "code": 403}}, 403, False, "not allowed"),
            (missing, 404, True, "for administrators unless opened"),
        ):
            need = diagnostics.requirement(bench(*nova(body, status=status)).cloud)
            assert (need.met, words in need.detail) == (met, True)
            assert met or "the role admin" in need.remedy
        # A user for it alone is checked without a workflow.
        assert diagnostics.requirements(Config(**with_defaults(PARAMETERS, {}))) == []
        for name, met in (("broken", True), ("gone", False)):
            given = with_defaults(PARAMETERS, {"telemetry_cloud": name})
            (need,) = diagnostics.requirements(Config(**given))
            assert need.met is met
        assert "gone" in need.detail

    def test_is_asked_for_only_with_the_monitor(self, bench: Start) -> None:
        b = bench(*nova({"forbidden": {}}, status=403))
        config = Config(**with_defaults(PARAMETERS, {}))
        plain = scenario(["forwarder"])
        diagnostics.check(b.cloud, config, [plain])
        monitored = type(plain)(
            **{**vars(plain), "monitors": (MonitorSpec("diagnostics", {"interval_s": 5}),)}
        )
        with pytest.raises(EnvironmentLacks, match="server diagnostics"):
            diagnostics.check(b.cloud, config, [plain, monitored])
