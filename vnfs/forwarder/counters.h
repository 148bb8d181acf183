/* SPDX-License-Identifier: Apache-2.0 */
/* What the engines have counted, in an event of a tool. */
#pragma once

#include <stdio.h>

#include "engine.h"

/* Members of a JSON object, from `received` to `paths_untracked`, without its braces. */
void print_snapshot(FILE *out, const struct snapshot *snapshot);
