/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What the programs know of a packet, and their scratch memory. */
#pragma once

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/pkt_cls.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "../../common/ip.h"
#include "../../nsh/nsh.h"
#include "../pptmon.h"

#define MAX_MOVED 0x4000 /* bytes of a frame: jumbo frames fit */

/* A length from 1 to `most`, a power of two, in a form that the verifier of Linux 6.1 understands:
 * it learns nothing from a comparison with 0. */
#define BOUNDED(length, most)                                                                      \
	({                                                                                         \
		__u32 _length = (length);                                                          \
		asm volatile("" : "+r"(_length));                                                  \
		((_length - 1) & ((most)-1)) + 1;                                                  \
	})

/* A packet as locate(), and then find_ours(), found it. Places are offsets from the start of the
 * frame. */
struct packet {
	__u32 length; /* of the frame */
	__u32 outer_ip; /* 0: no VXLAN-GPE around */
	__u32 outer_udp;
	__u32 nsh; /* 0: none */
	__u32 nsh_bytes;
	__u32 ip; /* 0: none inside NSH */
	__u32 l4; /* 0: neither TCP nor UDP */
	__u32 l4_bytes; /* TCP: header with options; UDP: its length field */
	__u32 ip_end; /* behind the last byte of the IP datagram */
	__u32 gso_size;
	__u32 checksum_start; /* CHECKSUM_PARTIAL: where it starts; 0: others */
	__u32 outer_sum; /* of the outer UDP and its length, before the change */
	__u16 outer_check; /* 0: it uses none */
	__u8 version; /* of IP: 4 or 6 */
	__u8 outer_version;
	__u8 protocol;
	__u8 tagged; /* 1: VLAN tags are in the frame */
	__u8 md_type;
	/* A header of ours, when one was found. */
	__u8 carrier; /* enum ppt_carrier */
	__u8 format; /* enum ppt_format, of a header in TCP or UDP */
	__u8 metric; /* enum ppt_metric */
	__u8 flags; /* PPT_FLAG_TRUNCATED, or 0 */
	__u16 sample;
	__u32 at; /* where it begins; 0: none was found */
	__u32 bytes; /* its length; NSH: of the value of the first context header */
	__u32 hops_at; /* the newest hop */
	__u32 hop_count; /* NSH: in the first context header */
	__u32 total; /* what the sink removes: UDP: the surplus area; NSH: all contexts of ours */
	__u32 take_from; /* where that begins */
	__u32 source_clock_us;
};

/* Per CPU: BPF's stack is too small for packets, and bottom halves are off, so that no other packet
 * comes between. */
struct work {
	struct packet packet;
	struct ppt_event event;
	__u8 small[512]; /* headers that are moved */
	__u8 added[64]; /* a header of ours that is being built */
	__u8 moved[MAX_MOVED + 512];
};
