// SPDX-License-Identifier: Apache-2.0
/* Opens traces, and reads captures and binary records. */
#include <string.h>

#include "../../../dataplane/common/report.h"
#include "trace.h"

/* A packet as a program writes it, in the machine's byte order. */
struct record {
	uint64_t ts_ns;
	uint32_t size;
	uint16_t src_port, dst_port;
	uint8_t version, proto;
	uint8_t zero[6];
	uint8_t src[16], dst[16]; /* IPv4: the first 4 bytes */
};

/* Read the next packet of a capture. */
static enum trace_status next_captured(struct trace *trace, struct packet *packet)
{
	switch (trace->capture.next(&trace->capture, &trace->frame)) {
	case CAPTURE_FRAME:
		packet->ts_ns = trace->frame.time_ns;
		frame_parse(&trace->frame, trace->nsh_only ? NULL : &trace->path, packet);
		return TRACE_PACKET;
	case CAPTURE_END:
		return TRACE_END;
	case CAPTURE_TRUNCATED:
		return TRACE_TRUNCATED;
	default:
		return TRACE_DAMAGED;
	}
}

/* Read the next record. */
static enum trace_status next_record(struct trace *trace, struct packet *packet)
{
	const struct record *record =
		(const void *)input_peek(&trace->capture.input, sizeof(*record));
	uint8_t *key = (uint8_t *)packet->key;
	size_t address;

	if (!record)
		return input_available(&trace->capture.input) ? TRACE_TRUNCATED : TRACE_END;
	address = record->version == 6 ? 16 : 4;
	packet->ts_ns = record->ts_ns;
	packet->size = record->size;
	packet->words = record->version == 6 ? SFCMON_IPV6_WORDS : SFCMON_IPV4_WORDS;
	packet->key[0] = key_path(trace->path);
	packet->key[1] = key_protocol(record->proto, record->version == 6 ? 6 : 4);
	/* The bytes of the key are source port, destination port, in network byte order. */
	packet->key[2] = (uint32_t)__builtin_bswap16(record->dst_port) << 16 |
			 __builtin_bswap16(record->src_port);
	memcpy(key + 4UL * SFCMON_SOURCE_WORD, record->src, address);
	memcpy(key + 4UL * SFCMON_SOURCE_WORD + address, record->dst, address);
	input_skip(&trace->capture.input, sizeof(*record));
	return TRACE_PACKET;
}

static bool records_open(struct trace *trace)
{
	input_skip(&trace->capture.input, strlen(RECORDS_MAGIC));
	trace->next = next_record;
	return true;
}

bool trace_open(struct trace *trace, const char *name, struct path path, bool nsh_only)
{
	struct input *input = &trace->capture.input;
	const uint8_t *head;

	*trace = (struct trace){ .path = path, .nsh_only = nsh_only };
	if (!input_open(input, name))
		return false;
	head = input_peek(input, strlen(RECORDS_MAGIC));
	if (head && memcmp(head, RECORDS_MAGIC, strlen(RECORDS_MAGIC)) == 0)
		return records_open(trace);
	if (input_available(input) < sizeof(uint32_t)) {
		complain("%s: not a trace, %zu bytes long", input->name, input_available(input));
		return false;
	}
	if (capture_is_compressed(&trace->capture))
		return false;
	if (!capture_recognised(&trace->capture))
		return csv_open(trace);
	trace->next = next_captured;
	return capture_begin(&trace->capture);
}
