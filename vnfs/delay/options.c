// SPDX-License-Identifier: Apache-2.0
#include <argp.h>
#include <net/if.h>
#include <string.h>

#include "../common/numbers.h"
#include "../common/report.h"
#include "options.h"

const char *argp_program_version = "sfc-delay 1";
const char tool_name[] = "sfc-delay";

static const char documentation[] =
	"Reads IPv4 packets from a TUN device and writes each back after a known time.\v"
	"Prints JSON Lines on stdout: `ready` when it forwards, `counters` on SIGUSR1 and at the "
	"end (SIGTERM or SIGINT). The caller sets the routes into the device.";

static const struct argp_option descriptions[] = {
	{ "tun", 't', "NAME", 0, "TUN device to create (default sfc-delay0)", 0 },
	{ "delay-us", 'd', "US", 0, "time from receive to send, 0 to 10000000 (default 1000)", 0 },
	{ "spin-us", 'w', "US", 0,
	  "how long before a packet is due the clock is polled, 0 to 10000000 (default 200)", 0 },
	{ "buffer-mib", 'b', "MIB", 0, "room for packets in flight, 1 to 4096 (default 32)", 0 },
	{ "stats", 's', "FILE", 0, "write the counters to FILE too", 0 },
	{ 0 },
};

static uint64_t parse_number(const char *text, long least, long most, const char *option,
			     struct argp_state *state)
{
	long number;

	if (parse_integer(text, least, most, &number))
		argp_error(state, "--%s: '%s' is not a whole number from %ld to %ld", option, text,
			   least, most);
	return (uint64_t)number;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 't':
		if (!*argument || strlen(argument) >= IF_NAMESIZE)
			argp_error(state, "--tun: '%s' is not the name of an interface", argument);
		options->tun = argument;
		return 0;
	case 'd':
		options->delay_ns = parse_number(argument, 0, 10000000, "delay-us", state);
		options->delay_ns *= NS_PER_US;
		return 0;
	case 'w':
		options->spin_ns = parse_number(argument, 0, 10000000, "spin-us", state);
		options->spin_ns *= NS_PER_US;
		return 0;
	case 'b':
		options->buffer_bytes = parse_number(argument, 1, 4096, "buffer-mib", state) << 20;
		return 0;
	case 's':
		options->stats = argument;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "'%s' is not an option", argument);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

void parse_options(int argc, char **argv, struct options *options)
{
	const struct argp argp = { descriptions, parse, NULL, documentation, NULL, NULL, NULL };

	argp_err_exit_status = 2;
	*options = (struct options){
		.tun = "sfc-delay0",
		.delay_ns = 1000 * NS_PER_US,
		.spin_ns = 200 * NS_PER_US,
		.buffer_bytes = (size_t)32 << 20,
	};
	argp_parse(&argp, argc, argv, 0, NULL, options);
}
