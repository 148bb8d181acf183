// SPDX-License-Identifier: Apache-2.0
#include <argp.h>
#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "delay.h"

const char *argp_program_version = "sfc-delay 1";

static const char documentation[] =
	"Takes IPv4 packets from a TUN device and gives each back after a known time.\v"
	"Prints JSON Lines on stdout: `ready` when it forwards, `counters` on SIGUSR1 and at the "
	"end (SIGTERM or SIGINT). Routes into the device are up to the caller.";

static const struct argp_option descriptions[] = {
	{ "tun", 't', "NAME", 0, "TUN device to make (default sfc-delay0)", 0 },
	{ "delay-us", 'd', "US", 0, "time from receive to send, 0 to 10000000 (default 1000)", 0 },
	{ "spin-us", 'w', "US", 0,
	  "how long before a packet is due the clock is watched, 0 to 10000000 (default 200)", 0 },
	{ "buffer-mib", 'b', "MIB", 0, "room for packets in flight, 1 to 4096 (default 32)", 0 },
	{ "stats", 's', "FILE", 0, "write the counters to FILE too", 0 },
	{ 0 },
};

static uint64_t parse_number(const char *text, uint64_t least, uint64_t most, const char *what,
			     struct argp_state *state)
{
	unsigned long long number;
	char *end;

	errno = 0;
	number = strtoull(text, &end, 10);
	if (end == text || *end || *text == '-' || errno || number < least || number > most)
		argp_error(state, "--%s: '%s' is not a whole number from %llu to %llu", what, text,
			   (unsigned long long)least, (unsigned long long)most);
	return number;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 't':
		if (!*argument || strlen(argument) >= IF_NAMESIZE)
			argp_error(state, "--tun: '%s' is no interface's name", argument);
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
