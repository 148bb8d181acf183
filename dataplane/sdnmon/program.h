/* SPDX-License-Identifier: Apache-2.0 */
/* Programs and maps of a monitored switch. They are pinned in a folder of a BPF file system, so
 * that they stay when a process ends. Functions return 0, or -1 after complain(). */
#pragma once

#include "sdnmon.h"

struct program {
	const struct sdnmon_config *config;
	struct sdnmon_live *live;
	int table, excluded, unmonitored, totals, events, arrive, arrive_xdp, forwarders,
		change_table;
};

/* Settings that a table begins with. `hash_keys` and what follows from the fields are set
 * already. */
struct settings {
	struct sdnmon_config config;
	__u64 ratio, limit, interval_ns;
	__u64 notify; /* for state_begin() and state_reset() */
	/* Maps of an earlier table, whose readers and ports continue; -1: make new ones. */
	int events, forwarders;
};

/* Make the folder `pins`, with new programs and empty maps. */
int program_create(const char *pins, const struct settings *settings, struct program *program);

int program_open(const char *pins, struct program *program);
void program_close(struct program *program);

/* Remove the pins and the folder, as far as they are there. */
void program_unpin(const char *pins);

/* Return the epoch of now. */
__u64 program_epoch(const struct program *program);

/* Begin a new epoch with this interval; later ones have it too. */
void program_set_interval(const struct program *program, __u64 interval_ns);
