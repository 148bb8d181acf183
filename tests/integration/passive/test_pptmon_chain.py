"""The monitor pptmon in chains that the local driver builds, judged by captures and by what
comes back to the client."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean, median
from typing import Any

import pytest
from support.local import local_driver
from support.probing import of
from support.records.scenarios import scenario

from sfcperf.dataplane import binaries
from sfcperf.errors import MeasurementError
from sfcperf.hosts.namespace import NamespaceHost
from sfcperf.management.deployment import Deployment
from sfcperf.passive.pptmon import PptmonMonitor
from sfcperf.passive.transit_time import TransitTimeMonitor
from sfcperf.workflow.defaults import with_defaults

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(
        not binaries.requirement("pptmon").met, reason="needs pptmon: `make setup` compiles it"
    ),
]
PORT = 9000
ECHO = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((sys.argv[1], int(sys.argv[2])))
print("ready", flush=True)
while True:
    data, sender = s.recvfrom(2048)
    s.sendto(data, sender)
"""
ASK = """
import json, socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(2)
s.connect((sys.argv[1], int(sys.argv[2])))
answers = 0
for n in range(int(sys.argv[3])):
    data = n.to_bytes(4, "big") * 50
    s.send(data)
    answers += s.recv(2048) == data
    time.sleep(0.002)
print(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def deployment(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Deployment]:
    """Router, forwarder, router, router; removed whole."""
    with local_driver(tmp_path_factory.mktemp("driver")) as made:
        yield made.deploy(scenario(["router", "forwarder", "router", "router"]))


@pytest.fixture
def echo(deployment: Deployment, tmp_path: Path) -> Iterator[None]:
    """In the chain of routers."""
    with echoing(deployment, tmp_path):
        yield


@contextmanager
def echoing(deployment: Deployment, folder: Path) -> Iterator[None]:
    """The server sends back what it gets."""
    said = folder / "echo.txt"
    host, address = deployment.server.host, deployment.server.address
    server = host.spawn(["python3", "-c", ECHO, address, str(PORT)], stdout=said)
    waiting = threading.Event()
    while not (said.exists() and "ready" in said.read_text()):
        assert server.poll() is None
        waiting.wait(0.01)
    try:
        yield
    finally:
        server.stop()


def ask(deployment: Deployment, count: int) -> int:
    """Datagrams that came back as they were sent."""
    argv = ["python3", "-c", ASK, deployment.server.address, str(PORT), str(count)]
    answers: int = json.loads(deployment.client.host.run(argv, timeout_s=60).stdout)
    return answers


def pptmon(**given: Any) -> PptmonMonitor:
    return PptmonMonitor(with_defaults(PptmonMonitor.parameters, given))


def running(deployment: Deployment) -> dict[str, list[int]]:
    """pptmon's processes in the VNFs' namespaces, as `ip` sees them; their links go with them."""
    found = {}
    for function in deployment.functions:
        assert isinstance(function.host, NamespaceHost)
        assert function.host.namespace is not None
        argv = ["ip", "netns", "pids", function.host.namespace.name]
        pids = subprocess.run(argv, check=True, capture_output=True, text=True).stdout.split()
        named = {int(pid): Path(f"/proc/{pid}/comm").read_text().strip() for pid in pids}
        if instances := [pid for pid, comm in named.items() if comm == "pptmon"]:
            found[function.name] = instances
    return found


def test_every_packet_of_three_routers(deployment: Deployment, echo: None, tmp_path: Path) -> None:
    watching = pptmon(period_ms=0, direction="both", metrics=["time", "delay"])
    watching.start(deployment, tmp_path)
    instances = {name: len(pids) for name, pids in running(deployment).items()}
    assert instances == {"router-1": 2, "router-3": 2, "router-4": 2}
    assert ask(deployment, 200) == 200
    found = watching.stop()
    assert running(deployment) == {}
    assert of(found, "forwarder-2", "pptmon_visible") == [0]
    for prefix in ("", "reverse_"):
        # Samples take turns: half of them are times, half of them delays.
        whole = of(found, "chain", f"{prefix}chain_processing_time_us")
        per_vnf = {
            name: of(found, name, f"{prefix}processing_time_us")
            for name in ("router-1", "router-3", "router-4")
        }
        assert {len(values) for values in (whole, *per_vnf.values())} == {100}
        assert all(0 <= value < 1e6 for values in per_vnf.values() for value in values)
        total = sum(fmean(values) for values in per_vnf.values())
        assert total == pytest.approx(fmean(whole))
        delays = of(found, "chain", f"{prefix}end_to_end_us")
        assert len(delays) == 100
        # There are two switches and a forwarder in between.
        assert fmean(delays) > total
        last = "router-4" if not prefix else "router-1"
        first = "router-1" if not prefix else "router-4"
        assert set(of(found, first, f"{prefix}arrival_delay_us")) == {0}
        assert fmean(of(found, last, f"{prefix}arrival_delay_us")) < fmean(delays)
        counted = f"pptmon_{prefix}"
        assert of(found, "chain", f"{counted}samples") == [200]
        for reason in ("truncated", "saturated", "incomplete"):
            assert of(found, "chain", f"{counted}{reason}_samples") == [0]
        assert of(found, last, f"{counted}reported") == [200]
    assert of(found, "pptmon", "monitor_cpu_s")[0] > 0


def test_a_filter_and_a_rate_choose_the_samples(
    deployment: Deployment, echo: None, tmp_path: Path
) -> None:
    other = pptmon(period_ms=0, filter={"protocol": "udp", "destination_port": 1})
    other.start(deployment, tmp_path)
    assert ask(deployment, 20) == 20
    assert of(other.stop(), "chain", "pptmon_samples") == [0]
    chosen = pptmon(period_ms=50, filter={"destination_port": PORT})
    chosen.start(deployment, tmp_path)
    assert ask(deployment, 100) == 100
    (samples,) = of(chosen.stop(), "chain", "pptmon_samples")
    # 100 datagrams 2 ms apart and more, a sample every 50 ms at most.
    assert 1 <= samples < 50


def test_a_known_time_is_reported_by_samples_and_by_captures(tmp_path: Path) -> None:
    delay_us = 1_000
    with local_driver(tmp_path) as driver:
        chain = driver.deploy(scenario(["router", "delay"], knobs={"delay_us": delay_us}))
        with echoing(chain, tmp_path):
            captures = TransitTimeMonitor(
                with_defaults(TransitTimeMonitor.parameters, {"filter": ["udp"]})
            )
            watching = pptmon(period_ms=0, metrics=["time", "delay"])
            watching.start(chain, tmp_path)
            captures.start(chain, tmp_path)
            assert ask(chain, 60) == 60
            judged, found = captures.stop(), watching.stop()
    for name in ("router-1", "delay-2"):
        assert of(judged, name, "captured_processing_time_packets") == [60]
        assert of(judged, name, "captured_processing_time_ambiguous_packets") == [0]
        assert len(of(judged, name, "captured_processing_time_us")) == 60
        assert len(of(found, name, "processing_time_us")) == 30
    # The function keeps a packet no less than it says; a busy machine may keep it longer.
    reported = of(found, "delay-2", "processing_time_us")
    captured = of(judged, "delay-2", "captured_processing_time_us")
    assert min(reported) >= delay_us
    assert min(captured) >= delay_us
    assert median(reported) == pytest.approx(median(captured), rel=0.25)
    assert median(of(found, "router-1", "processing_time_us")) < delay_us
    # End to end is measured in other packets than times are.
    assert min(of(found, "chain", "end_to_end_us")) > delay_us
    assert min(of(found, "chain", "chain_processing_time_us")) > delay_us
    assert median(of(found, "delay-2", "arrival_delay_us")) < delay_us


def test_an_instance_that_is_killed_fails_the_trial_and_nothing_stays(
    deployment: Deployment, tmp_path: Path
) -> None:
    watching = pptmon()
    watching.start(deployment, tmp_path)
    (pid,) = running(deployment)["router-3"]
    subprocess.run(["kill", "-KILL", str(pid)], check=True)
    with pytest.raises(MeasurementError, match="router-3: it ended by itself, with signal 9"):
        watching.stop()
    assert running(deployment) == {}


def test_one_vnf_alone_and_a_chain_that_cannot_be_seen(tmp_path: Path) -> None:
    with local_driver(tmp_path, "ovs") as driver:
        blind = driver.deploy(scenario(["forwarder"]))
        with pytest.raises(MeasurementError, match="pptmon sees none of the chain's VNFs"):
            pptmon().start(blind, tmp_path)
        with pytest.raises(MeasurementError, match="no VNF of this chain"):
            TransitTimeMonitor(with_defaults(TransitTimeMonitor.parameters, {})).start(
                blind, tmp_path
            )
        driver.teardown(blind)
        alone = driver.deploy(scenario(["router"]))
        watching = pptmon()
        watching.start(alone, tmp_path)
        assert len(running(alone)["router-1"]) == 1
        assert of(watching.stop(), "router-1", "pptmon_sampled") == [0]
