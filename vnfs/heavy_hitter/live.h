/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that take frames from interfaces through an engine each. */
#pragma once

#include "../../dataplane/common/cpus.h"
#include "interfaces.h"
#include "tool.h"

/* What live_start() is asked for. */
struct live {
	enum device_kind kind;
	const char *where[PORTS]; /* the second one is NULL: frames return where they came from */
	uint8_t next_hops[PORTS][6]; /* with two interfaces: MAC addresses of client and server */
	struct cpu_list cpus; /* a thread on each; none: one thread anywhere */
};

/* A heavy hitter of a window. */
struct finding {
	struct report report;
	uint64_t found_ns; /* Unix time, within a millisecond or so */
	uint32_t packets; /* that the sketch has of it at the end of the window */
};

struct window {
	const struct finding *findings;
	unsigned int count;
	uint64_t monitored, unmonitored; /* packets */
	uint64_t lost; /* findings that came faster than they were kept */
};

/* 0, or -1 after complain(). DPDK has been started. */
int live_start(const struct work *work, const struct live *live);

/* End the window: of each thread, what was found in it. False: a thread did not answer. It is valid
 * until the next call. */
bool live_end_window(void (*take)(const struct window *window, void *context), void *context);

/* Of all threads, and of one. */
uint64_t live_counter(enum counter counter);
uint64_t live_io_counter(enum io_counter counter);
uint64_t live_lost(void); /* by the interfaces */
uint64_t live_forwarded(unsigned int number);
unsigned int live_threads(void);

/* No more frames are taken; those that were are sent. */
void live_stop(void);
