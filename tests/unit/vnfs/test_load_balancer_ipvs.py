"""What goes to ipvsadm and what comes from it."""

from __future__ import annotations

import pytest

from sfcperf.errors import MeasurementError
from sfcperf.vnfs.load_balancer import ipvs

LISTING = """\
IP Virtual Server version 1.2.1 (size=4096)
Prot LocalAddress:Port               Conns   InPkts  OutPkts  InBytes OutBytes
  -> RemoteAddress:Port
TCP  10.0.0.2:80                         8       32       32     1728     1744
  -> 10.0.0.2:8081                       3       12       12      648      654
  -> 10.0.0.2:8082                       5       20       20     1080     1090
UDP  10.0.0.2:80                         0        0        0        0        0
  -> 10.0.0.2:8081                       0        0        0        0        0
  -> 10.0.0.2:8082                       0        0        0        0        0
"""
"""Of ipvsadm 1.31 on Linux 6.1."""


def test_services_of_both_protocols() -> None:
    assert ipvs.services("10.0.0.2", 80, [8081], "hash").splitlines() == [
        "-A -t 10.0.0.2:80 -s sh -b sh-port",
        "-a -t 10.0.0.2:80 -r 10.0.0.2:8081 -m",
        "-A -u 10.0.0.2:80 -s sh -b sh-port",
        "-a -u 10.0.0.2:80 -r 10.0.0.2:8081 -m",
    ]


def test_counters() -> None:
    assert ipvs.counters(LISTING, [8081, 8082]) == {
        "balanced": 64,
        "connections_port8081": 3,
        "connections_port8082": 5,
    }
    with pytest.raises(MeasurementError, match="services are gone"):
        ipvs.counters("\n".join(LISTING.splitlines()[:3]), [8081])
