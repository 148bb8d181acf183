/* SPDX-License-Identifier: Apache-2.0 */
/* The programs and maps of a monitored switch, pinned in a folder of a BPF file system, so that they
 * stay when a process ends. Functions return 0, or -1 after complain(). */
#pragma once

#include "sdnmon.h"

struct program {
	const struct sdnmon_config *config;
	struct sdnmon_live *live;
	int table, excluded, unmonitored, totals, events, arrive, arrive_xdp, forwarders,
		change_table;
};

/* What a table begins with. `hash_keys` and what follows from fields are set already. */
struct settings {
	struct sdnmon_config config;
	__u64 ratio, limit, interval_ns;
	__u64 notify; /* for state_begin() and state_reset() */
	/* Of an earlier table, whose readers and ports go on; -1: new ones. */
	int events, forwarders;
};

/* Make the folder `pins`, with new programs and empty maps. */
int program_create(const char *pins, const struct settings *settings, struct program *program);

int program_open(const char *pins, struct program *program);
void program_close(struct program *program);

/* Remove the pins and the folder, as far as they are there. */
void program_unpin(const char *pins);

/* Epoch of now. */
__u64 program_epoch(const struct program *program);

/* From now on: a new epoch of this interval. */
void program_set_interval(const struct program *program, __u64 interval_ns);
