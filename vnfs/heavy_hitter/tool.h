/* SPDX-License-Identifier: Apache-2.0 */
/* What the ways to use an engine share. */
#pragma once

#include <stdio.h>

#include "../sfcmon/simulator/trace.h"
#include "engine.h"

struct work {
	const struct engine_type *type;
	struct settings settings;
	const char *trace; /* a capture */
	const char *output; /* frames that were forwarded; NULL: they are not kept */
	uint64_t window_ns;
	uint64_t first_epoch;
	bool cells; /* print those of the last epoch */
	/* Synthetic traffic */
	uint64_t repeat_ms; /* how long the trace is repeated; 0: it is taken once */
};

/* Take a capture through the engine, by its own clock, and print reports, cells and counters. Exit
 * status. */
int offline_run(const struct work *work);

/* Take a capture through the engine again and again, from memory, and print what it takes. Exit
 * status. */
int measure_run(const struct work *work);

/* {"source": ..., ...}: the fields of a flow's key. */
void print_key(FILE *out, const struct flow_key *key);

/* "counters": {...} of an engine. */
void print_counters(FILE *out, const struct engine_type *type, struct engine *engine);

#define MOST_FRAME_BYTES 1600

/* Whether the frame that was read can be taken: Ethernet, and not longer. Else it complains. */
bool frame_fits(const struct trace *trace);

/* A frame of its own. NULL after complain(). */
struct rte_mbuf *frame_create(struct rte_mempool *pool, const uint8_t *data, uint32_t bytes);

/* For frames of both ways. NULL after complain(). */
struct rte_mempool *frames_create(void);
