/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel side and the user side of SDN-Mon share (docs/reference/sdn-mon.md). */
#pragma once

#include <linux/types.h>

/* Monitoring match fields, in the order in which they follow each other in a key. Long ones come
 * first, so that each is aligned, whichever fields a key has. */
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

/* Bits of SDNMON_PRESENCE: headers that a packet has. */
enum sdnmon_header {
	SDNMON_HAS_VLAN = 1 << 0,
	SDNMON_HAS_IP = 1 << 1, /* of either version */
	SDNMON_HAS_IPV4 = 1 << 2,
	SDNMON_HAS_IPV6 = 1 << 3,
	SDNMON_HAS_PORTS = 1 << 4, /* TCP, UDP or SCTP */
	SDNMON_HAS_TCP = 1 << 5,
	SDNMON_HAS_ICMP = 1 << 6,
	SDNMON_HAS_NSH = 1 << 7,
	SDNMON_HAS_TUNNEL = 1 << 8,
};

#define SDNMON_FIELD_BYTES 16 /* length of the longest field */
#define SDNMON_KEY_WORDS 22 /* all fields: 83 bytes, rounded up to 8 */
#define SDNMON_NOT_CHOSEN 0xff /* offset of a field that is no part of the key */
#define SDNMON_SLOTS 64 /* most slots of the counter buffers */
#define SDNMON_ENTRIES 1000000 /* most entries of the monitoring table */
#define SDNMON_MARK_BITS (1 << 20) /* of the map `marks` */
#define SDNMON_RATIO_ONE (1ULL << 32) /* the ratio 1: ratios count units of 2^-32 */
#define SDNMON_BLOOM_HASHES 5 /* hash functions of the map `unmonitored` */
#define SDNMON_XDP_PLACES (1 << 16) /* of the map `forwarders` */
/* Place in the map `forwarders` of the XDP program that was at an interface before SDN-Mon's. */
#define SDNMON_XDP_PLACE(ifindex) ((__u32)(ifindex) % SDNMON_XDP_PLACES)

/* How flows are sampled. */
enum sdnmon_mode {
	SDNMON_HASH, /* by the hash of the key */
	SDNMON_BLOOM, /* by a random number; a Bloom filter remembers flows that are left out */
	SDNMON_PARSE, /* for the benchmark: frames are read to keys, and no more is done */
};

/* Layer up to which a frame is read. */
enum sdnmon_depth {
	SDNMON_TO_LINK,
	SDNMON_TO_IP,
	SDNMON_TO_TRANSPORT,
};

/* The values of a flow's fields, one behind the other. Only the first `config.words` words are
 * used. */
struct sdnmon_key {
	__u32 words[SDNMON_KEY_WORDS];
} __attribute__((aligned(8)));

/* Settings that are fixed while a table exists, so that the verifier can remove code that they
 * make needless. */
struct sdnmon_config {
	__u64 hash_keys[SDNMON_KEY_WORDS + 1]; /* a constant, then a factor for each word */
	__u32 mask[SDNMON_KEY_WORDS]; /* bits of a key that count */
	__u32 words; /* of a key */
	__u32 slots; /* of an entry, S_b */
	__u32 mode; /* enum sdnmon_mode */
	__u32 depth; /* enum sdnmon_depth */
	__u32 looks_into_tunnels; /* 1: fields of IP are those of the packet in a tunnel */
	__u32 capacity; /* entries for which there is memory */
	__u32 varied_flows; /* of the benchmark's programs; 0: these are not loaded */
	__u16 headers; /* bits of SDNMON_PRESENCE that belong to the fields */
	__u8 has_link_fields; /* 1: every frame has some of the fields */
	__u8 offset[SDNMON_FIELDS]; /* in a key, bytes; or SDNMON_NOT_CHOSEN */
};

/* Sections of the BPF object file, each of which becomes a map. */
#define SDNMON_CONFIG ".rodata.sdnmon"
#define SDNMON_LIVE ".data.sdnmon"

/* A clock of epochs. Epoch `first` begins at `since_ns`, and each later one when the one before has
 * lasted `interval_ns`. */
struct sdnmon_clock {
	__u64 since_ns; /* CLOCK_MONOTONIC */
	__u64 interval_ns;
	__u64 first;
};

/* Values that change while the table exists. Those that packets write are on other cache lines than
 * those that packets only read. */
struct sdnmon_live {
	__u64 ratio; /* 2^32 times the share of flows that are sampled */
	__u64 limit; /* most entries */
	__u64 notify; /* notify when there are more entries; 0: never */
	__u64 rearm; /* `armed` becomes 1 again when there are at most so many entries */
	__u64 marks; /* 1: entries were added, and may be of flows outside of the sample */
	__u64 exclusions; /* 1: flows were put into the map `excluded` */
	struct sdnmon_clock clocks[2];
	__u64 clock; /* which of both clocks is in use, 0 or 1 */
	__u64 entries __attribute__((aligned(64))); /* in the table now */
	__u64 armed; /* 1: a notification comes when there are more than `notify` entries */
	__u64 notifications; /* since the table was made */
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

/* The totals of one CPU, by enum sdnmon_total. */
struct sdnmon_totals {
	__u64 packets[SDNMON_TOTALS];
};

/* The counts that an entry had before the first packet of an epoch. */
struct sdnmon_slot {
	__u64 epoch; /* 0: none */
	__u64 packets;
	__u64 bytes;
};

/* An entry of the monitoring table. Its counts are those since it was made. */
struct sdnmon_entry {
	__u64 epoch; /* of the last packet; 0: none came */
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

/* Changes of the table that the user side asks for. */
enum sdnmon_operation {
	SDNMON_ADD,
	SDNMON_REMOVE,
	SDNMON_REMOVE_UNSAMPLED, /* only if it is not sampled, and the controller did not add it */
	SDNMON_SET_NOTIFY,
};

/* Context of the program `change_table`. */
struct sdnmon_change {
	__u32 operation;
	__u32 unused;
	__u64 notify, rearm; /* of SDNMON_SET_NOTIFY */
	struct sdnmon_key key; /* of the other operations */
};

/* Answers of `change_table`. */
enum sdnmon_answer {
	SDNMON_DONE,
	SDNMON_THERE_ALREADY,
	SDNMON_NOT_THERE,
	SDNMON_NO_ROOM, /* the table has as many entries as it may have */
	SDNMON_FAILED,
};
