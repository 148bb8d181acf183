// SPDX-License-Identifier: Apache-2.0
/* sfc-heavy-hitter: finds the heavy hitters among flows with a count-min sketch, on DPDK. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_log.h>

#include "../common/options.h"
#include "../common/report.h"
#include "swx.h"
#include "tool.h"

#define NS_PER_MS 1000000ULL
#define MOST_COLUMNS (1 << 24)
#define RUNTIME_FOLDER "/tmp/sfc-heavy-hitter-XXXXXX"

const char tool_name[] = "sfc-heavy-hitter";

static const char documentation[] =
	"Find heavy hitters: flows whose packets in a window exceed a threshold, counted in a "
	"count-min sketch.\v"
	"Prints JSON Lines on stdout. What engines do is specified in vnfs/heavy_hitter/model.py.";

static const char *const engine_names[] = { "swx", "native", NULL };
static const struct engine_type *const engines[] = { &engine_swx, &engine_native };
static const char *const action_names[] = { "block", "report", NULL };

static int engine, action;
static long rows = 4, columns = 65536, seed, threshold = 1000, flows = 65536, expiry_s = 10;
static long window_ms, first_epoch, repeat_ms;
static const char *generate;
static struct work work;

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
	{ "action", 'a', "NAME", "block (default) or report", take_word, &action,
	  .words = action_names },
	{ "flows", 'f', "N", "known at a time (default 65536)", take_integer, &flows, .least = 64,
	  .most = 1 << 22 },
	{ "expiry-s", 'x', "S", "forgotten so long after they were found (default 10)",
	  take_integer, &expiry_s, .least = 1, .most = 86400 },
	{ NULL, 0, NULL, "Frames:" },
	{ "nsh-only", 'n', NULL, "plain frames are not for this function", take_flag,
	  &work.settings.nsh_only },
	{ "reflect", 'r', NULL, "return frames where they came in (default: by the other port)",
	  take_flag, &work.settings.reflect },
	{ NULL, 0, NULL, "Output:" },
	{ "write", 'o', "FILE", "keep the frames that are forwarded", take_text, &work.output },
	{ "cells", 'c', NULL, "print the sketch at the end", take_flag, &work.cells },
	{ "repeat-ms", 'R', "MS", "repeat the trace from memory, and print what a frame takes",
	  take_integer, &repeat_ms, .least = 1, .most = 600000 },
	{ 0 },
};

static void check_options(char **words, unsigned int count)
{
	if (count)
		refuse("'%s' is not an option", words[0]);
	if (columns & (columns - 1))
		refuse("--columns: %ld is no power of two", columns);
	if (engines[engine] == &engine_swx && !work.settings.spec)
		refuse("engine swx needs --spec");
	if (!generate && !work.trace)
		refuse("give --trace or --generate");
}

static void take_settings(void)
{
	struct settings *settings = &work.settings;

	work.type = engines[engine];
	work.window_ns = (uint64_t)window_ms * NS_PER_MS;
	work.first_epoch = (uint64_t)first_epoch;
	work.repeat_ms = (uint64_t)repeat_ms;
	settings->rows = (uint32_t)rows;
	settings->columns = (uint32_t)columns;
	settings->seed = (uint32_t)seed;
	settings->threshold = (uint32_t)threshold;
	settings->on_heavy = (enum on_heavy)action;
	settings->flows = (uint32_t)flows;
	settings->expiry_s = (uint32_t)expiry_s;
}

/* DPDK makes folders there for files that other processes share, of which there are none. */
static void remove_runtime_folder(const char *folder)
{
	char path[sizeof(RUNTIME_FOLDER) + 16];

	snprintf(path, sizeof(path), "%s/dpdk/rte", folder);
	rmdir(path);
	snprintf(path, sizeof(path), "%s/dpdk", folder);
	rmdir(path);
	rmdir(folder);
}

/* One that this process may use: DPDK insists on a number. */
static int first_cpu(void)
{
	cpu_set_t allowed;

	if (!sched_getaffinity(0, sizeof(allowed), &allowed))
		for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
			if (CPU_ISSET(cpu, &allowed))
				return cpu;
	return 0;
}

/* DPDK without devices, and without huge pages. 0, or -1 after complain(). */
static int start_dpdk(void)
{
	/* The sketch, as much again for the table and frames. */
	unsigned long megabytes = 512 + ((unsigned long)columns * MOST_ROWS * 8 >> 19);
	char memory[24], cpu[12], folder[] = RUNTIME_FOLDER;
	char *words[] = { (char *)tool_name,
			  "--no-huge",
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
	snprintf(cpu, sizeof(cpu), "%d", first_cpu());
	status = rte_eal_init((int)RTE_DIM(words) - 1, words);
	remove_runtime_folder(folder);
	if (status < 0)
		complain("DPDK does not start with %lu MB of memory", megabytes);
	return status < 0 ? -1 : 0;
}

int main(int argc, char **argv)
{
	const struct command command = {
		.documentation = documentation,
		.options = descriptions,
		.check = check_options,
	};

	options_parse(argc, argv, &command);
	take_settings();
	if (start_dpdk())
		return 1;
	if (generate)
		return swx_generate(&work.settings, generate) ? 1 : 0;
	return work.repeat_ms ? measure_run(&work) : offline_run(&work);
}
