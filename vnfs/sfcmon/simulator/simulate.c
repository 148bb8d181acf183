// SPDX-License-Identifier: Apache-2.0
/* sfcmon-simulate: prints what SFCMon would report of a trace, window by window, and what is
 * true. */
#include <inttypes.h>
#include <stdio.h>

#include "../../../dataplane/capture/left_out.h"
#include "trace.h"
#include "window.h"
#include "../../../dataplane/common/clock.h"
#include "../../../dataplane/common/options.h"

const char tool_name[] = "sfcmon-simulate";

static const char documentation[] =
	"Runs SFCMon on a trace: pcap, pcapng, or CSV; - is standard input.\v"
	"Prints a line of JSON for each window that has packets, and one at the end. The README "
	"describes both. Exit status 1: the trace cannot be read.";

static const char *trace_name;
static struct sizes sizes = DEFAULT_SIZES;
static long window_ns, truth_share = -1, eval = 1000, share = 4294967, packets, adaptive;
static long spi = 1, si = 255;
static bool nsh_only, registers;

#define MOST_CELLS (1 << 28)
#define MOST_32 0xffffffffL

static struct tool_option descriptions[] = {
	{ "window", 'w', "NS", "Width of a window", take_integer, &window_ns, .least = 1,
	  .most = 1L << 62, .required = true },
	{ .help = "Thresholds:" },
	{ "share", 's', "N", "Least share of the packets so far, in units of 2^-32 [4294967]",
	  take_integer, &share, .most = MOST_32 },
	{ "eval", 'e', "PACKETS", "Packets of a window before which none is reported [1000]",
	  take_integer, &eval, .most = MOST_32 },
	{ "packets", 'p', "PACKETS", "Least packets of a heavy hitter [0]", take_integer, &packets,
	  .most = MOST_32 },
	{ "adaptive", 'a', "FLOWS", "Adapt --packets so that this many flows are reported",
	  take_integer, &adaptive, .least = 1, .most = MOST_32 },
	{ "truth", 't', "N", "Share from which a source is a heavy hitter [--share]", take_integer,
	  &truth_share, .most = MOST_32 },
	{ .help = "Sizes:" },
	{ "cms-rows", 0, "N", "Rows of the count-min sketch [5]", take_integer, &sizes.cms_rows,
	  .least = 1, .most = SFCMON_CMS_ROWS },
	{ "cms-columns", 0, "N", "Its columns [5437]", take_integer, &sizes.cms_columns, .least = 1,
	  .most = MOST_CELLS },
	{ "bloom-bits", 0, "N", "Bits of the Bloom filter [16384]", take_integer, &sizes.bloom_bits,
	  .least = 1, .most = MOST_CELLS },
	{ "bloom-hashes", 0, "N", "Its hash functions [4]", take_integer, &sizes.bloom_hashes,
	  .least = 1, .most = SFCMON_BLOOM_HASHES },
	{ "iblt-cells", 0, "N", "Cells of the IBLT [300]", take_integer, &sizes.iblt_cells,
	  .least = SFCMON_IBLT_HASHES, .most = MOST_CELLS },
	{ "iblt-hashes", 0, "N", "Its hash functions [3]", take_integer, &sizes.iblt_hashes,
	  .least = 1, .most = SFCMON_IBLT_HASHES },
	{ .help = "Trace:" },
	{ "spi", 0, "N", "Path of packets that come without an NSH [1]", take_integer, &spi,
	  .most = 0xffffff },
	{ "si", 0, "N", "Their service index [255]", take_integer, &si, .most = 0xff },
	{ "nsh-only", 0, NULL, "Only count frames without an NSH", take_flag, &nsh_only },
	{ "registers", 0, NULL, "Print all registers", take_flag, &registers },
	{ 0 },
};

/* Judge all options together, and take the name of the trace from the arguments. */
static void check(char **words, unsigned int count)
{
	if (count != 1)
		refuse("one trace is needed, not %u", count);
	trace_name = words[0];
	if (truth_share < 0)
		truth_share = share;
}

/* CPU time in seconds, by what it was spent on. */
struct spent {
	double read_s, sketch_s, truth_s;
};

static double cpu_s(void)
{
	return (double)clock_ns(CLOCK_THREAD_CPUTIME_ID) / 1e9;
}

struct simulation {
	struct trace trace;
	struct window window;
	bool started;
	uint64_t origin_ns; /* time of the first packet */
	uint64_t frames;
	struct left_out left_out;
	uint64_t late; /* came after packets of a later window; counted in that one */
	struct spent spent;
};

/* Print the window, adapt the thresholds for the next one, and clear the sketches. Returns false
 * if it cannot be written. */
static bool end_window(struct simulation *simulation)
{
	struct window *window = &simulation->window;

	if (!window_print(window, (uint32_t)truth_share, registers))
		return false;
	if (adaptive)
		thresholds_adapt(&window->sketch.thresholds, window->sketch.packets,
				 sketch_inserted(&window->sketch), (uint32_t)adaptive);
	sketch_clear(&window->sketch);
	truth_clear(&window->truth);
	return true;
}

/* Begin the window to which a packet of this time belongs. */
static void begin_window(struct simulation *simulation, uint64_t ts_ns)
{
	struct window *window = &simulation->window;

	window->index = (ts_ns - simulation->origin_ns) / window->width_ns;
	window->begin_ns = simulation->origin_ns + window->index * window->width_ns;
	window->last_ns = ts_ns;
}

/* Return how many of the packets, from the first on, belong to the open window. Note which of them
 * are late, and the time of the latest. */
static unsigned int in_window(struct simulation *simulation, const struct packet *batch,
			      unsigned int count)
{
	struct window *window = &simulation->window;
	unsigned int i;

	for (i = 0; i < count; i++) {
		if (batch[i].ts_ns < window->begin_ns)
			simulation->late++;
		else if (batch[i].ts_ns - window->begin_ns >= window->width_ns)
			break;
		if (batch[i].ts_ns > window->last_ns)
			window->last_ns = batch[i].ts_ns;
	}
	return i;
}

/* Put packets of one window into the sketches, and count them exactly. */
static void process(struct simulation *simulation, const struct packet *batch, unsigned int count)
{
	struct window *window = &simulation->window;
	double begin = cpu_s(), middle;
	bool heavy[BATCH];

	sketch_process(&window->sketch, batch, count, heavy);
	middle = cpu_s();
	truth_count(&window->truth, batch, count, heavy);
	simulation->spent.sketch_s += middle - begin;
	simulation->spent.truth_s += cpu_s() - middle;
}

/* Process a batch, whose packets may belong to several windows. Returns false if a window cannot
 * be written. */
static bool process_batch(struct simulation *simulation, const struct packet *batch,
			  unsigned int count)
{
	if (count && !simulation->started) {
		simulation->started = true;
		simulation->origin_ns = batch[0].ts_ns;
		begin_window(simulation, batch[0].ts_ns);
	}
	while (count) {
		unsigned int now = in_window(simulation, batch, count);

		if (now)
			process(simulation, batch, now);
		batch += now;
		count -= now;
		if (count) {
			if (!end_window(simulation))
				return false;
			begin_window(simulation, batch[0].ts_ns);
		}
	}
	return true;
}

static void leave_out(struct simulation *simulation)
{
	left_out_count_frame(&simulation->left_out, &simulation->trace.frame);
}

/* Read packets until the batch is full or the trace ends. Returns how the last reading ended. */
static enum trace_status read_batch(struct simulation *simulation, struct packet *batch,
				    unsigned int *count)
{
	struct trace *trace = &simulation->trace;
	enum trace_status status = TRACE_PACKET;
	double begin = cpu_s();

	for (*count = 0; *count < BATCH; ++*count) {
		status = trace->next(trace, &batch[*count]);
		if (status != TRACE_PACKET)
			break;
		if (batch[*count].words == NOT_PARSED)
			leave_out(simulation);
	}
	simulation->frames += *count;
	simulation->spent.read_s += cpu_s() - begin;
	return status;
}

/* Simulate the whole trace. `*status` becomes how it ended. Returns false if a window cannot be
 * written. */
static bool simulate(struct simulation *simulation, enum trace_status *status)
{
	static struct packet batch[BATCH];
	unsigned int count;

	do {
		*status = read_batch(simulation, batch, &count);
		if (!process_batch(simulation, batch, count))
			return false;
	} while (*status == TRACE_PACKET);
	return !simulation->started || end_window(simulation);
}

static void print_end(const struct simulation *simulation, bool truncated)
{
	printf("{\"event\": \"end\", \"frames\": %" PRIu64 ", ", simulation->frames);
	left_out_print(stdout, &simulation->left_out);
	printf(", \"late\": %" PRIu64
	       ", \"truncated\": %s, \"read_s\": %.6f, \"sketch_s\": %.6f, \"truth_s\": %.6f}\n",
	       simulation->late, truncated ? "true" : "false", simulation->spent.read_s,
	       simulation->spent.sketch_s, simulation->spent.truth_s);
}

int main(int argc, char **argv)
{
	static struct simulation simulation;
	enum trace_status status;

	options_parse(argc, argv, documentation, "TRACE", descriptions, check);
	if (!trace_open(&simulation.trace, trace_name, (struct path){ (uint32_t)spi, (uint8_t)si },
			nsh_only))
		return 1;
	simulation.window.width_ns = (uint64_t)window_ns;
	sketch_create(&simulation.window.sketch, &sizes,
		      &(struct thresholds){ (uint32_t)eval, (uint32_t)share, (uint32_t)packets });
	truth_create(&simulation.window.truth);
	if (!simulate(&simulation, &status)) {
		complain("the results cannot be written");
		return 1;
	}
	if (status == TRACE_DAMAGED)
		return 1;
	print_end(&simulation, status == TRACE_TRUNCATED);
	if (fflush(stdout)) {
		complain("the results cannot be written");
		return 1;
	}
	return 0;
}
