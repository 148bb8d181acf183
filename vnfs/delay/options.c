// SPDX-License-Identifier: Apache-2.0
#include "../common/options.h"
#include "options.h"

const char tool_name[] = "sfc-delay";

static const char documentation[] =
	"Reads IPv4 packets from a TUN device and writes each back after a known time.\v"
	"Prints JSON Lines on stdout: `ready` when it forwards, `counters` on SIGUSR1 and at the "
	"end (SIGTERM or SIGINT). The caller sets the routes into the device.";

static struct options options = { .tun = "sfc-delay0" };
static long delay_us = 1000;
static long spin_us = 200;
static long buffer_mib = 32;

static struct tool_option descriptions[] = {
	{ "tun", 't', "NAME", "TUN device to create (default sfc-delay0)", take_interface,
	  &options.tun },
	{ "delay-us", 'd', "US", "time from receive to send, 0 to 10000000 (default 1000)",
	  take_integer, &delay_us, .least = 0, .most = 10000000 },
	{ "spin-us", 'w', "US",
	  "how long before a packet is due the clock is polled, 0 to 10000000 (default 200)",
	  take_integer, &spin_us, .least = 0, .most = 10000000 },
	{ "buffer-mib", 'b', "MIB", "room for packets in flight, 1 to 4096 (default 32)",
	  take_integer, &buffer_mib, .least = 1, .most = 4096 },
	{ "stats", 's', "FILE", "write the counters to FILE too", take_text, &options.stats },
	{ 0 },
};

const struct options *parse_options(int argc, char **argv)
{
	const struct command command = { .documentation = documentation, .options = descriptions };

	options_parse(argc, argv, &command);
	options.delay_ns = (uint64_t)delay_us * NS_PER_US;
	options.spin_ns = (uint64_t)spin_us * NS_PER_US;
	options.buffer_bytes = (size_t)buffer_mib << 20;
	return &options;
}
