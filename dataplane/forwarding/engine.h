/* SPDX-License-Identifier: Apache-2.0 */
/* Contract of the two engines that forward NSH frames, xdp and userspace. */
#pragma once

#include "../common/cpus.h"
#include "../common/interface.h"
#include "forwarder.h"

struct path_count {
	fwd_path path;
	__u64 packets; /* that were forwarded on it */
};

/* All counters, cumulated since the start. */
struct snapshot {
	struct fwd_counters totals;
	unsigned int path_count;
	struct path_count paths[FWD_MAX_PATHS];
	unsigned int worker_count; /* 0: the engine has no workers */
	__u64 workers[MAX_THREADS]; /* packets that each has forwarded */
};

struct engine {
	const char *name;
	/* Starts to forward; one worker per CPU where the engine has workers. Returns 0, or -1
	 * after complain(). */
	int (*start)(const struct interface *interface, const struct cpu_list *cpus);
	/* Reads all counters as they are now. */
	void (*read)(struct snapshot *snapshot);
	/* Stops forwarding; read() still works. */
	void (*stop)(void);
};

extern const struct engine engine_xdp;
extern const struct engine engine_userspace;

#define INSPECTOR_TICK_MS 10

/* An inspector looks at the packets that the engine `userspace` forwards. The thread of the
 * worker that a call names makes it. */
struct inspector {
	/* Looks at a frame that is forwarded: `captured` bytes from its Ethernet header on. The
	 * frame may already be changed as an SF changes it. `time_ns` is when the kernel
	 * received it (Unix time). */
	void (*frame)(unsigned int worker, const __u8 *frame, __u32 captured, __u64 time_ns);
	/* Does other work, between frames. `idle`: no frame waits, and there is time for more
	 * work, because a tick has passed or the last call asked for another. Returns whether it
	 * asks for another. */
	bool (*rest)(unsigned int worker, bool idle);
	/* Ends the inspection: no frames follow. */
	void (*end)(unsigned int worker);
};

/* Have packets inspected; call it before the engine starts. Both directions of a flow then come
 * to one worker. */
void engine_userspace_inspect(const struct inspector *inspector);

/* Return a descriptor that becomes readable every INSPECTOR_TICK_MS, or -1 after complain(). A
 * timeout of poll() would cost more: it is set up and taken down for each packet. */
int inspector_ticks(void);

/* Say whether a tick has passed since the last call. */
bool inspector_ticked(int ticks);

/* Attach a program that passes every frame to each named interface, for as long as the interface
 * exists, unless it carries an XDP program already. Returns 0, or -1 after complain(). */
int attach_pass(char *const *names, unsigned int count);
