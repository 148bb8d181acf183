// SPDX-License-Identifier: Apache-2.0
// FlowID1 and FlowID2 (docs/reference/sfcmon.md, "Keys").
#ifndef SFCMON_MONITOR_KEYS
#define SFCMON_MONITOR_KEYS

#include "headers.p4"

// What SFCMon knows of a packet. Words are in network byte order.
struct observation_t {
    bit<32> path;           // SPI, SI
    bit<32> kind;           // protocol, IP version, 16 bits of 0
    bit<32> ports;
    bit<128> source;        // IPv4: the low 32 bits
    bit<128> destination;
    bit<32> size;           // of the IP packet, bytes
    bit<1> ipv6;
}

control Observe(in headers_t hdr, in metadata_t meta, out observation_t seen) {
    action observe_ipv4() {
        seen.path = hdr.nsh.spi ++ hdr.nsh.si;
        seen.kind = hdr.ipv4.protocol ++ 8w4 ++ 16w0;
        seen.ports = 0;
        seen.source = (bit<128>)hdr.ipv4.source;
        seen.destination = (bit<128>)hdr.ipv4.destination;
        seen.size = (bit<32>)hdr.ipv4.total_length;
        seen.ipv6 = 0;
    }

    action observe_ipv6() {
        seen.path = hdr.nsh.spi ++ hdr.nsh.si;
        seen.kind = hdr.ipv6.next_header ++ 8w6 ++ 16w0;
        seen.ports = 0;
        seen.source = hdr.ipv6.source;
        seen.destination = hdr.ipv6.destination;
        seen.size = (bit<32>)hdr.ipv6.payload_length + 40;
        seen.ipv6 = 1;
    }

    // Fragments, and packets with IPv6 extension headers, have none.
    action observe_ports() {
        seen.ports = hdr.ports.source ++ hdr.ports.destination;
    }

    apply {
        if (hdr.ipv4.isValid()) {
            observe_ipv4();
        } else {
            observe_ipv6();
        }
        if (hdr.ports.isValid() && meta.fragment == 0 && meta.extensions == 0) {
            observe_ports();
        }
    }
}

#endif
