/* SPDX-License-Identifier: Apache-2.0 */
/* sfc-send: what its parts share. */
#ifndef SFC_SEND_H
#define SFC_SEND_H

struct options {
	const char *interface;
	unsigned int index;
};

/* Ends the process with words and status 2 when an option is wrong. */
void parse_options(int argc, char **argv, struct options *options);

#endif
