// SPDX-License-Identifier: Apache-2.0
/* pcap (draft-ietf-opsawg-pcap). */
#include <string.h>

#include "trace.h"
#include "../../common/report.h"

#define HEADER_BYTES 24
#define RECORD_BYTES 16
#define MAGIC_US 0xa1b2c3d4
#define MAGIC_NS 0xa1b23c4d
#define LINK_TYPE_MASK 0xffff /* above: length of the frame check sequence */

static enum trace_status next_pcap(struct trace *trace, struct packet *packet)
{
	struct input *input = &trace->input;
	const uint8_t *record = input_peek(input, RECORD_BYTES);
	uint64_t ns_per_tick = 1000000000 / trace->interfaces[0].ticks_per_s;
	uint32_t captured;

	if (!record)
		return input_available(input) ? TRACE_TRUNCATED : TRACE_END;
	captured = trace_u32(trace, record + 8);
	if (captured > FRAME_MOST_BYTES) {
		complain("%s: at byte %llu, a frame of %u bytes; at most %d can be", input->name,
			 (unsigned long long)input->used, captured, FRAME_MOST_BYTES);
		return TRACE_DAMAGED;
	}
	record = input_peek(input, RECORD_BYTES + captured);
	if (!record)
		return TRACE_TRUNCATED;
	packet->ts_ns = trace_u32(trace, record) * 1000000000ULL +
			trace_u32(trace, record + 4) * ns_per_tick;
	trace_frame(trace, record + RECORD_BYTES, captured, trace->interfaces[0].link_type, packet);
	input_skip(input, RECORD_BYTES + captured);
	return TRACE_PACKET;
}

bool pcap_open(struct trace *trace)
{
	const uint8_t *header = input_peek(&trace->input, HEADER_BYTES);
	const char *name = trace->input.name;
	uint32_t magic = header ? trace_u32(trace, header) : 0;

	if (magic == __builtin_bswap32(MAGIC_US) || magic == __builtin_bswap32(MAGIC_NS)) {
		trace->swapped = true;
		magic = __builtin_bswap32(magic);
	}
	if (magic != MAGIC_US && magic != MAGIC_NS) {
		complain("%s: not a trace; allowed: pcap, pcapng, or CSV with a line of column "
			 "names",
			 name);
		return false;
	}
	trace->interfaces[0] = (struct capture_interface){
		.link_type = trace_u32(trace, header + 20) & LINK_TYPE_MASK,
		.ticks_per_s = magic == MAGIC_US ? 1000000 : 1000000000,
	};
	if (!frame_link_known(trace->interfaces[0].link_type)) {
		complain("%s: frames of link type %u are not supported; allowed: Ethernet, raw IP, "
			 "Linux cooked",
			 name, trace->interfaces[0].link_type);
		return false;
	}
	input_skip(&trace->input, HEADER_BYTES);
	trace->next = next_pcap;
	return true;
}
