// SPDX-License-Identifier: Apache-2.0
/* Ring to ring: what an engine takes for a frame, without any device. */
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_mempool.h>

#include "../common/report.h"
#include "../sfcmon/simulator/trace.h"
#include "tool.h"

struct kept {
	uint32_t bytes;
	uint8_t *data;
};

struct frames {
	struct kept *frames;
	size_t count, room;
};

static struct trace trace;

static int keep(struct frames *frames)
{
	struct kept *one;

	if (frames->count == frames->room) {
		frames->room = frames->room ? 2 * frames->room : 4096;
		frames->frames = realloc(frames->frames, frames->room * sizeof(*frames->frames));
		if (!frames->frames)
			return -1;
	}
	one = &frames->frames[frames->count++];
	one->bytes = (uint32_t)trace.frame.bytes;
	one->data = malloc(one->bytes);
	if (one->data)
		memcpy(one->data, trace.frame.data, one->bytes);
	return one->data ? 0 : -1;
}

static int read_frames(const char *name, struct frames *frames)
{
	enum trace_status status;
	struct packet packet;

	if (!trace_open(&trace, name, (struct path){ 0, 0 }, true))
		return -1;
	while ((status = trace.next(&trace, &packet)) == TRACE_PACKET) {
		if (!frame_fits(&trace))
			return -1;
		if (keep(frames)) {
			complain("no memory for the frames of %s", name);
			return -1;
		}
	}
	if (status == TRACE_DAMAGED)
		return -1;
	if (!frames->count)
		complain("%s has no frames", name);
	return frames->count ? 0 : -1;
}

struct totals {
	uint64_t frames, cycles;
};

/* Fresh copies: the engine changes frames. */
static int fill(struct rte_mempool *pool, const struct frames *frames, size_t *next,
		struct rte_mbuf **burst)
{
	if (rte_pktmbuf_alloc_bulk(pool, burst, BURST))
		return -1;
	for (unsigned int i = 0; i < BURST; i++) {
		const struct kept *one = &frames->frames[*next];

		*next = *next + 1 == frames->count ? 0 : *next + 1;
		memcpy(rte_pktmbuf_append(burst[i], (uint16_t)one->bytes), one->data, one->bytes);
	}
	return 0;
}

static void take_out(const struct work *work, struct engine *engine, struct totals *totals)
{
	struct rte_mbuf *frames[BURST];

	for (unsigned int port = 0; port < PORTS; port++) {
		uint64_t begun = rte_rdtsc();
		unsigned int count = work->type->get(engine, port, frames, BURST);

		totals->cycles += rte_rdtsc() - begun;
		rte_pktmbuf_free_bulk(frames, count);
	}
}

static void put_all(const struct work *work, struct engine *engine, struct rte_mbuf **burst,
		    struct totals *totals)
{
	unsigned int put = 0;

	while (put < BURST) {
		uint64_t begun = rte_rdtsc();

		put += work->type->put(engine, 0, burst + put, BURST - put);
		work->type->work(engine);
		totals->cycles += rte_rdtsc() - begun;
		take_out(work, engine, totals);
	}
}

static int repeat(const struct work *work, struct engine *engine, struct rte_mempool *pool,
		  const struct frames *frames, struct totals *totals)
{
	uint64_t end = rte_rdtsc() + rte_get_tsc_hz() / 1000 * work->repeat_ms;
	struct rte_mbuf *burst[BURST];
	size_t next = 0;

	work->type->set_epoch(engine, (uint32_t)work->first_epoch);
	while (rte_rdtsc() < end) {
		if (fill(pool, frames, &next, burst)) {
			complain("the engine keeps frames");
			return -1;
		}
		put_all(work, engine, burst, totals);
		totals->frames += BURST;
	}
	return 0;
}

int measure_run(const struct work *work)
{
	struct frames frames = { 0 };
	struct totals totals = { 0 };
	struct rte_mempool *pool;
	struct engine *engine;

	if (read_frames(work->trace, &frames) || !(pool = frames_create()))
		return 1;
	engine = work->type->create(&work->settings, 0);
	if (!engine || repeat(work, engine, pool, &frames, &totals))
		return 1;
	printf("{\"event\": \"measured\", \"frames\": %lu, \"ns_per_frame\": %.2f, ", totals.frames,
	       (double)totals.cycles * 1e9 / (double)rte_get_tsc_hz() / (double)totals.frames);
	print_counters(stdout, work->type, engine);
	puts("}");
	work->type->destroy(engine);
	return 0;
}
