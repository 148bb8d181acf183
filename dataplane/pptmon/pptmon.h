/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * PPTMon (Van Tu et al., CNSM 2020): what the BPF programs and the tool share, and the formats on
 * the wire. README.md draws the formats; tests/support/pptmon_model is a model in Python.
 */
#pragma once

#include <linux/types.h>

/* Formats on the wire */

#define PPT_TCP_KIND 254 /* RFC 4727; also the paper's PPT_H_KIND of UDP */
#define PPT_UDP_KIND 127 /* EXP of RFC 9868 */

/* Experiment identifiers: RFC 6994 (TCP), RFC 9868 (UDP). The format `paper` has no field for
 * type and flags but the identifier itself, so it takes a block of 16 identifiers. */
#define PPT_EXID_RFC 0x5054
#define PPT_EXID_PAPER 0x5060
#define PPT_EXID_PAPER_MASK 0xfff0

/* Class and type of NSH metadata (RFC 8300 section 2.5.1): a class for experiments (RFC 9263),
 * and PPTMon's type. */
#define PPT_NSH_CLASS 0xfff6
#define PPT_NSH_TYPE 0x50

#define PPT_PAPER_HEADER 4 /* kind, length, ExID */
#define PPT_RFC_HEADER 8 /* kind, length, ExID, type and flags, reserved, sample number */
#define PPT_OCS_BYTES 2 /* in front of the options of UDP, RFC 9868 */
#define PPT_HOP_BYTES 4 /* VNF id, 24 bits of value */
#define PPT_NSH_HEADER 8 /* type and flags, reserved, sample number, clock of the source */
#define PPT_NSH_HOP_BYTES 3 /* VNF id, 16 bits of value */

#define PPT_TCP_HEADER_MAX 60
#define PPT_UDP_LENGTH_MAX 254 /* 255 announces an extended length in RFC 9868 */
#define PPT_NSH_VALUE_MAX 127 /* the length of a context header's value has 7 bits */

#define PPT_MAX_HOPS 72

/* If the process has not shown itself for so long, its programs insert nothing into packets any
 * more. */
#define PPT_DEAD_NS 10000000000ULL

#define PPT_RING_BYTES (1 << 20) /* room for reports on their way to user space */

/* What the values of a sample are. It is in the low bits of the type. */
enum ppt_metric {
	PPT_METRIC_TIME, /* processing time, us */
	PPT_METRIC_DELAY, /* clock on arrival at the VNF, us; the sink takes differences */
	PPT_METRICS,
};

/* Flags in the header, beside the metric. */
enum {
	PPT_FLAG_TRUNCATED = 0x8, /* a VNF had no room to add itself */
};

#define PPT_VALUE_MAX 0xffffff /* 24 bits; in a result it means: this much or more, or unknown */

/* Values of NSH have 16 bits: 4 of exponent, 12 of mantissa. They are exact to 4095, then to
 * 2^-12. */
#define PPT_FLOAT_MANTISSA_BITS 12
#define PPT_FLOAT_MAX 0xffff

/* Settings */

enum ppt_mode {
	PPT_MODE_SOURCE,
	PPT_MODE_TRANSIT,
	PPT_MODE_SINK,
	PPT_MODE_SOURCE_SINK,
};

enum ppt_format {
	PPT_FORMAT_PAPER,
	PPT_FORMAT_RFC,
};

/* What carries a sample in a packet. */
enum ppt_carrier {
	PPT_CARRIER_AUTO, /* NSH where the packet has MD type 2, else L4 */
	PPT_CARRIER_L4,
	PPT_CARRIER_NSH,
};

/* Which packets are sampled; zero matches everything. Addresses are in network order (IPv4 in
 * the first word), ports in host order. */
struct ppt_filter {
	__u8 family; /* 4, 6 */
	__u8 protocol; /* IPPROTO_TCP, IPPROTO_UDP */
	__u16 source_port;
	__u16 destination_port;
	__u16 reserved;
	__u32 source[4];
	__u32 source_mask[4];
	__u32 destination[4];
	__u32 destination_mask[4];
};

struct ppt_settings {
	__u8 mode; /* enum ppt_mode */
	__u8 vnf_id;
	__u8 format; /* enum ppt_format; the source writes this one, others read both */
	__u8 carrier; /* enum ppt_carrier */
	__u8 metrics[PPT_METRICS]; /* of a source: taken in turn */
	__u8 metric_count;
	__u8 resolve_offloads; /* 1: egress is hardware, so the kernel segments super-packets */
	__u8 filtered; /* 1: there is a filter */
	__u8 first; /* of a source, 1: take the first packet of a period, as in the paper */
	__u32 mtu; /* of the egress interface: bytes of its packets, without Ethernet */
	__u64 period_ns; /* of a source: 0 samples every packet */
	struct ppt_filter filter;
};

/* Counters, cumulated per CPU. Packets that nothing happened to are not counted: that would cost
 * too much. */
enum ppt_counter {
	PPT_SAMPLED, /* source: got a header */
	PPT_ADDED, /* transit, sink: got a hop */
	PPT_MEASURED, /* left the VNF and got their time */
	PPT_REPORTED, /* sink: restored, and reported */
	PPT_TRUNCATED, /* no room for this hop: flagged in the header */
	PPT_SATURATED, /* took 2^24 us or longer */
	PPT_NO_ROOM_OPTIONS, /* source: options, or NSH, are full; unchanged, as all below */
	PPT_NO_ROOM_MTU, /* source: would exceed the MTU of the egress; transit: did, removed */
	PPT_FRAGMENTS, /* source: fragments are left alone */
	PPT_UNSUPPORTED, /* source: super-packets of UDP or inside NSH, odd headers */
	PPT_ALREADY, /* source: carries a header from elsewhere */
	PPT_FOREIGN, /* egress: header on which this VNF's hop is missing or unknown */
	PPT_MALFORMED, /* a header that contradicts itself */
	PPT_FAILED, /* the kernel refused to change the packet (memory) */
	PPT_EVENTS_LOST, /* sink: restored, but the report found no room in the ring */
	/* How a source chooses among packets: */
	PPT_SEEN, /* all that arrived */
	PPT_JUDGED, /* examined, because a sample was due */
	PPT_WANTED, /* of these, those that pass the filter */
	PPT_COUNTERS,
};

/* A sample, on its way from the sink's program to user space. */
struct ppt_event {
	__u64 ktime_ns; /* CLOCK_MONOTONIC, when the packet left */
	__u64 tai_us; /* CLOCK_TAI then, us */
	__u8 family; /* 4, 6; 0: no IP inside (NSH) */
	__u8 protocol;
	__u8 metric; /* enum ppt_metric */
	__u8 flags; /* PPT_FLAG_* */
	__u8 carrier; /* PPT_CARRIER_L4 or PPT_CARRIER_NSH */
	__u8 format; /* of L4: enum ppt_format */
	__u8 hop_count;
	__u8 own; /* 1: the newest hop is this VNF */
	__u16 source_port;
	__u16 destination_port;
	__u16 sample; /* number at the source, modulo 2^16; 0 in format paper */
	__u8 si; /* of NSH; spi 0, si 0: none */
	__u8 reserved;
	__u32 spi;
	__u32 source_clock_us; /* NSH: CLOCK_TAI at the source, modulo 2^32 us */
	__u32 segments; /* number of segments of a super-packet; 0 for other packets */
	__u8 source[16];
	__u8 destination[16];
	__u32 own_time_ns; /* own time of the newest hop, if `own`; saturates */
	/* Newest first: vnf id << 24 | value (24 bits, decoded). */
	__u32 hops[PPT_MAX_HOPS];
};
