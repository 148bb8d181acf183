// SPDX-License-Identifier: Apache-2.0
#include <argp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "../common/report.h"
#include "options.h"

enum { OPTION_ATTACH_PASS = 0x100 };

const char *argp_program_version = "sfc-forwarder 1";
const char tool_name[] = "sfc-forwarder";

static const char documentation[] =
	"NSH service function: decrement the service index, return the packet (RFC 8300).\v"
	"Prints JSON Lines on stdout: `ready` when it forwards, `counters` on SIGUSR1 and at the "
	"end (SIGTERM or SIGINT). NSH is understood over Ethernet (0x894F) and over VXLAN-GPE "
	"(UDP 4790); frames of other kinds, or to other MAC addresses, are left to the kernel.";

static const struct argp_option descriptions[] = {
	{ "engine", 'e', "NAME", 0, "xdp (default) or userspace", 0 },
	{ "interface", 'i', "NAME", 0, "interface whose frames are served", 0 },
	{ "cpus", 'c', "LIST", 0, "engine userspace: a thread on each of these, e.g. 0,1", 0 },
	{ "stats", 's', "FILE", 0, "write the counters to FILE too", 0 },
	{ "attach-pass", OPTION_ATTACH_PASS, NULL, 0,
	  "attach an XDP program that passes all frames to the interfaces named by the arguments, "
	  "and end; it stays as long as they do",
	  0 },
	{ 0 },
};

static void parse_cpus(struct cpu_list *list, const char *text, struct argp_state *state)
{
	const char *next = text;

	do {
		char *end;
		long cpu = strtol(next, &end, 10);

		if (end == next || cpu < 0 || cpu >= CPU_SETSIZE || (*end && *end != ','))
			argp_error(state, "--cpus: '%s' is not a list such as 0,1", text);
		if (list->count == MAX_THREADS)
			argp_error(state, "--cpus: at most %d CPUs", MAX_THREADS);
		list->cpus[list->count++] = (int)cpu;
		next = *end ? end + 1 : end;
	} while (*next);
}

static const struct engine *parse_engine(const char *name, struct argp_state *state)
{
	if (strcmp(name, engine_xdp.name) == 0)
		return &engine_xdp;
	if (strcmp(name, engine_userspace.name) != 0)
		argp_error(state, "--engine: xdp or userspace, not '%s'", name);
	return &engine_userspace;
}

static void check(const struct options *options, struct argp_state *state)
{
	if (options->attach_pass && options->interface)
		argp_error(state, "--attach-pass and --interface exclude each other");
	if (options->attach_pass && options->name_count == 0)
		argp_error(state, "--attach-pass: name the interfaces");
	if (!options->attach_pass && !options->interface)
		argp_error(state, "--interface is missing");
	if (!options->attach_pass && options->name_count > 0)
		argp_error(state, "'%s' is not an option", options->names[0]);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 'e':
		options->engine = parse_engine(argument, state);
		break;
	case 'i':
		options->interface = argument;
		break;
	case 'c':
		parse_cpus(&options->cpus, argument, state);
		break;
	case 's':
		options->stats = argument;
		break;
	case OPTION_ATTACH_PASS:
		options->attach_pass = true;
		break;
	case ARGP_KEY_ARGS:
		options->names = state->argv + state->next;
		options->name_count = (unsigned int)(state->argc - state->next);
		break;
	case ARGP_KEY_END:
		check(options, state);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

void parse_options(int argc, char **argv, struct options *options)
{
	static const struct argp parser = {
		.options = descriptions,
		.parser = parse,
		.args_doc = "[INTERFACE...]",
		.doc = documentation,
	};

	*options = (struct options){ .engine = &engine_xdp };
	argp_err_exit_status = 2;
	argp_parse(&parser, argc, argv, 0, NULL, options);
}
