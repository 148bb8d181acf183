/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heavy hitters: counts the packets of each flow in a count-min sketch (Cormode and Muthukrishnan
 * 2005) and blocks or reports a flow as soon as its estimate exceeds a threshold (Choueiri
 * et al., "Scalable Heavy Hitter Detection in Virtualized Environments").
 *
 * PNA for the SWX pipeline of DPDK, with p4c-dpdk. vnfs/heavy_hitter/model.py specifies what it
 * does. The tool that runs it puts `frame_h` in front of each frame, because a pipeline neither
 * knows where a packet ends nor refuses to read beyond.
 */
#include <core.p4>
#include <pna.p4>

#define MOST_ROWS 8
/* The tool replaces these two by what is asked of it. */
#define COLUMNS 65536
#define MOST_FLOWS 65536
#define REPORTS 4096

const bit<16> ETHERTYPE_IPV4 = 0x0800;
const bit<16> ETHERTYPE_IPV6 = 0x86dd;
const bit<16> ETHERTYPE_VLAN = 0x8100;
const bit<16> ETHERTYPE_QINQ = 0x88a8;
const bit<16> ETHERTYPE_NSH = 0x894f;

/* Of `settings`. */
const bit<32> SETTING_ROWS = 0;
const bit<32> SETTING_SEED = 1;
const bit<32> SETTING_ACTION = 2;
const bit<32> SETTING_CONSERVATIVE = 3;
const bit<32> SETTING_NSH_ONLY = 4; /* plain frames are not for us */
const bit<32> SETTING_REFLECT = 5; /* out of the port where it came in; else the other one */
const bit<32> SETTING_KNOWN = 6; /* the program's own: whether a heavy hitter was ever found */
const bit<32> SETTINGS = 8;

/* Of `wide_settings`. */
const bit<32> SETTING_EPOCH = 0; /* << 32 */
const bit<32> SETTING_THRESHOLD = 1;
const bit<32> SETTING_MAC = 2; /* frames to others are not for us; 0: all are */
const bit<32> SETTING_NEXT = 3; /* a cell of this epoch with one packet: the compiler would add the
                                 * epoch and the packet in turn, with a copy of each sum */
const bit<32> WIDE_SETTINGS = 4;

/* Of `octets`: a DSCP, as it is in headers. */
const bit<32> OCTET_IPV4 = 0;
const bit<32> OCTET_IPV6 = 1; /* its upper four bits, in the first octet */
const bit<32> OCTET_IPV6_LABEL = 2; /* its lower two */
const bit<32> OCTETS = 4;

const bit<32> ACTION_BLOCK = 0;
const bit<32> ACTION_REPORT = 1;
const bit<32> ACTION_MARK = 2;

const bit<64> MOST_COUNT = 0xffffffff;

const bit<8> CARRIES_IP = 0;
const bit<8> CARRIES_NSH = 1;
const bit<8> CARRIES_OTHER = 2; /* VXLAN-GPE with something else */

/* Of `counters`. */
const bit<32> COUNT_FORWARDED = 0;
const bit<32> COUNT_COUNTED = 1; /* by the sketch */
const bit<32> COUNT_HEAVY = 2; /* packets of heavy hitters that are forwarded */
const bit<32> COUNT_UNMONITORED = 3; /* forwarded, and of no flow */
const bit<32> COUNT_BLOCKED = 4; /* from here on: frames that are not forwarded */
const bit<32> COUNT_PASSED = 5; /* not for us */
const bit<32> COUNT_TRUNCATED = 6;
const bit<32> COUNT_VERSION = 7;
const bit<32> COUNT_MD_TYPE = 8;
const bit<32> COUNT_LENGTH = 9;
const bit<32> COUNT_OAM = 10;
const bit<32> COUNT_SI_ZERO = 11;
const bit<32> COUNT_SI_EXHAUSTED = 12;
const bit<32> COUNT_ENCAPSULATION = 13;
const bit<32> COUNTS = 16;

header frame_h {
    bit<16> bytes;
    bit<16> reserved;
}

header ethernet_h {
    bit<48> destination;
    bit<48> source;
    bit<16> type;
}

header vlan_h {
    bit<16> tag;
    bit<16> type;
}

header ipv4_h {
    bit<8>  version_ihl;
    bit<8>  dscp_ecn;
    bit<16> total_bytes;
    bit<16> identification;
    bit<16> flags_fragment;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> source;
    bit<32> destination;
}

header ipv4_options_h {
    varbit<320> words;
}

header ipv6_h {
    bit<8>  version_class;
    bit<8>  class_label;
    bit<16> label;
    bit<16> payload_bytes;
    bit<8>  protocol;
    bit<8>  hop_limit;
    bit<64> source_high;
    bit<64> source_low;
    bit<64> destination_high;
    bit<64> destination_low;
}

header ports_h {
    bit<32> both; /* source, destination */
}

header udp_h {
    bit<16> source_port;
    bit<16> destination_port;
    bit<16> length;
    bit<16> checksum;
}

header gpe_h {
    bit<8>  flags;
    bit<16> reserved;
    bit<8>  next;
    bit<32> vni;
}

header nsh_h {
    bit<8>  version_flags_ttl; /* version 2, O, unassigned, upper bits of the TTL */
    bit<8>  ttl_length; /* lower bits of the TTL, length 6 */
    bit<8>  md_type;
    bit<8>  next;
    bit<24> spi;
    bit<8>  si;
}

header nsh_context_h {
    varbit<1984> words;
}

/* What tells a VXLAN-GPE datagram, whose IPv4 header has no options. */
header tunnel_h {
    bit<8>  version_ihl;
    bit<8>  dscp_ecn;
    bit<16> total_bytes;
    bit<16> identification;
    bit<16> flags_fragment;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> source;
    bit<32> destination;
    bit<16> source_port;
    bit<16> destination_port;
}

/* What is hashed; never a part of a frame. The compiler hashes a header where it is, and copies the
 * fields of a structure for each hash. */
header row_key_h {
    bit<32> salt;
    bit<32> a;
    bit<32> b;
    bit<32> ports;
    bit<32> protocol;
}

header flow_key_h {
    bit<32> salt;
    bit<64> source_high;
    bit<64> source_low;
    bit<64> destination_high;
    bit<64> destination_low;
    bit<32> ports;
    bit<32> protocol;
}

/* What the rows have counted, never a part of a frame either: there is no room in the metadata. */
header row_counts_h {
    bit<64> a;
    bit<64> b;
    bit<64> c;
    bit<64> d;
    bit<64> e;
    bit<64> f;
    bit<64> g;
    bit<64> h;
}

struct headers_t {
    frame_h         frame;
    ethernet_h      ethernet;
    vlan_h          vlan;
    vlan_h          vlan_2;
    ipv4_h          tunnel_ipv4;
    udp_h           tunnel_udp;
    gpe_h           gpe;
    nsh_h           nsh;
    nsh_context_h   nsh_context;
    ethernet_h      inner_ethernet;
    vlan_h          inner_vlan;
    ipv4_h          ipv4;
    ipv4_options_h  ipv4_options;
    ipv6_h          ipv6;
    ports_h         ports;
    row_key_h       row_key;
    flow_key_h      flow_key;
    row_counts_h    row_counts;
}

/* An instruction has 8 bits for the place of a field: all metadata, with what the compiler adds,
 * must fit in 256 bytes, and DPDK does not notice if it does not. A hash value must be in the first
 * 256 bits. */
struct metadata_t {
    bit<32> index;
    bit<64> source_high;
    bit<64> source_low;
    bit<64> destination_high;
    bit<64> destination_low;
    bit<32> ports;
    bit<32> protocol; /* of IP, and its version << 8 */
    bit<16> needed; /* bytes of all headers */
    bit<16> outer; /* of those in front of the NSH */
    bit<16> base; /* of those up to the NSH's own fields */
    bit<16> carried; /* of those up to what the NSH carries */
    bit<16> end; /* of the packet: a frame may be padded */
    bit<16> measured; /* bytes in front of those that the length in the IP header counts */
    bit<8> carries;
}

parser Parse(packet_in packet, out headers_t h, inout metadata_t m,
             in pna_main_parser_input_metadata_t i)
{
    tunnel_h probe;

    state start {
        packet.extract(h.frame);
        packet.extract(h.ethernet);
        m.needed = 14;
        m.outer = 14;
        m.base = 14;
        m.carried = 14;
        m.end = h.frame.bytes;
        m.carries = CARRIES_IP;
        transition select(h.ethernet.type) {
            ETHERTYPE_IPV4: outer_ipv4;
            ETHERTYPE_IPV6: ipv6;
            ETHERTYPE_NSH: nsh;
            ETHERTYPE_VLAN: vlan;
            ETHERTYPE_QINQ: vlan;
            default: accept;
        }
    }

    state vlan {
        packet.extract(h.vlan);
        m.needed = m.needed + 4;
        m.outer = m.needed;
        transition select(h.vlan.type) {
            ETHERTYPE_IPV4: outer_ipv4;
            ETHERTYPE_IPV6: ipv6;
            ETHERTYPE_NSH: nsh;
            ETHERTYPE_VLAN: vlan_2;
            default: accept;
        }
    }

    state vlan_2 {
        packet.extract(h.vlan_2);
        m.needed = m.needed + 4;
        m.outer = m.needed;
        transition select(h.vlan_2.type) {
            ETHERTYPE_IPV4: outer_ipv4;
            ETHERTYPE_IPV6: ipv6;
            ETHERTYPE_NSH: nsh;
            default: accept;
        }
    }

    state outer_ipv4 {
        probe = packet.lookahead<tunnel_h>();
        transition select(probe.destination_port) {
            4790: perhaps_tunnel;
            default: ipv4;
        }
    }

    state perhaps_tunnel {
        transition select(probe.version_ihl, probe.flags_fragment & 0x3fff, probe.protocol) {
            (0x45, 0, 17): tunnel;
            default: ipv4;
        }
    }

    state tunnel {
        packet.extract(h.tunnel_ipv4);
        packet.extract(h.tunnel_udp);
        packet.extract(h.gpe);
        m.carries = CARRIES_OTHER;
        m.end = m.needed + 20;
        m.end = m.end + h.tunnel_udp.length;
        m.needed = m.needed + 36;
        m.outer = m.needed;
        transition select(h.gpe.flags & 0x3c, h.gpe.next) {
            (0x0c, 4): nsh;
            default: accept;
        }
    }

    state nsh {
        packet.extract(h.nsh);
        m.carries = CARRIES_NSH;
        m.needed = m.needed + 8;
        m.base = m.needed;
        m.carried = m.needed;
        transition select(h.nsh.ttl_length) {
            0x00 &&& 0x3f: accept;
            0x01 &&& 0x3f: accept;
            0x02 &&& 0x3f: nsh_payload;
            default: nsh_context;
        }
    }

    state nsh_context {
        packet.extract(h.nsh_context, ((bit<32>)(h.nsh.ttl_length & 0x3f) - 2) << 5);
        m.needed = m.needed + (((bit<16>)(h.nsh.ttl_length & 0x3f) - 2) << 2);
        transition nsh_payload;
    }

    state nsh_payload {
        m.carried = m.needed;
        transition select(h.nsh.next) {
            1: ipv4;
            2: ipv6;
            3: inner_ethernet;
            default: accept;
        }
    }

    state inner_ethernet {
        packet.extract(h.inner_ethernet);
        m.needed = m.needed + 14;
        transition select(h.inner_ethernet.type) {
            ETHERTYPE_IPV4: ipv4;
            ETHERTYPE_IPV6: ipv6;
            ETHERTYPE_VLAN: inner_vlan;
            default: accept;
        }
    }

    state inner_vlan {
        packet.extract(h.inner_vlan);
        m.needed = m.needed + 4;
        transition select(h.inner_vlan.type) {
            ETHERTYPE_IPV4: ipv4;
            ETHERTYPE_IPV6: ipv6;
            default: accept;
        }
    }

    state ipv4 {
        packet.extract(h.ipv4);
        m.measured = m.needed;
        m.needed = m.needed + 20;
        transition select(h.ipv4.version_ihl) {
            0x45: ipv4_payload;
            0x46 .. 0x4f: ipv4_options;
            default: accept;
        }
    }

    state ipv4_options {
        packet.extract(h.ipv4_options, ((bit<32>)(h.ipv4.version_ihl & 0xf) - 5) << 5);
        m.needed = m.needed + (((bit<16>)(h.ipv4.version_ihl & 0xf) - 5) << 2);
        transition ipv4_payload;
    }

    state ipv4_payload {
        transition select(h.ipv4.flags_fragment & 0x3fff) {
            0: ipv4_transport;
            default: accept;
        }
    }

    state ipv4_transport {
        transition select(h.ipv4.protocol) {
            6: ports;
            17: ports;
            33: ports;
            132: ports;
            136: ports;
            default: accept;
        }
    }

    state ipv6 {
        packet.extract(h.ipv6);
        m.needed = m.needed + 40;
        m.measured = m.needed;
        transition select(h.ipv6.protocol) {
            6: ports;
            17: ports;
            33: ports;
            132: ports;
            136: ports;
            default: accept;
        }
    }

    state ports {
        packet.extract(h.ports);
        m.needed = m.needed + 4;
        transition accept;
    }
}

control Before(in headers_t h, inout metadata_t m, in pna_pre_input_metadata_t i,
               inout pna_pre_output_metadata_t o)
{
    apply {}
}

struct no_parameters_t {}

/* Cells are epoch << 32 | count. One that another epoch left counts as 0, so that none is ever
 * cleared. For < and >, the compiler needs two jumps (and forgets what is right of && in
 * that case), for the other comparisons one. */
#define PLACE(N, ROW) \
    h.row_key.salt = number + N; \
    m.index = row_hash.get_hash(h.row_key); \
    at_##ROW = m.index;

#define LOOK(N, ROW) \
    cell = row_##ROW.read(at_##ROW); /* DPDK takes the place modulo the columns */ \
    cell = cell - epoch; \
    if (cell >= MOST_COUNT + 1) { \
        cell = 0; \
    } \
    h.row_counts.ROW = cell; \
    if (cell <= least) { \
        least = cell; \
    }

#define COUNT(N, ROW) \
    if (h.row_counts.ROW <= limit) { \
        cell = next + h.row_counts.ROW; \
        row_##ROW.write(at_##ROW, cell); \
    }

#define EACH_ROW(DO) \
    DO(0, a) \
    if (rows != 1) { \
        DO(1, b) \
        if (rows != 2) { \
            DO(2, c) \
            if (rows != 3) { \
                DO(3, d) \
                if (rows != 4) { \
                    DO(4, e) \
                    if (rows != 5) { \
                        DO(5, f) \
                        if (rows != 6) { \
                            DO(6, g) \
                            if (rows != 7) { \
                                DO(7, h) \
                            } \
                        } \
                    } \
                } \
            } \
        } \
    }

/* The sum of 16-bit words in one's complement: a carry comes back. */
#define ADD(SUM, WORD) \
    SUM = SUM + WORD; \
    if (SUM < WORD) { \
        SUM = SUM + 1; \
    }

control Detect(inout headers_t h, inout metadata_t m, in pna_main_input_metadata_t i,
               inout pna_main_output_metadata_t o)
{
    /* The first one: DPDK 22.11 adds (REGADD_RII) or writes (REGWR_RII) a constant at a constant
     * place in the first array, whichever is asked for. */
    Counter<bit<64>, bit<32>>(COUNTS, PNA_CounterType_t.PACKETS) counters;
    Register<bit<64>, bit<32>>(COLUMNS, 0) row_a;
    Register<bit<64>, bit<32>>(COLUMNS, 0) row_b;
    Register<bit<64>, bit<32>>(COLUMNS, 0) row_c;
    Register<bit<64>, bit<32>>(COLUMNS, 0) row_d;
    Register<bit<64>, bit<32>>(COLUMNS, 0) row_e;
    Register<bit<64>, bit<32>>(COLUMNS, 0) row_f;
    Register<bit<64>, bit<32>>(COLUMNS, 0) row_g;
    Register<bit<64>, bit<32>>(COLUMNS, 0) row_h;
    /* Of their own widths: the compiler writes several instructions for each change of width. */
    Register<bit<32>, bit<32>>(SETTINGS, 0) settings;
    Register<bit<64>, bit<32>>(WIDE_SETTINGS, 0) wide_settings;
    Register<bit<8>, bit<32>>(OCTETS, 0) octets;
    /* Of report N, at N modulo REPORTS: the words of its key, and its epoch << 32. */
    Register<bit<32>, bit<32>>(1, 0) report_count;
    Register<bit<64>, bit<32>>(REPORTS, 0) report_source_high;
    Register<bit<64>, bit<32>>(REPORTS, 0) report_source_low;
    Register<bit<64>, bit<32>>(REPORTS, 0) report_destination_high;
    Register<bit<64>, bit<32>>(REPORTS, 0) report_destination_low;
    Register<bit<32>, bit<32>>(REPORTS, 0) report_ports;
    Register<bit<32>, bit<32>>(REPORTS, 0) report_protocol;
    Register<bit<64>, bit<32>>(REPORTS, 0) report_epoch;
    /* p4c-dpdk makes jhash of it, and CRC of the others: salted CRCs all collide alike. */
    Hash<bit<32>>(PNA_HashAlgorithm_t.IDENTITY) row_hash;
    Hash<bit<32>>(PNA_HashAlgorithm_t.IDENTITY) key_hash;

    bit<32> rows;
    bit<32> number;
    bit<32> on_heavy;
    bit<32> flag;
    bit<32> reason; /* not to forward it: its counter */
    bit<64> epoch;
    bit<64> threshold;
    bit<64> least;
    bit<64> limit;
    bit<64> next;
    bit<64> cell;
    bit<64> own_mac;
    bit<48> mac;
    bit<16> words;
    bit<8> kind;
    bit<8> heavy;
    bit<8> monitored;
    bit<32> at_a;
    bit<32> at_b;
    bit<32> at_c;
    bit<32> at_d;
    bit<32> at_e;
    bit<32> at_f;
    bit<32> at_g;
    bit<32> at_h;

    action known() {
        heavy = 1;
    }

    /* The sketch has decided whether it is heavy. */
    action unknown() {
        if (heavy == 1) {
            number = report_count.read(0);
            report_count.write(0, number + 1);
            settings.write(SETTING_KNOWN, rows); /* not 0; no constant: see `counters` */
            number = number & (REPORTS - 1);
            report_source_high.write(number, m.source_high);
            report_source_low.write(number, m.source_low);
            report_destination_high.write(number, m.destination_high);
            report_destination_low.write(number, m.destination_low);
            report_ports.write(number, m.ports);
            report_protocol.write(number, m.protocol);
            report_epoch.write(number, epoch);
            add_entry(action_name = "known", action_params = (no_parameters_t){},
                      expire_time_profile_id = (ExpireTimeProfileId_t)0);
        }
    }

    table flows {
        key = {
            m.source_high: exact;
            m.source_low: exact;
            m.destination_high: exact;
            m.destination_low: exact;
            m.ports: exact;
            m.protocol: exact;
        }
        actions = {
            @tableonly known;
            @defaultonly unknown;
        }
        const default_action = unknown;
        add_on_miss = true;
        idle_timeout_with_auto_delete = true;
        default_idle_timeout_for_data_plane_added_entries = 0;
        size = MOST_FLOWS;
    }

    apply {
        reason = COUNT_FORWARDED;
        monitored = 0;
        own_mac = wide_settings.read(SETTING_MAC);
        if (h.frame.bytes < 14) {
            reason = COUNT_TRUNCATED;
        } else if (own_mac != 0 && (bit<64>)h.ethernet.destination != own_mac) {
            reason = COUNT_PASSED;
        } else if (m.outer > h.frame.bytes) {
            reason = COUNT_TRUNCATED;
        } else if (m.carries == CARRIES_OTHER) {
            reason = COUNT_ENCAPSULATION;
        } else if (m.end > h.frame.bytes || m.base > m.end) {
            reason = COUNT_TRUNCATED;
        } else if (m.carries == CARRIES_NSH) {
            words = (bit<16>)h.nsh.ttl_length & 0x3f;
            kind = h.nsh.md_type & 0xf;
            if (h.nsh.version_flags_ttl & 0xc0 != 0) {
                reason = COUNT_VERSION;
            } else if (kind != 1 && kind != 2) {
                reason = COUNT_MD_TYPE;
            } else if (words < 2 || (kind == 1 && words != 6)) {
                reason = COUNT_LENGTH;
            } else if (m.carried > m.end) {
                reason = COUNT_TRUNCATED;
            } else if (h.nsh.version_flags_ttl & 0x20 != 0) {
                reason = COUNT_OAM;
            } else if (h.nsh.si == 0) {
                reason = COUNT_SI_ZERO;
            } else if (h.nsh.si == 1) {
                reason = COUNT_SI_EXHAUSTED;
            } else {
                h.nsh.si = h.nsh.si - 1;
            }
        } else {
            flag = settings.read(SETTING_NSH_ONLY);
            if (flag != 0) {
                reason = COUNT_PASSED;
            }
        }

        if (reason == COUNT_FORWARDED && m.needed <= m.end) {
            words = m.needed - m.measured; /* bytes of it, and of the ports */
            if (h.ipv4.isValid()) {
                if (h.ipv4.version_ihl >= 0x45 && h.ipv4.version_ihl <= 0x4f &&
                    h.ipv4.total_bytes >= words) {
                    m.protocol = (bit<32>)h.ipv4.protocol | 0x400;
                    monitored = 1;
                }
            } else if (h.ipv6.isValid()) {
                if (h.ipv6.version_class & 0xf0 == 0x60 && h.ipv6.payload_bytes >= words) {
                    m.protocol = (bit<32>)h.ipv6.protocol | 0x600;
                    monitored = 2;
                }
            }
        }

        if (monitored != 0) {
            m.ports = 0;
            if (h.ports.isValid()) {
                m.ports = h.ports.both;
            }
            rows = settings.read(SETTING_ROWS);
            number = settings.read(SETTING_SEED);
            on_heavy = settings.read(SETTING_ACTION);
            epoch = wide_settings.read(SETTING_EPOCH);
            threshold = wide_settings.read(SETTING_THRESHOLD);
            h.row_key.setValid();
            h.row_counts.setValid();
            if (monitored == 1) {
                h.row_key.a = h.ipv4.source;
                h.row_key.b = h.ipv4.destination;
            } else {
                /* A key of 44 bytes would cost each row twice as much. */
                h.flow_key.setValid();
                h.flow_key.salt = number + 0x80000000;
                h.flow_key.source_high = h.ipv6.source_high;
                h.flow_key.source_low = h.ipv6.source_low;
                h.flow_key.destination_high = h.ipv6.destination_high;
                h.flow_key.destination_low = h.ipv6.destination_low;
                h.flow_key.ports = m.ports;
                h.flow_key.protocol = m.protocol;
                m.index = key_hash.get_hash(h.flow_key);
                h.row_key.a = m.index;
                h.flow_key.salt = h.flow_key.salt + 1;
                m.index = key_hash.get_hash(h.flow_key);
                h.row_key.b = m.index;
            }
            h.row_key.ports = m.ports;
            h.row_key.protocol = m.protocol;
            least = MOST_COUNT;
            /* All places first: then the CPU waits for all rows at once. */
            EACH_ROW(PLACE)
            EACH_ROW(LOOK)
            heavy = 0;
            if (least >= threshold) {
                heavy = 1;
            }
            if (heavy == 0 || on_heavy != ACTION_BLOCK) {
                counters.count(COUNT_COUNTED);
                /* Counts stay at their maximum. With conservative update, only the smallest ones
                 * grow (Estan and Varghese 2002, section 3.3.2). */
                next = wide_settings.read(SETTING_NEXT);
                limit = MOST_COUNT - 1;
                flag = settings.read(SETTING_CONSERVATIVE);
                if (flag != 0 && least <= limit) {
                    limit = least;
                }
                EACH_ROW(COUNT)
            }
            flag = settings.read(SETTING_KNOWN);
            if (flag != 0 || heavy == 1) {
                if (monitored == 1) {
                    m.source_high = 0;
                    m.source_low = (bit<64>)h.ipv4.source;
                    m.destination_high = 0;
                    m.destination_low = (bit<64>)h.ipv4.destination;
                } else {
                    m.source_high = h.ipv6.source_high;
                    m.source_low = h.ipv6.source_low;
                    m.destination_high = h.ipv6.destination_high;
                    m.destination_low = h.ipv6.destination_low;
                }
                flows.apply();
            }
            if (heavy == 1) {
                if (on_heavy == ACTION_BLOCK) {
                    reason = COUNT_BLOCKED;
                } else {
                    counters.count(COUNT_HEAVY);
                    if (on_heavy == ACTION_MARK) {
                        if (monitored == 1) {
                            /* RFC 1624, equation 3, of the word with the DSCP. */
                            words = (bit<16>)h.ipv4.dscp_ecn;
                            words = words ^ 0xffff;
                            kind = octets.read(OCTET_IPV4);
                            h.ipv4.dscp_ecn = h.ipv4.dscp_ecn & 0x3;
                            h.ipv4.dscp_ecn = h.ipv4.dscp_ecn | kind;
                            h.ipv4.checksum = h.ipv4.checksum ^ 0xffff;
                            ADD(h.ipv4.checksum, words)
                            words = (bit<16>)h.ipv4.dscp_ecn;
                            ADD(h.ipv4.checksum, words)
                            h.ipv4.checksum = h.ipv4.checksum ^ 0xffff;
                        } else {
                            kind = octets.read(OCTET_IPV6);
                            h.ipv6.version_class = h.ipv6.version_class & 0xf0;
                            h.ipv6.version_class = h.ipv6.version_class | kind;
                            kind = octets.read(OCTET_IPV6_LABEL);
                            h.ipv6.class_label = h.ipv6.class_label & 0x3f;
                            h.ipv6.class_label = h.ipv6.class_label | kind;
                        }
                    }
                }
            }
        } else if (reason == COUNT_FORWARDED) {
            counters.count(COUNT_UNMONITORED);
        }

        counters.count(reason);
        if (reason != COUNT_FORWARDED) {
            drop_packet();
        } else {
            number = (bit<32>)(PortIdUint_t)i.input_port;
            flag = settings.read(SETTING_REFLECT);
            if (flag == 0) {
                number = number ^ 1;
            } else {
                mac = h.ethernet.destination;
                h.ethernet.destination = h.ethernet.source;
                h.ethernet.source = mac;
                /* Swapped addresses leave the checksum of IPv4 right; UDP's may have been left to
                 * an offload that this frame never meets (RFC 7348 section 5 prefers none). */
                if (h.gpe.isValid()) {
                    m.index = h.tunnel_ipv4.destination;
                    h.tunnel_ipv4.destination = h.tunnel_ipv4.source;
                    h.tunnel_ipv4.source = m.index;
                    h.tunnel_udp.checksum = 0;
                }
            }
            if (number == 0) {
                send_to_port((PortId_t)0);
            } else {
                send_to_port((PortId_t)1);
            }
        }
    }
}

control Deparse(packet_out packet, in headers_t h, in metadata_t m,
                in pna_main_output_metadata_t o)
{
    apply {
        packet.emit(h.ethernet);
        packet.emit(h.vlan);
        packet.emit(h.vlan_2);
        packet.emit(h.tunnel_ipv4);
        packet.emit(h.tunnel_udp);
        packet.emit(h.gpe);
        packet.emit(h.nsh);
        packet.emit(h.nsh_context);
        packet.emit(h.inner_ethernet);
        packet.emit(h.inner_vlan);
        packet.emit(h.ipv4);
        packet.emit(h.ipv4_options);
        packet.emit(h.ipv6);
        packet.emit(h.ports);
    }
}

PNA_NIC(Parse(), Before(), Detect(), Deparse()) main;
