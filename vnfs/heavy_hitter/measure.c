// SPDX-License-Identifier: Apache-2.0
/* Measures ring to ring what time an engine takes for a frame, without any device. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_lcore.h>
#include <rte_mempool.h>

#include "../../dataplane/common/clock.h"
#include "../../dataplane/capture/damage.h"
#include "../../dataplane/common/report.h"
#include "distributor.h"
#include "tool.h"

#define SLICES 1000 /* parts of the time that is measured */

/* A frame in memory. */
struct kept {
	uint32_t bytes;
	uint8_t *data;
};

/* A list of frames, with room for some more. */
struct frames {
	struct kept *frames;
	size_t count, room;
};

static struct capture capture;

/* Add a frame to a list. Returns 0, or -1 if memory is missing. */
static int add(struct frames *frames, const struct kept *one)
{
	if (frames->count == frames->room) {
		frames->room = frames->room ? 2 * frames->room : 4096;
		frames->frames = realloc(frames->frames, frames->room * sizeof(*frames->frames));
		if (!frames->frames)
			return -1;
	}
	frames->frames[frames->count++] = *one;
	return 0;
}

/* Keep a copy of a frame. Zeros are added behind it if it is shorter than `least` bytes. Returns 0,
 * or -1 if memory is missing. */
static int keep(struct frames *frames, const struct taken *frame, uint32_t least)
{
	struct kept one = { .bytes = RTE_MAX(frame->bytes, least) };

	one.data = calloc(1, one.bytes);
	if (!one.data)
		return -1;
	memcpy(one.data, frame->data, frame->bytes);
	return add(frames, &one);
}

/* Read the frames of the capture. Returns 0, or -1 after complain(). */
static int read_frames(const struct work *work, struct frames *frames)
{
	const char *name = work->trace;
	enum capture_status status = CAPTURE_END;
	struct frame read;
	struct taken frame;

	if (!capture_open(&capture, name))
		return -1;
	while (frames->count < work->most_frames &&
	       (status = capture.next(&capture, &read)) == CAPTURE_FRAME) {
		if (!frame_take(&capture, &read, &frame))
			return -1;
		if (keep(frames, &frame, work->frame_bytes)) {
			complain("no memory for the frames of %s", name);
			return -1;
		}
	}
	if (status == CAPTURE_TRUNCATED)
		capture_cut_off(&capture);
	if (status == CAPTURE_TRUNCATED || status == CAPTURE_DAMAGED)
		return -1;
	if (!frames->count)
		complain("%s has no frames", name);
	return frames->count ? 0 : -1;
}

/* A thread with an engine, and what it has measured. */
struct runner {
	pthread_t thread;
	int cpu; /* -1: anywhere */
	const struct work *work;
	struct engine *engine;
	struct rte_mempool *pool;
	struct frames frames; /* frames of this thread's flows */
	uint64_t count, bytes; /* frames that the engine got, and their bytes without FCS */
	uint64_t cpu_ns; /* CPU time of the thread */
	uint64_t cycles, all_cycles; /* in the engine, and with the copying of frames */
	double slices[SLICES]; /* cycles of a frame in the engine */
	unsigned int slice_count;
	uint64_t sliced_cycles, sliced_count; /* `cycles`, `count` at the end of the last slice */
	int status; /* -1: no frames are free, because the engine keeps them */
};

static struct runner runners[MAX_THREADS];

/* Fill a burst with fresh copies of frames, because the engine changes frames. `*next` is the place
 * of the next frame, and moves on. Returns 0, or -1 if the pool is empty. */
static int fill(struct runner *runner, size_t *next, struct rte_mbuf **burst)
{
	const struct frames *frames = &runner->frames;

	if (rte_pktmbuf_alloc_bulk(runner->pool, burst, BURST))
		return -1;
	for (unsigned int i = 0; i < BURST; i++) {
		const struct kept *one = &frames->frames[*next];

		*next = *next + 1 == frames->count ? 0 : *next + 1;
		memcpy(rte_pktmbuf_append(burst[i], (uint16_t)one->bytes), one->data, one->bytes);
		runner->bytes += one->bytes;
	}
	return 0;
}

/* Free the frames that leave the engine; count the cycles that the engine takes for it. */
static void take_out(struct runner *runner)
{
	struct rte_mbuf *frames[BURST];

	for (unsigned int port = 0; port < PORTS; port++) {
		unsigned int count;

		do {
			uint64_t begun = rte_rdtsc();

			count = runner->work->type->get(runner->engine, port, frames, BURST);
			runner->cycles += rte_rdtsc() - begun;
			rte_pktmbuf_free_bulk(frames, count);
		} while (count);
	}
}

/* Put a burst through the engine; count the cycles that the engine takes for it. */
static void put_all(struct runner *runner, struct rte_mbuf **burst)
{
	const struct engine_type *type = runner->work->type;
	unsigned int put = 0;

	while (put < BURST) {
		uint64_t begun = rte_rdtsc();

		put += type->put(runner->engine, 0, burst + put, BURST - put);
		type->work(runner->engine);
		runner->cycles += rte_rdtsc() - begun;
		take_out(runner);
	}
}

/* Note how many cycles a frame took in the slice that ends. */
static void end_slice(struct runner *runner)
{
	runner->slices[runner->slice_count++] = (double)(runner->cycles - runner->sliced_cycles) /
						(double)(runner->count - runner->sliced_count);
	runner->sliced_cycles = runner->cycles;
	runner->sliced_count = runner->count;
}

/* The thread of a runner: repeats the trace until the time is over. */
static void *repeat(void *argument)
{
	struct runner *runner = argument;
	uint64_t first_cycle = rte_rdtsc();
	uint64_t length = rte_get_tsc_hz() / 1000 * runner->work->repeat_ms; /* cycles */
	struct rte_mbuf *burst[BURST];
	uint64_t began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	size_t next = 0;

	rte_thread_register();
	runner->work->type->set_epoch(runner->engine, (uint32_t)runner->work->first_epoch);
	while (runner->frames.count && !runner->status && rte_rdtsc() < first_cycle + length) {
		runner->status = fill(runner, &next, burst);
		if (runner->status)
			break;
		put_all(runner, burst);
		runner->count += BURST;
		if (runner->slice_count < SLICES &&
		    rte_rdtsc() - first_cycle >= length / SLICES * (runner->slice_count + 1))
			end_slice(runner);
	}
	runner->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;
	runner->all_cycles = rte_rdtsc() - first_cycle;
	rte_thread_unregister();
	return NULL;
}

/* --- threads --- */

/* Divide the frames among the threads. Each flow is for one thread, as with interfaces. Returns 0,
 * or -1 after complain(). */
static int divide(const struct frames *all, struct rte_mempool *pool, unsigned int threads)
{
	for (size_t i = 0; i < all->count; i++) {
		struct kept *one = &all->frames[i];
		struct rte_mbuf *frame = frame_create(pool, one->data, one->bytes);

		if (!frame || add(&runners[distributor_thread(frame, threads)].frames, one)) {
			complain("no memory for frames");
			return -1;
		}
		rte_pktmbuf_free(frame);
	}
	return 0;
}

/* Run all threads to their end. Returns 0, or -1 after complain(). */
static int run_all(unsigned int threads)
{
	for (unsigned int i = 0; i < threads; i++) {
		struct runner *runner = &runners[i];

		if (cpus_start_thread(&runner->thread, runner->cpu, repeat, runner))
			return -1;
	}
	for (unsigned int i = 0; i < threads; i++)
		pthread_join(runners[i].thread, NULL);
	for (unsigned int i = 0; i < threads; i++) {
		if (runners[i].status) {
			complain("the engine keeps frames");
			return -1;
		}
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	double first = *(const double *)a, second = *(const double *)b;

	return (first > second) - (first < second);
}

/* Return the lower quartile of the slices, ns a frame; 0 if there are none. Three quarters of the
 * slices take longer, among them those in which others had the CPU. */
static double quartile_ns(struct runner *runner)
{
	if (!runner->slice_count)
		return 0;
	qsort(runner->slices, runner->slice_count, sizeof(*runner->slices), compare);
	return runner->slices[runner->slice_count / 4] * (double)NS_PER_S /
	       (double)rte_get_tsc_hz();
}

/* Print for each thread the CPU time of a frame: in the engine, and in all. Cycles also count while
 * others have the CPU. This happens in the engine and outside of it in proportion to the cycles of
 * each, so the engine's share of the cycles is its share of the CPU time, too. */
static void print_measured(unsigned int threads)
{
	printf("{\"event\": \"measured\", \"threads\": [");
	for (unsigned int i = 0; i < threads; i++) {
		struct runner *runner = &runners[i];
		double cpu_ns =
			(double)runner->cpu_ns / (runner->count ? (double)runner->count : 1);

		printf("%s{\"frames\": %lu, \"bytes\": %lu, \"of_trace\": %zu, "
		       "\"ns_per_frame\": %.2f, \"all_ns_per_frame\": %.2f, "
		       "\"quartile_ns_per_frame\": %.2f, ",
		       i ? ", " : "", runner->count, runner->bytes, runner->frames.count,
		       cpu_ns * (double)runner->cycles / (double)runner->all_cycles, cpu_ns,
		       quartile_ns(runner));
		print_counters(stdout, runner->work->type, runner->engine);
		printf("}");
	}
	puts("]}");
}

int measure_run(const struct work *work, const struct cpu_list *cpus)
{
	unsigned int threads = cpus->count ? cpus->count : 1;
	struct frames frames = { 0 };
	struct rte_mempool *pool;

	if (read_frames(work, &frames) ||
	    !(pool = frames_create(threads * FEW_FRAMES, MOST_FRAME_BYTES)))
		return 1;
	for (unsigned int i = 0; i < threads; i++) {
		runners[i] = (struct runner){
			.cpu = cpus->count ? cpus->cpus[i] : -1,
			.work = work,
			.pool = pool,
			.engine = work->type->create(&work->settings, i),
		};
		if (!runners[i].engine)
			return 1;
	}
	if (divide(&frames, pool, threads) || run_all(threads))
		return 1;
	print_measured(threads);
	for (unsigned int i = 0; i < threads; i++)
		work->type->destroy(runners[i].engine);
	return 0;
}
