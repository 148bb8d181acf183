"""What nova says of a VM, from a server of the test: a real nova does not change its hypervisor or
its policy on demand.

A real nova is asked in tests/openstack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.cloud.broken_api import BrokenApi, Fault
from support.records.scenarios import scenario

from sfcperf.drivers.openstack.api.cloud import Cloud
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

from .conftest import FAST

Start = Callable[..., "tuple[BrokenApi, Cloud]"]
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
VERSION = {
    "version": {
        **{"id": "v2.1", "status": "CURRENT", "version": "2.93", "min_version": "2.1"},
        "links": [],
    }
}


def answer(path: str, body: Any, status: int = 200, times: int = -1) -> Fault:
    return Fault("GET", path, status=status, body=body, times=times)


def nova(*told: Any, status: int = 200) -> list[Fault]:
    """Diagnostics: each once and in this order, the last for ever."""
    last = len(told) - 1
    return [
        *(
            answer("/diagnostics$", body, status, times=-1 if number == last else 1)
            for number, body in enumerate(told)
        ),
        answer("/compute/v2.1/?$", VERSION),
    ]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    running: list[BrokenApi] = []

    def begin(*faults: Fault) -> tuple[BrokenApi, Cloud]:
        api = BrokenApi(*faults).__enter__()
        running.append(api)
        api.services["compute"] = "/compute/v2.1"
        monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(api.clouds_yaml(tmp_path)))
        return api, Cloud("broken", print, retry=replace(FAST, timeout_s=1.0))

    yield begin
    for api in running:
        api.__exit__()


def ask(cloud: Cloud) -> dict[str, float]:
    return dict(diagnostics.of(cloud, {"fwd-1": MACHINE})["fwd-1"]())


def test_what_hypervisors_have_in_common(start: Start) -> None:
    _, cloud = start(*nova(STANDARD))
    values = ask(cloud)
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


def test_memory_of_libvirt_comes_from_its_own_answer(start: Start) -> None:
    """In the answer that hypervisors share, nova's libvirt driver counts memory in GiB."""
    _, cloud = start(*nova(LIBVIRT, LIBVIRTS_OWN))
    values = ask(cloud)
    assert values["memory_bytes"] == 243188 * 1024
    assert values["memory_limit_bytes"] == 512 << 20


def test_what_is_not_known_is_left_out(start: Start) -> None:
    nothing = {**STANDARD, "cpu_details": [], "disk_details": [], "nic_details": []}
    _, cloud = start(*nova({**nothing, "memory_details": {"maximum": 0, "used": None}}))
    assert ask(cloud) == {}


def test_a_nova_that_is_too_old_is_told(start: Start) -> None:
    _, cloud = start(*nova(LIBVIRTS_OWN))
    with pytest.raises(MeasurementError, match="does not know microversion"):
        ask(cloud)


def test_who_may_not_ask_is_told_what_to_do(start: Start) -> None:
    forbidden = {"forbidden": {"message": "Policy doesn't allow it to be performed", "code": 403}}
    _, cloud = start(*nova(forbidden, status=403))
    with pytest.raises(MeasurementError) as caught:
        ask(cloud)
    assert "Policy doesn't allow it" in caught.value.message
    assert "os_compute_api:os-server-diagnostics" in caught.value.message
    assert "telemetry_cloud" in (caught.value.hint or "")


def test_a_server_that_is_off_is_told_once(start: Start) -> None:
    conflict = {"conflictingRequest": {"message": "it is in vm_state stopped", "code": 409}}
    api, cloud = start(*nova(conflict, status=409))
    with pytest.raises(MeasurementError, match="it is in vm_state stopped"):
        ask(cloud)
    # No retries: the next sample is the next try.
    assert api.count("GET", "/diagnostics$") == 1


class TestRequirement:
    def test_forbidden(self, start: Start) -> None:
        _, cloud = start(*nova({"forbidden": {"message": "no", "code": 403}}, status=403))
        need = diagnostics.requirement(cloud)
        assert not need.met
        assert "not allowed" in need.detail
        assert "the role admin" in need.remedy

    def test_nova_looks_for_the_server_first(self, start: Start) -> None:
        _, cloud = start(*nova({"itemNotFound": {"message": "none", "code": 404}}, status=404))
        need = diagnostics.requirement(cloud)
        assert need.met
        assert "for administrators unless opened" in need.detail

    def test_a_user_for_it_alone_is_checked_without_a_workflow(self, start: Start) -> None:
        start(*nova({"itemNotFound": {"message": "none", "code": 404}}, status=404))
        assert diagnostics.requirements(Config(**with_defaults(PARAMETERS, {}))) == []
        for name, met in (("broken", True), ("gone", False)):
            given = with_defaults(PARAMETERS, {"telemetry_cloud": name})
            (need,) = diagnostics.requirements(Config(**given))
            assert need.met is met
        assert "gone" in need.detail

    def test_is_asked_for_only_with_the_monitor(self, start: Start) -> None:
        _, cloud = start(*nova({"forbidden": {}}, status=403))
        config = Config(**with_defaults(PARAMETERS, {}))
        plain = scenario(["forwarder"])
        diagnostics.check(cloud, config, [plain])
        monitored = type(plain)(
            **{**vars(plain), "monitors": (MonitorSpec("diagnostics", {"interval_s": 5}),)}
        )
        with pytest.raises(EnvironmentLacks, match="server diagnostics"):
            diagnostics.check(cloud, config, [plain, monitored])
