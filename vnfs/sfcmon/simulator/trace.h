/* SPDX-License-Identifier: Apache-2.0 */
/* Traces: captures, CSV, or packets in binary. Their first bytes say which. */
#pragma once

#include "../../../dataplane/capture/capture.h"
#include "frame.h"

#define RECORDS_MAGIC "SFCMONR1" /* before `struct record`s */

enum trace_status {
	TRACE_PACKET,
	TRACE_END,
	TRACE_TRUNCATED, /* the input ends within a packet */
	TRACE_DAMAGED, /* the trace contradicts itself, and was complained about */
};

struct trace {
	struct capture capture; /* other formats use its `input` alone */
	struct path path; /* of packets that come without an NSH */
	bool nsh_only; /* such frames are only counted */
	/* Reads the next packet. */
	enum trace_status (*next)(struct trace *trace, struct packet *packet);
	struct frame
		frame; /* of a capture: what the packet was in; valid until the next one is read */
	/* of CSV */
	uint64_t line; /* the latest that was read */
	int columns[8]; /* place of each column in a line */
	int column_count;
};

/* Open a trace; `path` and `nsh_only` as in struct trace. Returns false after complain(). */
bool trace_open(struct trace *trace, const char *name, struct path path, bool nsh_only);

/* Read the beginning of a CSV file, and set `next`. Returns false after complain(). */
bool csv_open(struct trace *trace);
