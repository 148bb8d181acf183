/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that take frames from interfaces, each through an engine of its own. */
#pragma once

#include "../../dataplane/common/cpus.h"
#include "interfaces.h"
#include "tool.h"

/* Options of live_start(). */
struct live {
	enum device_kind kind;
	const char *where[PORTS]; /* without the second one, frames return where they came from */
	uint8_t next_hops[PORTS][6]; /* with two interfaces: MAC addresses of client and server */
	struct cpu_list cpus; /* a thread on each; none: one thread anywhere */
};

/* A heavy hitter that was found in a window. */
struct finding {
	struct report report;
	uint64_t found_ns; /* Unix time, exact to a millisecond or so */
	uint32_t packets; /* estimate of the sketch at the end of the window */
};

/* What a thread has found in a window that has ended. */
struct window {
	const struct finding *findings;
	unsigned int count;
	uint64_t monitored, unmonitored; /* packets */
	uint64_t lost; /* findings that came faster than they were kept */
};

/* Open interfaces and engines, and start the threads. DPDK must have been started. Returns 0, or
 * -1 after complain(). */
int live_start(const struct work *work, const struct live *live);

/* End the window, and call `take` for each thread with what it found. Returns false, and calls
 * nothing, if a thread did not answer within some seconds. What `take` gets is valid until the next
 * call. */
bool live_end_window(void (*take)(const struct window *window, void *context), void *context);

/* Return a counter since the start, of all threads together. */
uint64_t live_counter(enum counter counter);
uint64_t live_io_counter(enum io_counter counter);
uint64_t live_lost(void); /* lost by the interfaces */
/* Return COUNT_FORWARDED of the thread with this number, of live_threads(). */
uint64_t live_forwarded(unsigned int number);
unsigned int live_threads(void);

/* Take no more frames, send those that were taken, and end the threads. */
void live_stop(void);
