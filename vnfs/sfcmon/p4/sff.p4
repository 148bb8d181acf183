// SPDX-License-Identifier: Apache-2.0
// The SFF (RFC 7665, section 4.3) and its SFC proxy for ports of the kind `plain`.
#ifndef SFCMON_SFF
#define SFCMON_SFF

#include "headers.p4"

const bit<8> UNDERLAY_TTL = 64;
const bit<16> DYNAMIC_PORTS = 49152;  // first (RFC 6335); RFC 7348 recommends them for tunnels
const bit<16> DYNAMIC_PORT_COUNT = 16384;

control Sff(inout headers_t hdr,
            inout metadata_t meta,
            inout standard_metadata_t standard) {
    direct_counter(CounterType.packets_and_bytes) hops;

    // --- transports ---

    action without_transport() {
        hdr.outer_ethernet.setInvalid();
        hdr.outer_ipv4.setInvalid();
        hdr.outer_udp.setInvalid();
        hdr.vxlan_gpe.setInvalid();
    }

    action without_nsh() {
        hdr.nsh.setInvalid();
        hdr.nsh_md1.setInvalid();
        hdr.nsh_md2.setInvalid();
    }

    action put_ethernet(mac_t mac, bit<16> ethertype) {
        hdr.outer_ethernet.setValid();
        hdr.outer_ethernet.destination = mac;
        hdr.outer_ethernet.source = meta.node_mac;
        hdr.outer_ethernet.ethertype = ethertype;
    }

    // No UDP checksum, as RFC 7348, section 5 prefers. The source port tells flows apart.
    action put_gpe(mac_t mac, ipv4_t address, bit<8> next_protocol) {
        put_ethernet(mac, ETHERTYPE_IPV4);
        hdr.outer_ipv4.setValid();
        hdr.outer_ipv4.version = 4;
        hdr.outer_ipv4.ihl = 5;
        hdr.outer_ipv4.tos = 0;
        hdr.outer_ipv4.total_length = (bit<16>)(meta.length + 36);
        hdr.outer_ipv4.identification = 0;
        hdr.outer_ipv4.flags = 2;  // do not fragment
        hdr.outer_ipv4.offset = 0;
        hdr.outer_ipv4.ttl = UNDERLAY_TTL;
        hdr.outer_ipv4.protocol = PROTOCOL_UDP;
        hdr.outer_ipv4.checksum = 0;
        hdr.outer_ipv4.source = meta.node_address;
        hdr.outer_ipv4.destination = address;
        meta.new_gpe = 1;
        hdr.outer_udp.setValid();
        hash(hdr.outer_udp.source, HashAlgorithm.crc16, DYNAMIC_PORTS,
             { meta.flow.protocol, meta.flow.source, meta.flow.destination,
               meta.flow.source_port, meta.flow.destination_port }, DYNAMIC_PORT_COUNT);
        hdr.outer_udp.destination = VXLAN_GPE_PORT;
        hdr.outer_udp.length = (bit<16>)(meta.length + 16);
        hdr.outer_udp.checksum = 0;
        hdr.vxlan_gpe.setValid();
        hdr.vxlan_gpe.flags = VXLAN_GPE_FLAGS;
        hdr.vxlan_gpe.reserved = 0;
        hdr.vxlan_gpe.next_protocol = next_protocol;
        hdr.vxlan_gpe.vni = 0;
        hdr.vxlan_gpe.reserved2 = 0;
        meta.out_length = meta.length + GPE_BYTES;
    }

    // --- where a packet goes ---

    action check_origin(port_t port) {
        meta.drop = port != 0 && port != standard.ingress_port ? DROP_WRONG_PORT : meta.drop;
    }

    // Each action counts in `hops` and takes the port where such packets must come in; 0: any.
    action to_nsh(port_t port, mac_t mac, port_t from) {
        hops.count();
        check_origin(from);
        without_transport();
        put_ethernet(mac, ETHERTYPE_NSH);
        meta.out_length = meta.length + ETHERNET_BYTES;
        standard.egress_spec = port;
    }

    action to_gpe(port_t port, mac_t mac, ipv4_t address, port_t from) {
        hops.count();
        check_origin(from);
        put_gpe(mac, address, VXLAN_GPE_NEXT_NSH);
        standard.egress_spec = port;
    }

    action to_plain(port_t port, mac_t mac, port_t from) {
        hops.count();
        check_origin(from);
        without_transport();
        meta.next_mac = mac;
        standard.egress_spec = port;
    }

    action end(port_t port, port_t from) {
        hops.count();
        check_origin(from);
        without_transport();
        standard.egress_spec = port;
    }

    action end_gpe(port_t port, mac_t mac, ipv4_t address, port_t from) {
        hops.count();
        check_origin(from);
        meta.length = meta.length - meta.nsh_bytes;
        put_gpe(mac, address, VXLAN_GPE_NEXT_ETHERNET);
        standard.egress_spec = port;
    }

    action no_path() {
        meta.drop = DROP_NO_PATH;
    }

    table paths {
        key = {
            hdr.nsh.spi: exact @name("spi");
            hdr.nsh.si: exact @name("si");
        }
        actions = {
            to_nsh;
            to_gpe;
            to_plain;
            end;
            end_gpe;
            no_path;
        }
        const default_action = no_path();
        counters = hops;
        size = 4096;
    }

    action deliver(port_t port) {
        without_transport();
        meta.out_length = meta.length;
        standard.egress_spec = port;
    }

    action deliver_gpe(port_t port, mac_t mac, ipv4_t address) {
        put_gpe(mac, address, VXLAN_GPE_NEXT_ETHERNET);
        standard.egress_spec = port;
    }

    action no_station() {
        meta.drop = DROP_NO_STATION;
    }

    // Packets that bypass the chain, by destination MAC address.
    table stations {
        key = {
            hdr.ethernet.destination: exact @name("mac");
        }
        actions = {
            deliver;
            deliver_gpe;
            no_station;
        }
        const default_action = no_station();
        size = 1024;
    }

    action relay(port_t port) {
        meta.out_length = standard.packet_length;
        standard.egress_spec = port;
    }

    // Packets in transit between other nodes.
    table routes {
        key = {
            hdr.outer_ipv4.destination: exact @name("address");
        }
        actions = {
            relay;
            no_station;
        }
        const default_action = no_station();
        size = 256;
    }

    action limit(bit<16> bytes) {
        meta.mtu = (bit<32>)bytes;
    }

    // What the interface of a port takes, without the Ethernet header.
    table mtus {
        key = {
            standard.egress_spec: exact @name("port");
        }
        actions = {
            limit;
        }
        const default_action = limit(0xFFFF);
        size = 512;
    }

    // An SF behind the proxy gets the packet in Ethernet, with or without its own header.
    action add_ethernet(bit<16> ethertype) {
        hdr.ethernet.setValid();
        hdr.ethernet.source = meta.node_mac;
        hdr.ethernet.ethertype = ethertype;
    }

    // --- the SF ---

    // Back where it came from; addresses are swapped. The TTL is for SFFs to decrement.
    action serve() {
        mac_t mac = hdr.outer_ethernet.destination;
        hdr.outer_ethernet.destination = hdr.outer_ethernet.source;
        hdr.outer_ethernet.source = mac;
        hdr.nsh.si = hdr.nsh.si - 1;
        meta.out_length = meta.length + meta.outer_bytes;
        standard.egress_spec = standard.ingress_port;
    }

    action serve_gpe() {
        ipv4_t address = hdr.outer_ipv4.destination;
        hdr.outer_ipv4.destination = hdr.outer_ipv4.source;
        hdr.outer_ipv4.source = address;
        hdr.outer_udp.checksum = 0;
    }

    apply {
        if (meta.kind == KIND_SERVICE) {
            if (hdr.nsh.si == 1) {
                meta.drop = DROP_SI_EXHAUSTED;
            } else {
                serve();
                if (hdr.vxlan_gpe.isValid()) {
                    serve_gpe();
                }
            }
        } else if (meta.in_transit == 1) {
            routes.apply();
        } else if (meta.bypasses == 1) {
            stations.apply();
        } else {
            // Before the lookup, and from 0 to 63 (RFC 8300, section 2.2).
            hdr.nsh.ttl = hdr.nsh.ttl - 1;
            if (hdr.nsh.ttl == 0) {
                meta.drop = DROP_TTL;
            } else {
                // Where the NSH ends, what it carries must be able to go on without it.
                switch (paths.apply().action_run) {
                    to_plain: {
                        if (hdr.nsh.next_protocol == NSH_NEXT_IPV4) {
                            add_ethernet(ETHERTYPE_IPV4);
                            meta.length = meta.length + ETHERNET_BYTES;
                        } else if (hdr.nsh.next_protocol == NSH_NEXT_IPV6) {
                            add_ethernet(ETHERTYPE_IPV6);
                            meta.length = meta.length + ETHERNET_BYTES;
                        } else if (hdr.nsh.next_protocol != NSH_NEXT_ETHERNET) {
                            meta.drop = DROP_NEXT_PROTOCOL;
                        } else if (!hdr.ethernet.isValid() ||
                                   meta.length < meta.nsh_bytes + ETHERNET_BYTES) {
                            meta.drop = DROP_TRUNCATED;
                        }
                        hdr.ethernet.destination = meta.next_mac;
                        meta.out_length = meta.length - meta.nsh_bytes;
                        without_nsh();
                    }
                    end: {
                        if (hdr.nsh.next_protocol != NSH_NEXT_ETHERNET) {
                            meta.drop = DROP_NEXT_PROTOCOL;
                        } else if (!hdr.ethernet.isValid() ||
                                   meta.length < meta.nsh_bytes + ETHERNET_BYTES) {
                            meta.drop = DROP_TRUNCATED;
                        }
                        meta.out_length = meta.length - meta.nsh_bytes;
                        without_nsh();
                    }
                    end_gpe: {
                        if (hdr.nsh.next_protocol != NSH_NEXT_ETHERNET) {
                            meta.drop = DROP_NEXT_PROTOCOL;
                        } else if (!hdr.ethernet.isValid() || meta.length < ETHERNET_BYTES) {
                            meta.drop = DROP_TRUNCATED;
                        }
                        without_nsh();
                    }
                    default: {}
                }
            }
        }
        if (meta.drop == KEEP) {
            mtus.apply();
            if (meta.out_length > meta.mtu + ETHERNET_BYTES) {
                meta.drop = DROP_OVERSIZE;
            }
        }
    }
}

#endif
