/* SPDX-License-Identifier: Apache-2.0 */
/* Contract of the two engines, swx and native. One thread at a time makes each call. Several
 * engines may work side by side, each with a sketch of its own. */
#pragma once

#include <rte_cycles.h>
#include <rte_mbuf.h>

#include "settings.h"

#define PORTS 2
#define BURST 32

struct engine;

/* Return the timeout, seconds, that DPDK's learner table needs for an expiry. The table's clock
 * has steps of 2^32 cycles and rounds down, so a flow would otherwise be forgotten too soon. */
static inline uint32_t engine_timeout_s(uint32_t expiry_s)
{
	return expiry_s + 1 + (uint32_t)((1ULL << 32) / rte_get_tsc_hz());
}

/* An engine. Frames go through it by put, work and get, again and again. */
struct engine_type {
	const char *name;
	/* Creates an engine. `number` tells engines from one another. Returns NULL after
	 * complain(). */
	struct engine *(*create)(const struct settings *settings, unsigned int number);
	/* Takes frames that came in at a port. Returns how many: the others are still the
	 * caller's. */
	unsigned int (*put)(struct engine *engine, unsigned int port, struct rte_mbuf **frames,
			    unsigned int count);
	/* Works on the frames that were put. */
	void (*work)(struct engine *engine);
	/* Gives at most so many frames that are to leave by a port. Returns how many. */
	unsigned int (*get)(struct engine *engine, unsigned int port, struct rte_mbuf **frames,
			    unsigned int count);
	/* Sets the epoch, the number of the window, for the frames that follow. Counts of other
	 * epochs are taken for 0 then. */
	void (*set_epoch)(struct engine *engine, uint32_t epoch);
	/* Returns a counter since the engine was created. Works also while another thread makes
	 * the other calls. */
	uint64_t (*counter)(struct engine *engine, enum counter counter);
	/* Gives the next report that was not taken yet; false if there is none. `*lost` grows by
	 * the reports that came faster than they were taken. */
	bool (*report)(struct engine *engine, struct report *report, uint64_t *lost);
	/* Returns the count of a cell of the sketch in the present epoch. */
	uint32_t (*cell)(struct engine *engine, uint32_t row, uint32_t column);
	void (*destroy)(struct engine *engine);
};

extern const struct engine_type engine_swx;
extern const struct engine_type engine_native;
