// SPDX-License-Identifier: Apache-2.0
/* Reads the command line of sfc-pktgen. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include <linux/if_ether.h>

#include "../common/options.h"
#include "job.h"

#define LEAST_FRAME 64
#define MOST_FRAME 1518

const char tool_name[] = "sfc-pktgen";

static const char documentation[] =
	"Sends, and counts where they arrive, IPv4 packets at a set rate.\v"
	"Roles: `send` sends packets for a time, `receive` counts them until SIGTERM, `accept` "
	"lets "
	"the other end of a sender's veth take frames from XDP until SIGTERM, `calibrate` does "
	"both "
	"over a private cable. Each prints a line of JSON. Exit status 1: it failed, stderr says "
	"why; 2: wrong options.";

static const char *const role_names[] = { "send", "receive", "accept", "calibrate", NULL };
const char *const engine_names[] = { "xdp", "packet", NULL };
static const char *const mode_names[] = { "auto", "native", "generic", NULL };
static const char *const protocol_names[] = { "udp", "tcp-syn", NULL };
static const int protocols[] = { IPPROTO_UDP, IPPROTO_TCP };

static struct job job = { .role = -1,
			  .port = 9,
			  .duration_ms = 1000,
			  .flows = 1,
			  .sources = 1,
			  .sizes = { 60 },
			  .size_count = 1 };
static int protocol; /* place in `protocols` */

static void take_address(const struct tool_option *option, const char *argument)
{
	if (inet_pton(AF_INET, argument, option->value) != 1)
		refuse("--%s: '%s' is not an IPv4 address", option->name, argument);
}

/* Take a size with its weight, BYTES or BYTES:WEIGHT, and put it into job.sizes as often as its
 * weight says. */
static void add_size(const char *word)
{
	char text[16];
	long size, weight = 1;
	char *colon;

	strncpy(text, word, sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	colon = strchr(text, ':');
	if (colon)
		*colon++ = '\0';
	if (parse_integer(text, LEAST_FRAME, MOST_FRAME, &size) ||
	    (colon && parse_integer(colon, 1, PKTGEN_MOST_SIZES, &weight)))
		refuse("--frames: '%s' is not BYTES or BYTES:WEIGHT with %d to %d bytes", word,
		       LEAST_FRAME, MOST_FRAME);
	for (; weight; weight--) {
		if (job.size_count == PKTGEN_MOST_SIZES)
			refuse("--frames: the weights are more than %d together",
			       PKTGEN_MOST_SIZES);
		job.sizes[job.size_count++] = (__u32)size - ETH_FCS_LEN;
	}
}

static void take_frames(const struct tool_option *option, const char *argument)
{
	char *list = strdup(argument), *rest = list, *word;

	(void)option;
	job.size_count = 0;
	while ((word = strsep(&rest, ",")))
		add_size(word);
	free(list);
}

static struct tool_option descriptions[] = {
	{ "role", 'r', "NAME", "send, receive, accept or calibrate", take_word, &job.role,
	  .words = role_names, .required = true },
	{ "interface", 'i', "NAME", "interface to send from, or to receive on", take_interface,
	  &job.interface },
	{ "protocol", 'p', "NAME", "udp (default) or tcp-syn", take_word, &protocol,
	  .words = protocol_names },
	{ "port", 0, "PORT", "destination port (default: 9)", take_integer, &job.port, .least = 1,
	  .most = 65535 },
	{ "run", 0, "NUMBER", "even number that marks the packets", take_integer, &job.run,
	  .most = 0xfffffffe },
	{ "duration-ms", 'd', "MS", "how long to send, or for how long the receiver keeps series",
	  take_integer, &job.duration_ms, .least = 1, .most = 3600000 },
	{ .help = "To send:" },
	{ "to", 't', "ADDRESS", "destination", take_address, &job.to },
	{ "engine", 'e', "NAME", "xdp (default) or packet", take_word, &job.engine,
	  .words = engine_names },
	{ "rate", 0, "PPS", "packets per second; 0 (default): as many as possible", take_integer,
	  &job.rate, .most = 100000000 },
	{ "flows", 'f', "NUMBER", "number of source ports, from 1024 on (default: 1)", take_integer,
	  &job.flows, .least = 1, .most = PKTGEN_MOST_FLOWS },
	{ "sources", 0, "NUMBER",
	  "number of source addresses, each 256 behind the one before, from which all flows send "
	  "in "
	  "turn (default: 1)",
	  take_integer, &job.sources, .least = 1, .most = PKTGEN_MOST_SOURCES },
	{ "zipf", 'z', "EXPONENT", "draw flows by Zipf's law; 0 (default): they take turns",
	  take_decimal, &job.zipf, .most = 10 },
	{ "frames", 0, "BYTES[:WEIGHT],...",
	  "sizes of Ethernet frames with FCS, 64 (default) to 1518, one drawn for each packet",
	  take_frames, NULL },
	{ "warmup", 'w', NULL, "send packets that the receiver does not count", take_flag,
	  &job.warmup },
	{ .help = "To receive:" },
	{ "mode", 'm', "NAME", "of XDP: auto (default), native or generic", take_word, &job.mode,
	  .words = mode_names },
	{ 0 },
};

/* Judge the options together. */
static void check(char **words, unsigned int count)
{
	(void)words;
	(void)count;
	if (job.run & PKTGEN_WARMUP)
		refuse("--run: an even number, not %ld", job.run);
	if (job.role == CALIBRATE && job.interface)
		refuse("--interface: calibration has its own");
	if (job.role != CALIBRATE && !job.interface)
		refuse("--interface is missing");
	if (job.role == SEND && !job.to.s_addr)
		refuse("--to is missing");
}

const struct job *job_parse(int argc, char **argv)
{
	options_parse(argc, argv, documentation, NULL, descriptions, check);
	job.protocol = protocols[protocol];
	return &job;
}
