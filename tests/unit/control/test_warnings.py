"""Scenarios that can be observed, and in which nothing will be seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.local import small_workflow

from sfcperf.control.validation import warnings
from sfcperf.workflow.load import load_document

PING: dict[str, Any] = {"probe": "ping"}
TCP: dict[str, Any] = {"probe": "iperf3", "protocol": "tcp"}
PPTMON: dict[str, Any] = {"monitor": "pptmon"}
BACKGROUND: dict[str, Any] = {"monitor": "background"}


def warned(tmp_path: Path, probes: list[Any], monitors: list[Any]) -> list[str]:
    document = small_workflow(
        chain={"functions": [{"vnf": "fwd", "count": "${n}"}]},
        factors={"n": [0, 1, 2]},
        probes=probes,
        monitors=monitors,
    )
    return warnings(load_document(document, tmp_path))


@pytest.mark.parametrize(
    ("probes", "monitors", "carriers"),
    [
        ([PING], [PPTMON], "TCP or UDP packets"),
        ([PING, TCP], [{**PPTMON, "filter": {"protocol": "udp"}}], "UDP packets"),
    ],
    ids=["ping", "filter"],
)
def test_pptmon_warns_where_no_packet_carries_samples(
    tmp_path: Path, probes: list[Any], monitors: list[Any], carriers: str
) -> None:
    (line,) = warned(tmp_path, probes, monitors)
    assert line.startswith("warning: /monitors/0: pptmon will take no samples: " + carriers)
    # The baseline has no VNFs that could be seen.
    assert line.endswith("(in 2 of 3 scenarios)")


@pytest.mark.parametrize(
    ("probes", "monitors"),
    [
        ([PING, TCP], [PPTMON]),
        ([PING], [PPTMON, BACKGROUND]),
        ([PING], [{**PPTMON, "carrier": "nsh"}]),
        ([PING], [{"monitor": "cpu"}]),
    ],
    ids=["tcp", "background", "nsh", "no pptmon"],
)
def test_nothing_is_warned_about_elsewhere(
    tmp_path: Path, probes: list[Any], monitors: list[Any]
) -> None:
    assert warned(tmp_path, probes, monitors) == []
