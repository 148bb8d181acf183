/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of sfc-pktgen: what it is asked to do. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>

#include "pktgen.h"

enum role { SEND, RECEIVE, ACCEPT, CALIBRATE };
enum engine { ENGINE_XDP, ENGINE_PACKET };
enum mode { MODE_AUTO, MODE_NATIVE, MODE_GENERIC };

struct job {
	int role; /* enum role */
	int engine; /* enum engine */
	int mode; /* enum mode: how the receiver attaches its XDP program */
	const char *interface; /* its name; NULL for CALIBRATE */
	struct in_addr to; /* destination */
	long port; /* destination port */
	int protocol; /* IPPROTO_* */
	long run; /* even; the next odd number is that of its warm-up */
	bool warmup;
	long rate; /* packets per second; 0: as many as the engine makes */
	long duration_ms;
	long flows; /* number of source ports */
	long sources; /* number of source addresses */
	double zipf; /* exponent; 0: flows take turns */
	__u32 sizes[PKTGEN_MOST_SIZES]; /* bytes without FCS, as often as its weight says */
	__u32 size_count;
};

/* Read the command line. A wrong one ends the program with status 2 and a message. */
const struct job *job_parse(int argc, char **argv);

extern const char *const engine_names[];
