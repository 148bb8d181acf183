// SPDX-License-Identifier: Apache-2.0
/* pcapng (draft-ietf-opsawg-pcapng). */
#include <string.h>

#include "trace.h"
#include "../../common/report.h"

#define BLOCK_SECTION 0x0a0d0d0a
#define BLOCK_INTERFACE 1
#define BLOCK_SIMPLE_PACKET 3
#define BLOCK_PACKET 6 /* enhanced */
#define BYTE_ORDER_MAGIC 0x1a2b3c4d
#define OPTION_RESOLUTION 9
#define OPTION_OFFSET 14
#define HEAD_BYTES 8 /* type and length */
#define TAIL_BYTES 4 /* the length again */
#define LARGEST_BLOCK (FRAME_MOST_BYTES + (1 << 18)) /* a frame with much commented to it */

static enum trace_status damaged(const struct trace *trace, const char *what)
{
	complain("%s: at byte %llu, %s", trace->input.name, (unsigned long long)trace->input.used,
		 what);
	return TRACE_DAMAGED;
}

static uint64_t read_u64(const struct trace *trace, const uint8_t *bytes)
{
	uint64_t number;

	memcpy(&number, bytes, sizeof(number));
	return trace->swapped ? __builtin_bswap64(number) : number;
}

/* if_tsresol (section 4.2): a power of 10, or of 2 with the highest bit set. 0: out of range. */
static uint64_t ticks_per_s(uint8_t resolution)
{
	uint64_t ticks = 1;

	if (resolution & 0x80)
		return (resolution & 0x7f) < 40 ? 1ULL << (resolution & 0x7f) : 0;
	if (resolution > 12)
		return 0;
	while (resolution--)
		ticks *= 10;
	return ticks;
}

static enum trace_status add_interface(struct trace *trace, const uint8_t *body, size_t bytes)
{
	struct capture_interface *interface = &trace->interfaces[trace->interface_count];

	if (trace->interface_count == PCAPNG_INTERFACES)
		return damaged(trace, "more than 256 interfaces in a section");
	if (bytes < 8)
		return damaged(trace, "an interface block that is too short");
	*interface = (struct capture_interface){ trace_u16(trace, body), 1000000, 0 };
	for (size_t at = 8; at + 4 <= bytes;) {
		uint16_t code = trace_u16(trace, body + at);
		uint16_t length = trace_u16(trace, body + at + 2);

		if (code == 0)
			break;
		if (at + 4 + length > bytes)
			return damaged(trace, "an option that is longer than its block");
		if (code == OPTION_RESOLUTION && length == 1)
			interface->ticks_per_s = ticks_per_s(body[at + 4]);
		if (code == OPTION_OFFSET && length == 8)
			interface->offset_s = read_u64(trace, body + at + 4);
		at += 4 + (length + 3UL) / 4 * 4;
	}
	if (!interface->ticks_per_s)
		return damaged(trace, "a resolution of time stamps that is not supported");
	if (!frame_link_known(interface->link_type)) {
		complain("%s: frames of link type %u are not supported; allowed: Ethernet, raw IP, "
			 "Linux cooked",
			 trace->input.name, interface->link_type);
		return TRACE_DAMAGED;
	}
	trace->interface_count++;
	return TRACE_PACKET;
}

static enum trace_status read_packet(struct trace *trace, const uint8_t *body, size_t bytes,
				     struct packet *packet)
{
	const struct capture_interface *interface;
	uint64_t ticks;
	uint32_t captured;

	if (bytes < 20 || trace_u32(trace, body) >= trace->interface_count)
		return damaged(trace, "a packet of an unknown interface");
	interface = &trace->interfaces[trace_u32(trace, body)];
	ticks = (uint64_t)trace_u32(trace, body + 4) << 32 | trace_u32(trace, body + 8);
	captured = trace_u32(trace, body + 12);
	if (captured > bytes - 20)
		return damaged(trace, "a frame that is longer than its block");
	packet->ts_ns = (interface->offset_s + ticks / interface->ticks_per_s) * 1000000000 +
			(uint64_t)((unsigned __int128)(ticks % interface->ticks_per_s) *
				   1000000000 / interface->ticks_per_s);
	trace->last_ns = packet->ts_ns;
	trace_frame(trace, body + 20, captured, interface->link_type, packet);
	return TRACE_PACKET;
}

/* A simple packet has neither a time nor the number of captured bytes. */
static enum trace_status read_simple_packet(struct trace *trace, const uint8_t *body, size_t bytes,
					    struct packet *packet)
{
	uint32_t original;

	if (bytes < 4 || !trace->interface_count)
		return damaged(trace, "a simple packet without an interface");
	original = trace_u32(trace, body);
	packet->ts_ns = trace->last_ns;
	trace_frame(trace, body + 4, original < bytes - 4 ? original : bytes - 4,
		    trace->interfaces[0].link_type, packet);
	return TRACE_PACKET;
}

static bool enter_section(struct trace *trace, const uint8_t *block)
{
	uint32_t magic;

	memcpy(&magic, block + HEAD_BYTES, sizeof(magic));
	trace->swapped = magic == __builtin_bswap32(BYTE_ORDER_MAGIC);
	trace->interface_count = 0;
	return trace->swapped || magic == BYTE_ORDER_MAGIC;
}

static enum trace_status next_pcapng(struct trace *trace, struct packet *packet)
{
	struct input *input = &trace->input;
	const uint8_t *block;

	while ((block = input_peek(input, HEAD_BYTES + TAIL_BYTES))) {
		uint32_t type = trace_u32(trace, block), length;
		enum trace_status status = TRACE_PACKET;

		if (type == BLOCK_SECTION && !enter_section(trace, block))
			return damaged(trace, "a section of unknown byte order");
		length = trace_u32(trace, block + 4);
		if (length % 4 || length < HEAD_BYTES + TAIL_BYTES || length > LARGEST_BLOCK)
			return damaged(trace, "a block of an impossible length");
		block = input_peek(input, length);
		if (!block)
			return TRACE_TRUNCATED;
		block += HEAD_BYTES;
		length -= HEAD_BYTES + TAIL_BYTES;
		if (type == BLOCK_INTERFACE)
			status = add_interface(trace, block, length);
		else if (type == BLOCK_PACKET)
			status = read_packet(trace, block, length, packet);
		else if (type == BLOCK_SIMPLE_PACKET)
			status = read_simple_packet(trace, block, length, packet);
		if (status == TRACE_DAMAGED)
			return status;
		input_skip(input, length + HEAD_BYTES + TAIL_BYTES);
		if (type == BLOCK_PACKET || type == BLOCK_SIMPLE_PACKET)
			return TRACE_PACKET;
	}
	return input_available(input) ? TRACE_TRUNCATED : TRACE_END;
}

bool pcapng_open(struct trace *trace)
{
	trace->next = next_pcapng;
	return true;
}
