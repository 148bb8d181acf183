// SPDX-License-Identifier: Apache-2.0
/* Reads pcapng (draft-ietf-opsawg-pcapng). */
#include <string.h>

#include "damage.h"
#include "formats.h"

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
#define LARGEST_BLOCK (FRAME_MOST_BYTES + (1 << 18)) /* a frame with long comments */

/* Return the ticks per second that if_tsresol says (section 4.2): a power of 10, or of 2 if the
 * highest bit is set. 0: out of range. */
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

/* Take an interface block: link type, limit of captured bytes, and options for time stamps. Returns
 * CAPTURE_NOTHING, since it has no frame, or CAPTURE_DAMAGED. */
static enum capture_status add_interface(struct capture *capture, const uint8_t *body, size_t bytes)
{
	struct capture_interface *interface = &capture->interfaces[capture->interface_count];

	if (capture->interface_count == PCAPNG_INTERFACES)
		return capture_damaged(capture, "more than 256 interfaces in a section");
	if (bytes < 8)
		return capture_damaged(capture, "an interface block that is too short");
	*interface = (struct capture_interface){
		.link_type = capture_u16(capture, body),
		.most_bytes = capture_u32(capture, body + 4),
		.ticks_per_s = 1000000,
	};
	/* An option has a code, a length, and a value that is padded to 32 bits. The code 0 ends
	 * the options. */
	for (size_t at = 8; at + 4 <= bytes;) {
		uint16_t code = capture_u16(capture, body + at);
		uint16_t length = capture_u16(capture, body + at + 2);

		if (code == 0)
			break;
		if (at + 4 + length > bytes)
			return capture_damaged(capture, "an option that is longer than its block");
		if (code == OPTION_RESOLUTION && length == 1)
			interface->ticks_per_s = ticks_per_s(body[at + 4]);
		if (code == OPTION_OFFSET && length == 8)
			interface->offset_s = capture_u64(capture, body + at + 4);
		at += 4 + (length + 3UL) / 4 * 4;
	}
	capture->interface_count++;
	return CAPTURE_NOTHING;
}

/* Read a packet block that has a time: the interface's `number`, ticks (upper half first), captured
 * bytes, length on the wire, and the frame. Both kinds of these blocks differ only in the width of
 * the number. */
static enum capture_status read_packet(struct capture *capture, uint32_t number,
				       const uint8_t *body, size_t bytes, struct frame *frame)
{
	const struct capture_interface *interface;
	uint64_t ticks;
	uint32_t captured;

	if (number >= capture->interface_count)
		return capture_damaged(capture, "a packet of an unknown interface");
	interface = &capture->interfaces[number];
	if (!interface->ticks_per_s)
		return capture_damaged(capture,
				       "a resolution of time stamps that is not supported");
	ticks = (uint64_t)capture_u32(capture, body + 4) << 32 | capture_u32(capture, body + 8);
	captured = capture_u32(capture, body + 12);
	if (captured > bytes - PACKET_BYTES)
		return capture_damaged(capture, "a frame that is longer than its block");
	/* Whole seconds apart from the rest: with 128 bits, its product does not overflow. */
	capture->last_ns = (interface->offset_s + ticks / interface->ticks_per_s) * 1000000000 +
			   (uint64_t)((unsigned __int128)(ticks % interface->ticks_per_s) *
				      1000000000 / interface->ticks_per_s);
	*frame = (struct frame){
		.data = body + PACKET_BYTES,
		.bytes = captured,
		.link_type = interface->link_type,
		.time_ns = capture->last_ns,
	};
	return capture_check_link(capture, frame);
}

/* Read a simple packet block. It has neither a time nor the number of captured bytes: it gets
 * the time of the packet before it. */
static enum capture_status read_simple_packet(struct capture *capture, const uint8_t *body,
					      size_t bytes, struct frame *frame)
{
	const struct capture_interface *interface = &capture->interfaces[0];
	uint32_t captured;

	if (bytes < 4 || !capture->interface_count)
		return capture_damaged(capture, "a simple packet without an interface");
	captured = capture_u32(capture, body);
	if (interface->most_bytes && captured > interface->most_bytes)
		captured = interface->most_bytes;
	if ((captured + 3UL) / 4 * 4 != bytes - 4)
		return capture_damaged(capture, "a packet block of another length than its frame");
	*frame = (struct frame){
		.data = body + 4,
		.bytes = captured,
		.link_type = interface->link_type,
		.time_ns = capture->last_ns,
	};
	return capture_check_link(capture, frame);
}

/* Begin a section: find out its byte order, and forget the interfaces. Returns false if the byte
 * order is not known. */
static bool enter_section(struct capture *capture, const uint8_t *block)
{
	uint32_t magic;

	memcpy(&magic, block + HEAD_BYTES, sizeof(magic));
	capture->swapped = magic == __builtin_bswap32(BYTE_ORDER_MAGIC);
	capture->interface_count = 0;
	return capture->swapped || magic == BYTE_ORDER_MAGIC;
}

/* Take a block. Returns CAPTURE_FRAME if it has a frame, CAPTURE_NOTHING if it has none, or
 * CAPTURE_DAMAGED. `bytes` is the length of its body. */
static enum capture_status read_block(struct capture *capture, uint32_t type, const uint8_t *body,
				      size_t bytes, struct frame *frame)
{
	if ((type == BLOCK_PACKET || type == BLOCK_OLD_PACKET) && bytes < PACKET_BYTES)
		return capture_damaged(capture, "a packet block that is too short");
	switch (type) {
	case BLOCK_INTERFACE:
		return add_interface(capture, body, bytes);
	case BLOCK_PACKET:
		return read_packet(capture, capture_u32(capture, body), body, bytes, frame);
	case BLOCK_OLD_PACKET:
		return read_packet(capture, capture_u16(capture, body), body, bytes, frame);
	case BLOCK_SIMPLE_PACKET:
		return read_simple_packet(capture, body, bytes, frame);
	default: /* statistics, names, comments, what others have defined: no packets */
		return CAPTURE_NOTHING;
	}
}

/* Make a whole block available, and return it. `type` gets its type, `length` its length with head
 * and tail. Returns NULL if there is none; `status` says why. */
static const uint8_t *next_block(struct capture *capture, uint32_t *type, size_t *length,
				 enum capture_status *status)
{
	struct input *input = &capture->input;
	const uint8_t *block = input_peek(input, HEAD_BYTES + TAIL_BYTES);

	*status = input_available(input) ? CAPTURE_TRUNCATED : CAPTURE_END;
	if (!block)
		return NULL;
	*type = capture_u32(capture, block);
	/* The length is read only then, because a section may change the byte order. */
	if (*type == BLOCK_SECTION && !enter_section(capture, block)) {
		*status = capture_damaged(capture, "a section of unknown byte order");
		return NULL;
	}
	*length = capture_u32(capture, block + 4);
	if (*length % 4 || *length < HEAD_BYTES + TAIL_BYTES || *length > LARGEST_BLOCK) {
		*status = capture_damaged(capture, "a block of an impossible length");
		return NULL;
	}
	block = input_peek(input, *length);
	if (!block) {
		*status = CAPTURE_TRUNCATED;
	} else if (capture_u32(capture, block + *length - TAIL_BYTES) != *length) {
		*status = capture_damaged(capture, "a block whose two lengths differ");
		block = NULL;
	}
	return block;
}

/* Read blocks up to the next one that has a frame. */
static enum capture_status next_pcapng(struct capture *capture, struct frame *frame)
{
	enum capture_status status;
	const uint8_t *block;
	uint32_t type;
	size_t length;

	while ((block = next_block(capture, &type, &length, &status))) {
		status = read_block(capture, type, block + HEAD_BYTES,
				    length - HEAD_BYTES - TAIL_BYTES, frame);
		if (status == CAPTURE_DAMAGED)
			return status;
		/* A frame stays where it is until the next call. */
		input_skip(&capture->input, length);
		if (status == CAPTURE_FRAME)
			return status;
	}
	return status;
}

bool pcapng_begin(struct capture *capture)
{
	capture->next = next_pcapng;
	return true;
}
