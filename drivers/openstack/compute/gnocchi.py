"""Measures of a VM from Gnocchi, where Ceilometer's agents on the hypervisors store them.

openstacksdk has no calls for Gnocchi, so its session's adapter is used:
https://gnocchi.osci.io/rest.html; what Ceilometer measures:
https://docs.openstack.org/ceilometer/latest/admin/telemetry-measurements.html
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from sfcperf.drivers.openstack.api.cloud import Cloud
from sfcperf.drivers.openstack.api.errors import CloudError, cloud_errors, json_of

SERVICE = "metric"
"""Type in the catalogue."""
AGE = "measure_age_s"
"""Time since the newest measure was taken."""
_NOT_FOUND = 404
_LOOK_BACK = timedelta(hours=1)
_TAP_NAME_LENGTH = 14
"""nova names the tap device of a port `tap` and the first characters of its id."""
_BYTES_PER_MIB = 1 << 20

_Known = tuple[str, str, float]
"""Prefix of the port with a slash or nothing, name, factor."""
_INSTANCE = {"cpu": ("cpu_s", 1e-9), "memory.resident": ("memory_bytes", _BYTES_PER_MIB)}
_DISK = {
    "disk.device.read.bytes": ("disk_read_bytes", 1.0),
    "disk.device.read.requests": ("disk_read_requests", 1.0),
    "disk.device.write.bytes": ("disk_written_bytes", 1.0),
    "disk.device.write.requests": ("disk_write_requests", 1.0),
}
_NIC = {
    "network.incoming.bytes": ("rx_bytes", 1.0),
    "network.incoming.packets": ("rx_packets", 1.0),
    "network.incoming.packets.drop": ("rx_drops", 1.0),
    "network.incoming.packets.error": ("rx_errors", 1.0),
    "network.outgoing.bytes": ("tx_bytes", 1.0),
    "network.outgoing.packets": ("tx_packets", 1.0),
    "network.outgoing.packets.drop": ("tx_drops", 1.0),
    "network.outgoing.packets.error": ("tx_errors", 1.0),
}
_BY_TYPE = {"instance_disk": _DISK, "instance_network_interface": _NIC}
"""Type of a resource that belongs to an instance -> its metrics."""


def tap(port_id: str) -> str:
    """Name of the tap device of a neutron port, by which Ceilometer knows it."""
    return f"tap{port_id}"[:_TAP_NAME_LENGTH]


class Measures:
    """The latest measures of one server; none until Ceilometer has polled it."""

    def __init__(self, cloud: Cloud, server: str, taps: Mapping[str, str]) -> None:
        """`taps`: name of the tap device -> name of the port (`in`)."""
        self._cloud = cloud
        self._server = server
        self._taps = taps

    def __call__(self) -> Mapping[str, float]:
        """Values by name, with the age of the newest. Raises CloudError."""
        values: defaultdict[str, float] = defaultdict(float)
        newest = None
        for metric, (part, name, factor) in self._metrics().items():
            last = self._last(metric)
            if last is not None:
                time, value = last
                # The counts of all disks are added up.
                values[part + name] += value * factor
                newest = time if newest is None else max(newest, time)
        if newest is not None:
            values[AGE] = (datetime.now(UTC) - newest).total_seconds()
        return dict(values)

    def _metrics(self) -> dict[str, _Known]:
        """Id of a metric -> what it is. Read each time: disks and interfaces appear one by one."""
        found: dict[str, _Known] = {}
        for resource in self._resources():
            names = _BY_TYPE.get(resource.get("type", ""), _INSTANCE)
            device = str(resource.get("name"))
            part = f"{self._taps.get(device, device)}/" if names is _NIC else ""
            for metric, identity in (resource.get("metrics") or {}).items():
                if metric in names:
                    found[identity] = (part, *names[metric])
        return found

    def _resources(self) -> list[dict[str, Any]]:
        instance = self._get(f"/v1/resource/instance/{self._server}")
        if instance is None:
            return []
        found, query = [instance], {"=": {"instance_id": self._server}}
        for kind in _BY_TYPE:
            with cloud_errors(f"asking Gnocchi for each {kind} of {self._server}"):
                found += json_of(self._adapter().post(f"/v1/search/resource/{kind}", json=query))
        return found

    def _last(self, metric: str) -> tuple[datetime, float] | None:
        """Time and value of the last measure of the finest granularity."""
        start = (datetime.now(UTC) - _LOOK_BACK).isoformat(timespec="seconds")
        measures = self._get(f"/v1/metric/{metric}/measures", aggregation="mean", start=start)
        if not measures:
            return None
        time, _, value = min(reversed(measures), key=lambda measure: float(measure[1]))
        stamp = datetime.fromisoformat(time)
        return (stamp if stamp.tzinfo else stamp.replace(tzinfo=UTC)), float(value)

    def _get(self, path: str, **parameters: str) -> Any:
        """None if there is no such resource."""
        try:
            with cloud_errors(f"asking Gnocchi for {path}"):
                return json_of(self._adapter().get(path, params=parameters))
        except CloudError as error:
            if error.status == _NOT_FOUND:
                return None
            raise

    def _adapter(self) -> Any:
        return self._cloud.connection.config.get_session_client(SERVICE)
