"""Deploying and tearing down a chain of three VNFs on OpenStack, beside the cloud's own times.

    make openstack-up
    playbooks/openstack/enter .venv/bin/python benchmarks/openstack/deploy.py [--image IMAGE]

In turns, within one run:

- by the driver: deploy a chain of three, tear it down, remove everything;
- the floor: the same five VMs (client, server, three functions) with the same network cards, made
  at once by openstacksdk alone, until an SSH server answers in each, and deleted. No chain, no
  tools, no functions: less than any tool can do;
- the sum of the cloud's own boot times: the same five one after the other, from the request until
  an SSH server answers (once per run); their deletion is timed apart.

The goal is the time by the driver, deployment and removal, at most 20 % above the sum of the boot
times alone; how much it is above the floor is printed beside it, without a goal: a chain is more
than VMs.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from sfcperf import plugins
from sfcperf.drivers.base import DriverContext
from sfcperf.drivers.journal import FileJournal
from sfcperf.errors import MeasurementError
from sfcperf.hosts.ssh import pins as ssh_pins
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
    floors, driven = [], []
    with _ground() as ground:
        place = partial(_boot, asked.image, asked.network, ground)
        alone = [place([number]) for number in range(MACHINES)]
        boots = sum(boot for boot, _ in alone)
        print(
            f"the {MACHINES} VMs one after the other: boots {boots:.1f} s, deletions "
            f"{sum(deletion for _, deletion in alone):.1f} s"
        )
        for number in range(asked.rounds):
            floors.append(sum(place(range(MACHINES))))
            driven.append(_driver(asked.image, asked.network, number))
            print(
                f"round {number + 1}: by the driver {driven[-1]:.1f} s, the VMs at once without it "
                f"{floors[-1]:.1f} s"
            )
    above = median(d / f - 1 for d, f in zip(driven, floors, strict=True))
    share = median(driven) / boots - 1
    met = "met" if share <= GOAL else "missed"
    print(
        f"chain of {FUNCTIONS}, deploy and tear-down: {median(driven):.1f} s; the sum of the "
        f"cloud's own boot times {boots:.1f} s: {share:+.0%} (goal <= {GOAL:+.0%}: {met}); "
        f"the same {MACHINES} VMs at once without it {median(floors):.1f} s: {above:+.0%}"
    )
    if share > GOAL:
        raise SystemExit(1)


def _boot(
    image: str, network: str, ground: tuple[Any, str, str], numbers: Sequence[int]
) -> tuple[float, float]:
    """Seconds to make these VMs at once, until an SSH server answers in each, and to delete them.
    `ground`: connection, id of the data network, name of the security group."""
    cloud, data, group = ground
    image_id = cloud.image.find_image(image, ignore_missing=False).id
    network_id = cloud.network.find_network(network, ignore_missing=False).id
    flavors = [f for f in cloud.compute.flavors() if f.ram >= 256]
    flavor = min(flavors, key=lambda f: (f.vcpus, f.ram))
    begin = time.perf_counter()
    with ThreadPoolExecutor(MACHINES) as pool:
        jobs = [
            pool.submit(
                cloud.compute.create_server,
                name=f"{PREFIX}-{number}",
                networks=[{"uuid": network_id}, *[{"uuid": data}] * (1 + (number > 1))],
                image_id=image_id,
                flavor_id=flavor.id,
                config_drive=True,
                security_groups=[{"name": group}],
            )
            for number in numbers
        ]
        try:
            active = pool.map(partial(cloud.compute.wait_for_server, interval=0.3), _results(jobs))
            list(pool.map(_answers, [_address(server, network) for server in active]))
        finally:
            booted = time.perf_counter()
            made = [job.result() for job in jobs if job.exception() is None]
            list(pool.map(cloud.compute.delete_server, made))
            list(pool.map(partial(cloud.compute.wait_for_delete, interval=0.3), made))
    return booted - begin, time.perf_counter() - booted


def _results(jobs: Sequence[Future[Any]]) -> list[Any]:
    return [job.result() for job in jobs]


@contextmanager
def _ground() -> Iterator[tuple[Any, str, str]]:
    """What the VMs of the floor stand on."""
    import openstack

    cloud = openstack.connect()
    with _security_group(cloud) as group:
        data = cloud.network.create_network(name=PREFIX)
        try:
            cloud.network.create_subnet(
                name=PREFIX, network_id=data.id, ip_version=4, cidr="10.9.9.0/24", enable_dhcp=False
            )
            yield cloud, data.id, group
        finally:
            cloud.network.delete_network(data.id)


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
