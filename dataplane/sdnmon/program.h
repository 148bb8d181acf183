/* SPDX-License-Identifier: Apache-2.0 */
/* Programs and maps of a monitored switch. They are pinned in a folder of a BPF file system, so
 * that they stay when a process ends. Functions return 0, or -1 after complain(). */
#pragma once

#include "sdnmon.h"

/* The open programs and maps of a switch. `config` and `live` are memory that the programs use,
 * too; the numbers are descriptors of what sdnmon.bpf.c and table.bpf.h define by the same
 * names. */
struct program {
	const struct sdnmon_config *config;
	struct sdnmon_live *live;
	int table, excluded, unmonitored, totals, events, arrive, arrive_xdp, forwarders,
		change_table;
};

/* Settings that a table begins with. Before it is made, all of `config` is set, also `hash_keys`
 * and what follows from the fields (fields.h). */
struct settings {
	struct sdnmon_config config;
	/* In units of 2^-32; most entries; length of an epoch. */
	__u64 ratio, limit, interval_ns;
	__u64 notify; /* program_create() ignores it; state_begin() and state_reset() set it */
	/* Maps of an earlier table, whose readers and ports continue; -1: make new ones. */
	int events, forwarders;
};

/* Make the folder `pins`, with new programs and empty maps, and open them. */
int program_create(const char *pins, const struct settings *settings, struct program *program);

/* Open the programs and maps that are pinned in a folder. */
int program_open(const char *pins, struct program *program);
void program_close(struct program *program);

/* Remove the pins and the folder, as far as they are there. */
void program_unpin(const char *pins);

/* Return the epoch of now. */
__u64 program_epoch(const struct program *program);

/* Begin a new epoch. It and all later ones have this length. */
void program_set_interval(const struct program *program, __u64 interval_ns);
