// SPDX-License-Identifier: Apache-2.0
#include <sched.h>
#include <stdlib.h>

#include "../common/options.h"
#include "options.h"

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

static void take_cpus(const struct tool_option *option, const char *argument)
{
	struct cpu_list *list = option->value;
	const char *next = argument;

	do {
		char *end;
		long cpu = strtol(next, &end, 10);

		if (end == next || cpu < 0 || cpu >= CPU_SETSIZE || (*end && *end != ','))
			refuse("--cpus: '%s' is not a list such as 0,1", argument);
		if (list->count == MAX_THREADS)
			refuse("--cpus: at most %d CPUs", MAX_THREADS);
		list->cpus[list->count++] = (int)cpu;
		next = *end ? end + 1 : end;
	} while (*next);
}

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
	  take_flag, &options.attach_pass },
	{ 0 },
};

static void check(char **words, unsigned int count)
{
	options.names = words;
	options.name_count = count;
	if (options.attach_pass && options.interface)
		refuse("--attach-pass and --interface exclude each other");
	if (options.attach_pass && count == 0)
		refuse("--attach-pass: name the interfaces");
	if (options.attach_pass)
		return;
	require_options(descriptions);
	if (count > 0)
		refuse("'%s' is not an option", words[0]);
}

const struct options *parse_options(int argc, char **argv)
{
	const struct command command = {
		.documentation = documentation,
		.arguments = "[INTERFACE...]",
		.options = descriptions,
		.check = check,
	};

	options_parse(argc, argv, &command);
	options.engine = engines[engine];
	return &options;
}
