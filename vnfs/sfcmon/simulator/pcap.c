// SPDX-License-Identifier: Apache-2.0
/* pcap (draft-ietf-opsawg-pcap). */
#include <string.h>

#include "trace.h"

#define HEADER_BYTES 24
#define RECORD_BYTES 16
#define MAGIC_US 0xa1b2c3d4
#define MAGIC_NS 0xa1b23c4d
#define LINK_TYPE_MASK 0xffff /* above: length of the frame check sequence */
#define VERSION_MAJOR 2
#define VERSION_MINOR 4

static enum trace_status next_pcap(struct trace *trace, struct packet *packet)
{
	struct input *input = &trace->input;
	const uint8_t *record = input_peek(input, RECORD_BYTES);
	uint64_t ns_per_tick = 1000000000 / trace->interfaces[0].ticks_per_s;
	enum trace_status status;
	uint32_t captured;

	if (!record)
		return input_available(input) ? TRACE_TRUNCATED : TRACE_END;
	captured = trace_u32(trace, record + 8);
	if (captured > FRAME_MOST_BYTES)
		return trace_damaged(trace, "a frame of %u bytes; at most %d can be", captured,
				     FRAME_MOST_BYTES);
	record = input_peek(input, RECORD_BYTES + captured);
	if (!record)
		return TRACE_TRUNCATED;
	packet->ts_ns = trace_u32(trace, record) * 1000000000ULL +
			trace_u32(trace, record + 4) * ns_per_tick;
	status = trace_frame(
		trace,
		&(struct frame){ record + RECORD_BYTES, captured, trace->interfaces[0].link_type },
		packet);
	input_skip(input, RECORD_BYTES + captured);
	return status;
}

static uint32_t swapped_or_not(uint32_t magic)
{
	return magic == MAGIC_US || magic == MAGIC_NS ? magic : __builtin_bswap32(magic);
}

bool pcap_recognised(const uint8_t *head)
{
	uint32_t magic;

	memcpy(&magic, head, sizeof(magic));
	magic = swapped_or_not(magic);
	return magic == MAGIC_US || magic == MAGIC_NS;
}

bool pcap_open(struct trace *trace)
{
	const uint8_t *header = input_peek(&trace->input, HEADER_BYTES);
	uint16_t major, minor;
	uint32_t magic;

	if (!header) {
		trace_damaged(trace, "a header that is cut off");
		return false;
	}
	memcpy(&magic, header, sizeof(magic));
	trace->swapped = magic != swapped_or_not(magic);
	major = trace_u16(trace, header + 4);
	minor = trace_u16(trace, header + 6);
	if (major != VERSION_MAJOR || minor != VERSION_MINOR) {
		trace_damaged(trace, "version %u.%u of pcap; allowed: 2.4", major, minor);
		return false;
	}
	trace->interfaces[0] = (struct capture_interface){
		.link_type = trace_u32(trace, header + 20) & LINK_TYPE_MASK,
		.ticks_per_s = swapped_or_not(magic) == MAGIC_US ? 1000000 : 1000000000,
	};
	input_skip(&trace->input, HEADER_BYTES);
	trace->next = next_pcap;
	return true;
}
