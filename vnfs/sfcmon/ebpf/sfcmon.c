// SPDX-License-Identifier: Apache-2.0
/* sfc-sfcmon: finds the heavy hitters of paths (SFCMon), as an NSH service function or at an
 * SFF. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "../../../dataplane/common/clock.h"
#include "../../../dataplane/common/interface.h"
#include "../../../dataplane/common/libbpf_log.h"
#include "../../../dataplane/common/options.h"
#include "../../../dataplane/common/percpu.h"
#include "../../../dataplane/common/report.h"
#include "../../../dataplane/common/signals.h"
#include "../../../dataplane/common/stats.h"
#include "../../../dataplane/forwarding/counters.h"
#include "attach.h"
#include "registers.h"
#include "running_sff.h"
#include "table.h"

#define MOST_FLOWS 1048576
#define MOST_COLUMNS 16777216
#define MOST_BITS 67108864
#define MOST_CELLS 1048576
#define MS_PER_S 1000
#define NS_PER_MS 1000000

const char tool_name[] = "sfc-sfcmon";

static const char documentation[] =
	"Counts the flows of heavy hitters in sketches (SFCMon; docs/reference/sfcmon.md), at one "
	"of "
	"three places: as an NSH service function (--interface), which decrements the service "
	"index "
	"and returns the packet; in a running sfc-sff (--sff), before each lookup; or at the ports "
	"of "
	"another SFF.\v"
	"A PORT is NAME:nsh (an NSH service function), NAME:underlay,address=A (VXLAN-GPE to the "
	"IPv4 address of this node) or NAME:rule,path=SPI/SI (IPv4 packets without an NSH that the "
	"classifier or SFC proxy puts on this path), of a rule also protocol=icmp|tcp|udp, "
	"source=A/N, "
	"destination=A/N, source-port=N, destination-port=N.\n"
	"Prints JSON Lines on stdout: `ready` when it forwards, `window` at the end of each "
	"window, "
	"`counters` on SIGUSR1 and at the end (SIGTERM or SIGINT), where the last window ends too. "
	"SIGUSR2 ends the window at once.";

static struct {
	const char *interface; /* one of these, or places */
	const char *sff;
	struct place *places;
	unsigned int place_count;
	const char *stats; /* NULL: no stats file */
	int monitor; /* enum sfcmon_monitor */
	long table_flows;
	struct table_entries entries;
	long window_ms;
	struct sizes sizes;
	long eval, share, packets;
	long adaptive; /* flows; 0: thresholds stay */
} options = {
	.table_flows = 65536,
	.window_ms = 1000,
	.sizes = DEFAULT_SIZES,
	.eval = 1000,
	.share = 4294967,
};

/* Words of the option --monitor, in the order of enum sfcmon_monitor. */
static const char *const monitors[] = { "sketches", "table", "none", NULL };

static void take_entries(const struct tool_option *option, const char *argument)
{
	if (table_parse_entries(argument, option->value))
		refuse("'%s' is no list of entries", argument);
}

static struct tool_option descriptions[] = {
	{ "interface", 'i', "NAME", "interface whose frames are served", take_interface,
	  &options.interface },
	{ "sff", 'f', "NAME", "a port of the sfc-sff that is monitored", take_interface,
	  &options.sff },
	{ "stats", 's', "FILE", "write the counters to FILE too", take_text, &options.stats },
	{ "monitor", 'm', "WHAT",
	  "of a function: sketches (default), table: an entry for each flow, or none: packets are "
	  "only forwarded",
	  take_word, &options.monitor, .words = monitors },
	{ "table-flows", 0, "N", "most flows of the table (65536)", take_integer,
	  &options.table_flows, .least = 1, .most = MOST_FLOWS },
	{ "table-entries", 0, "LIST",
	  "entries that are there from the start: COUNT:FLOW,..., where FLOW is a FlowID2 in "
	  "hexadecimal, and each next flow has the next source port",
	  take_entries, &options.entries },
	{ "window-ms", 'w', "MS", "length of a window (default: 1000)", take_integer,
	  &options.window_ms, .least = 5, .most = 3600 * MS_PER_S },
	{ "threshold-eval", 0, "N", "packets before which there are no heavy hitters (1000)",
	  take_integer, &options.eval, .least = 0, .most = UINT32_MAX },
	{ "threshold-share", 0, "N", "share of a heavy hitter, in units of 2^-32 (4294967: 0.1 %)",
	  take_integer, &options.share, .least = 0, .most = UINT32_MAX },
	{ "adaptive", 'a', "FLOWS",
	  "adapt --threshold-packets from window to window, so that so many flows are reported",
	  take_integer, &options.adaptive, .least = 1, .most = UINT32_MAX },
	{ "threshold-packets", 0, "N", "packets of a heavy hitter (0)", take_integer,
	  &options.packets, .least = 0, .most = UINT32_MAX },
	{ "cms-rows", 0, "N", "rows of the count-min sketch (5)", take_integer,
	  &options.sizes.cms_rows, .least = 1, .most = SFCMON_CMS_ROWS },
	{ "cms-columns", 0, "N", "its columns (5437)", take_integer, &options.sizes.cms_columns,
	  .least = 1, .most = MOST_COLUMNS },
	{ "bloom-bits", 0, "N", "bits of the Bloom filter (16384)", take_integer,
	  &options.sizes.bloom_bits, .least = 1, .most = MOST_BITS },
	{ "bloom-hashes", 0, "N", "its hash functions (4)", take_integer,
	  &options.sizes.bloom_hashes, .least = 1, .most = SFCMON_BLOOM_HASHES },
	{ "iblt-cells", 0, "N", "cells of the IBLT (300)", take_integer, &options.sizes.iblt_cells,
	  .least = SFCMON_IBLT_HASHES, .most = MOST_CELLS },
	{ "iblt-hashes", 0, "N", "its hash functions (3)", take_integer, &options.sizes.iblt_hashes,
	  .least = 1, .most = SFCMON_IBLT_HASHES },
	{ 0 },
};

static const struct sizes no_sketches = { 1, 1, 1, 1, SFCMON_IBLT_HASHES, 1 };

static struct bpf_object *object;
static struct thresholds thresholds;
static unsigned long windows; /* that have ended */
static uint64_t began_ns; /* start of the window that goes on, CLOCK_REALTIME */

/* Judge the options together, and read the ports. */
static void check_options(char **words, unsigned int count)
{
	if (!!options.interface + !!options.sff + !!count != 1)
		refuse("one of --interface, --sff and ports is needed");
	if (!options.interface && options.monitor != SFCMON_MONITOR_SKETCHES)
		refuse("--monitor %s is that of a function", monitors[options.monitor]);
	if (table_count(&options.entries) > (unsigned long)options.table_flows)
		refuse("%lu entries do not fit into a table of %ld flows",
		       table_count(&options.entries), options.table_flows);
	if (count > SFCMON_PORTS)
		refuse("at most %d ports, not %u", SFCMON_PORTS, count);
	options.places = calloc(count + 1, sizeof(*options.places));
	if (!options.places)
		refuse("not enough memory");
	for (options.place_count = 0; options.place_count < count; options.place_count++)
		read_place(words[options.place_count], &options.places[options.place_count]);
}

/* Open the program for the place that the options say. Returns NULL after complain(). */
static struct bpf_object *open_program(void)
{
	struct interface interface;

	if (options.place_count)
		return open_ports(options.places, options.place_count);
	if (find_interface(options.sff ? options.sff : options.interface, &interface))
		return NULL;
	return options.sff ? open_sff(&interface) : open_function(&interface, options.monitor);
}

/* Attach the program, once it is loaded. Returns 0, or -1 after complain(). */
static int attach(void)
{
	if (options.place_count)
		return attach_ports();
	return options.sff ? attach_sff() : attach_function();
}

static void detach(void)
{
	if (options.place_count)
		detach_ports();
	else if (options.sff)
		detach_sff();
	else
		detach_function();
}

/* Open, size and load the program, and attach it. Returns 0, or -1 after complain(). */
static int start(void)
{
	bool has_table = options.monitor == SFCMON_MONITOR_TABLE;

	if (options.monitor != SFCMON_MONITOR_SKETCHES)
		options.sizes = no_sketches;
	object = open_program();
	if (!object || registers_size(object, &options.sizes, has_table) ||
	    (has_table && table_size(object, options.table_flows)))
		return -1;
	if (bpf_object__load(object)) {
		libbpf_complain_of_load("the program", errno);
		return -1;
	}
	if (registers_open(&thresholds) || (has_table && table_open(object, &options.entries)))
		return -1;
	return attach();
}

/* Print the verdicts of a service function, which also forwards. */
static void report_verdicts(FILE *out)
{
	__u64 verdicts[FWD_VERDICTS] = { 0 };

	percpu_sum(bpf_object__find_map_fd_by_name(object, "verdicts"), 0, verdicts,
		   sizeof(verdicts));
	print_verdicts(out, verdicts);
}

/* Write the counters to the stats file, and if `print`, to stdout as well. */
static void report_counters(bool print)
{
	FILE *out = stats_begin();

	if (options.interface)
		report_verdicts(out);
	fprintf(out, "\"windows\": %lu", windows);
	stats_end(print);
}

/* End the window and print it, unless nothing monitors. `asked`: a signal asked for it. Returns 0,
 * or -1 after complain(). */
static int end_window(bool asked)
{
	uint64_t ended_ns;
	int bank;

	if (options.monitor == SFCMON_MONITOR_NONE)
		return 0;
	/* The window that is about to end gives the thresholds: the next one needs them before
	 * this one has ended. */
	if (options.adaptive && options.monitor == SFCMON_MONITOR_SKETCHES)
		thresholds_adapt(&thresholds, registers_packets(), registers_inserted(),
				 (__u32)options.adaptive);
	bank = registers_switch(&thresholds);
	if (bank < 0)
		return -1;
	ended_ns = clock_ns(CLOCK_REALTIME);
	printf("{\"event\": \"window\", \"number\": %lu, \"asked\": %s, \"start_ns\": %lu, "
	       "\"end_ns\": %lu, ",
	       windows++, asked ? "true" : "false", began_ns, ended_ns);
	if (registers_print(bank, stdout))
		return -1;
	puts("}");
	if (fflush(stdout) || ferror(stdout)) {
		complain("cannot write a window: %s", strerror(errno));
		return -1;
	}
	began_ns = ended_ns;
	return 0;
}

/* End windows in time, and serve signals until SIGTERM or SIGINT. Returns the exit status. */
static int serve(const sigset_t *signals)
{
	uint64_t window_ns = (uint64_t)options.window_ms * NS_PER_MS;
	uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + window_ns;

	began_ns = clock_ns(CLOCK_REALTIME);
	for (;;) {
		int64_t left_ns = (int64_t)(end_ns - clock_ns(CLOCK_MONOTONIC));
		int signo = 0;

		/* Rounded up, because 0 ms would be for ever. */
		if (left_ns > 0)
			signo = signals_next(signals,
					     (unsigned int)((left_ns + NS_PER_MS - 1) / NS_PER_MS));
		if (signo == SIGUSR1) {
			report_counters(true);
			continue;
		}
		/* The program is detached first, so that the last window has all packets, too. */
		if (signo == SIGTERM || signo == SIGINT)
			detach();
		if (end_window(signo != 0))
			return 1;
		if (signo == SIGTERM || signo == SIGINT)
			return 0;
		/* The window that begins now gets its full length. */
		if (signo == SIGUSR2)
			end_ns = clock_ns(CLOCK_MONOTONIC) + window_ns;
		/* Windows whose time passed while the machine was busy become one long window. */
		while (end_ns <= clock_ns(CLOCK_MONOTONIC))
			end_ns += window_ns;
	}
}

int main(int argc, char **argv)
{
	sigset_t signals;
	int status;

	options_parse(argc, argv, documentation, "[PORT...]", descriptions, check_options);
	libbpf_log_keep();
	signals_block(&signals, SIGUSR2);
	thresholds = (struct thresholds){ (__u32)options.eval, (__u32)options.share,
					  (__u32)options.packets };
	if (stats_open(options.stats))
		return 1;
	if (start())
		return stats_failed(true);
	puts("{\"event\": \"ready\"}");
	fflush(stdout);
	report_counters(false);
	status = serve(&signals);
	if (status)
		detach();
	report_counters(true);
	return status;
}
