/* SPDX-License-Identifier: Apache-2.0 */
/* What the program asks of an engine. */
#ifndef SFCPERF_FORWARDER_ENGINE_H
#define SFCPERF_FORWARDER_ENGINE_H

#include <net/if.h>

#include "forwarder.h"

#define MAX_THREADS 64

struct interface {
	char name[IF_NAMESIZE];
	unsigned int index;
	unsigned int mtu; /* bytes */
	__u8 mac[6];
};

struct cpu_list {
	unsigned int count;
	int cpus[MAX_THREADS];
};

struct path_count {
	fwd_path path;
	__u64 packets;
};

/* Counters at one moment, cumulated since the start. */
struct snapshot {
	struct fwd_counters totals;
	unsigned int path_count;
	struct path_count paths[FWD_MAX_PATHS];
	unsigned int worker_count; /* 0: the engine has no workers */
	__u64 workers[MAX_THREADS]; /* forwarded by each */
};

struct engine {
	const char *name;
	/* Forward from now on; one worker per CPU where the engine has workers. 0, or -1 after
	 * complain(). */
	int (*start)(const struct interface *interface, const struct cpu_list *cpus);
	void (*read)(struct snapshot *snapshot);
	/* Forward no more; read() still works. */
	void (*stop)(void);
};

extern const struct engine engine_xdp;
extern const struct engine engine_userspace;

/* Attach a program that passes every frame to each named interface, for as long as it lives.
 * Interfaces that carry an XDP program already are left alone. 0, or -1 after complain(). */
int attach_pass(char *const *names, unsigned int count);

#endif
