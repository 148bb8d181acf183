"""The engine `bmv2` of SFCMon, without bmv2: what it needs, and its settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sfcperf.errors import DeploymentError
from sfcperf.hosts.namespace import LocalHost
from sfcperf.vnfs.sfcmon.bmv2.reach import reach
from sfcperf.vnfs.sfcmon.bmv2.switch_settings import Settings
from sfcperf.vnfs.sfcmon.function import Sfcmon
from sfcperf.vnfs.sfcmon.settings import Sizes, Thresholds
from sfcperf.workflow.defaults import with_defaults


def knobs(**changes: Any) -> dict[str, Any]:
    return dict(with_defaults(Sfcmon.parameters, changes))


def test_each_engine_names_what_it_needs() -> None:
    assert [need.name for need in Sfcmon.requirements(knobs())] == ["sfc-sfcmon"]
    names = [need.name for need in Sfcmon.requirements(knobs(engine="bmv2"))]
    assert names == ["simple_switch_grpc", "sfcperf[p4]", "ethtool", "ip"]
    assert Sfcmon.tools(knobs()) == ()
    assert Sfcmon.tools(knobs(engine="bmv2")) == ("simple_switch_grpc", "ethtool", "ip", "nft")
    assert Sfcmon.peer_needs_xdp(knobs())
    assert not Sfcmon.peer_needs_xdp(knobs(engine="bmv2"))


def test_settings_pass_as_text() -> None:
    settings = Settings(
        program="sfc_switch",
        window_ms=20,
        thresholds=Thresholds(1, 2, 3),
        adaptive_flows=4,
        sizes=Sizes(iblt_cells=9),
        table_entries=({"count": 2},),
    ).at("unix:/tmp/p4runtime", Path("/tmp/thrift"))
    assert Settings.of_text(settings.text()) == settings


@pytest.mark.parametrize(
    ("share", "packets", "monitored", "inserted", "target", "adapted"),
    [
        (1 << 28, 0, 200, 10, 5, 12),  # from a share: 200 / 16, rounded down
        (1, 0, 200, 10, 5, 1),  # at least 1
        (0, 12, 200, 10, 5, 24),
        (0, 12, 200, 1000, 5, 48),  # at most four times
        (0, 12, 200, 0, 5, 3),  # at least a quarter
        (0, 3, 200, 0, 5, 1),
        (0, 1 << 31, 200, 1000, 5, (1 << 32) - 1),
    ],
)
def test_thresholds_adapt(
    share: int, packets: int, monitored: int, inserted: int, target: int, adapted: int
) -> None:
    """By hand, from the specification."""
    before = Thresholds(7, share, packets)
    assert before.adapted(monitored, inserted, target) == Thresholds(7, 0, adapted)


def test_it_runs_on_no_other_hosts(tmp_path: Path) -> None:
    """In the network namespace of this machine itself, everybody would reach Thrift."""
    with pytest.raises(DeploymentError, match=r"localhost: bmv2 runs.*by SSH alone.*\"ebpf\""):
        reach(LocalHost(tmp_path), ("eth0",))
