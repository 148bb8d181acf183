import socket
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfcperf.errors import MeasurementError
from sfcperf.hosts import procfs

GOLDEN = Path(__file__).parent / "golden"


def golden(name: str) -> str:
    return (GOLDEN / f"{name}-6.18.txt").read_text()


def test_interface_counters() -> None:
    seen = procfs.interface_counters(golden("proc-net-dev"))
    assert set(seen) == {"lo", "eth0"}
    assert seen["eth0"] == procfs.InterfaceCounters(12477417, 24445, 0, 0, 16902747, 34071, 0, 0)
    assert (seen["eth0"] - seen["lo"]).tx_packets == 34071 - 4


def test_interface_names_with_colons() -> None:
    alias = golden("proc-net-dev").replace("eth0:", "eth0:1:")
    assert "eth0:1" in procfs.interface_counters(alias)


def test_udp_counters() -> None:
    seen = procfs.protocol_counters(golden("proc-net-snmp"), "Udp")
    assert (seen["InDatagrams"], seen["OutDatagrams"], seen["SndbufErrors"]) == (4, 1054, 0)


def test_listening_ports_are_those_in_state_listen() -> None:
    assert procfs.tcp_listening_ports(golden("proc-net-tcp")) == {5300}


def test_tcp_peers_are_those_of_established_connections() -> None:
    """Also of sockets of IPv6; they have other states too, and no peer where they listen."""
    with (
        socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True) as listener,
        socket.create_connection(("127.0.0.9", listener.getsockname()[1])) as own,
    ):
        found = {name: Path(f"/proc/net/{name}").read_text() for name in ("tcp", "tcp6")}
        assert "127.0.0.9" in procfs.tcp_peers(found["tcp"])
        assert own.getsockname()[0] in procfs.tcp_peers(found["tcp6"])
    assert procfs.tcp_peers(golden("proc-net-tcp").replace(" 01 ", " 06 ")) == set()


def test_udp_ports_are_those_of_all_sockets() -> None:
    assert procfs.udp_ports(golden("proc-net-udp")) == {5300, 5301}


def test_process_cpu() -> None:
    stat = golden("proc-pid-stat")
    assert procfs.process_cpu_s(stat) == pytest.approx(
        0.25 + 0.04 + 0.34 + 3.38
    )  # own, then children
    strange = stat.replace("(python)", "(a ) b) (c)")
    assert procfs.process_cpu_s(strange) == procfs.process_cpu_s(stat)


@given(
    st.sampled_from(
        ["proc-net-dev", "proc-net-snmp", "proc-pid-stat", "proc-net-tcp", "proc-net-udp"]
    ),
    st.text(max_size=50),
    st.integers(0, 1400),
    st.integers(0, 100),
)
def test_damaged_text_raises_nothing_else(name: str, noise: str, start: int, length: int) -> None:
    parsers = {
        "proc-net-dev": procfs.interface_counters,
        "proc-net-snmp": lambda text: procfs.protocol_counters(text, "Udp"),
        "proc-pid-stat": procfs.process_cpu_s,
        "proc-net-tcp": procfs.tcp_listening_ports,
        "proc-net-udp": procfs.udp_ports,
    }
    text = golden(name)
    with suppress(MeasurementError):
        parsers[name](text[:start] + noise + text[start + length :])
