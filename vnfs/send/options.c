// SPDX-License-Identifier: Apache-2.0
#include <argp.h>
#include <net/if.h>
#include <string.h>

#include "send.h"

const char *argp_program_version = "sfc-send 1";

static const char documentation[] =
	"Sends the Ethernet frames that it reads from standard input.\v"
	"A frame is its length in bytes (32 bits, big-endian) and its bytes, from the destination "
	"address on, without checksum. Prints a line of JSON on standard output: how many frames "
	"left. Ends with 1 when one could not be sent, or the input is damaged.";

static const struct argp_option descriptions[] = {
	{ "interface", 'i', "NAME", 0, "Interface to send them out of", 0 },
	{ 0 },
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 'i':
		options->interface = argument;
		if (!*argument || strlen(argument) >= IF_NAMESIZE)
			argp_error(state, "--interface: '%s' is no interface's name", argument);
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "'%s' is not an option", argument);
		return 0;
	case ARGP_KEY_END:
		if (!options->interface)
			argp_error(state, "--interface is missing");
		options->index = if_nametoindex(options->interface);
		if (!options->index)
			argp_error(state, "--interface: there is no interface %s here",
				   options->interface);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

void parse_options(int argc, char **argv, struct options *options)
{
	const struct argp argp = { descriptions, parse, NULL, documentation, NULL, NULL, NULL };

	argp_err_exit_status = 2;
	*options = (struct options){ 0 };
	argp_parse(&argp, argc, argv, 0, NULL, options);
}
