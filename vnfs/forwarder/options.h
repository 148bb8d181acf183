/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SFCPERF_FORWARDER_OPTIONS_H
#define SFCPERF_FORWARDER_OPTIONS_H

#include <stdbool.h>

#include "engine.h"

struct options {
	const struct engine *engine;
	const char *interface;
	struct cpu_list cpus;
	const char *stats; /* NULL: no stats file */
	bool attach_pass; /* the names below are interfaces to attach a pass program to */
	char **names;
	unsigned int name_count;
};

/* Parse the command line; ends the program with a message when it is wrong. */
void parse_options(int argc, char **argv, struct options *options);

#endif
