"""SIGKILL in the middle of a run: of sfcperf, of nova's API, of neutron's server, of two of them;
of sfcperf also while requests are under way, which the cloud gets when it is dead.

The services of the cloud are killed for everyone: nothing else may use it meanwhile.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from openstack.connection import Connection
from support.cloud.cloud_runs import PLANNED, CloudLab, workflow
from support.cloud.openstack_project import inventory, left_over
from support.faulty_cloud.clouds import NAME
from support.faulty_cloud.faults import Delay
from support.faulty_cloud.proxy import Proxy
from support.faulty_cloud.rules import Rule
from support.faulty_cloud.troubles import ONE

pytestmark = pytest.mark.server

SERVICE = Path(__file__).resolve().parents[2] / "playbooks" / "openstack" / "service"
PROBE = {"probe": "ping", "count": 5, "interval_s": 1}
"""Ping waits an interval for the last replies, which guests of a busy machine send late."""
ALL_VALID = [(trial, "valid") for trial in PLANNED]
UNDER_WAY = Delay(3)
# The first request for a port pair asks whether the cloud knows NSH.
MOMENTS: Mapping[str, Rule] = {
    "making the second machine": Rule(UNDER_WAY, "compute", "POST", r"/servers$", nth=2),
    "making the pair that gets NSH": Rule(UNDER_WAY, "network", "POST", "sfc/port_pairs$", nth=2),
    "making the chain": Rule(UNDER_WAY, "network", "POST", "sfc/port_chains$"),
    "removing the group of that pair": Rule(
        UNDER_WAY, "network", "DELETE", "sfc/port_pair_groups" + ONE
    ),
    "making the pair that gets plain IP": Rule(
        UNDER_WAY, "network", "POST", "sfc/port_pairs$", nth=3
    ),
    "removing the first machine": Rule(UNDER_WAY, "compute", "DELETE", "/servers" + ONE),
}
"""What a run does whose second scenario replaces the port pair of the first one."""


@pytest.fixture
def lab(cloud: Connection, new_lab: Callable[..., CloudLab]) -> CloudLab:
    return new_lab({**workflow(cloud.config.name), "probes": [PROBE]})


@pytest.fixture
def service() -> Iterator[Callable[[str, str], None]]:
    """`service("kill", "nova-api")`. What was stopped is started again at the end."""
    stopped = set()

    def do(verb: str, name: str) -> None:
        subprocess.run([SERVICE, verb, name], check=True, stdin=subprocess.DEVNULL)
        (stopped.add if verb == "stop" else stopped.discard)(name)

    yield do
    for name in list(stopped):
        do("start", name)


def machines(cloud: Connection, status: str) -> list[str]:
    """Names of those that a run of ours has made, and that nova says this of."""
    return [
        server.name
        for server in cloud.compute.servers()
        if server.name.startswith("sfcperf-") and server.status == status
    ]


def kill(command: subprocess.Popen[bytes]) -> None:
    os.kill(command.pid, signal.SIGKILL)
    assert command.wait() == -signal.SIGKILL


def test_sfcperf_is_killed_again_and_again(lab: CloudLab, cloud: Connection) -> None:
    """While its machines are being made, between its trials, while it removes its machines. What
    the first one left is removed by `clean`, the rest by those who go on."""
    before = inventory(cloud)
    run = lab.start()
    lab.wait_until(lambda: machines(cloud, "BUILD"), run)
    kill(run)
    assert lab.trials == []
    assert left_over(before, inventory(cloud))["servers"]
    assert lab.run("clean") == 0, lab.said
    assert "server sfcperf-" in lab.said
    assert left_over(before, inventory(cloud)) == {}
    run = lab.start(*lab.resume)
    lab.wait_until(lambda: len(lab.trials) == 1, run)
    kill(run)
    run = lab.start(*lab.resume)
    lab.wait_until(lambda: lab.trials == ALL_VALID and lab.manifest["state"] == "tearing down", run)
    kill(run)
    assert lab.run(*lab.resume) == 0, lab.said
    assert lab.trials == ALL_VALID
    assert lab.run("clean") == 0
    assert "nothing to clean" in lab.said


@pytest.mark.exhaustive
def test_services_of_the_cloud_are_killed(
    lab: CloudLab, cloud: Connection, service: Callable[[str, str], None]
) -> None:
    """Nova while machines are being made, neutron while the chain is changed; both come back."""
    run = lab.start()
    lab.wait_until(lambda: machines(cloud, "BUILD"), run)
    service("kill", "nova-api")
    lab.wait_until(lambda: len(lab.trials) == 1, run)
    service("kill", "neutron-server")
    assert run.wait(timeout=600) == 0, lab.said
    assert lab.trials == ALL_VALID
    assert lab.run("clean") == 0
    assert "nothing to clean" in lab.said


@pytest.mark.exhaustive
def test_sfcperf_is_killed_while_neutron_is_down(
    lab: CloudLab, cloud: Connection, service: Callable[[str, str], None]
) -> None:
    run = lab.start()
    lab.wait_until(lambda: lab.manifest.get("state") == "measuring", run)
    service("stop", "neutron-server")
    kill(run)
    assert lab.run("clean") == 3
    assert "could not be cleaned" in lab.said
    assert "Traceback" not in lab.said
    service("start", "neutron-server")
    assert lab.run(*lab.resume) == 0, lab.said
    assert lab.trials == ALL_VALID
    assert lab.run("clean") == 0


@pytest.mark.exhaustive
@pytest.mark.parametrize("moment", MOMENTS)
def test_clean_leaves_nothing(
    proxy: Proxy, new_lab: Callable[..., CloudLab], cloud: Connection, moment: str
) -> None:
    """The request that is under way takes effect while `clean` is at work."""
    before = inventory(cloud)
    document = workflow(NAME)
    document["chain"] |= {"classifier": {}, "encapsulation": "${encapsulation}"}
    document |= {"factors": {"encapsulation": ["nsh-eth", "mpls"]}}
    document["design"] |= {"order": "sequential"}
    lab = new_lab(document)
    with proxy.failing(MOMENTS[moment]) as script:
        run = lab.start()
        lab.wait_until(lambda: not script.silent, run)
        kill(run)
        assert lab.run("clean") == 0, lab.said
    assert "server sfcperf-" in lab.said
    assert left_over(before, inventory(cloud)) == {}
    assert lab.run("clean") == 0
    assert "nothing to clean" in lab.said
