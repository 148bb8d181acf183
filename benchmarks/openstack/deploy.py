"""Deploying and tearing down a chain of three VNFs on OpenStack, beside the cloud's own times.

    make openstack-up
    playbooks/openstack/enter .venv/bin/python benchmarks/openstack/deploy.py [--image IMAGE]

In turns, within one run:

- by the driver: deploy a chain of three, tear it down, remove everything;
- the floor: the same five VMs (client, server, three functions) with the same network cards, made
  at once by openstacksdk alone, until an SSH server answers in each, and deleted. No chain, no
  tools, no functions: less than any tool can do;
- the sum of the cloud's own boot times: of each of the floor's VMs, by nova's records, from the
  request until the guest was started (while the others were being started too).

The goal is the time by the driver, at most 20 % above that sum; how much it is above the floor is
printed beside it.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from sfcperf import plugins
from sfcperf.control.journal import FileJournal
from sfcperf.drivers.base import DriverContext
from sfcperf.errors import MeasurementError
from sfcperf.hosts import ssh_pins
from sfcperf.workflow.defaults import with_defaults
from sfcperf.workflow.load import load_document
from sfcperf.workflow.model import Scenario

FUNCTIONS = 3
MACHINES = FUNCTIONS + 2
GOAL = 0.2
PREFIX = "sfcperf-bench-floor"


def main() -> None:
    """Print the times; exit status 1 when the goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--image", default="sfcperf-guest")
    parser.add_argument("--network", default="management", help="management network")
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    floors, sums, driven = [], [], []
    for number in range(asked.rounds):
        floor, one_by_one = _floor(asked.image, asked.network)
        driven.append(_driver(asked.image, asked.network, number))
        floors.append(floor)
        sums.append(one_by_one)
        print(
            f"round {number + 1}: by the driver {driven[-1]:.1f} s; the same VMs without it "
            f"{floor:.1f} s, sum of their boot times {one_by_one:.1f} s"
        )
    above = median(d / f - 1 for d, f in zip(driven, floors, strict=True))
    share = median(d / s - 1 for d, s in zip(driven, sums, strict=True))
    met = "met" if share <= GOAL else "missed"
    print(
        f"chain of {FUNCTIONS}, deploy and tear-down: {median(driven):.1f} s; the sum of the "
        f"cloud's own boot times {median(sums):.1f} s: {share:+.0%} (goal <= {GOAL:+.0%}: {met}); "
        f"the same {MACHINES} VMs at once without it {median(floors):.1f} s: {above:+.0%}"
    )
    if share > GOAL:
        raise SystemExit(1)


def _floor(image: str, network: str) -> tuple[float, float]:
    """Seconds for all VMs at once, and the sum of their boot times."""
    import openstack

    cloud = openstack.connect()
    image_id = cloud.image.find_image(image, ignore_missing=False).id
    network_id = cloud.network.find_network(network, ignore_missing=False).id
    flavors = [f for f in cloud.compute.flavors() if f.ram >= 256]
    flavor = min(flavors, key=lambda f: (f.vcpus, f.ram))
    servers: list[Any] = []
    with _security_group(cloud) as group, ThreadPoolExecutor(MACHINES) as pool:
        begin = time.perf_counter()
        data = cloud.network.create_network(name=PREFIX)
        try:
            cloud.network.create_subnet(
                name=PREFIX, network_id=data.id, ip_version=4, cidr="10.9.9.0/24", enable_dhcp=False
            )
            asked = {
                "image_id": image_id,
                "flavor_id": flavor.id,
                "config_drive": True,
                "security_groups": [{"name": group}],
            }
            jobs = [
                pool.submit(
                    cloud.compute.create_server,
                    name=f"{PREFIX}-{number}",
                    networks=[{"uuid": network_id}, *[{"uuid": data.id}] * (1 + (number > 1))],
                    **asked,
                )
                for number in range(MACHINES)
            ]
            servers = [job.result() for job in jobs]
            servers = list(pool.map(partial(cloud.compute.wait_for_server, interval=1), servers))
            list(pool.map(_answers, (_address(server, network) for server in servers)))
        finally:
            list(pool.map(cloud.compute.delete_server, servers))
            list(pool.map(partial(cloud.compute.wait_for_delete, interval=1), servers))
            cloud.network.delete_network(data.id)
        took_s = time.perf_counter() - begin
    return took_s, sum(map(_boot_s, servers))


@contextmanager
def _security_group(cloud: Any) -> Iterator[str]:
    """Lets SSH in; the project's own lets nothing in."""
    group = cloud.network.create_security_group(name=PREFIX)
    try:
        cloud.network.create_security_group_rule(
            security_group_id=group.id,
            direction="ingress",
            ether_type="IPv4",
            protocol="tcp",
            port_range_min=22,
            port_range_max=22,
        )
        yield PREFIX
    finally:
        cloud.network.delete_security_group(group.id)


def _address(server: Any, network: str) -> str:
    return str(server.addresses[network][0]["addr"])


def _boot_s(server: Any) -> float:
    """From the request to the start of the guest, by nova's own clock."""
    made, launched = server.created_at, server.launched_at
    return (datetime.fromisoformat(launched) - datetime.fromisoformat(made[:-1])).total_seconds()


def _answers(address: str) -> None:
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        try:
            ssh_pins.scan(address)
            return
        except MeasurementError:
            time.sleep(0.3)
    raise SystemExit(f"{address} does not answer")


def _driver(image: str, network: str, number: int) -> float:
    with _opened(image, network, number) as (driver, scenario):
        begin = time.perf_counter()
        driver.teardown(driver.deploy(scenario))
        driver.close()
        return time.perf_counter() - begin


@contextmanager
def _opened(image: str, network: str, number: int) -> Iterator[tuple[Any, Scenario]]:
    kind = plugins.load("driver", "openstack")
    config = {"image": image, "management_network": network}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        context = DriverContext(
            run_id="benchmark",
            tag=f"bench{number}",
            config=with_defaults(kind.parameters, config),
            journal=FileJournal(folder / "journal").of(0),
            state_dir=folder,
            raw_dir=folder,
            log=print,
        )
        driver = kind(context)
        try:
            yield driver, _scenario()
        finally:
            driver.close()


def _scenario() -> Scenario:
    document = {
        "sfcperf": 1,
        "name": "openstack-deploy",
        "vnfs": {"fwd": {"type": "forwarder"}},
        "chain": {"functions": [{"vnf": "fwd", "count": FUNCTIONS}]},
        "probes": [{"probe": "ping"}],
    }
    return load_document(document, Path()).scenarios[0]


if __name__ == "__main__":
    main()
