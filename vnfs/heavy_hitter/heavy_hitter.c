// SPDX-License-Identifier: Apache-2.0
/* sfc-heavy-hitter: finds the heavy hitters among flows with a count-min sketch, on DPDK. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_log.h>

#include "../../dataplane/common/options.h"
#include "../../dataplane/common/report.h"
#include "../../dataplane/common/signals.h"
#include "../../dataplane/common/stats.h"
#include "../../dataplane/common/vxlan_gpe_port.h"
#include "serve.h"
#include "swx.h"
#include "tool.h"

#define NS_PER_MS 1000000ULL
#define MOST_COLUMNS (1 << 24)
#define RUNTIME_FOLDER "/tmp/sfc-heavy-hitter-XXXXXX"

const char tool_name[] = "sfc-heavy-hitter";

static const char documentation[] =
	"Find heavy hitters: flows whose packets in a window exceed a threshold, counted in a "
	"count-min sketch.\v"
	"Prints JSON Lines on stdout: with --interface `ready` when it forwards, and a `window` "
	"with the "
	"heavy hitters found in it when one ends; SIGUSR2 ends it at once, SIGUSR1 asks for "
	"counters "
	"(--stats), SIGTERM ends the tool. What engines do is specified in "
	"vnfs/heavy_hitter/model.py.";

static const char *const engine_names[] = { "swx", "native", NULL };
static const struct engine_type *const engines[] = { &engine_swx, &engine_native };
static const char *const action_names[] = { "block", "report", "mark", NULL };

static const char *const device_names[] = { "af_packet", "af_xdp", NULL };

static int engine, action, device_kind;
static long mark_dscp = 1;
static long rows = 4, columns = 65536, seed, threshold = 1000, flows = 65536, expiry_s = 10;
static long window_ms, first_epoch, repeat_ms, frame_bytes, most_frames;
static const char *generate, *interfaces, *next_hops, *stats;
static struct work work;
static struct live live;

static struct tool_option descriptions[] = {
	{ NULL, 0, NULL, "What runs:" },
	{ "engine", 'e', "NAME", "swx (default): the P4 program; native: the same in C", take_word,
	  &engine, .words = engine_names },
	{ "spec", 'P', "FILE", "engine swx: the program, as p4c-dpdk writes it", take_text,
	  &work.settings.spec },
	{ "library", 'l', "FILE", "engine swx: the program as compiled code; else interpreted",
	  take_text, &work.settings.library },
	{ "generate", 'g', "FILE", "write the C of such a library for these sizes, and end",
	  take_text, &generate },
	{ NULL, 0, NULL, "Packets, one of:" },
	{ "trace", 't', "FILE", "a capture, whose times are the clock (-: standard input)",
	  take_text, &work.trace },
	{ "frames", 0, "N", "take at most so many of the capture", take_integer, &most_frames,
	  .least = 1, .most = 1L << 40 },
	{ "interface", 'i', "NAME[,NAME]",
	  "one: NSH frames return where they came from; two, ingress and egress: plain IP leaves "
	  "by "
	  "the other one",
	  take_text, &interfaces },
	{ "cpus", 'p', "LIST",
	  "with --interface or --repeat-ms: a thread on each of these, e.g. 0,1", take_cpus,
	  &live.cpus },
	{ NULL, 0, NULL, "With --interface:" },
	{ "io", 'I', "NAME", "af_packet (default) or af_xdp", take_word, &device_kind,
	  .words = device_names },
	{ "next-hops", 'N', "MAC,MAC", "of two interfaces: where client and server are reached",
	  take_text, &next_hops },
	{ "stats", 'S', "FILE", "write counters to FILE", take_text, &stats },
	{ NULL, 0, NULL, "The sketch:" },
	{ "rows", 'd', "N", "hash functions, 1 to 8 (default 4)", take_integer, &rows, .least = 1,
	  .most = MOST_ROWS },
	{ "columns", 'w', "N", "counters of each, a power of two (default 65536)", take_integer,
	  &columns, .least = 2, .most = MOST_COLUMNS },
	{ "seed", 's', "N", "of the first hash function (default 0)", take_integer, &seed,
	  .least = 0, .most = 0xffffffffL },
	{ "conservative", 'C', NULL, "let only the smallest counts of a flow grow", take_flag,
	  &work.settings.conservative },
	{ "window-ms", 'W', "MS", "length of a window (default: one for all)", take_integer,
	  &window_ms, .least = 1, .most = 3600000 },
	{ "first-epoch", 0, "N", "number of the first window (default 0)", take_integer,
	  &first_epoch, .least = 0, .most = 0xffffffffL },
	{ NULL, 0, NULL, "Heavy hitters:" },
	{ "threshold", 'T', "N", "packets of a flow in a window that are none (default 1000)",
	  take_integer, &threshold, .least = 1, .most = 0xfffffffeL },
	{ "action", 'a', "NAME", "block (default), report, or mark", take_word, &action,
	  .words = action_names },
	{ "mark-dscp", 'm', "N", "DSCP of packets that are marked (default 1: lower effort)",
	  take_integer, &mark_dscp, .least = 0, .most = 63 },
	{ "flows", 'f', "N", "known at a time (default 65536)", take_integer, &flows, .least = 64,
	  .most = 1 << 22 },
	{ "expiry-s", 'x', "S",
	  "forgotten so long after they were found (default 10), or some seconds later",
	  take_integer, &expiry_s, .least = 1, .most = 86400 },
	{ NULL, 0, NULL, "Frames:" },
	{ "nsh-only", 'n', NULL, "plain frames are not for this function", take_flag,
	  &work.settings.nsh_only },
	{ "reflect", 'r', NULL, "return frames where they came in (default: by the other port)",
	  take_flag, &work.settings.reflect },
	{ NULL, 0, NULL, "Output:" },
	{ "write", 'o', "FILE", "keep the frames that are forwarded", take_text, &work.output },
	{ "cells", 'c', NULL, "print the sketch at the end", take_flag, &work.cells },
	{ "score", 0, NULL,
	  "with --trace, and --action report or mark: print how right estimates are, of each "
	  "window",
	  take_flag, &work.score },
	{ "repeat-ms", 'R', "MS", "repeat the trace from memory, and print what a frame takes",
	  take_integer, &repeat_ms, .least = 1, .most = 600000 },
	{ "frame-bytes", 'B', "N", "with --repeat-ms: least length of a frame (default: as it is)",
	  take_integer, &frame_bytes, .least = 14, .most = MOST_FRAME_BYTES },
	{ 0 },
};

/* Take the options about interfaces into `live`. The list of names is split in place: it is in the
 * command line, which lives as long as the process. */
static void take_interfaces(void)
{
	char *comma = strchr(interfaces, ',');
	uint8_t(*macs)[6] = live.next_hops;

	live.kind = (enum device_kind)device_kind;
	live.where[0] = interfaces;
	if (!comma != !next_hops)
		refuse("--next-hops belongs to two interfaces");
	if (!comma)
		return;
	*comma = '\0';
	live.where[1] = comma + 1;
	if (live.kind != DEVICE_AF_PACKET)
		refuse("--io %s: the kernel answers ARP for two interfaces, which needs af_packet",
		       device_names[device_kind]);
	if (sscanf(next_hops, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx,%hhx:%hhx:%hhx:%hhx:%hhx:%hhx",
		   &macs[0][0], &macs[0][1], &macs[0][2], &macs[0][3], &macs[0][4], &macs[0][5],
		   &macs[1][0], &macs[1][1], &macs[1][2], &macs[1][3], &macs[1][4],
		   &macs[1][5]) != 12)
		refuse("--next-hops: '%s' is not two MAC addresses", next_hops);
}

/* Judge the options together: end the tool if they contradict each other. */
static void check_options(char **words, unsigned int count)
{
	(void)words, (void)count;
	if (columns & (columns - 1))
		refuse("--columns: %ld is no power of two", columns);
	if (engines[engine] == &engine_swx && !work.settings.spec)
		refuse("engine swx needs --spec");
	if (!!generate + !!work.trace + !!interfaces != 1)
		refuse("give one of --trace, --interface and --generate");
	if (work.score && (!work.trace || action == ON_HEAVY_BLOCK))
		refuse("--score needs --trace, and an action with which all packets count");
	if (interfaces)
		take_interfaces();
}

/* Copy the options to the settings of the engine and of the work. */
static void take_settings(void)
{
	struct settings *settings = &work.settings;

	work.type = engines[engine];
	work.window_ns = (uint64_t)window_ms * NS_PER_MS;
	work.first_epoch = (uint64_t)first_epoch;
	work.repeat_ms = (uint64_t)repeat_ms;
	work.most_frames = most_frames ? (uint64_t)most_frames : UINT64_MAX;
	work.frame_bytes = (uint32_t)frame_bytes;
	settings->ports = 1; /* live_start() sets as many as there are interfaces */
	settings->rows = (uint32_t)rows;
	settings->columns = (uint32_t)columns;
	settings->seed = (uint32_t)seed;
	settings->threshold = (uint32_t)threshold;
	settings->on_heavy = (enum on_heavy)action;
	settings->mark_dscp = (uint32_t)mark_dscp;
	settings->flows = (uint32_t)flows;
	settings->expiry_s = (uint32_t)expiry_s;
}

/* Remove the folders that DPDK makes for files which other processes share. There are no such
 * files. */
static void remove_runtime_folder(const char *folder)
{
	char path[sizeof(RUNTIME_FOLDER) + 16];

	snprintf(path, sizeof(path), "%s/dpdk/rte", folder);
	rmdir(path);
	snprintf(path, sizeof(path), "%s/dpdk", folder);
	rmdir(path);
	rmdir(folder);
}

/* Return the first CPU that this process may use: DPDK insists on a number. */
static int first_cpu(const cpu_set_t *allowed)
{
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, allowed))
			return cpu;
	return 0;
}

/* Return how much memory sketch and table of each thread and the frames need, MB. */
static unsigned long megabytes_needed(void)
{
	unsigned long threads = live.cpus.count ? live.cpus.count : 1;
	/* The P4 program always has all rows. */
	unsigned long sketch = (unsigned long)columns * MOST_ROWS * 8;
	unsigned long table = (unsigned long)flows * 256;

	return 96 + threads * (16 + ((sketch + table) >> 20));
}

/* Are there so many MB of free huge pages of 2 MB? */
static bool has_huge_pages(unsigned long megabytes)
{
	FILE *file = fopen("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "re");
	unsigned long pages = 0;
	bool known = file && fscanf(file, "%lu", &pages) == 1;

	if (file)
		fclose(file);
	return known && pages * 2 >= megabytes;
}

/* Start DPDK without physical devices, with huge pages where there are enough. Returns 0, or -1
 * after complain(). */
static int start_dpdk(void)
{
	unsigned long megabytes = megabytes_needed();
	char memory[24], cpu[12], folder[] = RUNTIME_FOLDER;
	cpu_set_t allowed;
	char *pages = has_huge_pages(megabytes) ? "--in-memory" : "--no-huge";
	char *words[] = { (char *)tool_name,
			  pages,
			  "--no-shconf",
			  "--no-pci",
			  "--no-telemetry",
			  "-m",
			  memory,
			  "-l",
			  cpu,
			  "--iova-mode=va",
			  "--log-level=*:error",
			  NULL };
	int status;

	if (!mkdtemp(folder)) {
		complain("%s: %s", folder, strerror(errno));
		return -1;
	}
	setenv("RUNTIME_DIRECTORY", folder, 1);
	snprintf(memory, sizeof(memory), "%lu", megabytes);
	CPU_ZERO(&allowed);
	sched_getaffinity(0, sizeof(allowed), &allowed);
	snprintf(cpu, sizeof(cpu), "%d", first_cpu(&allowed));
	status = rte_eal_init((int)RTE_DIM(words) - 1, words);
	/* DPDK has bound this thread, and all that start from it, to one CPU: undo that. */
	sched_setaffinity(0, sizeof(allowed), &allowed);
	remove_runtime_folder(folder);
	if (status < 0)
		complain("DPDK does not start with %lu MB of memory", megabytes);
	return status < 0 ? -1 : 0;
}

/* Start DPDK, and forward between interfaces until a signal ends the tool. Returns the exit
 * status. */
static int start_serving(const sigset_t *signals)
{
	if (stats_open(stats))
		return 1;
	if (start_dpdk() || vxlan_gpe_port_open(live.where[0]))
		return stats_failed(true);
	return serve_run(&work, &live, signals);
}

int main(int argc, char **argv)
{
	options_parse(argc, argv, documentation, NULL, descriptions, check_options);
	take_settings();
	if (interfaces) {
		sigset_t signals;

		/* Before DPDK starts threads, which inherit this. */
		signals_block(&signals, SIGUSR2);
		return start_serving(&signals);
	}
	if (start_dpdk())
		return 1;
	if (generate)
		return swx_generate(&work.settings, generate) ? 1 : 0;
	return work.repeat_ms ? measure_run(&work, &live.cpus) : offline_run(&work);
}
