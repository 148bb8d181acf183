// SPDX-License-Identifier: Apache-2.0
/* pcapng (draft-ietf-opsawg-pcapng). */
#include <string.h>

#include "trace.h"

#define BLOCK_SECTION 0x0a0d0d0a
#define BLOCK_INTERFACE 1
#define BLOCK_OLD_PACKET 2 /* which the draft calls obsolete */
#define BLOCK_SIMPLE_PACKET 3
#define BLOCK_PACKET 6 /* enhanced */
#define BYTE_ORDER_MAGIC 0x1a2b3c4d
#define OPTION_RESOLUTION 9
#define OPTION_OFFSET 14
#define HEAD_BYTES 8 /* type and length */
#define TAIL_BYTES 4 /* the length again */
#define PACKET_BYTES 20 /* before a frame */
#define LARGEST_BLOCK (FRAME_MOST_BYTES + (1 << 18)) /* a frame with much commented to it */

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
		return trace_damaged(trace, "more than 256 interfaces in a section");
	if (bytes < 8)
		return trace_damaged(trace, "an interface block that is too short");
	*interface = (struct capture_interface){
		.link_type = trace_u16(trace, body),
		.most_bytes = trace_u32(trace, body + 4),
		.ticks_per_s = 1000000,
	};
	for (size_t at = 8; at + 4 <= bytes;) {
		uint16_t code = trace_u16(trace, body + at);
		uint16_t length = trace_u16(trace, body + at + 2);

		if (code == 0)
			break;
		if (at + 4 + length > bytes)
			return trace_damaged(trace, "an option that is longer than its block");
		if (code == OPTION_RESOLUTION && length == 1)
			interface->ticks_per_s = ticks_per_s(body[at + 4]);
		if (code == OPTION_OFFSET && length == 8)
			interface->offset_s = read_u64(trace, body + at + 4);
		at += 4 + (length + 3UL) / 4 * 4;
	}
	trace->interface_count++;
	return TRACE_NONE;
}

/* Both kinds of packets that have a time; they differ in the width of the interface's number. */
static enum trace_status read_packet(struct trace *trace, uint32_t number, const uint8_t *body,
				     size_t bytes, struct packet *packet)
{
	const struct capture_interface *interface;
	uint64_t ticks;
	uint32_t captured;

	if (number >= trace->interface_count)
		return trace_damaged(trace, "a packet of an unknown interface");
	interface = &trace->interfaces[number];
	if (!interface->ticks_per_s)
		return trace_damaged(trace, "a resolution of time stamps that is not supported");
	ticks = (uint64_t)trace_u32(trace, body + 4) << 32 | trace_u32(trace, body + 8);
	captured = trace_u32(trace, body + 12);
	if (captured > bytes - PACKET_BYTES)
		return trace_damaged(trace, "a frame that is longer than its block");
	packet->ts_ns = (interface->offset_s + ticks / interface->ticks_per_s) * 1000000000 +
			(uint64_t)((unsigned __int128)(ticks % interface->ticks_per_s) *
				   1000000000 / interface->ticks_per_s);
	trace->last_ns = packet->ts_ns;
	return trace_frame(trace,
			   &(struct frame){ body + PACKET_BYTES, captured, interface->link_type },
			   packet);
}

/* A simple packet has neither a time nor the number of captured bytes. */
static enum trace_status read_simple_packet(struct trace *trace, const uint8_t *body, size_t bytes,
					    struct packet *packet)
{
	const struct capture_interface *interface = &trace->interfaces[0];
	uint32_t captured;

	if (bytes < 4 || !trace->interface_count)
		return trace_damaged(trace, "a simple packet without an interface");
	captured = trace_u32(trace, body);
	if (interface->most_bytes && captured > interface->most_bytes)
		captured = interface->most_bytes;
	if ((captured + 3UL) / 4 * 4 != bytes - 4)
		return trace_damaged(trace, "a packet block of another length than its frame");
	packet->ts_ns = trace->last_ns;
	return trace_frame(trace, &(struct frame){ body + 4, captured, interface->link_type },
			   packet);
}

static bool enter_section(struct trace *trace, const uint8_t *block)
{
	uint32_t magic;

	memcpy(&magic, block + HEAD_BYTES, sizeof(magic));
	trace->swapped = magic == __builtin_bswap32(BYTE_ORDER_MAGIC);
	trace->interface_count = 0;
	return trace->swapped || magic == BYTE_ORDER_MAGIC;
}

static enum trace_status read_block(struct trace *trace, uint32_t type, const uint8_t *body,
				    size_t bytes, struct packet *packet)
{
	if ((type == BLOCK_PACKET || type == BLOCK_OLD_PACKET) && bytes < PACKET_BYTES)
		return trace_damaged(trace, "a packet block that is too short");
	switch (type) {
	case BLOCK_INTERFACE:
		return add_interface(trace, body, bytes);
	case BLOCK_PACKET:
		return read_packet(trace, trace_u32(trace, body), body, bytes, packet);
	case BLOCK_OLD_PACKET:
		return read_packet(trace, trace_u16(trace, body), body, bytes, packet);
	case BLOCK_SIMPLE_PACKET:
		return read_simple_packet(trace, body, bytes, packet);
	default: /* statistics, names, comments, what others have defined: no packets */
		return TRACE_NONE;
	}
}

/* Make a whole block available; `length` gets that of its body. NULL: `status` says why. */
static const uint8_t *next_block(struct trace *trace, uint32_t *type, size_t *length,
				 enum trace_status *status)
{
	struct input *input = &trace->input;
	const uint8_t *block = input_peek(input, HEAD_BYTES + TAIL_BYTES);

	*status = input_available(input) ? TRACE_TRUNCATED : TRACE_END;
	if (!block)
		return NULL;
	*type = trace_u32(trace, block);
	if (*type == BLOCK_SECTION && !enter_section(trace, block)) {
		*status = trace_damaged(trace, "a section of unknown byte order");
		return NULL;
	}
	*length = trace_u32(trace, block + 4);
	if (*length % 4 || *length < HEAD_BYTES + TAIL_BYTES || *length > LARGEST_BLOCK) {
		*status = trace_damaged(trace, "a block of an impossible length");
		return NULL;
	}
	block = input_peek(input, *length);
	if (!block) {
		*status = TRACE_TRUNCATED;
	} else if (trace_u32(trace, block + *length - TAIL_BYTES) != *length) {
		*status = trace_damaged(trace, "a block whose two lengths differ");
		block = NULL;
	}
	return block;
}

static enum trace_status next_pcapng(struct trace *trace, struct packet *packet)
{
	enum trace_status status;
	const uint8_t *block;
	uint32_t type;
	size_t length;

	while ((block = next_block(trace, &type, &length, &status))) {
		status = read_block(trace, type, block + HEAD_BYTES,
				    length - HEAD_BYTES - TAIL_BYTES, packet);
		if (status == TRACE_DAMAGED)
			return status;
		input_skip(&trace->input, length);
		if (status == TRACE_PACKET)
			return status;
	}
	return status;
}

bool pcapng_open(struct trace *trace)
{
	trace->next = next_pcapng;
	return true;
}
