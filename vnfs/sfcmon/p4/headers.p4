// SPDX-License-Identifier: Apache-2.0
// Headers, and what the pipeline knows of a packet.
#ifndef SFCMON_HEADERS
#define SFCMON_HEADERS

typedef bit<9> port_t;
typedef bit<48> mac_t;
typedef bit<32> ipv4_t;

const bit<16> ETHERTYPE_IPV4 = 0x0800;
const bit<16> ETHERTYPE_IPV6 = 0x86DD;
const bit<16> ETHERTYPE_NSH = 0x894F;

const bit<8> PROTOCOL_HOP_BY_HOP = 0;
const bit<8> PROTOCOL_TCP = 6;
const bit<8> PROTOCOL_UDP = 17;
const bit<8> PROTOCOL_DCCP = 33;
const bit<8> PROTOCOL_ROUTING = 43;
const bit<8> PROTOCOL_FRAGMENT = 44;
const bit<8> PROTOCOL_AUTHENTICATION = 51;
const bit<8> PROTOCOL_DESTINATION_OPTIONS = 60;
const bit<8> PROTOCOL_SCTP = 132;
const bit<8> PROTOCOL_UDP_LITE = 136;

const bit<16> VXLAN_GPE_PORT = 4790;
const bit<8> VXLAN_GPE_FLAGS = 0x0C;  // version 0, I and P set
const bit<8> VXLAN_GPE_FLAGS_MASK = 0x3C;
const bit<8> VXLAN_GPE_NEXT_ETHERNET = 3;
const bit<8> VXLAN_GPE_NEXT_NSH = 4;

// RFC 8300, section 2.2.
const bit<8> NSH_NEXT_IPV4 = 1;
const bit<8> NSH_NEXT_IPV6 = 2;
const bit<8> NSH_NEXT_ETHERNET = 3;
const bit<4> NSH_MD_TYPE_1 = 1;
const bit<4> NSH_MD_TYPE_2 = 2;
const bit<6> NSH_MD1_WORDS = 6;
const bit<6> NSH_TTL = 63;

const bit<32> ETHERNET_BYTES = 14;
const bit<32> GPE_BYTES = 50;  // Ethernet, IPv4 without options, UDP, VXLAN-GPE
const bit<32> NSH_LEAST_BYTES = 8;
const bit<32> NEW_NSH_BYTES = 24;

// --- headers ---

header ethernet_t {
    mac_t destination;
    mac_t source;
    bit<16> ethertype;
}

header ipv4_h {
    bit<4> version;
    bit<4> ihl;
    bit<8> tos;
    bit<16> total_length;
    bit<16> identification;
    bit<3> flags;
    bit<13> offset;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> checksum;
    ipv4_t source;
    ipv4_t destination;
}

header ipv4_options_t {
    varbit<320> options;
}

header ipv6_h {
    bit<4> version;
    bit<8> traffic_class;
    bit<20> flow_label;
    bit<16> payload_length;
    bit<8> next_header;
    bit<8> hop_limit;
    bit<128> source;
    bit<128> destination;
}

header ipv6_extension_t {
    bit<8> next_header;
    bit<8> length;
    varbit<16368> rest;
}

// What fragment headers begin with, and, but for the offset, all extension headers.
header extension_head_t {
    bit<8> next_header;
    bit<8> length;
    bit<13> offset;
    bit<3> flags;
    bit<32> more;
}

// What TCP, UDP, DCCP, SCTP and UDP-Lite begin with.
header ports_t {
    bit<16> source;
    bit<16> destination;
}

header udp_t {
    bit<16> source;
    bit<16> destination;
    bit<16> length;
    bit<16> checksum;
}

header vxlan_gpe_t {
    bit<8> flags;
    bit<16> reserved;
    bit<8> next_protocol;
    bit<24> vni;
    bit<8> reserved2;
}

header nsh_t {
    bit<2> version;
    bit<1> oam;
    bit<1> unassigned;
    bit<6> ttl;
    bit<6> words;
    bit<4> unassigned2;
    bit<4> md_type;
    bit<8> next_protocol;
    bit<24> spi;
    bit<8> si;
}

header nsh_md1_t {
    bit<128> context;
}

header nsh_md2_t {
    varbit<1952> contexts;  // 63 words, less the 2 of nsh_t
}

struct headers_t {
    // The transport of the NSH.
    ethernet_t outer_ethernet;
    ipv4_h outer_ipv4;
    ipv4_options_t outer_ipv4_options;
    ipv6_h outer_ipv6;
    udp_t outer_udp;
    vxlan_gpe_t vxlan_gpe;
    nsh_t nsh;
    nsh_md1_t nsh_md1;
    nsh_md2_t nsh_md2;
    // The packet itself.
    ethernet_t ethernet;
    ipv4_h ipv4;
    ipv4_options_t ipv4_options;
    ipv6_h ipv6;
    ipv6_extension_t[4] extensions;
    ports_t ports;
}

// --- what the pipeline knows ---

// The kind of a port is in its number, so that the parser knows without a lookup how to read a
// frame. README.md lists the numbers.
#define FROM_ENDPOINT 0 &&& 0x1C0
#define FROM_SERVICE 64 &&& 0x1C0
#define FROM_NSH 128 &&& 0x180
#define FROM_PLAIN 256 &&& 0x180
#define FROM_UNDERLAY 384 &&& 0x180

typedef bit<3> kind_t;
const kind_t KIND_ENDPOINT = 1;  // frames without an NSH, for the classifier
const kind_t KIND_SERVICE = 2;   // the switch is the SF here
const kind_t KIND_NSH = 3;       // NSH over Ethernet
const kind_t KIND_PLAIN = 4;     // an SF that does not know the NSH
const kind_t KIND_UNDERLAY = 5;  // NSH over VXLAN-GPE

// Why SFCMon does not monitor a packet (docs/reference/sfcmon.md).
typedef bit<8> unparsed_t;
const unparsed_t UNPARSED_NOT_NSH = 0;
const unparsed_t UNPARSED_NSH = 1;
const unparsed_t UNPARSED_NOT_IP = 2;
const unparsed_t UNPARSED_IP = 3;
const unparsed_t UNPARSED_TRUNCATED = 4;
const unparsed_t PARSED = 5;

// Why the switch drops a packet, with the names of dataplane/sff.
typedef bit<8> drop_t;
const drop_t KEEP = 0;
const drop_t DROP_TRUNCATED = 1;
const drop_t DROP_ENCAPSULATION = 2;
const drop_t DROP_VERSION = 3;
const drop_t DROP_MD_TYPE = 4;
const drop_t DROP_LENGTH = 5;
const drop_t DROP_OAM = 6;
const drop_t DROP_TTL = 7;
const drop_t DROP_SI_ZERO = 8;
const drop_t DROP_NO_PATH = 9;
const drop_t DROP_WRONG_PORT = 10;
const drop_t DROP_NEXT_PROTOCOL = 11;
const drop_t DROP_NOT_IP = 12;
const drop_t DROP_NO_STATION = 13;
const drop_t DROP_OVERSIZE = 14;
const drop_t DROP_SI_EXHAUSTED = 15;
const drop_t DROP_UNPARSED = 16;
const bit<32> DROP_REASONS = 17;

// How a packet that is not dropped leaves.
typedef bit<8> way_t;
const way_t WAY_SERVED = 0;    // the switch was its SF
const way_t WAY_PATH = 1;      // along its path
const way_t WAY_BYPASSED = 2;  // outside the chain, or in transit to another node
const bit<32> WAYS = 3;

// 5-tuple; addresses of IPv4 are in the low 32 bits.
struct flow_t {
    bit<8> version;  // of IP: 4 or 6; 0: not IP
    bit<8> protocol;
    bit<16> source_port;
    bit<16> destination_port;
    bit<128> source;
    bit<128> destination;
}

// State of the hash function: words of the key, after the part that does not depend on seeds.
struct murmur3_t {
    bit<32> hash;
    bit<32> path;
    bit<32> kind;
    bit<32> ports;
    bit<32> source0;  // IPv4: only source3
    bit<32> source1;
    bit<32> source2;
    bit<32> source3;
    bit<32> destination0;
    bit<32> destination1;
    bit<32> destination2;
    bit<32> destination3;
}

struct metadata_t {
    murmur3_t murmur3;
    kind_t kind;          // of the port where the packet came in
    bit<1> carried;       // such a port has frames with an NSH
    drop_t drop;
    drop_t nsh_fault;     // KEEP: the NSH is there as a whole
    unparsed_t unparsed;
    flow_t flow;          // as the classifier sees it
    bit<8> extensions;    // IPv6 extension headers so far
    bit<1> fragment;      // of IPv4
    bit<1> in_transit;    // to another node; leaves as it came
    bit<1> bypasses;      // the chain
    bit<1> new_gpe;       // outer_ipv4 was written here
    bit<32> outer_bytes;  // in front of the NSH or, without one, of the packet
    bit<32> nsh_bytes;    // of the NSH
    bit<32> length;       // of the packet and its NSH, without padding
    bit<32> out_length;   // of the frame that leaves
    bit<32> mtu;          // of the port where it leaves
    mac_t next_mac;       // of an SF behind the proxy
    mac_t node_mac;
    ipv4_t node_address;
}

#endif
