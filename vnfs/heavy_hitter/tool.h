/* SPDX-License-Identifier: Apache-2.0 */
/* What the ways to use an engine share. */
#pragma once

#include <stdio.h>

#include "../../dataplane/common/cpus.h"
#include "../../dataplane/capture/capture.h"
#include "engine.h"

/* What the options ask for. */
struct work {
	const struct engine_type *type;
	struct settings settings;
	const char *trace; /* a capture; NULL: frames come from interfaces */
	uint64_t most_frames; /* at most so many frames of it are taken */
	const char *output; /* file for the frames that were forwarded; NULL: they are not kept */
	uint64_t window_ns; /* length of a window; 0: windows do not end by time */
	uint64_t first_epoch; /* number of the first window */
	bool cells; /* print the cells of the last epoch */
	bool score; /* print how right each epoch's estimates are */
	/* Synthetic traffic */
	uint64_t repeat_ms; /* how long the trace is repeated; 0: it is taken once */
	uint32_t frame_bytes; /* least length, without FCS: shorter frames get zeros behind them */
};

/* Take a capture through the engine, by its own clock, and print reports, cells and counters.
 * Returns the exit status. */
int offline_run(const struct work *work);

/* Take a capture through engines again and again, from memory, on threads that share its flows,
 * and print what time a frame takes. Returns the exit status. */
int measure_run(const struct work *work, const struct cpu_list *cpus);

/* Print the fields of a flow's key as members of a JSON object. */
void print_key(FILE *out, const struct flow_key *key);

/* What the counters are called in JSON. */
extern const char *const counter_names[COUNTS];

/* Return the packets of a flow in the present epoch, as the sketch estimates them. */
uint32_t sketch_estimate(const struct work *work, struct engine *engine,
			 const struct flow_key *flow);

/* Print the member "counters": {...} of an engine. */
void print_counters(FILE *out, const struct engine_type *type, struct engine *engine);

#define MOST_FRAME_BYTES 1600

/* A frame of a capture, from its Ethernet header on. */
struct taken {
	uint8_t *data; /* valid until the next one is taken */
	uint32_t bytes;
};

/* Take a frame that was read. If it has another header than Ethernet's, or none, it gets one of
 * Ethernet with addresses 0. Returns false after complain(). */
bool frame_take(const struct capture *capture, const struct frame *read, struct taken *frame);

/* Make a frame with a copy of these bytes. Returns NULL after complain(). */
struct rte_mbuf *frame_create(struct rte_mempool *pool, const uint8_t *data, uint32_t bytes);

#define FEW_FRAMES 4095 /* enough for one engine */

/* Make a pool for `count` frames of up to `room` bytes each. Returns NULL after complain(). */
struct rte_mempool *frames_create(unsigned int count, unsigned int room);
