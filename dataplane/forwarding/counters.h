/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what the engines have counted, as a part of an event of a tool. */
#pragma once

#include <stdio.h>

#include "engine.h"

/* Print members of a JSON object without its braces, from `received` to `drops`, followed by a
 * comma. */
void print_verdicts(FILE *out, const __u64 verdicts[FWD_VERDICTS]);

/* Print members of a JSON object without its braces, from `received` to `paths_untracked`. */
void print_snapshot(FILE *out, const struct snapshot *snapshot);
