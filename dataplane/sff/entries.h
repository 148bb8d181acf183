/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel side and the user side of sfc-sff share: tables, reasons, counters. */
#pragma once

#include <linux/types.h>

#define SFF_PORTS 256 /* numbers are 1 to 255; 0: no port */
#define SFF_IFINDEXES 4096 /* ifindexes of ports are below it */
#define SFF_HOPS 4096 /* counters of (SPI, SI) pairs; number 0: none */
#define SFF_PATH_LINES (SFF_HOPS / 2 - 1) /* so few that two generations all get a counter */
#define SFF_HOP_SLOTS 8192 /* slots of a generation, a power of 2; at most a quarter is taken */
#define SFF_PROBES 128 /* so many slots are tried for an entry of a table */
#define SFF_STATIONS 32
#define SFF_ROUTES 255
#define SFF_MASKS 64 /* most different masks of classifier rules */
#define SFF_PROXY_FLOWS 65536 /* flows remembered for SFs that several paths share */
#define SFF_TTL 63 /* TTL of a new NSH, recommended by RFC 8300, 2.2 */
#define SFF_SAMPLING 64 /* one packet in so many is timed; a power of 2 */

/* What is attached to a port. */
enum sff_port_kind {
	SFF_PORT_NONE,
	SFF_PORT_ENDPOINT, /* its packets go through the classifier */
	SFF_PORT_NSH, /* an SF that speaks NSH over Ethernet */
	SFF_PORT_PLAIN, /* an SF behind the SFC proxy */
	SFF_PORT_UNDERLAY, /* a link to other nodes, or an SF that speaks NSH over VXLAN-GPE */
};

#define SFF_TAKES_XDP 1 /* its other end has a NAPI, so it takes frames from XDP */
#define SFF_SHARED 2 /* an SF behind the proxy: packets of several paths come back by this port */
#define SFF_BYPASS_UNPARSED 4 /* endpoints: what cannot be classified bypasses the chain */
#define SFF_RETURNS 8 /* an SF behind the proxy: packets of a path come back by this port */

struct sff_port {
	__u8 kind; /* enum sff_port_kind */
	__u8 flags; /* SFF_TAKES_XDP, ... */
	__u16 mtu; /* bytes of packet, without Ethernet */
	__u32 ifindex;
	__u32 spi; /* RETURNS and not SHARED: path of packets that come back */
	__u8 si; /* RETURNS and not SHARED: SI with which they continue; 0: they are dropped */
	__u8 number;
	__u8 unused[2];
};

enum sff_action {
	SFF_TO_NSH, /* to an SF by NSH over Ethernet */
	SFF_TO_PLAIN, /* through the SFC proxy to an SF */
	SFF_TO_GPE, /* to an SF or to another node's SFF, by NSH over VXLAN-GPE */
	SFF_END, /* the path ends: the packet goes on without NSH */
	SFF_END_GPE, /* the path ends at an endpoint of another node: Ethernet over VXLAN-GPE */
};

/* What happens to packets with one SPI and SI. */
struct sff_hop {
	__u8 action; /* enum sff_action */
	__u8 port; /* where packets leave */
	__u8 from; /* the only port from which packets with this SPI and SI may come; 0: any */
	__u8 back; /* TO_PLAIN: the port where they come back */
	__u32 counter; /* its number; 0: none */
	__u8 dst_mac[6]; /* of frames that leave; unused by END */
	__u8 back_si; /* TO_PLAIN: SI with which they continue; 0: they are dropped */
	__u8 unused;
	__be32 dst_ip; /* *_GPE: where the tunnel ends */
};

/* Tables have a generation, so that all of them change at once. Those of hops and rules are hash
 * tables with open addressing (Knuth, The Art of Computer Programming 3, 6.4) in arrays: an
 * entry is in the slot of its hash or in one of the next. A slot of another generation is free.
 * The kernel's hash maps are not used here, because they touch more cache lines per lookup. */
struct sff_hop_slot {
	__u32 generation;
	__u32 path; /* SPI << 8 | SI */
	struct sff_hop hop;
	__u32 unused;
};

/* The 5-tuple of a packet, and where it came in; also the condition of a classifier rule, in which
 * what the rule leaves open is zero. */
struct sff_tuple {
	union {
		struct {
			__u8 mask; /* of a condition: number of its mask */
			__u8 port; /* where the packet came in */
			__u8 protocol;
			__u8 version; /* of IP: 4 or 6; 0: either */
			__be16 source_port;
			__be16 destination_port;
			__be32 source; /* IPv4, or the start of IPv6 */
			__be32 destination;
			__be32 source_rest[3]; /* of IPv6 */
			__be32 destination_rest[3];
		};
		__u64 words[5];
	};
};

#define SFF_TUPLE_SHORT 2 /* words of a tuple without rests of IPv6 addresses */
#define SFF_TUPLE_REST 3 /* words with these rests, the last 96 bits of each address */

/* A slot for a rule, half a cache line long. Rests of IPv6 addresses are in another table, at the
 * same place. */
struct sff_rule_slot {
	__u64 tuple[SFF_TUPLE_SHORT];
	__u32 generation;
	__u32 has_rest; /* 0: all bits of the rests are 0 */
	__u32 rank; /* the lowest wins */
	__u32 path; /* SPI << 8 | SI */
};

/* The rest of a rule's condition. */
struct sff_rule_rest {
	__u64 tuple[SFF_TUPLE_REST];
};

/* A mask that rules share: which bits of a packet's tuple their conditions compare. */
struct sff_mask {
	struct sff_tuple bits;
	__u32 rank; /* lowest of its rules */
	__u32 ports[SFF_PORTS / 32]; /* a bit for each port that has a rule with this mask */
};

/* Has this port a rule with this mask? */
static inline __attribute__((always_inline)) int sff_mask_has(const struct sff_mask *mask,
							      __u8 port)
{
	return mask->ports[port / 32] >> port % 32 & 1;
}

/* Is a bit set in the rests of the tuple's IPv6 addresses? */
static inline __attribute__((always_inline)) __u32 sff_has_rest(const struct sff_tuple *tuple)
{
	return (tuple->words[2] | tuple->words[3] | tuple->words[4]) != 0;
}

/* Hash a path. The multipliers are those of SplitMix64 (Steele, Lea, Flood: "Fast Splittable
 * Pseudorandom Number Generators", 2014). */
static inline __attribute__((always_inline)) __u32 sff_hash_path(__u32 path)
{
	__u64 hash = path * 0xbf58476d1ce4e5b9ULL;

	/* One product alone would put SPIs at regular distances next to each other. */
	hash ^= hash >> 32;
	return (__u32)(hash * 0x94d049bb133111ebULL >> 32);
}

/* Hash a tuple, with the multipliers of sff_hash_path(). Rests of addresses count only if a bit is
 * set in them. */
static inline __attribute__((always_inline)) __u32 sff_hash_tuple(const struct sff_tuple *tuple)
{
	__u32 count = SFF_TUPLE_SHORT + (sff_has_rest(tuple) ? SFF_TUPLE_REST : 0);
	__u64 hash = 0;

	for (__u32 i = 0; i < SFF_TUPLE_SHORT + SFF_TUPLE_REST && i < count; i++) {
		hash = (hash ^ tuple->words[i]) * 0xbf58476d1ce4e5b9ULL;
		hash ^= hash >> 32;
	}
	return (__u32)(hash * 0x94d049bb133111ebULL >> 32);
}

/* Key of the table of stations: where a MAC address is, for packets that bypass the chain. */
struct sff_station_key {
	__u32 generation;
	__u8 mac[6];
	__u8 unused[2];
};

struct sff_station {
	__u8 action; /* SFF_END or SFF_END_GPE */
	__u8 port; /* where its packets leave */
	__u8 dst_mac[6]; /* END_GPE */
	__be32 dst_ip; /* END_GPE */
};

/* Key of the table of routes: other nodes and SFs, for packets in transit between them. */
struct sff_route_key {
	__u32 generation;
	__be32 address;
};

/* A destination address that stands for the interface where a finished frame leaves, and for the
 * frame's true address. By it the XDP program tells the tc program where the frame goes. The first
 * two bytes are SFF_EXIT_MAC, the last four a code: the place of a hop in `hop_exits` if the true
 * address is the hop's, else ifindex << 20 | hash of the true address, a key of `exits`. */
struct sff_exit_key {
	__u8 mac[6];
	__u8 unused[2];
};

#define SFF_EXIT_MAC 0x0653 /* locally administered */

/* What such an address stands for. */
struct sff_exit {
	__u32 ifindex;
	__u8 mac[6];
	__u8 unused[2];
};

/* What became of packets. */
enum sff_verdict {
	SFF_FORWARDED, /* along a path */
	SFF_BYPASSED, /* between endpoints, or in transit to another node */
	SFF_DROP_FIRST,
	SFF_TRUNCATED = SFF_DROP_FIRST, /* shorter than its headers say */
	SFF_ENCAPSULATION, /* not the encapsulation of the port */
	SFF_VERSION, /* NSH version is not 0 */
	SFF_MD_TYPE, /* neither MD type 1 nor 2 */
	SFF_LENGTH, /* NSH length does not fit the MD type */
	SFF_OAM, /* O bit: this SFF has no OAM procedures (RFC 8300, 2.2) */
	SFF_TTL_EXHAUSTED, /* TTL would become 0 */
	SFF_SI_ZERO, /* SI is 0 */
	SFF_NO_PATH, /* SPI and SI are not in the table */
	SFF_WRONG_PORT, /* SPI and SI are in the table, but the packet comes from another port */
	SFF_NEXT_PROTOCOL, /* NSH carries something other than Ethernet, IPv4, IPv6 */
	SFF_UNPARSED, /* from an endpoint: the classifier cannot read it */
	SFF_NOT_IP, /* no IP packet, though it came back from an SF behind the proxy */
	SFF_NO_FLOW, /* came back from a shared SF, in a flow that never went there */
	SFF_NO_STATION, /* bypasses the chain to an unknown MAC address */
	SFF_OVERSIZE, /* larger than the MTU of the port where it would leave */
	SFF_NO_ROOM, /* the kernel gives no room for headers */
	SFF_VERDICTS,
};

/* Totals of a CPU. All are numbers, which user space adds up. */
struct sff_totals {
	__u64 verdicts[SFF_VERDICTS];
	__u64 seen; /* frames that came in */
	__u64 random; /* state of a generator; its sum means nothing */
	__u64 timed; /* packets whose processing was timed */
	__u64 time_ns; /* time that these took */
};

/* Counter of the packets that were looked up with one SPI and SI, on a CPU. */
struct sff_counter {
	__u64 packets;
	__u64 bytes; /* of frames as they came in */
	__u64 timed; /* as in struct sff_totals */
	__u64 time_ns;
	__u64 traced; /* packets that were recognised at this lookup and the one before */
	__u64 away_ns; /* time of these since the SFF had sent them on */
	__u64 since_first_ns; /* time of these since the SFF had first received them */
};

/* Settings that the user side changes while the programs run. */
struct sff_settings {
	__u32 generation; /* of the tables in use */
	__u32 masks[2]; /* how many there are, by parity of the generation */
	__u32 trace; /* one packet in so many is traced, a power of 2; 0: none */
	__u32 tap; /* every packet goes through the stack, where captures see it */
	__be32 address; /* of this node in the underlay */
	__u8 mac[6]; /* of this node */
};

/* Header in front of a frame that goes round by the tap. */
struct sff_tap_header {
	__u8 macs[12];
	__be16 protocol; /* SFF_TAP_PROTOCOL */
	__u16 ifindex; /* where the frame came in */
};

#define SFF_TAP_PROTOCOL 0x88b5 /* IEEE 802: for local experiments */
