/* SPDX-License-Identifier: Apache-2.0 */
/* Traces: pcap, pcapng, CSV, or packets in binary; which one, their first bytes say. */
#pragma once

#include "frame.h"
#include "input.h"

#define RECORDS_MAGIC "SFCMONR1" /* before `struct record`s */

enum trace_status {
	TRACE_PACKET,
	TRACE_END,
	TRACE_TRUNCATED, /* the input ends within a packet */
	TRACE_DAMAGED, /* complained */
};

#define PCAPNG_INTERFACES 256 /* of a section, at most */

struct capture_interface {
	uint32_t link_type;
	uint64_t ticks_per_s;
	uint64_t offset_s;
};

/* A captured frame. */
struct frame {
	const uint8_t *data; /* valid until the next packet is read */
	size_t bytes;
	uint32_t link_type;
};

struct trace {
	struct input input;
	struct path path; /* of packets that come without an NSH */
	bool nsh_only; /* such frames are only counted */
	/* Reads the next packet. */
	enum trace_status (*next)(struct trace *trace, struct packet *packet);
	/* of pcap and pcapng */
	struct frame frame; /* that the packet was in */
	bool swapped;
	struct capture_interface interfaces[PCAPNG_INTERFACES];
	unsigned int interface_count;
	uint64_t last_ns;
	/* of CSV */
	uint64_t line;
	int columns[8]; /* place of each column in a line */
	int column_count;
};

/* False: complained. */
bool trace_open(struct trace *trace, const char *name, struct path path, bool nsh_only);

/* Parse a frame of pcap or pcapng. */
void trace_frame(struct trace *trace, const uint8_t *data, size_t length, uint32_t link_type,
		 struct packet *packet);

/* Each recognises its format, and sets `next`. False: complained. */
bool pcap_open(struct trace *trace);
bool pcapng_open(struct trace *trace);
bool csv_open(struct trace *trace);
bool records_open(struct trace *trace);

/* Numbers of the file's byte order. */
uint16_t trace_u16(const struct trace *trace, const uint8_t *bytes);
uint32_t trace_u32(const struct trace *trace, const uint8_t *bytes);
