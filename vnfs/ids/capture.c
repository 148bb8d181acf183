// SPDX-License-Identifier: Apache-2.0
/* By the reader of SFCMon's simulator, which also parses each packet as SFCMon does: that is not
 * looked at. */
#include <linux/if_ether.h>

#include "../common/report.h"
#include "../sfcmon/simulator/trace.h"
#include "capture.h"

static struct trace trace;

bool capture_open(const char *name)
{
	return trace_open(&trace, name, (struct path){ 0, 0 }, true);
}

/* What is below a frame's link layer; an EtherType of 0 where it is cut off. */
static struct captured below(const struct frame *frame)
{
	const uint8_t *data = frame->data;
	struct captured captured = { .network = data };
	size_t header, ethertype_at;

	/* Raw IP has no header; the version of IP says what it is. */
	if (!frame_link_layout(frame->link_type, &header, &ethertype_at)) {
		captured.bytes = (uint32_t)frame->bytes;
		if (frame->bytes)
			captured.ethertype = data[0] >> 4 == 6 ? ETH_P_IPV6 : ETH_P_IP;
		return captured;
	}
	if (frame->bytes < header)
		return captured;
	captured.network = data + header;
	captured.bytes = (uint32_t)(frame->bytes - header);
	captured.ethertype = (uint16_t)(data[ethertype_at] << 8 | data[ethertype_at + 1]);
	return captured;
}

enum capture_status capture_next(struct captured *frame)
{
	struct packet packet = { 0 };

	switch (trace.next(&trace, &packet)) {
	case TRACE_PACKET:
		break;
	case TRACE_TRUNCATED:
		complain("%s ends within a packet", trace.input.name);
		return CAPTURE_END;
	case TRACE_END:
		return CAPTURE_END;
	default:
		return CAPTURE_UNREADABLE;
	}
	if (!trace.frame.data) {
		complain("%s has no frames; allowed: pcap, pcapng", trace.input.name);
		return CAPTURE_UNREADABLE;
	}
	*frame = below(&trace.frame);
	frame->time_ns = packet.ts_ns;
	return CAPTURE_FRAME;
}
