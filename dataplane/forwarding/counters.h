/* SPDX-License-Identifier: Apache-2.0 */
/* What the engines have counted, in an event of a tool. */
#pragma once

#include <stdio.h>

#include "engine.h"

/* Members of a JSON object, from `received` to `drops`, without its braces, followed by a comma. */
void print_verdicts(FILE *out, const __u64 verdicts[FWD_VERDICTS]);

/* The same, from `received` to `paths_untracked`, without its braces. */
void print_snapshot(FILE *out, const struct snapshot *snapshot);
