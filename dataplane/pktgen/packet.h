/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A packet of sfc-pktgen, the same for both engines and for the receiver.
 *
 * The least frame leaves 18 bytes of payload to a UDP datagram and 6 to a TCP SYN. The SYN's own
 * fields carry the rest: its sequence number, its window and the identification of its IP header
 * are free for the sender to choose.
 */
#pragma once

#ifdef __bpf__
#include <linux/in.h>
#else
#include <netinet/in.h> /* the libc's, which excludes the kernel's */
#endif
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>

#include "../common/ip.h"
#include "pktgen.h"

#define PKTGEN_MAGIC 0x5346 /* "SF" */
#define PKTGEN_DONT_FRAGMENT 0x4000
#define PKTGEN_SYN bpf_htons(0x5002) /* data offset 5, SYN and no other flag */

/* Stamp of a packet in the payload of UDP. */
struct pktgen_udp {
	__be16 magic;
	__be32 run;
	__be32 sequence;
	__be16 flow;
	__be16 time[3]; /* lower 48 bits of CLOCK_MONOTONIC in ns */
} __attribute__((packed));

/* Stamp of a packet in the payload of a TCP SYN. The rest of it is in the SYN's own fields. */
struct pktgen_tcp {
	__be16 flow;
	__be32 time; /* lower 32 bits of CLOCK_MONOTONIC in ns: 4.29 s */
} __attribute__((packed));

struct pktgen_packet {
	struct ethhdr eth;
	struct iphdr ip;
	union {
		struct {
			struct udphdr udp;
			struct pktgen_udp udp_stamp;
		} __attribute__((packed));
		struct {
			struct tcphdr tcp;
			struct pktgen_tcp tcp_stamp;
		} __attribute__((packed));
	};
} __attribute__((packed));

_Static_assert(sizeof(struct pktgen_packet) == PKTGEN_HEAD_BYTES, "the least frame is filled");

/* What a stamp says, whichever protocol carries it. */
struct pktgen_stamp {
	__u32 run; /* odd in the warm-up */
	__u32 sequence; /* of all flows together */
	__u32 flow;
	__u64 age_ns; /* time since it was sent; of a SYN modulo 4.29 s */
};

/* Return the Internet checksum for a sum of 16-bit words, which are in host byte order. */
static inline __attribute__((always_inline)) __be16 pktgen_fold(__u32 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return bpf_htons((__u16)~sum);
}

/* Return the sum of both 16-bit words of a number. */
static inline __attribute__((always_inline)) __u32 pktgen_words(__u32 value)
{
	return (value >> 16) + (value & 0xffff);
}

/* Write the first PKTGEN_HEAD_BYTES of a frame of `size` bytes, without FCS. Behind them it must be
 * zero, so the checksum needs no sum over it. `now` is CLOCK_MONOTONIC in ns. */
static inline __attribute__((always_inline)) void
pktgen_write(struct pktgen_packet *packet, const struct pktgen_settings *settings, __u32 size,
	     __u32 sequence, __u32 flow, __u64 now)
{
	__u32 total = size - ETH_HLEN, length = total - sizeof(struct iphdr);
	__u32 port = PKTGEN_FIRST_PORT + flow;
	__u32 turn = settings->sources > 1 ? sequence / settings->flows % settings->sources : 0;
	__u32 source = settings->source + turn * PKTGEN_SOURCE_STEP;
	__u32 sum = settings->transport_sum + pktgen_words(source) + pktgen_words(sequence) + flow +
		    port + length;

	__builtin_memcpy(packet, settings->head, sizeof(*packet));
	packet->ip.tot_len = bpf_htons((__u16)total);
	packet->ip.saddr = bpf_htonl(source);
	packet->ip.check = pktgen_fold(settings->ip_sum + pktgen_words(source) + total);
	if (settings->protocol == IPPROTO_UDP) {
		packet->udp.source = bpf_htons((__u16)port);
		packet->udp.len = bpf_htons((__u16)length);
		packet->udp_stamp.sequence = bpf_htonl(sequence);
		packet->udp_stamp.flow = bpf_htons((__u16)flow);
		packet->udp_stamp.time[0] = bpf_htons((__u16)(now >> 32));
		packet->udp_stamp.time[1] = bpf_htons((__u16)(now >> 16));
		packet->udp_stamp.time[2] = bpf_htons((__u16)now);
		/* UDP has the length in its own header too, not only in the pseudo header. */
		sum += length + ((now >> 32) & 0xffff) + pktgen_words((__u32)now);
		packet->udp.check = pktgen_fold(sum);
		if (!packet->udp.check)
			packet->udp.check = 0xffff; /* 0 means that there is none */
	} else {
		packet->tcp.source = bpf_htons((__u16)port);
		packet->tcp.seq = bpf_htonl(sequence);
		packet->tcp_stamp.flow = bpf_htons((__u16)flow);
		packet->tcp_stamp.time = bpf_htonl((__u32)now);
		packet->tcp.check = pktgen_fold(sum + pktgen_words((__u32)now));
	}
}

/* Return a random number of 32 bits, the upper half of xorshift64* (S. Vigna, An experimental
 * exploration of Marsaglia's xorshift generators, scrambled, 2016). */
static inline __attribute__((always_inline)) __u32 pktgen_random(struct pktgen_state *state)
{
	__u64 x = state->random;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	state->random = x;
	return (__u32)((x * 0x2545f4914f6cdd1dULL) >> 32);
}

/* Is a packet due `now` (CLOCK_MONOTONIC, ns)? If so, put the next one on the schedule. The first
 * call starts the schedule; a call after its end sets state->ended. */
static inline __attribute__((always_inline)) int pktgen_due(const struct pktgen_settings *settings,
							    struct pktgen_state *state, __u64 now)
{
	__u64 elapsed, late, burst;

	if (!state->start_ns)
		state->start_ns = now;
	if (now - state->start_ns >= settings->duration_ns) {
		state->ended = 1;
		return 0;
	}
	if (!settings->interval)
		return 1;
	elapsed = (now - state->start_ns) << PKTGEN_TICKS;
	if (elapsed < state->next)
		return 0;
	late = elapsed - state->next;
	burst = PKTGEN_BURST * settings->interval;
	if (burst < PKTGEN_BURST_NS << PKTGEN_TICKS)
		burst = PKTGEN_BURST_NS << PKTGEN_TICKS;
	/* What was due before the burst must not follow at once: the schedule moves by it, and the
	 * time is owed. */
	if (late > burst) {
		late -= burst;
		state->owed += late;
		state->next += late;
	}
	state->next += settings->interval;
	/* A denser schedule makes it good, packet by packet. */
	if (state->owed) {
		__u64 part = settings->interval / PKTGEN_DENSER;

		if (part > state->owed)
			part = state->owed;
		state->owed -= part;
		state->next -= part;
	}
	return 1;
}

/* Return the flow of the next packet: in turn, or drawn by `picks` (see settings_zipf()). */
static inline __attribute__((always_inline)) __u32
pktgen_flow(const struct pktgen_settings *settings, struct pktgen_state *state,
	    const struct pktgen_pick *picks)
{
	__u32 cell;

	if (!settings->zipf)
		return (__u32)(state->packets % settings->flows);
	cell = (__u32)(((__u64)pktgen_random(state) * settings->flows) >> 32) & (PKTGEN_PICKS - 1);
	return pktgen_random(state) < picks[cell].threshold ? cell : picks[cell].other;
}

/* Return the size of the next packet: bytes without FCS. */
static inline __attribute__((always_inline)) __u32
pktgen_size(const struct pktgen_settings *settings, struct pktgen_state *state)
{
	__u32 place;

	if (settings->size_count < 2)
		return settings->longest;
	place = (__u32)(((__u64)pktgen_random(state) * settings->size_count) >> 32);
	return settings->sizes[place & (PKTGEN_MOST_SIZES - 1)];
}

/* Is this a packet of sfc-pktgen, of this protocol, to this port? If so, read its stamp. `now` is
 * CLOCK_MONOTONIC in ns. */
static inline __attribute__((always_inline)) int pktgen_read(void *start, void *end, __u32 protocol,
							     __be16 port, __u64 now,
							     struct pktgen_stamp *stamp)
{
	struct ethhdr *eth = start;
	struct iphdr *ip = (void *)(eth + 1);

	if ((void *)(ip + 1) > end || eth->h_proto != bpf_htons(ETH_P_IP) || ip->ihl < 5 ||
	    ip->protocol != protocol || (ip->frag_off & bpf_htons(IP_FRAGMENT)))
		return 0;
	if (protocol == IPPROTO_UDP) {
		struct udphdr *udp = (void *)ip + ip->ihl * 4;
		struct pktgen_udp *udp_stamp = (void *)(udp + 1);
		__u64 time;

		if ((void *)(udp_stamp + 1) > end || udp->dest != port ||
		    udp_stamp->magic != bpf_htons(PKTGEN_MAGIC))
			return 0;
		time = (__u64)bpf_ntohs(udp_stamp->time[0]) << 32 |
		       (__u32)bpf_ntohs(udp_stamp->time[1]) << 16 | bpf_ntohs(udp_stamp->time[2]);
		stamp->run = bpf_ntohl(udp_stamp->run);
		stamp->sequence = bpf_ntohl(udp_stamp->sequence);
		stamp->flow = bpf_ntohs(udp_stamp->flow);
		stamp->age_ns = (now - time) & 0xffffffffffffULL;
		return 1;
	} else {
		struct tcphdr *tcp = (void *)ip + ip->ihl * 4;
		struct pktgen_tcp *tcp_stamp = (void *)(tcp + 1);

		/* The seventh 16-bit word of TCP has the data offset and the flags. */
		if ((void *)(tcp_stamp + 1) > end || tcp->dest != port ||
		    *((__be16 *)tcp + 6) != PKTGEN_SYN)
			return 0;
		stamp->run = (__u32)bpf_ntohs(ip->id) << 16 | bpf_ntohs(tcp->window);
		stamp->sequence = bpf_ntohl(tcp->seq);
		stamp->flow = bpf_ntohs(tcp_stamp->flow);
		stamp->age_ns = (__u32)now - bpf_ntohl(tcp_stamp->time);
		return 1;
	}
}
