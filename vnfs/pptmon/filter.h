/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "pptmon.h"

/* Parse `proto=tcp,src=10.0.0.0/24,...`. 0, or -1 with a message in `error`. */
int parse_filter(const char *text, struct ppt_filter *filter, char *error, size_t error_bytes);
