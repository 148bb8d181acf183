/* SPDX-License-Identifier: Apache-2.0 */
/* The contract of the two engines. */
#pragma once

#include "../common/interface.h"
#include "forwarder.h"

#define MAX_THREADS 64

struct cpu_list {
	unsigned int count;
	int cpus[MAX_THREADS];
};

struct path_count {
	fwd_path path;
	__u64 packets;
};

/* Counters, cumulated since the start. */
struct snapshot {
	struct fwd_counters totals;
	unsigned int path_count;
	struct path_count paths[FWD_MAX_PATHS];
	unsigned int worker_count; /* 0: the engine has no workers */
	__u64 workers[MAX_THREADS]; /* forwarded by each */
};

struct engine {
	const char *name;
	/* Start forwarding; one worker per CPU where the engine has workers. 0, or -1 after
	 * complain(). */
	int (*start)(const struct interface *interface, const struct cpu_list *cpus);
	void (*read)(struct snapshot *snapshot);
	/* Stop forwarding; read() still works. */
	void (*stop)(void);
};

extern const struct engine engine_xdp;
extern const struct engine engine_userspace;

/* Attach a program that passes every frame to each named interface, for as long as the interface
 * exists, unless it carries an XDP program already. 0, or -1 after complain(). */
int attach_pass(char *const *names, unsigned int count);
