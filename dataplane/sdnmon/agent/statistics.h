/* SPDX-License-Identifier: Apache-2.0 */
/* A statistics reply. It is made piece by piece, as the controller reads it. */
#pragma once

#include <stdbool.h>

#include "../program.h"
#include "output.h"

struct statistics {
	bool active; /* a reply has begun and not ended; the rest is of this reply */
	bool with_slots;
	__u8 version; /* of OpenFlow */
	__u32 xid;
	int table; /* a descriptor of its own, so that a reset does not disturb the reply */
	bool begun; /* the walk through the table has begun */
	__u32 place; /* where it goes on */
	__u32 key_bytes, entry_bytes, record_bytes; /* the last: of an entry in the reply */
	__u32 slots; /* of an entry in the table */
	__u64 epoch; /* the epoch when the reply began */
	__u64 oldest; /* first epoch whose counts are valid */
};

/* Begin a reply, of which the caller sets `version` and `xid`. Returns 0, or -1 after
 * complain(). */
int statistics_begin(struct statistics *statistics, const struct program *program, bool with_slots);

/* Append a piece to an empty output. After the last piece the reply is no longer active. If the
 * table cannot be read, it ends with an error. */
void statistics_continue(struct statistics *statistics, struct output *output);

/* End the reply, if there is one. */
void statistics_end(struct statistics *statistics);
