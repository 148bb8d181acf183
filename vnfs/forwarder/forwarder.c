// SPDX-License-Identifier: Apache-2.0
/* sfc-forwarder: an NSH service function that decrements the SI and returns the packet. */
#include <stdbool.h>

#include "../../dataplane/common/libbpf_log.h"
#include "../../dataplane/common/options.h"
#include "../../dataplane/common/report.h"
#include "../../dataplane/common/signals.h"
#include "../../dataplane/common/stats.h"
#include "../../dataplane/forwarding/counters.h"
#include "../../dataplane/forwarding/engine.h"

struct options {
	const struct engine *engine;
	const char *interface;
	struct cpu_list cpus;
	const char *stats; /* NULL: no stats file */
	bool attach_pass; /* the names below are interfaces to attach a pass program to */
	char **names;
	unsigned int name_count;
};

const char tool_name[] = "sfc-forwarder";

static const char documentation[] =
	"NSH service function: decrement the service index, return the packet (RFC 8300).\v"
	"Prints JSON Lines on stdout: `ready` when it forwards, `counters` on SIGUSR1 and at the "
	"end (SIGTERM or SIGINT). NSH is understood over Ethernet (0x894F) and over VXLAN-GPE "
	"(UDP 4790); frames of other kinds, or to other MAC addresses, are left to the kernel.";

static const char *const engine_names[] = { "xdp", "userspace", NULL };
static const struct engine *const engines[] = { &engine_xdp, &engine_userspace };

static struct options options;
static int engine;

static struct tool_option descriptions[] = {
	{ "engine", 'e', "NAME", "xdp (default) or userspace", take_word, &engine,
	  .words = engine_names },
	{ "interface", 'i', "NAME", "interface whose frames are served", take_text,
	  &options.interface, .required = true },
	{ "cpus", 'c', "LIST", "engine userspace: a thread on each of these, e.g. 0,1", take_cpus,
	  &options.cpus },
	{ "stats", 's', "FILE", "write the counters to FILE too", take_text, &options.stats },
	{ "attach-pass", 0, NULL,
	  "attach an XDP program that passes all frames to the interfaces named by the arguments, "
	  "and end; it stays as long as they do",
	  take_flag, &options.attach_pass, .excuses = true },
	{ 0 },
};

/* Judge all options together, and keep the positional arguments, `words`. Refuses options that do
 * not go together: the program ends with status 2. */
static void check_options(char **words, unsigned int count)
{
	options.names = words;
	options.name_count = count;
	if (options.attach_pass && options.interface)
		refuse("--attach-pass and --interface exclude each other");
	if (options.attach_pass && count == 0)
		refuse("--attach-pass: name the interfaces");
	if (!options.attach_pass && count > 0)
		refuse("'%s' is not an option", words[0]);
}

/* Parse the command line. A wrong option ends the program with status 2 and a message. */
static const struct options *parse_options(int argc, char **argv)
{
	options_parse(argc, argv, documentation, "[INTERFACE...]", descriptions, check_options);
	options.engine = engines[engine];
	return &options;
}

/* Write the counters to the stats file, and if `print`, to stdout as well. */
static void report_counters(const struct engine *engine, bool print)
{
	static struct snapshot now;

	engine->read(&now);
	print_snapshot(stats_begin(), &now);
	stats_end(print);
}

/* Forward until SIGTERM or SIGINT, and write the counters at the start, on SIGUSR1 and at the end.
 * Returns the exit status. */
static int forward(const struct options *options, const sigset_t *signals)
{
	const struct engine *engine = options->engine;
	struct interface interface;

	if (stats_open(options->stats))
		return 1;
	if (find_interface(options->interface, &interface) ||
	    engine->start(&interface, &options->cpus))
		return stats_failed(true);
	printf("{\"event\": \"ready\", \"engine\": \"%s\", \"interface\": ", engine->name);
	json_string(stdout, interface.name);
	puts("}");
	fflush(stdout);
	/* Counters in the stats file tell its readers that packets are forwarded. */
	report_counters(engine, false);
	while (signals_ask_for_counters(signals))
		report_counters(engine, true);
	engine->stop();
	report_counters(engine, true);
	return 0;
}

int main(int argc, char **argv)
{
	const struct options *options = parse_options(argc, argv);
	sigset_t signals;

	libbpf_log_keep();
	if (options->attach_pass)
		return attach_pass(options->names, options->name_count) ? 1 : 0;
	signals_block(&signals, 0);
	return forward(options, &signals);
}
