/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define NS_PER_US 1000ULL

struct options {
	const char *tun;
	const char *stats; /* NULL: counters on stdout only */
	uint64_t delay_ns;
	uint64_t spin_ns; /* before a packet is due, the clock is polled instead of sleeping */
	size_t buffer_bytes;
};

/* Parse the command line; ends the program with status 2 and a message when it is wrong. */
const struct options *parse_options(int argc, char **argv);
