/* SPDX-License-Identifier: Apache-2.0 */
/* Ports as words of the command line. */
#pragma once

#include "ports.h"

struct place {
	const char *interface;
	struct sfcmon_port port;
};

/* `NAME:KIND[,KEY=VALUE]...` (see --help). Ends the tool with a message if it is none. */
void read_place(const char *word, struct place *place);
