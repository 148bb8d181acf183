/* SPDX-License-Identifier: Apache-2.0 */
/* Traces: pcap, pcapng, CSV, or packets in binary; which one, their first bytes say. */
#pragma once

#include <string.h>

#include "frame.h"
#include "input.h"

#define RECORDS_MAGIC "SFCMONR1" /* before `struct record`s */

enum trace_status {
	TRACE_PACKET,
	TRACE_END,
	TRACE_TRUNCATED, /* the input ends within a packet */
	TRACE_DAMAGED, /* complained */
	TRACE_NONE, /* of a block of pcapng: it has no packet */
};

#define PCAPNG_INTERFACES 256 /* of a section, at most */

struct capture_interface {
	uint32_t link_type;
	uint32_t most_bytes; /* of a frame; 0: any */
	uint64_t ticks_per_s; /* 0: not supported */
	uint64_t offset_s;
};

struct trace {
	struct input input;
	struct path path; /* of packets that come without an NSH */
	bool nsh_only; /* such frames are only counted */
	/* Reads the next packet. */
	enum trace_status (*next)(struct trace *trace, struct packet *packet);
	/* of pcap and pcapng */
	struct frame frame; /* that the packet was in; valid until the next one is read */
	bool swapped;
	struct capture_interface interfaces[PCAPNG_INTERFACES];
	unsigned int interface_count;
	uint64_t last_ns;
	/* of CSV */
	uint64_t line; /* the latest that was read */
	int columns[8]; /* place of each column in a line */
	int column_count;
};

/* False: complained. */
bool trace_open(struct trace *trace, const char *name, struct path path, bool nsh_only);

/* Parse a frame of pcap or pcapng. */
enum trace_status trace_frame(struct trace *trace, const struct frame *frame,
			      struct packet *packet);

/* Complain of the place that was reached. */
enum trace_status trace_damaged(const struct trace *trace, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Complain of an input that is TRACE_TRUNCATED. */
void trace_cut_off(const struct trace *trace);

/* Whether a pcap file begins with these 4 bytes. */
bool pcap_recognised(const uint8_t *head);

/* Each reads the beginning of its format, and sets `next`. False: complained. */
bool pcap_open(struct trace *trace);
bool pcapng_open(struct trace *trace);
bool csv_open(struct trace *trace);
bool records_open(struct trace *trace);

/* Numbers of the file's byte order. */

static inline uint16_t trace_u16(const struct trace *trace, const uint8_t *bytes)
{
	uint16_t number;

	memcpy(&number, bytes, sizeof(number));
	return trace->swapped ? __builtin_bswap16(number) : number;
}

static inline uint32_t trace_u32(const struct trace *trace, const uint8_t *bytes)
{
	uint32_t number;

	memcpy(&number, bytes, sizeof(number));
	return trace->swapped ? __builtin_bswap32(number) : number;
}
