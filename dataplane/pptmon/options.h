/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of pptmon. */
#pragma once

#include <stdbool.h>

#include "../attach/hook.h"
#include "pptmon.h"

/* Words of the command line and of the output for the numbers of pptmon.h. NULL ends each list. */
extern const char *const mode_names[]; /* by enum ppt_mode */
extern const char *const format_names[]; /* by enum ppt_format */
extern const char *const carrier_names[]; /* by enum ppt_carrier */
extern const char *const metric_names[]; /* by enum ppt_metric */

struct options {
	struct ppt_settings settings; /* without `mtu` and `resolve_offloads`, of the egress */
	const char *ingress;
	const char *egress;
	enum hook attach;
	bool check; /* only say what the kernel lacks; other options may be missing */
};

/* Parse the command line. A wrong one ends the program with status 2 and a message. */
const struct options *parse_options(int argc, char **argv);
