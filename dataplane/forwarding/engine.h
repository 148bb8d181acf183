/* SPDX-License-Identifier: Apache-2.0 */
/* The contract of the two engines. */
#pragma once

#include "../common/cpus.h"
#include "../common/interface.h"
#include "forwarder.h"

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

#define INSPECTOR_TICK_MS 10

/* What looks at the packets that engine `userspace` forwards. Each call is made by the thread of
 * the worker that it names. */
struct inspector {
	/* A frame that is forwarded, `captured` bytes from its Ethernet header on, in no state but
	 * what an SF makes of it; the time is when the kernel received it (Unix time). */
	void (*frame)(unsigned int worker, const __u8 *frame, __u32 captured, __u64 time_ns);
	/* Other work, between frames. `idle`: no frame waits, and INSPECTOR_TICK_MS have passed since
	 * the last such call, or that one asked for another. Returns whether it does so. */
	bool (*rest)(unsigned int worker, bool idle);
	/* No frames follow. */
	void (*end)(unsigned int worker);
};

/* Before it starts. Both directions of a flow then come to one worker. */
void engine_userspace_inspect(const struct inspector *inspector);

/* A descriptor that becomes readable every INSPECTOR_TICK_MS, or -1 after complain(). A timeout of
 * poll() would be set up and taken down for each packet. */
int inspector_ticks(void);

/* Whether one has passed since the last call. */
bool inspector_ticked(int ticks);

/* Attach a program that passes every frame to each named interface, for as long as the interface
 * exists, unless it carries an XDP program already. 0, or -1 after complain(). */
int attach_pass(char *const *names, unsigned int count);
