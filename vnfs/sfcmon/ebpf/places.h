/* SPDX-License-Identifier: Apache-2.0 */
/* Ports as words of the command line. */
#pragma once

#include "ports.h"

struct place {
	const char *interface;
	struct sfcmon_port port;
};

/* Read `NAME:KIND[,KEY=VALUE]...` (see --help). A word of another form ends the tool with a
 * message. */
void read_place(const char *word, struct place *place);
