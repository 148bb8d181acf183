"""Reports of ndpiReader."""

from __future__ import annotations

from sfcperf.vnfs.dpi import ndpi_output

PERIOD = """
Traffic statistics:
	Ethernet bytes:        29724         (includes ethernet CRC/IFC/trailer)
	Discarded bytes:       139
	IP packets:            117           of 174 packets total
	IP bytes:              26916         (avg pkt size 154 bytes)
	Unique flows:          9


Detected protocols:
	ICMPV6               packets: 10            bytes: 852           flows: 7
	Iperf3               packets: 107           bytes: 26064         flows: 2


Protocol statistics:
	Acceptable                   26916 bytes
"""
"""Of ndpiReader 4.2.0, Debian 12."""


def test_periods_add_up() -> None:
    assert ndpi_output.counters("Running thread 0...\n") == {"captured": 0, "inspected": 0}
    assert ndpi_output.counters(PERIOD * 2) == {
        "captured": 348,
        "inspected": 234,
        "protocol_icmpv6": 20,
        "flows_icmpv6": 14,
        "protocol_iperf3": 214,
        "flows_iperf3": 4,
    }
