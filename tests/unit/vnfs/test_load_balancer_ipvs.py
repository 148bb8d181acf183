"""What goes to ipvsadm and what comes from it."""

from __future__ import annotations

import pytest

from sfcperf.errors import MeasurementError
from sfcperf.vnfs.load_balancer import ipvs

LISTING = """\
IP Virtual Server version 1.2.1 (size=4096)
Prot LocalAddress:Port               Conns   InPkts  OutPkts  InBytes OutBytes
  -> RemoteAddress:Port
TCP  10.0.0.2:80                         7       42       35     4200   350000
  -> 10.0.0.2:8081                       4       24       20     2400   200000
  -> 10.0.0.2:8082                       3       18       15     1800   150000
UDP  10.0.0.2:80                         1        1        0       60        0
  -> 10.0.0.2:8081                       1        1        0       60        0
  -> 10.0.0.2:8082                       0        0        0        0        0
"""
"""Written in the form that ipvsadm 1.31 prints, not recorded from a run."""


def test_services_of_both_protocols() -> None:
    assert ipvs.services("10.0.0.2", 80, [8081], "hash").splitlines() == [
        "-A -t 10.0.0.2:80 -s sh -b sh-port",
        "-a -t 10.0.0.2:80 -r 10.0.0.2:8081 -m",
        "-A -u 10.0.0.2:80 -s sh -b sh-port",
        "-a -u 10.0.0.2:80 -r 10.0.0.2:8081 -m",
    ]


def test_counters() -> None:
    assert ipvs.counters(LISTING, [8081, 8082]) == {
        "balanced": 78,
        "connections_port8081": 5,
        "connections_port8082": 3,
    }


def test_no_service_is_told() -> None:
    with pytest.raises(MeasurementError, match="no services"):
        ipvs.counters("\n".join(LISTING.splitlines()[:3]), [8081])
