/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel side and the user side of SDN-Mon share (docs/reference/sdn-mon.md). */
#pragma once

#include <linux/types.h>

/* Monitoring match fields in the order in which they are in a key. Long ones come first, so that
 * each is aligned wherever it is. */
enum sdnmon_field {
	SDNMON_IPV6_SRC,
	SDNMON_IPV6_DST,
	SDNMON_TUNNEL_ID,
	SDNMON_IPV4_SRC,
	SDNMON_IPV4_DST,
	SDNMON_NSH_SPI,
	SDNMON_ETH_DST,
	SDNMON_ETH_SRC,
	SDNMON_ETH_TYPE,
	SDNMON_VLAN_VID,
	SDNMON_TP_SRC,
	SDNMON_TP_DST,
	SDNMON_TCP_FLAGS,
	SDNMON_PRESENCE, /* in every key: which headers the packet has */
	SDNMON_IP_PROTO,
	SDNMON_IP_DSCP,
	SDNMON_IP_ECN,
	SDNMON_VLAN_PCP,
	SDNMON_ICMP_TYPE,
	SDNMON_ICMP_CODE,
	SDNMON_NSH_SI,
	SDNMON_FIELDS,
};

/* Bits of SDNMON_PRESENCE. */
enum sdnmon_header {
	SDNMON_HAS_VLAN = 1 << 0,
	SDNMON_HAS_IP = 1 << 1, /* of either version */
	SDNMON_HAS_IPV4 = 1 << 2,
	SDNMON_HAS_IPV6 = 1 << 3,
	SDNMON_HAS_PORTS = 1 << 4,
	SDNMON_HAS_TCP = 1 << 5,
	SDNMON_HAS_ICMP = 1 << 6,
	SDNMON_HAS_NSH = 1 << 7,
	SDNMON_HAS_TUNNEL = 1 << 8,
};

#define SDNMON_FIELD_BYTES 16 /* length of the longest field */
#define SDNMON_KEY_WORDS 22 /* all fields: 83 bytes */
#define SDNMON_NOT_CHOSEN 0xff /* offset of a field that is no part of the key */
#define SDNMON_SLOTS 64 /* most slots of the counter buffers */
#define SDNMON_ENTRIES 1000000 /* most entries of the monitoring table */
#define SDNMON_MARK_BITS (1 << 20)
#define SDNMON_RATIO_ONE (1ULL << 32)
#define SDNMON_BLOOM_HASHES 5
#define SDNMON_XDP_PLACES (1 << 16)
/* Place at which the XDP program of an interface is kept. */
#define SDNMON_XDP_PLACE(ifindex) ((__u32)(ifindex) % SDNMON_XDP_PLACES)

enum sdnmon_mode {
	SDNMON_HASH,
	SDNMON_BLOOM,
	SDNMON_PARSE, /* for the benchmark: frames are read to keys, and no more is done */
};

/* Layer up to which a frame is read. */
enum sdnmon_depth {
	SDNMON_TO_LINK,
	SDNMON_TO_IP,
	SDNMON_TO_TRANSPORT,
};

struct sdnmon_key {
	__u32 words[SDNMON_KEY_WORDS];
} __attribute__((aligned(8)));

/* Settings that are fixed while a table exists, so that the verifier can remove code that they
 * make needless. */
struct sdnmon_config {
	__u64 hash_keys[SDNMON_KEY_WORDS + 1];
	__u32 mask[SDNMON_KEY_WORDS];
	__u32 words; /* of a key */
	__u32 slots;
	__u32 mode;
	__u32 depth;
	__u32 looks_into_tunnels;
	__u32 capacity; /* entries for which there is memory */
	__u32 varied_flows; /* of the benchmark */
	__u16 headers; /* bits of SDNMON_PRESENCE that belong to the fields */
	__u8 has_link_fields; /* every frame has some of the fields */
	__u8 offset[SDNMON_FIELDS]; /* in a key, bytes */
};

#define SDNMON_CONFIG ".rodata.sdnmon"
#define SDNMON_LIVE ".data.sdnmon"

/* A clock of epochs. They count intervals from `since_ns` on, beginning with number `first`. */
struct sdnmon_clock {
	__u64 since_ns; /* CLOCK_MONOTONIC */
	__u64 interval_ns;
	__u64 first;
};

/* Values that change while the table exists. Values that packets write are on other cache lines
 * than those that they only read. */
struct sdnmon_live {
	__u64 ratio; /* 2^32 times the share of flows that are sampled */
	__u64 limit; /* most entries */
	__u64 notify; /* notify when there are more entries; 0: never */
	__u64 rearm; /* a notification can come again after there were at most so many */
	__u64 marks; /* entries were added that sampling may leave out */
	__u64 exclusions; /* flows were removed */
	struct sdnmon_clock clocks[2];
	__u64 clock; /* which of both clocks is in use */
	__u64 entries __attribute__((aligned(64)));
	__u64 armed;
	__u64 notifications;
};

/* What became of a frame. All totals but SDNMON_RECEIVED add up to that one. */
enum sdnmon_total {
	SDNMON_RECEIVED,
	SDNMON_MONITORED,
	SDNMON_UNSAMPLED,
	SDNMON_EXCLUDED,
	SDNMON_WITHOUT_FIELDS,
	SDNMON_OVERFLOWED, /* the table is full */
	/* Malformed: */
	SDNMON_TRUNCATED, /* shorter than its headers say */
	SDNMON_BAD_NSH,
	SDNMON_BAD_IP,
	SDNMON_BAD_TRANSPORT,
	SDNMON_TOO_LONG, /* more headers than are read */
	SDNMON_TOTALS,
};

struct sdnmon_totals {
	__u64 packets[SDNMON_TOTALS];
};

/* The counts that an entry had when the first packet of an epoch came. */
struct sdnmon_slot {
	__u64 epoch; /* 0: none */
	__u64 packets;
	__u64 bytes;
};

struct sdnmon_entry {
	__u64 epoch; /* of the last packet */
	__u64 packets;
	__u64 bytes;
	__u64 added; /* the controller added it, so sampling does not matter */
	struct sdnmon_slot slots[]; /* epoch e is in slot e mod S_b */
};

/* A notification: the table has more entries than `notify`. */
struct sdnmon_event {
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u64 entries;
	__u64 notify;
};

enum sdnmon_operation {
	SDNMON_ADD,
	SDNMON_REMOVE,
	SDNMON_REMOVE_UNSAMPLED, /* unless the controller added it */
	SDNMON_SET_NOTIFY,
};

/* Context of the program that changes the table. */
struct sdnmon_change {
	__u32 operation;
	__u32 unused;
	__u64 notify, rearm; /* of SDNMON_SET_NOTIFY */
	struct sdnmon_key key;
};

/* Answers of that program. */
enum sdnmon_answer {
	SDNMON_DONE,
	SDNMON_THERE_ALREADY,
	SDNMON_NOT_THERE,
	SDNMON_NO_ROOM,
	SDNMON_FAILED,
};
