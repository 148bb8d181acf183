/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "../attach/hook.h"
#include "pptmon.h"

/* Words of the command line and of the output for the numbers of pptmon.h; NULL ends each. */
extern const char *const mode_names[]; /* by enum ppt_mode */
extern const char *const format_names[]; /* by enum ppt_format */
extern const char *const carrier_names[]; /* by enum ppt_carrier */
extern const char *const metric_names[]; /* by enum ppt_metric */

struct options {
	struct ppt_settings settings; /* but for what the interfaces say */
	const char *ingress;
	const char *egress;
	enum hook attach;
	bool check; /* only say what the kernel lacks; the rest may be missing */
};

/* Parse the command line; ends the program with status 2 and a message when it is wrong. */
const struct options *parse_options(int argc, char **argv);
