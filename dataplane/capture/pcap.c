// SPDX-License-Identifier: Apache-2.0
/* Reads pcap (draft-ietf-opsawg-pcap). */
#include <string.h>

#include "damage.h"
#include "formats.h"

#define HEADER_BYTES 24
#define RECORD_BYTES 16
#define MAGIC_US 0xa1b2c3d4
#define MAGIC_NS 0xa1b23c4d
#define LINK_TYPE_MASK 0xffff /* above: length of the frame check sequence */
#define VERSION_MAJOR 2
#define VERSION_MINOR 4

/* Read the next frame. In front of it, a record has four numbers of 32 bits: seconds, ticks,
 * captured bytes, and the length that the frame had on the wire. */
static enum capture_status next_pcap(struct capture *capture, struct frame *frame)
{
	struct input *input = &capture->input;
	const uint8_t *record = input_peek(input, RECORD_BYTES);
	uint64_t ns_per_tick = 1000000000 / capture->interfaces[0].ticks_per_s;
	enum capture_status status;
	uint32_t captured;

	if (!record)
		return input_available(input) ? CAPTURE_TRUNCATED : CAPTURE_END;
	captured = capture_u32(capture, record + 8);
	if (captured > FRAME_MOST_BYTES)
		return capture_damaged(capture, "a frame of %u bytes; at most %d can be", captured,
				       FRAME_MOST_BYTES);
	record = input_peek(input, RECORD_BYTES + captured);
	if (!record)
		return CAPTURE_TRUNCATED;
	*frame = (struct frame){
		.data = record + RECORD_BYTES,
		.bytes = captured,
		.link_type = capture->interfaces[0].link_type,
		.time_ns = capture_u32(capture, record) * 1000000000ULL +
			   capture_u32(capture, record + 4) * ns_per_tick,
	};
	status = capture_check_link(capture, frame); /* its complaint names the record's place */
	input_skip(input, RECORD_BYTES + captured);
	return status;
}

/* Return a magic number of pcap in this machine's byte order. Any other number is swapped. */
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

bool pcap_begin(struct capture *capture)
{
	const uint8_t *header = input_peek(&capture->input, HEADER_BYTES);
	uint16_t major, minor;
	uint32_t magic;

	if (!header) {
		capture_damaged(capture, "a header that is cut off");
		return false;
	}
	memcpy(&magic, header, sizeof(magic));
	capture->swapped = magic != swapped_or_not(magic);
	major = capture_u16(capture, header + 4);
	minor = capture_u16(capture, header + 6);
	if (major != VERSION_MAJOR || minor != VERSION_MINOR) {
		capture_damaged(capture, "version %u.%u of pcap; allowed: 2.4", major, minor);
		return false;
	}
	capture->interfaces[0] = (struct capture_interface){
		.link_type = capture_u32(capture, header + 20) & LINK_TYPE_MASK,
		.ticks_per_s = swapped_or_not(magic) == MAGIC_US ? 1000000 : 1000000000,
	};
	input_skip(&capture->input, HEADER_BYTES);
	capture->next = next_pcap;
	return true;
}
