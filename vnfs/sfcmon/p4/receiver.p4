// SPDX-License-Identifier: Apache-2.0
// Is a frame what its port expects? The checks are those of dataplane/sff, in the same order.
#ifndef SFCMON_RECEIVER
#define SFCMON_RECEIVER

#include "headers.p4"

control Receiver(inout headers_t hdr,
                 inout metadata_t meta,
                 in standard_metadata_t standard) {
    action set_node(mac_t mac, ipv4_t address) {
        meta.node_mac = mac;
        meta.node_address = address;
    }

    // Addresses of this node: in the underlay, and towards SFs.
    table node {
        actions = {
            set_node;
        }
        default_action = set_node(0, 0);
    }

    // A frame may be padded: the datagram says where the packet ends.
    action measure_datagram() {
        meta.length = (bit<32>)hdr.outer_udp.length - 16;
    }

    apply {
        node.apply();
        meta.length = standard.packet_length - meta.outer_bytes;
        if (meta.kind == KIND_ENDPOINT || meta.kind == KIND_PLAIN) {
            if (!hdr.ethernet.isValid()) {
                meta.drop = DROP_TRUNCATED;
            }
        } else {
            if (!hdr.outer_ethernet.isValid() ||
                (meta.kind == KIND_UNDERLAY && standard.packet_length < GPE_BYTES)) {
                meta.drop = DROP_TRUNCATED;
            } else if (meta.kind == KIND_NSH) {
                if (hdr.outer_ethernet.ethertype != ETHERTYPE_NSH ||
                    hdr.outer_ethernet.destination != meta.node_mac) {
                    meta.drop = DROP_ENCAPSULATION;
                }
            } else if (hdr.outer_ethernet.ethertype == ETHERTYPE_NSH) {
                if (meta.kind == KIND_UNDERLAY) {
                    meta.drop = DROP_ENCAPSULATION;
                }
            } else if (hdr.outer_ethernet.ethertype != ETHERTYPE_IPV4) {
                meta.drop = DROP_ENCAPSULATION;
            } else if (!hdr.outer_ipv4.isValid()) {
                meta.drop = DROP_TRUNCATED;
            } else if (meta.kind == KIND_UNDERLAY &&
                       hdr.outer_ipv4.destination != meta.node_address) {
                meta.in_transit = 1;
                meta.bypasses = 1;
            } else if (hdr.outer_ipv4_options.isValid() || !hdr.outer_udp.isValid() ||
                       hdr.outer_udp.destination != VXLAN_GPE_PORT ||
                       standard.checksum_error == 1) {
                meta.drop = DROP_ENCAPSULATION;
            } else if (!hdr.vxlan_gpe.isValid()) {
                meta.drop = DROP_TRUNCATED;
            } else if (hdr.vxlan_gpe.vni != 0) {
                meta.drop = DROP_ENCAPSULATION;
            } else if (hdr.outer_udp.length < 16 ||
                       (bit<32>)hdr.outer_udp.length + 20 >
                           (bit<32>)hdr.outer_ipv4.total_length ||
                       (bit<32>)hdr.outer_ipv4.total_length + ETHERNET_BYTES >
                           standard.packet_length) {
                meta.drop = DROP_TRUNCATED;
            } else {
                measure_datagram();
                if (meta.bypasses == 1) {
                    if (meta.length < ETHERNET_BYTES) {
                        meta.drop = DROP_TRUNCATED;
                    }
                } else if (meta.unparsed == UNPARSED_NOT_NSH) {
                    meta.drop = DROP_ENCAPSULATION;
                }
            }
            if (meta.drop == KEEP && meta.bypasses == 0) {
                if (meta.length < NSH_LEAST_BYTES) {
                    meta.drop = DROP_TRUNCATED;
                } else if (meta.nsh_fault != KEEP) {
                    meta.drop = meta.nsh_fault;
                } else if (meta.nsh_bytes > meta.length) {
                    meta.drop = DROP_TRUNCATED;
                } else if (hdr.nsh.oam == 1) {
                    meta.drop = DROP_OAM;
                } else if (hdr.nsh.si == 0) {
                    meta.drop = DROP_SI_ZERO;
                }
            }
        }
    }
}

#endif
