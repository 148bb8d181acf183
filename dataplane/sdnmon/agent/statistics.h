/* SPDX-License-Identifier: Apache-2.0 */
/* A statistics reply. It is made piece by piece, as the controller reads it. */
#pragma once

#include <stdbool.h>

#include "../program.h"
#include "output.h"

struct statistics {
	bool active;
	bool with_slots;
	__u8 version; /* of OpenFlow */
	__u32 xid;
	int table; /* a descriptor of its own, so that a reset does not disturb the reply */
	bool begun;
	__u32 place; /* where the walk through the table goes on */
	__u32 key_bytes, entry_bytes, record_bytes; /* of the table and of the reply */
	__u32 slots;
	__u64 epoch; /* the epoch when the reply began */
	__u64 oldest; /* first epoch whose counts are valid */
};

/* Begin a reply. Returns 0, or -1 after complain(). */
int statistics_begin(struct statistics *statistics, const struct program *program, bool with_slots);

/* Append a piece to an empty output. If the table cannot be read, the reply ends with an error. */
void statistics_continue(struct statistics *statistics, struct output *output);

void statistics_end(struct statistics *statistics);
