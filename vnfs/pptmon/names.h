/* SPDX-License-Identifier: Apache-2.0 */
/* Words of the command line and of the output for the numbers of pptmon.h. */
#pragma once

#include "pptmon.h"

extern const char *const mode_names[]; /* by enum ppt_mode; NULL ends each */
extern const char *const format_names[]; /* by enum ppt_format */
extern const char *const carrier_names[]; /* by enum ppt_carrier */
extern const char *const metric_names[]; /* by enum ppt_metric */
