// SPDX-License-Identifier: Apache-2.0
// From frames to headers, and back. No state rejects a frame: where the parser stops, also because
// the frame ends, `unparsed` and `nsh_fault` say why, and what follows is payload.
#ifndef SFCMON_PARSER
#define SFCMON_PARSER

#include "headers.p4"

#define OUTER_IPV4_FIELDS                                                                         \
    {                                                                                             \
        hdr.outer_ipv4.version, hdr.outer_ipv4.ihl, hdr.outer_ipv4.tos,                           \
            hdr.outer_ipv4.total_length, hdr.outer_ipv4.identification, hdr.outer_ipv4.flags,     \
            hdr.outer_ipv4.offset, hdr.outer_ipv4.ttl, hdr.outer_ipv4.protocol,                   \
            hdr.outer_ipv4.source, hdr.outer_ipv4.destination                                     \
    }

parser FrameParser(packet_in packet,
                   out headers_t hdr,
                   inout metadata_t meta,
                   inout standard_metadata_t standard) {
    state start {
        // What holds if the frame ends too early.
        meta.unparsed = UNPARSED_TRUNCATED;
        meta.nsh_fault = DROP_TRUNCATED;
        meta.drop = KEEP;
        transition select(standard.ingress_port) {
            FROM_ENDPOINT: from_endpoint;
            FROM_SERVICE: from_service;
            FROM_NSH: from_nsh;
            FROM_PLAIN: from_plain;
            FROM_UNDERLAY: from_underlay;
        }
    }

    state from_endpoint {
        meta.kind = KIND_ENDPOINT;
        transition parse_ethernet;
    }

    state from_plain {
        meta.kind = KIND_PLAIN;
        transition parse_ethernet;
    }

    state from_service {
        meta.kind = KIND_SERVICE;
        transition parse_outer_ethernet;
    }

    state from_nsh {
        meta.kind = KIND_NSH;
        transition parse_outer_ethernet;
    }

    state from_underlay {
        meta.kind = KIND_UNDERLAY;
        transition parse_outer_ethernet;
    }

    // --- the transport ---

    state parse_outer_ethernet {
        meta.carried = 1;
        packet.extract(hdr.outer_ethernet);
        meta.outer_bytes = ETHERNET_BYTES;
        transition select(hdr.outer_ethernet.ethertype) {
            ETHERTYPE_NSH: parse_nsh;
            ETHERTYPE_IPV4: parse_outer_ipv4;
            ETHERTYPE_IPV6: parse_outer_ipv6;
            default: not_nsh;
        }
    }

    state parse_outer_ipv4 {
        packet.extract(hdr.outer_ipv4);
        transition select(hdr.outer_ipv4.version, hdr.outer_ipv4.ihl, hdr.outer_ipv4.protocol,
                          hdr.outer_ipv4.flags, hdr.outer_ipv4.offset) {
            (4, 5, PROTOCOL_UDP, 0 &&& 1, 0): parse_outer_udp;
            (4, 6 .. 15, PROTOCOL_UDP, 0 &&& 1, 0): parse_outer_ipv4_options;
            default: not_nsh;
        }
    }

    state parse_outer_ipv4_options {
        packet.extract(hdr.outer_ipv4_options, (bit<32>)(hdr.outer_ipv4.ihl - 5) << 5);
        transition parse_outer_udp;
    }

    state parse_outer_ipv6 {
        packet.extract(hdr.outer_ipv6);
        transition select(hdr.outer_ipv6.version, hdr.outer_ipv6.next_header) {
            (6, PROTOCOL_UDP): parse_outer_udp;
            default: not_nsh;
        }
    }

    state parse_outer_udp {
        packet.extract(hdr.outer_udp);
        transition select(hdr.outer_udp.destination) {
            VXLAN_GPE_PORT: parse_vxlan_gpe;
            default: not_nsh;
        }
    }

    state parse_vxlan_gpe {
        packet.extract(hdr.vxlan_gpe);
        meta.outer_bytes = GPE_BYTES;
        transition select(hdr.vxlan_gpe.flags, hdr.vxlan_gpe.next_protocol,
                          standard.ingress_port) {
            (VXLAN_GPE_FLAGS &&& VXLAN_GPE_FLAGS_MASK, VXLAN_GPE_NEXT_NSH, _): parse_nsh;
            (VXLAN_GPE_FLAGS &&& VXLAN_GPE_FLAGS_MASK, VXLAN_GPE_NEXT_ETHERNET, FROM_UNDERLAY):
                parse_bypassing;
            default: not_nsh;
        }
    }

    // Between endpoints on two nodes, without an NSH.
    state parse_bypassing {
        meta.unparsed = UNPARSED_NOT_NSH;
        meta.bypasses = 1;
        packet.extract(hdr.ethernet);
        transition accept;
    }

    state not_nsh {
        meta.unparsed = UNPARSED_NOT_NSH;
        transition accept;
    }

    // --- NSH ---

    state parse_nsh {
        packet.extract(hdr.nsh);
        meta.nsh_bytes = (bit<32>)hdr.nsh.words << 2;
        transition select(hdr.nsh.version, hdr.nsh.md_type, hdr.nsh.words) {
            (0, NSH_MD_TYPE_1, NSH_MD1_WORDS): parse_nsh_md1;
            (0, NSH_MD_TYPE_2, 2): parse_next_protocol;
            (0, NSH_MD_TYPE_2, 3 .. 63): parse_nsh_md2;
            (0, NSH_MD_TYPE_1, _): wrong_length;
            (0, NSH_MD_TYPE_2, _): wrong_length;
            (0, _, _): wrong_md_type;
            default: wrong_version;
        }
    }

    state parse_nsh_md1 {
        packet.extract(hdr.nsh_md1);
        transition parse_next_protocol;
    }

    state parse_nsh_md2 {
        packet.extract(hdr.nsh_md2, (bit<32>)(hdr.nsh.words - 2) << 5);
        transition parse_next_protocol;
    }

    state wrong_version {
        meta.nsh_fault = DROP_VERSION;
        transition malformed_nsh;
    }

    state wrong_md_type {
        meta.nsh_fault = DROP_MD_TYPE;
        transition malformed_nsh;
    }

    state wrong_length {
        meta.nsh_fault = DROP_LENGTH;
        transition malformed_nsh;
    }

    state malformed_nsh {
        meta.unparsed = UNPARSED_NSH;
        transition accept;
    }

    state parse_next_protocol {
        meta.nsh_fault = KEEP;
        transition select(hdr.nsh.next_protocol) {
            NSH_NEXT_IPV4: parse_ipv4;
            NSH_NEXT_IPV6: parse_ipv6;
            NSH_NEXT_ETHERNET: parse_ethernet;
            default: not_ip;
        }
    }

    // --- the packet ---

    state parse_ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ethertype) {
            ETHERTYPE_IPV4: parse_ipv4;
            ETHERTYPE_IPV6: parse_ipv6;
            default: not_ip;
        }
    }

    state not_ip {
        meta.unparsed = UNPARSED_NOT_IP;
        transition accept;
    }

    state malformed_ip {
        meta.unparsed = UNPARSED_IP;
        transition accept;
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.version, hdr.ipv4.ihl) {
            (4, 5 .. 15): parse_ipv4_addresses;
            default: malformed_ip;
        }
    }

    state parse_ipv4_addresses {
        meta.flow.version = 4;
        meta.flow.protocol = hdr.ipv4.protocol;
        meta.flow.source = (bit<128>)hdr.ipv4.source;
        meta.flow.destination = (bit<128>)hdr.ipv4.destination;
        transition select(hdr.ipv4.total_length < (bit<16>)hdr.ipv4.ihl << 2, hdr.ipv4.ihl) {
            (true, _): malformed_ip;
            (false, 5): parse_ipv4_protocol;
            default: parse_ipv4_options;
        }
    }

    state parse_ipv4_options {
        packet.extract(hdr.ipv4_options, (bit<32>)(hdr.ipv4.ihl - 5) << 5);
        transition parse_ipv4_protocol;
    }

    // Later fragments have no ports. The first has, and the classifier uses them; SFCMon has all
    // fragments in one flow, with ports 0.
    state parse_ipv4_protocol {
        transition select(hdr.ipv4.flags, hdr.ipv4.offset) {
            (0 &&& 1, 0): parse_ipv4_transport;
            (_, 0): parse_first_fragment;
            default: without_ports;
        }
    }

    state parse_first_fragment {
        meta.fragment = 1;
        meta.unparsed = PARSED;
        transition select(hdr.ipv4.protocol) {
            PROTOCOL_TCP: parse_ports;
            PROTOCOL_UDP: parse_ports;
            PROTOCOL_DCCP: parse_ports;
            PROTOCOL_SCTP: parse_ports;
            PROTOCOL_UDP_LITE: parse_ports;
            default: accept;
        }
    }

    state parse_ipv4_transport {
        transition select(hdr.ipv4.protocol,
                          hdr.ipv4.total_length < ((bit<16>)hdr.ipv4.ihl << 2) + 4) {
            (PROTOCOL_TCP, false): parse_ports;
            (PROTOCOL_UDP, false): parse_ports;
            (PROTOCOL_DCCP, false): parse_ports;
            (PROTOCOL_SCTP, false): parse_ports;
            (PROTOCOL_UDP_LITE, false): parse_ports;
            (PROTOCOL_TCP, true): malformed_ip;
            (PROTOCOL_UDP, true): malformed_ip;
            (PROTOCOL_DCCP, true): malformed_ip;
            (PROTOCOL_SCTP, true): malformed_ip;
            (PROTOCOL_UDP_LITE, true): malformed_ip;
            default: without_ports;
        }
    }

    state parse_ipv6 {
        packet.extract(hdr.ipv6);
        transition select(hdr.ipv6.version) {
            6: parse_ipv6_addresses;
            default: malformed_ip;
        }
    }

    state parse_ipv6_addresses {
        meta.flow.version = 6;
        meta.flow.protocol = hdr.ipv6.next_header;
        meta.flow.source = hdr.ipv6.source;
        meta.flow.destination = hdr.ipv6.destination;
        transition select(hdr.ipv6.next_header, hdr.ipv6.payload_length) {
            (PROTOCOL_TCP, 0 .. 3): malformed_ip;
            (PROTOCOL_UDP, 0 .. 3): malformed_ip;
            (PROTOCOL_DCCP, 0 .. 3): malformed_ip;
            (PROTOCOL_SCTP, 0 .. 3): malformed_ip;
            (PROTOCOL_UDP_LITE, 0 .. 3): malformed_ip;
            (PROTOCOL_TCP, _): parse_ports;
            (PROTOCOL_UDP, _): parse_ports;
            (PROTOCOL_DCCP, _): parse_ports;
            (PROTOCOL_SCTP, _): parse_ports;
            (PROTOCOL_UDP_LITE, _): parse_ports;
            default: parse_ipv6_extensions;
        }
    }

    // For the classifier alone: SFCMon does not follow them.
    state parse_ipv6_extensions {
        meta.unparsed = PARSED;
        transition select(standard.ingress_port) {
            FROM_ENDPOINT: parse_extension;
            default: accept;
        }
    }

    state parse_extension {
        transition select(meta.flow.protocol, meta.extensions) {
            (PROTOCOL_HOP_BY_HOP, 0 .. 3): parse_options;
            (PROTOCOL_ROUTING, 0 .. 3): parse_options;
            (PROTOCOL_DESTINATION_OPTIONS, 0 .. 3): parse_options;
            (PROTOCOL_FRAGMENT, 0 .. 3): parse_fragment;
            (PROTOCOL_AUTHENTICATION, 0 .. 3): parse_authentication;
            (PROTOCOL_HOP_BY_HOP, _): out_of_reach;
            (PROTOCOL_ROUTING, _): out_of_reach;
            (PROTOCOL_DESTINATION_OPTIONS, _): out_of_reach;
            (PROTOCOL_FRAGMENT, _): out_of_reach;
            (PROTOCOL_AUTHENTICATION, _): out_of_reach;
            (PROTOCOL_TCP, _): parse_ports;
            (PROTOCOL_UDP, _): parse_ports;
            (PROTOCOL_DCCP, _): parse_ports;
            (PROTOCOL_SCTP, _): parse_ports;
            (PROTOCOL_UDP_LITE, _): parse_ports;
            default: accept;
        }
    }

    // What a receiver finds behind more extension headers, no rule can judge.
    state out_of_reach {
        meta.flow.version = 0;
        transition accept;
    }

    // The length of options and routing headers is in units of 8 bytes without the first.
    state parse_options {
        extension_head_t head = packet.lookahead<extension_head_t>();
        meta.flow.protocol = head.next_header;
        meta.extensions = meta.extensions + 1;
        packet.extract(hdr.extensions.next, ((bit<32>)head.length << 6) + 48);
        transition parse_extension;
    }

    // In units of 4 bytes, without the first two.
    state parse_authentication {
        extension_head_t head = packet.lookahead<extension_head_t>();
        meta.flow.protocol = head.next_header;
        meta.extensions = meta.extensions + 1;
        packet.extract(hdr.extensions.next, ((bit<32>)head.length << 5) + 48);
        transition parse_extension;
    }

    state parse_fragment {
        extension_head_t head = packet.lookahead<extension_head_t>();
        meta.flow.protocol = head.next_header;
        meta.extensions = meta.extensions + 1;
        packet.extract(hdr.extensions.next, 48);
        transition select(head.offset) {
            0: parse_extension;
            default: accept;
        }
    }

    // --- the end ---

    state parse_ports {
        packet.extract(hdr.ports);
        meta.flow.source_port = hdr.ports.source;
        meta.flow.destination_port = hdr.ports.destination;
        meta.unparsed = PARSED;
        transition accept;
    }

    state without_ports {
        meta.unparsed = PARSED;
        transition accept;
    }
}

control FrameDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

// The IPv4 header of the underlay; those of packets are none of our business.
control VerifyOuterChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.outer_ipv4.isValid() && !hdr.outer_ipv4_options.isValid(),
                        OUTER_IPV4_FIELDS, hdr.outer_ipv4.checksum, HashAlgorithm.csum16);
    }
}

control UpdateOuterChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(meta.new_gpe == 1, OUTER_IPV4_FIELDS, hdr.outer_ipv4.checksum,
                        HashAlgorithm.csum16);
    }
}

#endif
