"""The sampling monitors over meters and hosts whose numbers are known."""

import os
import subprocess
from collections.abc import Iterable
from itertools import count
from typing import Any, cast

import pytest
from jsonschema import Draft202012Validator
from support.records.scenarios import scenario

from sfcperf import plugins
from sfcperf.errors import InputError, MeasurementError
from sfcperf.hosts.base import Host
from sfcperf.hosts.procfs import stat_lines
from sfcperf.management.deployment import Deployment, Hop, Meter
from sfcperf.passive import cpu, interfaces, memory, processes, sampling
from sfcperf.passive.background import BackgroundMonitor
from sfcperf.passive.base import Monitor
from sfcperf.results.values import Observation
from sfcperf.workflow.defaults import with_defaults

HEADER = "Inter-|   Receive |  Transmit\n face |bytes packets\n"


class FakeMeter:
    def __init__(self, pids: Iterable[int] = ()) -> None:
        self.used_s = 0.0
        self._pids = list(pids)

    def cpu_s(self) -> float:
        return self.used_s

    def memory_bytes(self) -> int:
        return 4096

    def pids(self) -> list[int]:
        return self._pids

    def processes(self) -> list[str]:
        return stat_lines(self._pids)


class FakeHost:
    """Gives /proc/net/dev in which each read adds 10 packets of 100 bytes each way."""

    name = "fake"

    def __init__(self) -> None:
        self.reads = 0

    def read_text(self, path: str) -> str:
        assert path == "/proc/net/dev"
        packets = 10 * self.reads
        self.reads += 1
        row = f"{packets * 100} {packets} 0 {self.reads} 0 0 0 0"
        return HEADER + f"  a: {row} {row}\n  b: {row} {row}\n"


class Clock:
    """Time in steps of one second, from look to look; a look takes no time."""

    def __init__(self) -> None:
        self._ticks = count()

    def monotonic(self) -> float:
        return float(next(self._ticks) // 2)


def deployment(meter: FakeMeter | None = None, hops: tuple[Hop, ...] = ()) -> Deployment:
    meters: dict[str, Meter] = {} if meter is None else {"fwd-1": meter}
    return cast(Any, Deployment)("d", None, None, (), hops, meters, "none")


def sampled(monitor: sampling.SamplingMonitor) -> list[Observation]:
    return list(monitor.sample(0))


def values(observations: Iterable[Observation], source: str) -> dict[str, tuple[float, str]]:
    return {o.metric: (o.value, o.unit) for o in observations if o.source == source}


@pytest.mark.parametrize("name", plugins.names("monitor"))
def test_schema_is_sound_and_documented_and_a_stop_without_start_harmless(name: str) -> None:
    monitor: type[Monitor] = plugins.load("monitor", name)
    Draft202012Validator.check_schema(monitor.parameters)
    assert all(value["description"] for value in monitor.parameters["properties"].values())
    assert Draft202012Validator(monitor.parameters).is_valid({})
    assert not Draft202012Validator(monitor.parameters).is_valid({"unknown": 1})
    assert monitor.cost
    assert monitor.title
    stopped = monitor(with_defaults(monitor.parameters, {})).stop()
    assert [o.metric for o in stopped] in ([], ["monitor_cpu_s"])


def test_cpu_is_the_mean_since_the_sample_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "time", Clock())
    meter = FakeMeter()
    monitor = cpu.CpuMonitor({"interval_s": 1})
    monitor.begin(deployment(meter))
    assert sampled(monitor) == []
    meter.used_s += 1.5
    assert values(sampled(monitor), "fwd-1") == {"cpu_cores": (1.5, "1")}
    meter.used_s += 0.25
    assert values(sampled(monitor), "fwd-1") == {"cpu_cores": (0.25, "1")}
    # No rate over a sliver of time.
    slow = cpu.CpuMonitor({"interval_s": 3})
    slow.begin(deployment(meter))
    assert [len(sampled(slow)) for _ in range(5)] == [0, 0, 1, 0, 1]
    of_memory = memory.MemoryMonitor({"interval_s": 1})
    of_memory.begin(deployment(meter))
    assert values(sampled(of_memory), "fwd-1") == {"memory_bytes": (4096, "B")}


def test_interfaces_deltas_rates_totals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "time", Clock())
    fake = FakeHost()
    host = cast(Host, fake)
    monitor = interfaces.InterfaceMonitor({"interval_s": 1})
    monitor.begin(deployment(hops=(Hop("client", host, "a"), Hop("server", host, "b"))))
    assert sampled(monitor) == []
    assert fake.reads == 1  # once for both hops
    seen = values(sampled(monitor), "server")
    assert seen["rx_packets"] == (10, "1")
    assert seen["tx_bytes"] == (1000, "B")
    assert seen["rx_drops"] == (1, "1")
    assert seen["rx_errors"] == (0, "1")
    assert seen["rx_pps"] == (10, "1/s")
    assert seen["tx_bps"] == (8000, "bit/s")
    sampled(monitor)
    totals = values(monitor.totals(0), "client")
    assert totals["rx_packets_total"] == (20, "1")
    assert totals["tx_bytes_total"] == (2000, "B")
    monitor.begin(deployment(hops=(Hop("client", host, "gone"),)))
    with pytest.raises(MeasurementError, match="hop client: fake has no interface gone"):
        sampled(monitor)


def test_interfaces_of_an_sf_itself_are_told_as_the_sff_sees_them() -> None:
    fake = FakeHost()
    fake.read_text = lambda path: HEADER + "  a: 100 1 2 3 0 0 0 0 400 4 5 6 0 0 0 0\n"  # type: ignore[method-assign]
    monitor = interfaces.InterfaceMonitor({"interval_s": 1})
    monitor.begin(deployment(hops=(Hop("fwd-1", cast(Host, fake), "a", inside=True),)))
    (_, seen) = monitor._read()["fwd-1"]
    assert (seen.tx_bytes, seen.tx_packets, seen.tx_errors, seen.tx_drops) == (100, 1, 2, 3)
    assert (seen.rx_bytes, seen.rx_packets, seen.rx_errors, seen.rx_drops) == (400, 4, 5, 6)


def test_processes_see_who_works() -> None:
    idle = subprocess.Popen(["sleep", "60"])
    try:
        monitor = processes.ProcessMonitor({"interval_s": 0.01, "top": 1})
        monitor.begin(deployment(FakeMeter([idle.pid, os.getpid(), 2**22 + 1])))
        assert sampled(monitor) == []
        before_s = sum(os.times()[:2])
        while sum(os.times()[:2]) < before_s + 0.1:
            sum(range(10_000))
        observations = sampled(monitor)
    finally:
        idle.kill()
        idle.wait()
    (source,) = {o.source for o in observations}
    assert source.startswith("fwd-1/")
    assert source.endswith(f"[{os.getpid()}]")  # the busier of the two
    seen = values(observations, source)
    assert seen["process_cpu_cores"][0] > 0
    assert seen["process_rss_bytes"][0] > 1_000_000


def test_processes_forget_those_that_ended() -> None:
    gone = subprocess.Popen(["sleep", "60"])
    monitor = processes.ProcessMonitor({"interval_s": 0, "top": 5})
    monitor.begin(deployment(FakeMeter([gone.pid])))
    sampled(monitor)
    assert {o.metric for o in sampled(monitor)} == {"process_cpu_cores", "process_rss_bytes"}
    gone.kill()
    gone.wait()
    assert sampled(monitor) == []


def _check(**given: Any) -> None:
    asked = with_defaults(BackgroundMonitor.parameters, given)
    BackgroundMonitor.check_scenario(asked, scenario([]), lambda: None)


def test_flows_that_take_longer_than_a_minute_to_send_a_packet_each() -> None:
    _check(flows=6000, rate_pps=100)
    with pytest.raises(InputError) as error:
        _check(flows=15_900, rate_pps=1)
    assert error.value.where == "rate_pps"
    assert error.value.allowed == "at least 265 with so many flows"
