/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What a VNF writes about a packet that enters, and when. */
#pragma once

#include "header.bpf.h"
#include "state.bpf.h"

/* Return the hop's value while the packet is inside the VNF. For the time it is the low 24 bits of
 * the clock: NSH's hop has 16, so the upper ones are in the reserved byte of the context header
 * meanwhile. For the delay it is the final value: in TCP and UDP the clock, in NSH the time since
 * the source. */
static __always_inline __u32 first_value(const struct packet *packet, __u64 now_ns)
{
	__u32 since;

	if (packet->metric == PPT_METRIC_TIME)
		return (__u32)(now_ns / 1000) & PPT_VALUE_MAX;
	if (packet->carrier != PPT_CARRIER_NSH)
		return (__u32)tai_us() & PPT_VALUE_MAX;
	since = (__u32)tai_us() - packet->source_clock_us;
	return to_float(since);
}

/* Write this VNF's hop: 3 bytes in NSH, else 4. */
static __always_inline void put_hop(__u8 *hop, const struct packet *packet, __u32 value)
{
	hop[0] = settings.vnf_id;
	if (packet->carrier == PPT_CARRIER_NSH) {
		hop[1] = (__u8)(value >> 8);
		hop[2] = (__u8)value;
	} else {
		hop[1] = (__u8)(value >> 16);
		hop[2] = (__u8)(value >> 8);
		hop[3] = (__u8)value;
	}
}

/* Return the place of a packet with this token; NULL for the verifier alone. */
static __always_inline struct transit *transit_of(__u32 token)
{
	__u32 slot = token & (IN_FLIGHT_SLOTS - 1);

	return bpf_map_lookup_elem(&in_flight, &slot);
}

/* Keep when the packet with this token entered. It is the last step: from here on the time is the
 * VNF's. */
static __always_inline void start_clock(const struct packet *packet, __u32 token)
{
	struct transit *transit = transit_of(token);

	if (packet->metric != PPT_METRIC_TIME || !transit)
		return;
	transit->token = token;
	transit->used = 1;
	transit->entered_ns = bpf_ktime_get_ns();
}
