"""The monitor sff on real chains: packets judged by ping's count, times by a known delay."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.local import local_driver
from support.network import echoes
from support.records.scenarios import scenario

from sfcperf.drivers.local.driver import LocalDriver
from sfcperf.errors import MeasurementError
from sfcperf.passive.sff import SffMonitor
from sfcperf.results.values import Observation
from sfcperf.workflow.defaults import with_defaults

pytestmark = pytest.mark.root

PINGS = 60
DELAY_US = 3000


@pytest.fixture
def driver(tmp_path: Path) -> Iterator[LocalDriver]:
    with local_driver(tmp_path) as made:
        yield made


def watched(driver: LocalDriver, chain: Any, raw_dir: Path, **given: Any) -> Sequence[Observation]:
    """What the monitor says of some pings."""
    return timed(driver, chain, raw_dir, **given)[0]


def timed(
    driver: LocalDriver, chain: Any, raw_dir: Path, **given: Any
) -> tuple[Sequence[Observation], float]:
    """The same, and the mean round-trip time [us] as ping says it."""
    deployment = driver.deploy(chain)
    monitor = SffMonitor(with_defaults(SffMonitor.parameters, {"interval_s": 0.05, **given}))
    monitor.start(deployment, raw_dir)
    said = echoes.printed(deployment, PINGS)
    assert said.count("bytes from") == PINGS
    mean_ms = re.search(r"^rtt min/avg/max/mdev = [0-9.]+/([0-9.]+)/", said, re.M)
    assert mean_ms is not None
    return monitor.stop(), float(mean_ms[1]) * 1000


def value(found: Sequence[Observation], source: str, metric: str) -> float:
    (seen,) = (o.value for o in found if (o.source, o.metric) == (source, metric))
    return seen


def test_packets_of_each_lookup_are_those_of_ping(driver: LocalDriver, tmp_path: Path) -> None:
    found = watched(driver, scenario(["router", "forwarder"]), tmp_path)
    for spi in (42, 42 | 1 << 23):
        for si in (255, 254, 253):
            source = f"sff@node1/spi{spi}-si{si}"
            assert value(found, source, "packets_total") == PINGS
    assert value(found, "sff@node1", "forwarded_total") == 6 * PINGS
    assert value(found, "sff@node1", "dropped_total") == 0
    # What was told sample by sample adds up to the total.
    risen = [o.value for o in found if (o.source, o.metric) == ("sff@node1", "received")]
    assert sum(risen) == value(found, "sff@node1", "received_total")


@pytest.mark.bmv2
def test_a_switch_on_bmv2_counts_but_does_not_trace(tmp_path: Path) -> None:
    with local_driver(tmp_path, "bmv2") as driver:
        found = watched(driver, scenario(["router", "forwarder"]), tmp_path)
    # As frames come in: those of the forwarder alone with an NSH.
    frame, nsh = 14 + 84, 14 + 24
    for spi, back in ((42, 253), (42 | 1 << 23, 254)):
        for si in (255, 254, 253):
            source = f"sff@node1/spi{spi}-si{si}"
            assert value(found, source, "packets_total") == PINGS
            size = frame + nsh if si == back else frame
            assert value(found, source, "bytes_total") == PINGS * size
    assert value(found, "sff@node1", "forwarded_total") == 6 * PINGS
    assert value(found, "sff@node1", "received_total") == 6 * PINGS
    assert not any(o.metric.endswith("_us") for o in found)


def test_a_function_that_delays_is_away_that_long(driver: LocalDriver, tmp_path: Path) -> None:
    """And no longer than ping waits: on a busy machine both are longer."""
    chain = scenario(["router", "delay"], knobs={"delay_us": DELAY_US})
    found, round_trip_us = timed(driver, chain, tmp_path, trace=1)
    away = {}
    for prefix in ("", "reverse_"):
        assert value(found, "delay-2", f"{prefix}away_packets") == PINGS
        delayed = value(found, "delay-2", f"{prefix}away_us")
        routed = value(found, "router-1", f"{prefix}away_us")
        assert delayed >= DELAY_US
        assert routed > 0
        away[prefix] = delayed + routed
    # Beyond the functions there are the SFF's own lookups.
    since_first = value(found, "server", "since_first_us")
    assert away[""] <= since_first
    assert since_first + away["reverse_"] <= round_trip_us


def test_without_tracing_nothing_is_said_of_functions(driver: LocalDriver, tmp_path: Path) -> None:
    found = watched(driver, scenario(["router"]), tmp_path, trace=0)
    assert value(found, "sff@node1/spi42-si255", "packets_total") == PINGS
    assert not any("away" in o.metric for o in found)


def test_an_sff_that_does_not_count_is_refused(tmp_path: Path) -> None:
    with local_driver(tmp_path, "ovs") as driver:
        deployment = driver.deploy(scenario([]))
        monitor = SffMonitor(with_defaults(SffMonitor.parameters, {}))
        with pytest.raises(MeasurementError, match="no SFF of this deployment counts"):
            monitor.start(deployment, tmp_path)
