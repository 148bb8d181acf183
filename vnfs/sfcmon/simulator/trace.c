// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <string.h>

#include "trace.h"
#include "../../../dataplane/common/report.h"

#define MAGIC_PCAPNG 0x0a0d0d0a /* the same in both byte orders */
#define MAGIC_GZIP 0x8b1f
#define MAGIC_ZSTD 0xfd2fb528

/* A packet as a program writes it, in the machine's byte order. */
struct record {
	uint64_t ts_ns;
	uint32_t size;
	uint16_t src_port, dst_port;
	uint8_t version, proto;
	uint8_t zero[6];
	uint8_t src[16], dst[16]; /* IPv4: the first 4 bytes */
};

enum trace_status trace_damaged(const struct trace *trace, const char *format, ...)
{
	char what[128];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	complain("%s: at byte %llu, %s", trace->input.name, (unsigned long long)trace->input.used,
		 what);
	return TRACE_DAMAGED;
}

void trace_cut_off(const struct trace *trace)
{
	trace_damaged(trace, "a packet that the end cuts off");
}

enum trace_status trace_frame(struct trace *trace, const struct frame *frame, struct packet *packet)
{
	if (!frame_link_known(frame->link_type))
		return trace_damaged(trace,
				     "a frame of link type %u; allowed: Ethernet, raw IP, Linux "
				     "cooked",
				     frame->link_type);
	trace->frame = *frame;
	frame_parse(frame, trace->nsh_only ? NULL : &trace->path, packet);
	return TRACE_PACKET;
}

static enum trace_status next_record(struct trace *trace, struct packet *packet)
{
	const struct record *record = (const void *)input_peek(&trace->input, sizeof(*record));
	uint8_t *key = (uint8_t *)packet->key;
	size_t address;

	if (!record)
		return input_available(&trace->input) ? TRACE_TRUNCATED : TRACE_END;
	address = record->version == 6 ? 16 : 4;
	packet->ts_ns = record->ts_ns;
	packet->size = record->size;
	packet->words = record->version == 6 ? SFCMON_IPV6_WORDS : SFCMON_IPV4_WORDS;
	packet->key[0] = key_path(trace->path);
	packet->key[1] = key_protocol(record->proto, record->version == 6 ? 6 : 4);
	packet->key[2] = (uint32_t)__builtin_bswap16(record->dst_port) << 16 |
			 __builtin_bswap16(record->src_port);
	memcpy(key + 4UL * SFCMON_SOURCE_WORD, record->src, address);
	memcpy(key + 4UL * SFCMON_SOURCE_WORD + address, record->dst, address);
	input_skip(&trace->input, sizeof(*record));
	return TRACE_PACKET;
}

bool records_open(struct trace *trace)
{
	input_skip(&trace->input, strlen(RECORDS_MAGIC));
	trace->next = next_record;
	return true;
}

static bool refuse_compressed(const char *name, const char *tool)
{
	complain("%s is compressed: decompress it, for instance `%s FILE | ... -`", name, tool);
	return false;
}

bool trace_open(struct trace *trace, const char *name, struct path path, bool nsh_only)
{
	const uint8_t *head;
	uint32_t magic;

	*trace = (struct trace){ .path = path, .nsh_only = nsh_only };
	if (!input_open(&trace->input, name))
		return false;
	name = trace->input.name;
	head = input_peek(&trace->input, strlen(RECORDS_MAGIC));
	if (head && memcmp(head, RECORDS_MAGIC, strlen(RECORDS_MAGIC)) == 0)
		return records_open(trace);
	head = input_peek(&trace->input, sizeof(magic));
	if (!head) {
		complain("%s: not a trace, %zu bytes long", name, input_available(&trace->input));
		return false;
	}
	memcpy(&magic, head, sizeof(magic));
	if ((magic & 0xffff) == MAGIC_GZIP)
		return refuse_compressed(name, "zcat");
	if (magic == MAGIC_ZSTD)
		return refuse_compressed(name, "zstdcat");
	if (magic == MAGIC_PCAPNG)
		return pcapng_open(trace);
	return pcap_recognised(head) ? pcap_open(trace) : csv_open(trace);
}
