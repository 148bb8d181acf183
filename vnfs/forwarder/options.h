/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

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

/* Parse the command line; ends the program with status 2 and a message when it is wrong. */
const struct options *parse_options(int argc, char **argv);
