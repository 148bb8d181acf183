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

The part `placed` is about the deployment alone, with all VMs on one hypervisor (T1) and with
endpoints and functions on three (T3), as the shipped profile `openstack-nodes` places them (`make
openstack-up NODES=3`). The goal there is at most 25 % above the same VMs at the same places without
the driver.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from sfcperf import plugins
from sfcperf.cli.shipped import shipped
from sfcperf.drivers.base import DriverContext
from sfcperf.drivers.journal import FileJournal
from sfcperf.errors import MeasurementError
from sfcperf.hosts.ssh import pins as ssh_pins
from sfcperf.workflow.defaults import with_defaults
from sfcperf.workflow.load import load_document
from sfcperf.workflow.model import Scenario
from sfcperf.workflow.profile import read_profile

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _runner import Benchmark, Budget, Parameter, Row, Run, Skipped
from _shared.chain import workflow

FUNCTIONS = 3
MACHINES = FUNCTIONS + 2
PREFIX = "sfcperf-bench-floor"


def deployment(run: Run) -> Iterator[Row]:
    """By the driver, beside the floor and the sum of the boot times."""
    image, network = run.parameters.image, run.parameters.network
    settings = {"image": image, "management_network": network}
    with _ground() as ground:
        place = partial(_boot, image, network, ground)
        alone = [place([number]) for number in range(MACHINES)]
        numbers = count()
        found = run.in_turn(
            {
                "floor": lambda: sum(place(range(MACHINES))),
                "driver": lambda: sum(_driver(settings, next(numbers))),
            }
        )
    boots, deletions = (sum(times) for times in zip(*alone, strict=True))
    name = f"chain of {FUNCTIONS}, deploy and tear down"
    peer, budget = f"sum of the boot times of {MACHINES} VMs", Budget(high=1.2, of="ratio")
    remarks = f"their deletions {deletions:.1f} s"
    yield Row(name, found["driver"], "s", peer, boots, budget, remarks)
    yield Row(name, found["driver"], "s", "the VMs at once without the driver", found["floor"])


def placed(run: Run) -> Iterator[Row]:
    """Deployment on one hypervisor and on three, beside the same VMs there without the driver."""
    config = read_profile(shipped("profiles")["openstack-nodes"]).config
    hosts: Mapping[str, str] = config["hosts"]
    image, network = run.parameters.image, run.parameters.network
    with _ground(config["cloud"]) as ground:
        known = {each.name for each in ground[0].compute.hypervisors()}
        if not known.issuperset(hosts.values()):
            raise Skipped(f"the cloud has the hypervisors {sorted(known)}: NODES=3 starts more")
        settings = {**config, "image": image, "management_network": network}
        numbers = count()
        for topology in ("T1", "T3"):
            places = [hosts[node] for node in _nodes(topology)]
            found = run.in_turn(
                {
                    "floor": lambda p=places: _boot(image, network, ground, range(MACHINES), p)[0],
                    "driver": lambda t=topology: _driver(settings, next(numbers), t)[0],
                }
            )
            name = f"chain of {FUNCTIONS} on {len(set(places))} hypervisors, deploy"
            yield Row(
                *(name, found["driver"], "s", "the VMs without the driver", found["floor"]),
                Budget(high=1.25, of="ratio"),
            )


def _nodes(topology: str) -> list[str]:
    """Nodes of client, server and functions."""
    scenario = _scenario(topology)
    ends = (scenario.client, scenario.server)
    return [each.node for each in (*ends, *scenario.chain.functions)]


def _boot(
    image: str,
    network: str,
    ground: tuple[Any, str, str],
    numbers: Sequence[int],
    places: Sequence[str] = (),
) -> tuple[float, float]:
    """Seconds to make these VMs at once, until an SSH server answers in each, and to delete them.
    `ground`: connection, id of the data network, name of the security group. `places`: hypervisors
    by number; empty: the cloud chooses."""
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
                **({"availability_zone": f"nova:{places[number]}"} if places else {}),
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
def _ground(name: str | None = None) -> Iterator[tuple[Any, str, str]]:
    """What the VMs of the floor stand on, in the cloud of this name in clouds.yaml."""
    import openstack

    cloud = openstack.connect(cloud=name)
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


def _driver(settings: Mapping[str, Any], number: int, topology: str = "T1") -> tuple[float, float]:
    """Seconds to deploy the chain, and to remove everything."""
    with _opened(settings, number) as driver:
        begin = time.perf_counter()
        deployment = driver.deploy(_scenario(topology))
        deployed = time.perf_counter()
        driver.teardown(deployment)
        driver.close()
        return deployed - begin, time.perf_counter() - deployed


@contextmanager
def _opened(settings: Mapping[str, Any], number: int) -> Iterator[Any]:
    kind = plugins.load("driver", "openstack")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        context = DriverContext(
            run_id="benchmark",
            tag=f"bench{number}",
            config=with_defaults(kind.parameters, settings),
            journal=FileJournal(folder / "journal").of(0),
            state_dir=folder,
            raw_dir=folder,
            log=print,
        )
        driver = kind(context)
        try:
            yield driver
        finally:
            driver.close()


def _scenario(topology: str) -> Scenario:
    chain = {"functions": [{"vnf": "fwd", "count": FUNCTIONS}]}
    document = workflow(topology=topology, vnfs={"fwd": {"type": "forwarder"}}, chain=chain)
    return load_document(document, Path()).scenarios[0]


if __name__ == "__main__":
    Benchmark(
        __doc__,
        {deployment: 3, placed: 3},
        {
            "image": Parameter("sfcperf-guest", "image of the guests"),
            "network": Parameter("management", "management network"),
        },
    ).main()
