// SPDX-License-Identifier: Apache-2.0
/* Takes a capture through an engine, by the clock of the capture. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_mempool.h>

#include "../../dataplane/capture/damage.h"
#include "../../dataplane/common/report.h"
#include "../../dataplane/capture/left_out.h"
#include "found.h"
#include "score.h"
#include "tool.h"

#define LINK_ETHERNET 1
#define PATIENCE 100000 /* calls after which an engine has worked on each frame that it can have */
#define PCAP_MAGIC_NS 0xa1b23c4d

struct run {
	const struct work *work;
	struct engine *engine;
	struct rte_mempool *pool;
	FILE *output; /* NULL: forwarded frames are not kept */
	uint64_t put, forwarded, lost_reports; /* `put`: frames that the engine got */
	uint64_t first_ns, epoch; /* time of the first frame, and number of the present window */
	bool begun; /* there was a frame */
	struct found found; /* flows that were printed in the present window */
	struct left_out left_out; /* frames that have no score */
};

static struct capture capture;

/* --- what leaves the engine --- */

static void print_reports(struct run *run)
{
	struct report report;

	while (run->work->type->report(run->engine, &report, &run->lost_reports)) {
		if (found_add(&run->found, &report.key) != 1)
			continue;
		printf("{\"event\": \"heavy_hitter\", \"epoch\": %u, ", report.epoch);
		print_key(stdout, &report.key);
		puts("}");
	}
}

/* Write the header of a pcap file, version 2.4. */
static void write_header(FILE *out)
{
	const uint32_t header[6] = { PCAP_MAGIC_NS, 2 | 4 << 16, 0, 0, 1 << 18, LINK_ETHERNET };

	fwrite(header, sizeof(header), 1, out);
}

/* Write a frame to the output. Its time is the number of the port by which it leaves. */
static void write_frame(struct run *run, unsigned int port, struct rte_mbuf *frame)
{
	uint32_t bytes = rte_pktmbuf_data_len(frame);
	uint32_t header[4] = { port, 0, bytes, bytes };

	fwrite(header, sizeof(header), 1, run->output);
	fwrite(rte_pktmbuf_mtod(frame, void *), bytes, 1, run->output);
}

/* Take out the frames that leave the engine, and write them if there is an output. */
static void take_out(struct run *run)
{
	struct rte_mbuf *frames[BURST];

	for (unsigned int port = 0; port < PORTS; port++) {
		unsigned int count;

		while ((count = run->work->type->get(run->engine, port, frames, BURST))) {
			for (unsigned int i = 0; i < count; i++) {
				if (run->output)
					write_frame(run, port, frames[i]);
				rte_pktmbuf_free(frames[i]);
			}
			run->forwarded += count;
		}
	}
}

/* Return how many frames are in the engine. */
static uint64_t under_way(const struct run *run)
{
	uint64_t done = run->forwarded;

	for (enum counter reason = COUNT_FIRST_DROPPED; reason < COUNTS; reason++)
		done += run->work->type->counter(run->engine, reason);
	return run->put - done;
}

/* Work until the engine is empty, and print its reports. Returns 0, or -1 after complain(). */
static int drain(struct run *run)
{
	for (unsigned int i = 0; under_way(run); i++) {
		if (i == PATIENCE) {
			complain("the engine does not give back %" PRIu64 " frames",
				 under_way(run));
			return -1;
		}
		run->work->type->work(run->engine);
		take_out(run);
	}
	print_reports(run);
	return 0;
}

/* --- what enters it --- */

/* Print the score of the epoch that ends, if one has begun. */
static void print_score(struct run *run)
{
	if (run->work->score && run->begun)
		score_print(run->work, run->engine, run->epoch);
}

/* Begin another epoch if the time of a frame is in a later one. A frame that is earlier than its
 * epoch counts in it: interfaces disorder frames. Before an epoch ends, all its frames leave the
 * engine. Returns 0, or -1 after complain(). */
static int enter_epoch(struct run *run, uint64_t time_ns)
{
	uint64_t epoch = run->work->first_epoch;

	if (!run->begun)
		run->first_ns = time_ns;
	if (run->work->window_ns && time_ns > run->first_ns)
		epoch += (time_ns - run->first_ns) / run->work->window_ns;
	if (run->begun && epoch <= run->epoch)
		return 0;
	if (drain(run))
		return -1;
	print_score(run);
	found_clear(&run->found);
	run->begun = true;
	run->epoch = epoch;
	run->work->type->set_epoch(run->engine, (uint32_t)epoch);
	return 0;
}

/* Put a frame into the engine, and count it for the score. Returns 0, or -1 after complain(). */
static int put(struct run *run, const struct frame *read)
{
	struct rte_mbuf *frame;
	struct taken taken;

	if (!frame_take(&capture, read, &taken))
		return -1;
	if (run->work->score && score_count(&taken, run->work->settings.nsh_only, &run->left_out))
		return -1;
	frame = frame_create(run->pool, taken.data, taken.bytes);
	if (!frame)
		return -1;
	while (!run->work->type->put(run->engine, 0, &frame, 1)) {
		run->work->type->work(run->engine);
		take_out(run);
	}
	run->put++;
	return 0;
}

/* Take the capture through the engine. Returns 0, or -1 after complain(). */
static int read_trace(struct run *run)
{
	struct frame frame;

	for (;;) {
		if (run->put == run->work->most_frames)
			return drain(run);
		switch (capture.next(&capture, &frame)) {
		case CAPTURE_FRAME:
			if (enter_epoch(run, frame.time_ns) || put(run, &frame))
				return -1;
			break;
		case CAPTURE_TRUNCATED:
			capture_cut_off(&capture);
			return -1;
		case CAPTURE_END:
			return drain(run);
		default: /* damaged, which was complained about */
			return -1;
		}
	}
}

/* Print row, column and count of the cells that are not 0. */
static void print_cells(const struct work *work, struct engine *engine)
{
	const char *between = "";

	printf("{\"event\": \"cells\", \"cells\": [");
	for (uint32_t row = 0; row < work->settings.rows; row++) {
		for (uint32_t column = 0; column < work->settings.columns; column++) {
			uint32_t count = work->type->cell(engine, row, column);

			if (!count)
				continue;
			printf("%s[%u, %u, %u]", between, row, column, count);
			between = ", ";
		}
	}
	puts("]}");
}

static void print_end(struct run *run)
{
	print_score(run);
	if (run->work->cells)
		print_cells(run->work, run->engine);
	printf("{\"event\": \"end\", \"frames\": %lu, \"lost_reports\": %lu, ", run->put,
	       run->lost_reports);
	if (run->work->score) {
		left_out_print(stdout, &run->left_out);
		printf(", ");
	}
	print_counters(stdout, run->work->type, run->engine);
	puts("}");
}

/* Open the capture, and the output if there is one. Returns 0, or -1 after complain(). */
static int open_files(struct run *run)
{
	const struct work *work = run->work;

	if (!capture_open(&capture, work->trace))
		return -1;
	if (!work->output)
		return 0;
	run->output = fopen(work->output, "we");
	if (!run->output) {
		complain("%s: %s", work->output, strerror(errno));
		return -1;
	}
	write_header(run->output);
	return 0;
}

int offline_run(const struct work *work)
{
	static struct run run;
	int status;

	run.work = work;
	if (open_files(&run) || found_open(&run.found) ||
	    !(run.pool = frames_create(FEW_FRAMES, MOST_FRAME_BYTES)))
		return 1;
	run.engine = work->type->create(&work->settings, 0);
	if (!run.engine)
		return 1;
	status = read_trace(&run);
	if (!status)
		print_end(&run);
	if (run.output && fclose(run.output)) {
		complain("%s: %s", work->output, strerror(errno));
		status = -1;
	}
	work->type->destroy(run.engine);
	return status ? 1 : 0;
}
