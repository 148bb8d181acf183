/* SPDX-License-Identifier: Apache-2.0 */
/* The contract of the two engines. Each call is made by one thread at a time; several engines may
 * work side by side, each with a sketch of its own. */
#pragma once

#include <rte_cycles.h>
#include <rte_mbuf.h>

#include "settings.h"

#define PORTS 2
#define BURST 32

struct engine;

/* What DPDK's learner table is asked for, seconds: its clock has steps of 2^32 cycles, to which it
 * rounds down when a flow is forgotten, which would be too soon. */
static inline uint32_t engine_timeout_s(uint32_t expiry_s)
{
	return expiry_s + 1 + (uint32_t)((1ULL << 32) / rte_get_tsc_hz());
}

struct engine_type {
	const char *name;
	/* NULL after complain(). `number` tells engines from one another. */
	struct engine *(*create)(const struct settings *settings, unsigned int number);
	/* Take frames that came in at a port. How many of them: the others are still the caller's. */
	unsigned int (*put)(struct engine *engine, unsigned int port, struct rte_mbuf **frames,
			    unsigned int count);
	/* Work on frames that were put. */
	void (*work)(struct engine *engine);
	/* Give at most so many that are to leave by a port. */
	unsigned int (*get)(struct engine *engine, unsigned int port, struct rte_mbuf **frames,
			    unsigned int count);
	/* From the next frame on. */
	void (*set_epoch)(struct engine *engine, uint32_t epoch);
	/* Also while another thread makes the other calls. */
	uint64_t (*counter)(struct engine *engine, enum counter counter);
	/* The next report that was not taken yet. False: there is none. `lost` counts those that
	 * came faster than they were taken. */
	bool (*report)(struct engine *engine, struct report *report, uint64_t *lost);
	/* The count of a cell of the sketch in the present epoch. */
	uint32_t (*cell)(struct engine *engine, uint32_t row, uint32_t column);
	void (*destroy)(struct engine *engine);
};

extern const struct engine_type engine_swx;
extern const struct engine_type engine_native;
